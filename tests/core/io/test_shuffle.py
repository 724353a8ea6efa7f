"""A random order of rows, whole and piece by piece, within a share of memory."""

from __future__ import annotations

from itertools import chain

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.io.shuffle import RandomOrder, ShuffledRows
from incrowd.core.io.streams import cut_batches

pytestmark = pytest.mark.random_order


@given(st.integers(0, 400), st.integers(0, 400))
def test_numbers_follow_from_the_place_alone(start, length):
    order = RandomOrder()
    assert np.array_equal(
        order.numbers(start, start + length), order.numbers(0, 1000)[start : start + length]
    )


@pytest.mark.slow
@given(st.integers(1, 500), st.integers(1, 600))
def test_pieces_are_the_whole(count, size):
    order = RandomOrder()
    rows = order.rows(count)
    assert sorted(rows.tolist()) == list(range(count))
    assert np.array_equal(np.concatenate(list(order.pieces(count, size))), rows)


def test_every_order_is_another_and_every_place_is_as_likely():
    orders = [RandomOrder().rows(5) for _ in range(1500)]
    assert len({tuple(order.tolist()) for order in orders}) > 115  # of 120
    # A row is at a place 300 times of 1,500, give or take five standard deviations.
    counts = np.array([np.bincount([order[place] for order in orders], minlength=5) for place in range(5)])
    assert abs(counts - 300).max() < 5 * (1500 * 1 / 5 * 4 / 5) ** 0.5


@pytest.mark.parametrize("rows", [1, 1000, 60_000])
@pytest.mark.parametrize("least", [0, 2**64 - 40])
def test_numbers_that_are_close_or_equal_are_in_their_order(rows, least):
    class Close(RandomOrder):
        def numbers(self, start, stop):
            near = np.random.default_rng(rows).integers(0, 40, rows).astype(np.uint64)
            near[::3] <<= np.uint64(58)
            return (near + np.uint64(least))[start:stop]

    order = Close()
    assert np.array_equal(order.rows(rows), np.argsort(order.numbers(0, rows), kind="stable"))


@pytest.mark.few(1)
@pytest.mark.parametrize("memory", [2**40, 2**21])
def test_rows_that_spill_come_in_the_same_order(memory):
    frame = pl.DataFrame(
        {"^n$": np.arange(50_000), "*": [f"text {i}" for i in range(50_000)], "": [None] * 50_000}
    )
    shuffled = ShuffledRows(frame.lazy(), RandomOrder(), memory)
    expected = frame[shuffled.order.rows(len(frame))]
    with shuffled.opened() as (count, batches):
        sizes = [len(batch) for batch in batches]
    assert count == sum(sizes) == len(frame)
    assert (len(sizes) > 1) is (memory < 2**40)
    assert shuffled.lazy().collect().equals(expected)
    assert shuffled.lazy().collect(engine="streaming").equals(expected)
    assert shuffled.lazy().head(20_000).collect().equals(expected.head(20_000))
    small = pl.nth(0) < 7
    assert (
        shuffled.lazy()
        .filter(small)
        .select(pl.nth(1))
        .collect()
        .equals(expected.filter(small).select(pl.nth(1)))
    )


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6), st.lists(st.integers(1, 4), min_size=1, max_size=12)
)
def test_batches_are_cut_into_files(sizes, lengths):
    rows = pl.DataFrame({"n": range(sum(sizes))})
    batches, start = [], 0
    for length in lengths:
        batches.append(rows[start : start + length])
        start += length
    batches.append(rows[start:])
    values = [pl.concat(list(part))["n"].to_list() for part in cut_batches(iter(batches), sizes)]
    assert [len(part) for part in values] == sizes
    assert list(chain.from_iterable(values)) == rows["n"].to_list()
