"""What one node settles about others: fewer looks, and never a wrong verdict."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_optimal import COLUMNS

import incrowd as ic
from lattice_reading import LEAVES, TREES, explorer, path_of, tables
from test_published import read


@given(frame=tables(gone=0), k=st.integers(2, 6), data=st.data())
def test_a_class_too_small_is_found_at_every_node_at_once(frame, k, data):
    lattice = explorer(frame, [ic.KAnonymity(k)])
    levels = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)))
    paths = {name: path_of(TREES[name]) for name in LEAVES}

    def classes(at):
        columns = []
        for name, level in zip(LEAVES, at, strict=True):
            path = paths[name]
            columns.append([path[value][min(level, len(path[value]) - 1)] for value in frame[name]])
        return list(zip(*columns, strict=True))

    [node] = lattice.look(levels)
    dead = np.zeros(lattice.lattice.size, np.bool_)
    lattice.mark_too_small(levels, dead)
    sizes = Counter(classes(levels))
    if min(sizes.values()) >= k:
        assert not dead.any()
        return
    assert not node.anonymous
    marked = {lattice.lattice.levels(number) for number in np.flatnonzero(dead)}
    rows = [row for row, name in enumerate(classes(levels)) if sizes[name] == min(sizes.values())]
    # The smallest class is not the only one of its size; whichever was taken, the nodes are just those.
    assert any(
        marked == {at for at in np.ndindex(4, 3, 3) if Counter(names := classes(at))[names[row]] < k}
        for row in rows
    )


def test_nothing_is_marked_where_records_may_be_suppressed():
    frame = pl.DataFrame(
        {"t": ["a11", "b1"], "u": ["x1", "y1"], "v": ["1", "5"], "s": ["p", "q"], "r": ["k", "m"]}
    )
    lattice = explorer(frame, [ic.KAnonymity(3)], 0.5)
    dead = np.zeros(lattice.lattice.size, np.bool_)
    lattice.look((0, 0, 0))
    lattice.mark_too_small((0, 0, 0), dead)
    assert not dead.any()


@pytest.mark.parametrize(
    ("metric", "most"),
    [("loss", 40), ("precision", 40), ("non-uniform-entropy", 40), ("average-class-size", 80)],
)
def test_few_nodes_are_looked_at_where_nothing_may_be_suppressed(shared_data, metric, most):
    """Of 12,960; walks that halve chains look at 63 to 217 of them."""
    folder = shared_data / "arx-adult"
    asked = ic.Schema(
        quasi={name: ic.Hierarchy.read(folder / f"adult_hierarchy_{name}.csv") for name in COLUMNS}
    )
    table = read(folder / "adult.csv", separator=";")
    space = ic.anonymize(table, asked, [ic.KAnonymity(5)], ic.Optimal(metric)).lattice
    assert space.proved
    assert len(space.nodes) <= most
