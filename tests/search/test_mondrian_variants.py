"""The variants of Mondrian: rules of the notebooks, relaxed, bounded, by information gain."""

from __future__ import annotations

import random as chance

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
from local_readings import (
    LEAVES,
    assigned,
    entropy,
    notebook,
    schema_of,
    tables,
    together,
)

# --- Mondrian's variants ------------------------------------------------------------------------------


@given(tables(), st.integers(1, 5), st.integers(1, 2))
def test_the_notebook_rules_read_as_the_notebook_does(table, k, l):  # noqa: E741
    table = table.with_columns(pl.col("n").fill_null(7))
    assume(k <= table.height and l <= table["s"].n_unique())
    sensitive = table["s"].to_list()
    expected = notebook(
        table,
        ["n", "t", "c"],
        lambda part: len(part) >= max(k, 1) and len({sensitive[row] for row in part}) >= l,
    )
    rules = ic.Mondrian(choose="span", median="below", categories="appearance")
    classes = assigned(rules, table, schema_of("n", "t", "c"), [ic.KAnonymity(k), ic.LDiversity(l)])
    # The order of the classes is the notebook's, too.
    assert [
        [row for row, held in enumerate(classes) if held == number] for number in range(len(expected))
    ] == expected


@given(st.lists(st.integers(0, 9), min_size=2, max_size=60), st.integers(1, 6))
def test_relaxed_halves_whatever_the_ties(values, k):
    assume(k <= len(values) and len(set(values)) > 1)
    table = pl.DataFrame({"n": values, "s": ["x"] * len(values)})
    classes = assigned(ic.Mondrian(mode="relaxed"), table, schema_of("n"), [ic.KAnonymity(k)])

    def halves(rows: list[int]) -> list[list[int]]:
        if len(rows) < 2 * k or len({values[row] for row in rows}) == 1:
            return [rows]
        # Stable: among equal values the order so far decides.
        in_order = sorted(rows, key=lambda row: values[row])
        left = set(in_order[: len(rows) // 2])
        return halves([r for r in rows if r in left]) + halves([r for r in rows if r not in left])

    assert together(classes) == {frozenset(part) for part in halves(list(range(len(values))))}


def test_relaxed_parts_what_strict_cannot():
    table = pl.DataFrame({"n": [1, 2, 2, 2, 2, 3], "s": ["x"] * 6})
    schema = schema_of("n")
    assert together(assigned(ic.Mondrian(), table, schema, [ic.KAnonymity(2)])) == {frozenset(range(6))}
    relaxed = ic.anonymize(table, schema, [ic.KAnonymity(2)], ic.Mondrian(mode="relaxed"), ends="exact")
    assert relaxed.table["n"].to_list() == ["[1-2]", "[1-2]", "[1-2]", "[2-3]", "[2-3]", "[2-3]"]


@given(tables(), st.integers(0, 4))
def test_max_depth_bounds_the_cuts(table, depth):
    schema = schema_of("n", "c")
    shallow = ic.Mondrian(categories="ordered", max_depth=depth)
    result = together(assigned(shallow, table, schema, [ic.KAnonymity(1)]))
    assert len(result) <= 2**depth
    deeper = together(assigned(ic.Mondrian(categories="ordered"), table, schema, [ic.KAnonymity(1)]))
    assert all(any(fine <= coarse for coarse in result) for fine in deeper)


@given(tables(), st.integers(1, 4))
def test_gain_chooses_the_threshold_that_tells_most(table, k):
    """A single number: the first cut has the largest information gain, and of equal cuts the lowest rank."""
    table = table.with_columns(pl.col("n").fill_null(40))
    assume(2 * k <= table.height)
    by_gain = ic.Mondrian(choose="gain", target="s", max_depth=1)
    result = together(assigned(by_gain, table, schema_of("n"), [ic.KAnonymity(k)]))
    values, target = table["n"].to_list(), table["s"].to_list()

    def left_over(cut: int) -> float:
        sides = [[target[r] for r, v in enumerate(values) if (v < cut) == left] for left in (True, False)]
        return sum(len(side) * entropy(side) for side in sides)

    cuts = [
        cut
        for cut in sorted(set(values))[1:]
        if min(sum(v < cut for v in values), sum(v >= cut for v in values)) >= k
    ]
    if not cuts:
        assert len(result) == 1
        return
    assert len(result) == 2
    border = max(min(values[row] for row in rows) for rows in result)
    assert left_over(border) == pytest.approx(min(map(left_over, cuts)), abs=1e-9)


def test_gain_goes_for_the_attribute_that_tells():
    """`noise` is as wide as can be; `tells` decides the target."""
    rows = 64
    chance.seed(1)
    table = pl.DataFrame(
        {
            "noise": [chance.randrange(1000) for _ in range(rows)],
            "tells": [10 + row % 2 for row in range(rows)],
            "flag": ["yes" if row % 2 else "no" for row in range(rows)],
        }
    )
    schema = ic.Schema(quasi=["noise", "tells"], insensitive=["flag"])
    release = ic.anonymize(table, schema, [ic.KAnonymity(5)], ic.Mondrian(choose="gain", target="flag"))
    assert set(release.table["tells"]) == {"10", "11"}
    with pytest.raises(ic.ParameterError, match="belong together"):
        ic.Mondrian(choose="gain")
    with pytest.raises(ic.ParameterError, match="belong together"):
        ic.Mondrian(target="flag")
    with pytest.raises(ic.SchemaError, match="no column 'flags'"):
        ic.anonymize(table, schema, [ic.KAnonymity(5)], ic.Mondrian(choose="gain", target="flags"))
    with pytest.raises(ic.SchemaError, match="'noise' is quasi"):
        ic.anonymize(table, schema, [ic.KAnonymity(5)], ic.Mondrian(choose="gain", target="noise"))


def test_gain_down_a_hierarchy():
    table = pl.DataFrame({"t": [*LEAVES] * 6, "n": [*range(42)], "s": [leaf[0] for leaf in LEAVES] * 6})
    release = ic.anonymize(
        table, schema_of("n", "t"), [ic.KAnonymity(6)], ic.Mondrian(choose="gain", target="s", max_depth=1)
    )
    assert set(release.table["t"]) == {"A", "B", "c1"}


def test_weights_say_where_to_cut():
    table = pl.DataFrame({"n": [0, 0, 10, 10], "m": [5, 9, 5, 9], "s": ["x"] * 4})
    for heavy, kept in (("n", {"0", "10"}), ("m", {"5", "9"})):
        schema = schema_of("n", "m", weights={heavy: 3})
        release = ic.anonymize(table, schema, [ic.KAnonymity(2)])
        assert set(release.table[heavy]) == kept


def test_ordered_categories_keep_their_ancestors():
    table = pl.DataFrame({"t": ["a1", "a2", "a3", "b1", "b2", "b3"], "s": ["x"] * 6})
    release = ic.anonymize(table, schema_of("t"), [ic.KAnonymity(3)], ic.Mondrian(categories="ordered"))
    assert release.table["t"].to_list() == ["A"] * 3 + ["B"] * 3
