"""Where the rows of a case are: frames, files, folders and databases, made by other programs than incrowd."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import gzip
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

import incrowd as ic
from database_tables import (
    fill_duckdb,
    fill_mysql,
    fill_postgres,
    held,
    mysql_statement,
    quoted,
    statement,
    without_truth,
)
from fuzz.draw import STORED
from incrowd.engines import RecodedTable

DTYPES = {
    "int": pl.Int64, "int32": pl.Int32, "float": pl.Float64, "decimal": pl.Decimal(38, 2), "date": pl.Date,
    "daynumber": pl.Int64, "datetime": pl.Datetime("us"), "bool": pl.Boolean, "category": pl.Categorical,
}  # fmt: skip
DELIMITERS = {"csv-semicolon": ";", "csv-tab": "\t", "csv-pipe": "|"}
ENCODINGS = {"csv-latin1": "latin-1", "csv-utf16": "utf-16"}


@dataclass
class Services:
    """Shared services: a folder, and sessions of servers if available."""

    folder: Path
    urls: dict[str, str] = field(default_factory=dict)
    spark: Any = None
    skipped: dict[str, str] = field(default_factory=dict)

    def fresh(self) -> Path:
        """A new empty folder."""
        return Path(tempfile.mkdtemp(dir=self.folder))


def frame_of(columns: list[dict[str, Any]], cells: str = "cells") -> pl.DataFrame:
    return pl.DataFrame([_series(column["name"], column["type"], column[cells]) for column in columns])


def _series(name: str, kind: str, cells: list[str | None]) -> pl.Series:
    if kind not in DTYPES:
        return pl.Series(name, cells, dtype=pl.String)
    read = {
        "int": int, "int32": int, "daynumber": int, "float": float, "decimal": Decimal, "date": dt.date.fromisoformat,
        "datetime": dt.datetime.fromisoformat, "bool": {"true": True, "false": False}.__getitem__, "category": str,
    }[kind]  # fmt: skip
    values = [None if cell is None else read(cell) for cell in cells]
    # Polars takes some names for patterns while it makes a series.
    return pl.Series(values, dtype=DTYPES[kind]).alias(name)


def as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """The values of a CSV: texts, without NaN and NUL."""
    columns = []
    for column in frame.get_columns():
        # Series look themselves up by their name, which may be a pattern of names.
        series = column.alias("").fill_nan(None).alias(column.name) if column.dtype.is_float() else column
        if isinstance(series.dtype, pl.Datetime):
            texts = pl.Series(
                series.name, [None if v is None else v.isoformat() for v in series], dtype=pl.String
            )
        else:
            texts = series.cast(pl.String)
        columns.append(_without_nul(texts))
    return pl.DataFrame(columns)


def _without_nul(series: pl.Series) -> pl.Series:
    cells = [None if text is None else text.replace("\0", "0") for text in series]
    return pl.Series(series.name, cells, dtype=pl.String)


def csv_bytes(frame: pl.DataFrame, delimiter: str, encoding: str) -> bytes:
    """Write a CSV with the fewest quotes: a missing value has none, an empty text has quotes."""

    def written(text: str | None) -> str:
        if text is None:
            return ""
        if text == "" or any(mark in text for mark in (delimiter, '"', "\n", "\r")) or text != text.strip():
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [delimiter.join(map(written, frame.columns))]
    lines += [delimiter.join(map(written, row)) for row in frame.iter_rows()]
    return "".join(f"{line}\n" for line in lines).encode(encoding)


def read_csv(data: str, delimiter: str = ",") -> list[list[str | None]]:
    """Read a CSV, where an empty field is missing unless quoted."""
    rows: list[list[str | None]] = []
    row: list[str | None] = []
    text, place, quoted_field = "", 0, False
    while place < len(data):
        mark = data[place]
        if mark == '"' and not text and not quoted_field:
            place += 1
            quoted_field = True
            while True:
                if data[place] == '"':
                    if data[place + 1 : place + 2] != '"':
                        break
                    place += 1
                text += data[place]
                place += 1
        elif mark in (delimiter, "\n"):
            row.append(text if text or quoted_field else None)
            text, quoted_field = "", False
            if mark == "\n":
                rows.append(row)
                row = []
        elif mark != "\r" or data[place + 1 : place + 2] != "\n":
            text += mark
        place += 1
    return rows


@dataclass
class Placed:
    """A table somewhere.

    Attributes
    ----------
    table
        What is given to incrowd.
    seen
        The same rows as that place holds them.
    ordered
        Whether its rows have an order.
    options
        Further arguments that say how to read it.
    source
        Where it is, by its name among `SOURCES`.
    back
        Reads the rows of the table `safe` of its database, each a mapping, by another program than incrowd.
    """

    table: Any
    seen: pl.DataFrame
    ordered: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    source: str = "polars"
    back: Callable[[], list[dict[str, Any]]] | None = None


@contextlib.contextmanager
def placed(
    source: str, frame: pl.DataFrame, services: Services, stored: dict[str, str] | None = None
) -> Iterator[Placed]:
    """Put a frame somewhere and remove the frame afterwards.

    Parameters
    ----------
    stored
        Names of the database's own types, by columns; see `draw.STORED`.
    """
    folder = services.fresh()
    own = {
        name: STORED[source][kind] for name, kind in (stored or {}).items() if kind in STORED.get(source, {})
    }
    # Series look themselves up by their name, which may be a pattern of names.
    bare = [series.alias("").str.strip_chars_end(" ").alias(series.name) if series.name in own
            and not own[series.name].blanks else series for series in frame.get_columns()]  # fmt: skip
    frame = pl.DataFrame(bare)
    types = {name: kind.sql for name, kind in own.items()}
    try:
        with _places(source, frame, folder, services, types) as result:
            result.source = source
            yield result
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _places(
    source: str, frame: pl.DataFrame, folder: Path, services: Services, types: dict[str, str]
) -> Iterator[Placed]:
    match source:
        case "polars":
            yield Placed(frame, frame)
        case "polars-lazy":
            yield Placed(frame.lazy(), frame)
        case "pyarrow":
            yield Placed(frame.to_arrow(), frame)
        case "pandas":
            pandas = frame.to_pandas()
            yield Placed(pandas, pl.from_pandas(pandas))
        case "pandas-arrow":
            yield Placed(frame.to_pandas(use_pyarrow_extension_array=True), frame)
        case "parquet":
            path = folder / "people.parquet"
            frame.write_parquet(path)
            yield Placed(path, frame)
        case _ if source.startswith("csv"):
            yield _csv(source, frame, folder)
        case "folder-csv":
            seen = as_texts(frame)
            for number, part in enumerate(_halves(seen)):
                (folder / f"{number}.csv").write_bytes(csv_bytes(part, ",", "utf-8"))
            options = {"csv_format": ic.CsvFormat(",")}
            yield Placed(folder, seen, options=options)
        case "folder-parquet":
            for number, part in enumerate(_halves(frame)):
                part.write_parquet(folder / f"{number}.parquet")
            yield Placed(folder, frame)
        case "folder-partitions":
            yield _partitions(frame, folder)
        case "relation":
            import duckdb

            with contextlib.closing(duckdb.connect()) as connection:
                fill_duckdb(connection, frame)
                yield Placed(connection.table("people"), frame, ordered=False)
        case "sqlite":
            seen = held(frame)
            with contextlib.closing(sqlite3.connect(folder / "people.db")) as connection:
                listed = (f"{quoted(name)} {types.get(name, '')}" for name in seen.columns)
                connection.execute(f"CREATE TABLE people ({', '.join(listed)})")
                marks = ", ".join("?" * seen.width)
                connection.executemany(f"INSERT INTO people VALUES ({marks})", seen.iter_rows())
                connection.commit()
            with ic.Database(f"sqlite:///{folder}/people.db") as database:
                back = functools.partial(_of_sqlite, folder / "people.db")
                yield Placed(database.table("people"), seen, ordered=False, back=back)
        case "duckdb":
            import duckdb

            with contextlib.closing(duckdb.connect(str(folder / "people.db"))) as connection:
                fill_duckdb(connection, frame)
                connection.execute("SET TimeZone = 'UTC'")
                for name, kind in types.items():
                    type_name = _listed(frame, name) if kind == "ENUM" else kind
                    connection.execute(f"ALTER TABLE people ALTER {quoted(name)} TYPE {type_name}")
            with ic.Database(f"duckdb:///{folder}/people.db") as database:
                yield Placed(database.table("people"), frame, ordered=False)
        case "postgresql":
            seen = pl.DataFrame([_without_nul(c) if c.dtype == pl.String else c for c in frame.get_columns()])
            url = services.urls["postgresql"]
            fill_postgres(url, seen, "people")
            if types:
                statement(url, *_POSTGRESQL)
            for number, (name, kind) in enumerate(types.items()):
                column, type_name, read = (
                    quoted(name),
                    kind,
                    f"{quoted(name)}::{kind.partition(' COLLATE')[0]}",
                )
                if kind == "ENUM":
                    type_name, read = f"fuzz_enum_{number}", f"{column}::fuzz_enum_{number}"
                    sql = f"CREATE TYPE {type_name} AS {_listed(seen, name)}"
                    statement(url, f"DROP TYPE IF EXISTS {type_name} CASCADE", sql)
                elif kind == "timestamptz":
                    read = f"{column} AT TIME ZONE 'UTC'"
                statement(url, f"ALTER TABLE people ALTER {column} TYPE {type_name} USING {read}")
            with ic.Database(services.urls["postgresql"]) as database:
                back = functools.partial(statement, url, "SELECT * FROM safe")
                yield Placed(database.table("people"), seen, ordered=False, back=back)
        case "mysql":
            seen = without_truth(frame)
            kinds = {name: _type_of_mysql(seen, name, kind) for name, kind in types.items()}
            fill_mysql(services.urls["mysql"], seen, types=kinds)
            with ic.Database(services.urls["mysql"]) as database:
                back = functools.partial(_of_mysql, services.urls["mysql"])
                yield Placed(database.table("people"), seen, ordered=False, back=back)
        case "spark":
            table = _to_spark(frame, services.spark)
            kinds = [
                f"CAST({_ticked(name)} AS {types[name]}) AS {_ticked(name)}"
                if name in types
                else _ticked(name)
                for name in frame.columns
            ]
            table = table.selectExpr(*kinds) if types else table
            yield Placed(table, _of_spark(table), ordered=False)
        case _:
            raise AssertionError(f"say here how a table gets to {source}")


_POSTGRESQL = (
    "ALTER ROLE owner SET timezone = 'America/New_York'",
    'CREATE COLLATION IF NOT EXISTS "fuzz caseless" '
    "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
    'DROP DOMAIN IF EXISTS "fuzz domain" CASCADE',
    'CREATE DOMAIN "fuzz domain" AS text COLLATE "fuzz caseless"',
)
"""What types of PostgreSQL need: a collation for which letters alone count, and a clock with two hours that are one."""


def _of_sqlite(path: Path) -> list[dict[str, Any]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        result = connection.execute("SELECT * FROM safe")
        return [dict(zip((each[0] for each in result.description), row, strict=True)) for row in result]


def _of_mysql(url: str) -> list[dict[str, Any]]:
    names = [row[0] for row in mysql_statement(url, "SHOW COLUMNS FROM safe")]
    return [dict(zip(names, row, strict=True)) for row in mysql_statement(url, "SELECT * FROM safe")]


def _ticked(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _listed(frame: pl.DataFrame, name: str) -> str:
    """Write the enumeration of all values of a column."""
    values = dict.fromkeys(cell for cell in frame.get_column(name) if cell is not None)
    return f"ENUM ({', '.join(chr(39) + value.replace(chr(39), chr(39) * 2) + chr(39) for value in values)})"


def _type_of_mysql(frame: pl.DataFrame, name: str, kind: str) -> str:
    return f"{_listed(frame, name)} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" if kind == "ENUM" else kind


def _to_spark(frame: pl.DataFrame, session: Any) -> Any:
    """Make a DataFrame, where a clock without a zone stays so, or is in UTC, in turns."""
    from pyspark.sql import types as st

    clocks = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    if frame.height % 2:
        kinds = session.createDataFrame(frame.head(0).to_arrow()).schema
        ntz = [
            st.StructField(kind.name, st.TimestampNTZType() if kind.name in clocks else kind.dataType)
            for kind in kinds
        ]
        return session.createDataFrame(frame.to_arrow(), schema=st.StructType(ntz))
    zoned = [
        series.alias("").dt.replace_time_zone("UTC").alias(series.name) if series.name in clocks else series
        for series in frame.get_columns()
    ]
    return session.createDataFrame(pl.DataFrame(zoned).to_arrow())


def _of_spark(table: Any) -> pl.DataFrame:
    """All rows of a Spark DataFrame, with points of time on a UTC clock, as in docs/spark.md."""
    return _in_utc(pl.DataFrame(table.toArrow()))


def _in_utc(frame: pl.DataFrame) -> pl.DataFrame:
    """Write points of time on a UTC clock."""
    clocks = [
        series.alias("").dt.convert_time_zone("UTC").dt.replace_time_zone(None).alias(series.name)
        if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone
        else series
        for series in frame.get_columns()
    ]
    return pl.DataFrame(clocks)


def _csv(source: str, frame: pl.DataFrame, folder: Path) -> Placed:
    seen = as_texts(frame)
    delimiter, encoding = DELIMITERS.get(source, ","), ENCODINGS.get(source, "utf-8")
    try:
        data = csv_bytes(seen, delimiter, encoding)
    except UnicodeEncodeError:
        encoding = "utf-8"
        data = csv_bytes(seen, delimiter, encoding)
    path = folder / ("people.csv.gz" if source == "csv-gz" else "people.csv")
    path.write_bytes(gzip.compress(data) if source == "csv-gz" else data)
    return Placed(path, seen, options={"csv_format": ic.CsvFormat(delimiter, encoding)})


def _halves(frame: pl.DataFrame) -> list[pl.DataFrame]:
    middle = frame.height // 2
    return [part for part in (frame[:middle], frame[middle:]) if part.height]


def _partitions(frame: pl.DataFrame, folder: Path) -> Placed:
    """Read folders, with a text column from the folders' names, and files in the order of names."""
    from urllib.parse import quote

    # Polars takes some names for patterns, so values are looked at as lists.
    values = {
        name: frame.get_column(name).to_list() for name in frame.columns if frame.schema[name] == pl.String
    }
    name = next(
        name
        for name, cells in values.items()
        if all(cells) and None not in cells and "\0" not in "".join(cells)
    )
    result = []
    for value in dict.fromkeys(values[name]):
        part = frame.filter(pl.Series([cell == value for cell in values[name]]))
        place = folder / f"{quote(name, safe='')}={quote(value, safe='')}"
        place.mkdir()
        part.drop(_literal(name)).write_parquet(place / "0.parquet")
        result.append((place / "0.parquet", part))
    ordered = [part for _, part in sorted(result, key=lambda pair: pair[0])]
    rest = [other for other in frame.columns if other != name]
    whole = pl.concat(ordered)
    return Placed(folder, pl.DataFrame([whole.get_column(other) for other in (*rest, name)]))


def _literal(name: str) -> Any:
    import polars.selectors as cs

    return cs.by_name(name)


def fetched(table: Any, folder: Path) -> pl.DataFrame:
    """All rows of a released table of any kind."""
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, ic.Files):
        return table.frame.collect()
    if isinstance(table, RecodedTable):
        return _in_utc(table.fetch())
    module = type(table).__module__.partition(".")[0]
    if module == "pandas":
        return pl.from_pandas(table)
    if module == "pyspark":
        return _of_spark(table)
    if module == "pyarrow":
        return pl.DataFrame(pl.from_arrow(table))
    return pl.DataFrame(table.arrow() if hasattr(table, "arrow") else table)
