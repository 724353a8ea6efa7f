"""Hash functions, tables with open addressing, and the lookup of words in a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.jit import compiled, inner


@inner
def scattered(word):
    """Fibonacci hashing with one xor-shift: packed codes differ mostly in the low bits."""
    return (word ^ (word >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)


@inner
def slot_of(word, mask):
    """First slot of the search for a word, as uint64."""
    mixed = scattered(word)
    return (mixed ^ (mixed >> np.uint64(32))) & mask


@inner
def slot_for(item):
    """Hash an integer so that neighbouring numbers spread over the table."""
    return np.int64(scattered(np.uint64(item)) >> np.uint64(32))


@inner
def mask_of(items, many):
    """Mask of a table for `items` items, or -1 for a dense table of all `many` possible items."""
    room = 16
    while room < 2 * items:
        room *= 2
    return room - 1 if 8 * room < many else -1


@inner
def table_of(mask, many):
    """Allocate a table for a mask (see `is_new`)."""
    room = many if mask < 0 else mask + 1
    return np.full(room, -1, np.int32), np.empty(room, np.int32)


@inner
def _most(start, stop, work):
    """Largest work of a class."""
    most = 0
    for group in range(start, stop):
        most = max(most, work[group + 1] - work[group])
    return most


@inner
def tables_of(start, stop, work, many):
    """Allocate a table that is large enough for the items of each of the classes."""
    return table_of(mask_of(_most(start, stop, work), many), many)


@inner
def is_new(item, group, mask, slots):
    """Add an item to a class's table and return whether the item is new.

    A class of few items has a small table that fits the cache, with open addressing and linear probing.
    A slot filled for another class counts as empty, so the table is never cleared.
    """
    groups, items = slots
    if mask < 0:
        new = groups[item] != group
        groups[item] = group
        return new
    slot = slot_for(item) & mask
    while groups[slot] == group:
        if items[slot] == item:
            return False
        slot = (slot + 1) & mask
    groups[slot] = group
    items[slot] = item
    return True


_FULL = 0.7
"""Largest share of used slots."""


@compiled
def _fill(words, slots):
    mask = np.uint64(slots.size - 1)
    for place in range(words.size):
        slot = slot_of(words[place], mask)
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = place


@compiled
def _find(queries, words, slots, numbers, result):
    mask = np.uint64(slots.size - 1)
    for row in range(queries.size):
        slot = slot_of(queries[row], mask)
        place = slots[slot]
        while place >= 0 and words[place] != queries[row]:
            slot = (slot + np.uint64(1)) & mask
            place = slots[slot]
        result[row] = numbers[place] if place >= 0 else -1


class KnownWords:
    """Hash table from distinct words to numbers.

    Parameters
    ----------
    words
        uint64[words]
    numbers
        int32[words], from 0.

    Examples
    --------
    >>> import numpy as np
    >>> known = KnownWords(np.array([7, 9], np.uint64), np.array([1, 0], np.int32))
    >>> known.find(np.array([9, 8, 7], np.uint64)).tolist()
    [0, -1, 1]
    """

    def __init__(self, words: NDArray[np.uint64], numbers: NDArray[np.int32]) -> None:
        capacity = 1 << max(int(len(words) / _FULL), 1).bit_length()
        self._words, self._numbers = words, numbers
        self._slots = np.full(capacity, -1, np.int32)
        _fill(words, self._slots)

    def find(self, words: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the number of each word: int32[words], -1 for an unknown word."""
        result = np.empty(len(words), np.int32)
        _find(words, self._words, self._slots, self._numbers, result)
        return result


_PRIME = np.uint64(0x100000001B3)


@compiled
def group_with_company(
    codes: NDArray[np.int64],
    columns: NDArray[np.int64],
    rows: NDArray[np.int64],
    weights: NDArray[np.int64],
    least: int,
    large_rows: NDArray[np.int64],
    ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Group rows by some columns and return the rows in groups with enough records.

    ``codes`` is int64[all columns, all rows]. The rows ``rows`` are grouped by the columns ``columns``. Rows
    in large groups go into ``large_rows`` and their groups into ``ids``, int64, both as long as ``rows``.
    Groups of at least ``least`` records are numbered in order of first appearance::

        column 0 | a a b c b
        column 1 | 1 1 2 1 2      least 2: large_rows 0 1 2 4, ids 0 0 1 1

    Returns the number of rows and groups written.
    """
    capacity = 16
    while capacity < 2 * rows.size:
        capacity *= 2
    mask = np.uint64(capacity - 1)
    table = np.full(capacity, -1, np.int64)  # the group at each slot
    first = np.empty(rows.size, np.int64)
    sums = np.zeros(rows.size, np.int64)
    group = np.empty(rows.size, np.int64)
    groups = 0
    for place in range(rows.size):
        row = rows[place]
        word = np.uint64(0)
        for column in columns:
            word = word * _PRIME ^ np.uint64(codes[column, row])
        slot = slot_of(word, mask)
        while True:
            candidate = table[slot]
            if candidate < 0:
                table[slot] = candidate = groups
                first[groups] = row
                groups += 1
                break
            same = True
            for column in columns:
                if codes[column, first[candidate]] != codes[column, row]:
                    same = False
                    break
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        group[place] = candidate
        sums[candidate] += weights[row]
    large = 0
    for candidate in range(groups):
        if sums[candidate] >= least:
            first[candidate] = large
            large += 1
        else:
            first[candidate] = -1
    count = 0
    for place in range(rows.size):
        number = first[group[place]]
        if number >= 0:
            large_rows[count] = rows[place]
            ids[count] = number
            count += 1
    return count, large
