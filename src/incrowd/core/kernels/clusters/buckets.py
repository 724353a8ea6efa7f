"""Groups of records with distinct values, from the fullest buckets."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.jit import compiled


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
