"""Distinct people of groups of keys, counted up to a least size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.hashing import is_new, mask_of, table_of
from incrowd.core.kernels.jit import compiled, over_ranges
from incrowd.core.kernels.people.people import Entries, closed_up, list_entries

_FEW = 32
"""Largest least size for a linear search among a group's people instead of hashing."""


class GroupPeople(NamedTuple):
    """The people of each key.

    Attributes
    ----------
    alike
        int64[keys]: number of people without an entry.
    entries
        Entries of the other people, possibly several per person.
    """

    alike: NDArray[np.int64]
    entries: Entries


@compiled
def _add(ids, alike, offsets, sums, others):
    for key in range(ids.size):
        sums[ids[key]] += alike[key]
        others[ids[key]] += offsets[key + 1] - offsets[key]


@compiled
def _look_through(ids, entries, least, sums, starts, output, counts):
    offsets, items, _ = entries
    for key in range(ids.size):
        group = ids[key]
        start = starts[group]
        stop = start + counts[group]
        enough = start + least - sums[group]
        if stop >= enough:
            continue
        for entry in range(offsets[key], offsets[key + 1]):
            place = start
            while place < stop and output[place] != items[entry]:
                place += 1
            if place == stop:
                output[stop] = items[entry]
                stop += 1
                if stop == enough:
                    break
        counts[group] = stop - start


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
    first, counts = marks
    # The search in a group ends with enough people, so no table holds more.
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
            # The entries of a large enough group are not needed.
            for place in range(indptr[group], position):
                key = members[place]
                first[offsets[key] : offsets[key + 1]] = False
            sums[group] = least
            distinct = 0
        counts[group] = distinct


def join_people(ids: NDArray[np.int32], groups: int, people: GroupPeople, least: int) -> GroupPeople:
    """Return the distinct people of groups of keys, as far as relevant for a least size.

    Parameters
    ----------
    ids
        int32[keys]: the group of each key.
    groups
        Number of groups.
    people
        The people of the keys. A key with enough people without an entry may omit entries.
    least
        Least number of people.

    Returns
    -------
    A group with enough people has no entries and counts at least `least` people. Other groups have all.
    """
    alike, entries = people
    sums, others = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    _add(ids, alike, entries.indptr, sums, others)
    if least <= _FEW:
        return _join_in_key_order(ids, entries, least, sums, others)
    return _join_by_tables(ids, entries, least, sums)


def _join_in_key_order(
    ids: NDArray[np.int32], entries: Entries, least: int, sums: NDArray[np.int64], others: NDArray[np.int64]
) -> GroupPeople:
    """Join people in the order of keys, for local memory access."""
    starts = np.zeros(len(sums) + 1, np.int64)
    np.cumsum(np.minimum(others, least), out=starts[1:])
    room = np.empty(int(starts[-1]), np.int32)
    counts = np.zeros(len(sums), np.int64)
    _look_through(ids, entries, least, sums, starts, room, counts)
    full = sums + counts >= least
    sums[full] = np.maximum(sums[full], least)
    counts[full] = 0
    ends, items = closed_up(starts, counts, room)
    return GroupPeople(sums, Entries(ends, items, entries.many))


def _join_by_tables(
    ids: NDArray[np.int32], entries: Entries, least: int, sums: NDArray[np.int64]
) -> GroupPeople:
    """Join people group by group on all cores, with a hash table of people."""
    # Only small groups need a search, and only keys with entries contribute.
    ends = np.zeros(len(sums) + 1, np.int64)
    _count(ids, entries.indptr, sums, least, ends)
    indptr = np.cumsum(ends)
    members = np.empty(int(indptr[-1]), np.int64)
    _fill(ids, entries.indptr, sums, least, indptr, members)
    first = np.zeros(len(entries.items), np.bool_)
    counts = np.zeros(len(sums), np.int64)
    over_ranges(_meet, indptr, indptr, members, entries, least, sums, (first, counts))
    ends, places = list_entries(indptr, members, entries.indptr, first, counts)
    return GroupPeople(sums, Entries(ends, entries.items[places], entries.many))
