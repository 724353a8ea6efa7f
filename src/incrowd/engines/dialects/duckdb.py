"""DuckDB: files, and relations of the caller's connection."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from incrowd.core.errors import IncrowdError, TableError
from incrowd.core.lazy import duckdb, pl
from incrowd.engines.dialects.base import BATCH, UNITS, Column, Dialect, Name, Upload, while_fetching

T = TypeVar("T")

KEYS = "incrowd_released_keys"
"""Name by which a relation finds the joined frame."""

_INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
}  # fmt: skip
_TIMES = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"}
_ERRORS = {
    "TransactionException": "the transaction collided with another one; nothing was kept, try again",
    "IOException": "the file cannot be opened, read or written: there is none, the disk is full or another "
    "process has it open",
    "ConnectionException": "the file is open in this process in another way; close it there first",
    "ResourceInUseException": "rows are still being fetched; fetch them to their end first",
    "OutOfMemoryException": "out of memory; nothing was kept",
    "InterruptException": "the statement was interrupted; nothing was kept",
    "PermissionException": "nothing but the database itself is read and written, so a view of other files "
    "is refused; make a table of it, or name the files",
    "ConstraintException": "a constraint of the database does not allow that; nothing was kept",
    "DependencyException": "other objects depend on the table that would be replaced; nothing was kept",
    "CatalogException": "there is no such table, schema or column, or the new table was made meanwhile; "
    "nothing was kept",
    "BinderException": "a table or a column is not what it was; nothing was kept",
    "SerializationException": "the file was written by another version, or is no DuckDB database",
}


def lock(connection: Any, files: Iterable[Path | str] = (), folders: Iterable[Path | str] = ()) -> None:
    """Lock a connection to some files, without extensions and without other access, from now on.

    That is true of the whole database that it is connected to, and cannot be taken back.

    Parameters
    ----------
    files, folders
        What it may read and write besides the file of its own database.

    Examples
    --------
    >>> connection = duckdb.connect()
    >>> lock(connection)
    >>> connection.execute("SELECT content FROM read_text('/etc/hostname')")
    Traceback (most recent call last):
    ...
    _duckdb.PermissionException: Permission Error: ...
    """
    connection.execute("SET allowed_paths = ?", [list(map(str, files))])
    connection.execute("SET allowed_directories = ?", [list(map(str, folders))])
    for name in ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions",
                 "python_enable_replacements", "enable_external_access"):  # fmt: skip
        # For connections to come as well, which could set nothing any more.
        connection.execute(f"SET GLOBAL {name} = false")
    connection.execute("SET lock_configuration = true")


class DuckDB(Dialect):
    """A session of a DuckDB file.

    A view of it may read anything, and so may a name that no table has: ``"people.csv"`` or the address of a
    server. So before the first of these is read, the database is locked; see `lock`.
    """

    title: ClassVar[str] = "DuckDB"
    scheme: ClassVar[str] = "duckdb"
    example: ClassVar[str] = "duckdb:///path"
    sides: ClassVar[Sequence[str]] = (".wal", ".tmp")
    driver: ClassVar[tuple[str, str] | None] = ("pyarrow", "arrow")
    uploaded: ClassVar[str] = "temp.main."

    def __init__(self, path: Path) -> None:
        self._connection = self.connect(path)
        if not self._locked():
            self._connection.execute("SET python_enable_replacements = false")
        self._streams: list[Generator[pl.DataFrame, None, None]] = []

    def _locked(self) -> bool:
        ((locked,),) = self._connection.execute("SELECT current_setting('lock_configuration')").fetchall()
        return bool(locked)

    @classmethod
    def connect(cls, where: Path) -> Any:
        """Connect to an existing file, which DuckDB would otherwise create."""
        duckdb = cls.imported("duckdb", "pyarrow")
        if not os.path.isfile(where):
            raise TableError(f"{cls.title}: {where}: there is no such file")
        # Reading needs no rights to write; where there are none, `into` will say so.
        return duckdb.connect(str(where), read_only=not os.access(where, os.W_OK))

    def begin(self) -> None:
        """Begin a transaction with a single snapshot."""
        self._streams = []
        self.execute("BEGIN TRANSACTION")

    def interrupt(self) -> None:
        """Cancel the query that another thread waits for."""
        self._connection.interrupt()

    def execute(self, sql: str) -> None:
        """Run a statement without a result."""
        self._connection.execute(sql).fetchall()

    def fetch(self, sql: str) -> pl.DataFrame:
        """Run a query and fetch all rows."""
        return pl.DataFrame(self._connection.sql(sql).to_arrow_table())

    def batches(self, sql: str) -> Iterator[pl.DataFrame]:
        """Run a query and fetch some rows at a time."""
        rows = streamed(self._connection.sql(sql))
        self._streams.append(rows)
        return rows

    def rollback(self) -> None:
        """End the transaction, and close streams that would keep the transaction open."""
        for rows in self._streams:
            rows.close()
        self._streams = []
        super().rollback()

    def kind(self, table: Name) -> str | None:
        """Return the kind of object with a name, compared without regard to case."""
        *schema, name = table
        rows = self._connection.execute(
            "SELECT table_type FROM information_schema.tables WHERE lower(table_name) = lower($1) "
            "AND lower(table_schema) = lower($2) AND table_catalog = coalesce($3, current_database())",
            [name, schema[-1] if schema else "main", schema[0] if len(schema) > 1 else None],
        ).fetchall()
        if not rows:
            return None
        return "table" if rows[0][0] == "BASE TABLE" else str(rows[0][0]).lower()

    def upload(self, name: str, frame: pl.DataFrame, types: Mapping[str, str]) -> None:
        """Make a temporary table."""
        self.drop_uploaded(name)
        listed = ", ".join(
            f"CAST({self.quote(column)} AS {kind}) AS {self.quote(column)}" for column, kind in types.items()
        )
        self._connection.register("incrowd frame", frame.to_arrow())
        try:
            self.execute(f'CREATE TEMPORARY TABLE {self.quote(name)} AS SELECT {listed} FROM "incrowd frame"')
        finally:
            self._connection.unregister("incrowd frame")

    @classmethod
    def matches(cls, key: str, pattern: str) -> str:
        """Match with RE2."""
        return f"regexp_full_match({key}, {cls.text(pattern)})"

    @classmethod
    def translate(cls, error: Exception) -> IncrowdError | None:
        """Translate an error by class."""
        if not isinstance(error, duckdb.Error):
            return None
        names = [kind.__name__ for kind in type(error).__mro__]
        return cls.failure(next((_ERRORS[name] for name in names if name in _ERRORS), None), names[0])

    def described(self, table: Name) -> dict[str, tuple[str]]:
        """Return the type of each column (see `Dialect.described`)."""
        kind = self.kind(table)
        if kind != "table" and not self._locked():
            lock(self._connection)
        try:
            relation = self._connection.sql(f"SELECT * FROM {self.qualified(table)} LIMIT 0")
        except duckdb.Error as error:
            # Of a name that no table has, DuckDB would read a file, or ask a server.
            if kind is None or isinstance(error, duckdb.CatalogException):
                return {}
            raise
        return {name: (str(kind),) for name, kind in zip(relation.columns, relation.types, strict=True)}

    @staticmethod
    def column(c: str, kind: str) -> Column:
        """Return the reading of a column of a type (see `Dialect.column`)."""
        if kind in ("VARCHAR", "UUID") or kind.startswith("ENUM("):
            # Whatever collation the column has, texts are compared by their bytes.
            text = c if kind == "VARCHAR" else f"CAST({c} AS VARCHAR)"
            return Column(
                kind,
                f"(({text}) COLLATE C)",
                pl.String(),
                "VARCHAR",
                plain=text,
                plain_dtype=pl.String(),
                stays=text,
            )
        if kind == "BOOLEAN" or kind in _INTEGERS or kind.startswith("DECIMAL("):
            return Column(kind, c, None, kind, plain=c, stays=c)
        if kind in ("HUGEINT", "UHUGEINT", "BIGNUM"):
            # Arrow has no such integers; texts say them exactly.
            dtype = pl.Int128() if kind == "HUGEINT" else pl.String()
            text = f"CAST({c} AS VARCHAR)"
            return Column(kind, text, dtype, "VARCHAR", plain=text, plain_dtype=dtype, stays=c)
        if kind in ("FLOAT", "DOUBLE"):
            key = f"(CASE WHEN isnan({c}) THEN NULL WHEN {c} = 0 THEN CAST(0 AS {kind}) ELSE {c} END)"
            return Column(kind, key, None, kind, plain=c, stays=c)
        if kind == "DATE" or kind in _TIMES:
            wrong, zoned = f"NOT isfinite({c})", kind == "TIMESTAMP WITH TIME ZONE"
            utc, wire = (f"timezone('UTC', {c})", "TIMESTAMP") if zoned else (c, kind)
            # The session's time zone shall not travel along.
            label = pl.Datetime("us", "UTC") if zoned else None
            return Column(
                kind, f"(CASE WHEN isfinite({c}) THEN {utc} END)", None, wire, wrong=wrong,
                plain=f"CASE WHEN isfinite({c}) THEN {c} END", plain_dtype=label, stays=c,
            )  # fmt: skip
        return Column(kind, None, plain=c if kind == "BLOB" else f"CAST({c} AS VARCHAR)", stays=c)


def streamed(relation: Any) -> Generator[pl.DataFrame, None, None]:
    """Fetch a relation in batches (no rows: an empty batch)."""
    batches = relation.to_arrow_reader(BATCH)
    none = True
    try:
        for batch in batches:
            none = False
            yield pl.DataFrame(batch)
        if none:
            yield pl.DataFrame(batches.schema.empty_table())
    finally:
        # A result that is not fetched to its end would keep the connection.
        batches.close()


class RelationTable:
    """A relation of the caller's connection, read like a table of a database.

    It is evaluated anew for every question. There is no snapshot of it, but the engine sees when the answers
    do not fit each other.
    """

    title: ClassVar[str] = "the relation"
    dialect: ClassVar[type[Dialect]] = DuckDB
    source: ClassVar[str] = '"incrowd rows" AS t'

    def __init__(self, relation: Any) -> None:
        DuckDB.imported("pyarrow")
        self.relation = relation
        self._types = dict(zip(relation.columns, map(str, relation.types), strict=True))

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.relation.columns)

    def reading(self) -> int:
        """Return 0, the only number, since relations have no snapshots."""
        return 0

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        """Return the readings of some columns."""
        return {name: DuckDB.column(f"t.{DuckDB.quote(name)}", self._types[name]) for name in names}

    def interrupt(self) -> None:
        """Do nothing, since the connection is the caller's and may have other work."""

    def fetch(self, sql: str) -> pl.DataFrame:
        """Run a query and fetch all rows."""
        return _translating(lambda: pl.DataFrame(self.relation.query("incrowd rows", sql).to_arrow_table()))

    def batches(self, sql: str) -> Iterator[pl.DataFrame]:
        """Run a query and fetch some rows at a time."""
        rows = streamed(_translating(lambda: self.relation.query("incrowd rows", sql)))
        while (batch := _translating(lambda: next(rows, None))) is not None:
            yield batch

    @contextlib.contextmanager
    def kept(self, uploads: Mapping[str, Upload], query: str) -> Iterator[str]:
        """Keep the result of a query of uploaded tables for a block, and yield the SQL of the name."""
        # A connection finds one frame: the tables stand side by side in it.
        longest = max(len(frame) for frame, _ in uploads.values())
        parts, tables = [], []
        for number, (title, (frame, types)) in enumerate(uploads.items()):
            known, places = f"f{number}", [f"f{number}_{place}" for place in range(frame.width)]
            marked = frame.rename(dict(zip(frame.columns, places, strict=True))).with_columns(
                pl.lit(value=True).alias(known)
            )
            parts.append(marked.select(pl.all().extend_constant(None, longest - len(frame))))
            names = zip(places, types.items(), strict=True)
            listed = ", ".join(f"CAST({place} AS {kind}) AS {name}" for place, (name, kind) in names)
            tables.append(f"{DuckDB.quote(title)} AS (SELECT {listed} FROM {KEYS} WHERE {known})")
        keys, name = pl.concat(parts, how="horizontal"), DuckDB.quote(UNITS)
        try:
            self.joined(keys, f"CREATE OR REPLACE TEMP TABLE {name} AS WITH {', '.join(tables)} {query}")
            yield f"temp.{name}"
        finally:
            drop = f"DROP TABLE IF EXISTS temp.{name}"
            _translating(lambda: self.relation.query("incrowd rows", drop))

    def joined(self, keys: pl.DataFrame, sql: str) -> Any:
        """Return the relation of a query in which `KEYS` is a frame."""
        frame = keys.to_arrow()

        def query(incrowd_released_keys: Any) -> Any:
            # The connection finds the frame by the variable's name, and the relation keeps hold of it.
            return self.relation.query("incrowd rows", sql)

        return _translating(lambda: query(frame))


def _translating(work: Callable[[], T]) -> T:
    """Run a function of DuckDB and translate errors."""
    try:
        return work()
    except IncrowdError:
        raise
    except Exception as error:
        translated = DuckDB.translate(error) or while_fetching(DuckDB, error)
        if translated is None:
            raise
    raise translated
