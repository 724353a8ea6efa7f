"""Grouping many words: they are parted by their hash, so that the table of each part stays near the core."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.hashing import scattered, slot_of
from incrowd.core.kernels.jit import compiled, over_ranges

_PART = 1 << 14
"""Words of a part, about: their table takes as much as the cache of one core has."""

_RUN = 1 << 16
"""Words that are parted one after the other."""


@compiled
def _tally(start, stop, words, run, shift, counts):
    for chunk in range(start, stop):
        for row in range(chunk * run, min((chunk + 1) * run, words.size)):
            counts[chunk, scattered(words[row]) >> shift] += 1


@compiled
def _spread(start, stop, words, run, shift, cursor, parted, rows):
    for chunk in range(start, stop):
        for row in range(chunk * run, min((chunk + 1) * run, words.size)):
            part = scattered(words[row]) >> shift
            place = cursor[chunk, part]
            parted[place] = words[row]
            rows[place] = row
            cursor[chunk, part] = place + 1


@compiled
def _lead(start, stop, ends, parted, rows, leader):
    """Write for each row the first row of the same word."""
    for part in range(start, stop):
        first = ends[part]
        size = ends[part + 1] - first
        capacity = 16
        while capacity < 2 * size:
            capacity *= 2
        mask = np.uint64(capacity - 1)
        known = np.full(capacity, -1, np.int32)
        for own in range(size):
            word = parted[first + own]
            slot = slot_of(word, mask)
            while known[slot] >= 0 and parted[first + known[slot]] != word:
                slot = (slot + np.uint64(1)) & mask
            if known[slot] < 0:
                known[slot] = own
            leader[rows[first + own]] = rows[first + known[slot]]


@compiled
def _number(ids):
    """Put in place of each row's leader its number, in order of first appearance; return the leaders."""
    found = 0
    for row in range(ids.size):
        found += ids[row] == row
    first = np.empty(found, np.int64)
    found = 0
    for row in range(ids.size):
        if ids[row] == row:
            first[found] = row
            ids[row] = found
            found += 1
        else:
            # A leader comes before its followers, and has its number.
            ids[row] = ids[ids[row]]
    return first


def first_of_parts(words: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give each distinct word an id in order of first appearance, on all cores; and its first row.

    The result does not depend on how many cores there are.
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
    parted, rows = np.empty(len(words), np.uint64), np.empty(len(words), np.int32)
    over_ranges(_spread, before, words, _RUN, shift, cursor, parted, rows)
    ids = np.empty(len(words), np.int32)
    over_ranges(_lead, ends, ends, parted, rows, ids)
    return ids, _number(ids)
