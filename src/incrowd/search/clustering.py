"""Clustering around records that are far from all clusters before."""

from __future__ import annotations

from typing import ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.search.base import SearchProblem
from incrowd.search.local import LocalAlgorithm


class Clustering(LocalAlgorithm):
    """Gathers the k - 1 nearest records around a centroid, and goes on with a centroid far from all before.

    The first centroid is the first record. Each further one is the unused record with the largest sum of
    distances to all earlier centroids. In the end fewer than k records are left. Each joins the cluster of
    the nearest centroid.

    The distance of two records is the cost of putting them into one class. It is the sum of two terms: the
    loss LM of the cells, averaged with the attributes' weights, and the levels climbed (MD) over the most
    that two records can climb. For a number or date without hierarchy, LM is the range over the range of the
    column, and it climbs one level.

    Ties go to the lowest index, and distances are compared exactly. The time grows with the square of the
    number of distinct records, over k.

    References
    ----------
    COMP 430/530 (Koc University, fall 2024), homework 1, algorithm 3; the scheme is that of Byun et al.,
    Efficient k-anonymization using clustering techniques, DASFAA 2007, with fixed centroids.
    """

    name: ClassVar[str] = "clustering"
    summary: ClassVar[str] = "gathers k-1 records around the one farthest from all earlier clusters"
    paper: ClassVar[str] = "COMP 430 2024, after Byun et al. 2007"
    by_cluster: ClassVar[bool] = True

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Cluster the records."""
        from incrowd.core.kernels.clusters.costs import nearest_centroid
        from incrowd.search._points import Points, UnusedByCost, costs_of

        costs = costs_of(problem.frequency, problem.attributes, levels=True)
        points = Points(problem.frequency)
        unused = UnusedByCost(points, costs)
        k = problem.least
        centroids: list[int] = []
        centroid = 0
        while unused.left >= k:
            ranks = points.ranks(centroid)
            unused.take(np.array([centroid]), len(centroids))
            unused.aim(ranks, ranks, centre=True)
            unused.take(unused.nearest(k - 1, add=True), len(centroids))
            centroids.append(centroid)
            if unused.left >= k:
                centroid = unused.farthest()
            if not len(centroids) % 64:
                problem.progress.advance(points.records - unused.left, points.records)
        rest = unused.rest()
        spots = points.spots[points.point_of_row]
        unused.class_of_row[rest] = nearest_centroid(costs, spots[rest], spots[centroids])
        return unused.class_of_row, len(centroids)
