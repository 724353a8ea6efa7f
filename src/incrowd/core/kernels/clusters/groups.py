"""Optimal univariate microaggregation: groups of sorted values with least squared error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels import numpy_fallback
from incrowd.core.kernels.jit import compiled, so_few

_HELD = 1 << 20


@compiled
def _last_groups(values, least):
    """Size of the last group in the best grouping of the first i values, or 0 for no grouping."""
    n = values.size
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    last = np.zeros(n + 1, np.int64)
    for i in range(least, n + 1):
        # Welford's update: differences of running sums would cancel for close values.
        mean = 0.0
        squares = 0.0
        for size in range(1, min(2 * least - 1, i) + 1):
            gap = values[i - size] - mean
            mean += gap / size
            squares += gap * (values[i - size] - mean)
            if size >= least and best[i - size] + squares < best[i]:
                best[i] = best[i - size] + squares
                last[i] = size
    return last


def least_squares_groups(values: NDArray[np.float64], least: int) -> NDArray[np.int64]:
    """Group sorted values with the least sum of squared distances to group means.

    Parameters
    ----------
    values
        float64[n], ascending, n >= least.
    least
        Least size of a group, >= 1. No group of an optimum needs 2 * least or more.

    Returns
    -------
    int64[groups]: where each group starts.
    """
    # NumPy holds an error for each size of each last group.
    small = so_few(len(values)) and len(values) * least <= _HELD
    last = numpy_fallback.last_groups(values, least) if small else _last_groups(values, least)
    starts = []
    at = len(values)
    while at > 0:
        at -= int(last[at])
        starts.append(at)
    return np.array(starts[::-1], np.int64)
