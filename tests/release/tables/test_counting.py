"""Cells counted by groups of rows and people as sets, cell after cell."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import ParameterError, SchemaError, TableError
from incrowd.engines import engine_for
from incrowd.engines.cells import scaled, whole_units
from incrowd.release.tables.cells import Linked
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


def test_null_values_are_missing():
    table = pl.DataFrame(
        {"area": ["a", "b", "NA", None], "cost": ["1", "NA", "2", "4"], "who": [*"xyz", "NA"]}
    )
    schema = ic.Schema(quasi=["area"], insensitive=["cost"], person="who", null_values=["NA"])
    cells = count_cells(engine_for(table), schema, ic.CountTable("t", rows=["area"], sum="cost"))
    [area] = cells.axes
    assert dict(zip(area.codes, cells.values.tolist(), strict=True)) == {
        "Total": 7.0,
        "a": 1.0,
        "b": 0.0,
        "<missing>": 6.0,
    }
    assert cells.people.tolist() == [4, 1, 1, 2]


@pytest.mark.parametrize("layout", [{}, {"count": "records"}, {"sum": "cost"}])
def test_rows_of_stars_are_not_lost(layout):
    """A star is a text that somebody wrote, and no row that was suppressed."""
    stars = ic.Hierarchy.from_nested({"all": ["a", "*"]})
    table = pl.DataFrame({"area": [*"aaa**"], "cost": [1, 2, 4, 8, 16], "who": [*"vwxyz"]})
    schema = ic.Schema(quasi={"area": stars}, insensitive=["cost"], person="who")
    release = ic.tabulate(
        table, ic.Policy(schema), [ic.CountTable("t", rows=["area"], threshold=2, **layout)]
    )
    expected = [31, 7, 24] if layout.get("sum") else [5, 3, 2]
    assert release["t"].to_series(-2).to_list() == expected


def test_a_star_is_no_number():
    table = pl.DataFrame({"area": [*"aabb"], "cost": ["1", "2", "*", "4"]})
    schema = ic.Schema(quasi={"area": None}, insensitive=["cost"])
    layout = ic.CountTable("t", rows=["area"], sum="cost", threshold=2)
    with pytest.raises(SchemaError, match="'cost'"):
        ic.tabulate(table, ic.Policy(schema), [layout])


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_decimals_are_exact_in_any_order(seed):
    draw = np.random.default_rng(seed)
    numbers = [*(draw.integers(0, 10**6, 500) / 100), 0.1, 0.2, 1e7]
    exact = sum((Fraction(str(number)) for number in numbers), Fraction())
    for order in (range(len(numbers)), draw.permutation(len(numbers))):
        table = pl.DataFrame({"area": "a", "cost": [numbers[place] for place in order]})
        schema = ic.Schema(quasi={"area": None}, insensitive=["cost"])
        cells = count_cells(engine_for(table), schema, ic.CountTable("t", rows=["area"], sum="cost"))
        assert cells.values.tolist() == [float(exact)] * 2


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e15, 1e200])
def test_whole_units_lose_less_than_a_sum_of_doubles(scale):
    numbers = np.random.default_rng(2).random(1000) * scale
    units, power = whole_units(numbers, np.full(1000, 7))
    assert scaled(units.astype(float), -power) == pytest.approx(numbers, rel=1e-12, abs=scale * 1e-13)
    assert int(units.sum()) * 7 < 2**63


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


@pytest.mark.parametrize(
    ("day", "attribute"),
    [
        ("2020-03-05", ic.Attribute("day", "quasi", kind="date")),
        (20200305, ic.Attribute("day", "insensitive", format="%Y%m%d")),
    ],
)
def test_dates_are_not_summed(day, attribute):
    """Days as whole numbers would have a sum without a meaning."""
    schema = ic.Schema.of_attributes([ic.Attribute("area", "quasi"), attribute], unlisted="drop")
    table = visits(0).with_columns(day=pl.lit(day))
    with pytest.raises(SchemaError, match="'day' has dates"):
        count_cells(engine_for(table), schema, ic.CountTable("t", rows=["area"], sum="day"))


@pytest.mark.parametrize("value", ["\0missing", "north\0"])
def test_a_value_that_no_file_can_show_is_refused(value):
    """The first value is the internal name of missing values."""
    table = visits(0).with_columns(
        ill=pl.when(pl.int_range(pl.len()) == 3).then(pl.lit(value)).otherwise("ill")
    )
    with pytest.raises(TableError, match="NUL"):
        count_cells(engine_for(table), SCHEMA, ic.CountTable("t", rows=["ill"]))


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


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(20))
def test_people_with_several_codes_meet_every_condition(seed):
    """The excess of some people's parts over the total is at most that of all people."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(5, 80))
    rows = pl.DataFrame(
        {
            "who": draw.integers(0, 25, size),
            "drug": draw.choice(list("abc"), size),
            "ill": draw.choice(list("xyzw"), size),
            "sex": draw.choice(list("fm"), size),
        }
    )
    nested = ic.Hierarchy.from_nested({"*": {"p": ["x", "y"], "q": ["z", "w"]}})
    schema = ic.Schema(
        person=["who"], quasi={"drug": ic.Hierarchy.flat(), "ill": nested, "sex": ic.Hierarchy.flat()}
    )
    layout = ic.CountTable("t", rows=["drug", "sex"], columns=["ill"])
    cells = count_cells(engine_for(rows, starred=True), schema, layout)
    linked = Linked.of_tables([cells.axes], cells.overlapping)
    matrix, most = linked.rows
    true = np.zeros(linked.size)
    true[linked.cells[0]] = cells.values
    met = matrix @ true
    assert len(linked.excess) > 0 or len(cells.overlapping) < 2
    assert ((met >= 0) & (met <= most)).all()


def wide(**columns):
    schema = ic.Schema(quasi=list(columns))
    return engine_for(pl.DataFrame(columns)), schema


def test_a_column_with_a_code_for_most_people_is_refused():
    engine, schema = wide(wage=[*range(150), *range(100)], sex=["f", "m"] * 125)
    layout = ic.CountTable("wages", rows=["wage"], columns=["sex"])
    with pytest.raises(ParameterError, match=r"'wage' has 150 codes in 250 rows, .* hierarchy.*'wage:1'"):
        count_cells(engine, schema, layout)


def test_a_code_that_nobody_has_is_none_of_the_many():
    areas = ic.Hierarchy.from_nested({"*": {"all": [f"area {number}" for number in range(300)]}})
    table = pl.DataFrame({"area": ["area 1", "area 2"] * 60})
    schema = ic.Schema(quasi={"area": areas})
    cells = count_cells(engine_for(table), schema, ic.CountTable("areas", rows=["area"]))
    assert cells.values[0] == 120


def test_a_column_with_a_code_for_two_or_more_people_is_counted():
    engine, schema = wide(wage=[*range(150)] * 2, sex=["f", "m"] * 150)
    assert count_cells(engine, schema, ic.CountTable("wages", rows=["wage"])).values[0] == 300


def test_a_table_of_too_many_cells_is_refused_before_it_is_filled():
    columns = {name: [*range(90)] * 2 for name in "abcd"}
    engine, schema = wide(**columns)
    with pytest.raises(ParameterError, match=r"68,574,961 cells.* \(91 of a x .* at most 1,000,000"):
        count_cells(engine, schema, ic.CountTable("much", rows=["a", "b"], columns=["c", "d"]))
