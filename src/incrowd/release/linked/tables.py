"""Linked tables in memory: which row belongs to which, and which rows belong to nobody."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InfeasibleError, ParameterError, TableError, named, quoted, those_are
from incrowd.core.io.addresses import file_path
from incrowd.core.io.columns import columns_named
from incrowd.core.lazy import NDArray, np, nw, pl
from incrowd.core.treatments.base import whose as whose_text
from incrowd.engines import MemoryEngine, SparkEngine, SqlEngine, engine_for, open_table
from incrowd.engines.dialects.addresses import Address
from incrowd.engines.distinct import dictionary
from incrowd.engines.sql.databases import Database
from incrowd.release.accounts.points import columns_that_leave
from incrowd.release.health.fhir import fhir_files, is_fhir, read_fhir
from incrowd.release.linked.databases import engine_in_memory, quoted_part
from incrowd.release.linked.policy import LinkedPolicy
from incrowd.release.linked.views import Rows

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.progress import Progress


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """Tables of a linked policy, with the rows that belong to somebody.

    Attributes
    ----------
    policy
        How the tables join.
    engines
        The rows of each table.
    rows
        Of each row the row above and the person.
    nobody
        How many rows of each table belonged to nobody.
    formats
        How the CSV files are written that tables came from.
    numbers
        int64[rows] of each table: the place of each row in the table that came.
    sources
        The files.
    unordered
        The tables whose rows had no order where they came from, as in a database or on Spark.
    """

    policy: LinkedPolicy
    engines: Mapping[str, MemoryEngine]
    rows: Mapping[str, Rows]
    nobody: Mapping[str, int]
    formats: Mapping[str, CsvFormat | None]
    numbers: Mapping[str, NDArray[np.int64]]
    sources: tuple[Any, ...] = ()
    unordered: frozenset[str] = frozenset()

    @property
    def people(self) -> int:
        """Number of people."""
        return len(self.rows[self.policy.person].person)

    @classmethod
    def of_tables(cls, tables: Any, policy: LinkedPolicy, progress: Progress | None = None) -> LinkedRows:
        """Read and join tables.

        Parameters
        ----------
        tables
            The tables by name, the folder of their files, or a database that has them.

        Raises
        ------
        InputError
            When a table is absent or names a key twice, or Spark has a column that cannot be fetched.
        """
        engines: dict[str, MemoryEngine] = {}
        unordered: set[str] = set()
        formats: dict[str, CsvFormat | None] = {}
        sources: list[Any] = []
        if isinstance(tables, Address):
            with Database(tables) as database:
                return cls.of_tables(database, policy, progress)
        for name, given in tables_by_name(tables, policy).items():
            table, formats[name] = open_table(given, progress=progress)
            engine = engine_for(table, progress=progress)
            engines[name] = engine_in_memory(engine)
            unordered |= {name} if isinstance(engine, SqlEngine | SparkEngine) else set()
            sources += [given] if isinstance(given, str | os.PathLike) else engine.sources
        if isinstance(tables, str | os.PathLike):
            sources += fhir_files(tables)
        joined = cls._joined(policy, engines, formats, tuple(sources))
        return replace(joined, unordered=frozenset(unordered))

    @classmethod
    def _joined(
        cls,
        policy: LinkedPolicy,
        engines: Mapping[str, MemoryEngine],
        formats: Mapping[str, CsvFormat | None],
        sources: tuple[Any, ...],
    ) -> LinkedRows:
        kept: dict[str, MemoryEngine] = {}
        rows: dict[str, Rows] = {}
        nobody: dict[str, int] = {}
        numbers: dict[str, NDArray[np.int64]] = {}
        for name in policy.order:
            engine, linked = engines[name], policy[name]
            wanted = [*dict.fromkeys((*linked.join, *policy.keys_of(name)))]
            if missing := [column for column in wanted if column not in engine.columns]:
                hint = those_are(engine.columns, missing[0])
                raise TableError(f"linked: table {quoted(name)} has no column {named(missing)}; {hint}")
            if linked.above is None:
                above = np.arange(len(engine.frame), dtype=np.int64)
                if policy.keys_of(name):
                    keys = _keys(engine, policy.keys_of(name))
                    unnamed = keys.select(pl.any_horizontal(pl.all().is_null())).to_series()
                    above = np.where(unnamed, -1, above)
            else:
                upper = policy.keys_of(linked.above)
                sides = {target.partition(".")[2]: column for column, target in linked.join.items()}
                own = _keys(engine, [sides[key] for key in upper])
                other = _keys(kept[linked.above], upper).with_row_index("row")
                joined = own.join(other, on=columns_named(own.columns), how="left", maintain_order="left")
                above = joined["row"].cast(pl.Int64).fill_null(-1).to_numpy()
            there = above >= 0
            nobody[name] = int((~there).sum())
            numbers[name] = np.flatnonzero(there)
            if nobody[name]:
                engine = MemoryEngine(engine.frame.filter(there.tolist()).to_native())
                above = above[there]
            if linked.above is None:
                above = np.arange(len(above), dtype=np.int64)
            person = above if linked.above is None else rows[linked.above].person[above]
            kept[name], rows[name] = engine, Rows(above.astype(np.int64), person.astype(np.int64))
            if (upper := policy.keys_of(name)) and _keys(engine, upper).is_duplicated().any():
                raise TableError(
                    f"linked: table {quoted(name)} has two rows of one {', '.join(upper)}, by which others "
                    "join it; rows below would belong to both"
                )
            if not len(above):
                raise TableError(f"linked: no row of table {quoted(name)} belongs to anybody")
        return cls(policy, kept, rows, nobody, formats, numbers, sources)

    def only(self, present: NDArray[np.bool_]) -> LinkedRows:
        """Return the tables without the rows of absent people.

        Parameters
        ----------
        present
            bool[people]
        """
        if present.all():
            return self
        engines = {
            name: MemoryEngine(engine.frame.filter(present[self.rows[name].person].tolist()).to_native())
            for name, engine in self.engines.items()
        }
        empty = [name for name, engine in engines.items() if not len(engine.frame)]
        if empty:
            raise InfeasibleError(
                f"nothing was released: nobody who can be hidden has a row in table {named(empty)}; drop it"
            )
        smaller = LinkedRows._joined(self.policy, engines, self.formats, self.sources)
        return replace(smaller, nobody=self.nobody)

    def with_people(self, name: str) -> Any:
        """Return a table with the column that says whose each row is, as `LinkedPolicy.whose` calls it."""
        engine, whose = self.engines[name], self.policy.whose(name)
        if whose in engine.columns or whose not in self.policy.policy_of(name).schema:
            return engine.native
        from incrowd.core.io.frames import with_columns

        room = engine.frame.with_columns(nw.lit("").alias(whose))
        return with_columns(room, {whose: self._people_of(name)})

    def _people_of(self, name: str) -> pl.Series:
        """Return the person of each row of a table as a text."""
        root = self.policy.person
        named = enumerate(self.policy.keys_of(root))
        keys = [self.series(root, column).alias(f"k{place}") for place, column in named]
        return whose_text(keys).gather(self.rows[name].person)

    def beside(self, name: str) -> pl.DataFrame:
        """Return a table beside the rows above, with columns called ``TABLE.COLUMN``; keys stand once."""
        columns: dict[str, pl.Series] = {}
        place = np.arange(len(self.rows[name].person))
        for table in self.policy.lines_of(name):
            for column in self.engines[table].columns:
                if column not in self.policy[table].join:
                    # Polars would look the column up by its name, which may look like a pattern.
                    columns[f"{table}.{column}"] = self.series(table, column).alias("cells").gather(place)
            place = self.rows[table].above[place]
        whose = self.policy.whose(name)
        if whose not in columns and whose in self.policy.joined_policy(name).schema:
            columns[whose] = self._people_of(name)
        return pl.DataFrame(columns)

    def series(self, table: str, column: str) -> pl.Series:
        """Return a column of a table."""
        return self.engines[table].some_rows([column], 1.0).to_series()

    def leaving(self, name: str) -> pl.DataFrame:
        """Return the columns of a table that leave as they are, without those that join by the policy."""
        schema = self.policy.policy_of(name).schema
        others = {*(each.name for each in schema.quasi), *self.policy[name].join}
        leaving = [each for each in columns_that_leave(self.engines[name], schema) if each not in others]
        return pl.DataFrame([self.series(name, column) for column in leaving])

    def codes(self, name: str, columns: list[str]) -> list[NDArray[np.integer]]:
        """Return the codes of the values of some columns."""
        return [dictionary(self.series(name, column), column, ())[1] for column in columns]


def tables_by_name(tables: Any, policy: Any) -> dict[str, Any]:
    """Return the tables of a policy by name, each a frame or a file.

    Raises
    ------
    InputError
        When a table is absent.
    """
    if isinstance(tables, str | os.PathLike):
        # An address is no folder, and its password is no part of a message.
        folder = file_path(tables)
        if not folder.is_dir():
            raise TableError(f"{folder}: linked tables are the files of a folder, and this is none")
        files = {table.name: folder / table.file for table in policy.tables}
        if absent := [str(path) for path in files.values() if not path.is_file()]:
            if is_fhir(folder):
                read = read_fhir(folder).tables
                if {*files} <= {*read}:
                    return {name: read[name] for name in files}
                absent = sorted({*files} - {*read})
            raise TableError(f"linked: there is no file {named(absent)}; say file = in [[linked]]")
        return files
    if isinstance(tables, Database):
        return {table.name: tables.table(table.table or quoted_part(table.name)) for table in policy.tables}
    if not isinstance(tables, Mapping):
        raise ParameterError(
            "linked tables are a mapping of names to tables or files, the folder of their files, or an "
            "ic.Database"
        )
    names = [table.name for table in policy.tables]
    if set(tables) != set(names):
        wrong = sorted(map(str, set(tables) ^ set(names)))
        raise ParameterError(
            f"linked: {named(wrong)} is only in the policy or only given; {those_are(names, wrong[0])}"
        )
    return {name: tables[name] for name in names}


def _keys(engine: MemoryEngine, columns: Any) -> pl.DataFrame:
    """Return key columns as texts, with the same names in all tables: k0, k1, ..."""
    keys = {}
    for place, column in enumerate(columns):
        values = engine.some_rows([column], 1.0).to_series()
        if not (values.dtype.is_integer() or values.dtype == pl.String):
            distinct, codes = dictionary(values, column, ())
            values = pl.Series([*distinct.texts, None], dtype=pl.String).gather(codes)
        keys[f"k{place}"] = values.cast(pl.String)
    return pl.DataFrame(keys)
