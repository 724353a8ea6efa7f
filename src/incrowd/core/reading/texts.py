"""The texts of a column, turned into Python strings on the first read of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from incrowd.core.lazy import NDArray, np, pl


class Texts(Sequence[str]):
    """The texts of a Polars column without missing values.

    Counting needs only how many there are and how they are ordered. A million texts of Python take longer
    than all the rest.

    Parameters
    ----------
    column
        The values.
    write
        Returns the texts of such a column; without it, they are texts.

    Examples
    --------
    >>> import polars as pl
    >>> texts = Texts(pl.Series([1.5, 2.0]), lambda column: column.cast(pl.String))
    >>> len(texts), texts[0], list(texts)
    (2, '1.5', ['1.5', '2.0'])
    """

    def __init__(self, column: pl.Series, write: Callable[[pl.Series], pl.Series] | None = None) -> None:
        self._texts: pl.Series | list[str] = column
        self._write = write

    def __repr__(self) -> str:
        return f"Texts({len(self):,})"

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: Any) -> Any:
        """Return a text or a list of texts."""
        return self.made()[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.made())

    def made(self) -> list[str]:
        """Return the texts as Python texts, which replace the column."""
        texts = self._texts
        if not isinstance(texts, list):
            texts = self._written(texts).to_list()
            self._texts = texts
        return texts

    def column(self) -> pl.Series:
        """Return the texts as a column of Polars."""
        texts = self._texts
        return pl.Series(texts, dtype=pl.String) if isinstance(texts, list) else self._written(texts)

    def picked(self, places: NDArray[np.integer]) -> Sequence[str]:
        """Return the texts at some places."""
        texts = self._texts
        return picked(texts, places) if isinstance(texts, list) else Texts(texts.gather(places), self._write)

    def _written(self, column: pl.Series) -> pl.Series:
        return column if self._write is None else self._write(column)


def column_of(texts: Sequence[str]) -> pl.Series:
    """Return texts as a column of Polars."""
    return texts.column() if isinstance(texts, Texts) else pl.Series(texts, dtype=pl.String)


def picked(texts: Sequence[str], places: NDArray[np.integer]) -> Sequence[str]:
    """Return the texts at some places.

    Examples
    --------
    >>> import numpy as np
    >>> picked(["a", "b"], np.array([1, 0]))
    ['b', 'a']
    """
    return texts.picked(places) if isinstance(texts, Texts) else [texts[at] for at in places.tolist()]
