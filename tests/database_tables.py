"""Frames put into databases, as somebody else's program would."""

from __future__ import annotations

import atexit
import contextlib
import datetime as dt
import functools
import math
import sqlite3
import tempfile
from pathlib import Path

import duckdb
import polars as pl

import incrowd as ic
from incrowd.engines import RecodedTable

__all__ = [
    "FRAME",
    "HOLDERS",
    "MODELS",
    "PLACES",
    "SCHEMA",
    "STORES",
    "as_held",
    "fetched",
    "held",
    "holding",
    "mysql_statement",
    "mysql_url",
    "quoted",
    "statement",
]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def statement(url, *statements):
    """Run statements in PostgreSQL, each in a transaction, and return rows of the last statement."""
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)
        return cursor.fetch_arrow_table().to_pylist() if statements[-1].upper().startswith("SELECT") else None


def postgres_type(dtype):
    if isinstance(dtype, pl.Decimal):
        return f"numeric({dtype.precision},{dtype.scale})"
    return {
        pl.Float64: "float8", pl.Float32: "float4", pl.Int64: "bigint", pl.Int32: "integer", pl.UInt8: "smallint", pl.Int16: "smallint",
        pl.Boolean: "boolean", pl.Date: "date", pl.Datetime("us", "UTC"): "timestamptz", pl.Datetime("us"): "timestamp",
    }.get(dtype, "text")  # fmt: skip


def fill_postgres(url, frame, table="people", types=None):
    import adbc_driver_postgresql.dbapi as driver

    kinds = {name: (types or {}).get(name, postgres_type(dtype)) for name, dtype in frame.schema.items()}
    listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in kinds.items())
    with driver.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        # A session that a failed test left open is told of, not waited for.
        cursor.execute("SET lock_timeout = '10s'")
        cursor.execute(f"DROP TABLE IF EXISTS {quoted(table)} CASCADE")
        cursor.execute(f"CREATE TABLE {quoted(table)} ({listed})")
        plain = [
            name
            for name, dtype in frame.schema.items()
            if dtype == pl.Categorical or isinstance(dtype, pl.Enum)
        ]
        texts = [series.cast(pl.String) if series.name in plain else series for series in frame.get_columns()]
        cursor.adbc_ingest(table, pl.DataFrame(texts).to_arrow(), mode="append")


def held(frame):
    """The values of a frame that SQLite can hold: no dates, no decimals, no truth values, no NaN."""
    columns = []
    for column in frame.get_columns():
        dtype = column.dtype
        if dtype.is_float() or dtype.is_decimal():
            # Series look themselves up by their name, which may be a pattern of names.
            series = column.alias("").cast(pl.Float64).fill_nan(None).alias(column.name)
        else:
            whole = dtype.is_integer() or dtype == pl.Boolean
            series = column.cast(pl.Int64 if whole else pl.String)
        # Types are those of the values, of which there must be some.
        columns.append(series.cast(pl.String) if series.null_count() == len(series) else series)
    return pl.DataFrame(columns)


def fill_sqlite(path, frame, table="people", types=None):
    listed = ", ".join(f"{quoted(name)} {(types or {}).get(name, '')}" for name in frame.columns)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
        connection.execute(f"CREATE TABLE {quoted(table)} ({listed})")
        places = ", ".join("?" * frame.width)
        connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({places})", frame.iter_rows())
        connection.commit()


def fill_duckdb(connection, frame, table="people"):
    connection.register("incoming", frame.to_arrow())
    connection.execute(f"CREATE OR REPLACE TABLE {quoted(table)} AS SELECT * FROM incoming").fetchall()
    connection.unregister("incoming")


def mysql_type(dtype):
    if isinstance(dtype, pl.Decimal):
        return f"DECIMAL({dtype.precision},{dtype.scale})"
    return {
        pl.Float64: "DOUBLE", pl.Float32: "FLOAT", pl.Int64: "BIGINT", pl.Int32: "INT", pl.UInt8: "TINYINT UNSIGNED",
        pl.Int16: "SMALLINT", pl.UInt64: "BIGINT UNSIGNED", pl.Boolean: "BOOLEAN", pl.Date: "DATE",
        pl.Datetime("us", "UTC"): "TIMESTAMP(6)", pl.Datetime("us"): "DATETIME(6)",
    }.get(dtype, "LONGTEXT CHARACTER SET utf8mb4")  # fmt: skip


