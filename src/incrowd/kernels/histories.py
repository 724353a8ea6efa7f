"""Which classes people have rows in, and how many people share several of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.jit import compiled, over_ranges

__all__ = ["subsets", "supersets"]


@compiled
def _subsets(start, stop, indptr, classes, size, ends, sets):
    at = np.empty(size, np.int64)
    for person in range(start, stop):
        first, count = indptr[person], indptr[person + 1] - indptr[person]
        place = ends[person]
        if ends[person + 1] == place:
            continue
        for i in range(size):
            at[i] = i
        while True:
            for i in range(size):
                sets[place, i] = classes[first + at[i]]
            place += 1
            i = size - 1
            while i >= 0 and at[i] == count - size + i:
                i -= 1
            if i < 0:
                break
            at[i] += 1
            for j in range(i + 1, size):
                at[j] = at[j - 1] + 1


@compiled
def _supersets(start, stop, indptr, classes, times, postings, listed, found):
    for one in range(start, stop):
        first, last = indptr[one], indptr[one + 1]
        rarest = classes[first]
        for i in range(first, last):
            if postings[classes[i] + 1] - postings[classes[i]] < postings[rarest + 1] - postings[rarest]:
                rarest = classes[i]
        total = 0
        for place in range(postings[rarest], postings[rarest + 1]):
            other = listed[place]
            at, end = indptr[other], indptr[other + 1]
            if end - at < last - first:
                continue
            inside = True
            for i in range(first, last):
                while at < end and classes[at] < classes[i]:
                    at += 1
                if at == end or classes[at] != classes[i]:
                    inside = False
                    break
            if inside:
                total += times[other]
        found[one] = total


def subsets(
    indptr: NDArray[np.int64], classes: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List every set of so many of each person's classes.

    Parameters
    ----------
    indptr, classes
        int64[people + 1] and int64[...]: the classes of each person, ascending.

    Returns
    -------
    sets
        int64[sets, size], each ascending.
    counts
        int64[people]: how many of them are each person's; they stand in the order of the people.
    """
    counts = _choose(np.diff(indptr), size)
    ends = np.concatenate(([0], np.cumsum(counts)))
    sets = np.empty((int(ends[-1]), size), np.int64)
    over_ranges(_subsets, ends, indptr, classes, size, ends, sets)
    return sets, counts


def _choose(many: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return how many sets of a size there are of so many things."""
    found = np.ones(len(many), np.int64)
    for i in range(size):
        found = found * np.maximum(many - i, 0) // (i + 1)
    return found


def supersets(
    indptr: NDArray[np.int64], classes: NDArray[np.int64], times: NDArray[np.int64], many: int
) -> NDArray[np.int64]:
    """Count for each of some distinct sets of classes how often it or a larger one of them occurs.

    Parameters
    ----------
    indptr, classes
        int64[sets + 1] and int64[...]: the classes of each set, ascending, at least one.
    times
        int64[sets]: how often each occurs.
    many
        Number of classes.
    """
    owner = np.repeat(np.arange(len(times)), np.diff(indptr))
    listed = owner[np.argsort(classes, kind="stable")]
    postings = np.concatenate(([0], np.cumsum(np.bincount(classes, minlength=many)))).astype(np.int64)
    found = np.zeros(len(times), np.int64)
    over_ranges(_supersets, indptr, indptr, classes, times, postings, listed, found)
    return found
