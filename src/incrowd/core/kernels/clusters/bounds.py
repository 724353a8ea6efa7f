"""Bounds: the least loss of a record in a class of k records, and of a class far away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.clusters.keyed_classes import interval
from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.kernels.jit import compiled, over_ranges

_OFTEN = 1.15 ** np.arange(-16, 24)
"""How many times as often as in the table a value may occur in a class to be one of those looked at."""


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


@compiled
def _lost(start, stop, pairs, records, priors, often, limit, lost):
    steps = often.size
    gathered, held = np.empty(steps, np.int64), np.empty(steps, np.int64)
    mass = np.empty(steps)
    for group in range(start, stop):
        gathered[:], held[:], mass[:] = 0, 0, 0.0
        every = others = np.int64(0)
        for entry in range(pairs.indptr[group], pairs.indptr[group + 1]):
            every += pairs.counts[entry]
            others += records.counts[entry]
        for entry in range(pairs.indptr[group], pairs.indptr[group + 1]):
            prior = priors[pairs.codes[entry]]
            share = pairs.counts[entry] / every
            step = 0
            while step < steps and share > often[step] * prior:
                step += 1
            if step:
                gathered[step - 1] += pairs.counts[entry]
                held[step - 1] += records.counts[entry]
                mass[step - 1] += prior
        many = gone = most = np.int64(0)
        reach = limit
        for step in range(steps - 1, -1, -1):
            many += gathered[step]
            gone += held[step]
            others -= held[step]
            reach += mass[step]
            if gathered[step] == 0 or reach >= 1:
                continue
            room = reach / (1 - reach) * others
            # Rounded down, so that an error of rounding never makes it more.
            least = np.int64(np.ceil((many - room) * (1 - 1e-9) - 1e-6))
            # Where nobody may be left, all their records go.
            most = np.maximum(most, gone if room * (1 + 1e-9) + 1e-6 < 1 else least)
        lost[group] = most


def lost_of_pairs(
    pairs: Counts, records: Counts, priors: NDArray[np.float64], limit: float
) -> NDArray[np.int64]:
    """Bound how many records each class must lose so that no part of it has any values too often.

    Let S be some values, P(S) their share of the table, and ``r = P(S) + limit``. In a part that is near
    enough, S has at most the share r of its pairs. So S has at most r / (1 - r) times as many pairs there as
    the other values, and these have at most as many as records. Parts together keep at most r / (1 - r) times
    the other records of the class, and whoever is kept of S no part leaves out. All other pairs of S lose a
    record each. Tried are the values that occur more than c times as often as in the table, for several c.

    Parameters
    ----------
    pairs, records
        People and records of each value in each class, the same values in both.
    priors
        float64[values]: the share of each value in the table.
    limit
        Largest sum, over the values that a class has too often, of how much more often it has them.

    Returns
    -------
    int64[classes]
    """
    lost = np.zeros(len(pairs.indptr) - 1, np.int64)
    over_ranges(_lost, pairs.indptr, pairs, records, priors, _OFTEN, limit, lost)
    return lost
