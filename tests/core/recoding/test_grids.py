"""Ends of ranges on a grid: never inside, as narrow as possible, and read as written."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from fuzz.oracle import on_grid
from incrowd.core.reading.cells import read_span
from incrowd.core.reading.exact import days_of, number_of
from incrowd.core.recoding.cells import mean_labels, range_cells, range_label
from incrowd.core.table.schema import Attribute, Schema
from incrowd.core.table.settings import CALENDAR, Grid
from incrowd.engines.memory import MemoryEngine

NUMBERS = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(-(10**6), 10**6, places=4).map(lambda number: format(number, "f")),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: format(Decimal(number), "f")),
)
STEPS = st.sampled_from(["digits", "fives", "1", "5", "100", "0.25", "0.1", "2500"])
DAYS = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)).map(dt.date.isoformat)
TIMES = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)).map(dt.datetime.isoformat)


def domain_of(values, **settings):
    schema = Schema.of_attributes([Attribute("q", "quasi", ends="outward", **settings)], unlisted="drop")
    return MemoryEngine(pl.DataFrame({"q": values})).count(schema).frequency.domains[0]


@pytest.mark.parametrize(
    ("spec", "text", "down", "up"),
    [
        ("digits", "1005", "1000", "1100"),
        ("digits", "987654", "980000", "990000"),
        ("digits", "0.4567", "0.45", "0.46"),
        ("digits", "-1005", "-1100", "-1000"),
        ("digits", "20", "20", "20"),
        ("digits", "99", "99", "99"),
        ("digits", "99.5", "99", "100"),
        ("digits", "0", "0", "0"),
        ("digits", "-0.0", "0", "0"),
        ("digits", "1e-7", "0.0000001", "0.0000001"),
        ("fives", "31", "30", "35"),
        ("fives", "35", "35", "35"),
        ("fives", "99.5", "95", "100"),
        ("fives", "101", "100", "110"),
        ("fives", "0.4567", "0", "5"),
        ("fives", "-104.5", "-110", "-100"),
        ("100", "-1", "-100", "0"),
        ("0.1", "0.30000000000000004", "0.3", "0.4"),
        ("month", "2020-02-29", "2020-02-01", "2020-02-29"),
        ("month", "2020-03-05T08:30:00", "2020-03-01", "2020-03-31"),
        ("year", "9999-07-01", "9999-01-01", "9999-12-31"),
        ("day", "2020-03-05T08:30:00", "2020-03-05", "2020-03-05"),
    ],
)
def test_ends_are_rounded_outward(spec, text, down, up):
    assert (Grid(spec).down(text), Grid(spec).up(text)) == (down, up)


@given(STEPS, NUMBERS)
def test_no_number_is_rounded_inward_and_each_to_the_next_place(spec, text):
    grid, number = Grid(spec), number_of(text)
    step = spec if spec in ("digits", "fives") else float(spec)
    for way, rounded in (("down", grid.down(text)), ("up", grid.up(text)), ("near", grid.near(text))):
        assert Decimal(rounded) == on_grid(step, number_fraction(text), way)
        assert grid.down(rounded) == grid.up(rounded) == grid.near(rounded) == rounded
    assert Decimal(grid.down(text)) <= number <= Decimal(grid.up(text))


@given(STEPS, NUMBERS, NUMBERS)
def test_rounding_keeps_the_order_of_numbers(spec, one, other):
    one, other = sorted((one, other), key=Decimal)
    grid = Grid(spec)
    assert Decimal(grid.down(one)) <= Decimal(grid.down(other))
    assert Decimal(grid.up(one)) <= Decimal(grid.up(other))
    assert Decimal(grid.near(one)) <= Decimal(grid.near(other))


@given(st.sampled_from(CALENDAR), st.one_of(DAYS, TIMES))
def test_days_are_rounded_to_the_first_and_the_last_of_a_month_or_year(unit, text):
    grid, place = Grid(unit), days_of(text)
    for way, rounded in (("down", grid.down(text)), ("up", grid.up(text)), ("near", grid.near(text))):
        assert days_of(rounded) == on_grid(unit, place, way)
    assert days_of(grid.down(text)) <= place < days_of(grid.up(text)) + 1
    assert grid.down(grid.down(text)) == grid.down(text)
    assert grid.up(grid.up(text)) == grid.up(text)


def number_fraction(text):
    from fractions import Fraction

    return Fraction(text)


@given(
    st.one_of(
        st.sets(NUMBERS, min_size=2, max_size=8),
        st.sets(DAYS, min_size=2, max_size=8),
        st.sets(TIMES, min_size=2, max_size=8),
    ),
    st.data(),
)
def test_a_range_covers_its_values_and_is_read_as_it_was_written(values, data):
    kind = (
        "date"
        if next(iter(values))[4:5] == "-"
        and len(next(iter(values))) >= 10
        and "." not in next(iter(values))[:10]
        else "number"
    )
    rows = (
        pl.Series(sorted(values)).str.to_datetime()
        if kind == "date" and "T" in next(iter(values))
        else sorted(values)
    )
    domain = domain_of(rows, kind=kind)
    if domain.size < 2:
        return
    lo, hi = sorted(data.draw(st.sets(st.integers(0, domain.size - 1), min_size=2, max_size=2)))
    label = range_label(domain, lo, hi)
    if (lo, hi) == (0, domain.size - 1):
        assert label == "*"
        return
    ends = read_span(label, domain.kind)
    held = domain.line.between(ends.low, ends.high).tolist()
    assert held == list(range(held[0], held[-1] + 1))
    assert held[0] <= lo
    assert held[-1] >= hi
    assert (" or " in label) == (lo == 0 or hi == domain.size - 1)
    assert label.endswith(("less", "earlier")) == (lo == 0)
    assert label.endswith(("more", "later")) == (hi == domain.size - 1)
    [text], [first], [last], [loss] = range_cells(domain, np.array([lo], np.int32), np.array([hi], np.int32))
    assert (text, first, last) == (label, held[0], held[-1])
    # A day is as wide as a moment of it.
    extent = domain.places[-1] - domain.places[0]
    slack = 1e-9 + (1 / extent if kind == "date" else 0)
    assert domain.span(np.array([lo]), np.array([hi]))[0] - slack <= loss <= 1


def test_numbers_that_are_far_apart_end_at_multiples_of_five():
    ages = domain_of([18, 31, 38, 43])
    assert range_label(ages, 1, 2) == "[30-40]"
    assert range_label(ages, 0, 2) == "40 or less"
    assert range_label(ages, 1, 3) == "30 or more"
    assert range_label(ages, 1, 1) == "31"
    assert range_label(domain_of([18, 31, 38, 43], grid=1), 1, 2) == "[31-38]"
    assert range_label(domain_of(["18.5", "31", "38", "38.5"]), 1, 2) == "[30-40]"
    assert range_label(domain_of([80, 97, 118, 203]), 1, 2) == "[95-120]"


def test_numbers_that_are_close_end_at_two_digits():
    assert range_label(domain_of([18, 31, 33, 37]), 1, 2) == "[31-33]"
    assert range_label(domain_of([18.0, 31.0, 33.0, 37.9]), 1, 2) == "[31-33]"
    assert range_label(domain_of([18, 31, 33, 38]), 1, 2) == "[30-35]"


def test_years_are_whole_numbers():
    """Two digits of a year would be the century."""
    years = domain_of([1987, 1990, 1993, 2004])
    assert range_label(years, 1, 2) == "[1990-1993]"
    assert range_label(years, 0, 2) == "1993 or less"
    assert range_label(domain_of([1934, 1951, 1993, 2004]), 1, 2) == "[1950-1995]"
    pay = domain_of([1987, 1990, 1993, 2004, 2500])
    assert range_label(pay, 1, 2) == "[1900-2000]"
    # Two digits of their spread, since those of their size say nothing.
    assert range_label(domain_of(["1987.5", "1990", "1993", "2004"]), 1, 2) == "[1990-1993]"


def test_a_declared_grid_takes_the_place_of_the_usual_one():
    assert range_label(domain_of([1, 1234, 1299, 5000], grid=50), 1, 2) == "[1200-1300]"
    days = [dt.date(2019, 1, 5), dt.date(2020, 2, 3), dt.date(2020, 3, 9), dt.date(2021, 1, 1)]
    assert range_label(domain_of(days), 1, 2) == "[2020-02-01 to 2020-03-31]"
    assert range_label(domain_of(days, grid="year"), 1, 2) == "[2020-01-01 to 2020-12-31]"
    assert range_label(domain_of(days, grid="day"), 0, 2) == "2020-03-09 or earlier"
    with pytest.raises(ic.SchemaError, match="'q' holds dates, so its grid must be one of day, month, year"):
        domain_of(days, grid=5)
    with pytest.raises(ic.SchemaError, match="'q' holds numbers, so its grid must be a number"):
        domain_of([1, 2], grid="month")


@pytest.mark.parametrize("grid", [0, -1, float("inf"), float("nan"), True, "week", "100", [1]])
def test_what_is_no_grid_is_refused(grid):
    with pytest.raises(
        ic.SchemaError, match="'q': grid must be a number above 0, or one of day, month, year"
    ):
        Attribute("q", "quasi", grid=grid)


def test_a_grid_is_about_a_quasi_identifier_and_makes_ends_outward():
    assert Attribute("q", "quasi", grid=5).rounded
    with pytest.raises(ic.SchemaError, match="exact ends have no grid"):
        Attribute("q", "quasi", ends="exact", grid=5)
    with pytest.raises(ic.SchemaError, match="ends and grid are about the ranges of a quasi-identifier"):
        Attribute("q", "sensitive", grid=5)
    with pytest.raises(ic.SchemaError, match="ends must be one of outward, exact"):
        Attribute("q", "quasi", ends="inward")


def test_one_value_of_a_class_stays_as_it_is():
    domain = domain_of([1005, 1010, 987654])
    assert [range_label(domain, rank, rank) for rank in range(3)] == ["1005", "1010", "987654"]


def test_with_the_missing_value_a_range_is_everything():
    domain = domain_of([1, 5, None])
    assert range_label(domain, 0, 2) == "*"
    assert range_label(domain, 0, 1) == "*"
    assert range_label(domain, 2, 2) is None


def test_a_mean_is_rounded_and_needs_three_known_values():
    from types import SimpleNamespace

    def mean(domain, ranks, counts):
        result = SimpleNamespace(
            indptr=np.array([0, len(ranks)]), codes=np.array(ranks), counts=np.array(counts)
        )
        return mean_labels(domain, result)[0]

    pay = domain_of([1005, 1010, 987654, None])
    assert mean(pay, [0, 1], [1, 1]) == "*"
    assert mean(pay, [0, 1], [2, 1]) == "1000"
    assert mean(pay, [0, 2], [1, 2]) == "660000"
    assert mean(pay, [0, 1, 3], [1, 1, 5]) == "*"
    assert mean(pay, [0], [1]) == "1005"
    # The example of docs/limits.md: a class of five of which two values are missing.
    assert mean(domain_of([1000, 1100, 5000, None]), [0, 1, 2, 3], [1, 1, 1, 2]) == "2400"
    days = domain_of([dt.date(2020, 1, 20), dt.date(2020, 1, 31)])
    assert mean(days, [0, 1], [2, 1]) == "2020-02-01"


@given(st.lists(st.integers(0, 400), min_size=2, max_size=40), st.booleans(), st.data())
def test_ranges_have_the_cells_that_each_has_alone(values, missing, data):
    domain = domain_of([*values, *([None] if missing else [])])
    rank = st.integers(0, domain.size - 1)
    pairs = data.draw(st.lists(st.tuples(rank, rank), min_size=1, max_size=30))
    lo, hi = (np.array(ends, np.int32) for ends in zip(*map(sorted, pairs), strict=True))
    each = [range_cells(domain, lo[n : n + 1], hi[n : n + 1]) for n in range(len(lo))]
    assert [list(cells) for cells in range_cells(domain, lo, hi)] == [
        [value for cells in each for value in cells[part]] for part in range(4)
    ]


def test_an_end_that_many_ranges_share_is_rounded_once_and_a_text_is_read_once(monkeypatch):
    from incrowd.core.recoding import cells

    rounded, texts = [], []
    by_round, read = Grid._round, cells.read_span
    monkeypatch.setattr(Grid, "_round", lambda *given: rounded.append(given[1:]) or by_round(*given))
    monkeypatch.setattr(cells, "read_span", lambda *given: texts.append(given) or read(*given))
    domain = domain_of(list(range(60)))
    lo, hi = np.array([[lo, hi] for lo in range(1, 20) for hi in range(30, 50)], np.int32).T
    labels, *_ = range_cells(domain, lo, hi)
    assert len(texts) == len(set(labels)) == 4 * 5
    # Once for each end, and twice for each text.
    assert len(rounded) == 19 + 20 + 2 * len(texts)
