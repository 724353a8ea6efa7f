"""Clusters with a centre that moves as records join."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.clusters.costs import Costs, cell_cost
from incrowd.core.kernels.jit import compiled


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
    def of(
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
def _distance(row, cluster, ranks, costs, centres):
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
            distance = _distance(row, cluster, ranks, costs, centres)
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
        distances[row] = _distance(row, class_of_row[row], ranks, costs, centres)
    return distances
