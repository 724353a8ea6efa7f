"""Counts of values per class, as compressed sparse rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.grouping.sorting import sort_run
from incrowd.core.kernels.jit import compiled, inlined, over_ranges, so_few


class Counts(NamedTuple):
    """Counts of the values in each class, in compressed sparse rows.

    Class c holds the values ``codes[indptr[c]:indptr[c + 1]]`` (ascending), each as often as the
    entry of ``counts`` at the same place says.
    """

    indptr: NDArray[np.int64]
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]


@inlined
def take_out(tally, codes, counts, base, touched):
    """Sort the tallied codes from `base` on, write the counts, and reset the tally to zero."""
    sort_run(codes, base, base + touched)
    for i in range(base, base + touched):
        counts[i] = tally[codes[i]]
        tally[codes[i]] = 0


@compiled
def _count(start, stop, indptr, members, keys, values, sparse, lengths):
    offsets, codes, counts = sparse
    tally = np.zeros(values, np.int64)
    for group in range(start, stop):
        base = offsets[group]
        touched = 0
        for position in range(indptr[group], indptr[group + 1]):
            key = members[position]
            for entry in range(keys.indptr[key], keys.indptr[key + 1]):
                code = keys.codes[entry]
                if tally[code] == 0:
                    codes[base + touched] = code
                    touched += 1
                tally[code] += keys.counts[entry]
        take_out(tally, codes, counts, base, touched)
        lengths[group] = touched


@compiled
def _count_rows(start, stop, indptr, members, ranks, values, sparse, lengths):
    codes, counts = sparse.codes, sparse.counts
    tally = np.zeros(values, np.int64)
    for group in range(start, stop):
        base = indptr[group]
        touched = 0
        for position in range(base, indptr[group + 1]):
            code = ranks[members[position]]
            if tally[code] == 0:
                codes[base + touched] = code
                touched += 1
            tally[code] += 1
        take_out(tally, codes, counts, base, touched)
        lengths[group] = touched


@compiled
def _compact(start, stop, sparse, lengths, compact):
    for group in range(start, stop):
        base = sparse.indptr[group]
        target = compact.indptr[group]
        for i in range(lengths[group]):
            compact.codes[target + i] = sparse.codes[base + i]
            compact.counts[target + i] = sparse.counts[base + i]


@compiled
def _sum(start, stop, indptr, members, amounts, sums):
    for group in range(start, stop):
        total = amounts[0] * 0
        for position in range(indptr[group], indptr[group + 1]):
            total += amounts[members[position]]
        sums[group] = total


def class_counts(indptr: NDArray[np.int64], members: NDArray[np.int64], keys: Counts, values: int) -> Counts:
    """Sum the counts of each class's members.

    Parameters
    ----------
    indptr, members
        int64[classes + 1] and int64[...]: the members of each class, as positions in `keys`.
    keys
        The counts of each member.
    values
        Number of possible codes.
    """
    work = entries_before(indptr, members, keys.indptr)
    if so_few(int(work[-1])):
        entries_of = picked(keys, members)
        return Counts(*numpy_fallback.class_counts(work, entries_of.codes, entries_of.counts, values))
    sparse = room_for(work, values)
    lengths = np.zeros(len(indptr) - 1, np.int64)
    over_ranges(_count, work, indptr, members, keys, values, sparse, lengths)
    return compacted(sparse, lengths)


def value_counts(
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    codes: NDArray[np.integer],
    weights: NDArray[np.int64],
    values: int,
) -> Counts:
    """Sum records by class and value: `class_counts` for members with a single value each."""
    ends = np.arange(len(codes) + 1, dtype=np.int64)
    return class_counts(indptr, members, Counts(ends, codes.astype(np.int32), weights), values)


def row_counts(
    indptr: NDArray[np.int64], members: NDArray[np.int64], ranks: NDArray[np.integer], values: int
) -> Counts:
    """Count rows by class and value: `class_counts` for rows with a single value each.

    Parameters
    ----------
    indptr, members
        int64[classes + 1] and int64[...]: the rows of each class.
    ranks
        int[rows]: the code of each row's value.
    values
        Number of possible codes.
    """
    ranks = ranks.astype(np.int32, copy=False)
    if so_few(len(members)):
        ones = np.ones(len(members), np.int64)
        return Counts(*numpy_fallback.class_counts(indptr, ranks[members], ones, values))
    sparse = _empty(indptr)
    lengths = np.zeros(len(indptr) - 1, np.int64)
    over_ranges(_count_rows, indptr, indptr, members, ranks, values, sparse, lengths)
    return compacted(sparse, lengths)


def room_for(work: NDArray[np.int64], values: int) -> Counts:
    """Allocate counts for classes, with an upper bound on the codes of each.

    Parameters
    ----------
    work
        int64[classes + 1]: entries before each class.
    """
    indptr = np.zeros(len(work), np.int64)
    np.cumsum(np.minimum(np.diff(work), values), out=indptr[1:])
    return _empty(indptr)


def compacted(sparse: Counts, lengths: NDArray[np.int64]) -> Counts:
    """Remove unused space from counts, given the number of codes of each class."""
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    if ends[-1] == sparse.indptr[-1]:
        return sparse._replace(indptr=ends)
    compact = _empty(ends)
    over_ranges(_compact, sparse.indptr, sparse, lengths, compact)
    return compact


def picked(counts: Counts, keys: NDArray[np.int64]) -> Counts:
    """Select the counts of `keys`."""
    lengths = (counts.indptr[1:] - counts.indptr[:-1])[keys]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    places = np.arange(indptr[-1]) + np.repeat(counts.indptr[keys] - indptr[:-1], lengths)
    return Counts(indptr, counts.codes[places], counts.counts[places])


def _empty(indptr: NDArray[np.int64]) -> Counts:
    return Counts(indptr, np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int64))


def class_sums(
    indptr: NDArray[np.int64], members: NDArray[np.int64], amounts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sum the amounts of each class's members: int64[classes], or float64[classes]."""
    if so_few(len(members)) and not np.issubdtype(amounts.dtype, np.floating):
        return numpy_fallback.class_sums(indptr, members, amounts)
    sums = np.zeros(len(indptr) - 1, np.result_type(amounts.dtype, np.int64))
    if len(amounts):
        over_ranges(_sum, indptr, indptr, members, amounts, sums)
    return sums