def mysql_statement(url, *statements):
    """Run statements in MariaDB, and return rows of the last statement."""
    from incrowd.engines.dialects import MySQL

    with MySQL.connect(url) as connection, connection.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)
        return cursor.fetchall()


def fill_mysql(url, frame, table="people", types=None):
    from incrowd.engines.dialects import MySQL

    kinds = {name: (types or {}).get(name, mysql_type(dtype)) for name, dtype in frame.schema.items()}
    # A TIMESTAMP is a point of time between 1970 and 2038.
    early = [column.name for column in frame.get_columns() if column.dtype == pl.Datetime("us", "UTC")
             and any(at is not None and not 1970 < at.year < 2038 for at in column)]  # fmt: skip
    kinds |= dict.fromkeys(early, "DATETIME(6)")
    listed = ", ".join(f"{quoted(name)} {kind} NULL" for name, kind in kinds.items())
    with MySQL.connect(url) as connection, connection.cursor() as cursor:
        # A session that a failed test left open is told of, not waited for.
        cursor.execute("SET lock_wait_timeout = 10")
        cursor.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
        cursor.execute(f"CREATE TABLE {quoted(table)} ({listed}) ENGINE = InnoDB")
        marks = ", ".join(["%s"] * frame.width)
        rows = [[_bare(value) for value in row] for row in frame.iter_rows()]
        cursor.executemany(f"INSERT INTO {quoted(table).replace('%', '%%')} VALUES ({marks})", rows)


def _bare(value):
    """Points of time on the session's clock, without NaN."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


def without_truth(frame):
    """The values of a frame that MariaDB can hold: truth values as whole numbers, and no NaN or infinity."""
    columns = []
    for column in frame.get_columns():
        series = column
        if column.dtype.is_float():
            finite = [value if value is not None and math.isfinite(value) else None for value in column]
            series = pl.Series(finite, dtype=column.dtype).alias(column.name)
        columns.append(series.cast(pl.Int64) if series.dtype == pl.Boolean else series)
    return pl.DataFrame(columns)


LIKE_SQLITE = ("sqlite",)


def as_held(where, frame):
    """The values of a frame that a database can hold."""
    if where in LIKE_SQLITE:
        return held(frame)
    return without_truth(frame) if where == "mysql" else frame


_SERVERS = contextlib.ExitStack()
atexit.register(_SERVERS.close)


@functools.cache
def mysql_url():
    """The URL of a MariaDB server, which starts at the first request."""
    from mariadb_server import running_server

    return _SERVERS.enter_context(running_server())


def in_postgresql(frame, folder, table, url):
    fill_postgres(url, frame, table)
    return url


def in_sqlite(frame, folder, table, url):
    fill_sqlite(folder / "people.db", frame, table)
    return f"sqlite:///{folder}/people.db"


def in_duckdb(frame, folder, table, url):
    with contextlib.closing(duckdb.connect(str(folder / "people.db"))) as connection:
        fill_duckdb(connection, frame, table)
    return f"duckdb:///{folder}/people.db"


def in_mysql(frame, folder, table, url):
    fill_mysql(mysql_url(), frame, table)
    return mysql_url()


# One line a database: how a frame gets into it, and its address then.
HOLDERS = {
    "postgresql": in_postgresql,
    "sqlite": in_sqlite,
    "duckdb": in_duckdb,
    "mysql": in_mysql,
}
STORES = tuple(HOLDERS)
PLACES = (*STORES, "relation")


@contextlib.contextmanager
def holding(where, frame, url=None, table="people"):
    """Put a frame into a database and give the table (`url` is PostgreSQL's) as incrowd sees tables."""
    if where == "relation":
        with contextlib.closing(duckdb.connect()) as connection:
            fill_duckdb(connection, frame, table)
            yield connection.table(quoted(table))
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        ic.Database(HOLDERS[where](frame, Path(folder), table, url)) as database,
    ):
        yield database.table(quoted(table))


def fetched(table):
    """All rows of a released table or relation."""
    if isinstance(table, RecodedTable):
        return table.fetch()
    import polars.selectors as cs

    # A relation's times are shown in the connection's time zone.
    return pl.DataFrame(table).with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))


SCHEMA = ic.Schema(quasi=["q"], sensitive=["s"])
MODELS = [ic.KAnonymity(2)]
FRAME = pl.DataFrame({"q": ["a", "a", "b", "b", "c", "c"], "s": list("xyxyxy")})
