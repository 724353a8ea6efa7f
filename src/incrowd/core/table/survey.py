"""Survey roles of rows: the sampling weight and the household."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import SchemaError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.spellings import read_spelled, refuse_unclear_points

if TYPE_CHECKING:
    from incrowd.core.table.schema import Attribute

UNIT = 1_000_000
"""Sampling weights are counted in millionths, so that sums are exact in whatever order rows come."""
_LARGEST = 1e12


@dataclass(frozen=True, eq=False)
class Sampling:
    """People of the population that the rows of each key stand for, in millionths of a person.

    Attributes
    ----------
    column
        The column of sampling weights.
    keys
        int64[keys]: sums of weights.
    suppressed
        Sum of the weights of rows without a key.
    of_row
        int64[rows]: weight of each row; None where rows are not in memory.
    """

    column: str
    keys: NDArray[np.int64]
    suppressed: int
    of_row: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"Sampling({self.column!r}, {self.people:,.6g} people)"

    @classmethod
    def of_weights(
        cls,
        column: str,
        key: NDArray[np.integer],
        weights: NDArray[np.int64],
        keys: int,
        *,
        rows: NDArray[np.int64] | None = None,
    ) -> Sampling:
        """Add up weights per key.

        Parameters
        ----------
        key
            int[n]: key of each row, or of each group of rows with one weight; -1 for a suppressed one.
        weights
            int64[n]: weight of each of them.
        rows
            int64[n]: rows of each group; None where these are the rows of a table in memory.

        Raises
        ------
        SchemaError
            When the rows stand for more people than there can be.
        """
        times = np.ones(len(weights), np.int64) if rows is None else rows
        if weights.astype(np.float64) @ times > _LARGEST * UNIT:
            raise SchemaError(
                f"column {column!r} has the role weight, and its rows stand for more than 10^12 people; a "
                "weight says how many people a row stands for"
            )
        sums = weights * times
        live = key >= 0
        totals = np.zeros(keys, np.int64)
        np.add.at(totals, key[live], sums[live])
        return cls(column, totals, int(sums[~live].sum()), weights if rows is None else None)

    @property
    def people(self) -> float:
        """People that all rows stand for."""
        return (int(self.keys.sum()) + self.suppressed) / UNIT

    def mean(self, values: NDArray[np.float64], suppressed: float) -> float:
        """Return the mean over people of a value by key, float64[keys], with another for suppressed rows."""
        total = int(self.keys.sum()) + self.suppressed
        return float(self.keys @ values + self.suppressed * suppressed) / total

    def by_record(self, rows: NDArray[np.integer]) -> Sampling:
        """Return the weights with every record as a key, given the numbers of the rows with a key."""
        assert self.of_row is not None
        return replace(self, keys=self.of_row[rows])

    def moved(self, key: NDArray[np.integer], keys: int) -> Sampling:
        """Return the weights by new keys, given the new key of each: int[keys], -1 for a suppressed key."""
        live = key >= 0
        totals = np.zeros(keys, np.int64)
        np.add.at(totals, key[live], self.keys[live])
        return replace(
            self, keys=totals, suppressed=self.suppressed + int(self.keys[~live].sum()), of_row=None
        )


@dataclass(frozen=True, eq=False)
class Households:
    """Households by key, with an entry for each group of rows of the same household and key.

    Attributes
    ----------
    columns
        The columns that say which household a row belongs to.
    key
        int[entries]: key of the rows, -1 for suppressed ones.
    home
        int[entries]: number of the household, from 0 without gaps; -1 where each of the rows is a household
        of its own.
    rows
        int64[entries]: how many rows these are.
    member
        int[entries]: number of the person, -1 where each row is one; None where all rows are people.
    unnamed
        Rows without a household.
    """

    columns: tuple[str, ...]
    key: NDArray[np.integer]
    home: NDArray[np.integer]
    rows: NDArray[np.int64]
    member: NDArray[np.integer] | None
    unnamed: int

    def __repr__(self) -> str:
        return f"Households({self.households:,} by {', '.join(self.columns)})"

    @classmethod
    def of_rows(
        cls,
        columns: tuple[str, ...],
        key: NDArray[np.integer],
        home: NDArray[np.integer],
        rows: NDArray[np.int64],
        member: NDArray[np.integer] | None = None,
    ) -> Households:
        """Build entries from rows, or from groups of equal rows.

        A person without a household is one, and so is each row without a household and person.
        """
        missing = home < 0
        unnamed = int(rows[missing].sum())
        if member is not None and (missing & (member >= 0)).any():
            alone = np.flatnonzero(missing & (member >= 0))
            home = home.astype(np.int64)
            _, numbers = np.unique(member[alone], return_inverse=True)
            home[alone] = int(home.max(initial=-1)) + 1 + numbers
        return cls(columns, key, home, rows, member, unnamed)

    @property
    def households(self) -> int:
        """Number of households."""
        return int(self.home.max(initial=-1)) + 1 + int(self.rows[self.home < 0].sum())

    def risks(
        self, risk: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Return 1 - product of (1 - r) over the members of each household.

        Parameters
        ----------
        risk
            float64[keys]: the risk r of a row, or of a person by this key. A person has the largest of
            theirs, a suppressed row has none.

        Returns
        -------
        risks, times, rows
            float64[n] and int64[n] twice: a risk, how many households have it, and how many rows these have.
        """
        each = np.append(risk, 0.0)[self.key]
        has_home = self.home >= 0
        hidden = np.zeros(int(self.home.max(initial=-1)) + 1)
        single = has_home if self.member is None else has_home & (self.member < 0)
        # A risk of 1 has the logarithm of nothing left: minus infinity.
        with np.errstate(divide="ignore"):
            home, logs = self.home[single], self.rows[single] * np.log1p(-each[single])
            if self.member is not None:
                of, worst = self._worst_by_member(has_home & (self.member >= 0), each)
                home, logs = np.concatenate((home, of)), np.concatenate((logs, np.log1p(-worst)))
        # Added up by size, the sums are the same in whatever order rows come.
        order = np.argsort(logs)
        np.add.at(hidden, home[order], logs[order])
        risks = np.concatenate((-np.expm1(hidden), each[~has_home]))
        alone, rows = self.rows[~has_home], np.zeros(len(hidden), np.int64)
        np.add.at(rows, self.home[has_home], self.rows[has_home])
        times = np.concatenate((np.ones(len(hidden), np.int64), alone))
        return risks, times, np.concatenate((rows, alone))

    def _worst_by_member(
        self, chosen: NDArray[np.bool_], each: NDArray[np.float64]
    ) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
        """Return the household and the largest risk of each member of a household."""
        from incrowd.core.kernels.grouping.grouping import group_columns

        assert self.member is not None
        home, member = self.home[chosen], self.member[chosen]
        sizes = [int(column.max(initial=0)) + 1 for column in (home, member)]
        ids, first = group_columns([home, member], sizes, len(home))
        worst = np.zeros(len(first))
        np.maximum.at(worst, ids, each[chosen])
        return home[first], worst

    def by_record(self, row_keys: NDArray[np.integer]) -> Households:
        """Return the households with every record as a key, where entries are rows."""
        return replace(self, key=row_keys)

    def moved(self, key: NDArray[np.integer]) -> Households:
        """Return the households by new keys, given each key's new key: int[keys], -1 if suppressed."""
        return replace(self, key=np.append(key, -1)[self.key])

    def leaving(self, number: NDArray[np.integer]) -> Households:
        """Return the households without the rows of some keys.

        Parameters
        ----------
        number
            int[keys + 1]: the new number of each key, -1 where its rows are gone; the last is of suppressed
            rows.
        """
        live = np.flatnonzero(number[self.key] >= 0)
        home, rows = self.home[live].astype(np.int64), self.rows[live]
        home[home >= 0] = np.unique(home[home >= 0], return_inverse=True)[1]
        member = None if self.member is None else self.member[live]
        unnamed = min(self.unnamed, int(rows.sum()))
        return replace(self, key=number[self.key[live]], home=home, rows=rows, member=member, unnamed=unnamed)


