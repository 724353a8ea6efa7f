"""A single normal form of keys: numbers by value, texts unchanged."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.reading.keys import key_texts


def keys(values, **settings):
    return key_texts(pl.DataFrame({"id": pl.Series(values, **settings)}))["id"].to_list()


ONE_TO_THREE = [
    pl.Series([1, 2, 3]),
    pl.Series([1, 2, 3], dtype=pl.Int8),
    pl.Series([1, 2, 3], dtype=pl.UInt64),
    pl.Series([1.0, 2.0, 3.0]),
    pl.Series([1.0, 2.0, 3.0], dtype=pl.Float32),
    pl.Series([Decimal("1.00"), Decimal(2), Decimal("3.0")]),
    pl.Series(["1", "2", "3"]),
    pl.Series(["1.0", "2", "3.000"]),
    pl.Series(["1e0", "+2", "0.3e1"]),
    pl.Series([" 1 ", "2.", "3E+0"]),
    pl.Series(["1", "2", "3"], dtype=pl.Categorical),
    pl.from_pandas(pd.Series([1, 2, 3, np.nan])).drop_nulls(),
    pl.from_pandas(pd.Series([1, 2, 3, None], dtype="Int64")).drop_nulls(),
]


@pytest.mark.parametrize("column", ONE_TO_THREE, ids=str)
def test_the_same_numbers_are_the_same_keys(column):
    assert key_texts(column.to_frame("id"))["id"].to_list() == ["1", "2", "3"]


def test_texts_stay_where_one_of_them_has_a_zero_in_front():
    assert keys(["007", "1.0", "7"]) == ["007", "1.0", "7"]
    assert keys(["7", "1.0", "A"]) == ["7", "1.0", "A"]


def test_what_is_missing_stays_missing():
    assert keys([1.0, None, float("nan")]) == ["1", None, None]
    assert keys(["1.0", None, ""]) == ["1", None, ""]
    assert keys([None, None], dtype=pl.String) == [None, None]


def test_a_day_is_the_same_as_its_midnight():
    day = dt.date(1980, 2, 3)
    moment = dt.datetime(1980, 2, 3)
    assert keys([day]) == keys([moment]) == keys([str(moment)]) == ["1980-02-03"]
    assert keys([moment.replace(hour=4)]) != keys([day])


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=6), min_size=2, max_size=5))
def test_two_numbers_have_one_key_if_and_only_if_they_are_equal(numbers):
    for write in (str, lambda number: f"{number:E}", lambda number: f"{number:f}"):
        result = keys([write(number) for number in numbers])
        assert [Fraction(text) for text in result] == [Fraction(number) for number in numbers]
        assert (len(set(result)) == len(result)) == (len(set(numbers)) == len(numbers))


def test_long_numbers_keep_all_their_digits():
    long = "1" * 60
    assert keys([long, long + ".0", "1e300", "1e999"]) == [long, long, "1" + "0" * 300, "1e1000"]
    assert keys([10**17 + 1, 10**17]) == [str(10**17 + 1), str(10**17)]


@pytest.mark.parametrize("name", ["^name$", "^.*$", "*", "literal", "a b"])
def test_a_column_may_have_a_name_that_polars_takes_for_a_pattern(name):
    frame = pl.DataFrame([pl.Series(["1.0", "2", "x"]).alias(name), pl.Series([1.0, 2.5, 3.0]).alias("n")])
    rows = key_texts(frame)
    assert rows.columns == [name, "n"]
    assert rows.rows() == [("1.0", "1"), ("2", "2.5"), ("x", "3")]
    assert key_texts(frame[:2]).rows() == [("1", "1"), ("2", "2.5")]
