"""Digests of many texts at once are those of the standard library."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest

from incrowd.kernels.sha256 import BLOCK, LONGEST, keyed_digests, state_after


def digests(key: bytes, texts: list[bytes]) -> list[bytes]:
    """What the kernel makes of texts."""
    block = (key if len(key) <= BLOCK else hashlib.sha256(key).digest()).ljust(BLOCK, b"\0")
    keys = np.stack([state_after(bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C)])
    ends = np.cumsum([0, *map(len, texts)])
    return [bytes(each) for each in keyed_digests(np.frombuffer(b"".join(texts), np.uint8), ends, keys)]


@pytest.mark.parametrize("rows", [0, 1, 127, 128, 129, 1_000, 70_000])
def test_digests_are_those_of_the_library(rows):
    rng = np.random.default_rng(rows)
    texts = [rng.bytes(size) for size in rng.integers(0, LONGEST + 1, rows)]
    for key in (b"", rng.bytes(32), rng.bytes(BLOCK), rng.bytes(131)):
        assert digests(key, texts) == [hmac.digest(key, text, "sha256") for text in texts]


def test_every_length_that_fits_one_block():
    texts = [b"\xff" * size for size in range(LONGEST + 1)]
    assert digests(b"Jefe", texts) == [hmac.digest(b"Jefe", text, "sha256") for text in texts]
