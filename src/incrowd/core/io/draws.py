"""Random numbers of rows, which follow from a row's place and a key that is kept nowhere."""

from __future__ import annotations

import secrets

from incrowd.core.lazy import NDArray, np

_BLOCK = 4
"""Numbers that the generator makes of one count."""


class Draws:
    """A random number of 64 bits for every row, however the rows come: all at once or in pieces.

    Examples
    --------
    >>> draws = Draws()
    >>> bool((draws.numbers(0, 9)[5:] == draws.numbers(5, 9)).all())
    True
    """

    def __init__(self) -> None:
        self._key = secrets.randbits(128)
        self._kept: tuple[Draws, NDArray[np.int64]] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def renewed(self, places: NDArray[np.int64] | None) -> Draws:
        """Return other random numbers: for the rows at some places, in order, or for all rows."""
        made = Draws()
        made._kept = None if places is None else (self, places)
        return made

    def numbers(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Return the random numbers of the rows from `start` to before `stop`: uint64[stop - start]."""
        first = start // _BLOCK
        made = np.random.Philox(key=self._key, counter=first).random_raw(stop - first * _BLOCK)
        found: NDArray[np.uint64] = np.asarray(made, np.uint64)[start - first * _BLOCK :]
        if self._kept is None:
            return found
        before, places = self._kept
        here = places[slice(*np.searchsorted(places, (start, stop)))] - start
        kept = before.numbers(start, stop)
        kept[here] = found[here]
        return kept
