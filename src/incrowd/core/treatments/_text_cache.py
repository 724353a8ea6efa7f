"""A cache of results for texts across batches of rows."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, local
from typing import NamedTuple, cast

from incrowd.core.lazy import NDArray, np, pl

KEPT = 1 << 20
"""Texts that are kept; with more, it begins anew."""
_NONE = -(1 << 63)


class _Table(NamedTuple):
    """Cached numbers by the texts' codes in a type of categories."""

    kind: pl.Series
    """A column of the type: as long as there is one, a text keeps its code."""
    numbers: NDArray[np.int64]


class Words:
    """Codes of texts that several `Kept` share, so that the texts of a batch are coded once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kind: pl.Series | None = None
        self._many = 0
        self._last = local()

    def __repr__(self) -> str:
        return f"Words({self._many} codes)"

    def kind(self) -> pl.Series:
        """Return the type of categories that codes texts, which is replaced when full."""
        with self._lock:
            if self._kind is None or self._many > KEPT:
                self._kind, self._many = pl.Series([], dtype=pl.Categorical(pl.Categories.random())), 0
            return self._kind

    def codes(self, texts: pl.Series, kind: pl.Series) -> NDArray[np.uint32]:
        """Return the codes of texts in a type, cached for the column of the last call."""
        last = getattr(self._last, "coded", None)
        if last is not None and last[0] is texts and last[1] is kind:
            return cast("NDArray[np.uint32]", last[2])
        # Never under the lock, since Polars may call back.
        codes = texts.cast(kind.dtype).to_physical().to_numpy()
        self._last.coded = texts, kind, codes
        with self._lock:
            if kind is self._kind and len(codes):
                self._many = max(self._many, int(codes.max()) + 1)
        return codes


class Kept:
    """A cache of a whole number for each text, computed when a batch first has the text.

    Several threads may ask. Two that meet a new text compute the same.

    Parameters
    ----------
    words
        The codes of texts, if others look at the same texts.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> lengths = Kept()
    >>> lengths.of(pl.Series(["Ann", "Bo"]), lambda new: new.str.len_bytes().cast(int).to_numpy())
    array([3, 2])
    >>> lengths.of(pl.Series(["Bo", "Eve"]), lambda new: print(new.to_list()) or np.array([3]))
    ['Eve']
    array([2, 3])
    """

    def __init__(self, words: Words | None = None) -> None:
        self._words = Words() if words is None else words
        self._lock = Lock()
        self._table: _Table | None = None
        self._first: tuple[pl.Series, NDArray[np.int64]] | None = None

    def of(self, texts: pl.Series, made: Callable[[pl.Series], NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the number of each text.

        Parameters
        ----------
        texts
            Distinct texts, none missing.
        made
            What gives the numbers of new ones.
        """
        if self._table is None and self._first is None:
            # There may be no second batch, as in memory.
            self._first = texts, made(texts)
            return self._first[1]
        kind = self._kind()
        first, self._first = self._first, None
        if first is not None:
            before = self._words.codes(first[0], kind)
            self._numbers(kind, before)
            self._keep(kind, before, first[1])
        codes = self._words.codes(texts, kind)
        numbers = self._numbers(kind, codes)
        new = np.flatnonzero(numbers == _NONE)
        if len(new):
            numbers[new] = made(texts.gather(new))
            self._keep(kind, codes[new], numbers[new])
        return numbers

    def _kind(self) -> pl.Series:
        """Return the current type of categories, and start an empty table if the type is new."""
        kind = self._words.kind()
        with self._lock:
            if self._table is None or self._table.kind is not kind:
                self._table = _Table(kind, np.empty(0, np.int64))
        return kind

    def _numbers(self, kind: pl.Series, codes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the cached numbers of codes."""
        with self._lock:
            table = self._table
            if table is None or table.kind is not kind:
                # Another thread has begun anew meanwhile.
                return np.full(len(codes), _NONE)
            size = int(codes.max()) + 1 if len(codes) else 0
            if size > len(table.numbers):
                numbers = np.full(max(size, 2 * len(table.numbers)), _NONE)
                numbers[: len(table.numbers)] = table.numbers
                table = self._table = _Table(kind, numbers)
            return table.numbers[codes]

    def _keep(self, kind: pl.Series, codes: NDArray[np.uint32], numbers: NDArray[np.int64]) -> None:
        with self._lock:
            if self._table is not None and self._table.kind is kind:
                self._table.numbers[codes] = numbers
