"""Counts and sums per class against `collections.Counter`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels import jit
from incrowd.core.kernels.grouping.counting import Counts, class_counts, class_sums
from incrowd.core.kernels.grouping.grouping import group_members


def compressed(rows: list[dict[int, int]]) -> Counts:
    """Write a mapping of codes to counts per key as `Counts`."""
    entries = [sorted(row.items()) for row in rows]
    flat = [pair for row in entries for pair in row]
    return Counts(
        np.cumsum([0, *map(len, entries)]).astype(np.int64),
        np.array([code for code, _ in flat], np.int32),
        np.array([count for _, count in flat], np.int64),
    )


def expanded(counts: Counts) -> list[list[tuple[int, int]]]:
    return [
        list(zip(counts.codes[start:stop].tolist(), counts.counts[start:stop].tolist(), strict=True))
        for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    ]


def added(rows: list[dict[int, int]], class_of: list[int], classes: int) -> list[list[tuple[int, int]]]:
    totals = [Counter() for _ in range(classes)]
    for row, number in zip(rows, class_of, strict=True):
        if number >= 0:
            totals[number].update(row)
    return [sorted(total.items()) for total in totals]


@given(values=st.integers(1, 40), classes=st.integers(1, 5), data=st.data())
def test_counts_add_up(values, classes, data):
    key = st.dictionaries(st.integers(0, values - 1), st.integers(1, 2**40), max_size=values)
    rows = data.draw(st.lists(key, max_size=20))
    class_of = data.draw(st.lists(st.integers(-1, classes - 1), min_size=len(rows), max_size=len(rows)))
    indptr, members = group_members(np.array(class_of, np.int32), classes)
    counted = class_counts(indptr, members, compressed(rows), values)
    assert expanded(counted) == added(rows, class_of, classes)
    assert len(counted.codes) == len(counted.counts) == counted.indptr[-1]


@pytest.mark.parametrize("present", [1, 15, 16, 17, 300])
def test_codes_ascend_whichever_sort_is_used(present):
    """A class of sixteen values is the limit between the two ways of sorting."""
    codes = np.random.default_rng(present).permutation(present)
    rows = [{int(code): 1} for code in codes] * 2
    counted = class_counts(
        np.array([0, len(rows)]), np.arange(len(rows), dtype=np.int64), compressed(rows), present
    )
    assert expanded(counted) == [[(code, 2) for code in range(present)]]


@given(
    st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 2**50)), max_size=40),
)
def test_sums_add_up(rows):
    class_of = [number for number, _ in rows]
    amounts = [amount for _, amount in rows]
    indptr, members = group_members(np.array(class_of, np.int32), 5)
    sums = class_sums(indptr, members, np.array(amounts, np.int64))
    assert sums.tolist() == [sum(a for c, a in rows if c == number) for number in range(5)]


@pytest.mark.parametrize("classes", [1, 2, 400, 3000])
def test_threads_change_nothing(monkeypatch, classes):
    rng = np.random.default_rng(classes)
    keys = 3000
    rows = [{int(code): int(n) for code, n in zip(rng.integers(0, 9, 3), rng.integers(1, 5, 3), strict=True)} for _ in range(keys)]  # fmt: skip
    # One class much larger than the others, so that the ranges are uneven.
    class_of = np.where(rng.random(keys) < 0.5, 0, rng.integers(0, classes, keys)).astype(np.int32)
    indptr, members = group_members(class_of, classes)
    counts = compressed(rows)
    amounts = rng.integers(0, 100, keys)
    monkeypatch.setattr(jit, "PARALLEL_FROM", 1)
    result = {}
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("INCROWD_THREADS", threads)
        result[threads] = (
            [array.tolist() for array in class_counts(indptr, members, counts, 9)],
            class_sums(indptr, members, amounts).tolist(),
        )
    assert result["1"] == result["2"] == result["3"]
    assert expanded(class_counts(indptr, members, counts, 9)) == added(rows, class_of.tolist(), classes)


@given(
    work=st.lists(st.integers(0, 9), min_size=1, max_size=30),
    threads=st.integers(1, 4),
)
def test_ranges_cover_every_item_once(work, threads):
    seen = []

    def kernel(start: int, stop: int) -> None:
        seen.extend(range(start, stop))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INCROWD_THREADS", str(threads))
        patch.setattr(jit, "PARALLEL_FROM", 1)
        jit.over_ranges(kernel, np.cumsum([0, *work]))
    assert sorted(seen) == list(range(len(work)))


@pytest.mark.parametrize("asked", ["", "0", "-2", "many", "1.5"])
def test_a_senseless_number_of_threads_is_passed_over(monkeypatch, asked):
    monkeypatch.delenv("INCROWD_THREADS", raising=False)
    given_to_us = jit.thread_count()
    assert given_to_us >= 1
    monkeypatch.setenv("INCROWD_THREADS", asked)
    assert jit.thread_count() == given_to_us


def test_an_error_in_a_thread_is_not_lost(monkeypatch):
    monkeypatch.setenv("INCROWD_THREADS", "2")
    monkeypatch.setattr(jit, "PARALLEL_FROM", 1)

    def kernel(start: int, stop: int) -> None:
        if start > 0:
            raise ArithmeticError("one range failed")

    with pytest.raises(ArithmeticError, match="one range failed"):
        jit.over_ranges(kernel, np.arange(20, dtype=np.int64))
