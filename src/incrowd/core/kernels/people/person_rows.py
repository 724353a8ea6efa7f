"""Distinct rows of each person, by key and values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.hashing import mask_of, slot_for, tables_of
from incrowd.core.kernels.jit import compiled, inner, over_ranges

_ENDLESS = 1 << 62
"""Number of possible words, too large for a dense table."""

_SMALL = 32
"""Largest group for a linear search instead of hashing."""

_NOWHERE, _ALONE, _UNLIKE = 1, 2, 3


class DistinctRows(NamedTuple):
    """Result of `distinct_rows`, with rows in ascending order.

    Attributes
    ----------
    alone
        int64[...]: the only distinct row of each person with one distinct row under a key.
    unlike
        int64[...]: the distinct rows under a key of all other people.
    nowhere
        Number of distinct rows without a key.
    """

    alone: NDArray[np.int64]
    unlike: NDArray[np.int64]
    nowhere: int


@inner
def _room(start, stop, indptr):
    """Allocate buffers for a group's items and leaders, and a hash table."""
    most = 0
    for group in range(start, stop):
        most = max(most, indptr[group + 1] - indptr[group])
    return np.empty(most, np.uint64), np.empty(most, np.int64), tables_of(start, stop, indptr, _ENDLESS)


@inner
def _lead(group, indptr, members, items, buffer, lead, slots):
    """Write the place of the first equal item for each item of a large group."""
    base = indptr[group]
    size = indptr[group + 1] - base
    groups, places = slots
    mask = mask_of(size, _ENDLESS)
    for place in range(size):
        buffer[place] = items[members[base + place]]
        slot = slot_for(buffer[place]) & mask
        while groups[slot] == group and buffer[places[slot]] != buffer[place]:
            slot = (slot + 1) & mask
        if groups[slot] != group:
            groups[slot] = group
            places[slot] = place
        lead[place] = places[slot]


@compiled
def _lead_all(start, stop, indptr, members, items, leader):
    # Members of a group lie apart. Cores that wrote to members would wait for each other, so the result
    # stands in the order of the groups.
    buffer, lead, slots = _room(start, stop, indptr)
    for group in range(start, stop):
        base = indptr[group]
        size = indptr[group + 1] - base
        if size > _SMALL:
            _lead(group, indptr, members, items, buffer, lead, slots)
            for place in range(size):
                leader[base + place] = base + lead[place]
            continue
        for place in range(size):
            buffer[place] = items[members[base + place]]
        for place in range(size):
            item, first = buffer[place], place
            # Without an early exit there are no branches to predict.
            for before in range(place - 1, -1, -1):
                first = before if buffer[before] == item else first
            leader[base + place] = base + first


@compiled
def _kinds(start, stop, indptr, members, words, nowhere, kinds):
    buffer, lead, slots = _room(start, stop, indptr)
    for group in range(start, stop):
        base = indptr[group]
        size = indptr[group + 1] - base
        live = 0
        if size > _SMALL:
            _lead(group, indptr, members, words, buffer, lead, slots)
            for place in range(size):
                leads = lead[place] == place
                kinds[base + place] = _ALONE * leads
                live += leads
        else:
            for place in range(size):
                buffer[place] = words[members[base + place]]
            for place in range(size):
                item, leads = buffer[place], True
                for before in range(place):
                    leads &= buffer[before] != item
                kinds[base + place] = _ALONE * leads
                live += leads
        if nowhere.size:
            for place in range(base, base + size):
                if kinds[place] == _ALONE and nowhere[members[place]]:
                    kinds[place] = _NOWHERE
                    live -= 1
        if live > 1:
            for place in range(base, base + size):
                if kinds[place] == _ALONE:
                    kinds[place] = _UNLIKE


def _leaders(
    indptr: NDArray[np.int64], members: NDArray[np.int64], items: NDArray[np.integer]
) -> NDArray[np.int32]:
    """Return the place of the first member of the same class and item for each place of `members`."""
    leader = np.empty(len(members), np.int32)
    # Each further dtype would be one more kernel to compile.
    items = items if items.dtype == np.int32 else items.astype(np.uint64, copy=False)
    over_ranges(_lead_all, indptr, indptr, members, items, leader)
    return leader


def number_items(
    indptr: NDArray[np.int64], members: NDArray[np.int64], items: NDArray[np.integer]
) -> NDArray[np.int32]:
    """Assign equal numbers to equal items within each class.

    Parameters
    ----------
    indptr, members
        int64[classes + 1] and int64[...]: the members of each class.
    items
        int[...]: the item of each member, any integers.

    Returns
    -------
    int32[...]: the number of each member, below the number of members, with gaps; -1 for no class.
    """
    ids = np.full(len(items), -1, np.int32)
    ids[members] = _leaders(indptr, members, items)
    return ids


def first_items(
    indptr: NDArray[np.int64], members: NDArray[np.int64], items: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return the first member for each class and item: int64[...], class by class.

    The parameters are those of `number_items`.
    """
    first: NDArray[np.int64] = members[_leaders(indptr, members, items) == np.arange(len(members))]
    return first


def distinct_rows(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    words: NDArray[np.integer],
    keys: NDArray[np.integer],
) -> DistinctRows:
    """Classify the distinct rows of each person.

    Parameters
    ----------
    indptr, members
        int64[people + 1] and int64[...]: the rows of each person.
    words
        int[rows]: the key and the values of each row in one number.
    keys
        int[rows]: the key of each row; negative for none.
    """
    nowhere = keys < 0
    kinds = np.empty(len(members), np.uint8)
    # If each row has a key, no row needs a test.
    row_flags = nowhere if nowhere.any() else nowhere[:0]
    over_ranges(_kinds, indptr, indptr, members, words.astype(np.uint64, copy=False), row_flags, kinds)
    of_row = np.zeros(len(words), np.uint8)
    of_row[members] = kinds
    alone, unlike = np.flatnonzero(of_row == _ALONE), np.flatnonzero(of_row == _UNLIKE)
    return DistinctRows(alone, unlike, int(np.count_nonzero(kinds == _NOWHERE)))
