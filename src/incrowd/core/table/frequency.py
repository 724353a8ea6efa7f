"""FrequencyTable: how often each combination of quasi-identifier values occurs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from incrowd.core.errors import SchemaError, TableError, those_are
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.domain import Domain
from incrowd.core.table.people import ListedPeople, PersonRows, count_people
from incrowd.core.table.sensitive import ELSEWHERE, JointCounts, Members, SensitiveCounts
from incrowd.core.table.survey import Sampling, Survey

_NO_MEMBERS: Members = (np.zeros(1, np.int64), np.zeros(0, np.int64))
"""Where nothing is counted per key."""


def smallest_codes(codes: NDArray[np.integer], size: int) -> NDArray[np.unsignedinteger]:
    """Convert codes below `size` to the smallest unsigned integers that fit."""
    for dtype in (np.uint8, np.uint16, np.uint32):
        if size - 1 <= np.iinfo(dtype).max:
            return np.ascontiguousarray(codes, dtype)
    raise TableError(f"a column with {size} distinct values is more than incrowd can count")


@dataclass(frozen=True, eq=False)
class PopulationCounts:
    """Records of a population that match each key.

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
    weights
        The column of sampling weights by which it is estimated, if no population was given. `covered` and
        `outside` are millionths of people then.
    """

    covered: NDArray[np.int64]
    outside: int
    records: int
    people: FrequencyTable | None = None
    weights: str | None = None

    @classmethod
    def estimated(cls, sampling: Sampling) -> PopulationCounts:
        """Estimate the population of every key by sampling weights."""
        return cls(sampling.keys, sampling.suppressed, int(sampling.people), weights=sampling.column)

    def __repr__(self) -> str:
        return f"PopulationCounts({self.records:,} records)"


@dataclass(frozen=True, eq=False)
class People:
    """The people of a table.

    Attributes
    ----------
    columns
        The columns that name a person; none where no column does.
    number
        Number of people, those included of whom every row is suppressed.
    unnamed
        Rows without a person; each counts as a person of its own.
    of_row
        int32[rows]: number of each row's person, -1 where it is missing; None where rows are not in memory.
    table
        The keys of the table with people in place of records; None where nobody has a second row. Its
        weights, counts and totals are of people. Those whose rows are not all alike are `listed` there, and
        are in no weight.
    listed
        Set in such a table of people alone.
    """

    columns: tuple[str, ...] = ()
    number: int = 0
    unnamed: int = 0
    of_row: NDArray[np.int32] | None = None
    table: FrequencyTable | None = None
    listed: ListedPeople | None = None

    @cached_property
    def most_rows(self) -> int | None:
        """Most rows of a person, or None if rows are not in memory."""
        if self.of_row is None:
            return None
        return int(np.bincount(self.of_row[self.of_row >= 0]).max(initial=1))

    def __repr__(self) -> str:
        return f"People({self.number:,} by {', '.join(self.columns)})"


@dataclass(frozen=True, eq=False)
class FrequencyTable:
    """The distinct keys of a table with weights, which are all that a search or a model reads.

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
    target
        Counts of the column that a release is to predict, where an algorithm asked for them.
    in_order
        Whether keys stand in the order of their first row. If not, they stand in the order of their values,
        because the rows of a database have no order.
    people
        Its people, where columns name them.
    survey
        How many people the rows of each key stand for, and who lives together, where columns say so.
    """

    domains: tuple[Domain, ...]
    codes: tuple[NDArray[np.unsignedinteger], ...]
    weights: NDArray[np.int64]
    sensitive: tuple[SensitiveCounts, ...]
    suppressed: int = 0
    row_keys: NDArray[np.int32] | None = None
    joint: JointCounts | None = None
    population: PopulationCounts | None = None
    target: SensitiveCounts | None = None
    in_order: bool = True
    people: People = field(default_factory=People)
    survey: Survey = field(default_factory=Survey)

    @property
    def counted(self) -> FrequencyTable:
        """The table as models count records: with people where a column names people."""
        if self.people.table is None:
            return self
        return replace(
            self.people.table, population=self.population, survey=Survey(households=self.survey.households)
        )

    def key_of_row(self, job: str) -> NDArray[np.int32]:
        """Return the key of each row: int32[rows], -1 for a suppressed row.

        Parameters
        ----------
        job
            What needs it, for the error.

        Raises
        ------
        TableError
            When the rows are not in memory.
        """
        if self.row_keys is None:
            raise TableError(
                f"{job} goes row by row, and these rows are not in memory; give a frame or one file: "
                "collect a lazy frame, fetch the rows of a database or of Spark"
            )
        return self.row_keys

    @property
    def keys(self) -> int:
        """Number of distinct keys."""
        return len(self.weights)

    @property
    def records(self) -> int:
        """Number of records with a key, or in a table of people the number of people with a key."""
        return int(self.weights.sum()) + (0 if self.people.listed is None else self.people.listed.people)

    @property
    def unit(self) -> str:
        """The unit of counts, for sentences: records, or people."""
        return "records" if self.people.listed is None else "people"

    @property
    def rows(self) -> int:
        """Number of records, including suppressed records."""
        return self.records + self.suppressed

    def __repr__(self) -> str:
        return (
            f"FrequencyTable({self.records} records, {self.keys} keys of "
            f"{', '.join(domain.name for domain in self.domains)})"
        )

    def _repr_html_(self) -> str:
        """Return HTML with the number of values per column, without any value."""
        from incrowd.core.markup import table

        rows = [(domain.name, "quasi-identifier", domain.size) for domain in self.domains]
        rows += [(counts.name, "sensitive", counts.present) for counts in self.sensitive]
        caption = f"{self.records:,} records, {self.keys:,} keys, {self.suppressed:,} suppressed before"
        return table(caption, ("column", "role", "distinct values"), rows)

    def totals(self, position: int) -> NDArray[np.int64]:
        """Return the records of each rank of a quasi-identifier, given by position: int64[size]."""
        return self._totals[position]

    @cached_property
    def _totals(self) -> list[NDArray[np.int64]]:
        """The `totals` of all quasi-identifiers, cached because searches and metrics read totals often."""
        weights = self.weights.astype(np.float64)
        return [
            np.bincount(codes, weights, minlength=domain.size).astype(np.int64)
            for codes, domain in zip(self.codes, self.domains, strict=True)
        ]

    @cached_property
    def combinations(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The combination of values of each key, int32[keys], and the records of each combination.

        They are the keys, unless keys share their values, as those of `by_record` may.
        """
        from incrowd.core.kernels.grouping.grouping import group_columns

        ids, first = group_columns(self.codes, [domain.size for domain in self.domains], self.keys)
        return ids, np.bincount(ids, self.weights, len(first)).astype(np.int64)

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
        hint = those_are((counts.name for counts in self.sensitive), name)
        raise SchemaError(f"{name!r} is not a sensitive attribute; {hint}")

    @classmethod
    def from_rows(
        cls,
        quasi: Sequence[tuple[Domain, NDArray[np.integer]]],
        sensitive: Sequence[tuple[Domain, NDArray[np.integer]]],
        suppressed: NDArray[np.bool_],
        *,
        joint: bool = False,
        target: tuple[Domain, NDArray[np.integer]] | None = None,
    ) -> FrequencyTable:
        """Count rows in memory.

        Parameters
        ----------
        quasi, sensitive, target
            Per attribute its domain and the rank of each row's value: int[rows].
        suppressed
            bool[rows]: rows that have no key; their quasi-identifier ranks are not looked at.
        joint
            Whether to count the sensitive attributes' combinations, too.
        """
        from incrowd.core.kernels.grouping.grouping import group_columns, group_members, group_sizes

        rows = len(suppressed)
        live = np.flatnonzero(~suppressed) if suppressed.any() else None
        columns = [smallest_codes(ranks, domain.size) for domain, ranks in quasi]
        if live is not None:
            columns = [column[live] for column in columns]
        ids, first = group_columns(
            columns, [domain.size for domain, _ in quasi], rows if live is None else len(live)
        )
        row_keys = ids
        if live is not None:
            row_keys = np.full(rows, -1, np.int32)
            row_keys[live] = ids
        listed = bool(sensitive) or target is not None
        grouped = group_members(row_keys, len(first)) if listed else _NO_MEMBERS
        weights = np.diff(grouped[0]) if listed else group_sizes(ids, len(first))
        return cls(
            domains=tuple(domain for domain, _ in quasi),
            codes=tuple(column[first] for column in columns),
            weights=weights,
            sensitive=tuple(SensitiveCounts.of_rows(grouped, *column) for column in sensitive),
            suppressed=0 if live is None else rows - len(live),
            row_keys=row_keys,
            joint=JointCounts.of_rows(grouped, sensitive) if joint and sensitive else None,
            target=None if target is None else SensitiveCounts.of_rows(grouped, *target),
        )

    def with_sampling(self, sampling: Sampling) -> FrequencyTable:
        """Return the table with sampling weights, which estimate the population."""
        survey = self.survey._replace(sampling=sampling)
        return replace(self, survey=survey, population=PopulationCounts.estimated(sampling))

    @property
    def in_people(self) -> FrequencyTable:
        """The keys weighted by the estimated people, in millionths, instead of records.

        Only where a column holds sampling weights. Sensitive values are still counted by records.
        """
        sampling = self.survey.sampling
        assert sampling is not None
        return replace(self, weights=sampling.keys, suppressed=sampling.suppressed)

    def by_record(self) -> FrequencyTable:
        """Return the same table with a key of weight 1 for every record, in the order of the rows.

        Algorithms that may part records with the same quasi-identifiers work on it. It knows no
        population but one that is estimated, because one person could not be counted for several keys.

        Raises
        ------
        TableError
            When the rows are not in memory.
        """
        if self.row_keys is None:
            raise TableError(ELSEWHERE)
        from incrowd.core.kernels.grouping.grouping import group_members

        live = np.flatnonzero(self.row_keys >= 0)
        key = self.row_keys[live]
        row_keys = np.full(len(self.row_keys), -1, np.int32)
        row_keys[live] = np.arange(len(live), dtype=np.int32)
        grouped = group_members(row_keys, len(live))

        def again(counts: SensitiveCounts) -> SensitiveCounts:
            return SensitiveCounts.of_rows(grouped, counts.domain, counts.rank_of_row())

        sensitive = [(counts.domain, counts.rank_of_row()) for counts in self.sensitive]
        sampling, homes = self.survey
        homes = None if homes is None else homes.by_record(row_keys)
        records = replace(
            self,
            codes=tuple(codes[key] for codes in self.codes),
            weights=np.ones(len(live), np.int64),
            sensitive=tuple(again(counts) for counts in self.sensitive),
            row_keys=row_keys,
            joint=None if self.joint is None else JointCounts.of_rows(grouped, sensitive),
            population=None,
            target=None if self.target is None else again(self.target),
            people=replace(self.people, table=None),
            survey=self.survey._replace(households=homes),
        )
        if sampling is not None:
            records = records.with_sampling(sampling.by_record(live))
            if self.population is None or self.population.weights is None:
                records = replace(records, population=None)
        if self.people.table is None or self.people.of_row is None:
            return records
        return records.with_people(self.people.of_row, self.people.columns)

    def with_people(self, person: NDArray[np.int32], columns: tuple[str, ...]) -> FrequencyTable:
        """Return the table with people counted, given rows in memory.

        Parameters
        ----------
        person
            int32[rows]: number of each row's person, from 0 without gaps; -1 where it is missing.
        columns
            The columns that name a person.
        """
        return self.with_person_rows(_rows_of(self, person), columns)

    def with_person_rows(
        self, rows: PersonRows, columns: tuple[str, ...], *, several: bool | None = None
    ) -> FrequencyTable:
        """Return the table with people counted, given rows or groups of equal rows.

        Parameters
        ----------
        several
            As in `with_listed`.
        """
        listed, rest = rows.parted()
        unnamed = int(rest[0].amount.sum())
        of_row = None if self.row_keys is None else rows.person.astype(np.int32)
        people = People(columns, int(rows.person.max(initial=-1)) + 1 + unnamed, unnamed, of_row)
        return self.with_listed(people, listed, rest, several=several)

    def with_listed(
        self,
        people: People,
        listed: PersonRows,
        others: Sequence[PersonRows],
        *,
        several: bool | None = None,
    ) -> FrequencyTable:
        """Return the table with people counted, only some of whom are listed (see `count_people`).

        Parameters
        ----------
        several
            Whether to count people although nobody has a second row; None to look at their number.
        """
        if several is None:
            several = people.number < self.rows
        table = _count_as_people(self, people, listed, others) if several else None
        return replace(self, people=replace(people, table=table))

    def only(self, mask: NDArray[np.bool_]) -> FrequencyTable:
        """Return some of the keys, without the rows of the others and with the totals of the whole table.

        Parameters
        ----------
        mask
            bool[keys]
        """
        from incrowd.core.kernels.grouping.counting import picked

        keys = np.flatnonzero(mask)
        population, people = self.population, self.people
        listed = people.listed
        if listed is not None:
            listed = listed.rolled(np.arange(len(keys) + 1, dtype=np.int64), keys)
        table = None if people.table is None else people.table.only(mask)
        return replace(
            self,
            codes=tuple(codes[keys] for codes in self.codes),
            weights=self.weights[keys],
            sensitive=tuple(
                replace(counts, keys=picked(counts.keys, keys), rows=None) for counts in self.sensitive
            ),
            suppressed=0,
            row_keys=None,
            joint=None if self.joint is None else replace(self.joint, keys=picked(self.joint.keys, keys)),
            population=None
            if population is None
            else replace(
                population,
                covered=population.covered[keys],
                outside=population.outside + int(population.covered[~mask].sum()),
            ),
            target=None
            if self.target is None
            else replace(self.target, keys=picked(self.target.keys, keys), rows=None),
            people=replace(people, table=table, listed=listed),
            survey=Survey(),
        )

    def to_records(self) -> list[dict[str, Any]]:
        """Return the keys as texts with weights, for inspecting small tables."""
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


def _rows_of(table: FrequencyTable, person: NDArray[np.int32]) -> PersonRows:
    """Return the rows of a table in memory, with persons."""
    ranks = tuple(counts.rank_of_row() for counts in table.sensitive)
    combination = None
    if table.joint is not None:
        combination = table.joint.numbers(ranks)
    return PersonRows(table.key_of_row("counting people"), person, ranks, combination)


def _count_as_people(
    table: FrequencyTable, people: People, listed: PersonRows, others: Sequence[PersonRows]
) -> FrequencyTable:
    """Return the keys of a table with people instead of records."""
    weights, sensitive, joint, entries = count_people(
        table.keys, table.sensitive, table.joint, people.number, listed, others
    )
    people_table = replace(
        table,
        weights=weights,
        sensitive=sensitive,
        row_keys=None,
        joint=joint,
        target=None,
        people=People(listed=entries),
    )
    return replace(people_table, suppressed=people.number - people_table.records)
