"""Diversity of the values in each class, and the records that a class must lose to become diverse enough."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.kernels.grouping.sorting import sort_run
from incrowd.core.kernels.jit import compiled, inner, over_ranges, simple


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
def _grassberger(start, stop, indptr, codes, counts, sizes, arx, effective):
    for group in range(start, stop):
        total = 0.0
        for entry in range(indptr[group], indptr[group + 1]):
            # A value that one record has is the only one whose term is below 0.
            if not arx or counts[entry] > 1:
                total += counts[entry] * _grassberger_term(counts[entry])
        if not arx:
            logarithm = math.log(sizes[group])
        else:
            logarithm = _grassberger_term(sizes[group])
            if total == 0.0:
                total = _grassberger_term(1)
        estimate = math.exp(logarithm - total / sizes[group])
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


def grassberger_values(classes: Counts, sizes: NDArray[np.int64], *, arx: bool) -> NDArray[np.float64]:
    """Exponential of Grassberger's entropy estimate of each class: float64[classes], at most the values.

    The estimate is ln n - (sum over values of n_i G(n_i)) / n. That of ARX has G(n) in the place of ln n, and
    the largest sum that any order of the values comes to on its way. Example: counts 3, 1 and 1 with G(3) =
    .73 and G(1) = -1.27 come to 2.19, .92 and -.35 in this order, so to 2.19 at most. Other parameters as
    `effective_values`.
    """
    effective = np.empty(len(sizes))
    over_ranges(_grassberger, classes.indptr, *classes, sizes, arx, effective)
    return effective


def normalized_entropies(classes: Counts, effective: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shannon entropy of each class over the logarithm of the distinct values: float64[classes] in [0, 1].

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


# Caps and sizes are found to within this part of a record.
_CLOSE = 0.05


@inner
def _beyond(ordered, cap):
    """Sum the excess of each count above the cap."""
    total = 0.0
    for i in range(ordered.size - 1, -1, -1):
        if ordered[i] <= cap:
            break
        total += ordered[i] - cap
    return total


@compiled
def _tails(start, stop, indptr, counts, failing, level, c, lost):
    for group in range(start, stop):
        if not failing[group]:
            continue
        ordered = counts[indptr[group] : indptr[group + 1]].copy()
        sort_run(ordered, 0, ordered.size)
        lost[group] = ordered.sum()
        # The tail is what the cap leaves of all values but the level - 1 most frequent ones.
        many = ordered.size - level + 1
        low, high = 0, ordered[-1]
        while many > 0 and high - low > 1:
            middle = (low + high) // 2
            tail = 0
            for i in range(many):
                tail += min(ordered[i], middle)
            if middle < c * tail:
                low = middle
            else:
                high = middle
        if low > 0:
            lost[group] = _beyond(ordered, low)


@compiled
def _shares(start, stop, indptr, counts, limits, failing, lost):
    for group in range(start, stop):
        if not failing[group]:
            continue
        size = counts[indptr[group] : indptr[group + 1]].sum()
        # The records allowed in a part grow with the part's size, ever more slowly.
        low, high = 0.0, float(size)
        while high - low > _CLOSE:
            middle = (low + high) / 2
            allowed = 0.0
            for entry in range(indptr[group], indptr[group + 1]):
                allowed += min(float(counts[entry]), limits[entry] * middle)
            if allowed < middle:
                high = middle
            else:
                low = middle
        lost[group] = max(np.ceil(size - high - 1e-6), 1.0)


@compiled
def _entropies(start, stop, indptr, counts, failing, least, lost):
    for group in range(start, stop):
        if not failing[group]:
            continue
        ordered = counts[indptr[group] : indptr[group + 1]].copy()
        many = ordered.size
        sort_run(ordered, 0, many)
        lost[group] = ordered.sum()
        if many < least:
            continue
        total = 0.0
        logs = 0.0
        below = 0
        # Values below the cap keep their counts. The cap rises from value to value and is then bisected.
        low, high = 0.0, 0.0
        for i in range(many):
            high = ordered[i]
            if _effective_below(total, logs, many - below, high) < least:
                break
            low = high
            total += high
            logs += high * np.log(high)
            below += 1
        while high - low > _CLOSE:
            middle = (low + high) / 2
            if _effective_below(total, logs, many - below, middle) < least:
                high = middle
            else:
                low = middle
        lost[group] = max(np.ceil(_beyond(ordered, high) - 1e-6), 1.0)


@inner
def _effective_below(total, logs, many, cap):
    """Exponential of the entropy of values with sums `total` and `logs` and of `many` values at the cap."""
    size = total + many * cap
    return size / np.exp((logs + many * cap * np.log(cap)) / size)


def beyond_tail(classes: Counts, failing: NDArray[np.bool_], level: int, c: float) -> NDArray[np.int64]:
    """Fewest records to remove until a class's largest count is below c times the tail.

    The tail has the records of all values but the ``level`` - 1 most frequent values. The fewest records
    leave if every count is cut off at the highest cap that satisfies the condition::

        counts 9 5 2, level 2, c 1     tail 5 + 2 = 7, and 9 < 7 fails
        cap 7: 7 5 2                   7 < 7 fails
        cap 6: 6 5 2                   6 < 7 holds, 3 records removed

    A higher cap fails, because the growth of the tail falls while the growth of the largest count does not.

    Parameters
    ----------
    classes
        Counts per class, no class empty.
    failing
        bool[classes]: the classes to bound. Other classes lose nothing.

    Returns
    -------
    lost
        int64[classes]; the size of a class without such a part.
    """
    lost = np.zeros(len(failing), np.int64)
    over_ranges(_tails, classes.indptr, classes.indptr, classes.counts, failing, level, c, lost)
    return lost


def beyond_shares(
    classes: Counts, failing: NDArray[np.bool_], limits: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Lower bound on the records to remove until no value exceeds a share: int64[classes].

    A part of x records has of each value at most the class's records and at most the value's share of x.

    Parameters
    ----------
    classes
        Counts per class, no class empty.
    failing
        bool[classes]: the classes to bound, each of which loses at least one record.
    limits
        float64[entries]: the largest share of each value.
    """
    lost = np.zeros(len(failing), np.int64)
    # Rounding errors must not raise the bound, so a share that is just reached is enough.
    limits = limits * (1 + 1e-9) + 1e-12
    over_ranges(_shares, classes.indptr, classes.indptr, classes.counts, limits, failing, lost)
    return lost


def beyond_entropy(classes: Counts, failing: NDArray[np.bool_], least: float) -> NDArray[np.int64]:
    """Lower bound on the records to remove until a class has enough effective values: int64[classes].

    Of all parts of a class with equally many records, a part with all counts cut off at a cap has the largest
    entropy. A lower cap gives more. Parameters as in `beyond_tail`. A class that fails by rounding alone
    loses one record.
    """
    lost = np.zeros(len(failing), np.int64)
    # A bound from below: as many equally frequent values as asked for must be enough, whatever is rounded.
    least *= 1 - 1e-9
    over_ranges(_entropies, classes.indptr, classes.indptr, classes.counts, failing, least, lost)
    return lost
