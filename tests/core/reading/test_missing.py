"""The null values of a schema, read as texts, numbers and points of time."""

from __future__ import annotations

import datetime as dt
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.reading.missing import null_values_of

NUMBERS = st.one_of(st.integers(-(10**20), 10**20).map(str), st.decimals(-1000, 1000, places=2).map(str))


@pytest.mark.parametrize(
    ("null_value", "text", "means"),
    [
        ("99", "99", True), ("99", "99.000", True), ("99", "99.", False), ("99", "099", False),
        ("99", "99\n", False), ("99", "199", False), ("-1", "-1.0", True), ("0", "-0.0", True),
        ("0.1", "0.10", True), ("0.1", "0.11", False), ("0.10", "0.1", True), ("1e3", "1000", True),
        ("099", "99", False), ("099", "099", True), ("?", "?", True), ("", "", True), ("", "0", False),
        ("a.c", "abc", False), ("1900-01-01", "1900-01-01 00:00", True),
        ("1900-01-01", "1900-01-01T00:00:00.000000+0000", True), ("1900-01-01", "1900-01-01T00:00:01", False),
        ("1900-01-01T00:00:00", "1900-01-01", True), ("1900-01-01T05:00:00", "1900-01-01", False),
        ("1900-01-01T05:00:00", "1900-01-01T05:00:00.000", True), ("1900-13-01", "1900-13-01", True),
        ("10000000000000000", "1e+16", True), ("10000000000000000", "1e15", False),
        ("-1.50e-7", "-1.5e-07", True), ("1e9999", "1e9999", True), ("1e-9999", "0", False),
    ],
)  # fmt: skip
def test_ways_to_write_a_null_value(null_value, text, means):
    nulls = null_values_of((null_value,))
    assert nulls.mean(text) is means
    assert nulls.without(pl.Series([text]))[0] == (None if means else text)


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.lists(NUMBERS, min_size=1, max_size=6))
def test_a_number_means_the_same_in_every_type_and_as_it_is_written(nulls, cells):
    """A typed column has the same missing values as a CSV file of the column."""
    result = null_values_of(tuple(nulls))
    for kind in (pl.Float64, pl.Float32, pl.Int64, pl.Decimal(30, 3)):
        typed = pl.Series([*cells, *nulls]).cast(kind, strict=False).drop_nulls()
        lines = pl.DataFrame([typed]).write_csv(include_header=False).splitlines()
        assert result.without(typed).is_null().to_list() == [result.mean(line) for line in lines]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_a_day_means_its_midnight_as_the_clock_there_shows_it(unit, zone):
    hours = [dt.datetime(1999, 12, 31, 22) + dt.timedelta(hours=hour) for hour in range(5)]
    column = pl.Series(hours).dt.replace_time_zone("UTC").dt.cast_time_unit(unit)
    column = column.dt.convert_time_zone(zone) if zone else column.dt.replace_time_zone(None)
    nulls = null_values_of(("2000-01-01",))
    lines = pl.DataFrame([column]).write_csv(include_header=False).splitlines()
    assert nulls.without(column).is_null().to_list() == [nulls.mean(line) for line in lines]
    assert nulls.without(column).null_count() == 1


def test_without_null_values_only_none_is_missing():
    nulls = null_values_of(())
    assert not nulls
    assert nulls.mean(None)
    assert not nulls.mean("")
    assert nulls.without(pl.Series(["", None])).to_list() == ["", None]


@pytest.mark.parametrize("wrong", ["NA", ["*"], [99]])
def test_a_schema_refuses_null_values_that_are_none(wrong):
    with pytest.raises(ic.SchemaError, match="null_values"):
        ic.Schema(quasi=["a"], null_values=wrong)


def test_a_pattern_is_anchored():
    pattern = null_values_of(("1", "2", "1900-01-01")).pattern
    assert pattern is not None
    assert not re.search(pattern, "x1")
    assert not re.search(pattern, "2x")


@pytest.mark.parametrize("null_value", ["1e300", "1" * 50, "0." + "1" * 60])
@pytest.mark.parametrize("kind", [pl.Decimal(38, 2), pl.Float64, pl.Int64, pl.Float32])
def test_a_null_value_that_a_type_cannot_hold_means_nothing_there(null_value, kind):
    column = pl.Series([1, 2], dtype=kind)
    assert null_values_of((null_value,)).without(column).null_count() == 0
