"""MDAV microaggregation: groups of k around the records farthest from the centroid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.jit import compiled, so_few


def mdav_groups(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Assign every record to a group of k to 2k - 1 records.

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
    records = np.arange(count)
    squared = np.empty(count)
    centre = np.empty(columns)
    number = 0
    while records.size >= 2 * k:
        for j in range(columns):
            total = 0.0
            for row in records:
                total += points[row, j]
            centre[j] = total / records.size
        _measure(points, records, centre, squared)
        first = records[np.argmax(squared[: records.size])]
        centre[:] = points[first]
        # With 2k to 3k - 1 records left, one group is formed and the rest is another.
        two = records.size >= 3 * k
        _measure(points, records, centre, squared)
        farthest = points[records[np.argmax(squared[: records.size])]].copy()
        records = _take(records, squared, k, number, group)
        number += 1
        if two:
            centre[:] = farthest
            _measure(points, records, centre, squared)
            # The farthest record may be in the first group, so distances are to its position.
            records = _take(records, squared, k, number, group)
            number += 1
    for row in records:
        group[row] = number


@compiled
def _measure(points, records, centre, squared):
    for place in range(records.size):
        total = 0.0
        for j in range(centre.size):
            gap = points[records[place], j] - centre[j]
            total += gap * gap
        squared[place] = total


@compiled
def _take(records, squared, k, number, group):
    order = np.argsort(squared[: records.size], kind="mergesort")
    for place in order[:k]:
        group[records[place]] = number
    rest = np.empty(records.size - k, np.int64)
    count = 0
    for row in records:
        if group[row] < 0:
            rest[count] = row
            count += 1
    return rest
