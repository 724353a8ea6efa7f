"""Counts of the values of sensitive attributes, alone and in combination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from incrowd.core.errors import TableError
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.domain import Domain

if TYPE_CHECKING:
    from incrowd.core.kernels.grouping.counting import Counts

ELSEWHERE = "the rows of this table are not in memory, so its records cannot be parted"
"""The message where somebody asks for rows."""

Members = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The rows of each key, in the format of `group_members`."""


@dataclass(frozen=True, eq=False)
class SensitiveCounts:
    """Counts of a sensitive attribute's values.

    Attributes
    ----------
    domain
        The attribute's values.
    keys
        Counts per key of the frequency table.
    totals
        int64[domain.size]: counts in the whole table, suppressed records included.
    rows
        int[rows]: rank of each row's value; None where rows are not in memory.
    people
        People of the whole table, where values count once for each person; None where they count per record.
    by_number
        int64[domain.size]: people who have the number that each value writes, where values count once for
        each person and some write the same one, as 1 and 1.0; else None.
    by_part
        int64[parts]: people who have each part of the domain's lists, where values count once for each
        person and are lists; else None.
    """

    domain: Domain
    keys: Counts
    totals: NDArray[np.int64]
    rows: NDArray[np.integer] | None = None
    people: int | None = None
    by_number: NDArray[np.int64] | None = None
    by_part: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"SensitiveCounts({self.domain.name!r}, {self.domain.size:,} values)"

    @classmethod
    def of_rows(cls, grouped: Members, domain: Domain, ranks: NDArray[np.integer]) -> SensitiveCounts:
        """Count a column of ranks, int[rows], per key."""
        from incrowd.core.kernels.grouping.counting import row_counts
        from incrowd.core.kernels.grouping.grouping import group_sizes

        wide = ranks.astype(np.int32, copy=False)
        keys = row_counts(*grouped, wide, domain.size)
        return cls(domain, keys, group_sizes(wide, domain.size), ranks)

    @property
    def name(self) -> str:
        """The attribute."""
        return self.domain.name

    def rank_of_row(self) -> NDArray[np.integer]:
        """Return the rank of each row's value: int[rows].

        Raises
        ------
        TableError
            When the rows are not in memory.
        """
        if self.rows is None:
            raise TableError(ELSEWHERE)
        return self.rows

    def leaving(self, rows: NDArray[np.int64] | None) -> SensitiveCounts:
        """Return the counts with the totals of some keys alone, where each record counts.

        Parameters
        ----------
        rows
            The places of the rows of these keys; None where rows are not in memory.
        """
        totals = np.bincount(self.keys.codes, self.keys.counts, self.domain.size).astype(np.int64)
        ranks = None if self.rows is None or rows is None else self.rows[rows]
        return replace(self, totals=totals, rows=ranks)

    @property
    def everybody(self) -> int:
        """Denominator of a value's share: the records of the table, or the people."""
        return int(self.totals.sum()) if self.people is None else self.people

    @cached_property
    def part_totals(self) -> NDArray[np.int64]:
        """Records or people of the whole table with each part of the domain's lists: int64[parts]."""
        parts = self.domain.parts
        assert parts is not None, "only lists have parts"
        return parts.totals(self.totals) if self.by_part is None else self.by_part

    @property
    def present(self) -> int:
        """Number of distinct values that occur in the table."""
        return int(np.count_nonzero(self.totals))


@dataclass(frozen=True, eq=False)
class JointCounts:
    """Counts of the combinations of all sensitive attributes' values.

    Attributes
    ----------
    codes
        Per sensitive attribute the rank of its value in each combination: int32[combinations].
    keys
        Counts of the combinations per key of the frequency table.
    """

    codes: tuple[NDArray[np.int32], ...]
    keys: Counts

    @classmethod
    def of_rows(
        cls, grouped: Members, sensitive: Sequence[tuple[Domain, NDArray[np.integer]]]
    ) -> JointCounts:
        """Count the combinations of some columns of ranks, int[rows], per key."""
        from incrowd.core.kernels.grouping.counting import row_counts
        from incrowd.core.kernels.grouping.grouping import group_columns

        ranked = [ranks for _, ranks in sensitive]
        combination, first = group_columns(ranked, [domain.size for domain, _ in sensitive], len(ranked[0]))
        codes = tuple(ranks[first].astype(np.int32) for ranks in ranked)
        return cls(codes, row_counts(*grouped, combination, len(first)))

    def numbers(self, ranks: Sequence[NDArray[np.integer]]) -> NDArray[np.integer]:
        """Return the combination of each row, given the rank in each attribute: int[rows] each."""
        from incrowd.core.kernels.grouping.grouping import group_columns

        count = len(self.codes[0])
        columns = [
            np.concatenate((codes, row_ranks)) for codes, row_ranks in zip(self.codes, ranks, strict=True)
        ]
        sizes = [int(column.max(initial=0)) + 1 for column in columns]
        ids, _ = group_columns(columns, sizes, len(columns[0]))
        return ids[count:]

    def __repr__(self) -> str:
        return f"JointCounts({len(self.codes[0]) if self.codes else 0:,} combinations)"
