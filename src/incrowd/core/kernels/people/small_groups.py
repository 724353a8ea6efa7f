"""People of groups that may have too few: nobody is looked up in a group that has enough without."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.hashing import is_new, mask_of, table_of
from incrowd.core.kernels.jit import compiled, over_ranges
from incrowd.core.kernels.people.people import Entries, closed_up, list_entries

_FEW = 32
"""People of a group who are looked through sooner than looked up."""


class GroupPeople(NamedTuple):
    """The people of each key.

    Attributes
    ----------
    alike
        int64[keys]: people who have no entry.
    entries
        The other people; the same one may be listed several times.
    """

    alike: NDArray[np.int64]
    entries: Entries


@compiled
def _add(ids, alike, offsets, sums, others):
    for key in range(ids.size):
        sums[ids[key]] += alike[key]
        others[ids[key]] += offsets[key + 1] - offsets[key]


@compiled
def _look_through(ids, entries, least, sums, starts, listed, found):
    offsets, items, _ = entries
    for key in range(ids.size):
        group = ids[key]
        start = starts[group]
        stop = start + found[group]
        enough = start + least - sums[group]
        if stop >= enough:
            continue
        for entry in range(offsets[key], offsets[key + 1]):
            place = start
            while place < stop and listed[place] != items[entry]:
                place += 1
            if place == stop:
                listed[stop] = items[entry]
                stop += 1
                if stop == enough:
                    break
        found[group] = stop - start


@compiled
def _count(ids, offsets, sums, least, ends):
    for key in range(ids.size):
        group = ids[key]
        if sums[group] < least and offsets[key + 1] > offsets[key]:
            ends[group + 1] += 1


@compiled
def _fill(ids, offsets, sums, least, ends, members):
    places = ends[:-1].copy()
    for key in range(ids.size):
        group = ids[key]
        if sums[group] < least and offsets[key + 1] > offsets[key]:
            members[places[group]] = key
            places[group] += 1


@compiled
def _meet(start, stop, indptr, members, entries, least, sums, marks):
    offsets, items, many = entries
    first, found = marks
    # A group with enough people is left, so no table ever holds more of them.
    mask = mask_of(least, many)
    slots = table_of(mask, many)
    for group in range(start, stop):
        enough = least - sums[group]
        distinct = 0
        position = indptr[group]
        while position < indptr[group + 1] and distinct < enough:
            key = members[position]
            for entry in range(offsets[key], offsets[key + 1]):
                if distinct >= enough:
                    break
                if is_new(items[entry], group, mask, slots):
                    first[entry] = True
                    distinct += 1
            position += 1
        if distinct >= enough:
            # Whoever was met need not be known above.
            for place in range(indptr[group], position):
                key = members[place]
                first[offsets[key] : offsets[key + 1]] = False
            sums[group] = least
            distinct = 0
        found[group] = distinct


def join_people(ids: NDArray[np.int32], groups: int, people: GroupPeople, least: int) -> GroupPeople:
    """Return the people of groups of keys, each once, as far as they matter for a least size.

    Parameters
    ----------
    ids
        int32[keys]: the group of each key.
    groups
        Number of groups.
    people
        The people of the keys. A key may leave out its entries if it has enough people without.
    least
        How many people are enough.

    Returns
    -------
    A group that has enough people has no entries, and at least `least` people without. The others have all
    of theirs.
    """
    alike, entries = people
    sums, others = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    _add(ids, alike, entries.indptr, sums, others)
    if least <= _FEW:
        return _listed(ids, entries, least, sums, others)
    return _looked_up(ids, entries, least, sums)


def _listed(
    ids: NDArray[np.int32], entries: Entries, least: int, sums: NDArray[np.int64], others: NDArray[np.int64]
) -> GroupPeople:
    """Go through the keys in order, so that neighbouring reads lie near each other."""
    starts = np.zeros(len(sums) + 1, np.int64)
    np.cumsum(np.minimum(others, least), out=starts[1:])
    room = np.empty(int(starts[-1]), np.int32)
    found = np.zeros(len(sums), np.int64)
    _look_through(ids, entries, least, sums, starts, room, found)
    full = sums + found >= least
    sums[full] = np.maximum(sums[full], least)
    found[full] = 0
    ends, listed = closed_up(starts, found, room)
    return GroupPeople(sums, Entries(ends, listed, entries.many))


def _looked_up(ids: NDArray[np.int32], entries: Entries, least: int, sums: NDArray[np.int64]) -> GroupPeople:
    """Go through the groups on all cores, with a table for the people who were met."""
    # Only these may lack somebody, and only keys with entries can have them.
    ends = np.zeros(len(sums) + 1, np.int64)
    _count(ids, entries.indptr, sums, least, ends)
    indptr = np.cumsum(ends)
    members = np.empty(int(indptr[-1]), np.int64)
    _fill(ids, entries.indptr, sums, least, indptr, members)
    first = np.zeros(len(entries.items), np.bool_)
    found = np.zeros(len(sums), np.int64)
    over_ranges(_meet, indptr, indptr, members, entries, least, sums, (first, found))
    ends, listed = list_entries(indptr, members, entries.indptr, first, found)
    return GroupPeople(sums, Entries(ends, entries.items[listed], entries.many))
