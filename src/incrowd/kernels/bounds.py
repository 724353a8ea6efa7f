"""What a record loses at least in a class of k records: what it has to lose with its nearest ones."""

from __future__ import annotations

import numpy as np

from incrowd.kernels.jit import compiled
from incrowd.kernels.keyed_classes import interval

__all__ = ["least_costs"]


@compiled
def least_costs(start, stop, asked, points, cells, k, found):
    """Find, for keys ``asked[start:stop]``, the least cost of a cell with k records: int64 into `found`.

    Of all keys the nearest are kept, the farthest first out, as long as the others have k records with it.
    """
    keys, columns = points.ranks.shape
    costs = np.empty(k + 1, np.int64)
    weights = np.empty(k + 1, np.int64)
    for place in range(start, stop):
        key = asked[place]
        lacking = k - points.weights[key]
        if lacking <= 0:
            found[place] = 0
            continue
        held, records = 0, np.int64(0)
        for other in range(keys):
            if other == key:
                continue
            limit = costs[held - 1] if records >= lacking else np.int64(2**62)
            cost = np.int64(0)
            for j in range(columns):
                a, b = points.ranks[key, j], points.ranks[other, j]
                cost += interval(cells, j, min(a, b), max(a, b))
                if cost >= limit:
                    break
            if cost >= limit:
                continue
            at = held
            while at > 0 and costs[at - 1] > cost:
                costs[at], weights[at] = costs[at - 1], weights[at - 1]
                at -= 1
            costs[at], weights[at] = cost, points.weights[other]
            held += 1
            records += points.weights[other]
            while records - weights[held - 1] >= lacking:
                held -= 1
                records -= weights[held]
        found[place] = costs[held - 1]
