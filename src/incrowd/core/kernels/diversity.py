"""Diversity of the values in each class: entropies, effective values, recursive levels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.kernels.grouping.sorting import sort_run
from incrowd.core.kernels.jit import inner, over_ranges, simple


@simple
def _effective(start, stop, indptr, codes, counts, sizes, effective):
    for group in range(start, stop):
        total = 0.0
        first = counts[indptr[group]]
        even = True
        for entry in range(indptr[group], indptr[group + 1]):
            count = counts[entry]
            even &= count == first
            total += count * math.log(count)
        if even:
            # m equally frequent values are m values, without the error of log and exp.
            effective[group] = indptr[group + 1] - indptr[group]
        else:
            effective[group] = sizes[group] / math.exp(total / sizes[group])


@inner
def _grassberger_term(count):
    """Grassberger's G: G(1) = -gamma - ln 2, G(2m) = G(2m + 1) = G(1) + 2 (1 + 1/3 + ... + 1/(2m - 1))."""
    half = count // 2
    if half < 16:
        total = -0.5772156649015329 - 0.6931471805599453
        for i in range(half):
            total += 2.0 / (2 * i + 1)
        return total
    # G(2m) = digamma(m + 1/2) + ln 2, whose asymptotic series is exact to the last bits from here on.
    square = 1.0 / (float(half) * half)
    series = 1 / 24 - square * (7 / 960 - square * (31 / 8064 - square * (127 / 30720)))
    return math.log(half) + square * series + 0.6931471805599453


@simple
def _grassberger(start, stop, indptr, codes, counts, sizes, effective):
    for group in range(start, stop):
        total = 0.0
        for entry in range(indptr[group], indptr[group + 1]):
            total += counts[entry] * _grassberger_term(counts[entry])
        estimate = math.exp(math.log(sizes[group]) - total / sizes[group])
        effective[group] = min(estimate, indptr[group + 1] - indptr[group])


@simple
def _recursive(start, stop, indptr, codes, counts, c, levels):
    for group in range(start, stop):
        ordered = counts[indptr[group] : indptr[group + 1]].copy()
        sort_run(ordered, 0, ordered.size)
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


def grassberger_values(classes: Counts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Exponential of Grassberger's entropy estimate of each class: float64[classes], at most its values.

    The estimate is ln n - (sum over values of n_i G(n_i)) / n. Parameters as `effective_values`.
    """
    effective = np.empty(len(sizes))
    over_ranges(_grassberger, classes.indptr, *classes, sizes, effective)
    return effective


def normalized_entropies(classes: Counts, effective: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shannon entropy of each class over the logarithm of its distinct values: float64[classes] in [0, 1].

    A class of one value has 0, one of m equally frequent values exactly 1.

    Parameters
    ----------
    classes
        Counts per class, no class empty.
    effective
        float64[classes]: the result of `effective_values` for `classes`.
    """
    most = np.log(np.diff(classes.indptr))
    entropies = np.zeros(len(effective))
    np.divide(np.log(effective), most, out=entropies, where=most > 0)
    return np.minimum(entropies, 1.0, out=entropies)


def recursive_levels(classes: Counts, c: float) -> NDArray[np.int64]:
    """Largest l for which each class is recursively (c, l)-diverse: int64[classes], 0 for no l."""
    levels = np.zeros(len(classes.indptr) - 1, np.int64)
    over_ranges(_recursive, classes.indptr, *classes, c, levels)
    return levels
