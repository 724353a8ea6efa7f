"""The rows of a table in a database, as they are in one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from incrowd.dialects.base import cast_all
from incrowd.engines.fetched import NUMBER
from incrowd.engines.fold import ROWS
from incrowd.engines.plan import PeoplePlan, as_columns, group_and_count, named_person
from incrowd.engines.sql.databases import DatabaseTable
from incrowd.errors import SchemaError, TableError
from incrowd.lazy import pl

if TYPE_CHECKING:
    from incrowd.dialects.base import Column
    from incrowd.dialects.duckdb import RelationTable
    from incrowd.engines.plan import ReducedPeople
    from incrowd.table.schema import Schema


class TableRows:
    """Answers questions about the rows of a table, all of them from the snapshot that there is now."""

    def __init__(self, table: DatabaseTable | RelationTable) -> None:
        self.table = table
        self._snapshot = table.reading()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return self.table.columns

    @property
    def sources(self) -> Sequence[object]:
        """The database, where it is not a connection of the caller's."""
        return (self.table.database.address,) if isinstance(self.table, DatabaseTable) else ()

    def raw_combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Group the rows where they are; see `Combinations.raw`."""
        return self.grouped(names, str(self.table.source))

    def grouped(self, names: Sequence[str], source: str, number: Sequence[str] = ()) -> pl.DataFrame:
        """Group the rows of a source by some columns, and by their number where one is named (`NUMBER`)."""
        self.check_snapshot()
        columns = self._countable(names)
        keys, checks = [*(columns[name].key for name in names), *number], _checks(columns)
        found = self.table.fetch(group_and_count(list(map(str, keys)), source, list(checks.values())))
        _refuse_wrong(columns, checks, found[:, len(keys) + 1 :])
        kinds = [columns[name].dtype for name in names] + [pl.Int64()] * (len(number) + 1)
        labels = [*names, *([NUMBER] if number else []), ROWS]
        return cast_all(found[:, : len(labels)], labels, kinds)

    def lone_rows(self, columns: Sequence[str]) -> int | None:
        """Count the rows where they are; see `Engine.lone_rows`."""
        self.check_snapshot()
        read = self.table.read(columns)
        keys = [read[name].key for name in columns]
        if None in keys:
            # Values of a type that is neither text, number nor date are not compared.
            return None
        groups = group_and_count(list(map(str, keys)), str(self.table.source))
        found = self.table.fetch(f"SELECT COUNT(*) AS n FROM ({groups}) AS g WHERE c{len(keys)} = 1")
        return int(found.to_series().item())

    def reduced(
        self, names: Sequence[str], own: Sequence[str], lists: Sequence[Sequence[str]], schema: Schema
    ) -> ReducedPeople | None:
        """Reduce the people where they are; see `Combinations.reduced`."""
        self.check_snapshot()
        columns = self._countable([*names, *own, *schema.person])
        self.check_finite(schema.person)
        dialect, source = self.table.dialect, self.table.source
        kinds: list[pl.DataType] = [pl.Null()] * len(schema.person)
        if schema.null_values:
            listed = as_columns([str(columns[name].key) for name in schema.person])
            kinds = self._fetched_as(f"SELECT {listed} FROM {source} LIMIT 0", schema.person, []).dtypes
        person = [
            named_person(dialect, str(columns[name].key), columns[name].wire, kind, schema.null_values)
            for name, kind in zip(schema.person, kinds, strict=True)
        ]
        if None in person:
            return None
        keys, values = ([str(columns[name].key) for name in listed] for listed in (names, own))
        plan = PeoplePlan(source, keys, values, list(map(str, person)), whole=dialect.whole)
        return plan.reduced(
            own,
            lists,
            f"({plan.kinds()}) AS y",
            lambda query, asked, counts: self._fetched_as(query, [*names, *asked], counts),
        )

    def _fetched_as(self, query: str, names: Sequence[str], counts: Sequence[str]) -> pl.DataFrame:
        """Fetch values of some columns, and then whole numbers."""
        columns = self.table.read(names)
        kinds = [columns[name].dtype for name in names] + [pl.Int64()] * len(counts)
        return cast_all(self.table.fetch(query), [*names, *counts], kinds)

    def check_finite(self, names: Sequence[str]) -> None:
        """Refuse values of some columns that cannot be counted or written.

        Raises
        ------
        SchemaError
        """
        columns = self.table.read(names)
        if checks := _checks(columns):
            found = self.table.fetch(f"SELECT {as_columns(checks.values())} FROM {self.table.source}")
            _refuse_wrong(columns, checks, found)

    def check_snapshot(self) -> None:
        """Refuse to go on where another snapshot began since the rows were counted.

        Raises
        ------
        TableError
        """
        if self.table.reading() != self._snapshot:
            raise TableError(
                f"{self.table.title}: the snapshot that was counted has ended; anonymize again "
                "(files are written before a table is)"
            )

    def _countable(self, names: Sequence[str]) -> dict[str, Column]:
        """Return how some columns are read, all of which can be counted."""
        columns = self.table.read(names)
        for name, column in columns.items():
            if column.key is None:
                raise SchemaError(
                    f"column {name!r} is of type {column.type}, which is neither text, number nor date; "
                    "convert it first"
                )
        return columns


def _checks(columns: Mapping[str, Column]) -> dict[str, str]:
    """Return SQL by column that is 1 where a value is refused."""
    return {
        name: f"MAX(CASE WHEN {column.wrong} THEN 1 ELSE 0 END)"
        for name, column in columns.items()
        if column.wrong
    }


def _refuse_wrong(columns: Mapping[str, Column], checks: Mapping[str, str], found: pl.DataFrame) -> None:
    """Refuse a table of which a check found a wrong value."""
    for name, series in zip(checks, found.get_columns(), strict=True):
        if len(series) and series.max():
            raise SchemaError(f"column {name!r} has {columns[name].why}")
