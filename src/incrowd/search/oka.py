"""OKA, the one-pass k-means algorithm."""

from __future__ import annotations

from typing import ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.search.base import SearchProblem
from incrowd.search.local import LocalAlgorithm

_BATCH = 1024


class OKA(LocalAlgorithm):
    """Puts every record into the nearest of n/k clusters in a single pass, then evens out the sizes.

    1. Each cluster starts with a random record. The other records come in the order of their
       quasi-identifiers. Each joins the nearest cluster.
    2. Clusters of more than k records give their outermost records away. These go in random order to the
       nearest cluster of fewer than k records. If there is none, they go to the nearest cluster.

    The centre of a cluster has the mean of its numbers and the lowest common ancestor of its categories. The
    distance of a record to the centre is a weighted sum over the quasi-identifiers. A number adds its
    difference to the mean over the range of the column. A category adds the loss LM of the common ancestor
    with the record in the cluster.

    Ties go to the first cluster. The time grows with the square of the number of records, over k.

    References
    ----------
    Lin and Wei, An efficient clustering method for k-anonymization, PAIS 2008, section 3 (clustering
    stage and adjustment stage).
    """

    name: ClassVar[str] = "oka"
    summary: ClassVar[str] = "one pass of k-means with n/k clusters, then evens out their sizes"
    paper: ClassVar[str] = "Lin and Wei 2008"
    seeded: ClassVar[bool] = True

    def pairs_at_most(self, problem: SearchProblem) -> int:
        """Count the clusters that every record is compared with."""
        keys = problem.frequency.keys
        return keys * (keys // problem.least)

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Cluster the records."""
        from incrowd.core.kernels.clusters.growing import Centres, distances_within, join_nearest
        from incrowd.search._points import costs_of

        frequency = problem.frequency
        records, k = frequency.keys, problem.least
        costs = costs_of(frequency, problem.attributes)
        ranks = np.column_stack([codes.astype(np.int64) for codes in frequency.codes])
        random = np.random.default_rng(problem.seed)
        count = max(records // k, 1)
        every = np.arange(count)
        class_of_row = np.full(records, -1, np.int32)
        class_of_row[np.sort(random.permutation(records)[:count])] = every
        centres = Centres.of_clusters(count, ranks, costs, class_of_row)
        in_order = np.lexsort(ranks.T[::-1])
        waiting = in_order[class_of_row[in_order] < 0]
        for start in range(0, len(waiting), _BATCH):
            join_nearest(waiting[start : start + _BATCH], every, ranks, costs, centres, class_of_row)
            problem.progress.advance(start, len(waiting))
        outermost = distances_within(ranks, costs, centres, class_of_row)
        # Of each cluster the k innermost stay, of equally far ones the first.
        inside_out = np.lexsort((np.arange(records), outermost, class_of_row))
        position = np.empty(records, np.int64)
        firsts = np.concatenate(([0], np.cumsum(np.bincount(class_of_row, minlength=count))))
        position[inside_out] = np.arange(records) - np.repeat(firsts[:-1], np.diff(firsts))
        surplus = np.flatnonzero(position >= k)
        class_of_row[surplus] = -1
        centres = Centres.of_clusters(count, ranks, costs, class_of_row)
        for row in random.permutation(surplus).tolist():
            small = np.flatnonzero(centres.sizes < k)
            join_nearest(np.array([row]), small if len(small) else every, ranks, costs, centres, class_of_row)
        return class_of_row, count
