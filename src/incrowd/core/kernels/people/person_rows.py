"""The distinct rows of each person: rows with the same key and values count as one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.hashing import mask_of, slot_for, tables_of
from incrowd.core.kernels.jit import compiled, inner, over_ranges

_ENDLESS = 1 << 62
"""Words may be any, so no table has a slot for each of them."""

_SMALL = 32
"""Members of a group that are looked through sooner than looked up."""

_NOWHERE, _ALONE, _UNLIKE = 1, 2, 3


class DistinctRows(NamedTuple):
    """The rows of people, as `distinct_rows` finds them, in order.

    Attributes
    ----------
    alone
        int64[...]: the one row of each person of whom all rows with a key are alike.
    unlike
        int64[...]: the distinct rows with a key of everybody else.
    nowhere
        How many distinct rows have no key.
    """

    alone: NDArray[np.int64]
    unlike: NDArray[np.int64]
    nowhere: int


@inner
def _room(start, stop, indptr):
    """Make room for the items of any one of some groups, for the first place of each, and for a table."""
    most = 0
    for group in range(start, stop):
        most = max(most, indptr[group + 1] - indptr[group])
    return np.empty(most, np.uint64), np.empty(most, np.int64), tables_of(start, stop, indptr, _ENDLESS)


@inner
def _lead(group, indptr, members, items, own, lead, slots):
    """Write down for each item of a large group the place of the first that is the same."""
    base = indptr[group]
    size = indptr[group + 1] - base
    filled, held = slots
    mask = mask_of(size, _ENDLESS)
    for place in range(size):
        own[place] = items[members[base + place]]
        slot = slot_for(own[place]) & mask
        while filled[slot] == group and own[held[slot]] != own[place]:
            slot = (slot + 1) & mask
        if filled[slot] != group:
            filled[slot] = group
            held[slot] = place
        lead[place] = held[slot]


@compiled
def _lead_all(start, stop, indptr, members, items, leader):
    # Members of a group lie apart. Cores that wrote to them would wait for each other, so what is found
    # stands in the order of the groups.
    own, lead, slots = _room(start, stop, indptr)
    for group in range(start, stop):
        base = indptr[group]
        size = indptr[group + 1] - base
        if size > _SMALL:
            _lead(group, indptr, members, items, own, lead, slots)
            for place in range(size):
                leader[base + place] = base + lead[place]
            continue
        for place in range(size):
            own[place] = items[members[base + place]]
        for place in range(size):
            item, first = own[place], place
            # Nothing leaves the loop early, so nothing has to be guessed.
            for before in range(place - 1, -1, -1):
                first = before if own[before] == item else first
            leader[base + place] = base + first


@compiled
def _kinds(start, stop, indptr, members, words, nowhere, kinds):
    own, lead, slots = _room(start, stop, indptr)
    for group in range(start, stop):
        base = indptr[group]
        size = indptr[group + 1] - base
        live = 0
        if size > _SMALL:
            _lead(group, indptr, members, words, own, lead, slots)
            for place in range(size):
                leads = lead[place] == place
                kinds[base + place] = _ALONE * leads
                live += leads
        else:
            for place in range(size):
                own[place] = words[members[base + place]]
            for place in range(size):
                item, leads = own[place], True
                for before in range(place):
                    leads &= own[before] != item
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
    """Find for each place in the list of members the place of the first of its class with the same item."""
    leader = np.empty(len(members), np.int32)
    # Each kind of number is one more kernel to compile.
    items = items if items.dtype == np.int32 else items.astype(np.uint64, copy=False)
    over_ranges(_lead_all, indptr, indptr, members, items, leader)
    return leader


def number_items(
    indptr: NDArray[np.int64], members: NDArray[np.int64], items: NDArray[np.integer]
) -> NDArray[np.int32]:
    """Give the items of each class numbers: members of one class that have the same item have one number.

    Parameters
    ----------
    indptr, members
        int64[classes + 1] and int64[...]: the members of each class.
    items
        int[...]: the item of each member, whatever numbers these are.

    Returns
    -------
    int32[...]: the number of each member, below their count and with gaps; -1 for one of no class.
    """
    ids = np.full(len(items), -1, np.int32)
    ids[members] = _leaders(indptr, members, items)
    return ids


def first_items(
    indptr: NDArray[np.int64], members: NDArray[np.int64], items: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Find the first member of each class for each of its items: int64[...], class by class.

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
    """Find the distinct rows of each person.

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
    # Where each row has a key, none is looked up.
    looked_up = nowhere if nowhere.any() else nowhere[:0]
    over_ranges(_kinds, indptr, indptr, members, words.astype(np.uint64, copy=False), looked_up, kinds)
    of_row = np.zeros(len(words), np.uint8)
    of_row[members] = kinds
    alone, unlike = np.flatnonzero(of_row == _ALONE), np.flatnonzero(of_row == _UNLIKE)
    return DistinctRows(alone, unlike, int(np.count_nonzero(kinds == _NOWHERE)))
