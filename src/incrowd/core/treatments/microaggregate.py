"""Microaggregation of a column or of several together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments._perturbing import Perturbing, decimals_of, strata_of, written_to
from incrowd.core.treatments.base import Batch, Distinct, Reads

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret


@dataclass(frozen=True)
class Microaggregate(Perturbing):
    """Replace numbers by the mean or median of a group of at least k records that are alike.

    Groups are made by MDAV, which takes the records farthest from the average first. One column is sorted
    before, so its groups are neighbours. To group by several columns together, name the others with
    `together` and give each of them the same treatment: columns are standardized, and rows with a missing
    value in one of them are left as missing.

    The whole column is needed at once, so it has to fit into memory. The time grows with the square of the
    number of records over k, where there are several columns.

    Parameters
    ----------
    k
        Records of a group, at least.
    together
        The other columns by which records are alike, with ``+`` between: ``income+savings``.
    within
        A column in whose groups is aggregated; it has to be released as it is.
    how
        ``mean``, or ``median``, which a few very large numbers do not move. The median of an odd number of
        records is the number of one of them.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> numbers = pl.Series([1.0, 9.0, 2.0, 8.0])
    >>> ic.Microaggregate(2).treat(ic.treatments.Batch(numbers, decided={"decimals": 1})).to_list()
    [1.5, 8.5, 1.5, 8.5]

    References
    ----------
    Domingo-Ferrer and Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation,
    Data Mining and Knowledge Discovery 11, 2005.
    """

    k: int = parameter("records of a group, at least", kind=int, low=2)
    together: str | None = parameter(
        "other columns by which records are alike, as income+savings", kind=str, optional=True
    )
    within: str | None = parameter("column in whose groups is aggregated", kind=str, optional=True)
    how: str = parameter(
        "the number of a group: its mean or median", kind=str, choices=("mean", "median"), default="mean"
    )

    name: ClassVar[str] = "microaggregate"
    summary: ClassVar[str] = "replaces numbers by the mean or median of k records that are alike (MDAV)"
    paper: ClassVar[str] = "Domingo-Ferrer and Torra 2005"
    unlinked: ClassVar[str] = "it has a way of its own: all columns have microaggregate with together"
    reads: ClassVar[Reads] = "number"
    is_random: ClassVar[bool] = False
    is_whole: ClassVar[bool] = True
    no_promise: ClassVar[str] = (
        "At least k records have each value of the columns that were grouped together; that is no "
        "k-anonymity of the table."
    )

    @property
    def promise(self) -> str:
        """Say that means or medians of groups replace the numbers."""
        beside = f", grouped together with {self.together}" if self.together else ""
        return f"is replaced by {self.how}s of at least {self.k} records that are alike{beside}"

    @property
    def _others(self) -> tuple[str, ...]:
        return tuple(self.together.split("+")) if self.together else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are grouped together, and the groups."""
        return (*self._others, *((self.within,) if self.within else ()))

    def reads_of(self, column: str) -> Reads:
        """Read the columns that are grouped together as numbers."""
        return "number" if column in self._others else "text"

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Decide how means are written."""
        if found.counts.sum() < self.k:
            raise ParameterError(
                f"column {found.column!r}: {self.name} needs {self.k} records with a value; there are fewer"
            )
        return {"decimals": min(decimals_of(found.values) + 1, 6)}

    def treat(self, batch: Batch) -> pl.Series:
        """Aggregate the rows."""
        columns = [batch.values, *(batch.beside[name] for name in self._others)]
        missing = pl.select(pl.any_horizontal(pl.lit(column).is_null() for column in columns)).to_series()
        points = np.column_stack([column.fill_null(0.0).to_numpy() for column in columns])
        centres = np.zeros(len(points))
        gone = missing.to_numpy()
        for group in strata_of(batch, self.within, batch.values):
            rows = group[~gone[group]]
            if 0 < len(rows) < self.k:
                raise ParameterError(
                    f"{self.name}: a group of {self.within} has fewer than {self.k} records; leave within out"
                )
            if len(rows):
                centres[rows] = self._centres(points[rows])
        numbers = pl.select(pl.when(~pl.lit(missing)).then(pl.lit(pl.Series(centres)))).to_series()
        return written_to(numbers, batch.decided["decimals"])

    def _centres(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean or median of each record's group in the first column."""
        if points.shape[1] == 1:
            order = np.argsort(points[:, 0], kind="stable")
            group = np.empty(len(points), np.int64)
            group[order] = np.minimum(np.arange(len(points)) // self.k, max(len(points) // self.k - 1, 0))
        else:
            from incrowd.core.kernels.clusters.groups import mdav_groups

            spread = points.std(axis=0)
            group = mdav_groups((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0), self.k)
        sizes = np.bincount(group)
        if self.how == "median":
            ranked = points[np.lexsort((points[:, 0], group)), 0]
            last = np.cumsum(sizes) - 1
            first = last - sizes + 1
            low, high = ranked[(first + last) // 2], ranked[(first + last + 1) // 2]
            centres: NDArray[np.float64] = low / 2 + high / 2
            return centres[group]
        return (np.bincount(group, points[:, 0]) / sizes)[group]
