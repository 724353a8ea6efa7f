"""Greedy k-member clustering."""

from __future__ import annotations

from typing import ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.search.base import SearchProblem
from incrowd.search.local import LocalAlgorithm


class KMember(LocalAlgorithm):
    """Grows clusters of k records in turn, each time by the record that raises the cluster's loss least.

    The first cluster starts with the record farthest from a random one. Each further cluster starts with the
    record farthest from the last record of the cluster before. In the end fewer than k records are left. In
    random order, each joins the cluster whose loss grows least.

    The information loss of a cluster is its size times a weighted sum over the quasi-identifiers. A number
    adds its width over the width of the column. A category adds the height of the common ancestor over the
    height of the hierarchy.

    Ties go to the lowest index. The time grows with the square of the number of records.

    References
    ----------
    Byun, Kamra, Bertino and Li, Efficient k-anonymization using clustering techniques, DASFAA 2007,
    definitions 5 and 6 and the greedy k-member algorithm of section 3.4.
    """

    name: ClassVar[str] = "k-member"
    summary: ClassVar[str] = "grows clusters of k records, one after the other, at the least loss"
    paper: ClassVar[str] = "Byun et al. 2007"
    seeded: ClassVar[bool] = True
    # Its start and its first member are compared with half of them on average, later ones with few.
    by_cluster: ClassVar[bool] = True

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Cluster the records."""
        from incrowd.core.kernels.clusters.costs import Clusters, cell_costs, cheapest_class
        from incrowd.search._points import Points, UnusedByCost, costs_of

        costs = costs_of(problem.frequency, problem.attributes, heights=True)
        points = Points(problem.frequency)
        unused = UnusedByCost(points, costs)
        k = problem.least
        random = np.random.default_rng(problem.seed)
        most = max(points.records // k, 1)
        lows = np.empty((most, len(problem.attributes)), np.int64)
        highs = np.empty_like(lows)
        last = int(random.integers(points.records))
        count = 0
        while unused.left >= k:
            ranks = points.ranks(last)
            unused.aim(ranks, ranks)
            last = unused.farthest_from_aim()
            lo = points.ranks(last)
            hi = lo.copy()
            unused.take(np.array([last]), count)
            if k > 1:
                last = unused.grow(lo, hi, k - 1, count)
            lows[count], highs[count] = lo, hi
            count += 1
            if not count % 16:
                problem.progress.advance(points.records - unused.left, points.records)
        sizes = np.full(count, k)
        cluster_costs = cell_costs(costs, lows, highs)
        clusters = Clusters(lows, highs, sizes, cluster_costs)
        for row in random.permutation(unused.rest()).tolist():
            ranks = points.ranks(row)
            unused.aim(ranks, ranks)
            best = cheapest_class(costs, unused.near, ranks, ranks, 1, -1, clusters)
            unused.class_of_row[row] = best
            sizes[best] += 1
            lows[best] = np.minimum(lows[best], ranks)
            highs[best] = np.maximum(highs[best], ranks)
            cluster_costs[best] = cell_costs(costs, lows[best : best + 1], highs[best : best + 1])[0]
        return unused.class_of_row, count
