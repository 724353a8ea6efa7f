"""Rows get the texts of their keys, at once and while they stream; words stand for combinations of codes."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.engines.grouped import _words
from incrowd.engines.keyed_cells import KeyedCells

CELLS = KeyedCells(
    {
        "^n$": (pl.Series([1, 0, 1, 2], dtype=pl.UInt8), pl.Series(["a", None, "*"])),
        "alone": (pl.Series([0], dtype=pl.UInt8), pl.Series(["*"])),
    }
)


@pytest.mark.parametrize(
    ("name", "keys", "texts"),
    [
        ("^n$", [2, 1, None, 0], [None, "a", "*", None]),
        ("^n$", [1], ["a"]),
        ("^n$", [], []),
        ("alone", [None, None], ["*", "*"]),
    ],
)
def test_rows_get_the_texts_of_their_keys(name, keys, texts):
    rows = pl.DataFrame({"key": keys, "kept": range(len(keys))}, schema={"key": pl.UInt32, "kept": pl.Int64})
    made = CELLS.of_rows(rows, ["kept", name], "key")
    assert made.columns == ["kept", name]
    assert made[name].to_list() == texts
    assert made[name].dtype == pl.String
    for engine in ("in-memory", "streaming"):
        streamed = rows.lazy().select(CELLS.streamed(name, "key").alias(name)).collect(engine=engine)
        assert streamed.to_series().to_list() == texts


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
    made = frame.select(word.alias(name) for name, word in words.items())
    assert made.unique().height == len(set(rows))
    assert set(made.dtypes) == {pl.UInt64}
    missing = frame.with_columns(pl.lit(None, pl.UInt32).alias(names[-1]))
    assert missing.select(words[made.columns[-1]]).to_series().null_count() == len(rows)
