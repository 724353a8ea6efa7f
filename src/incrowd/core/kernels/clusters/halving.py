"""Median cut of points at the attribute with the largest saving."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.clusters.keyed_classes import Cells, interval
from incrowd.core.kernels.jit import compiled

_SAMPLE = 512
"""Points sampled for the choice of a cut; their median is off by a few percent of all points."""


def halve(
    ranks: NDArray[np.int64], members: NDArray[np.int64], cells: Cells, factors: NDArray[np.float64]
) -> int:
    """Move the points below the best cut to the front, in order, and return the number of points below.

    A cut lies at the median of one attribute and saves the cost of all points as one class less the cost of
    both sides, weighted by ``factors[j]``. The number is 0 for equal points.
    """
    count = min(len(members), _SAMPLE)
    attribute, bar = _cut(ranks[members[np.arange(count) * len(members) // count]], cells, factors)
    if attribute < 0 and count < len(members):
        # The points of a sample may be equal although others differ.
        attribute, bar = _cut(ranks[members], cells, factors)
    if attribute < 0:
        return 0
    below = ranks[members, attribute] < bar
    members[:] = np.concatenate((members[below], members[~below]))
    return int(below.sum())


def _cut(ranks: NDArray[np.int64], cells: Cells, factors: NDArray[np.float64]) -> tuple[int, int]:
    """Return the attribute to cut (-1 for none) and the first rank above the cut."""
    middle = len(ranks) // 2
    cut: tuple[int, int] = _best_cut(ranks, np.partition(ranks, middle, axis=0)[middle], cells, factors)
    return cut


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
