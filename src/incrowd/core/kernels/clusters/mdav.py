"""MDAV over columns of numbers: groups of k around the records that are farthest from the average."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.jit import compiled, so_few


def mdav_groups(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Put every record into a group of k to 2k - 1 records.

    Parameters
    ----------
    points
        float64[records, columns], at least one record: distances are Euclidean. Ties go to the lowest index.
    k
        Smallest size of a group; fewer than k records are one group.

    Returns
    -------
    int64[records]: numbers from 0 without gaps.
    """
    group = np.full(len(points), -1, np.int64)
    gather = numpy_fallback.gather if so_few(len(points)) else _gather
    gather(np.ascontiguousarray(points), k, group)
    return group


@compiled
def _gather(points, k, group):
    count, columns = points.shape
    left = np.arange(count)
    squared = np.empty(count)
    centre = np.empty(columns)
    number = 0
    while left.size >= 2 * k:
        for j in range(columns):
            total = 0.0
            for row in left:
                total += points[row, j]
            centre[j] = total / left.size
        _measure(points, left, centre, squared)
        first = left[np.argmax(squared[: left.size])]
        centre[:] = points[first]
        # Where 2k to 3k - 1 records are left, one group is made, and the rest is another.
        two = left.size >= 3 * k
        _measure(points, left, centre, squared)
        farthest = points[left[np.argmax(squared[: left.size])]].copy()
        left = _take(left, squared, k, number, group)
        number += 1
        if two:
            centre[:] = farthest
            _measure(points, left, centre, squared)
            # The outermost record may have gone with the first group: the nearest to its place is taken.
            left = _take(left, squared, k, number, group)
            number += 1
    for row in left:
        group[row] = number


@compiled
def _measure(points, left, centre, squared):
    for place in range(left.size):
        total = 0.0
        for j in range(centre.size):
            gap = points[left[place], j] - centre[j]
            total += gap * gap
        squared[place] = total


@compiled
def _take(left, squared, k, number, group):
    order = np.argsort(squared[: left.size], kind="mergesort")
    for place in order[:k]:
        group[left[place]] = number
    kept = np.empty(left.size - k, np.int64)
    found = 0
    for row in left:
        if group[row] < 0:
            kept[found] = row
            found += 1
    return kept
