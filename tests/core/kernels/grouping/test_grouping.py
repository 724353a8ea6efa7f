"""Grouping by packed keys against a dictionary of tuples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kernels.grouping.grouping import (
    group_columns,
    group_members,
    group_numbers,
    group_sizes,
)


def by_dictionary(columns: list[list[int]], rows: int) -> tuple[list[int], list[int]]:
    """Give each distinct tuple a number in order of first appearance."""
    numbers: dict[tuple[int, ...], int] = {}
    ids, first = [], []
    for row in range(rows):
        key = tuple(column[row] for column in columns)
        if key not in numbers:
            numbers[key] = len(numbers)
            first.append(row)
        ids.append(numbers[key])
    return ids, first


def agrees(columns: list[np.ndarray], sizes: list[int], rows: int) -> None:
    ids, first = group_columns(columns, sizes, rows)
    assert (ids.dtype, first.dtype) == (np.int32, np.int64)
    assert (ids.tolist(), first.tolist()) == by_dictionary([column.tolist() for column in columns], rows)


@st.composite
def coded(draw):
    """Columns of all widths; few enough distinct codes that rows repeat, some at the top of the range."""
    rows = draw(st.integers(0, 40))
    columns, sizes = [], []
    for _ in range(draw(st.integers(0, 9))):
        size, dtype = draw(
            st.sampled_from([(1, np.uint8), (2, np.uint8), (256, np.uint8), (257, np.uint16), (2**16, np.uint16), (2**32, np.uint32)])
        )  # fmt: skip
        codes = st.sampled_from(sorted({0, size // 2, size - 1}))
        columns.append(np.array(draw(st.lists(codes, min_size=rows, max_size=rows)), dtype))
        sizes.append(size)
    return columns, sizes, rows


@given(coded())
def test_groups_are_those_of_a_dictionary(table):
    agrees(*table)


@pytest.mark.parametrize("columns", [2, 3, 4, 7])
def test_keys_beyond_64_bits(columns):
    """Each column takes 32 bits, and rows that differ in a single column, at any position, stay apart."""
    top = 2**32 - 1
    rows = [[top] * columns] + [[top - (i == j) for i in range(columns)] for j in range(columns)]
    table = np.array(rows + rows[::-1], np.uint32)
    agrees([np.ascontiguousarray(column) for column in table.T], [2**32] * columns, len(table))


def test_widths_that_fill_a_word_exactly():
    rng = np.random.default_rng(3)
    for bits in ([32, 32], [32, 32, 1], [31, 32, 1, 1], [8] * 8, [8] * 9, [1] * 70):
        columns = []
        for width in bits:
            dtype = np.uint8 if width <= 8 else np.uint32
            columns.append(rng.choice(np.array([0, 2**width - 1], dtype), 200))
        agrees(columns, [2**width for width in bits], 200)


@pytest.mark.parametrize("varying", [0, 1, 2])
def test_many_groups_that_differ_in_one_half_of_the_word(varying):
    """The groups outnumber the slots of the first table, and groups in the same slot differ by the word."""
    rng = np.random.default_rng(4)
    many = (rng.permutation(20_000).astype(np.uint32) << np.uint32(12)).repeat(2)
    columns = [np.full(40_000, 2**32 - 1, np.uint32) for _ in range(3)]
    columns[varying] = many
    agrees(columns, [2**32] * 3, 40_000)
    agrees(columns[:2], [2**32] * 2, 40_000)


def test_no_column_is_one_group():
    ids, first = group_columns([], [], 3)
    assert (ids.tolist(), first.tolist()) == ([0, 0, 0], [0])
    ids, first = group_columns([], [], 0)
    assert (ids.tolist(), first.tolist()) == ([], [])


@given(groups=st.integers(1, 6), data=st.data())
def test_members_in_order_without_the_negative(groups, data):
    of_row = data.draw(st.lists(st.integers(-1, groups - 1), max_size=40))
    indptr, members = group_members(np.array(of_row, np.int32), groups)
    assert len(indptr) == groups + 1
    for group in range(groups):
        expected = [row for row, number in enumerate(of_row) if number == group]
        assert members[indptr[group] : indptr[group + 1]].tolist() == expected


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("groups", [1, 30, 70_000])
def test_members_of_many_rows_on_any_number_of_threads(groups, threads, monkeypatch):
    monkeypatch.setenv("INCROWD_THREADS", str(threads))
    of_row = np.random.default_rng(groups).integers(-1, groups, 200_000).astype(np.int32)
    indptr, members = group_members(of_row, groups)
    sizes = np.bincount(of_row[of_row >= 0], minlength=groups)
    assert np.array_equal(group_sizes(of_row, groups), sizes)
    assert np.array_equal(np.diff(indptr), sizes)
    assert np.array_equal(members, np.argsort(of_row, kind="stable")[(of_row < 0).sum() :])


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
@given(data=st.data())
def test_whole_numbers_of_any_size(dtype, data):
    ends = np.iinfo(dtype)
    low = data.draw(st.integers(int(ends.min), int(ends.max) - 100))
    near = st.integers(low, low + 100)
    numbers = data.draw(st.lists(near | st.sampled_from([int(ends.min), int(ends.max)]), max_size=60))
    ids, first = group_numbers(np.array(numbers, dtype))
    assert (ids.tolist(), first.tolist()) == by_dictionary([numbers], len(numbers))
    assert (ids.dtype, first.dtype) == (np.int32, np.int64)
