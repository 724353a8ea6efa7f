"""The values of a quasi-identifier in each class."""

from __future__ import annotations

from typing import NamedTuple

from incrowd.lazy import NDArray, np


class QuasiValues(NamedTuple):
    """The values of a quasi-identifier in each class: int[classes] each.

    ``lo`` and ``hi`` are the smallest and largest rank, ``most`` the records of the most frequent value, and
    ``distinct`` the number of values.
    """

    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    most: NDArray[np.int64]
    distinct: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"QuasiValues({len(self.lo):,} classes)"
