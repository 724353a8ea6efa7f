"""Tables of databases: counted by GROUP BY where they are, recoded into a new table or a file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from incrowd.dialects.base import Dialect, Upload, cast_all
from incrowd.engines.fetched import NUMBER, FetchedEngine, PeopleFetched, joined_by
from incrowd.engines.grouped import CELL, PERSON, ROWS, added_up
from incrowd.engines.sql.databases import DatabaseTable
from incrowd.engines.sql.joins import Joins, parted_by_column
from incrowd.engines.sql.people import PeopleQueries, named_person
from incrowd.errors import SchemaError, TableError
from incrowd.io.columns import column_named, columns_named
from incrowd.recoding import SUPPRESSED

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from incrowd.dialects.base import Column
    from incrowd.dialects.duckdb import RelationTable
    from incrowd.engines.base import EngineSettings
    from incrowd.io.files import CsvFormat
    from incrowd.io.shuffle import RandomOrder
    from incrowd.io.streams import Files
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable
    from incrowd.table.schema import Schema
    from incrowd.table.treated_columns import TreatedColumn

__all__ = ["RecodedEngine", "RecodedTable", "SqlEngine"]


_KNOWN = "\0known"
_NUMBER = "incrowd number of the row"
_PLACE = "\0place {}"
_READ = "\0read {}"
_UNNAMED = "\0unnamed"
_ALL = "\0all rows"


class SqlEngine(FetchedEngine):
    """A table or view of a database; see `incrowd.engines.Engine`.

    One GROUP BY per question brings the distinct combinations; rows stay where they are.
    """

    whose = "a database"

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this is a table of a database, or a relation of DuckDB."""
        return isinstance(table, DatabaseTable) or _is_relation(table)

    def __init__(self, table: Any, settings: EngineSettings | None = None) -> None:
        super().__init__(table, settings)
        if _is_relation(table):
            from incrowd.dialects.duckdb import RelationTable

            table = RelationTable(table)
        self.table: DatabaseTable | RelationTable = table
        self._columns = table.columns
        self._snapshot = table.reading()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._columns)

    @property
    def sources(self) -> Sequence[object]:
        """The database, where it is not a connection of the caller's."""
        return (self.table.database.address,) if isinstance(self.table, DatabaseTable) else ()

    def interrupt(self) -> None:
        """Give up the query that runs."""
        self.table.interrupt()

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> FrequencyTable:
        """Count the rows; see `Engine.count`."""
        self._snapshot = self.table.reading()
        return super().count(schema, joint=joint, target=target)

    def raw_combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Group the rows where they are; see `FetchedEngine.raw_combinations`."""
        return self.grouped(names, str(self.table.source))

    def grouped(self, names: Sequence[str], source: str, number: Sequence[str] = ()) -> pl.DataFrame:
        """Group the rows of a source by some columns, and by their number where one is named (`NUMBER`)."""
        self.check_snapshot()
        columns = self._read(names)
        shown = [*(columns[name].key for name in names), *number]
        wrong = [column.wrong for column in columns.values() if column.wrong]
        checks = [f"MAX(CASE WHEN {condition} THEN 1 ELSE 0 END)" for condition in wrong]
        listed = ", ".join(f"{key} AS c{i}" for i, key in enumerate([*shown, "COUNT(*)", *checks]))
        places = ", ".join(str(i + 1) for i in range(len(shown)))
        found = self.table.fetch(f"SELECT {listed} FROM {source} GROUP BY {places}")
        refused = [name for name in names if columns[name].wrong]
        for name, series in zip(refused, found.get_columns()[len(shown) + 1 :], strict=True):
            if len(series) and series.max():
                raise SchemaError(f"column {name!r} has {columns[name].why}")
        import polars as pl

        kinds = [columns[name].dtype for name in names] + [pl.Int64()] * len(number)
        labels = [*names, *([NUMBER] if number else []), ROWS]
        return cast_all(found[:, : len(labels)], labels, [*kinds, pl.Int64()])

    def lone_rows(self, columns: Sequence[str]) -> int | None:
        """Count the rows where they are; see `Engine.lone_rows`."""
        self.check_snapshot()
        read = self.table.read(columns)
        keys = [read[name].key for name in columns]
        if None in keys:
            # Values of a type that is neither text, number nor date are not compared.
            return None
        by = ", ".join(map(str, keys))
        groups = f"SELECT COUNT(*) AS n FROM {self.table.source} GROUP BY {by} HAVING COUNT(*) = 1"
        found = self.table.fetch(f"SELECT COUNT(*) AS n FROM ({groups}) AS lone")
        return int(found.to_series().item())

    def reduced(
        self, names: Sequence[str], own: Sequence[str], lists: Sequence[Sequence[str]], schema: Schema
    ) -> PeopleFetched | None:
        """Reduce the people where they are; see `FetchedEngine.reduced`."""
        import polars as pl

        self.check_snapshot()
        columns = self._read([*names, *own, *schema.person])
        self.check_finite(schema.person)
        kinds = self._kinds(schema.person) if schema.null_values else [pl.Null()] * len(schema.person)
        person = [
            named_person(self.table.dialect, columns[name], kind, schema.null_values)
            for name, kind in zip(schema.person, kinds, strict=True)
        ]
        if None in person:
            return None
        queries = PeopleQueries(
            self.table.source,
            [str(columns[name].key) for name in names],
            [str(columns[name].key) for name in own],
            [str(column) for column in person],
            self.table.dialect.whole,
        )
        found = {
            tuple(asked): self._fetched_as(
                queries.alike([own.index(name) for name in asked]),
                [*names, *asked],
                [ROWS, _UNNAMED, _ALL],
            )
            for asked in lists
        }
        listed = self._fetched_as(queries.listed(), [*names, *own], [PERSON, _ALL])
        others = next(iter(found.values()))
        unnamed = int(others[_UNNAMED].sum())
        people = int(others[ROWS].sum()) - unnamed + listed[PERSON].n_unique()
        rows = int(others[_ALL].sum()) - unnamed + int(listed[_ALL].sum())
        alike = [found[tuple(asked)].drop(_UNNAMED, _ALL) for asked in lists]
        return PeopleFetched(listed.drop(_ALL), alike, people, rows, unnamed)

    def _fetched_as(self, query: str, names: Sequence[str], counts: Sequence[str]) -> pl.DataFrame:
        """Fetch values of some columns, and then whole numbers."""
        import polars as pl

        columns = self.table.read(names)
        kinds = [columns[name].dtype for name in names] + [pl.Int64()] * len(counts)
        return cast_all(self.table.fetch(query), [*names, *counts], kinds)

    def _kinds(self, names: Sequence[str]) -> list[pl.DataType]:
        """Return the types that values of some columns are fetched as."""
        columns = self.table.read(names)
        listed = ", ".join(f"{columns[name].key} AS c{j}" for j, name in enumerate(names))
        return self._fetched_as(f"SELECT {listed} FROM {self.table.source} LIMIT 0", names, []).dtypes

    def check_finite(self, names: Sequence[str]) -> None:
        """Refuse values of some columns that cannot be counted or written.

        Raises
        ------
        SchemaError
        """
        columns = self.table.read(names)
        checked = [name for name in names if columns[name].wrong]
        if not checked:
            return
        checks = ", ".join(
            f"MAX(CASE WHEN {columns[name].wrong} THEN 1 ELSE 0 END) AS c{i}"
            for i, name in enumerate(checked)
        )
        found = self.table.fetch(f"SELECT {checks} FROM {self.table.source}")
        for name, series in zip(checked, found.get_columns(), strict=True):
            if series[0]:
                raise SchemaError(f"column {name!r} has {columns[name].why}")

    def apply(self, schema: Schema, frequency: FrequencyTable, recoding: Recoding) -> Any:
        """Recode the rows when they are written, or give a relation for one; see `Engine.apply`."""
        released = schema.released(self.columns)
        names = [attribute.name for attribute in schema.quasi]
        recoded = RecodedTable(
            self, names, released, self.recoded_keys(schema, recoding), self.keyed_by(schema)
        )
        return recoded if isinstance(self.table, DatabaseTable) else recoded.relation(self.table)

    def reordered(self, released: Any, order: RandomOrder) -> Any:
        """Leave the rows: those of a database come in a random order already."""
        return released

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Files:
        """Write the rows as they are while they stream; see `Engine.write`."""
        import polars as pl

        return RecodedTable(self, [], self.columns, pl.DataFrame()).write(path, target, csv_format)

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

    def _read(self, names: Sequence[str]) -> dict[str, Column]:
        columns = self.table.read(names)
        for name, column in columns.items():
            if column.key is None:
                raise SchemaError(
                    f"column {name!r} is of type {column.type}, which is neither text, number nor date; "
                    "convert it first"
                )
        return columns


class RecodedTable:
    """The released rows of a table in a database, before they are written anywhere.

    Attributes
    ----------
    columns
        Names of the columns, in order.
    keys
        Every combination of `keyed` with the text that each quasi-identifier is released as.
    keyed
        The columns that rows are found by: the quasi-identifiers, and what their treatments look at.
    by_value
        The columns that are treated besides, and whose values follow from those before.
    drawn
        What columns become that do not; None where there are none. It is made now, so that what cannot be
        treated is told before anything is written.
    """

    def __init__(
        self,
        engine: SqlEngine,
        names: Sequence[str],
        columns: Sequence[str],
        keys: pl.DataFrame,
        keyed: Sequence[str] = (),
    ) -> None:
        self.engine = engine
        self.by_value = engine.by_value
        self.drawn = engine.drawn() if engine.by_row else None
        self.quasi = list(names)
        self.keyed = list(keyed)
        self.columns = list(columns)
        self.keys = keys

    def __repr__(self) -> str:
        return f"RecodedTable({self.engine.table.title!r}, columns={self.columns!r})"

    def recoded(self, rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Give rows the released texts of some quasi-identifiers; what has no key is suppressed."""
        import polars as pl

        places = [_PLACE.format(place) for place in range(len(self.keyed))]
        renamed = dict(zip(self.keyed, places, strict=True))
        joined = rows.rename(renamed).join(
            self.keys.rename(renamed).with_columns(pl.lit(value=True).alias(_KNOWN)),
            on=places,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        # A released text may be missing itself.
        texts = [
            pl.when(column_named(_KNOWN))
            .then(column_named(CELL.format(name)))
            .otherwise(pl.lit(SUPPRESSED))
            .alias(name)
            for name in names
        ]
        others = [name for name in rows.columns if name not in self.keyed]
        return joined.select(*texts, *columns_named(others))

    def fetch(self) -> pl.DataFrame:
        """Fetch all released rows into memory, as a Polars frame."""
        import polars as pl

        batches = list(self.batches())
        return pl.concat(batches)

    def batches(self) -> Iterator[pl.DataFrame]:
        """Fetch the released rows some at a time; at least one batch, which may be empty.

        Raises
        ------
        TableError
            When the snapshot that was counted has ended.
        """
        import polars as pl

        engine = self.engine
        engine.check_snapshot()
        by_row = [column.name for column in engine.by_row]
        treated = {*by_row, *(column.name for column in self.by_value)}
        passed = [name for name in self.columns if name not in self.quasi and name not in treated]
        # By key, columns are read as they were counted; what a treatment looks at need not be released.
        beside = [name for column in self.by_value for name in column.columns]
        read = list(dict.fromkeys([*self.keyed, *beside, *engine.drawn_from]))
        columns = engine.table.read([*read, *passed])
        engine.check_finite(passed)
        shown = [columns[name].key for name in read] + [columns[name].plain for name in passed]
        kinds = [columns[name].dtype for name in read] + [columns[name].plain_dtype for name in passed]
        places = [_READ.format(place) for place in range(len(read))]
        if self.drawn is not None:
            shown.append(self._number)
            kinds.append(pl.Int64())
        names = [*places, *passed, *([NUMBER] if self.drawn is not None else [])]
        listed = ", ".join(f"{expression} AS c{i}" for i, expression in enumerate(shown))
        query = f"SELECT {listed} FROM {self._source()} ORDER BY {engine.table.dialect.random}"
        for rows in engine.table.batches(query):
            batch = cast_all(rows, names, kinds)
            came = batch.select(column_named(place) for place in places)
            came.columns = read
            made = [batch.select(columns_named(passed))]
            if self.quasi:
                made.append(self.recoded(came.select(columns_named(self.keyed)), self.quasi))
            if self.by_value:
                made.append(pl.DataFrame([column.of(came) for column in self.by_value]))
            if self.drawn is not None:
                numbered = came.select(columns_named(engine.drawn_from)).with_columns(batch[NUMBER])
                made.append(self._drawn_for(numbered, by_row))
            yield pl.concat(made, how="horizontal").select(columns_named(self.columns))

    def _drawn_for(self, numbered: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Return what columns become in rows, which have what they are drawn from and their number."""
        assert self.drawn is not None
        joined = joined_by(numbered, self.drawn, numbered.columns)
        return joined.select(column_named(CELL.format(name)).alias(name) for name in names)

    def beside(self, raw: Sequence[str], names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Do what `FetchedEngine.beside` does, of rows of which some columns are drawn."""
        import polars as pl

        engine = self.engine
        by_row = [column.name for column in engine.by_row]
        plain = [name for name in names if name not in by_row]
        treated = engine.treated_of(plain)
        read = [*raw, *plain, *engine.drawn_from, *(name for each in treated for name in each.columns)]
        found = engine.grouped(list(dict.fromkeys(read)), self._source(), [self._number])
        made = found.select(columns_named([*plain, ROWS])).with_columns(each.of(found) for each in treated)
        drawn = self._drawn_for(found.select(columns_named([*engine.drawn_from, NUMBER])), by_row)
        return found.select(columns_named(raw)), pl.concat([made, drawn], how="horizontal")

    @property
    def _number(self) -> str:
        """SQL: the number of a row among those of the same values, see `FetchedEngine.drawn`."""
        return f"t.{Dialect.quote(_NUMBER)}"

    def _source(self) -> str:
        """Return the SQL that stands behind FROM; rows have a number where something is drawn.

        They are numbered in the order of what is released of them: the same whenever they are asked for,
        but for rows of which nobody could say which is which.
        """
        source = str(self.engine.table.source)
        if self.drawn is None:
            return source
        names = self.engine.drawn_from
        columns = self.engine.table.read(names)
        alike = ", ".join(str(columns[name].key) for name in names)
        order = self.engine.drawn_order([*self.columns, *self.keyed])
        ordered = ", ".join(self.engine.table.dialect.as_text(f"t.{Dialect.quote(name)}") for name in order)
        number = f"ROW_NUMBER() OVER (PARTITION BY {alike} ORDER BY {ordered})"
        return f"(SELECT t.*, {number} AS {Dialect.quote(_NUMBER)} FROM {source}) AS t"

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Files:
        """Write the rows to a file while they stream, and open it."""
        from incrowd.io.streams import scan, stream_batches

        stream_batches(self.batches(), path, target, csv_format)
        return scan(path, csv_format, written=True)

    @contextlib.contextmanager
    def into(self, target: str, *, force: bool = False) -> Iterator[DatabaseTable]:
        """Make a new table of the rows in the same database, and keep it if nothing fails until the end.

        Raises
        ------
        TableError
            When there is such a table (unless `force`) or it cannot be made.
        """
        table = self.engine.table
        assert isinstance(table, DatabaseTable)
        self.engine.check_snapshot()
        uploads, query = self.join(table.dialect)
        with table.replacing(target, force, uploads, query) as made:
            yield made

    def relation(self, table: RelationTable) -> Any:
        """Return the rows as a relation of the connection that those before recoding come from."""
        from incrowd.dialects.duckdb import KEYS, DuckDB

        if self.by_value or self.drawn is not None:
            # A relation is joined with one frame, which holds the rows then.
            return table.joined(self.fetch(), f"SELECT * FROM {KEYS}")
        uploads, query = self.join(DuckDB, KEYS, by_column=False)
        return table.joined(uploads[KEYS].frame, query)

    def join(
        self, dialect: Dialect | type[Dialect], name: str = "incrowd keys", *, by_column: bool | None = None
    ) -> tuple[dict[str, Upload], str]:
        """Return the tables that the rows are joined with, and the query that does it.

        Rows are joined with the keys at once; or, where each released text follows from the one value alone
        as full-domain recoding has it, with a short table per column and the keys that are suppressed.

        Parameters
        ----------
        name
            What the names of the tables begin with.
        by_column
            Whether to join column by column; by default where it can be done.
        """
        columns = self.engine.table.read([*self.keyed, *self.columns])
        joins = Joins(dialect)
        texts = self._join_keys(joins, columns, name, by_column=by_column)
        for number, column in enumerate(self.by_value):
            alias = f"t{number}"
            joins.add(
                f"{name} {alias}", alias, *self._joined(dialect, alias, self.engine.lookup(column), [column])
            )
            texts[column.name] = f"{alias}.c0"
        if self.drawn is not None:
            by_row = self.engine.by_row
            joins.add(f"{name} d", "d", *self._joined(dialect, "d", self.drawn, by_row))
            texts |= {column.name: f"d.c{place}" for place, column in enumerate(by_row)}
        listed = ", ".join(
            f"{texts.get(column, columns[column].stays)} AS {dialect.quote(column)}"
            for column in self.columns
        )
        rows = f"{self._source()} {' '.join(joins.clauses)}"
        # A table has no order, but its rows lie in that in which they were written.
        return joins.uploads, f"SELECT {listed} FROM {rows} ORDER BY {dialect.random}"

    def _join_keys(
        self, joins: Joins, columns: Mapping[str, Column], name: str, *, by_column: bool | None
    ) -> dict[str, str]:
        """Join the keys, at once or by column; return the released text of each quasi-identifier."""
        import polars as pl

        keys = [f"k{i}" for i in range(len(self.keyed))]
        cells = [f"c{i}" for i in range(len(self.quasi))]
        types = {key: columns[name].wire for key, name in zip(keys, self.keyed, strict=True)}
        types |= dict.fromkeys(cells, "text") | {"known": "integer"}
        frame = self.keys.rename(dict(zip(self.keys.columns, [*keys, *cells], strict=True)))
        # Numbers that Arrow does not carry go as the texts that they were fetched as.
        as_text = [key for key in keys if types[key].upper().startswith(("TEXT", "VARCHAR"))]
        frame = frame.with_columns(
            *(column_named(key).cast(pl.String) for key in as_text), pl.lit(1, pl.Int32).alias("known")
        )

        def join(uploaded: str, alias: str, rows: pl.DataFrame, places: Sequence[int]) -> None:
            same = (
                joins.dialect.same(
                    columns[self.keyed[i]], str(columns[self.keyed[i]].key), f"{alias}.{keys[i]}"
                )
                for i in places
            )
            upload = Upload(rows, {column: types[column] for column in rows.columns})
            joins.add(uploaded, alias, upload, " AND ".join(same))

        # Where a treatment looks at further columns, a text does not follow from one value.
        alone = by_column is not False and self.keyed == self.quasi
        parted = parted_by_column(frame, keys, cells) if alone else None
        every = range(len(self.keyed))
        if parted is None:
            join(name, "k", frame, every)
            cell = "CASE WHEN k.known = 1 THEN k.c{i} ELSE '" + SUPPRESSED + "' END"
        else:
            gone, tables = parted
            for i, table in enumerate(tables):
                join(f"{name} {i}", f"k{i}", table, [i])
            join(name, "k", gone, every)
            cell = "CASE WHEN k.known IS NULL AND k{i}.known = 1 THEN k{i}.c{i} ELSE '" + SUPPRESSED + "' END"
        return {quasi: cell.format(i=i) for i, quasi in enumerate(self.quasi)}

    def _joined(
        self,
        dialect: Dialect | type[Dialect],
        alias: str,
        frame: pl.DataFrame,
        made: Sequence[TreatedColumn],
    ) -> tuple[Upload, str]:
        """Return what treated columns become as a table, and the condition that joins it.

        Parameters
        ----------
        frame
            Values as they were fetched, then `NUMBER` where rows are numbered, then what columns become.
        """
        import polars as pl

        read = [name for name in frame.columns[: -len(made)] if name != NUMBER]
        columns = self.engine.table.read(read)
        types = {f"k{i}": columns[name].wire for i, name in enumerate(read)}
        same = [
            dialect.same(columns[name], str(columns[name].key), f"{alias}.{key}")
            for key, name in zip(types, read, strict=True)
        ]
        if NUMBER in frame.columns:
            types["number"] = "bigint"
            same.append(f"{alias}.number = {self._number}")
        for place, column in enumerate(made):
            came = frame.schema[column.name]
            kind = column.type_of(came)
            types[f"c{place}"] = columns[column.name].wire if kind == came else _sql_type(kind)
        frame = frame.rename(dict(zip(frame.columns, types, strict=True)))
        as_text = [key for key in types if types[key].upper().startswith(("TEXT", "VARCHAR"))]
        frame = frame.with_columns(column_named(key).cast(pl.String) for key in as_text)
        return Upload(frame, types), " AND ".join(same)


def _sql_type(kind: pl.DataType) -> str:
    """Return the SQL type of what a treatment gives, where that is not the column's own."""
    if kind.is_integer():
        return "bigint"
    return "double precision" if kind.is_numeric() else "text"


def _is_relation(table: Any) -> bool:
    """Say whether this is a relation of DuckDB, which is not loaded for it."""
    import sys

    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(table, duckdb.DuckDBPyRelation)


class RecodedEngine(FetchedEngine):
    """The released rows of a table in a database; see `incrowd.engines.Engine`.

    They are counted by what the database counts of the rows before recoding, whose combinations are recoded
    one by one, so that nothing has to be written for it.
    """

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether these are such rows."""
        return isinstance(table, RecodedTable)

    def __init__(self, table: RecodedTable, settings: EngineSettings | None = None) -> None:
        super().__init__(table, settings)
        self.table = table

    @property
    def sources(self) -> Sequence[object]:
        """The database of the table before recoding."""
        return self.table.engine.sources

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.table.columns)

    def interrupt(self) -> None:
        """Give up the query that runs, also where the database fills a table."""
        self.table.engine.interrupt()

    def raw_combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Recode combinations; see `FetchedEngine.raw_combinations`."""
        import polars as pl

        table = self.table
        quasi = [name for name in names if name in table.quasi]
        passed = [name for name in names if name not in table.quasi]
        keyed = table.keyed if quasi else []
        drawn = [column.name for column in table.engine.by_row if column.name in names]
        raw, made = table.beside(keyed, passed) if drawn else table.engine.beside(keyed, passed)
        cells = [table.recoded(raw, quasi)] if quasi else []
        return added_up(pl.concat([made, *cells], how="horizontal"), names)

    def reordered(self, released: Any, order: RandomOrder) -> Any:
        """Leave the rows, as `SqlEngine.reordered` does."""
        return released

    def apply(self, schema: Schema, frequency: FrequencyTable, recoding: Recoding) -> Any:
        """Refuse: what is released is not recoded again before it is written."""
        raise TableError("a release that is not written yet cannot be recoded again; write it first")

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Files:
        """Write the rows while they stream; see `Engine.write`."""
        return self.table.write(path, target, csv_format)

    def into(self, name: str, *, force: bool = False) -> AbstractContextManager[DatabaseTable]:
        """Make a new table of the rows; see `Engine.into`."""
        return self.table.into(name, force=force)
