"""Eight bytes read as one word."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import inner

WORD = 8
"""Bytes of a word."""


@inner
def _byte(data, start, place, bits):
    """Return a byte of a word, shifted by so many bits."""
    # An index without a sign is not looked at. So the compiler makes one instruction of eight bytes.
    return np.uint64(data[start + np.uint64(place)]) << np.uint64(bits)


@inner
def first_weighs_least(data, start):
    """Read a word of which the first byte has the lowest bits."""
    at = np.uint64(start)
    low = _byte(data, at, 0, 0) | _byte(data, at, 1, 8) | _byte(data, at, 2, 16) | _byte(data, at, 3, 24)
    high = _byte(data, at, 4, 32) | _byte(data, at, 5, 40) | _byte(data, at, 6, 48) | _byte(data, at, 7, 56)
    return low | high
