"""PostgreSQL, by ADBC."""

from __future__ import annotations

import contextlib
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, ClassVar, TypeVar

from incrowd.core.errors import IncrowdError, TableError
from incrowd.core.lazy import pl
from incrowd.engines.dialects.base import Column, Dialect, Name

T = TypeVar("T")

_TEXTS = {"text", "varchar", "bpchar", "name", "char", "citext", "uuid"}
_LONGEST = 63

_STATES = {
    "22": "a value cannot be computed; look at the views and the types of the columns",
    "23505": "a table of that name was made by another session meanwhile; nothing was kept",
    "25006": "the session may only read; nothing was written",
    "25P03": "the server ended the session because it was idle in a transaction for longer than "
    "idle_in_transaction_session_timeout allows; nothing was kept",
    "28": "the user or the password was refused; look at the address, PGPASSWORD or the password file",
    "2BP01": "other objects, as a view, depend on the table that would be replaced; nothing was kept",
    "3D000": "there is no such database",
    "3F000": "there is no such schema",
    "40": "the transaction collided with another one; nothing was kept, try again",
    "42501": "the user lacks the rights to do that; nothing was kept",
    "42703": "a column is not there any more; nothing was kept",
    "42809": "that is no table which could be replaced; nothing was kept",
    "42P01": "there is no such table or view",
    "42P06": "a schema of that name exists already",
    "42P07": "a table of that name was made by another session meanwhile; nothing was kept",
    "53100": "the server's disk is full; nothing was kept",
    "53200": "the server is out of memory; nothing was kept",
    "53300": "the server has too many connections; try again later",
    "53": "the server is out of resources; nothing was kept",
    "55P03": "the table is locked by another session; nothing was kept, try again",
    "57014": "the statement was cancelled, by a timeout or on request; nothing was kept",
    "57P01": "the server ended the session; nothing was kept",
    "57": "the server is not available, or ended the session; nothing was kept",
    "08001": "no connection; look at host, port, database and user in the address, and whether the server is "
    "running",
    "08": "the connection was lost; nothing was kept",
}
"""Meanings of SQLSTATEs, by the whole code or the class."""

_LOST = (
    ("password authentication failed", "28"),
    ("no password supplied", "28"),
    ("authentication failed", "28"),
    ("pg_hba.conf", "28"),
    ("too many clients", "53300"),
    ("remaining connection slots", "53300"),
    ("terminating connection", "57P01"),
    ("server closed the connection", "57P01"),
)
"""Errors without a code, recognized by English words that are never passed on."""
_cancelling = threading.Lock()
"""Held while a server is asked to cancel."""

_PATIENCE = 5.0
"""Seconds to wait for a cancel request to reach the server (a second is too short on a busy machine)."""


