"""How diverse the values of each class are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.counting import Counts
from incrowd.kernels.jit import compiled, over_ranges

__all__ = ["effective_values", "recursive_levels"]


@compiled
def _effective(start, stop, indptr, codes, counts, sizes, effective):
    for group in range(start, stop):
        total = 0.0
        first = counts[indptr[group]]
        even = True
        for entry in range(indptr[group], indptr[group + 1]):
            count = counts[entry]
            even &= count == first
            total += count * np.log(count)
        if even:
            # m equally frequent values are m values, without the error of log and exp.
            effective[group] = indptr[group + 1] - indptr[group]
        else:
            effective[group] = sizes[group] / np.exp(total / sizes[group])


@compiled
def _recursive(start, stop, indptr, codes, counts, c, levels):
    for group in range(start, stop):
        ordered = np.sort(counts[indptr[group] : indptr[group + 1]])
        # The counts ascend here, so the tail rl + ... + rm is a prefix; the longest has l = 1.
        tail = 0
        level = 0
        for i in range(ordered.size):
            tail += ordered[i]
            if ordered[-1] < c * tail:
                level = ordered.size - i
                break
        levels[group] = level


def effective_values(classes: Counts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Exponential of the Shannon entropy of each class: float64[classes], >= 1.

    Parameters
    ----------
    classes
        Counts per class, no class empty.
    sizes
        int64[classes]
    """
    effective = np.empty(len(sizes))
    over_ranges(_effective, classes.indptr, *classes, sizes, effective)
    return effective


def recursive_levels(classes: Counts, c: float) -> NDArray[np.int64]:
    """Largest l for which each class is recursively (c, l)-diverse: int64[classes], 0 where none is."""
    levels = np.zeros(len(classes.indptr) - 1, np.int64)
    over_ranges(_recursive, classes.indptr, *classes, c, levels)
    return levels
