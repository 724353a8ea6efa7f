"""Categories fetched from Spark have the same values as fetched texts."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from incrowd.engines.fetched import plain
from incrowd.engines.spark.fetching import fetch_compact, to_polars

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def test_spark_texts_come_as_categories(spark):
    moments = [dt.datetime(2000, 10, 29, 5, 30), None]
    frame = pl.DataFrame(
        {"*": ["a", None, "", "b"] * 5, "^x$": ["b", "ä", "b", None] * 5, "n": [1, 2, None, 4] * 5,
         "t": pl.Series(moments * 10, dtype=pl.Datetime("us", "UTC"))}
    )  # fmt: skip
    table = spark.createDataFrame(frame.to_arrow()).repartition(3).sortWithinPartitions("n")
    result = fetch_compact(table)
    assert [isinstance(kind, pl.Categorical) for kind in result.dtypes] == [True, True, False, False]
    expected = to_polars(table)
    assert plain(result).equals(expected)
    assert plain(result).schema == expected.schema
    assert plain(fetch_compact(table.limit(0))).schema == expected.schema
