"""Texts of many values, which become texts of Python when somebody asks for one, and shapes of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from incrowd.lazy import NDArray, np, pl

_SHAPE = 24
"""Signs that a shape shows."""
_KEPT = frozenset(" -./:,;()[]{}@_#")
"""Signs that a shape keeps; every other one may be what a value says."""


class Texts(Sequence[str]):
    """The texts of a column of Polars, none of which is missing.

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
        self._held: pl.Series | list[str] = column
        self._write = write

    def __repr__(self) -> str:
        return f"Texts({len(self):,})"

    def __len__(self) -> int:
        return len(self._held)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: Any) -> Any:
        """Return one text, or some."""
        return self.made()[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.made())

    def made(self) -> list[str]:
        """Return the texts of Python, and keep them in place of the column."""
        held = self._held
        if not isinstance(held, list):
            held = self._written(held).to_list()
            self._held = held
        return held

    def column(self) -> pl.Series:
        """Return the texts as a column of Polars."""
        held = self._held
        return pl.Series(held, dtype=pl.String) if isinstance(held, list) else self._written(held)

    def picked(self, places: NDArray[np.integer]) -> Sequence[str]:
        """Return the texts at some places."""
        held = self._held
        return picked(held, places) if isinstance(held, list) else Texts(held.gather(places), self._write)

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
    return texts.picked(places) if isinstance(texts, Texts) else [texts[place] for place in places.tolist()]


def shape_of(text: str) -> str:
    """Return the shape of a text: ``A`` and ``a`` for letters, ``9`` for digits; empty where it has neither.

    Examples
    --------
    >>> shape_of("KX-204"), shape_of("2021-07-30"), shape_of("Ann Lee"), shape_of("+")
    ('AA-999', '9999-99-99', 'Aaa Aaa', '')
    """
    if not any(sign.isalnum() for sign in text):
        return ""
    shape = "".join(
        "9" if sign.isdigit()
        else ("A" if sign.isupper() else "a") if sign.isalnum()
        else sign if sign in _KEPT
        else "." for sign in text[: _SHAPE + 1]
    )  # fmt: skip
    return shape if len(shape) <= _SHAPE else shape[: _SHAPE - 3] + "..."
