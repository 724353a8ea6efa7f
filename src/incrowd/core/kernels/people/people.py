"""Distinct people of each class, counted once across the keys of the class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.counting import Counts, compacted, entries_before, room_for, take_out
from incrowd.core.kernels.grouping.hashing import is_new, mask_of, table_of, tables_of
from incrowd.core.kernels.jit import compiled, over_ranges

_SMALL = 8
"""Largest number of a key's entries for a linear search instead of hashing."""


class Entries(NamedTuple):
    """The listed people of each key: key c has the entries ``indptr[c] .. indptr[c + 1] - 1``.

    Entry e is of the item ``items[e]``, a number below `many`.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    many: int


@compiled
def _first(start, stop, indptr, members, entries, work, first, counts):
    offsets, items, many = entries
    slots = tables_of(start, stop, work, many)
    for group in range(start, stop):
        distinct = 0
        if indptr[group + 1] - indptr[group] == 1 and work[group + 1] - work[group] <= _SMALL:
            # A linear search is faster for few adjacent entries of one key.
            base = offsets[members[indptr[group]]]
            for entry in range(base, base + work[group + 1] - work[group]):
                new = True
                for before in range(base, entry):
                    new &= items[before] != items[entry]
                first[entry] = new
                distinct += new
            counts[group] = distinct
            continue
        mask = mask_of(work[group + 1] - work[group], many)
        for position in range(indptr[group], indptr[group + 1]):
            key = members[position]
            for entry in range(offsets[key], offsets[key + 1]):
                if is_new(items[entry], group, mask, slots):
                    first[entry] = True
                    distinct += 1
        counts[group] = distinct


@compiled
def _reach(start, stop, classes, alike, entries, least, reached):
    indptr, members = classes
    offsets, items, many = entries
    mask = mask_of(least, many)
    slots = table_of(mask, many)
    for group in range(start, stop):
        total = 0
        position, last = indptr[group], indptr[group + 1]
        while position < last and total < least:
            key = members[position]
            total += alike[key]
            for entry in range(offsets[key], offsets[key + 1]):
                if total >= least:
                    break
                if is_new(items[entry], group, mask, slots):
                    total += 1
            position += 1
        reached[group] = total >= least


@compiled
def _list(start, stop, indptr, members, entries, first, ends, output):
    for group in range(start, stop):
        place = ends[group]
        position = indptr[group]
        # Most classes have none, or only under the first keys.
        while place < ends[group + 1]:
            key = members[position]
            for entry in range(entries[key], entries[key + 1]):
                if first[entry]:
                    output[place] = entry
                    place += 1
            position += 1


@compiled
def _lay_out(class_of, entries, values, work, items, room):
    offsets, item_of, _ = entries
    cursor = work[:-1].copy()
    for key in range(class_of.size):
        group = class_of[key]
        if group < 0:
            continue
        place = cursor[group]
        for entry in range(offsets[key], offsets[key + 1]):
            items[place] = item_of[entry]
            room[place] = values[entry]
            place += 1
        cursor[group] = place


@compiled
def _thin_out(start, stop, work, items, many, room, counts):
    slots = tables_of(start, stop, work, many)
    for group in range(start, stop):
        mask = mask_of(work[group + 1] - work[group], many)
        place = work[group]
        for entry in range(work[group], work[group + 1]):
            if is_new(items[entry], group, mask, slots):
                room[place] = room[entry]
                place += 1
        counts[group] = place - work[group]


@compiled
def _close_up(start, stop, work, ends, room, output):
    for group in range(start, stop):
        gap = work[group] - ends[group]
        for place in range(ends[group], ends[group + 1]):
            output[place] = room[place + gap]


@compiled
def _mark(start, stop, indptr, members, entries, chosen, is_marked):
    offsets, items, _ = entries
    for group in range(start, stop):
        if not chosen[group]:
            continue
        for position in range(indptr[group], indptr[group + 1]):
            key = members[position]
            for entry in range(offsets[key], offsets[key + 1]):
                is_marked[items[entry]] = True


@compiled
def _raise(indptr, members, entries, values, worst):
    offsets, items, _ = entries
    for group in range(indptr.size - 1):
        value = values[group]
        for position in range(indptr[group], indptr[group + 1]):
            key = members[position]
            for entry in range(offsets[key], offsets[key + 1]):
                worst[items[entry]] = max(worst[items[entry]], value)


@compiled
def _add(start, stop, classes, keys, entries, codes, values, room):
    indptr, members, work = classes
    entry_offsets, items, many = entries
    (offsets, into, counts), lengths = room
    slots = tables_of(start, stop, work, many)
    tally = np.zeros(values, np.int64)
    for group in range(start, stop):
        mask = mask_of(work[group + 1] - work[group], many)
        base = offsets[group]
        touched = 0
        for position in range(indptr[group], indptr[group + 1]):
            key = members[position]
            for place in range(keys.indptr[key], keys.indptr[key + 1]):
                code = keys.codes[place]
                if tally[code] == 0:
                    into[base + touched] = code
                    touched += 1
                tally[code] += keys.counts[place]
            for entry in range(entry_offsets[key], entry_offsets[key + 1]):
                if is_new(items[entry], group, mask, slots):
                    code = codes[entry]
                    if tally[code] == 0:
                        into[base + touched] = code
                        touched += 1
                    tally[code] += 1
        take_out(tally, into, counts, base, touched)
        lengths[group] = touched


@compiled
def _most(start, stop, classes, keys, entries, codes, values, most):
    indptr, members, work = classes
    entry_offsets, items, many = entries
    slots = tables_of(start, stop, work, many)
    tally = np.zeros(values, np.int64)
    for group in range(start, stop):
        mask = mask_of(work[group + 1] - work[group], many)
        largest = 0
        for position in range(indptr[group], indptr[group + 1]):
            key = members[position]
            for place in range(keys.indptr[key], keys.indptr[key + 1]):
                code = keys.codes[place]
                tally[code] += keys.counts[place]
                largest = max(largest, tally[code])
            for entry in range(entry_offsets[key], entry_offsets[key + 1]):
                if is_new(items[entry], group, mask, slots):
                    tally[codes[entry]] += 1
                    largest = max(largest, tally[codes[entry]])
        most[group] = largest
        for position in range(indptr[group], indptr[group + 1]):
            key = members[position]
            for place in range(keys.indptr[key], keys.indptr[key + 1]):
                tally[keys.codes[place]] = 0
            for entry in range(entry_offsets[key], entry_offsets[key + 1]):
                tally[codes[entry]] = 0


def first_entries(
    indptr: NDArray[np.int64], members: NDArray[np.int64], entries: Entries
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Mark the first entry of each item in each class.

    Parameters
    ----------
    indptr, members
        int64[classes + 1] and int64[...]: the keys of each class; a key is in one class or in none.

    Returns
    -------
    first
        bool[entries]; False throughout for keys that are in no class.
    counts
        int64[classes]: distinct items of each class.
    """
    first = np.zeros(len(entries.items), np.bool_)
    counts = np.zeros(len(indptr) - 1, np.int64)
    if len(first):
        work = entries_before(indptr, members, entries.indptr)
        over_ranges(_first, work, indptr, members, entries, work, first, counts)
    return first, counts


