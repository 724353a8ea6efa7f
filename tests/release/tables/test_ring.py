"""Three tables with a shared column per pair together tell more than the sums do."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from incrowd.core.errors import VerdictError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.engines import engine_for
from incrowd.release.tables import ring
from incrowd.release.tables.audit import intervals
from incrowd.release.tables.cells import Axis, Linked, with_totals
from incrowd.release.tables.counting import count_cells
from incrowd.release.tables.protect import protect
from incrowd.release.tables.ring import ring_of, with_ring
from incrowd_verify.count_tables import verify_tables

AXES = [Axis(name, Hierarchy.from_nested({"*": ["0", "1"]})) for name in "abc"]
SCHEMA = ic.Schema(quasi=["a", "b", "c"], unlisted="drop")
LAYOUTS = [
    ic.CountTable(f"{one}{two}", rows=[one], columns=[two], threshold=3, count="records")
    for one, two in ("ab", "bc", "ac")
]


def records(seed):
    """Records with nearly equal a and b, and a c that depends on both."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(30, 90))
    a = draw.integers(0, 3, size)
    b = np.where(draw.random(size) < 0.85, a, draw.integers(0, 3, size))
    c = np.where(draw.random(size) < 0.5, (a + b) % 2, draw.integers(0, 2, size))
    return pl.DataFrame({"a": a, "b": b, "c": c}).with_columns(pl.all().cast(pl.String))


@pytest.mark.parametrize(
    ("tables", "columns"),
    [
        (["ab"], ""),
        (["ab", "ab"], ""),
        (["ab", "bc"], ""),
        (["ab", "bc", "cd"], ""),
        (["abc", "ab", "bc", "ac"], ""),
        (["ab", "ac", "ad"], ""),
        (["ab", "bc", "ac"], "abc"),
        (["ab", "bc", "cd", "ad"], "abcd"),
        (["abx", "bc", "acy", "yz"], "abc"),
    ],
)
def test_which_tables_are_a_ring(tables, columns):
    tree = Hierarchy.from_nested({"*": ["0", "1"]})
    axes = [[Axis(column, tree) for column in table] for table in tables]
    assert "".join(axis.column for axis in ring_of(axes)) == columns


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(20))
def test_intervals_are_those_of_all_whole_tables_that_fit(seed):
    draw = np.random.default_rng(seed)
    pairs = list(combinations(range(3), 2))
    axes = [[AXES[place] for place in pair] for pair in pairs]
    linked = Linked.of_tables(axes)

    def cells_of(inner):
        values = np.zeros(linked.size)
        for pair, cells in zip(pairs, linked.cells, strict=True):
            [other] = {0, 1, 2} - {*pair}
            values[cells] = with_totals(inner.sum(axis=other), [AXES[place] for place in pair]).ravel()
        return values

    total = 6
    counts = cells_of(draw.multinomial(total, np.full(8, 1 / 8)).reshape(2, 2, 2))
    hidden = draw.random(linked.size) < 0.6
    hidden[0] = False
    cells = np.flatnonzero(hidden)
    bars = combinations(range(total + 7), 7)
    every = (np.diff([-1, *places, total + 7]) - 1 for places in bars)
    fitting = [
        values
        for values in (cells_of(inner.reshape(2, 2, 2)) for inner in every)
        if (values[~hidden] == counts[~hidden]).all()
    ]
    low, high = np.where(hidden, 0.0, counts), np.where(hidden, np.inf, counts)
    ends = intervals(*with_ring(axes, linked, (), low, high), cells)
    assert ends.lower.tolist() == np.min(fitting, axis=0)[cells].tolist()
    assert ends.upper.tolist() == np.max(fitting, axis=0)[cells].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("seed", quick([11, 21, 23, 36, 70, 113], 113))
def test_a_ring_is_protected_as_a_whole(seed, tmp_path, monkeypatch):
    engine = engine_for(records(seed))
    counts = [count_cells(engine, SCHEMA, layout) for layout in LAYOUTS]
    # Who protects the tables by their sums alone leaves cells that the whole table tells.
    assert sum(table.unsafe for table in protect(counts, seconds=20)) > 0
    release = ic.tabulate(records(seed), ic.Policy(SCHEMA), LAYOUTS)
    assert release.verdict.holds
    release.save(tmp_path / "out")
    assert verify_tables(tmp_path / "out").ok
    # The verifier looks at the whole table, too.
    monkeypatch.setattr("incrowd.release.jobs.make.tabulate.ring_of", lambda tables: [])
    with pytest.raises(VerdictError):
        ic.tabulate(records(seed), ic.Policy(SCHEMA), LAYOUTS)
    monkeypatch.setattr(
        "incrowd.release.tables.protect.with_ring",
        lambda tables, linked, overlapping, low, high: (linked, low, high),
    )
    ic.tabulate(records(seed), ic.Policy(SCHEMA), LAYOUTS).save(tmp_path / "told")
    assert verify_tables(tmp_path / "told").verdict.state == "broken"


@pytest.mark.gated
def test_a_ring_that_is_too_large_is_an_open_point(tmp_path, monkeypatch):
    monkeypatch.setattr(ring, "MOST_CELLS", 10)
    monkeypatch.setattr("incrowd_verify.count_tables.check._COMBINATIONS", 10)
    with pytest.raises(VerdictError, match="linked-tables: a"):
        ic.tabulate(records(0), ic.Policy(SCHEMA), LAYOUTS, unanswered="refuse")
    policy = ic.Policy(SCHEMA, accepted=(ic.Accepted("linked-tables", "a", "it was computed elsewhere"),))
    release = ic.tabulate(records(0), policy, LAYOUTS)
    assert release.verdict.holds
    release.save(tmp_path / "out")
    checked = verify_tables(tmp_path / "out").verdict
    assert (checked.holds, checked.accepted) == (True, release.verdict.accepted)
    open_ = ic.tabulate(records(0), ic.Policy(SCHEMA), LAYOUTS, unanswered="write")
    open_.save(tmp_path / "open")
    assert verify_tables(tmp_path / "open").verdict.state == open_.verdict.state == "open"
