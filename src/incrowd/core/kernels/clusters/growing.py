"""Growth of classes: by the cheapest records, and around centres that move as records join."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.clusters.costs import Costs, cell_cost, number_cost, reach
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


class Centres(NamedTuple):
    """The centre of each cluster c by attribute j.

    ``lows[c, j] .. highs[c, j]`` is the interval of ranks, with highs -1 for an empty cluster. ``sums[c, j]``
    is the sum of the places of ``known[c, j]`` numbers, and ``sizes[c]`` the number of records.
    """

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    sums: NDArray[np.float64]
    known: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of_clusters(
        cls, clusters: int, ranks: NDArray[np.int64], costs: Costs, class_of_row: NDArray[np.int32]
    ) -> Centres:
        """Compute the centres of `class_of_row`, int32[records], -1 for a record without a cluster."""
        shape = (clusters, ranks.shape[1])
        centres = cls(
            np.zeros(shape, np.int64),
            np.full(shape, -1, np.int64),
            np.zeros(shape, np.float64),
            np.zeros(shape, np.int64),
            np.zeros(clusters, np.int64),
        )
        _join_all(ranks, costs, centres, class_of_row)
        return centres


@compiled
def _join(row, cluster, ranks, costs, centres):
    for j in range(ranks.shape[1]):
        rank = ranks[row, j]
        if centres.sizes[cluster] == 0:
            centres.lows[cluster, j] = rank
            centres.highs[cluster, j] = rank
        else:
            centres.lows[cluster, j] = min(centres.lows[cluster, j], rank)
            centres.highs[cluster, j] = max(centres.highs[cluster, j], rank)
        if not costs.is_tree[j] and rank != costs.missing[j]:
            centres.sums[cluster, j] += costs.place[costs.first[j] + rank]
            centres.known[cluster, j] += 1
    centres.sizes[cluster] += 1


@compiled
def _join_all(
    ranks: NDArray[np.int64], costs: Costs, centres: Centres, class_of_row: NDArray[np.int32]
) -> None:
    for row in range(class_of_row.size):
        if class_of_row[row] >= 0:
            _join(row, class_of_row[row], ranks, costs, centres)


@compiled
def _distance_to_centre(row, cluster, ranks, costs, centres):
    total = 0.0
    for j in range(ranks.shape[1]):
        rank = ranks[row, j]
        if costs.is_tree[j]:
            lo = min(rank, centres.lows[cluster, j])
            total += cell_cost(costs, j, lo, max(rank, centres.highs[cluster, j]))
        elif rank == costs.missing[j]:
            # A missing value has the largest distance from numbers.
            total += costs.whole[j] if centres.known[cluster, j] else 0
        elif centres.known[cluster, j] == 0:
            total += costs.whole[j]
        else:
            mean = centres.sums[cluster, j] / centres.known[cluster, j]
            total += abs(costs.place[costs.first[j] + rank] - mean)
    return total


@compiled
def join_nearest(
    rows: NDArray[np.int64],
    clusters: NDArray[np.int64],
    ranks: NDArray[np.int64],
    costs: Costs,
    centres: Centres,
    class_of_row: NDArray[np.int32],
) -> None:
    """Add each record in turn to the nearest of `clusters`, ties to the first."""
    for row in rows:
        lowest = np.inf
        chosen = clusters[0]
        for cluster in clusters:
            distance = _distance_to_centre(row, cluster, ranks, costs, centres)
            if distance < lowest:
                lowest = distance
                chosen = cluster
        _join(row, chosen, ranks, costs, centres)
        class_of_row[row] = chosen


@compiled
def distances_within(
    ranks: NDArray[np.int64], costs: Costs, centres: Centres, class_of_row: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return each record's distance to the cluster's centre."""
    distances = np.empty(class_of_row.size)
    for row in range(class_of_row.size):
        distances[row] = _distance_to_centre(row, class_of_row[row], ranks, costs, centres)
    return distances
