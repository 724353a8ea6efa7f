"""SQLite files, by the standard library."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from incrowd.core.errors import IncrowdError, SchemaError, TableError
from incrowd.core.lazy import pl
from incrowd.engines.dialects.base import BATCH, Column, Dialect, Name

_CODES = {
    "SQLITE_BUSY_SNAPSHOT": "another session wrote to the database meanwhile; nothing was kept, try again",
    "SQLITE_BUSY": "the database is locked by another session; nothing was kept, try again",
    "SQLITE_LOCKED": "the database is locked by another session; nothing was kept, try again",
    "SQLITE_READONLY": "the file, or its folder, may only be read; nothing was written",
    "SQLITE_FULL": "the disk is full; nothing was kept",
    "SQLITE_IOERR": "the file cannot be read or written; nothing was kept",
    "SQLITE_CANTOPEN": "there is no such file, or it cannot be opened",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_NOTADB": "the file is no SQLite database",
    "SQLITE_NOMEM": "out of memory; nothing was kept",
    "SQLITE_INTERRUPT": "the statement was interrupted; nothing was kept",
    "SQLITE_PERM": "the file's rights do not allow that",
    "SQLITE_AUTH": "the file's rights do not allow that",
}
_EXACT = 2**53
"""Largest integer up to which all integers are distinct floats."""


class SQLite(Dialect):
    """A session of an SQLite file, with column types derived from the values.

    Columns have no types but their values have, so what a column holds is looked up when it is first read.
    """

    title: ClassVar[str] = "SQLite"
    scheme: ClassVar[str] = "sqlite"
    example: ClassVar[str] = "sqlite:///path"
    sides: ClassVar[Sequence[str]] = ("-wal", "-journal", "-shm")
    uploaded: ClassVar[str] = "temp."
    chance: ClassVar[str] = "(random() / 18446744073709551616.0 + 0.5)"

    def __init__(self, path: Path) -> None:
        self._connection = self.connect(path)
        self._descriptions: dict[tuple[Name, str], Column] = {}
        self._connection.create_function("incrowd_matches", 2, _matches, deterministic=True)
        try:
            self._connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchall()
        except sqlite3.Error:
            self._connection.close()
            raise

    @classmethod
    def connect(cls, where: Path) -> sqlite3.Connection:
        """Connect to an existing regular file."""
        if not os.path.isfile(where):
            raise TableError(f"{cls.title}: {_CODES['SQLITE_CANTOPEN']}")
        uri = f"{where.absolute().as_uri()}?mode=rw"
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)

    def begin(self) -> None:
        """Begin a transaction, with the snapshot fixed by a first read."""
        self._descriptions = {}
        self.execute("BEGIN")
        self._connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchall()

    def interrupt(self) -> None:
        """Cancel the query that another thread waits for."""
        self._connection.interrupt()

    def execute(self, sql: str) -> None:
        """Run a statement without a result."""
        self._connection.execute(sql).close()

    def batches(self, sql: str) -> Iterator[pl.DataFrame]:
        """Run a query and fetch some rows at a time (no rows: an empty batch)."""
        cursor = self._connection.execute(sql)
        try:
            names = [entry[0] for entry in cursor.description]
            rows = cursor.fetchmany(BATCH)
            while True:
                columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
                # A column is of one type, as `read` has seen to.
                yield pl.DataFrame({n: pl.Series(v) for n, v in zip(names, columns, strict=True)})
                rows = cursor.fetchmany(BATCH)
                if not rows:
                    return
        finally:
            # The session may have been closed meanwhile.
            with contextlib.suppress(sqlite3.ProgrammingError):
                cursor.close()

    def names(self, table: Name) -> list[str]:
        """Return the names of a table's columns."""
        schema = "" if len(table) < 2 else self.quote(table[0]) + "."
        listed = self._connection.execute(f"PRAGMA {schema}table_info({self.quote(table[-1])})")
        return [row[1] for row in listed]

    def read(self, table: Name, names: Sequence[str]) -> dict[str, Column]:
        """Return the readings of some columns, with types found in a single pass over the rows."""
        new = [name for name in dict.fromkeys(names) if (table, name) not in self._descriptions]
        # A result has at most two thousand columns.
        for start in range(0, len(new), 250):
            self._look(table, new[start : start + 250])
        return {name: self._descriptions[table, name] for name in names}

    def kind(self, table: Name) -> str | None:
        """Return the kind of object that has a name."""
        schema = "" if len(table) < 2 else self.quote(table[0]) + "."
        names = [f"{schema}sqlite_schema"] if schema else ["temp.sqlite_schema", "main.sqlite_schema"]
        for where in names:
            # Names are compared without regard to ASCII case there.
            row = self._connection.execute(
                f"SELECT type FROM {where} WHERE lower(name) = lower(?)", (table[-1],)
            ).fetchone()
            if row:
                return str(row[0])
        return None

    def upload(self, name: str, frame: pl.DataFrame, types: Mapping[str, str]) -> None:
        """Create a temporary table with an index over the keys, stored in a separate file."""
        self.drop_uploaded(name)
        columns = ", ".join(f"{self.quote(column)} {kind}" for column, kind in types.items())
        self.execute(f"CREATE TABLE temp.{self.quote(name)} ({columns})")
        places = ", ".join("?" * len(types))
        rows = (row for part in frame.iter_slices(BATCH) for row in part.iter_rows())
        self._connection.executemany(f"INSERT INTO temp.{self.quote(name)} VALUES ({places})", rows)
        keys = [self.quote(column) for column in types if column.startswith("k")]
        self.execute(
            f"CREATE INDEX temp.{self.quote(name + ' by key')} ON {self.quote(name)} ({', '.join(keys)})"
        )

    @classmethod
    def same(cls, column: Column, left: str, right: str) -> str:
        """Compare with IS, which uses the index."""
        return f"{left} IS {right}"

    @classmethod
    def matches(cls, key: str, pattern: str) -> str:
        """Match with a function of the session."""
        return f"incrowd_matches({cls.text(pattern)}, {key})"

    @classmethod
    def translate(cls, error: Exception) -> IncrowdError | None:
        """Translate an error by code."""
        if not isinstance(error, sqlite3.Error):
            return None
        code = str(getattr(error, "sqlite_errorname", None) or "")
        problem = next((meaning for name, meaning in _CODES.items() if code.startswith(name)), None)
        words = str(error)
        if problem is None and "decode to UTF-8" in words:
            problem = "a text is not written in UTF-8; repair it first"
        if problem is None and "no such table" in words:
            problem = "there is no such table or view"
        if problem is None and "already exists" in words:
            problem = "a table of that name was made meanwhile; nothing was kept"
        return cls.failure(problem, code if code.isidentifier() else "")

    def _look(self, table: Name, names: Sequence[str]) -> None:
        kinds = ("integer", "real", "text", "blob")
        checks = []
        for name in names:
            c = f"t.{self.quote(name)}"
            checks += [f"MAX(typeof({c}) = '{kind}')" for kind in kinds]
            checks.append(f"MAX(typeof({c}) = 'integer' AND ({c} > {_EXACT} OR {c} < -{_EXACT}))")
        sql = f"SELECT {', '.join(checks)} FROM {self.qualified(table)} AS t"
        results = self._connection.execute(sql).fetchone()
        step = len(kinds) + 1
        for position, name in enumerate(names):
            *has, wide = results[position * step : position * step + step]
            types = {kind for kind, occurs in zip(kinds, has, strict=True) if occurs}
            self._descriptions[table, name] = self._column(name, types, wide=bool(wide))

    def _column(self, name: str, types: set[str], *, wide: bool) -> Column:
        c = f"t.{self.quote(name)}"
        if types == {"integer", "real"} and not wide:
            # A column declared as decimal keeps whole numbers as integers.
            types = {"real"}
        if len(types) > 1:
            raise SchemaError(
                f"column {name!r} mixes values of several types ({', '.join(sorted(types))}); turn it "
                "into text first"
            )
        kind = next(iter(types), "text")
        # A cast leaves such values as they are, and takes the column's type out of comparisons.
        if kind == "integer":
            key = f"CAST({c} AS INTEGER)"
            return Column(kind, key, pl.Int64(), "INTEGER", plain=key, plain_dtype=pl.Int64(), stays=c)
        if kind == "real":
            key = f"CAST({c} AS REAL)"
            return Column(kind, key, pl.Float64(), "REAL", plain=key, plain_dtype=pl.Float64(), stays=c)
        if kind == "blob":
            return Column("blob", None, plain=c, plain_dtype=pl.Binary(), stays=c)
        key = f"CAST({c} AS TEXT) COLLATE BINARY"
        return Column(kind, key, pl.String(), "TEXT", plain=key, plain_dtype=pl.String(), stays=c)


def _matches(pattern: str, text: str | None) -> bool:
    return text is not None and re.fullmatch(pattern, text) is not None
