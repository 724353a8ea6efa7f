"""The distinct values of columns, which all treatments of the same rows share."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar, cast

from incrowd.core.lazy import NDArray, np, pl

T = TypeVar("T")


class Coded(NamedTuple):
    """A column as distinct values and codes.

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
    def of_values(cls, values: pl.Series) -> Coded:
        """Return a column as distinct values and codes."""
        from incrowd.core.io.frames import numbered

        codes, first = numbered(values.to_frame())
        return cls(values.gather(first), codes)

    def rows(self) -> pl.Series:
        """Return the column."""
        return self.distinct.gather(self.codes)

    def read(self, made: Callable[[pl.Series], pl.Series]) -> Coded:
        """Map each distinct value by a function, leaving missing values missing.

        Examples
        --------
        >>> import polars as pl
        >>> column = Coded.of_values(pl.Series(["ab", None, "ab"]))
        >>> column.read(lambda known: known.str.to_uppercase()).rows().to_list()
        ['AB', None, 'AB']
        """
        present = self.distinct.is_not_null()
        if present.all():
            return Coded(made(self.distinct), self.codes)
        mapped = made(self.distinct.filter(present))
        return Coded(mapped.gather((present.cum_sum() - 1).set(~present, None)), self.codes)

    def each(self, made: Callable[[pl.Series], pl.Series]) -> pl.Series:
        """Return the result of `read`, row by row."""
        return self.read(made).rows()


class Codes:
    """A cache of results about rows, shared by all treatments of the same rows.

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
        """Return the distinct values and codes of a column of the rows."""
        return self.once(("column", name), lambda: Coded.of_values(column))

    def offer_texts(self, name: str, find: Callable[[], Coded]) -> None:
        """Offer a faster way to compute the distinct texts of a column, which is used on demand."""
        self._offered.setdefault(name, find)

    def texts(self, name: str, column: pl.Series) -> Coded:
        """Return the distinct values and codes of a column read as texts."""
        return self.once(("texts", name), self._offered.get(name) or (lambda: Coded.of_values(column)))

    def once(self, what: Hashable, find: Callable[[], T]) -> T:
        """Return the cached result, or compute and cache the result.

        Parameters
        ----------
        what
            The cache key.
        """
        if what not in self._found:
            self._found[what] = find()
        return cast(T, self._found[what])
