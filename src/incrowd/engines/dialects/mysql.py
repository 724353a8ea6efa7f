"""MariaDB and MySQL, by PyMySQL."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote

from incrowd.core.errors import IncrowdError, TableError
from incrowd.core.lazy import pl
from incrowd.engines.dialects.base import BATCH, Column, Dialect, Name, Upload

_TEXTS = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "uuid", "inet4", "inet6"}
_INTEGERS = {"tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit"}
_LONGEST = 64
_SORTED = 65_536
"""Bytes that the server's sort compares, so that longer texts may count as equal."""

_SETTINGS = (
    "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_ALL_TABLES', time_zone = '+00:00', "
    f"max_sort_length = {_SORTED}, sort_buffer_size = GREATEST(@@sort_buffer_size, 67108864)"
)
_TIME, _WHOLE, _DECIMALS = 11, {1, 2, 3, 8, 9, 13}, {0, 246}
"""The protocol's numbers of types."""

_TOO_LONG = f"texts of more than {_SORTED} bytes; shorten them, or leave the column out"
_NO_DAYS = "days that are in no calendar, as 0000-00-00; replace them, or turn it into text"
_PRIVATE = "^incrowd_[0-9a-f]{16}(_old)?$"
"""Names of new tables before they have their own, and of those that they replace."""
_OPTIONS = ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key")
_COLUMN_TYPES = {
    "text": "LONGTEXT", "signed": "BIGINT", "unsigned": "BIGINT UNSIGNED", "double precision": "DOUBLE",
}  # fmt: skip
"""Types of columns, by types of values."""

_CODES = {
    (1412,): "a table was changed by another session meanwhile; nothing was kept, try again",
    (1044, 1045, 1698, 2059): "the user or the password was refused; look at the address, MYSQL_PWD or the "
    "option file",
    (1142, 1143, 1227, 1370, 1290): "the user lacks the rights to do that; nothing was kept",
    (1205, 1213, 1020): "the transaction collided with another one; nothing was kept, try again",
    (1317, 1969, 3024): "the statement was cancelled, by a timeout or on request; nothing was kept",
    (1021, 1114, 1030, 3): "the server's disk is full; nothing was kept",
    (5, 1037, 1038, 1041): "the server is out of memory; nothing was kept",
    (1040, 1203, 1226): "the server has too many connections; try again later",
    (2002, 2003, 2005): "no connection; look at host, port, database and user in the address, and whether "
    "the server is running",
    (2014,): "rows are still being fetched; fetch them to their end first",
    (0, 1053, 1152, 1153, 1927, 2006, 2013): "the connection was lost; nothing was kept",
    (1059, 1060, 1117, 1118, 1166): "a row of the new table would be too long, or it has names that the "
    "server does not take; nothing was kept",
    (1264, 1292, 1366, 1406): "a value cannot be computed; look at the views and the types of the columns",
    (1049,): "there is no such database",
    (1050,): "a table of that name was made by another session meanwhile; nothing was kept",
    (1054,): "a column is not there any more; nothing was kept",
    (1146,): "there is no such table or view",
}
"""Meanings of the server's error numbers."""


