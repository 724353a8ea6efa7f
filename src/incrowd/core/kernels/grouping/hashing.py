"""Hash functions and tables with open addressing."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import inner


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
