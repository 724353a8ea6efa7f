"""SHA-256 of many short texts at once, below a key: each step is done for many texts before the next one."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.jit import compiled, inner, over_ranges

__all__ = ["BLOCK", "LONGEST", "keyed_digests", "state_after"]

BLOCK = 64
"""Bytes that SHA-256 takes at a time."""
LONGEST = BLOCK - 9
"""Bytes of a text that fits into one block: an end mark and the length stand there, too."""
_SIZE = 32
_STEPS = 64
_LANES = 128
"""Texts whose steps are done together. Their words fit the nearest cache, and vector units take eight."""


def _cube_root(number: int) -> int:
    """Return the whole part of a cube root."""
    root = int(number ** (1 / 3))
    while root**3 > number:
        root -= 1
    while (root + 1) ** 3 <= number:
        root += 1
    return root


# FIPS 180-4, sections 4.2.2 and 5.3.3: the first 32 bits behind the point of roots of the first primes.
_PRIMES = [n for n in range(2, 312) if all(n % below for below in range(2, isqrt(n) + 1))]
_FIRST = np.array([isqrt(prime << 64) & 0xFFFFFFFF for prime in _PRIMES[:8]], np.uint32)
_CONSTANTS = np.array([_cube_root(prime << 96) & 0xFFFFFFFF for prime in _PRIMES], np.uint32)


@inner
def _turned(word, bits):
    """Rotate a word to the right."""
    return np.uint32(np.uint32(word >> np.uint32(bits)) | np.uint32(word << np.uint32(32 - bits)))


@inner
def _add_block(state, words, work):
    """Add a block of 16 words to the state of each lane (FIPS 180-4, section 6.2.2); it uses them up."""
    lanes = state.shape[1]
    for part in range(8):
        for lane in range(lanes):
            work[part, lane] = state[part, lane]
    for step in range(_STEPS):
        here = step & 15
        if step > 15:
            for lane in range(lanes):
                early, late = words[(step + 1) & 15, lane], words[(step + 14) & 15, lane]
                low = _turned(early, 7) ^ _turned(early, 18) ^ np.uint32(early >> np.uint32(3))
                high = _turned(late, 17) ^ _turned(late, 19) ^ np.uint32(late >> np.uint32(10))
                words[here, lane] = np.uint32(
                    np.uint32(words[here, lane] + low) + np.uint32(words[(step + 9) & 15, lane] + high)
                )
        constant = _CONSTANTS[step]
        # The letters a to h move on by one place in each step; instead, their places do.
        a, b, c, d = -step & 7, (1 - step) & 7, (2 - step) & 7, (3 - step) & 7
        e, f, g, h = (4 - step) & 7, (5 - step) & 7, (6 - step) & 7, (7 - step) & 7
        for lane in range(lanes):
            top, mid = work[a, lane], work[e, lane]
            chosen = work[g, lane] ^ (mid & (work[f, lane] ^ work[g, lane]))
            most = (top & work[b, lane]) | (work[c, lane] & (top | work[b, lane]))
            first = np.uint32(
                np.uint32(work[h, lane] + (_turned(mid, 6) ^ _turned(mid, 11) ^ _turned(mid, 25)))
                + np.uint32(np.uint32(chosen + constant) + words[here, lane])
            )
            second = np.uint32((_turned(top, 2) ^ _turned(top, 13) ^ _turned(top, 22)) + most)
            work[d, lane] = np.uint32(work[d, lane] + first)
            work[h, lane] = np.uint32(first + second)
    for part in range(8):
        for lane in range(lanes):
            state[part, lane] = np.uint32(state[part, lane] + work[part, lane])


@compiled
def _state_after(state, words):
    _add_block(state, words, np.empty_like(state))


@compiled
def _keyed_digests(start, stop, data, ends, keys, found):
    """Write the digests of the texts from `start` to `stop`; each stands in one block below the key."""
    state = np.empty((8, _LANES), np.uint32)
    work = np.empty((8, _LANES), np.uint32)
    words = np.empty((16, _LANES), np.uint32)
    for began in range(start, stop, _LANES):
        lanes = min(_LANES, stop - began)
        words[:] = 0
        for lane in range(lanes):
            first = ends[began + lane]
            size = ends[began + lane + 1] - first
            for place in range(size):
                words[place >> 2, lane] |= np.uint32(data[first + place]) << np.uint32(24 - 8 * (place & 3))
            words[size >> 2, lane] |= np.uint32(0x80) << np.uint32(24 - 8 * (size & 3))
            words[15, lane] = np.uint32(8 * (BLOCK + size))
        for level in range(2):
            for part in range(8):
                for lane in range(_LANES):
                    # What the first level found is the message of the second one.
                    if level == 1:
                        words[part, lane] = state[part, lane]
                        words[part + 8, lane] = 0
                    state[part, lane] = keys[level, part]
            if level == 1:
                for lane in range(_LANES):
                    words[8, lane] = np.uint32(0x80000000)
                    words[15, lane] = np.uint32(8 * (BLOCK + _SIZE))
            _add_block(state, words, work)
        for lane in range(lanes):
            for part in range(8):
                found[began + lane, part] = state[part, lane]


def state_after(block: bytes) -> NDArray[np.uint32]:
    """Return the state of SHA-256 after its first block of 64 bytes: uint32[8]."""
    words = np.frombuffer(block, ">u4").astype(np.uint32)[:, None]
    state = _FIRST[:, None].copy()
    _state_after(state, words)
    return state[:, 0]


def keyed_digests(
    data: NDArray[np.uint8], ends: NDArray[np.int64], keys: NDArray[np.uint32]
) -> NDArray[np.uint8]:
    """Return the HMAC-SHA-256 (RFC 2104) of texts of at most `LONGEST` bytes each: uint8[texts, 32].

    Parameters
    ----------
    data
        uint8[bytes]: the texts behind each other.
    ends
        int64[texts + 1]: where each begins, and where the last one ends.
    keys
        uint32[2, 8]: `state_after` the block of the inner and that of the outer key.
    """
    found = np.empty((len(ends) - 1, 8), np.uint32)
    over_ranges(_keyed_digests, np.arange(len(ends)), data, ends, keys, found)
    return found.astype(">u4").view(np.uint8)
