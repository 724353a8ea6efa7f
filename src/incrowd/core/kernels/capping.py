"""The least loss of a class before its values are diverse enough: the fewest records beyond a cap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.kernels.grouping.sorting import sort_run
from incrowd.core.kernels.jit import compiled, inner, over_ranges

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
        # What the values may keep grows with the size of the part, and ever more slowly.
        low, high = 0.0, float(size)
        while high - low > _CLOSE:
            middle = (low + high) / 2
            kept = 0.0
            for entry in range(indptr[group], indptr[group + 1]):
                kept += min(float(counts[entry]), limits[entry] * middle)
            if kept < middle:
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
        whole = 0.0
        logs = 0.0
        below = 0
        # Values below the cap count as they are. The caps go up from value to value, then halve the way.
        low, high = 0.0, 0.0
        for i in range(many):
            high = ordered[i]
            if _effective_below(whole, logs, many - below, high) < least:
                break
            low = high
            whole += high
            logs += high * np.log(high)
            below += 1
        while high - low > _CLOSE:
            middle = (low + high) / 2
            if _effective_below(whole, logs, many - below, middle) < least:
                high = middle
            else:
                low = middle
        lost[group] = max(np.ceil(_beyond(ordered, high) - 1e-6), 1.0)


@inner
def _effective_below(whole, logs, many, cap):
    """Exponential of the entropy of values with the sums ``whole`` and ``logs``, and of others at the cap."""
    size = whole + many * cap
    return size / np.exp((logs + many * cap * np.log(cap)) / size)


def beyond_tail(classes: Counts, failing: NDArray[np.bool_], level: int, c: float) -> NDArray[np.int64]:
    """Fewest records without which the most frequent value of a class weighs less than c times its tail.

    The tail are the records of all values but the ``level`` - 1 most frequent ones. Fewest leave if no
    value keeps more than a cap, and the cap is as high as it may be: a higher one fails, because what it
    adds to the tail falls while what it adds to the most frequent value does not.

    Parameters
    ----------
    classes
        Counts per class, no class empty.
    failing
        bool[classes]: which classes are asked about. Others lose nothing.

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
    """Bound from below the records without which no value has more than its share: int64[classes].

    A part of x records keeps of a value no more than there are, and no more than its share of x.

    Parameters
    ----------
    classes
        Counts per class, no class empty.
    failing
        bool[classes]: which classes are asked about; each of them loses a record at least.
    limits
        float64[entries]: the largest share of each value.
    """
    lost = np.zeros(len(failing), np.int64)
    # A bound from below: a share that is just reached is enough, whatever is rounded.
    limits = limits * (1 + 1e-9) + 1e-12
    over_ranges(_shares, classes.indptr, classes.indptr, classes.counts, limits, failing, lost)
    return lost


def beyond_entropy(classes: Counts, failing: NDArray[np.bool_], least: float) -> NDArray[np.int64]:
    """Bound the records without which a class has as many effective values: int64[classes], from below.

    Of all parts of a class with as many records, the entropy is greatest where no value keeps more than a
    cap. A lower cap makes it greater. Parameters as `beyond_tail`; a class that fails by the error of
    rounding alone loses one record.
    """
    lost = np.zeros(len(failing), np.int64)
    # A bound from below: as many equally frequent values as asked for must be enough, whatever is rounded.
    least *= 1 - 1e-9
    over_ranges(_entropies, classes.indptr, classes.indptr, classes.counts, failing, least, lost)
    return lost