class Survey(NamedTuple):
    """Weights and households of a table's rows, None where no column has the role."""

    sampling: Sampling | None = None
    households: Households | None = None


def read_weights(
    values: pl.Series, attribute: Attribute, rows: NDArray[np.integer] | None = None
) -> NDArray[np.int64]:
    """Read sampling weights in millionths: int64[values], each at least 1.

    Parameters
    ----------
    values
        The column, or its distinct values; missing ones are null.
    rows
        int[values]: how many rows have each value; None for one each.

    Raises
    ------
    SchemaError
        When a row has no number above 0.
    """
    if attribute.spelling and values.dtype == pl.String:
        values = _read_spelled(values, attribute)
    refuse_unclear_points(values, attribute.name)
    textual = values.dtype == pl.String
    if not (textual or values.dtype.is_numeric()):
        raise SchemaError(
            f"column {attribute.name!r} has the role weight and is of type {values.dtype}; sampling weights "
            "are numbers"
        )
    numbers = values.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    wrong = ~(np.isfinite(numbers) & (numbers > 0))
    amount = int(np.count_nonzero(wrong) if rows is None else rows[wrong].sum())
    if amount:
        raise SchemaError(
            f"column {attribute.name!r} has the role weight, and {amount:,} rows have no number above 0 "
            "there; give every row the number of people that it stands for, or give the column another role"
        )
    millionths = np.rint(np.where(wrong, 1, np.minimum(numbers, _LARGEST)) * UNIT)
    weights: NDArray[np.int64] = np.maximum(millionths, 1).astype(np.int64)
    return weights


def _read_spelled(values: pl.Series, attribute: Attribute) -> pl.Series:
    """Convert texts of numbers by the column's spelling."""
    distinct = values.drop_nulls().unique()
    _, numbers, places = read_spelled(distinct.to_list(), attribute.spelling, attribute.name)
    return values.replace_strict(
        distinct, pl.Series(numbers[places], dtype=pl.Float64), default=None, return_dtype=pl.Float64
    )
