"""Random choices: the seed and the data repeat them, and the seed alone undoes nothing."""

from __future__ import annotations

import hashlib

from incrowd.lazy import NDArray, np


def guarded_random(seed: int, *secrets: NDArray[np.generic]) -> np.random.Generator:
    """Return a generator that a seed and data determine together.

    A seed stands in policies and is often the default, so what it alone decides could be computed anew by
    whoever receives a release. Values of the table before recoding are mixed in, which only its owner has.

    Parameters
    ----------
    secrets
        Arrays that the receiver does not know.
    """
    digest = hashlib.sha256()
    for secret in secrets:
        digest.update(np.ascontiguousarray(secret).tobytes())
    return np.random.default_rng([seed, int.from_bytes(digest.digest(), "little")])
