"""Groups of at least k records: of a column with least squared error, by MDAV, and of distinct values."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.jit import compiled, so_few

_HELD = 1 << 20


@compiled
def _last_groups(values, least):
    """Size of the last group in the best grouping of the first i values, or 0 for no grouping."""
    n = values.size
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    last = np.zeros(n + 1, np.int64)
    for i in range(least, n + 1):
        # Welford's update: differences of running sums would cancel for close values.
        mean = 0.0
        squares = 0.0
        for size in range(1, min(2 * least - 1, i) + 1):
            gap = values[i - size] - mean
            mean += gap / size
            squares += gap * (values[i - size] - mean)
            if size >= least and best[i - size] + squares < best[i]:
                best[i] = best[i - size] + squares
                last[i] = size
    return last


def least_squares_groups(values: NDArray[np.float64], least: int) -> NDArray[np.int64]:
    """Group sorted values with the least sum of squared distances to group means.

    Parameters
    ----------
    values
        float64[n], ascending, n >= least.
    least
        Least size of a group, >= 1. No group of an optimum needs 2 * least or more.

    Returns
    -------
    int64[groups]: where each group starts.
    """
    # NumPy holds an error for each size of each last group.
    small = so_few(len(values)) and len(values) * least <= _HELD
    last = numpy_fallback.last_groups(values, least) if small else _last_groups(values, least)
    starts = []
    at = len(values)
    while at > 0:
        at -= int(last[at])
        starts.append(at)
    return np.array(starts[::-1], np.int64)


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


@compiled
def groups_of_distinct(
    values: NDArray[np.int64], order: NDArray[np.int64], size: int, each: int
) -> tuple[NDArray[np.int32], int]:
    """Form groups by repeatedly taking one record from each of the `each` fullest buckets.

    Parameters
    ----------
    values
        int64[records]: the bucket of each record.
    order
        int64[records]: the order in which records leave the buckets.
    size
        Number of buckets.
    each
        Records of a group.

    Returns
    -------
    int32[records]: group of each record, -1 if fewer than `each` buckets were left; and the number of groups.
    Of equally full buckets the lowest comes first.
    """
    starts = np.zeros(size + 1, np.int64)
    for value in values:
        starts[value + 1] += 1
    for b in range(size):
        starts[b + 1] += starts[b]
    cursor = starts[:-1].copy()
    bucket = np.empty(values.size, np.int64)
    for record in order:
        bucket[cursor[values[record]]] = record
        cursor[values[record]] += 1
    # Fuller buckets have more negative entries and are popped first, ties by the lower bucket.
    heap = [np.int64(0)]
    heap.pop()
    for b in range(size):
        if starts[b + 1] > starts[b]:
            heapq.heappush(heap, (starts[b] - starts[b + 1]) * size + b)
    next_record = starts[:-1].copy()
    group_of = np.full(values.size, -1, np.int32)
    groups = 0
    chosen = np.empty(each, np.int64)
    while len(heap) >= each:
        for i in range(each):
            chosen[i] = heapq.heappop(heap)
        for entry in chosen:
            at = entry % size
            group_of[bucket[next_record[at]]] = groups
            next_record[at] += 1
            if next_record[at] < starts[at + 1]:
                heapq.heappush(heap, entry + size)
        groups += 1
    return group_of, groups
