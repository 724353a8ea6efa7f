"""Grouping of rows by packed keys, and lists of group members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.grouping.hashing import scattered, slot_of
from incrowd.core.kernels.jit import compiled, over_ranges, so_few, thread_count

_WORD = 64

_MANY = 1 << 18
"""Number of mostly distinct words from which a hash table outgrows a core's cache."""

_SAMPLE = 1 << 12

_DENSE = 4
"""Largest ratio of table slots to rows for a dense table, and of rows to groups for a run."""

_BLOCK = 1 << 15
"""Rows packed at a time, so that their words stay in a core's cache."""


@compiled
def _first_ids(words):
    """Give each distinct word an id in order of first appearance (open addressing, linear probing)."""
    n = words.size
    ids = np.empty(n, np.int32)
    first = np.empty(1024, np.int64)
    capacity = 4096
    slot_word = np.empty(capacity, np.uint64)
    slot_id = np.full(capacity, -1, np.int32)
    mask = np.uint64(capacity - 1)
    groups = 0
    for row in range(n):
        word = words[row]
        slot = slot_of(word, mask)
        while slot_id[slot] >= 0 and slot_word[slot] != word:
            slot = (slot + np.uint64(1)) & mask
        if slot_id[slot] < 0:
            if groups == first.size:
                larger = np.empty(first.size * 2, np.int64)
                for group in range(groups):
                    larger[group] = first[group]
                first = larger
            slot_word[slot] = word
            slot_id[slot] = groups
            first[groups] = row
            ids[row] = groups
            groups += 1
            if groups * 2 > capacity:
                capacity *= 4
                mask = np.uint64(capacity - 1)
                slot_word = np.empty(capacity, np.uint64)
                slot_id = np.full(capacity, -1, np.int32)
                for group in range(groups):
                    word = words[first[group]]
                    slot = slot_of(word, mask)
                    while slot_id[slot] >= 0:
                        slot = (slot + np.uint64(1)) & mask
                    slot_word[slot] = word
                    slot_id[slot] = group
        else:
            ids[row] = slot_id[slot]
    return ids, first[:groups].copy()


@compiled
def _first_in_table(words, least, number):
    """Compute `_first_ids` by a dense table `number` of all words from `least` on, filled with -1."""
    ids = np.empty(words.size, np.int32)
    first = np.empty(min(words.size, number.size), np.int64)
    groups = 0
    for row in range(words.size):
        place = words[row] - least
        if number[place] < 0:
            number[place] = groups
            first[groups] = row
            groups += 1
        ids[row] = number[place]
    return ids, first[:groups].copy()


@compiled
def _fill_members(start, stop, group_of, before, cursor, members):
    """Advance the cursor of each row's group, writing the row there if `members` is not empty."""
    for run in range(start, stop):
        for row in range(before[run], before[run + 1]):
            group = group_of[row]
            if group >= 0:
                if members.size:
                    members[cursor[run, group]] = row
                cursor[run, group] += 1


