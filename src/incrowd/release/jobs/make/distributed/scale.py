"""The domains and totals of the whole table for the search of each block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incrowd.core.io.frames import without_negative_zero
from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.table.domain import Domain
from incrowd.core.table.sensitive import SensitiveCounts
from incrowd.engines.distinct import dictionary
from incrowd.engines.spark.errors import OTHER_VALUES

if TYPE_CHECKING:
    from incrowd.core.table.schema import Attribute
    from incrowd.release.jobs.make.distributed.people import WholePeople


@dataclass(frozen=True, eq=False)
class Coder:
    """A lookup of the ranks of a column's values, as Spark delivers the values.

    Attributes
    ----------
    values
        The values without the missing one, sorted: texts, or numbers as they are stored.
    ranks
        int32[values]: the rank of each.
    missing
        The rank of the missing value, -1 where none is missing.
    """

    values: Any
    ranks: NDArray[np.int32]
    missing: int

    @classmethod
    def of_values(cls, raw: pl.Series, ranks: NDArray[np.integer]) -> Coder:
        """Build the lookup from a series of distinct values and the rank of each."""
        plain = _plain_values(raw)
        has_value = plain.is_not_null().to_numpy()
        missing = ranks[~has_value]
        plain, ranks = plain.filter(pl.Series(has_value)), ranks[has_value]
        order = plain.arg_sort().to_numpy()
        plain = plain.gather(order)
        values = plain if plain.dtype == pl.String else plain.to_numpy()
        return cls(values, ranks[order].astype(np.int32), int(missing[0]) if len(missing) else -1)

    def codes(self, column: Any) -> NDArray[np.int32]:
        """Return the ranks of an Arrow column: int32[rows].

        Raises
        ------
        ValueError
            When a value was not there before.
        """
        plain = _plain_values(pl.Series(pl.from_arrow(column)))
        is_missing = plain.is_null().to_numpy()
        codes = np.full(len(plain), self.missing, np.int32)
        wrong = self.missing < 0 and bool(is_missing.any())
        live = plain.drop_nulls()
        if len(live) and not len(self.values):
            wrong = True
        elif len(live) and live.dtype == pl.String:
            # An Enum finds the place of a text without sorting or joining anything again.
            enum = self.__dict__.setdefault("_enum", pl.Enum(self.values))
            places = live.cast(enum, strict=False).to_physical()
            wrong |= places.null_count() > 0
            codes[~is_missing] = self.ranks[places.fill_null(0).to_numpy()]
        elif len(live):
            numbers = live.to_numpy()
            place = np.minimum(np.searchsorted(self.values, numbers), len(self.values) - 1)
            wrong |= bool((self.values[place] != numbers).any())
            codes[~is_missing] = self.ranks[place]
        if wrong:
            raise ValueError(OTHER_VALUES)
        return codes

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_enum"}


def _plain_values(series: pl.Series) -> pl.Series:
    """Convert values to text or stored numbers, with null for missing values."""
    kind = series.dtype
    if kind in (pl.String, pl.Boolean, pl.Null) or kind.is_decimal():
        return series.cast(pl.String)
    if kind.is_float():
        return without_negative_zero(series.fill_nan(None))
    return series.to_physical()


@dataclass(frozen=True, eq=False)
class TableStatistics:
    """Statistics of the whole table for recoding every block and judging every class.

    Attributes
    ----------
    quasi, sensitive
        The domain of each column.
    quasi_coders, sensitive_coders
        How to find the ranks of their values.
    totals
        Per sensitive attribute int64[size]: records of each value, suppressed ones included.
    records
        Records that have a key.
    suppressed
        Records suppressed before.
    people
        The people of the whole table, where columns name them.
    """

    quasi: tuple[Domain, ...]
    sensitive: tuple[Domain, ...]
    quasi_coders: tuple[Coder, ...]
    sensitive_coders: tuple[Coder, ...]
    totals: tuple[NDArray[np.int64], ...]
    records: int
    suppressed: int
    people: WholePeople | None = None

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.records + self.suppressed

    def counted(self, keys: Sequence[Counts]) -> tuple[SensitiveCounts, ...]:
        """Return counts per key of each sensitive attribute with the totals of the whole table."""
        return tuple(
            SensitiveCounts(domain, counts, totals)
            for domain, counts, totals in zip(self.sensitive, keys, self.totals, strict=True)
        )


def rank_values(
    attribute: Attribute, raw: pl.Series, counts: NDArray[np.integer], null_values: tuple[str, ...]
) -> tuple[Domain, Coder, NDArray[np.int64]]:
    """Rank the values of a column, given the distinct values and the number of rows of each."""
    distinct, codes = dictionary(raw, attribute.name, null_values)
    domain, ranks = Domain.build(attribute, distinct, null_values)
    of_raw = ranks[codes]
    return domain, Coder.of_values(raw, of_raw), np.bincount(of_raw, counts, domain.size).astype(np.int64)
