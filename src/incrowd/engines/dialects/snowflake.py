"""Snowflake, by the vendor's connector, with SQL tested as text and never against a server."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote

from incrowd.core.errors import IncrowdError, TableError
from incrowd.core.lazy import pl
from incrowd.engines.dialects.base import Column, Dialect, Name, Upload

_OPTIONS = ("schema", "warehouse", "role", "authenticator", "private_key_file")
_INSERTED = 10_000
_CODES = {
    604: "the statement was cancelled, by a timeout or on request; nothing was kept",
    2002: "a table of that name was made by another session meanwhile; nothing was kept",
    2003: "there is no such table, schema or database, or you may not see it",
    3001: "the user lacks the rights to do that; nothing was kept",
    250001: "no connection; look at account, user, password and role",
}
"""Meanings of error numbers."""


class Snowflake(Dialect):
    """A session of Snowflake, with a point of time as the snapshot of every query."""

    title: ClassVar[str] = "Snowflake"
    scheme: ClassVar[str] = "snowflake"
    example: ClassVar[str] = "snowflake://user@account/db"
    server: ClassVar[bool] = True
    secret: ClassVar[str] = "the connector's connections.toml"
    driver: ClassVar[tuple[str, str] | None] = ("snowflake-connector-python", "snowflake")
    chance: ClassVar[str] = "uniform(0::FLOAT, 1::FLOAT, random())"
    temporary: ClassVar[re.Pattern[str]] = re.compile("(?!)")

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = self.connect(url)
        self._at = ""
        self._descriptions: dict[Name, dict[str, tuple[Any, ...]]] = {}
        self._uploaded: set[str] = set()
        self._staged: tuple[Name, Name, bool] | None = None

    @classmethod
    def connect(cls, where: str) -> Any:
        """Connect, with schema, warehouse, role and login method as options of the address."""
        driver = cls.imported("snowflake.connector", "pyarrow")
        parts, options = cls.parts_of(where), {}
        for name, value in parse_qsl(parts.query):
            if name not in _OPTIONS:
                raise TableError(f"{cls.title}: of an address's options, {', '.join(_OPTIONS)} are known")
            options[name] = value
        return driver.connect(
            account=parts.hostname,
            user=parts.username and unquote(parts.username),
            password=parts.password and unquote(parts.password),
            database=unquote(parts.path[1:]),
            session_parameters={"TIMEZONE": "UTC", "QUOTED_IDENTIFIERS_IGNORE_CASE": False},
            **options,
        )

    @classmethod
    def text(cls, text: str) -> str:
        """Write a text as a literal with doubled backslashes."""
        return super().text(text.replace("\\", "\\\\"))

    @classmethod
    def matches(cls, key: str, pattern: str) -> str:
        """Match with regular expressions, which are anchored at both ends."""
        return f"REGEXP_LIKE({key}, {cls.text(pattern)})"

    def source(self, table: Name) -> str:
        """Write a table as of the snapshot, except for an unfinished new table."""
        is_new = self._staged is not None and self._staged[0] == table
        return f"{self.qualified(table)}{'' if is_new else f' AT(TIMESTAMP => {self._at})'} AS t"

    def begin(self) -> None:
        """Take the current time as the snapshot (see `Dialect.begin`)."""
        self._descriptions = {}
        [(now,)] = self._fetch("SELECT TO_VARCHAR(CURRENT_TIMESTAMP(), 'YYYY-MM-DD HH24:MI:SS.FF9 TZHTZM')")
        self._at = f"CAST('{now}' AS TIMESTAMP_TZ)"

    def commit(self) -> None:
        """Rename the new table into place, in a single step."""
        if self._staged is not None:
            private, name, replace = (*map(self.qualified, self._staged[:2]), self._staged[2])
            if replace:
                self.execute(f"CREATE OR REPLACE TABLE {name} CLONE {private}")
            else:
                self.execute(f"ALTER TABLE {private} RENAME TO {name}")
                self._staged = None
        self.rollback()

    def rollback(self) -> None:
        """Drop the new and the uploaded tables."""
        staged, self._staged = self._staged, None
        for each in (*([staged[0]] if staged else []), *((name,) for name in self._uploaded)):
            with contextlib.suppress(Exception):
                self.execute(f"DROP TABLE IF EXISTS {self.qualified(each)}")
        self._uploaded = set()

    def interrupt(self) -> None:
        """Cancel the queries of the session, by another session."""
        with contextlib.suppress(Exception), self.connect(self._url) as asking, asking.cursor() as cursor:
            cursor.execute(f"SELECT SYSTEM$CANCEL_ALL_QUERIES({int(self._connection.session_id)})")

    def close(self) -> None:
        """End the session."""
        self.rollback()
        self._connection.close()

    def execute(self, sql: str) -> None:
        """Run a statement without a result."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def fetch(self, sql: str) -> pl.DataFrame:
        """Run a query and fetch all rows."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return pl.DataFrame(cursor.fetch_arrow_all(force_return_table=True))

    def batches(self, sql: str) -> Iterator[pl.DataFrame]:
        """Run a query and fetch some rows at a time (no rows: an empty batch)."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            none = True
            for table in cursor.fetch_arrow_batches():
                none = False
                yield pl.DataFrame(table)
            if none:
                yield self.fetch(f"SELECT * FROM ({sql}) AS r LIMIT 0")

    def target(self, table: Name) -> Name:
        """Name the schema."""
        return table if len(table) > 1 else (str(self._fetch("SELECT CURRENT_SCHEMA()")[0][0]), *table)

    def kind(self, table: Name) -> str | None:
        """Return the kind of object that has a name."""
        rows = self._catalog("tables", "table_type", table)
        return None if not rows else {"BASE TABLE": "table"}.get(rows[0][0], str(rows[0][0]).lower())

    def upload(self, name: str, frame: pl.DataFrame, types: Mapping[str, str]) -> None:
        """Create a temporary table with column names that need no quotes."""
        self._uploaded.add(name)
        listed = ", ".join(f"{column} {kind}" for column, kind in types.items())
        self.execute(f"CREATE OR REPLACE TEMPORARY TABLE {self.quote(name)} ({listed})")
        marks = ", ".join(["%s"] * len(types))
        for part in frame.iter_slices(_INSERTED):
            with self._connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {self.quote(name)} VALUES ({marks})", part.rows())

    def drop_uploaded(self, name: str) -> None:
        """Drop an uploaded table."""
        super().drop_uploaded(name)
        self._uploaded.discard(name)

    def make(
        self, name: Name, uploads: Mapping[str, Upload], query: str, columns: Sequence[str], *, replace: bool
    ) -> Name:
        """Create a table under a private name, since DDL commits at once."""
        private = (*name[:-1], f"incrowd_{secrets.token_hex(8)}")
        super().make(private, uploads, query, columns, replace=False)
        self._staged = (private, name, replace)
        return private

    @classmethod
    def translate(cls, error: Exception) -> IncrowdError | None:
        """Translate an error by number."""
        if not type(error).__module__.startswith("snowflake."):
            return None
        code = getattr(error, "errno", None)
        return cls.failure(_CODES.get(code or 0), str(code) if isinstance(code, int) else "")

    def _fetch(self, sql: str, *parameters: str | None) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return [tuple(row) for row in cursor.fetchall()]

    def _catalog(self, view: str, columns: str, table: Name) -> list[tuple[Any, ...]]:
        """Query the catalog about a table, with names compared exactly."""
        *above, name = table
        base = f"{self.quote(above[0])}." if len(above) > 1 else ""
        order = " ORDER BY ordinal_position" if view == "columns" else ""
        return self._fetch(
            f"SELECT {columns} FROM {base}information_schema.{view} WHERE table_name = %s "
            f"AND table_schema = COALESCE(%s, CURRENT_SCHEMA()){order}",
            name,
            above[-1] if above else None,
        )

    def described(self, table: Name) -> dict[str, tuple[Any, ...]]:
        """Return each column's type and digits (see `Dialect.described`)."""
        if table not in self._descriptions:
            kind = self.kind(table)
            if kind not in (None, "table"):
                raise TableError(
                    f"{self.title}: it is a {kind}, and only tables have snapshots; make one of it"
                )
            rows = self._catalog("columns", "column_name, data_type, numeric_precision, numeric_scale", table)
            self._descriptions[table] = {row[0]: row[1:] for row in rows}
        return self._descriptions[table]

    def column(self, c: str, base: str, precision: int | None, scale: int | None) -> Column:
        """Return the reading of a column by the description (see `Dialect.column`)."""
        if base == "TEXT":
            # Whatever collation the column has, texts are compared by their bytes.
            key = f"COLLATE({c}, 'utf8')"
            return Column(base, key, pl.String(), "VARCHAR", plain=key, plain_dtype=pl.String(), stays=c)
        if base == "NUMBER" and precision is not None and not scale:
            if precision <= 18:
                return Column(base, c, pl.Int64(), "BIGINT", plain=c, plain_dtype=pl.Int64(), stays=c)
            text = f"CAST({c} AS VARCHAR)"
            return Column(base, text, pl.Int128(), "VARCHAR", plain=text, plain_dtype=pl.Int128(), stays=c)
        if base == "NUMBER":
            exact = pl.Decimal(precision or 38, scale or 0)
            return Column(base, c, exact, f"NUMBER({precision},{scale})", plain=c, plain_dtype=exact, stays=c)
        if base == "FLOAT":
            # NaN equals itself there.
            plain = f"WHEN {c} = 0 THEN CAST(0 AS FLOAT) ELSE {c} END"
            key = f"(CASE WHEN {c} = CAST('NaN' AS FLOAT) THEN NULL {plain})"
            return Column(base, key, pl.Float64(), "FLOAT", plain=c, plain_dtype=pl.Float64(), stays=c)
        if base == "BOOLEAN":
            return Column(base, c, pl.Boolean(), base, plain=c, plain_dtype=pl.Boolean(), stays=c)
        if base == "DATE":
            return Column(base, c, pl.Date(), base, plain=c, plain_dtype=pl.Date(), stays=c)
        if base.startswith("TIMESTAMP"):
            zoned = base != "TIMESTAMP_NTZ"
            utc = f"CONVERT_TIMEZONE('UTC', {c})" if zoned else c
            key, wire = f"CAST({utc} AS TIMESTAMP_NTZ(6))", "TIMESTAMP_NTZ(6)"
            plain_dtype = pl.Datetime("us", "UTC") if zoned else pl.Datetime("us")
            return Column(base, key, pl.Datetime("us"), wire, plain=key, plain_dtype=plain_dtype, stays=c)
        # Neither text, number nor date: it may be passed on, but not counted.
        return Column(base, None, plain=c if base == "BINARY" else f"CAST({c} AS VARCHAR)", stays=c)
