"""Cells counted by groups of rows and people as sets, one cell after another."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import ParameterError, SchemaError, TableError
from incrowd.engines import engine_for
from incrowd.release.tables.counting import count_cells

AREAS = ic.Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": {"mid": ["c", "d"], "e": None}}})
SCHEMA = ic.Schema(
    quasi={"area": AREAS, "age": ic.Hierarchy.intervals(10, 20)},
    sensitive=["ill"],
    insensitive=["cost"],
    person="who",
)


def visits(seed, people=40):
    draw = np.random.default_rng(seed)
    who = draw.integers(0, people, 120)
    return pl.DataFrame(
        {
            "who": [f"p{number}" for number in who],
            "area": draw.choice(list("abcde"), 120),
            "age": 20 + who % 40,
            "ill": draw.choice(["flu", "gout"], 120),
            "cost": draw.integers(1, 50, 120),
        }
    )


def below(axis, code):
    """The finest codes under a code."""
    node = axis.codes.index(code)
    return set(axis.tree.values[axis.tree.lo[node] : axis.tree.hi[node]])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", ["people", "records"])
def test_counts_are_those_of_sets_of_rows(seed, count):
    table = visits(seed)
    layout = ic.CountTable("t", rows=["area:1"], columns=["ill"], count=count)
    cells = count_cells(engine_for(table), SCHEMA, layout)
    area, ill = cells.axes
    # The last step below the root is left out, so that c and d are mid.
    assert area.codes == ("Total", "north", "a", "b", "south", "mid", "e")
    recoded = table.with_columns(pl.col("area").replace({"c": "mid", "d": "mid"}))
    for place, (code, other) in enumerate(product(area.codes, ill.codes)):
        rows = recoded.filter(
            pl.col("area").is_in([*below(area, code)]), pl.col("ill").is_in([*below(ill, other)])
        )
        assert cells.people[place] == rows["who"].n_unique()
        assert cells.values[place] == (rows["who"].n_unique() if count == "people" else len(rows))
    assert cells.overlapping == (("area", "ill") if count == "people" else ())


def test_the_largest_parts_of_a_sum_are_of_people():
    table = visits(5)
    layout = ic.CountTable("t", rows=["area"], sum="cost", dominance=[3, 0.8])
    cells = count_cells(engine_for(table), SCHEMA, layout)
    [area] = cells.axes
    for place, code in enumerate(area.codes):
        rows = table.filter(pl.col("area").is_in([*below(area, code)]))
        parts = sorted(rows.group_by("who").agg(pl.col("cost").sum())["cost"], reverse=True)
        assert cells.values[place] == rows["cost"].sum()
        assert cells.largest[place].tolist() == [*parts, 0, 0, 0][:3]


def test_rows_without_a_person_are_people_of_their_own():
    table = visits(1).with_columns(who=pl.when(pl.col("who") == "p1").then(None).otherwise("who"))
    cells = count_cells(engine_for(table), SCHEMA, ic.CountTable("t", rows=["area"]))
    unnamed = table["who"].null_count()
    assert unnamed
    assert cells.people[0] == table["who"].drop_nulls().n_unique() + unnamed


def test_records_are_counted_where_no_column_names_people():
    table = visits(2).drop("who")
    schema = ic.Schema(quasi={"area": AREAS}, unlisted="drop")
    cells = count_cells(engine_for(table), schema, ic.CountTable("t", rows=["area"]))
    assert cells.values[0] == 120
    assert cells.overlapping == ()


def test_a_database_counts_records(tmp_path):
    import duckdb

    table = visits(3).drop("who")
    schema = ic.Schema(quasi={"area": AREAS}, sensitive=["ill"], unlisted="drop")
    layout = ic.CountTable("t", rows=["area"], columns=["ill"])
    relation = duckdb.from_arrow(table.to_arrow())
    there = count_cells(engine_for(relation), schema, layout)
    here = count_cells(engine_for(table), schema, layout)
    assert there.values.tolist() == here.values.tolist()
    assert [axis.codes for axis in there.axes] == [axis.codes for axis in here.axes]
    sums = ic.Schema(quasi={"area": AREAS}, insensitive=["cost"], unlisted="drop")
    with pytest.raises(TableError, match="rows are not in memory"):
        count_cells(engine_for(relation), sums, ic.CountTable("t", rows=["area"], sum="cost"))


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"rows": ["aera"]}, r"no column 'aera'.*area"),
        ({"rows": ["who"]}, "names people"),
        ({"rows": ["area"], "sum": "csot"}, "no column 'csot'"),
    ],
)
def test_a_wrong_column_is_named(layout, message):
    with pytest.raises(SchemaError, match=message):
        count_cells(engine_for(visits(0)), SCHEMA, ic.CountTable("t", **layout))


def test_negative_numbers_are_not_summed():
    table = visits(0).with_columns(cost=-pl.col("cost"))
    with pytest.raises(TableError, match="negative numbers"):
        count_cells(engine_for(table), SCHEMA, ic.CountTable("t", rows=["area"], sum="cost"))


def test_a_cell_key_needs_people(monkeypatch):
    monkeypatch.setenv("TABLE_KEY", "5f0c8e7a1b9d3c62e4a87f15d02b6c93ab41e8d7f6209c5b3e1a7d84c09f62b5")
    layout = ic.CountTable("t", rows=["area"], protect="cell-key", key="env:TABLE_KEY")
    table = visits(0)
    with pytest.raises(ParameterError, match="no column names them"):
        count_cells(engine_for(table.drop("who")), ic.Schema(quasi={"area": AREAS}, unlisted="drop"), layout)
    holes = table.with_columns(who=pl.when(pl.col("who") == "p1").then(None).otherwise("who"))
    with pytest.raises(ParameterError, match="rows name no person"):
        count_cells(engine_for(holes), SCHEMA, layout)
    one, other = (count_cells(engine_for(rows), SCHEMA, layout) for rows in (table, table.reverse()))
    assert one.keys.tolist() == other.keys.tolist()
