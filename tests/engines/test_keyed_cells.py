"""Rows get the texts of keys, at once and while rows stream."""

from __future__ import annotations

import polars as pl
import pytest

from incrowd.engines.key_lookup import KeyedCells

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
    result = CELLS.of_rows(rows, ["kept", name], "key")
    assert result.columns == ["kept", name]
    assert result[name].to_list() == texts
    assert result[name].dtype == pl.String
    for engine in ("in-memory", "streaming"):
        streamed = rows.lazy().select(CELLS.streamed(name, "key").alias(name)).collect(engine=engine)
        assert streamed.to_series().to_list() == texts
