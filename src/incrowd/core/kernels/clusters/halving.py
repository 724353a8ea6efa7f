"""Cutting points in two, where it saves most."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.clusters.keyed_classes import Cells, interval
from incrowd.core.kernels.jit import compiled

_SAMPLE = 512
"""Points that are asked where to cut; with so many a median is off by a few hundredths of all points."""


def halve(
    ranks: NDArray[np.int64], members: NDArray[np.int64], cells: Cells, factors: NDArray[np.float64]
) -> int:
    """Bring the points that lie below the best cut to the front, in order: how many these are.

    A cut lies at the median of one attribute, and it saves what all points cost as one class less what both
    sides cost. `factors` says how much that counts for each attribute. It is 0 where all points are alike.
    """
    some = min(len(members), _SAMPLE)
    attribute, bar = _cut(ranks[members[np.arange(some) * len(members) // some]], cells, factors)
    if attribute < 0 and some < len(members):
        # The points of a sample may be alike where others are not.
        attribute, bar = _cut(ranks[members], cells, factors)
    if attribute < 0:
        return 0
    below = ranks[members, attribute] < bar
    members[:] = np.concatenate((members[below], members[~below]))
    return int(below.sum())


def _cut(ranks: NDArray[np.int64], cells: Cells, factors: NDArray[np.float64]) -> tuple[int, int]:
    """Find the attribute to cut, -1 for none, and the first rank above the cut."""
    middle = len(ranks) // 2
    found: tuple[int, int] = _best_cut(ranks, np.partition(ranks, middle, axis=0)[middle], cells, factors)
    return found


@compiled
def _best_cut(ranks: Any, medians: Any, cells: Any, factors: Any) -> Any:
    best, chosen, bar = -1.0, -1, np.int64(0)
    for j in range(ranks.shape[1]):
        low = high = ranks[0, j]
        for i in range(ranks.shape[0]):
            low, high = min(low, ranks[i, j]), max(high, ranks[i, j])
        if low == high:
            continue
        first = medians[j] if low < medians[j] else medians[j] + 1
        # The last rank below the cut, and the one after it.
        last, after, below = low, high, 0
        for i in range(ranks.shape[0]):
            rank = ranks[i, j]
            if rank < first:
                below += 1
                last = max(last, rank)
            else:
                after = min(after, rank)
        saved = ranks.shape[0] * interval(cells, j, low, high)
        saved -= below * interval(cells, j, low, last)
        saved -= (ranks.shape[0] - below) * interval(cells, j, after, high)
        if factors[j] * saved > best:
            best = factors[j] * saved
            chosen = j
            bar = first
    return chosen, bar
