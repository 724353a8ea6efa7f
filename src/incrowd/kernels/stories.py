"""What is told of each person: rows of one person that say the same are told apart from those that do not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.jit import compiled, inner, over_ranges
from incrowd.kernels.met import mask_of, slot_for, tables_of

__all__ = ["ToldRows", "number_apart", "tell_apart"]

_ENDLESS = 1 << 62
"""Words may be any, so no table has a slot for each of them."""

_SMALL = 8
"""Members of a group that are looked through sooner than looked up."""

_NOWHERE, _ALONE, _UNLIKE = 1, 2, 3


class ToldRows(NamedTuple):
    """The rows of people, as `tell_apart` finds them, in order.

    Attributes
    ----------
    alone
        int64[...]: the one row with a key of each person of whom all rows with a key say the same.
    unlike
        int64[...]: the rows with a key of everybody else, one for each thing that is said.
    nowhere
        How many things are said by rows without a key alone.
    """

    alone: NDArray[np.int64]
    unlike: NDArray[np.int64]
    nowhere: int


@inner
def _room(start, stop, indptr):
    """Make room for the words of any one of some groups, for the first place of each, and for a table."""
    most = 0
    for group in range(start, stop):
        most = max(most, indptr[group + 1] - indptr[group])
    filled, held = tables_of(start, stop, indptr, _ENDLESS)
    return np.empty(most, np.uint64), np.empty(most, np.int64), filled, held


@inner
def _lead(size, group, room):
    """Write down for each of the own words of a group the place of the first that is the same."""
    own, leader, filled, held = room
    if size <= _SMALL:
        for place in range(size):
            first = 0
            while own[first] != own[place]:
                first += 1
            leader[place] = first
        return
    mask = mask_of(size, _ENDLESS)
    for place in range(size):
        slot = slot_for(own[place]) & mask
        while filled[slot] == group and own[held[slot]] != own[place]:
            slot = (slot + 1) & mask
        if filled[slot] != group:
            filled[slot] = group
            held[slot] = place
        leader[place] = held[slot]


@compiled
def _number(indptr, members, items, ids, first):
    filled, held = tables_of(0, indptr.size - 1, indptr, _ENDLESS)
    found = 0
    for group in range(indptr.size - 1):
        mask = mask_of(indptr[group + 1] - indptr[group], _ENDLESS)
        for position in range(indptr[group], indptr[group + 1]):
            member = members[position]
            slot = slot_for(items[member]) & mask
            while filled[slot] == group and items[held[slot]] != items[member]:
                slot = (slot + 1) & mask
            if filled[slot] == group:
                ids[member] = ids[held[slot]]
            else:
                filled[slot] = group
                held[slot] = member
                first[member] = True
                ids[member] = found
                found += 1
    return found


@compiled
def _tell(start, stop, indptr, members, words, keys, kinds):
    # Rows of one person lie apart, so cores that wrote to them would wait for each other.
    room = _room(start, stop, indptr)
    own, leader = room[0], room[1]
    for group in range(start, stop):
        base = indptr[group]
        size = indptr[group + 1] - base
        for place in range(size):
            own[place] = words[members[base + place]]
        _lead(size, group, room)
        live = 0
        for place in range(size):
            if leader[place] == place:
                known = keys[members[base + place]] >= 0
                kinds[base + place] = _ALONE if known else _NOWHERE
                live += known
        if live > 1:
            for place in range(base, base + size):
                if kinds[place] == _ALONE:
                    kinds[place] = _UNLIKE


def number_apart(
    indptr: NDArray[np.int64], members: NDArray[np.int64], items: NDArray[np.integer]
) -> tuple[NDArray[np.int32], NDArray[np.bool_], int]:
    """Give the items of each class numbers: members of one class that have the same item have one number.

    Parameters
    ----------
    indptr, members
        int64[classes + 1] and int64[...]: the members of each class.
    items
        int[...]: the item of each member, whatever numbers these are.

    Returns
    -------
    ids, first
        int32[...] and bool[...]: the number of each member, and whether it is the first of its class that has
        its item.
    many
        How many numbers there are.
    """
    ids, first = np.full(len(items), -1, np.int32), np.zeros(len(items), np.bool_)
    return ids, first, int(_number(indptr, members, items, ids, first))


def tell_apart(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    words: NDArray[np.integer],
    keys: NDArray[np.integer],
) -> ToldRows:
    """Find one row of each person for each thing that their rows say.

    Parameters
    ----------
    indptr, members
        int64[people + 1] and int64[...]: the rows of each person.
    words
        int[rows]: what each row says, its key included.
    keys
        int[rows]: the key of each row; negative for none.
    """
    kinds = np.zeros(len(members), np.uint8)
    over_ranges(_tell, indptr, indptr, members, words, keys, kinds)
    of_row = np.zeros(len(words), np.uint8)
    of_row[members] = kinds
    alone, unlike = np.flatnonzero(of_row == _ALONE), np.flatnonzero(of_row == _UNLIKE)
    return ToldRows(alone, unlike, int(np.count_nonzero(kinds == _NOWHERE)))
