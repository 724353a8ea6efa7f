"""Rank swapping: random exchange of values between close ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.jit import compiled


def swapped_ranks(count: int, window: int, draws: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the source rank of each rank's value after swapping.

    The lowest free rank is swapped with a random free rank among the `window` ranks above, if there is any::

        rank    0 1 2 3 4      window 2
        0 draws 1 of {1, 2}, 2 draws 4 of {3, 4}, 3 has no free rank above
        result  1 0 4 3 2

    Parameters
    ----------
    draws
        uint64[count]: random numbers.

    Returns
    -------
    int64[count]: a permutation that is its own inverse.
    """
    partner = np.arange(count)
    _swap(window, draws, partner, np.zeros(count, np.bool_))
    return partner


@compiled
def _swap(window, draws, partner, gone):
    count = partner.size
    for rank in range(count):
        if gone[rank]:
            continue
        last = min(rank + window, count - 1)
        free = 0
        for other in range(rank + 1, last + 1):
            if not gone[other]:
                free += 1
        if not free:
            continue
        chosen = np.int64(draws[rank] % np.uint64(free))
        for other in range(rank + 1, last + 1):
            if gone[other]:
                continue
            if chosen == 0:
                partner[rank], partner[other] = other, rank
                gone[rank] = gone[other] = True
                break
            chosen -= 1