class MySQL(Dialect):
    """A session of a MariaDB server (10.5 or later) or a MySQL server (8.0 or later)."""

    title: ClassVar[str] = "MySQL"
    scheme: ClassVar[str] = "mysql"
    other_schemes: ClassVar[Sequence[str]] = ("mariadb",)
    example: ClassVar[str] = "mysql://user@host/db"
    server: ClassVar[bool] = True
    secret: ClassVar[str] = "MYSQL_PWD or ~/.my.cnf"
    driver: ClassVar[tuple[str, str] | None] = ("PyMySQL", "mysql")
    random: ClassVar[str] = "RAND()"
    chance: ClassVar[str] = "RAND()"
    whole: ClassVar[str] = "SIGNED"
    temporary: ClassVar[re.Pattern[str]] = re.compile("(?!)")

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = self.connect(url)
        self._streaming: Any = None
        self._database = str(self._row("SELECT DATABASE()")[0])
        # Texts are compared by their bytes, blanks at the end included; the two servers call that otherwise.
        maria = "mariadb" in str(self._row("SELECT VERSION()")[0]).lower()
        self._collation = "utf8mb4_nopad_bin" if maria else "utf8mb4_0900_bin"
        self._descriptions: dict[Name, dict[str, tuple[Any, ...]]] = {}
        self._uploaded: set[str] = set()
        self._writer: Any = None
        self._staged: list[tuple[str, Name, bool]] = []

    @classmethod
    def connect(cls, where: str) -> Any:
        """Connect, with missing parts of the address from MYSQL_PWD and the option file."""
        driver, converters = cls.imported("pymysql"), cls.imported("pymysql.converters")
        parts, options = cls.parts_of(where), {}
        for name, values in parse_qs(parts.query).items():
            if name not in _OPTIONS:
                raise TableError(f"{cls.title}: of an address's options, {', '.join(_OPTIONS)} are known")
            options[name] = values[-1]
        if len(parts.path) < 2:
            raise TableError(f"{cls.title}: name the database in the address, as {cls.example}")
        secret = parts.password and unquote(parts.password)
        connection = driver.connect(
            host=parts.hostname,
            port=parts.port or 0,
            user=parts.username and unquote(parts.username),
            password=secret or os.environ.get("MYSQL_PWD"),
            database=unquote(parts.path[1:]),
            charset="utf8mb4",
            autocommit=True,
            read_default_file=os.path.expanduser("~/.my.cnf"),
            # Times of day travel as texts.
            conv={kind: turn for kind, turn in converters.conversions.items() if kind != _TIME},
            **options,
        )
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION {_SETTINGS}")
        return connection

    @classmethod
    def same(cls, column: Column, left: str, right: str) -> str:
        """Compare null-safely, which uses the index."""
        return f"{left} <=> {right}"

    @classmethod
    def matches(cls, key: str, pattern: str) -> str:
        """Match with the server's regular expressions, where ``$`` also stands before a last line break."""
        return f"{key} REGEXP " + cls.text(rf"\A(?:{pattern})\z")

    @classmethod
    def as_text(cls, expression: str) -> str:
        """Write a value as bytes, which have a binary order."""
        return f"CAST({expression} AS BINARY)"

    @classmethod
    def value(cls, text: str, wire: str) -> str:
        """Write a value, and NULL for an infinity, which the server would take for zero."""
        return "NULL" if "inf" in text else super().value(text, wire)

    def begin(self) -> None:
        """Begin a transaction that sees a single snapshot (see `Dialect.begin`)."""
        self._descriptions = {}
        if not self._connection.open:
            # Ctrl-C has the driver close the connection.
            self._connection = self.connect(self._url)
        self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")

    def commit(self) -> None:
        """Rename the new tables into place at once, and then drop the replaced tables."""
        super().commit()
        if self._staged:
            old = [(name, (*name[:-1], f"{private}_old")) for private, name, gone in self._staged if gone]
            steps = [*old, *(((*name[:-1], private), name) for private, name, _ in self._staged)]
            renamed = (f"{self.qualified(one)} TO {self.qualified(other)}" for one, other in steps)
            self.execute(f"RENAME TABLE {', '.join(renamed)}")
            self._staged = []
            if old:
                self.execute(f"DROP TABLE {', '.join(self.qualified(place) for _, place in old)}")
        self._tidy()

    def rollback(self) -> None:
        """End the transaction, and drop the new tables."""
        if self._streaming is not None:
            # Rows that are still being fetched would have to be read to their end.
            self._streaming = None
            self._connection.close()
        with contextlib.suppress(Exception):
            super().rollback()
        self._tidy()

    def interrupt(self) -> None:
        """Cancel the query that another thread waits for, by another connection."""
        running = [each.thread_id() for each in (self._connection, self._writer) if each is not None]
        with contextlib.suppress(Exception), self.connect(self._url) as asking, asking.cursor() as cursor:
            for number in running:
                with contextlib.suppress(Exception):
                    cursor.execute(f"KILL QUERY {number}")

    def close(self) -> None:
        """End the session."""
        self.rollback()
        self._connection.close()

    def execute(self, sql: str) -> None:
        """Run a statement without a result."""
        with self._asking() as cursor:
            cursor.execute(sql)

    def batches(self, sql: str) -> Iterator[pl.DataFrame]:
        """Run a query and fetch some rows at a time (no rows: an empty batch)."""
        for names, kinds, rows in self._fetch_batches(sql):
            columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
            columns_by_name = {
                name: pl.Series(values, dtype=_dtype(kind, values))
                for name, kind, values in zip(names, kinds, columns, strict=True)
            }
            yield pl.DataFrame(columns_by_name)

    def target(self, table: Name) -> Name:
        """Name the database."""
        return table if len(table) > 1 else (self._database, *table)

    def kind(self, table: Name) -> str | None:
        """Return the kind of object that has a name."""
        row = self._row(
            "SELECT table_type FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
            *self.target(table),
        )
        kinds = {"BASE TABLE": "table", "SYSTEM VERSIONED": "table"}
        return None if not row else kinds.get(str(row[0]), str(row[0]).lower())

    def related(self, one: Name, other: Name) -> bool:
        """Say whether two names mean the same table."""
        same = zip(self.target(one), self.target(other), strict=True)
        return all(mine.casefold() == theirs.casefold() for mine, theirs in same)

    def check_name(self, name: Name) -> None:
        """Raise for a name too long or too deep for the server, too."""
        super().check_name(name)
        if len(name) > 2 or any(len(part) > _LONGEST for part in name):
            raise TableError(
                f"{self.title}: a name has at most {_LONGEST} characters, and at most a database before it; "
                "choose another one"
            )

    def upload(self, name: str, frame: pl.DataFrame, types: Mapping[str, str]) -> None:
        """Create a temporary table with an index over the keys."""
        self.execute(f"DROP TEMPORARY TABLE IF EXISTS {self.quote(name)}")
        self._uploaded.add(name)
        kinds = {column: _COLUMN_TYPES.get(kind.lower(), kind) for column, kind in types.items()}
        listed = [f"{self.quote(column)} {kind}" for column, kind in kinds.items()]
        keys = [column for column in kinds if column.startswith("k") and column != "known"][:8]
        if keys:
            parts = (f"{self.quote(key)}{'(60)' if kinds[key] == 'LONGTEXT' else ''}" for key in keys)
            listed.append(f"INDEX ({', '.join(parts)})")
        self.execute(
            f"CREATE TEMPORARY TABLE {self.quote(name)} ({', '.join(listed)}) ENGINE = InnoDB "
            f"CHARACTER SET utf8mb4 COLLATE {self._collation}"
        )
        for part in frame.iter_slices(BATCH):
            self._insert(self._connection, self.quote(name), part.rows())

    def drop_uploaded(self, name: str) -> None:
        """Drop an uploaded table."""
        self.execute(f"DROP TEMPORARY TABLE IF EXISTS {self.quote(name)}")
        self._uploaded.discard(name)

    def make(
        self, name: Name, uploads: Mapping[str, Upload], query: str, columns: Sequence[str], *, replace: bool
    ) -> Name:
        """Create a table under a private name, in another session.

        A statement that creates or fills a table reads what others have written since the snapshot, and ends
        the transaction. So the rows are read by a plain query, and written by another session.
        """
        for uploaded, upload in uploads.items():
            self.upload(uploaded, upload.frame, upload.types)
        shape = "incrowd shape"
        self.drop_uploaded(shape)
        self._uploaded.add(shape)
        self.execute(f"CREATE TEMPORARY TABLE {self.quote(shape)} AS {query} LIMIT 0")
        with self._asking() as cursor:
            cursor.execute(f"SHOW FULL COLUMNS FROM {self.quote(shape)}")
            # In a query, the server takes the blanks away with which a name begins.
            definitions = [
                f"{self.quote(column)} {kind}{f' COLLATE {collation}' if collation else ''} NULL"
                for column, (_, kind, collation, *_) in zip(columns, cursor.fetchall(), strict=True)
            ]
        private = (*name[:-1], f"incrowd_{secrets.token_hex(8)}")
        self._writer = self._writer or self.connect(self._url)
        with self._waiting():
            with self._writer.cursor() as cursor:
                self._drop_leftovers(cursor, private)
                listed = ", ".join(definitions)
                cursor.execute(f"CREATE TABLE {self.qualified(private)} ({listed}) ENGINE = InnoDB")
            self._staged.append((private[-1], name, replace))
            self._writer.begin()
            for _, _, rows in self._fetch_batches(query):
                self._insert(self._writer, self.qualified(private), rows)
            self._writer.commit()
        # The new table is in no snapshot yet.
        super().commit()
        self.begin()
        return private

    @classmethod
    def translate(cls, error: Exception) -> IncrowdError | None:
        """Translate an error by number."""
        driver = cls.imported("pymysql")
        if isinstance(error, RuntimeError) and "cryptography" in str(error):
            return TableError(f"{cls.title}: the server's way to ask for a password needs cryptography")
        if not isinstance(error, driver.err.Error):
            return None
        code = error.args[0] if error.args and isinstance(error.args[0], int) else ""
        return cls.failure(next((_CODES[codes] for codes in _CODES if code in codes), None), str(code))

    # --- the session -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _waiting(self) -> Iterator[None]:
        """Cancel the server's query when a signal arrives."""
        try:
            yield
        except (Exception, GeneratorExit):
            raise
        except BaseException:
            self.interrupt()
            raise

    @contextlib.contextmanager
    def _asking(self, kind: str = "Cursor") -> Iterator[Any]:
        """Yield a cursor of the session, which runs a single query at a time."""
        if self._streaming is not None:
            raise self.imported("pymysql").err.ProgrammingError(2014)
        connection = self._connection
        cursor = connection.cursor(getattr(self.imported("pymysql.cursors"), kind))
        try:
            with self._waiting():
                yield cursor
        finally:
            if not connection.open and cursor._result is not None:
                # There are no rows any more, for which the driver would look.
                cursor._result.unbuffered_active = False
            with contextlib.suppress(Exception):
                cursor.close()

    def _row(self, sql: str, *parameters: str) -> tuple[Any, ...]:
        """Return the first row of a query (no rows: an empty tuple)."""
        with self._asking() as cursor:
            cursor.execute(sql, parameters or None)
            return tuple(cursor.fetchone() or ())

    def _fetch_batches(self, sql: str) -> Iterator[tuple[list[str], list[Any], Sequence[tuple[Any, ...]]]]:
        """Run a query, and yield the names and types of the columns with some rows (no rows: once)."""
        with self._asking("SSCursor") as cursor:
            cursor.execute(sql)
            described, self._streaming = list(cursor.description), cursor
            try:
                rows = cursor.fetchmany(BATCH)
                while True:
                    yield [entry[0] for entry in described], described, rows
                    if self._streaming is not cursor:
                        raise self.imported("pymysql").err.InterfaceError(0)
                    rows = cursor.fetchmany(BATCH)
                    if not rows:
                        return
            finally:
                if self._streaming is cursor:
                    self._streaming = None

    def _insert(self, connection: Any, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows in bulk."""
        if rows:
            marks = ", ".join(["%s"] * len(rows[0]))
            with self._waiting(), connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {table.replace('%', '%%')} VALUES ({marks})", rows)

    def _drop_leftovers(self, cursor: Any, private: Name) -> None:
        """Lock the private name of a new table, and drop the tables of runs that were killed.

        The lock ends with its session, so a table of a private name that nobody has locked has no run.
        """
        schema = self.target(private)[0]
        cursor.execute("SELECT GET_LOCK(%s, 0)", (private[-1],))
        cursor.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_name REGEXP "
            f"'{_PRIVATE}' AND IS_FREE_LOCK(LEFT(table_name, {len(private[-1])})) = 1",
            (schema,),
        )
        for (name,) in cursor.fetchall():
            with contextlib.suppress(self.imported("pymysql").err.Error):
                cursor.execute(f"DROP TABLE IF EXISTS {self.qualified((schema, name))}")
                warnings.warn(
                    f"{self.title}: dropped the table {name}, which a run left behind that was killed",
                    stacklevel=2,
                )

    def _tidy(self) -> None:
        """Drop uploaded tables and an unfinished new table, even if the session has gone."""
        writer, staged = self._writer, self._staged
        self._writer, self._staged = None, []
        if writer is not None:
            with contextlib.suppress(Exception):
                writer.close()
        with contextlib.suppress(Exception):
            if staged:
                private = ", ".join(self.qualified((*name[:-1], place)) for place, name, _ in staged)
                with self.connect(self._url) as connection, connection.cursor() as cursor:
                    cursor.execute(f"DROP TABLE IF EXISTS {private}")
        for uploaded in list(self._uploaded):
            with contextlib.suppress(Exception):
                self.drop_uploaded(uploaded)
        self._uploaded = set()

    # --- the catalog -----------------------------------------------------------------------------------

    def described(self, table: Name) -> dict[str, tuple[Any, ...]]:
        """Return each column's base type, full type, precision and scale."""
        if table not in self._descriptions:
            where = self.target(table)
            engine = self._row(
                "SELECT engine FROM information_schema.tables WHERE table_schema = %s AND table_name = %s "
                "AND table_type <> 'VIEW'", *where,
            )  # fmt: skip
            if engine and str(engine[0]).lower() != "innodb":
                raise TableError(
                    f"{self.title}: the table is kept by {engine[0]}, which has no snapshots; copy it into a "
                    "table of InnoDB first"
                )
            with self._asking() as cursor:
                cursor.execute(
                    "SELECT column_name, data_type, column_type, numeric_precision, numeric_scale "
                    "FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
                    "AND extra NOT LIKE '%%INVISIBLE%%' ORDER BY ordinal_position",
                    where,
                )
                self._descriptions[table] = {row[0]: row[1:] for row in cursor.fetchall()}
        return self._descriptions[table]

    def column(self, c: str, base: str, words: str, precision: int | None, scale: int | None) -> Column:
        """Return the reading of a column by the description (see `Dialect.column`)."""
        if base in _TEXTS or base in ("enum", "set"):
            text = f"CONVERT({c} USING utf8mb4)"
            wrong = f"OCTET_LENGTH({text}) > {_SORTED}" if base.endswith("text") else None
            key, stays = f"({text} COLLATE {self._collation})", c if base in _TEXTS else text
            return Column(words, key, pl.String(), "TEXT", "", wrong, key, pl.String(), stays, _TOO_LONG)
        if base in _INTEGERS:
            unsigned = "unsigned" in words or base in ("bit", "year")
            integer = pl.UInt64() if unsigned and base in ("bigint", "bit") else pl.Int64()
            wire = "UNSIGNED" if unsigned else "SIGNED"
            key = f"CAST({c} AS {wire})"
            stays = key if base == "bit" else c
            return Column(words, key, integer, wire, plain=key, plain_dtype=integer, stays=stays)
        if base in ("float", "double"):
            # The server shows six digits of a float. There is neither NaN nor infinity; -0 is 0.
            real = pl.Float32() if base == "float" else pl.Float64()
            wide = f"CAST({c} AS DOUBLE)"
            return Column(words, f"({wide} + 0e0)", real, "DOUBLE", plain=wide, plain_dtype=real, stays=wide)
        if base == "decimal" and precision is not None and precision <= 38:
            exact = pl.Decimal(precision, scale or 0)
            wire = f"DECIMAL({precision},{scale})"
            return Column(words, c, exact, wire, plain=c, plain_dtype=exact, stays=c)
        if base == "decimal":
            text = f"CAST({c} AS CHAR) COLLATE {self._collation}"
            key = f"TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {text}))" if scale else f"({text})"
            return Column(words, key, pl.String(), "TEXT", plain=text, plain_dtype=pl.String(), stays=c)
        if base in ("date", "datetime", "timestamp"):
            wrong = f"(YEAR({c}) = 0 OR MONTH({c}) = 0 OR DAYOFMONTH({c}) = 0)"
            wire = "DATE" if base == "date" else "DATETIME(6)"
            key = f"(CASE WHEN {wrong} THEN NULL ELSE CAST({c} AS {wire}) END)"
            day = pl.Date() if base == "date" else pl.Datetime("us")
            plain_dtype = pl.Datetime("us", "UTC") if base == "timestamp" else day
            return Column(words, key, day, wire, "", wrong, key, plain_dtype, c, _NO_DAYS)
        # Neither text, number nor date: it may be passed on, but not counted.
        if "blob" in base or "binary" in base:
            return Column(words, None, plain=c, plain_dtype=pl.Binary(), stays=c)
        return Column(words, None, plain=f"CAST({c} AS CHAR)", plain_dtype=pl.String(), stays=c)


def _dtype(described: Sequence[Any], values: Sequence[Any]) -> pl.DataType:
    """Return the type of a result's column, by the protocol's type number."""
    kind = described[1]
    if kind in _WHOLE:
        return pl.UInt64() if any(value is not None and value >= 2**63 for value in values) else pl.Int64()
    if kind in _DECIMALS:
        return pl.Decimal(38, described[5])
    dtypes: dict[int, pl.DataType] = {
        4: pl.Float64(), 5: pl.Float64(), 7: pl.Datetime("us"), 10: pl.Date(), 12: pl.Datetime("us"),
    }  # fmt: skip
    first = next((value for value in values if value is not None), "")
    return dtypes.get(kind, pl.Binary() if isinstance(first, bytes) else pl.String())
