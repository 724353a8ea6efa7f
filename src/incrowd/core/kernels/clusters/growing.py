"""Growing one class by the records that cost least, without asking all records each time."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.clusters.costs import number_cost, reach
from incrowd.core.kernels.jit import compiled, inner


# A bundle of these arrays would add to each of many short calls.
@compiled
def grow(costs, near, lo, hi, rows, spots, every, taken):
    """Let a class take the cheapest of some records, one after the other; return how many it took.

    A class that grows makes no record cheaper. So the first costs of records are bounds, and the records that
    are not among these cost no less than the last of them. It ends early where one of those might be cheaper.

    Parameters
    ----------
    costs, near
        See `kernels.clusters.costs`; `near` has the result of `reach` for the cell. It is kept up to date for
        hierarchies; a column of numbers may have as many spots as records.
    lo, hi
        int64[attributes]: the class's cell, written.
    rows, spots
        int64[records] and int32[records, attributes]: the unused records that cost least, the cheapest first;
        of equals the lowest row.
    every
        Whether no other record is unused.
    taken
        int64[...]: written, the places of the records that were taken; as many are wanted.
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
    """Return the cost of a cell with a record."""
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
    """Let a cell take in a record."""
    changed = np.empty(lo.size, np.int64)
    count = 0
    for j in range(lo.size):
        rank = spots[j] - costs.first[j]
        if rank < lo[j] or rank > hi[j]:
            lo[j], hi[j] = min(lo[j], rank), max(hi[j], rank)
            changed[count] = j
            count += costs.is_tree[j]
    reach(costs, lo, hi, changed[:count], near)
