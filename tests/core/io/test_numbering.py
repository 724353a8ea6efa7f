"""Rows of the same values get the same number, in order of first appearance."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.io.frames import numbered
from incrowd.core.treatments.codes import Coded, Codes

ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0, 1, None])), max_size=9)


def frame(rows: list) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"^t$": pl.String, "row": pl.Int64}, orient="row")


@given(ROWS, st.booleans())
def test_numbers_follow_the_first_row_of_each_combination(rows, alike):
    with pytest.MonkeyPatch.context() as patch:
        if alike:
            # All rows have one hash.
            patch.setattr(pl.DataFrame, "hash_rows", lambda self: pl.Series([7] * len(self), dtype=pl.UInt64))
        numbers, first = numbered(frame(rows))
    met = list(dict.fromkeys(rows))
    assert numbers.tolist() == [met.index(row) for row in rows]
    assert first.tolist() == [rows.index(row) for row in met]


@given(st.lists(st.sampled_from([-(2**63), -1, 0, 7, 2**63 - 1, None]), max_size=9))
def test_whole_numbers_are_numbered_as_they_are(values):
    numbers, first = numbered(pl.DataFrame({"who": pl.Series(values, dtype=pl.Int64)}))
    met = list(dict.fromkeys(values))
    assert numbers.tolist() == [met.index(value) for value in values]
    assert first.tolist() == [values.index(value) for value in met]


@given(st.lists(st.sampled_from(["a", "bb", "", None]), max_size=6))
def test_a_column_is_made_of_its_distinct_values(values):
    coded = Coded.of_values(pl.Series(values, dtype=pl.String))
    assert len(coded.distinct) == len(set(values))
    assert coded.rows().to_list() == values
    # What is read as missing stays so.
    lengths = coded.read(lambda known: known.replace("bb", None)).each(lambda known: known.str.len_chars())
    assert lengths.to_list() == [None if value in (None, "bb") else len(value) for value in values]


def test_columns_are_numbered_once_and_sooner_where_somebody_knows_how():
    codes, column = Codes(), pl.Series(["a", "b", "a"])
    assert codes.of("who", column) is codes.of("who", column)
    codes.offer_texts("who", lambda: codes.of("who", column))
    assert codes.texts("who", column) is codes.of("who", column)
    assert codes.texts("else", pl.Series(["c"])).rows().to_list() == ["c"]


@given(data=st.data(), dtype=st.sampled_from([pl.Int8, pl.UInt8, pl.Int64, pl.UInt64, pl.Int128]))
def test_missing_numbers_have_a_number_of_their_own(data, dtype):
    """Missing numbers have a number even if a column's values reach both ends of the type."""
    kind = pl.Int64 if dtype == pl.Int128 else dtype
    low, high = pl.select(low=kind.min(), high=kind.max()).row(0)
    near = st.sampled_from([low, low + 1, high - 1, high, 5, None])
    values = data.draw(st.lists(near, max_size=9) | st.just([None]) | st.just([*range(low, low + 256), None]))
    if kind in (pl.Int8, pl.UInt8):
        values = values + values
    numbers, first = numbered(pl.DataFrame({"who": pl.Series(values, dtype=dtype)}))
    met = list(dict.fromkeys(values))
    assert numbers.tolist() == [met.index(value) for value in values]
    assert first.tolist() == [values.index(value) for value in met]