def _distinct(words: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    if so_few(len(words)):
        return numpy_fallback.first_ids(words)
    if len(words) >= _MANY and _are_mostly_distinct(words):
        return first_of_parts(words)
    return _first_ids(words)  # type: ignore[no-any-return]


def _are_mostly_distinct(words: NDArray[np.uint64]) -> bool:
    """Whether more than four fifths of a sample are distinct."""
    sample = words[:: max(len(words) // _SAMPLE, 1)]
    return len(np.unique(sample)) * 5 > len(sample) * 4


def group_columns(
    columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Group rows by the combination of codes.

    Parameters
    ----------
    columns
        One array of codes per column, each ``int[rows]`` with values from 0 and below the column's size.
    sizes
        Number of possible codes of each column.
    rows
        Number of rows, for the case of no columns.

    Returns
    -------
    ids
        int32[rows]: group of each row, numbered in order of first appearance.
    first
        int64[groups]: the first row of each group.
    """
    return _distinct(packed(columns, sizes, rows))


def group_codes(
    columns: Sequence[NDArray[np.integer]], rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Group rows like `group_columns`, with the columns' sizes taken from the codes."""
    return group_columns(columns, [int(codes.max(initial=0)) + 1 for codes in columns], rows)


def group_numbers(numbers: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Group rows like `group_columns`, by an integer each, which may be negative or large."""
    # Negative numbers become distinct large numbers.
    words = numbers.astype(np.uint64)
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    if so_few(len(words)) or high - low >= _DENSE * len(words):
        return _distinct(words)
    ids, first = _first_in_table(words, np.uint64(low % 2**_WORD), np.full(high - low + 1, -1, np.int32))
    return ids, first


def packed(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], rows: int) -> NDArray[np.uint64]:
    """Pack the codes of each row into a word, equal for equal codes: uint64[rows].

    The parameters are those of `group_columns`.
    """
    if len(columns) == 1 and columns[0].dtype.itemsize * 8 == _WORD:
        return columns[0].astype(np.uint64, copy=False)
    word = np.zeros(rows, np.uint64)
    used = 0
    waiting: list[tuple[NDArray[np.integer], int]] = []
    for codes, size in zip(columns, sizes, strict=True):
        bits = max(int(size) - 1, 0).bit_length()
        if used + bits > _WORD:
            # Ids of the words packed so far need at most 31 bits and leave room for the next column.
            _append_codes(word, waiting)
            ids, first = _distinct(word)
            word = ids.astype(np.uint64)
            waiting = []
            used = max(len(first) - 1, 0).bit_length()
        if bits:
            waiting.append((codes, bits))
            used += bits
    _append_codes(word, waiting)
    return word


def _append_codes(word: NDArray[np.uint64], columns: Sequence[tuple[NDArray[np.integer], int]]) -> None:
    """Append the bits of codes to words, block by block on all cores."""
    blocks = -(-len(word) // _BLOCK)

    def pack(start: int, stop: int) -> None:
        for first in range(start * _BLOCK, min(stop * _BLOCK, len(word)), _BLOCK):
            rows = slice(first, first + _BLOCK)
            block = word[rows]
            for codes, bits in columns:
                if bits < _WORD:
                    block <<= np.uint64(bits)
                block |= codes[rows].astype(np.uint64, copy=False)

    if columns and blocks:
        over_ranges(pack, np.minimum(np.arange(blocks + 1) * _BLOCK, len(word)))


def group_members(group_of: NDArray[np.integer], groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the members of each group in order, without rows of a negative group.

    Returns
    -------
    indptr
        int64[groups + 1]
    members
        int64[rows kept]: rows of group g are ``members[indptr[g]:indptr[g + 1]]``.
    """
    before, sizes = _sizes_of_runs(group_of, groups)
    cursor = np.cumsum(sizes, axis=0)
    indptr = np.append(0, np.cumsum(cursor[-1]))
    if so_few(len(group_of)):
        # Rows of no group come first.
        return indptr, np.argsort(group_of, kind="stable")[len(group_of) - indptr[-1] :]
    cursor += indptr[:-1] - sizes
    members = np.empty(indptr[-1], np.int64)
    over_ranges(_fill_members, before, group_of, before, cursor, members)
    return indptr, members


def group_sizes(group_of: NDArray[np.integer], groups: int) -> NDArray[np.int64]:
    """Count the members of each group without rows of a negative group: int64[groups]."""
    return np.asarray(_sizes_of_runs(group_of, groups)[1].sum(axis=0))


def _sizes_of_runs(group_of: NDArray[np.integer], groups: int) -> tuple[NDArray[np.int64], ...]:
    """Divide rows into runs: bounds, int64[runs + 1], and group sizes by run, int64[runs, groups]."""
    if so_few(len(group_of)):
        return np.array([0, len(group_of)]), np.bincount(group_of[group_of >= 0], minlength=groups)[None]
    runs = max(min(thread_count(), len(group_of) // (_DENSE * max(groups, 1))), 1)
    before = np.arange(runs + 1) * len(group_of) // runs
    sizes = np.zeros((runs, groups), np.int64)
    over_ranges(_fill_members, before, group_of, before, sizes, np.zeros(0, np.int64))
    return before, sizes


_PART = 1 << 14
"""Approximate words of a part, so that a part's hash table fits a core's cache."""

_RUN = 1 << 16
"""Words per chunk of the partitioning step."""


@compiled
def _tally(start, stop, words, run, shift, counts):
    for chunk in range(start, stop):
        for row in range(chunk * run, min((chunk + 1) * run, words.size)):
            counts[chunk, scattered(words[row]) >> shift] += 1


@compiled
def _spread(start, stop, words, run, shift, cursor, ordered, rows):
    for chunk in range(start, stop):
        for row in range(chunk * run, min((chunk + 1) * run, words.size)):
            part = scattered(words[row]) >> shift
            place = cursor[chunk, part]
            ordered[place] = words[row]
            rows[place] = row
            cursor[chunk, part] = place + 1


@compiled
def _lead(start, stop, ends, ordered, rows, leader):
    """Write the first row with the same word for each row."""
    for part in range(start, stop):
        first = ends[part]
        size = ends[part + 1] - first
        capacity = 16
        while capacity < 2 * size:
            capacity *= 2
        mask = np.uint64(capacity - 1)
        slots = np.full(capacity, -1, np.int32)
        for place in range(size):
            word = ordered[first + place]
            slot = slot_of(word, mask)
            while slots[slot] >= 0 and ordered[first + slots[slot]] != word:
                slot = (slot + np.uint64(1)) & mask
            if slots[slot] < 0:
                slots[slot] = place
            leader[rows[first + place]] = rows[first + slots[slot]]


@compiled
def _number_groups(ids):
    """Replace each row's leader by a number in order of first appearance, and return the leaders."""
    groups = 0
    for row in range(ids.size):
        groups += ids[row] == row
    first = np.empty(groups, np.int64)
    groups = 0
    for row in range(ids.size):
        if ids[row] == row:
            first[groups] = row
            ids[row] = groups
            groups += 1
        else:
            # A leader comes before all followers, so the number is known.
            ids[row] = ids[ids[row]]
    return first


def first_of_parts(words: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Compute ids in order of first appearance, and first rows, of distinct words on all cores.

    The result does not depend on the number of cores.
    """
    bits = min(max((len(words) // _PART).bit_length(), 4), 10)
    shift = np.uint64(64 - bits)
    chunks = -(-len(words) // _RUN)
    before = np.minimum(np.arange(chunks + 1) * _RUN, len(words))
    counts = np.zeros((chunks, 1 << bits), np.int64)
    over_ranges(_tally, before, words, _RUN, shift, counts)
    ends = np.zeros((1 << bits) + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=ends[1:])
    # Within a part the words stand in the order of their rows.
    cursor = ends[:-1] + np.cumsum(counts, axis=0) - counts
    ordered, rows = np.empty(len(words), np.uint64), np.empty(len(words), np.int32)
    over_ranges(_spread, before, words, _RUN, shift, cursor, ordered, rows)
    ids = np.empty(len(words), np.int32)
    over_ranges(_lead, ends, ends, ordered, rows, ids)
    return ids, _number_groups(ids)
