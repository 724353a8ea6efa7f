"""Lower bounds on the cost of a record in a class of k records, and on the records a class must lose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.clusters.keyed_classes import interval
from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.kernels.jit import compiled, over_ranges

_OFTEN = 1.15 ** np.arange(-16, 24)
"""Ratios of class share to table share above which a value belongs to the tested set of values."""


@compiled
def least_costs(start, stop, targets, points, cells, k, result):
    """Write the least cost of a cell with k records for keys ``targets[start:stop]`` into `result`.

    Of all keys the nearest are collected until the records suffice. Farther keys drop out.
    """
    keys, columns = points.ranks.shape
    costs = np.empty(k + 1, np.int64)
    weights = np.empty(k + 1, np.int64)
    for place in range(start, stop):
        key = targets[place]
        lacking = k - points.weights[key]
        if lacking <= 0:
            result[place] = 0
            continue
        count, records = 0, np.int64(0)
        for other in range(keys):
            if other == key:
                continue
            limit = costs[count - 1] if records >= lacking else np.int64(2**62)
            cost = np.int64(0)
            for j in range(columns):
                a, b = points.ranks[key, j], points.ranks[other, j]
                cost += interval(cells, j, min(a, b), max(a, b))
                if cost >= limit:
                    break
            if cost >= limit:
                continue
            at = count
            while at > 0 and costs[at - 1] > cost:
                costs[at], weights[at] = costs[at - 1], weights[at - 1]
                at -= 1
            costs[at], weights[at] = cost, points.weights[other]
            count += 1
            records += points.weights[other]
            while records - weights[count - 1] >= lacking:
                count -= 1
                records -= weights[count]
        result[place] = costs[count - 1]


@compiled
def _lost(start, stop, pairs, records, priors, ratios, limit, lost):
    steps = ratios.size
    pairs_at, records_at = np.empty(steps, np.int64), np.empty(steps, np.int64)
    mass = np.empty(steps)
    for group in range(start, stop):
        pairs_at[:], records_at[:], mass[:] = 0, 0, 0.0
        all_pairs = other_records = np.int64(0)
        for entry in range(pairs.indptr[group], pairs.indptr[group + 1]):
            all_pairs += pairs.counts[entry]
            other_records += records.counts[entry]
        for entry in range(pairs.indptr[group], pairs.indptr[group + 1]):
            prior = priors[pairs.codes[entry]]
            share = pairs.counts[entry] / all_pairs
            step = 0
            while step < steps and share > ratios[step] * prior:
                step += 1
            if step:
                pairs_at[step - 1] += pairs.counts[entry]
                records_at[step - 1] += records.counts[entry]
                mass[step - 1] += prior
        pairs_above = records_above = most = np.int64(0)
        reach = limit
        for step in range(steps - 1, -1, -1):
            pairs_above += pairs_at[step]
            records_above += records_at[step]
            other_records -= records_at[step]
            reach += mass[step]
            if pairs_at[step] == 0 or reach >= 1:
                continue
            room = reach / (1 - reach) * other_records
            # Rounding errors must not raise the bound.
            least = np.int64(np.ceil((pairs_above - room) * (1 - 1e-9) - 1e-6))
            # If nobody may be left, all records of the set go.
            most = np.maximum(most, records_above if room * (1 + 1e-9) + 1e-6 < 1 else least)
        lost[group] = most


def lost_of_pairs(
    pairs: Counts, records: Counts, priors: NDArray[np.float64], limit: float
) -> NDArray[np.int64]:
    """Lower bound on the records each class must lose until no part has values too often.

    Let S be a set of values, P(S) the share of S in the table, and ``r = P(S) + limit``. In a part within the
    limit, S has at most the share r of the pairs, so at most r / (1 - r) times the pairs of the other values,
    which have at most one pair per record. All parts together keep at most r / (1 - r) times the other
    records of the class. Every further pair of S loses a record. The sets tested contain the values with more
    than c times the table's share, for several c.

    Parameters
    ----------
    pairs, records
        People and records of each value in each class, the same values in both.
    priors
        float64[values]: the share of each value in the table.
    limit
        Largest sum of positive differences between the values' shares of class and table.

    Returns
    -------
    int64[classes]
    """
    lost = np.zeros(len(pairs.indptr) - 1, np.int64)
    over_ranges(_lost, pairs.indptr, pairs, records, priors, _OFTEN, limit, lost)
    return lost
