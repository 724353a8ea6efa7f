"""The classes of a sweep, read once more with dictionaries."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.search import _sweep
from incrowd.search._points import PricedKeys
from incrowd.search._sweep import swept
from town_tables import NORTH, QUASI, town_table

SCHEMA = ic.Schema(quasi=QUASI)


@pytest.fixture(scope="module", params=[1, 4], autouse=True)
def columns_at_once(request):
    """Group column after column, and as many at once as usual."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_sweep, "_AT_ONCE", request.param)
        yield


@pytest.mark.parametrize("attributes", [20, 29, 60])
def test_combinations_of_many_attributes_fit_into_memory(attributes):
    """With 29 attributes of two rungs there are 2 ** 29 combinations, too many to be sorted."""
    groups = np.zeros(3, np.int64)
    ladders = [[_sweep.Rung(0, groups, 0.0), _sweep.Rung(1, groups, float(j))] for j in range(attributes)]
    rest = _sweep._thinned(ladders)
    assert np.prod([float(len(ladder)) for ladder in rest]) == _sweep._MOST_NODES
    # The cheapest lose their finer rung, and every ladder ends in its coarsest one.
    assert [len(ladder) for ladder in rest] == [1] * (attributes - 20) + [2] * 20
    assert [ladder[-1] for ladder in rest] == [ladder[-1] for ladder in ladders]


def table_with_both_ends(seed: int, rows: int) -> pl.DataFrame:
    ends = pl.DataFrame({"age": [20, 29], "town": ["a", "e"], "job": ["x", "z"]})
    return pl.concat([ends, town_table(seed, rows, ages=(20, 30))])


def slow_sweep(rows: list[tuple], k: int) -> list[frozenset[int]]:
    """Rungs as functions of a value, where a combination costs the average of the groups' record costs."""
    ages = sorted({age for age, _, _ in rows if age is not None})
    jobs = sorted({job for _, _, job in rows})
    values = len(ages) + any(age is None for age, _, _ in rows)
    widths = [width for width in (1, 2, 4, 8, 16) if width < values]
    place = {age: number for number, age in enumerate(ages)}
    ladders = [
        [
            *(lambda age, w=width: "missing" if age is None else place[age] // w for width in widths),
            lambda _: "all",
        ],
        [lambda town: town, lambda town: NORTH[town], lambda _: "*"],
        [lambda job: job, lambda _: "all"],
    ]

    def cell(j: int, members: set) -> float:
        if len(members) == 1:
            return 0.0
        if j == 0:
            known = [age for age in members if age is not None]
            return 1.0 if len(known) < len(members) else (max(known) - min(known)) / (ages[-1] - ages[0])
        if j == 1:
            return (
                {1: 0.0, 2: 1 / 4, 3: 2 / 4}[len(members)] if len({NORTH[m] for m in members}) == 1 else 1.0
            )
        return (len(members) - 1) / (len(jobs) - 1)

    def cost(j: int, rung) -> float:
        groups: dict = {}
        for row in rows:
            groups.setdefault(rung(row[j]), []).append(row[j])
        if j == 1:
            # A level of a hierarchy has the cells of its nodes, whoever is there.
            whole = {"north": 1 / 4, "south": 2 / 4, "*": 1.0}
            return sum(whole.get(name, 0.0) * len(held) for name, held in groups.items()) / len(rows)
        return sum(cell(j, set(held)) * len(held) for held in groups.values()) / len(rows)

    prices = [[cost(j, rung) for rung in ladder] for j, ladder in enumerate(ladders)]
    order = sorted(
        product(*(range(len(ladder)) for ladder in ladders)),
        key=lambda node: (round(sum(prices[j][level] for j, level in enumerate(node)), 9), node),
    )
    left, classes = set(range(len(rows))), []
    for node in order:
        groups = {}
        for number in sorted(left):
            key = tuple(ladders[j][level](rows[number][j]) for j, level in enumerate(node))
            groups.setdefault(key, set()).add(number)
        for members in groups.values():
            if len(members) >= k:
                classes.append(members)
                left -= members
    if left and classes:
        classes[-1] |= left
    return sorted(map(frozenset, classes), key=min)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 6))
def test_whoever_has_company_leaves_at_the_cheapest_rungs(seed, rows, k):
    table = table_with_both_ends(seed, rows)
    frequency = engine_for(table).count(SCHEMA).frequency
    result = swept(PricedKeys.of_table(frequency, SCHEMA.quasi), k, 10_000)
    expected = slow_sweep(table.rows(), k)
    if result is None:
        assert expected == []
        return
    of_row = result[frequency.row_keys]
    classes = [frozenset(np.flatnonzero(of_row == number).tolist()) for number in set(of_row.tolist())]
    assert {each for each in classes if len(each) < k} == set()
    assert sorted(classes, key=min) == expected


def test_fewer_nodes_and_fewer_rungs_hold_k_as_well(monkeypatch):
    table = table_with_both_ends(3, 400)
    frequency = engine_for(table).count(SCHEMA).frequency
    for nodes, most in ((5, 1 << 20), (1000, 12), (3, 4)):
        monkeypatch.setattr(_sweep, "_MOST_NODES", most)
        classes = swept(PricedKeys.of_table(frequency, SCHEMA.quasi), 5, nodes)
        assert np.bincount(classes, frequency.weights).min() >= 5
        assert classes.min() == 0


@pytest.mark.slow
def test_with_deep_hierarchies_it_is_the_better_beginning():
    table = ic.samples.hospital(2000, seed=2).select("zip", "age", "diagnosis")
    trees = {
        "zip": ic.Hierarchy.prefix(),
        "age": ic.Hierarchy.intervals(5, 10, 20, 40),
        "diagnosis": ic.samples.diagnosis_hierarchy(),
    }
    lost = []
    for most in (0, 300_000_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("incrowd.search.agglomerative._SWEEP", most)
            release = ic.anonymize(table, ic.Schema(quasi=trees), "k-anonymity:30", "agglomerative")
        lost.append(release.utility["loss"].value)
    assert lost[1] < 0.97 * lost[0]
