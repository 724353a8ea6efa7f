"""The key of each row where rows stream: by a table of words, by a join, and by a dictionary."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.io.columns import column_named
from incrowd.engines import key_lookup
from incrowd.engines.fold import smallest
from incrowd.engines.key_lookup import RowKeys, _words, place_of

VALUES = {
    "text": (pl.String(), st.sampled_from(["", "a", "b", "ä", "*", "a" * 40])),
    "small": (pl.Int8(), st.integers(-128, 127)),
    "whole": (pl.Int64(), st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]))),
    "unsigned": (pl.UInt32(), st.integers(0, 9)),
    "day": (pl.Date(), st.dates(dt.date(1999, 12, 1), dt.date(2000, 2, 1))),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", VALUES)
@given(st.data())
def test_places_are_those_of_a_dictionary(name, data):
    kind, values = VALUES[name]
    rows = data.draw(st.lists(st.none() | values, max_size=30))
    known = data.draw(st.lists(st.none() | values, min_size=1, max_size=12, unique=True))
    distinct = pl.Series(known, dtype=kind).sort()
    place = place_of(pl.col("v"), distinct, smallest(len(distinct)))
    if place is None:
        held = distinct.drop_nulls().to_list()
        assert not held or (name == "whole" and held[-1] - held[0] >= 2**16)
        return
    told = {value: number for number, value in enumerate(distinct.to_list())}
    frame = pl.DataFrame({"v": pl.Series(rows, dtype=kind)}).lazy().select(place.alias("p"))
    for engine in ("in-memory", "streaming"):
        assert frame.collect(engine=engine)["p"].to_list() == [told.get(value) for value in rows]


def test_missing_value_beside_the_least_whole_number_has_no_place():
    least = -(2**63)
    place = place_of(pl.col("v"), pl.Series([least], dtype=pl.Int64), pl.UInt8)
    frame = pl.DataFrame({"v": pl.Series([None, least, 2**63 - 1, 0], dtype=pl.Int64)})
    assert frame.select(place)["v"].to_list() == [None, 0, None, None]


@pytest.mark.parametrize("kind", [pl.Int32(), pl.Date(), pl.String()], ids=str)
def test_a_column_may_have_a_name_that_polars_takes_for_a_pattern(kind):
    name = "^name$"
    values = pl.Series([3, None, 1, 3], dtype=pl.Int32).cast(kind).alias(name)
    distinct = pl.Series([None, 1, 2], dtype=pl.Int32).cast(kind).alias(name)
    place = place_of(column_named(name), distinct, smallest(3))
    frame = pl.DataFrame([values]).lazy().select(place.alias("p")).collect()
    assert frame["p"].to_list() == [None, 0, 1, None]


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("sizes", [(3, 4), (2**31, 2**31, 7)], ids=len)
def test_rows_get_the_numbers_of_their_keys(monkeypatch, few, sizes):
    monkeypatch.setattr(key_lookup, "so_few", lambda rows: few)
    keys = pl.DataFrame({f"c{j}": [0, size - 1, 1, 1] for j, size in enumerate(sizes)}).with_columns(
        pl.Series("c0", [0, sizes[0] - 1, 1, 2])
    )
    numbers = [2, 0, 1, 1]
    result = RowKeys(keys, pl.Series(numbers, dtype=pl.Int32).to_numpy(), sizes)
    told = dict(zip(keys.rows(), numbers, strict=True))
    rows = pl.concat([keys[::-1], keys[:2], pl.DataFrame({name: [0, None] for name in keys.columns})])
    rows = pl.concat([rows, keys[:1].with_columns(pl.lit(1, dtype=pl.Int64).alias("c1"))])
    frame = result.added(rows.lazy(), rows.columns, "key").collect()
    assert frame.columns == [*rows.columns, "key"]
    assert frame.drop("key").equals(rows)
    assert frame["key"].to_list() == [told.get(row) for row in rows.rows()]


@given(st.data())
def test_words_tell_combinations_apart(data):
    sizes = data.draw(
        st.lists(st.sampled_from([1, 2, 3, 255, 2**20, 2**31, 2**32 - 1]), min_size=1, max_size=7)
    )
    # The last codes are where a word would run over.
    code = [st.sampled_from(sorted({0, size // 2, size - 1})) for size in sizes]
    rows = data.draw(st.lists(st.tuples(*code), min_size=1, max_size=20))
    names = [f"c{place}" for place in range(len(sizes))]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.UInt32), orient="row")
    words = _words([pl.col(name) for name in names], sizes)
    result = frame.select(word.alias(f"w{place}") for place, word in enumerate(words))
    assert result.unique().height == len(set(rows))
    assert set(result.dtypes) == {pl.UInt64}
    missing = frame.with_columns(pl.lit(None, pl.UInt32).alias(names[-1]))
    assert missing.select(words[-1]).to_series().null_count() == len(rows)
