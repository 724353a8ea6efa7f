"""Cells in words of 64 bits: numbers are read as written, and rows get the cells of keys."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from crossed import crossed
from examples import examples
from incrowd.engines.spark import packing
from incrowd.engines.spark.packing import Words, column_groups

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

sizes = st.lists(st.sampled_from([1, 2, 3, 255, 256, 257, 2**20, 2**31]), min_size=1, max_size=9)


@given(sizes, st.data())
@examples(50)
def test_words_hold_numbers_side_by_side(below, data):
    """Read by division, which knows no bits."""
    rows = [[data.draw(st.integers(0, size - 1)) for size in below] for _ in range(3)]
    rows += [[size - 1 for size in below], [0] * len(below)]
    words = Words(below)
    frame = pl.DataFrame(rows, schema=[f"n{j}" for j in range(len(below))], orient="row")
    result = frame.select(
        value.alias(str(word))
        for word, value in words.of({j: pl.col(f"n{j}") for j in range(len(below))}).items()
    )
    assert result.width == words.count
    assert all(kind == pl.Int64 for kind in result.dtypes)
    room, word, filled = 1, 0, []
    for size in below:
        bits = 2 ** max(1, int(size - 1).bit_length())
        if room * bits > 2**63:
            room, word = 1, word + 1
        filled.append((word, room, bits))
        room *= bits
    for row, numbers in zip(result.rows(), rows, strict=True):
        assert [row[word] // step % bits for word, step, bits in filled] == numbers


def test_spark_reads_the_words_that_polars_writes(spark):
    from pyspark.sql import functions as sf

    below = [300, 2**31, 2, 2**30, 7]
    words = Words(below)
    assert words.count == 2
    rows = [[size - 1 for size in below], [0] * 5, [7, 1, 0, 2**29, 3]]
    numbers = pl.DataFrame([*rows, [1, 2, 1, None, 4]], schema=[f"n{j}" for j in range(5)], orient="row")
    written = numbers.select(
        word.alias(f"w{place}") for place, word in words.of({j: pl.col(f"n{j}") for j in range(5)}).items()
    )
    frame = spark.createDataFrame(written.rows(), "w0 long, w1 long")
    read = frame.select(*(words.read([sf.col("w0"), sf.col("w1")], j) for j in range(5))).collect()
    assert [list(row) for row in read][:3] == rows
    # A word is missing where one of its numbers is.
    assert list(read[3]) == [1, 2, 1, None, None]


@given(st.lists(st.integers(1, 9), max_size=7), st.integers(1, 60))
@examples(50)
def test_columns_are_divided_in_their_order(below, most):
    groups = column_groups(below, most)
    assert [place for group in groups for place in group] == list(range(len(below)))
    for group in groups:
        assert len(group) == 1 or prod(below[place] for place in group) <= most
    for one, other in pairwise(groups):
        assert prod(below[place] for place in [*one, other[0]]) > most


@pytest.mark.parametrize(
    ("algorithm", "combined"),
    crossed([ic.Mondrian(), ic.Optimal()], [0, 12, 20_000]),
    ids=lambda each: getattr(each, "name", each),
)
def test_spark_releases_are_those_of_memory(spark, algorithm, combined, monkeypatch):
    """Columns may be grouped in any way, with few combinations or many."""
    monkeypatch.setattr(packing, "BROADCAST_KEYS", 10)
    monkeypatch.setattr(packing, "_COMBINED", combined)
    known = product([1, 2, 3, None], ["x", "y", None, "*"], [0.5, -1.0, None], ["p", "q"])
    rows = [row for number, row in enumerate(known) for _ in range(1 + number % 5)]
    frame = pl.DataFrame(rows, schema=["a", "b", "c", "d"], orient="row").with_row_index("ID")
    frame = frame.cast({"ID": pl.Int64})
    assert frame.select("a", "b", "c", "d").n_unique() > packing.BROADCAST_KEYS
    schema = ic.Schema(quasi=["a", "b", "c", "d"], insensitive=["ID"])
    one = ic.anonymize(frame, schema, [ic.KAnonymity(3)], algorithm, max_suppression=0.4)
    table = spark.createDataFrame(frame.to_arrow())
    other = ic.anonymize(table, schema, [ic.KAnonymity(3)], algorithm, max_suppression=0.4)
    assert (other.privacy.suppressed > 0) == (algorithm.name == "optimal")
    for made in (other.table.toArrow(), other.table.sort("ID").toArrow()):
        assert pl.DataFrame(pl.from_arrow(made)).sort("ID").equals(one.table.sort("ID"))


@pytest.mark.parametrize("algorithm", [ic.Mondrian(), ic.Optimal()], ids=["mondrian", "optimal"])
def test_spark_releases_come_in_a_random_order(spark, algorithm, tmp_path):
    """Neighbours of the table are no neighbours of the release, on screen and in files."""
    rows = 2000
    frame = pl.DataFrame({"age": np.arange(rows) // 40, "ID": np.arange(rows)})
    schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(5, 10)}, insensitive=["ID"])
    release = ic.anonymize(spark.createDataFrame(frame.to_arrow()), schema, [ic.KAnonymity(50)], algorithm)
    release.write(tmp_path / "out")
    parts = sorted((tmp_path / "out").glob("*.parquet"))
    written = [number for part in parts for number in pl.read_parquet(part)["ID"].to_list()]
    for order in ([row.ID for row in release.table.collect()], written):
        assert sorted(order) == list(range(rows))
        # Half of the rows stand before one with a larger number, give or take five standard deviations.
        rising = sum(one < other for one, other in pairwise(order))
        assert abs(rising - rows / 2) < 5 * (rows / 12) ** 0.5
        # Two of a hundred rows stand beside one of the same year.
        beside = sum(one // 40 == other // 40 for one, other in pairwise(order))
        assert abs(beside - rows * 39 / (rows - 1)) < 5 * (rows * 0.02) ** 0.5