class PostgreSQL(Dialect):
    """A session of a PostgreSQL server, version 13 or later."""

    title: ClassVar[str] = "PostgreSQL"
    scheme: ClassVar[str] = "postgresql"
    other_schemes: ClassVar[Sequence[str]] = ("postgres",)
    example: ClassVar[str] = "postgresql://user@host/db"
    server: ClassVar[bool] = True
    secret: ClassVar[str] = "PGPASSWORD or the password file"
    driver: ClassVar[tuple[str, str] | None] = ("adbc-driver-postgresql", "postgres")
    view_guards: ClassVar[bool] = True
    temporary: ClassVar[re.Pattern[str]] = re.compile(r"pg_(toast_)?temp(_\d+)?")
    uploaded: ClassVar[str] = "pg_temp."

    def __init__(self, url: str) -> None:
        self._connection = self.connect(url)
        self._descriptions: dict[Name, dict[str, tuple[str, str, str, int]]] = {}

    @classmethod
    def connect(cls, where: str) -> Any:
        """Connect by ADBC, with results through PyArrow."""
        return cls.imported("adbc_driver_postgresql.dbapi", "pyarrow").connect(where, autocommit=True)

    @classmethod
    def text(cls, text: str) -> str:
        """Write a text as a literal that no setting of the session changes."""
        return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"

    @classmethod
    def same(cls, column: Column, left: str, right: str) -> str:
        """Compare without NULL, which the server cannot hash."""
        stand_in = column.stand_in
        return (
            f"COALESCE({left}, {stand_in}) = COALESCE({right}, {stand_in}) "
            f"AND ({left} IS NULL) = ({right} IS NULL)"
        )

    @classmethod
    def matches(cls, key: str, pattern: str) -> str:
        """Match with the server's regular expressions."""
        return f"{key} ~ {cls.text(pattern)}"

    def begin(self) -> None:
        """Begin a transaction (see `Dialect.begin`)."""
        self._descriptions = {}
        # Rights to write are not asked for, and on a standby there are none.
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")

    def interrupt(self) -> None:
        """Cancel the query that another thread waits for."""
        _cancel(self._connection)

    def execute(self, sql: str) -> None:
        """Run a statement without a result."""
        with _Cursor(self._connection) as cursor:
            cursor.wait(lambda driver: driver.execute(sql))

    def fetch(self, sql: str, *parameters: str) -> pl.DataFrame:
        """Run a query and fetch all rows."""
        with _Cursor(self._connection) as cursor:
            cursor.wait(lambda driver: driver.execute(sql, *([parameters] if parameters else ())))
            # Through PyArrow: an error that comes while rows do is the driver's then.
            return pl.DataFrame(cursor.wait(lambda driver: driver.fetch_arrow_table()))

    def batches(self, sql: str) -> Iterator[pl.DataFrame]:
        """Run a query and fetch some rows at a time."""
        with _Cursor(self._connection) as cursor:
            cursor.wait(lambda driver: driver.execute(sql))
            reader = cursor.wait(lambda driver: driver.fetch_record_batch())
            while (batch := cursor.wait(lambda _: next(reader, None))) is not None:
                yield pl.DataFrame(batch)

    def target(self, table: Name) -> Name:
        """Add the schema, since another schema of the search path may have a table of that name."""
        if len(table) > 1:
            return table
        schema = self.fetch("SELECT current_schema()::text AS schema").item()
        return table if schema is None else (str(schema), *table)

    def kind(self, table: Name) -> str | None:
        """Return the kind of object that has a name."""
        rows = self.fetch(
            "SELECT relkind::text AS kind FROM pg_catalog.pg_class WHERE oid = to_regclass($1)",
            self.qualified(table),
        )
        if not len(rows):
            return None
        return {"r": "table", "p": "table", "v": "view", "m": "materialized view"}.get(
            str(rows.item()), "other relation"
        )

    def related(self, one: Name, other: Name) -> bool:
        """Say whether two names mean the same table, or partitions of the same table."""
        count = self.fetch(
            "WITH RECURSIVE kin(oid) AS (SELECT to_regclass($1)::oid UNION "
            "SELECT CASE WHEN i.inhrelid = k.oid THEN i.inhparent ELSE i.inhrelid END FROM kin k "
            "JOIN pg_catalog.pg_inherits i ON k.oid IN (i.inhrelid, i.inhparent)) "
            "SELECT count(*) AS n FROM kin WHERE oid = to_regclass($2)::oid",
            self.qualified(one),
            self.qualified(other),
        )
        return bool(count.item())

    def check_name(self, name: Name) -> None:
        """Raise for a name that the server would truncate, too."""
        super().check_name(name)
        if any(len(part.encode()) > _LONGEST for part in name):
            raise TableError(f"{self.title}: names are at most {_LONGEST} bytes long; choose a shorter one")

    def upload(self, name: str, frame: pl.DataFrame, types: Mapping[str, str]) -> None:
        """Create a temporary table that ends with the transaction."""
        # A session may have left one; the schema keeps a table of the user's out of this.
        self.drop_uploaded(name)
        columns = ", ".join(f"{self.quote(column)} {kind}" for column, kind in types.items())
        self.execute(f"CREATE TEMPORARY TABLE {self.quote(name)} ({columns}) ON COMMIT DROP")
        with _Cursor(self._connection) as cursor:
            table = frame.to_arrow()
            cursor.wait(lambda driver: driver.adbc_ingest(name, table, mode="append", temporary=True))
        self.execute(f"ANALYZE pg_temp.{self.quote(name)}")

    def joining(self) -> None:
        """Rule out the other joins, since the planner has no statistics of key expressions."""
        for way in ("nestloop", "mergejoin"):
            self.execute(f"SET LOCAL enable_{way} = off")

    @classmethod
    def translate(cls, error: Exception) -> IncrowdError | None:
        """Translate an error by SQLSTATE."""
        import adbc_driver_manager

        if not isinstance(error, adbc_driver_manager.Error):
            return None
        state = str(getattr(error, "sqlstate", None) or "").strip("\0 ")
        words = str(error)
        if not state:
            state = next((code for mark, code in _LOST if mark in words), "")
            if not state and "database " in words and "does not exist" in words:
                state = "3D000"
            if not state and "ailed to connect" in words:
                state = "08001"
        problem = _STATES.get(state) or _STATES.get(state[:2])
        return cls.failure(problem, f"SQLSTATE {state}" if state.isalnum() else "")

    # --- the catalog -----------------------------------------------------------------------------------

    def described(self, table: Name) -> dict[str, tuple[str, str, str, int]]:
        """Return each column's base type, the kind and name of the type, and the type's modifier."""
        if table not in self._descriptions:
            # Domains are read as what they are made of.
            rows = self.fetch(
                "WITH RECURSIVE c AS (SELECT a.attnum, a.attname::text AS name, a.atttypid AS type, "
                "a.atttypmod AS mode, 0 AS depth FROM pg_catalog.pg_attribute a "
                "WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped "
                "UNION ALL SELECT c.attnum, c.name, t.typbasetype, "
                "CASE WHEN c.mode = -1 THEN t.typtypmod ELSE c.mode END, c.depth + 1 "
                "FROM c JOIN pg_catalog.pg_type t ON t.oid = c.type AND t.typtype = 'd') "
                "SELECT DISTINCT ON (c.attnum) c.attnum, c.name, t.typname::text AS type, "
                "t.typtype::text AS kind, format_type(c.type, c.mode) AS words, c.mode::int4 AS mode "
                "FROM c JOIN pg_catalog.pg_type t ON t.oid = c.type ORDER BY c.attnum, c.depth DESC",
                self.qualified(table),
            )
            self._descriptions[table] = {row[1]: tuple(row[2:]) for row in rows.iter_rows()}
        return self._descriptions[table]

    def column(self, c: str, base: str, kind: str, words: str, mode: int) -> Column:
        """Return the reading of a column by the description (see `Dialect.column`)."""
        # Of a domain the new table shall have the type alone, and not the values that it allows.
        stays = f"CAST({c} AS {words})"
        if base in _TEXTS or kind == "e":
            key = f'({c}::text COLLATE pg_catalog."C")'
            stays = f"{c}::text" if kind == "e" else stays
            return Column(
                words, key, pl.String(), 'text COLLATE pg_catalog."C"', "''", plain=key, stays=stays
            )
        if base in ("int2", "int4", "int8"):
            cast = f"{c}::{base}"
            return Column(words, cast, None, base, f"0::{base}", plain=cast, stays=stays)
        if base == "bool":
            return Column(words, f"{c}::bool", None, "bool", "false", plain=f"{c}::bool", stays=stays)
        if base in ("float4", "float8"):
            # NaN is missing, and negative zero the same number as zero.
            key = f"(NULLIF({c}::{base}, 'NaN'::{base}) + 0::{base})"
            return Column(words, key, None, base, f"0::{base}", plain=f"{c}::{base}", stays=stays)
        if base == "numeric":
            key = f"NULLIF({c}::numeric, 'NaN'::numeric)"
            precision, scale = ((mode - 4) >> 16) & 0xFFFF, (mode - 4) & 0x7FF
            text = 'text COLLATE pg_catalog."C"'
            if mode >= 4 and precision <= 38 and scale <= precision:
                dtype = pl.Decimal(precision, scale)
                key = f'({key}::text COLLATE pg_catalog."C")'
                return Column(words, key, dtype, text, "''", None, key, dtype, stays)
            wrong = f"{c}::text IN ('Infinity', '-Infinity')"
            key = f'(CASE WHEN {wrong} THEN NULL ELSE trim_scale({key})::text END COLLATE pg_catalog."C")'
            plain = f"NULLIF({c}::numeric, 'NaN'::numeric)::text"
            return Column(words, key, pl.String(), text, "''", wrong, plain, None, stays)
        if base in ("date", "timestamp", "timestamptz"):
            wrong = f"NOT isfinite({c})"
            plain = f"CASE WHEN isfinite({c}) THEN {c}::{base} END"
            utc = f"({c} AT TIME ZONE 'UTC')" if base == "timestamptz" else f"{c}::{base}"
            key = f"(CASE WHEN isfinite({c}) THEN {utc} END)"
            wire = "date" if base == "date" else "timestamp"
            label = pl.Datetime("us", "UTC") if base == "timestamptz" else None
            return Column(words, key, None, wire, f"'2000-01-01'::{wire}", wrong, plain, label, stays)
        # Neither text, number nor date: it may be passed on, but not counted.
        plain = c if base == "bytea" else f"{c}::text"
        return Column(words, None, plain=plain, stays=c)


