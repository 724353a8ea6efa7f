"""Lookup of words in a hash table, on the calling thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.hashing import slot_of
from incrowd.core.kernels.jit import compiled

_FULL = 0.7
"""Largest share of used slots."""


@compiled
def _fill(words, slots):
    mask = np.uint64(slots.size - 1)
    for place in range(words.size):
        slot = slot_of(words[place], mask)
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = place


@compiled
def _find(queries, words, slots, numbers, result):
    mask = np.uint64(slots.size - 1)
    for row in range(queries.size):
        slot = slot_of(queries[row], mask)
        place = slots[slot]
        while place >= 0 and words[place] != queries[row]:
            slot = (slot + np.uint64(1)) & mask
            place = slots[slot]
        result[row] = numbers[place] if place >= 0 else -1


class KnownWords:
    """Hash table from distinct words to numbers.

    Parameters
    ----------
    words
        uint64[words]
    numbers
        int32[words], from 0.

    Examples
    --------
    >>> import numpy as np
    >>> known = KnownWords(np.array([7, 9], np.uint64), np.array([1, 0], np.int32))
    >>> known.find(np.array([9, 8, 7], np.uint64)).tolist()
    [0, -1, 1]
    """

    def __init__(self, words: NDArray[np.uint64], numbers: NDArray[np.int32]) -> None:
        capacity = 1 << max(int(len(words) / _FULL), 1).bit_length()
        self._words, self._numbers = words, numbers
        self._slots = np.full(capacity, -1, np.int32)
        _fill(words, self._slots)

    def find(self, words: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the number of each word: int32[words], -1 for an unknown word."""
        result = np.empty(len(words), np.int32)
        _find(words, self._words, self._slots, self._numbers, result)
        return result
