"""Columns by their distinct values, which are found once for all treatments of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar, cast

from incrowd.lazy import NDArray, np, pl

T = TypeVar("T")


class Coded(NamedTuple):
    """A column by its distinct values.

    Attributes
    ----------
    distinct
        Its values in the order in which they are met; missing is one. After `read` some may be equal.
    codes
        int32[rows]: which of them each row has.
    """

    distinct: pl.Series
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, values: pl.Series) -> Coded:
        """Find the distinct values of a column."""
        from incrowd.io.numbering import numbered

        codes, first = numbered(values.to_frame())
        return cls(values.gather(first), codes)

    def rows(self) -> pl.Series:
        """Return the column."""
        return self.distinct.gather(self.codes)

    def read(self, made: Callable[[pl.Series], pl.Series]) -> Coded:
        """Make something of each distinct value; missing ones stay missing.

        Examples
        --------
        >>> import polars as pl
        >>> column = Coded.of(pl.Series(["ab", None, "ab"]))
        >>> column.read(lambda known: known.str.to_uppercase()).rows().to_list()
        ['AB', None, 'AB']
        """
        known = self.distinct.is_not_null()
        if known.all():
            return Coded(made(self.distinct), self.codes)
        found = made(self.distinct.filter(known))
        return Coded(found.gather((known.cum_sum() - 1).set(~known, None)), self.codes)

    def each(self, made: Callable[[pl.Series], pl.Series]) -> pl.Series:
        """Return the result of `read`, row by row."""
        return self.read(made).rows()


class Codes:
    """A cache of results about some rows, for all treatments that read them.

    Examples
    --------
    >>> codes = Codes()
    >>> [codes.once("sum", lambda: print("adding") or sum([1, 2])) for _ in range(2)]
    adding
    [3, 3]
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}
        self._offered: dict[str, Callable[[], Coded]] = {}

    def __repr__(self) -> str:
        return f"Codes({len(self._found)} found)"

    def of(self, name: str, column: pl.Series) -> Coded:
        """Return a column of the rows by its distinct values."""
        return self.once(("column", name), lambda: Coded.of(column))

    def offer_texts(self, name: str, find: Callable[[], Coded]) -> None:
        """Say how the texts of a column are found sooner than from its rows, should somebody want them."""
        self._offered.setdefault(name, find)

    def texts(self, name: str, column: pl.Series) -> Coded:
        """Return a column that was read as texts by its distinct values."""
        return self.once(("texts", name), self._offered.get(name) or (lambda: Coded.of(column)))

    def once(self, what: Hashable, find: Callable[[], T]) -> T:
        """Return the cached result, or compute it now.

        Parameters
        ----------
        what
            What it is; whoever means the same gets the same.
        """
        if what not in self._found:
            self._found[what] = find()
        return cast(T, self._found[what])


def whose(columns: list[pl.Series]) -> pl.Series:
    """Write columns as one text, different for different values; missing where all are."""
    if len(columns) == 1:
        return columns[0]
    parts = [
        pl.when(pl.lit(each).is_null())
        .then(pl.lit("-"))
        .otherwise(pl.format("{}:{}", pl.lit(each).str.len_bytes(), pl.lit(each)))
        for each in columns
    ]
    gone = pl.all_horizontal(pl.lit(each).is_null() for each in columns)
    return pl.select(pl.when(~gone).then(pl.concat_str(parts, separator=","))).to_series()
