"""Distinct people of each class: whoever has rows in several keys of a class counts once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.counting import Counts, class_sums
from incrowd.kernels.jit import compiled, over_ranges

__all__ = [
    "Entries",
    "add_distinct",
    "first_entries",
    "first_entries_below",
    "list_entries",
    "worst_of_items",
]


class Entries(NamedTuple):
    """What is listed under each key: key c has the entries ``indptr[c] .. indptr[c + 1] - 1``.

    Entry e is of the item ``items[e]``, a number below `many`.
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    many: int


@compiled
def _first(start, stop, indptr, members, entries, first, found):
    offsets, items, many = entries
    seen = np.full(many, -1, np.int32)
    for group in range(start, stop):
        distinct = 0
        for position in range(indptr[group], indptr[group + 1]):
            key = members[position]
            for entry in range(offsets[key], offsets[key + 1]):
                if seen[items[entry]] != group:
                    seen[items[entry]] = group
                    first[entry] = True
                    distinct += 1
        found[group] = distinct


@compiled
def _below(start, stop, classes, alike, entries, least, sums, marks):
    indptr, members = classes
    offsets, items, many = entries
    first, found = marks
    seen = np.full(many, -1, np.int32)
    for group in range(start, stop):
        total = 0
        for position in range(indptr[group], indptr[group + 1]):
            total += alike[members[position]]
        distinct = 0
        for position in range(indptr[group], indptr[group + 1]):
            if total + distinct >= least:
                break
            key = members[position]
            for entry in range(offsets[key], offsets[key + 1]):
                if seen[items[entry]] != group:
                    seen[items[entry]] = group
                    first[entry] = True
                    distinct += 1
        if total + distinct >= least:
            # Enough: whoever was met need not be known above.
            total = max(total, least)
            distinct = 0
            for position in range(indptr[group], indptr[group + 1]):
                key = members[position]
                first[offsets[key] : offsets[key + 1]] = False
        sums[group] = total
        found[group] = distinct


@compiled
def _list(start, stop, indptr, members, entries, first, ends, listed):
    for group in range(start, stop):
        place = ends[group]
        for position in range(indptr[group], indptr[group + 1]):
            key = members[position]
            for entry in range(entries[key], entries[key + 1]):
                if first[entry]:
                    listed[place] = entry
                    place += 1


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
def _add(start, stop, classes, keys, entries, values, sparse, found):
    indptr, members = classes
    listed, codes, first = entries
    offsets, into, counts = sparse
    tally = np.zeros(values, np.int64)
    for group in range(start, stop):
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
            for entry in range(listed[key], listed[key + 1]):
                if first[entry]:
                    code = codes[entry]
                    if tally[code] == 0:
                        into[base + touched] = code
                        touched += 1
                    tally[code] += 1
        into[base : base + touched].sort()
        for i in range(base, base + touched):
            counts[i] = tally[into[i]]
            tally[into[i]] = 0
        found[group] = touched


def first_entries(
    indptr: NDArray[np.int64], members: NDArray[np.int64], entries: Entries
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Find the entries whose item is met for the first time in its class.

    Parameters
    ----------
    indptr, members
        int64[classes + 1] and int64[...]: the keys of each class; a key is in one class or in none.

    Returns
    -------
    first
        bool[entries]; False throughout for keys that are in no class.
    found
        int64[classes]: distinct items of each class.
    """
    first = np.zeros(len(entries.items), np.bool_)
    found = np.zeros(len(indptr) - 1, np.int64)
    if len(first):
        over_ranges(_first, _work(indptr, members, entries.indptr), indptr, members, entries, first, found)
    return first, found


def first_entries_below(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    alike: NDArray[np.int64],
    entries: Entries,
    least: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Find the first entries of classes that have fewer people than are enough.

    Parameters
    ----------
    indptr, members
        As in `first_entries`.
    alike
        int64[keys]: people of each key who have no entry.
    least
        How many people are enough.

    Returns
    -------
    sums
        int64[classes]: people without an entry; at least `least` where a class has enough people.
    first, found
        As `first_entries` gives them; none of a class that has enough.
    """
    first = np.zeros(len(entries.items), np.bool_)
    sums, found = np.zeros(len(indptr) - 1, np.int64), np.zeros(len(indptr) - 1, np.int64)
    work = _work(indptr, members, entries.indptr) + indptr
    over_ranges(_below, work, (indptr, members), alike, entries, least, sums, (first, found))
    return sums, first, found


def list_entries(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    entries: NDArray[np.int64],
    first: NDArray[np.bool_],
    found: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the first entries class by class, as `first_entries` found them.

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
    ends = np.concatenate(([0], np.cumsum(found))).astype(np.int64)
    listed = np.empty(ends[-1], np.int64)
    if len(listed):
        over_ranges(_list, _work(indptr, members, entries), indptr, members, entries, first, ends, listed)
    return ends, listed


def worst_of_items(
    indptr: NDArray[np.int64], members: NDArray[np.int64], entries: Entries, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest value of the classes that each item has an entry in: float64[many], 0 for none.

    Parameters
    ----------
    values
        float64[classes], each >= 0.
    """
    worst = np.zeros(entries.many)
    _raise(indptr, members, entries, values, worst)
    return worst


def add_distinct(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    keys: Counts,
    entries: Entries,
    codes: NDArray[np.int32],
    values: int,
) -> Counts:
    """Add up the counts of each class's keys, and one for each distinct item of its entries.

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
    first, _ = first_entries(indptr, members, entries)
    work = _work(indptr, members, entries.indptr + keys.indptr)
    sparse = Counts(work, np.empty(work[-1], np.int32), np.empty(work[-1], np.int64))
    found = np.zeros(len(indptr) - 1, np.int64)
    over_ranges(_add, work, (indptr, members), keys, (entries.indptr, codes, first), values, sparse, found)
    ends = np.concatenate(([0], np.cumsum(found))).astype(np.int64)
    places = np.arange(ends[-1]) + np.repeat(work[:-1] - ends[:-1], found)
    return Counts(ends, sparse.codes[places], sparse.counts[places])


def _work(
    indptr: NDArray[np.int64], members: NDArray[np.int64], entries: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Entries before each class: int64[classes + 1]."""
    work = np.zeros(len(indptr), np.int64)
    np.cumsum(class_sums(indptr, members, np.diff(entries)), out=work[1:])
    return work