class _Cursor:
    """A cursor of the driver with waits that a signal ends, with the server's query cancelled.

    The driver waits in compiled code, where Python handles no signal, and in the main thread it takes Ctrl-C
    for itself. So it waits in a thread of its own.
    """

    def __init__(self, connection: Any) -> None:
        self._cursor = connection.cursor()
        self._busy = False

    def __enter__(self) -> _Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        # One that still waits, since a second signal came, cannot be closed; its thread keeps it.
        if not self._busy:
            self._cursor.close()

    def wait(self, work: Callable[[Any], T]) -> T:
        """Run a function of the driver's cursor and wait for the server."""
        if threading.current_thread() is not threading.main_thread():
            return work(self._cursor)
        outcome: Future[T] = Future()
        # A process that is ended from another thread runs finalizers first.
        running = weakref.finalize(outcome, _cancel, self._cursor)
        running.atexit = False
        try:
            threading.Thread(target=self._work, args=(work, outcome), daemon=True).start()
            # Polars has a wait go on after Ctrl-C, so Python looks for signals now and then.
            while not wait([outcome], 0.1).done:
                pass
            return outcome.result()
        except BaseException:
            while self._busy:
                _cancel(self._cursor)
                wait([outcome], 0.1)
            raise
        finally:
            if not self._busy:
                running.detach()

    def _work(self, work: Callable[[Any], T], outcome: Future[T]) -> None:
        self._busy = True
        try:
            result = work(self._cursor)
        except BaseException as error:
            self._busy = False
            outcome.set_exception(error)
        else:
            self._busy = False
            outcome.set_result(result)


def _cancel(waited_for: Any) -> None:
    """Ask the server to cancel, by another connection, and wait until the request is sent."""

    def ask() -> None:
        # A second one at the same time may come back before the first was sent, and then the process ends.
        with _cancelling, contextlib.suppress(Exception):
            waited_for.adbc_cancel()

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_PATIENCE)