def entries_before(
    indptr: NDArray[np.int64], members: NDArray[np.int64], entries: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Accumulate the entries of each class's members: int64[classes + 1].

    Parameters
    ----------
    entries
        int64[keys + 1]: member c has the entries ``entries[c] .. entries[c + 1] - 1``.
    """
    before = np.zeros(len(indptr), np.int64)
    np.cumsum(class_sums(indptr, members, np.diff(entries)), out=before[1:])
    return before


def tally(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return distinct non-negative numbers, ascending, and the frequency of each."""
    if int(numbers.max(initial=0)) > 4 * len(numbers):
        distinct, times = np.unique(numbers, return_counts=True)
        return distinct, times
    times = np.bincount(numbers)
    distinct = np.flatnonzero(times)
    return distinct, times[distinct]


def counts_per_key(
    key: NDArray[np.integer], codes: NDArray[np.integer], rows: NDArray[np.integer], keys: int, size: int
) -> Counts:
    """Build counts per key from triples of key, code and rows, without triples of a negative key."""
    live = key >= 0
    if not live.all():
        key, codes, rows = key[live], codes[live], rows[live]
    # There may be many more pairs than keys, so copies are few, and sorted pairs are not sorted again.
    place = key.astype(np.int64)
    place *= size
    place += codes
    if (place[1:] < place[:-1]).any():
        # Equal places are summed below, so the sort need not be stable.
        order = np.argsort(place)
        place, rows = place[order], rows[order]
    new = np.ones(len(place), np.bool_)
    np.not_equal(place[1:], place[:-1], out=new[1:])
    if not new.all():
        # Values written in several ways are one value.
        start = np.flatnonzero(new)
        place, rows = place[start], np.add.reduceat(rows, start)
    owner = place // size
    place -= owner * size
    indptr = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=keys)))).astype(np.int64)
    return Counts(indptr, place.astype(np.int32), rows.astype(np.int64, copy=False))
