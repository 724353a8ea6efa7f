"""Random numbers of rows, derived from the row's position and a secret key that is not stored."""

from __future__ import annotations

import secrets

from incrowd.core.lazy import NDArray, np

_BLOCK = 4
"""Numbers that the generator makes per counter value."""


class Draws:
    """Random 64-bit numbers by row, the same whether rows come all at once or in pieces.

    Examples
    --------
    >>> draws = Draws()
    >>> bool((draws.numbers(0, 9)[5:] == draws.numbers(5, 9)).all())
    True
    """

    def __init__(self) -> None:
        self._key = secrets.randbits(128)
        self._base: tuple[Draws, NDArray[np.int64]] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def renewed(self, places: NDArray[np.int64] | None) -> Draws:
        """Return draws with new numbers for the rows at some positions, in order, or for all rows."""
        draws = Draws()
        draws._base = None if places is None else (self, places)
        return draws

    def numbers(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Return the random numbers of the rows from `start` to before `stop`: uint64[stop - start]."""
        first = start // _BLOCK
        raw = np.random.Philox(key=self._key, counter=first).random_raw(stop - first * _BLOCK)
        fresh: NDArray[np.uint64] = np.asarray(raw, np.uint64)[start - first * _BLOCK :]
        if self._base is None:
            return fresh
        before, places = self._base
        indices = places[slice(*np.searchsorted(places, (start, stop)))] - start
        numbers = before.numbers(start, stop)
        numbers[indices] = fresh[indices]
        return numbers
