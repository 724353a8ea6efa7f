"""FrequencyTable: how often each combination of quasi-identifier values occurs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.domain import Domain
from incrowd.errors import SchemaError, TableError

if TYPE_CHECKING:
    from incrowd.kernels.counting import Counts

__all__ = ["FrequencyTable", "JointCounts", "PopulationCounts", "SensitiveCounts", "smallest_codes"]


def smallest_codes(codes: NDArray[np.integer], size: int) -> NDArray[np.unsignedinteger]:
    """Store codes below `size` in the smallest unsigned integers that fit."""
    for dtype in (np.uint8, np.uint16, np.uint32):
        if size - 1 <= np.iinfo(dtype).max:
            return np.ascontiguousarray(codes, dtype)
    raise TableError(f"a column with {size} distinct values is more than incrowd can count")


@dataclass(frozen=True, eq=False)
class SensitiveCounts:
    """Counts of one sensitive attribute's values.

    Attributes
    ----------
    domain
        The attribute's values.
    keys
        Counts per key of the frequency table.
    totals
        int64[domain.size]: counts in the whole table, suppressed records included.
    """

    domain: Domain
    keys: Counts
    totals: NDArray[np.int64]

    @property
    def name(self) -> str:
        """The attribute."""
        return self.domain.name

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


@dataclass(frozen=True, eq=False)
class PopulationCounts:
    """How many records of a population look like each key.

    Attributes
    ----------
    covered
        int64[keys]: records of the population that the key's cells cover.
    outside
        Records of the population that no key covers.
    records
        Records of the population.
    people
        The population itself, its quasi-identifiers as they are written, for searches that count anew what
        their own cells cover.
    """

    covered: NDArray[np.int64]
    outside: int
    records: int
    people: FrequencyTable | None = None


@dataclass(frozen=True, eq=False)
class FrequencyTable:
    """The distinct keys of a table with their weights: all that a search or a model ever sees.

    A key is a combination of quasi-identifier values. Records that were suppressed before (``*`` in
    every quasi-identifier) have no key.

    Attributes
    ----------
    domains
        The values of each quasi-identifier.
    codes
        Per quasi-identifier the rank of each key's value: uint[keys], in the smallest integers that fit.
    weights
        int64[keys]: records of each key, each > 0.
    sensitive
        Counts of each sensitive attribute.
    suppressed
        Number of records suppressed before.
    row_keys
        int32[rows]: key of each row, -1 for a suppressed one; None where rows are not in memory.
    joint
        Counts of the sensitive attributes' combinations, where they were asked for.
    population
        The population that the table is compared with, where there is one.
    """

    domains: tuple[Domain, ...]
    codes: tuple[NDArray[np.unsignedinteger], ...]
    weights: NDArray[np.int64]
    sensitive: tuple[SensitiveCounts, ...]
    suppressed: int = 0
    row_keys: NDArray[np.int32] | None = None
    joint: JointCounts | None = None
    population: PopulationCounts | None = None

    @property
    def keys(self) -> int:
        """Number of distinct keys."""
        return len(self.weights)

    @property
    def records(self) -> int:
        """Number of records that have a key."""
        return int(self.weights.sum())

    @property
    def rows(self) -> int:
        """Number of records, suppressed ones included."""
        return self.records + self.suppressed

    def __repr__(self) -> str:
        return (
            f"FrequencyTable({self.records} records, {self.keys} keys of "
            f"{', '.join(domain.name for domain in self.domains)})"
        )

    def totals(self, position: int) -> NDArray[np.int64]:
        """Return the records of each rank of a quasi-identifier, given its position: int64[size]."""
        counted = np.bincount(self.codes[position], self.weights, minlength=self.domains[position].size)
        return counted.astype(np.int64)

    def attribute(self, name: str) -> SensitiveCounts:
        """Return the counts of a sensitive attribute.

        Raises
        ------
        SchemaError
            When it is not among the sensitive attributes.
        """
        for counts in self.sensitive:
            if counts.name == name:
                return counts
        known = ", ".join(repr(counts.name) for counts in self.sensitive) or "none"
        raise SchemaError(f"{name!r} is not a sensitive attribute; those are: {known}")

    @classmethod
    def from_rows(
        cls,
        quasi: Sequence[tuple[Domain, NDArray[np.integer]]],
        sensitive: Sequence[tuple[Domain, NDArray[np.integer]]],
        suppressed: NDArray[np.bool_],
        *,
        joint: bool = False,
    ) -> FrequencyTable:
        """Count rows that are in memory.

        Parameters
        ----------
        quasi, sensitive
            Per attribute its domain and the rank of each row's value: int[rows].
        suppressed
            bool[rows]: rows that have no key; their quasi-identifier ranks are not looked at.
        joint
            Whether to count the sensitive attributes' combinations, too.
        """
        from incrowd.kernels.counting import Counts, class_counts
        from incrowd.kernels.grouping import group_columns, group_members

        rows = len(suppressed)
        kept = np.flatnonzero(~suppressed) if suppressed.any() else None
        columns = [smallest_codes(ranks, domain.size) for domain, ranks in quasi]
        if kept is not None:
            columns = [column[kept] for column in columns]
        ids, first = group_columns(
            columns, [domain.size for domain, _ in quasi], rows if kept is None else len(kept)
        )
        row_keys = ids
        if kept is not None:
            row_keys = np.full(rows, -1, np.int32)
            row_keys[kept] = ids
        weights = np.bincount(ids, minlength=len(first)).astype(np.int64)
        counted = []
        combined = None
        if sensitive:
            indptr, members = group_members(row_keys, len(first))
            each = np.arange(rows + 1, dtype=np.int64)
            ones = np.ones(rows, np.int64)
            for domain, ranks in sensitive:
                single = Counts(each, ranks.astype(np.int32, copy=False), ones)
                counts = class_counts(indptr, members, single, domain.size)
                totals = np.bincount(ranks, minlength=domain.size).astype(np.int64)
                counted.append(SensitiveCounts(domain, counts, totals))
            if joint:
                ranked = [ranks for _, ranks in sensitive]
                combination, place = group_columns(ranked, [domain.size for domain, _ in sensitive], rows)
                combined = JointCounts(
                    tuple(ranks[place].astype(np.int32) for ranks in ranked),
                    class_counts(indptr, members, Counts(each, combination, ones), len(place)),
                )
        return cls(
            domains=tuple(domain for domain, _ in quasi),
            codes=tuple(column[first] for column in columns),
            weights=weights,
            sensitive=tuple(counted),
            suppressed=0 if kept is None else rows - len(kept),
            row_keys=row_keys,
            joint=combined,
        )

    def to_records(self) -> list[dict[str, Any]]:
        """Return the keys as texts with their weights, for looking at small tables."""
        return [
            {
                **{
                    domain.name: domain.values[int(codes[key])]
                    for domain, codes in zip(self.domains, self.codes, strict=True)
                },
                "records": int(self.weights[key]),
            }
            for key in range(self.keys)
        ]
