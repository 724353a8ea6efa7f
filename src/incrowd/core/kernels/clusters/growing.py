"""Greedy growth of one class by the cheapest records, from a list of candidates."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.clusters.costs import number_cost, reach
from incrowd.core.kernels.jit import compiled, inner


# A tuple of these arrays would slow down each of many short calls.
@compiled
def grow(costs, near, lo, hi, rows, spots, every, taken):
    """Add the cheapest records to a class in turn and return the number added.

    A growing class makes no record cheaper, so the initial costs of records are lower bounds, and records
    outside the list cost at least as much as the last. Growth ends early if such a record might be cheaper.

    Parameters
    ----------
    costs, near
        See `kernels.clusters.costs`; `near` has the result of `reach` for the cell, and is updated for
        hierarchies only, since a column of numbers may have as many spots as records.
    lo, hi
        int64[attributes]: the class's cell, updated.
    rows, spots
        int64[records] and int32[records, attributes]: the cheapest unused records, ascending by cost, ties by
        the lowest row.
    every
        Whether the list has all unused records.
    taken
        int64[wanted]: output, the positions of the added records in the list.
    """
    records = rows.size
    first = np.empty(records, np.int64)
    for i in range(records):
        first[i] = _distance(costs, near, lo, hi, spots[i])
    free = np.ones(records, np.bool_)
    begin = 0
    for place in range(taken.size):
        while begin < records and not free[begin]:
            begin += 1
        best, chosen = np.int64(-1), -1
        for i in range(begin, records):
            if chosen >= 0 and (first[i] > best or (first[i] == best and rows[i] > rows[chosen])):
                break
            if free[i]:
                distance = _distance(costs, near, lo, hi, spots[i])
                if chosen < 0 or distance < best or (distance == best and rows[i] < rows[chosen]):
                    best, chosen = distance, i
        if chosen < 0:
            return place
        last = records - 1
        if not every and (best > first[last] or (best == first[last] and rows[chosen] > rows[last])):
            return place
        free[chosen] = False
        taken[place] = chosen
        _widen(costs, near, lo, hi, spots[chosen])
    return taken.size


@inner
def _distance(costs, near, lo, hi, spots):
    """Cost of the cell extended by a record."""
    distance = np.int64(0)
    for j in range(lo.size):
        if costs.is_tree[j]:
            distance += near[spots[j]]
        else:
            rank = spots[j] - costs.first[j]
            distance += number_cost(costs, j, min(lo[j], rank), max(hi[j], rank))
    return distance


@inner
def _widen(costs, near, lo, hi, spots):
    """Extend the cell by a record."""
    widened_trees = np.empty(lo.size, np.int64)
    count = 0
    for j in range(lo.size):
        rank = spots[j] - costs.first[j]
        if rank < lo[j] or rank > hi[j]:
            lo[j], hi[j] = min(lo[j], rank), max(hi[j], rank)
            widened_trees[count] = j
            count += costs.is_tree[j]
    reach(costs, lo, hi, widened_trees[:count], near)
