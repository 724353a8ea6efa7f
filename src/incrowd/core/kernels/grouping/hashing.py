"""Where a word stands in a table with open addressing."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import inner


@inner
def scattered(word):
    """Fibonacci hashing with one xor-shift: packed codes differ mostly in their low bits."""
    return (word ^ (word >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)


@inner
def slot_of(word, mask):
    """Return the slot at which the search for a word begins; uint64, as both are."""
    mixed = scattered(word)
    return (mixed ^ (mixed >> np.uint64(32))) & mask


@inner
def slot_for(item):
    """Scatter numbers that lie near each other."""
    return np.int64(scattered(np.uint64(item)) >> np.uint64(32))


@inner
def mask_of(items, many):
    """Return the mask of a table for so many items; -1 where every possible one has a slot of its own."""
    room = 16
    while room < 2 * items:
        room *= 2
    return room - 1 if 8 * room < many else -1


@inner
def table_of(mask, many):
    """Make a table of a mask; see `is_new`."""
    room = many if mask < 0 else mask + 1
    return np.full(room, -1, np.int32), np.empty(room, np.int32)


@inner
def _most(start, stop, work):
    """Return the most work that one of some classes has."""
    most = 0
    for group in range(start, stop):
        most = max(most, work[group + 1] - work[group])
    return most


@inner
def tables_of(start, stop, work, many):
    """Make a table for the items of any one of some classes."""
    return table_of(mask_of(_most(start, stop, work), many), many)


@inner
def is_new(item, group, mask, slots):
    """Say whether an item is seen for the first time in a class, and remember it.

    A class of few items has a small table, so that what is read is near: open addressing with linear probing.
    A slot is empty unless it was filled for this class, so nothing has to be cleared.
    """
    filled, held = slots
    if mask < 0:
        new = filled[item] != group
        filled[item] = group
        return new
    slot = slot_for(item) & mask
    while filled[slot] == group:
        if held[slot] == item:
            return False
        slot = (slot + 1) & mask
    filled[slot] = group
    held[slot] = item
    return True
