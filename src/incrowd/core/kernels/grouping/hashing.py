"""Where a word stands in a table with open addressing."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import inner


@inner
def scattered(word):
    """Fibonacci hashing with one xor-shift: packed codes differ mostly in their low bits."""
    return (word ^ (word >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)


@inner
def slot_of(word, mask):
    """Return the slot at which the search for a word begins; uint64, as both are."""
    mixed = scattered(word)
    return (mixed ^ (mixed >> np.uint64(32))) & mask
