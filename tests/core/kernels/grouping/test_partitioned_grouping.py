"""Words that are parted by hash get the same numbers as words in sequence."""

from __future__ import annotations

import numpy as np
import pytest

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.grouping import grouping
from incrowd.core.kernels.grouping.grouping import first_of_parts

RNG = np.random.default_rng(5)
WORDS = {
    "none": np.zeros(0, np.uint64),
    "one": np.full(9, 2**64 - 1, np.uint64),
    "all distinct": RNG.permutation(150_000).astype(np.uint64),
    "many alike": RNG.integers(0, 60_000, 150_000).astype(np.uint64) << np.uint64(40),
    "one of many": np.where(RNG.random(150_000) < 0.5, 7, RNG.integers(0, 2**64, 150_000, np.uint64)),
}


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_parted_words_are_numbered_in_order_of_appearance(monkeypatch, name, threads):
    monkeypatch.setenv("INCROWD_THREADS", threads)
    words = WORDS[name].astype(np.uint64)
    for found, expected in zip(first_of_parts(words), numpy_fallback.first_ids(words), strict=True):
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


def test_many_rows_are_parted_where_their_words_are_mostly_distinct(monkeypatch):
    calls = []
    monkeypatch.setattr(grouping, "_MANY", 1 << 12)
    monkeypatch.setattr(grouping, "so_few", lambda rows: False)
    monkeypatch.setattr(
        grouping, "first_of_parts", lambda words: calls.append(words) or first_of_parts(words)
    )
    rows = 1 << 15
    distinct = [RNG.permutation(rows).astype(np.uint32), RNG.integers(0, 9, rows).astype(np.uint8)]
    alike = [codes % 7 for codes in distinct]
    for columns in (distinct, alike):
        ids, first = grouping.group_columns(columns, [rows, 9], rows)
        words = columns[0].astype(np.uint64) * 9 + columns[1]
        expected = numpy_fallback.first_ids(words)
        assert np.array_equal(ids, expected[0])
        assert np.array_equal(first, expected[1])
    assert len(calls) == 1
