"""Searches of huge lattices and trees of long texts: refused beforehand, or ended by a budget."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.algorithms import ALGORITHMS
from incrowd.hierarchy.builders import Prefix
from incrowd.kernels.lattice import choose_nodes

COLUMNS = [f"q{number}" for number in range(20)]
REFUSED = ["bottom-up", "samarati", "incognito", "ola", "flash"]
BOUNDED = [ic.Optimal(budget="40"), ic.Optimal(budget="1s"), ic.Datafly()]


@pytest.fixture(scope="module")
def wide() -> pl.DataFrame:
    """Twenty columns of two digits, three levels each: 3 ** 20 nodes."""
    digits = np.random.default_rng(1).integers(10, 100, (60, len(COLUMNS))).astype(str)
    return pl.DataFrame(digits, schema=COLUMNS, orient="row")


def hierarchies(*, free: int = len(COLUMNS)) -> ic.Schema:
    """Give every column three levels; those after the first few are fixed at the last one."""
    bounds = {name: None if place < free else (2, 2) for place, name in enumerate(COLUMNS)}
    return ic.Schema(
        quasi={
            name: ic.Attribute(name, "quasi", hierarchy=Prefix(), levels=levels)
            for name, levels in bounds.items()
        }
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_lattice_too_large_is_refused_before_the_search(wide, name):
    with pytest.raises(ic.ParameterError, match=f"{name}: 20 quasi-identifiers have .* fix or bound levels"):
        ic.anonymize(wide, hierarchies(), [ic.KAnonymity(3)], ALGORITHMS.get(name)())


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "incognito"])
def test_fixed_levels_make_a_large_lattice_small(wide, name):
    release = ic.anonymize(wide, hierarchies(free=2), [ic.KAnonymity(3)], ALGORITHMS.get(name)())
    assert release.table.group_by(COLUMNS).len()["len"].min() >= 3


@pytest.mark.parametrize("algorithm", BOUNDED, ids=str)
def test_what_the_refusal_advises_ends(wide, algorithm):
    release = ic.anonymize(wide, hierarchies(), [ic.KAnonymity(3)], algorithm)
    assert release.table.group_by(COLUMNS).len()["len"].min() >= 3


def test_a_lattice_is_explored_within_a_budget(wide):
    policy = ic.Policy(hierarchies(), (ic.KAnonymity(3),), algorithm=ic.Optimal(budget="40"))
    space = ic.explore(wide, policy)
    assert space.size == 3**20
    assert 40 <= len(space.nodes) < 40 + 21


def test_prefixes_of_long_texts_are_refused():
    table = pl.DataFrame({"essay": [f"{number:03}" * 1000 for number in range(300)]})
    with pytest.raises(ic.HierarchyError, match=r"up to 3,000 characters long.*shorten the texts"):
        ic.anonymize(table, ic.Schema(quasi={"essay": Prefix()}), [ic.KAnonymity(2)])


def test_chosen_nodes_of_many_columns_settle_most_and_are_not_comparable():
    columns, many = 10, 16
    size = 2**columns
    shape, strides = np.full(columns, 2), 2 ** np.arange(columns - 1, -1, -1)
    alive = np.random.default_rng(2).random(size) < 0.7
    order = np.random.default_rng(3).permutation(size)
    chosen = np.empty(many, np.int64)
    found = choose_nodes(alive, order, shape, strides, np.empty(size, np.int32), many, chosen)
    after = {int(node): int(alive[order[place:]].sum()) for place, node in enumerate(order)}
    below = [
        sum(bool(alive[other]) for other in range(size) if other & node == other) for node in range(size)
    ]
    expected: list[int] = []
    while len(expected) < many:
        free = [
            int(node)
            for node in order[::-1]
            if alive[node] and all(node & other not in (node, other) for other in expected)
        ]
        if not free:
            break
        expected.append(max(free, key=lambda node: after[node] * below[node] / (after[node] + below[node])))
    assert chosen[:found].tolist() == expected
