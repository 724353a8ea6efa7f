"""Cuts of Mondrian by the loss that they save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from incrowd.kernels.mondrian.partition_arrays import DOWN, EITHER
from incrowd.kernels.numpy_fallback import members_of_runs
from incrowd.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.kernels.mondrian.partition_arrays import Axes, Keys, Partitions
    from incrowd.table.domain import Domain

_DENSE = 16
"""Ranks of all partitions, per key, up to which records are counted in an array and not sorted."""


class _Values(NamedTuple):
    """The values that partitions have in one attribute, by partition and rank; int64[values] each.

    Attributes
    ----------
    owner, rank, weight
        The partition, the value, and its records there.
    first
        int64[partitions]: where the values of each begin. Each has some.
    """

    owner: NDArray[np.int64]
    rank: NDArray[np.int64]
    weight: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def of(
        cls, owner: NDArray[np.int64], ranks: NDArray[np.int64], weights: NDArray[np.int64], size: int
    ) -> _Values:
        words = owner * size + ranks
        room = (int(owner[-1]) + 1) * size
        if room <= _DENSE * len(words):
            sums = np.bincount(words, weights, room)
            found = np.flatnonzero(sums)
            sums = sums[found]
        else:
            found, which = np.unique(words, return_inverse=True)
            sums = np.bincount(which, weights)
        held = found // size
        first = np.flatnonzero(np.diff(held, prepend=-1))
        return cls(held, found % size, sums.astype(np.int64), first)


def order_by_saving(keys: Keys, parts: Partitions, axes: Axes, domains: Sequence[Domain], least: int) -> None:
    """Order the attributes of each partition by the loss that a cut saves, the largest saving first.

    A cut by order is made where it saves most of those that leave `least` records on both sides. It is
    written to ``parts.cuts``, and -1 where there is none, or where a cut down the hierarchy saves as much.
    """
    if not len(parts.starts):
        return
    places, owner, _ = members_of_runs(parts.starts, parts.stops)
    saved = np.empty(parts.lows.shape)
    for j, domain in enumerate(domains):
        ranks = keys.codes[places, j].astype(np.int64)
        values = _Values.of(owner, ranks, keys.weights[places], domain.size)
        ends = parts.lows[:, j].astype(np.int64), parts.highs[:, j].astype(np.int64)
        found = np.full(len(parts.totals), -1.0)
        if axes.way[j] in (DOWN, EITHER):
            ladder = axes.at_depth[axes.ladder[j] : axes.ladder[j + 1]].reshape(-1, domain.size)
            found = _down(values, domain, ladder, ends, least)
        if axes.way[j] != DOWN:
            by_order, cuts = _between(values, domain, parts.totals, ends, least)
            parts.cuts[:, j] = np.where(by_order > found, cuts, -1)
            found = np.maximum(by_order, found)
        saved[:, j] = found * axes.weight[j]
    parts.order[:] = np.argsort(-saved, axis=1, kind="stable")


def _between(
    values: _Values,
    domain: Domain,
    totals: NDArray[np.int64],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    least: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the loss saved by the best cut of each partition between values, and the rank right of it."""
    owner, rank, weight, first = values
    most, cuts = np.full(len(totals), -1.0), np.full(len(totals), -1, np.int64)
    before = np.cumsum(weight) - weight
    before -= before[first][owner]
    right = np.flatnonzero(owner[1:] == owner[:-1]) + 1
    right = right[(before[right] >= least) & (totals[owner[right]] - before[right] >= least)]
    if not len(right):
        return most, cuts
    whose, left = owner[right], before[right]
    if domain.hierarchy is None and not domain.ordered:
        # Such cells are sets, and each value after the first costs as much.
        held = np.diff(first, append=len(owner))[whose]
        below = right - first[whose]
        spans = [(each - 1) / max(domain.size - 1, 1) for each in (held, below, held - below)]
    else:
        low, high = (end[whose] for end in ends)
        spans = [domain.span(*cell) for cell in ((low, high), (low, rank[right - 1]), (rank[right], high))]
    saved = totals[whose] * spans[0] - left * spans[1] - (totals[whose] - left) * spans[2]
    order = np.lexsort((-saved, whose))
    best = order[np.flatnonzero(np.diff(whose[order], prepend=-1))]
    most[whose[best]], cuts[whose[best]] = saved[best], rank[right[best]]
    return most, cuts


def _down(
    values: _Values,
    domain: Domain,
    ladder: NDArray[np.int32],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    least: int,
) -> NDArray[np.float64]:
    """Return the loss saved by a cut below the common ancestor, where children of enough records go apart.

    Parameters
    ----------
    ladder
        int32[depths, ranks]: the ancestor of each rank at each depth.
    """
    owner, rank, weight, _ = values
    tree, count = domain.tree, len(ends[0])
    depth = np.minimum(np.asarray(tree.depths)[domain.ancestors(*ends)] + 1, len(ladder) - 1)
    child = ladder[depth[owner], rank].astype(np.int64)
    # The leaves of a node have ranks that follow each other.
    begins = np.flatnonzero(np.diff(owner * len(tree.labels) + child, prepend=-1))
    whose, records = owner[begins], np.add.reduceat(weight, begins)
    last = np.append(begins[1:], len(rank)) - 1
    whole = domain.span(*ends)
    apart = records >= least
    saved = np.where(apart, records * (whole[whose] - domain.span(rank[begins], rank[last])), 0.0)
    ways = np.bincount(whose, apart, count)
    rest = np.bincount(whose, np.where(apart, 0, records), count)
    # The smallest child joins the others where they are too few, so one child alone cannot leave them.
    possible = (ends[0] < ends[1]) & ((ways > 1) | ((ways > 0) & (rest >= least)))
    return np.where(possible, np.bincount(whose, saved, count), -1.0)
