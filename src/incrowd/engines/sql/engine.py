"""Engine for databases: counted by GROUP BY in place, recoded into a new table or a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import NDArray, np, pl
from incrowd.engines.base import Counted, Engine, EngineSettings, Released, Unwritten
from incrowd.engines.fetched import Combinations, FetchedCount, FetchedRows, count_fetched
from incrowd.engines.fold import fold
from incrowd.engines.sql.databases import DatabaseTable
from incrowd.engines.sql.recoded import RecodedTable, TableRows

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.streams import Files
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.treated_columns import TreatedColumn
    from incrowd.engines.cells import CellPeople, CellQuestion


class SqlEngine(Engine):
    """A table or view of a database, or the released rows of such a table (see `incrowd.engines.Engine`).

    One GROUP BY per question brings the distinct combinations; rows stay where they are. All questions are
    answered from the snapshot that there is when the engine is made. Released rows that are not written yet
    are counted by recoding the combinations of the rows before.
    """

    whose = "a database"

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this is a table of a database, a relation of DuckDB, or a release of either."""
        return isinstance(table, DatabaseTable | RecodedTable) or _is_relation(table)

    def __init__(
        self,
        table: Any,
        settings: EngineSettings | None = None,
        treated: Sequence[TreatedColumn] = (),
    ) -> None:
        super().__init__(table, settings, treated)
        if _is_relation(table):
            from incrowd.engines.dialects.duckdb import RelationTable

            table = RelationTable(table)
        self.rows = table if isinstance(table, TableRows | RecodedTable) else TableRows(table)
        self.combinations = Combinations(
            self.rows.raw_combinations, self.treated_columns, reduced=self.rows.reduced
        )

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.rows.columns)

    @property
    def sources(self) -> Sequence[object]:
        """The database, unless the caller opened the connection."""
        return self.rows.sources

    def interrupt(self) -> None:
        """Give up the query that runs, also where the database fills a table."""
        self.rows.table.interrupt()

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> Counted:
        """Count the rows (see `Engine.count`)."""
        if isinstance(self.rows, TableRows):
            return count_fetched(self, self.combinations, schema, self._release, joint=joint, target=target)
        rows = FetchedRows(self.combinations, schema.null_values)
        frequency, _ = fold(
            rows, schema, self.columns, joint=joint, target=target, starred=self.settings.starred
        )
        return Unwritten(self, schema, frequency)

    def people_of_cells(self, count: Counted, question: CellQuestion) -> CellPeople:
        """Count in the database (see `Engine.people_of_cells`)."""
        from incrowd.engines.sql.cells import people_of_cells

        assert isinstance(count, FetchedCount)
        assert isinstance(self.rows, TableRows)
        return people_of_cells(self.rows, count, question)

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the values of columns in the database (see `Engine.values_of`)."""
        return self.combinations.values_of(columns)

    def treated(self, columns: Sequence[TreatedColumn]) -> SqlEngine:
        """Treat combinations on fetching, and rows on release (see `Engine.treated`)."""
        return SqlEngine(self.rows, self.settings, columns)

    def _release(self, count: FetchedCount, schema: Schema, recoding: Recoding) -> Released:
        """Recode the rows on writing, or for DuckDB return a relation (see `Counted.apply`)."""
        assert isinstance(self.rows, TableRows)
        recoded = RecodedTable(
            self.rows,
            [attribute.name for attribute in schema.quasi],
            schema.released(self.columns),
            count.recoded_keys(schema, recoding),
            count,
            left_out=recoding.left_out,
        )
        of = self.rows.table
        table = recoded if isinstance(of, DatabaseTable) else recoded.relation(of)
        # Rows of a database come in a random order already.
        return Released(table, lambda _: table)

    def leaving_values(self, column: str) -> tuple[pl.Series, NDArray[np.int64]]:
        """Count the values in the database, also values that models cannot count (see the base class)."""
        if self.combinations.treated_of([column]) or not isinstance(self.rows, TableRows):
            return super().leaving_values(column)
        return self.rows.leaving_values(column)

    def some_rows(self, columns: Sequence[str], share: float) -> pl.DataFrame:
        """Return random rows, without treated columns (see `Engine.some_rows`)."""
        if not isinstance(self.rows, TableRows):
            return super().some_rows(columns, share)
        treated = {column.name for column in self.combinations.treated_of(columns)}
        return self.rows.some_rows([name for name in columns if name not in treated], share)

    def lone_rows(self, columns: Sequence[str]) -> int:
        """Count the unique rows in the database, or here with treated columns (see `Engine.lone_rows`)."""
        if self.combinations.treated_of(columns) or not isinstance(self.rows, TableRows):
            return int((self.values_of(columns)[1] == 1).sum())
        return self.rows.lone_rows(columns)

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Files:
        """Write the rows while streaming (see `Engine.write`)."""
        from incrowd.core.io.streams import scan, stream_batches

        rows = self.rows
        if isinstance(rows, TableRows):
            rows = RecodedTable(rows, [], self.columns, pl.DataFrame())
        stream_batches(rows.batches(), path, target, csv_format)
        return scan(path, csv_format, written=True)

    def into(self, name: str, *, force: bool = False) -> AbstractContextManager[DatabaseTable]:
        """Make a new table of released rows (see `Engine.into`)."""
        return (
            self.rows.into(name, force=force) if isinstance(self.rows, RecodedTable) else super().into(name)
        )


def _is_relation(table: Any) -> bool:
    """Say whether `table` is a relation of DuckDB, without importing DuckDB."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(table, duckdb.DuckDBPyRelation)