def classes_that_reach(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    alike: NDArray[np.int64],
    entries: Entries,
    least: int,
) -> NDArray[np.bool_]:
    """Whether each class has enough people, counting no further: bool[classes].

    Parameters
    ----------
    indptr, members
        As in `first_entries`.
    alike
        int64[keys]: number of people without an entry, by key.
    least
        Least number of people.
    """
    reached = np.zeros(len(indptr) - 1, np.bool_)
    over_ranges(_reach, indptr, (indptr, members), alike, entries, least, reached)
    return reached


def list_entries(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    entries: NDArray[np.int64],
    first: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the first entries of `first_entries`, class by class.

    Parameters
    ----------
    entries
        int64[keys + 1]: the `indptr` of the entries.

    Returns
    -------
    indptr
        int64[classes + 1]
    listed
        int64[...]: the entries of class c are ``listed[indptr[c]:indptr[c + 1]]``.
    """
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    output = np.empty(ends[-1], np.int64)
    if len(output):
        over_ranges(_list, ends, indptr, members, entries, first, ends, output)
    return ends, output


def distinct_entries(
    indptr: NDArray[np.int64], members: NDArray[np.int64], entries: Entries, values: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the value of each class's first entry per item.

    Parameters
    ----------
    indptr, members
        As in `first_entries`.
    values
        int32[entries]: value of each entry.

    Returns
    -------
    indptr
        int64[classes + 1]
    listed
        int32[...]: the values of class c are ``listed[indptr[c]:indptr[c + 1]]``.
    """
    work = entries_before(indptr, members, entries.indptr)
    class_of = np.full(len(entries.indptr) - 1, -1, np.int32)
    class_of[members] = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    # Keys of a class lie apart; in the order of keys, entries are read once and sequentially.
    items, room = np.empty(work[-1], np.int32), np.empty(work[-1], np.int32)
    _lay_out(class_of, entries, values, work, items, room)
    counts = np.zeros(len(indptr) - 1, np.int64)
    over_ranges(_thin_out, work, work, items, entries.many, room, counts)
    return closed_up(work, counts, room)


def closed_up(
    starts: NDArray[np.int64], counts: NDArray[np.int64], room: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Remove unused space from lists.

    Parameters
    ----------
    starts, counts
        int64[classes + 1] and int64[classes]: start of each class's space, and entries used.
    room
        int32[...]

    Returns
    -------
    indptr
        int64[classes + 1]
    listed
        int32[...]: the list of class c is ``listed[indptr[c]:indptr[c + 1]]``.
    """
    ends = np.zeros(len(starts), np.int64)
    np.cumsum(counts, out=ends[1:])
    if ends[-1] == starts[-1]:
        return ends, room
    output = np.empty(ends[-1], np.int32)
    over_ranges(_close_up, ends, starts, ends, room, output)
    return ends, output


def worst_of_items(
    indptr: NDArray[np.int64], members: NDArray[np.int64], entries: Entries, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Largest value among the classes of each item's entries: float64[many], 0 for none.

    Parameters
    ----------
    values
        float64[classes], each >= 0.
    """
    worst = np.zeros(entries.many)
    _raise(indptr, members, entries, values, worst)
    return worst


def items_within(
    indptr: NDArray[np.int64], members: NDArray[np.int64], entries: Entries, chosen: NDArray[np.bool_]
) -> int:
    """Count the distinct items with an entry in the chosen classes.

    Parameters
    ----------
    chosen
        bool[classes]
    """
    # Several cores may mark one item with the same value.
    is_marked = np.zeros(entries.many, np.bool_)
    over_ranges(_mark, indptr, indptr, members, entries, chosen, is_marked)
    return int(np.count_nonzero(is_marked))


def add_distinct(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    keys: Counts,
    entries: Entries,
    codes: NDArray[np.int32],
    values: int,
) -> Counts:
    """Sum the counts of each class's keys, plus 1 for each distinct item of the entries.

    Parameters
    ----------
    indptr, members
        As in `first_entries`.
    keys
        The counts of each key.
    codes
        int32[entries]: the value under which an item counts; an item has one.
    values
        Number of possible codes.
    """
    work = entries_before(indptr, members, entries.indptr)
    both = work + entries_before(indptr, members, keys.indptr)
    sparse = room_for(both, values)
    lengths = np.zeros(len(indptr) - 1, np.int64)
    over_ranges(_add, both, (indptr, members, work), keys, entries, codes, values, (sparse, lengths))
    return compacted(sparse, lengths)


def most_distinct(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    keys: Counts,
    entries: Entries,
    codes: NDArray[np.int32],
    values: int,
) -> NDArray[np.int64]:
    """Largest count of each class in the result of `add_distinct`: int64[classes].

    The parameters are those of `add_distinct`.
    """
    work = entries_before(indptr, members, entries.indptr)
    both = work + entries_before(indptr, members, keys.indptr)
    most = np.zeros(len(indptr) - 1, np.int64)
    over_ranges(_most, both, (indptr, members, work), keys, entries, codes, values, most)
    return most
