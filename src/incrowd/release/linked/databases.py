"""Linked tables in databases: whole tables are read, and a release becomes tables of a schema."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.core.errors import TableError, exists_already, named, quoted
from incrowd.core.io.columns import columns_named
from incrowd.core.io.targets import writing
from incrowd.core.lazy import pl
from incrowd.core.progress import interrupting
from incrowd.engines import (
    Engine,
    FilesEngine,
    MemoryEngine,
    RecodedTable,
    ScanEngine,
    SparkEngine,
    SqlEngine,
    first_rows,
)
from incrowd.engines.dialects.addresses import Address
from incrowd.engines.dialects.base import Upload
from incrowd.engines.sql.databases import Database, DatabaseTable, parts

if TYPE_CHECKING:
    from incrowd.engines.dialects.base import Dialect, Name

DOCUMENTS = "incrowd_release"
"""The table beside released tables that has their policies and the account: a row for each file."""
_ALL = 2**32 - 1
"""More rows than a frame has."""
_ROWS = "incrowd rows"
"""Name of a temporary table of rows that leave."""
_NO_TRUTH = ("sqlite", "mysql")
"""Databases that keep truth values as whole numbers."""
_AS_TEXTS = ("sqlite",)
"""Databases that keep dates and decimals as texts."""
_LISTED = {"sqlite": "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name"}
_OTHERS_LISTED = (
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = {} ORDER BY table_name"
)
"""SQL of the tables and views of the schema that a session begins in."""


def engine_in_memory(engine: Engine) -> MemoryEngine:
    """Return an engine for all rows of a table, read into memory; of Spark, to the driver.

    Raises
    ------
    SchemaError
        When Spark has a column of a type that cannot be fetched.
    """
    if isinstance(engine, MemoryEngine):
        return engine
    with interrupting(engine.settings.progress, engine.interrupt):
        if isinstance(engine, FilesEngine):
            frame = first_rows(engine.files, _ALL)
        elif isinstance(engine, ScanEngine):
            frame = engine.frame.collect(engine="streaming")
        elif isinstance(engine, SparkEngine):
            engine.check_types(engine.columns)
            frame = engine.some_rows(engine.columns, 1.0)
        else:
            assert isinstance(engine, SqlEngine)
            rows = engine.rows
            if not isinstance(rows, RecodedTable):
                rows = RecodedTable(rows, [], engine.columns, pl.DataFrame())
            frame = rows.fetch()
    return MemoryEngine(frame)


def quoted_part(name: str) -> str:
    """Return a name that has one part, as `Database.table` takes it."""
    return '"' + name.replace('"', '""') + '"'


def copy_tables(address: Address, folder: Path) -> tuple[list[str], list[str]]:
    """Write each table of a database into a Parquet file of a private folder, if there are several.

    Returns
    -------
    copied
        The tables.
    others
        Those that are not, as their names have other characters than letters, digits, - and _.
    """
    with Database(address) as database:
        here = "DATABASE()" if address.scheme == "mysql" else "current_schema()"
        listed = _LISTED.get(address.scheme, _OTHERS_LISTED.format(here))
        names = database.ask(lambda dialect: dialect.fetch(listed)).to_series().cast(pl.String)
        plain = [name for name in names if re.fullmatch("[A-Za-z0-9_-]+", name) and name != DOCUMENTS]
        for name in plain if len(plain) > 1 else ():
            table = SqlEngine(database.table(quoted_part(name)))
            engine_in_memory(table).native.write_parquet(folder / f"{name}.parquet")
    return plain, [name for name in names if name not in (*plain, DOCUMENTS)]


def documents_of(folder: Path) -> pl.DataFrame:
    """Return the files of a folder, a row each: ``path`` and ``content``."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return pl.DataFrame(
        {
            "path": [path.relative_to(folder).as_posix() for path in files],
            "content": [path.read_text(encoding="utf-8") for path in files],
        }
    )


@contextmanager
def opened(where: Database | Address | str, *, sources: object = None) -> Iterator[Database]:
    """Yield an open database; a file that is not there is made, and gets its name at the end of the block.

    Raises
    ------
    TableError
        When it cannot be opened, or the file cannot be made.
    """
    where = Address(where) if isinstance(where, str) else where
    if isinstance(where, Database):
        yield where
    elif where.dialect.server or where.path.exists():
        with Database(where) as database:
            yield database
    else:
        with writing(where.path, sources=sources) as place:
            if where.scheme == "duckdb":
                # An empty file is a database to SQLite alone.
                place.unlink()
                where.dialect.imported("duckdb", "pyarrow").connect(str(place)).close()
            with Database(f"{where.scheme}:///{place}") as database:
                yield database


def require_free(where: Database | Address, schema: str | None, names: Sequence[str], *, force: bool) -> None:
    """Refuse tables that cannot be made in a database, before work is done for them.

    Raises
    ------
    TableError
    """
    if isinstance(where, Database) or where.dialect.server or where.path.exists():
        with opened(where) as database:
            places_for(database, schema, names, force=force)


def places_for(
    database: Database, schema: str | None, names: Sequence[str], *, force: bool
) -> dict[str, tuple[Name, bool]]:
    """Return the full name of each new table and of `DOCUMENTS`, and whether it replaces a table.

    With `force`, tables are replaced that an earlier release of linked tables made, and no others.

    Raises
    ------
    TableError
        When a name is taken, or no table can have it.
    """
    above = () if schema is None else parts(schema)
    if above and database.address.scheme == "sqlite":
        raise TableError(f"{database.address}: SQLite has no schemas; name another file for the tables")
    earlier = _earlier(database, above) if force else set()
    if stale := earlier - {*names, DOCUMENTS}:
        raise TableError(
            f"{database.address}: the earlier release has table {named(sorted(stale))}, and this one has "
            "not; drop it first, or choose another schema"
        )

    def place(dialect: Dialect, *, name: Name) -> tuple[Name, bool]:
        dialect.check_name(name)
        name = dialect.target(name)
        dialect.check_name(name)
        kind = dialect.kind(name)
        if kind is not None and not (kind == "table" and name[-1] in earlier):
            title = DatabaseTable(database, name).title
            if force:
                raise TableError(
                    f"{title}: exists already, and no release of linked tables made it; choose another schema"
                )
            raise TableError(f"{title}: {exists_already()}")
        return name, kind is not None

    return {name: database.ask(partial(place, name=(*above, name))) for name in (*names, DOCUMENTS)}


def _earlier(database: Database, above: Name) -> set[str]:
    """Return the tables of an earlier release in a schema, by the policy that it left there."""
    documents = DatabaseTable(database, (*above, DOCUMENTS))
    if {*documents.columns} != {"path", "content"}:
        return set()
    [*texts] = pl.concat([*documents.rows()]).filter(pl.col("path") == "policy.toml")["content"]
    with suppress(tomllib.TOMLDecodeError, KeyError, TypeError):
        return {DOCUMENTS, *(str(each["name"]) for text in texts for each in tomllib.loads(text)["linked"])}
    return set()


@contextmanager
def placed(
    database: Database, places: Mapping[str, tuple[Name, bool]], frames: Mapping[str, pl.DataFrame]
) -> Iterator[dict[str, DatabaseTable]]:
    """Make all tables in one transaction, and keep them if the block ends without an error.

    Parameters
    ----------
    places
        As `places_for` returns.
    frames
        The rows of each table.

    Raises
    ------
    TableError
        When a table cannot be made, or does not read back the same.
    """
    with database.writing():
        tables = {}
        for name, (full, replaces) in places.items():
            typed, types = _typed(frames[name], database.address.scheme)
            made = tables[name] = DatabaseTable(database, full)
            made.place = database.ask(partial(_make, name=full, frame=typed, types=types, replaces=replaces))
            if not _as_texts(engine_in_memory(SqlEngine(made)).native).equals(_as_texts(typed)):
                raise TableError(f"{made.title}: what was made does not read back the same; nothing was kept")
        yield tables


def _make(dialect: Dialect, name: Name, frame: pl.DataFrame, types: Sequence[str], *, replaces: bool) -> Name:
    # SQLite and MySQL index the columns of an uploaded table whose names begin with k.
    short = [f"{'c' if place else 'k'}{place}" for place in range(frame.width)]
    listed = ", ".join(
        f"{key} AS {dialect.quote(column)}" for key, column in zip(short, frame.columns, strict=True)
    )
    query = f"SELECT {listed} FROM {dialect.quote(_ROWS)} AS t"
    rows = frame.clone()
    rows.columns = short
    uploads = {_ROWS: Upload(rows, dict(zip(short, types, strict=True)))}
    return dialect.make(name, uploads, query, frame.columns, replace=replaces)


def _typed(frame: pl.DataFrame, scheme: str) -> tuple[pl.DataFrame, list[str]]:
    """Return a frame whose columns a database can hold, and the SQL type of each."""
    columns, types = [], []
    for series in frame.get_columns():
        kind, held = _held(series.dtype, scheme)
        # Not a number is missing here, and some databases have no such value.
        values = series.fill_nan(None) if series.dtype.is_float() else series
        try:
            columns.append(values.cast(held))
        except pl.exceptions.PolarsError:
            raise TableError(
                f"column {quoted(series.name)} is of type {series.dtype}, which goes into no database; turn "
                "it into text, or leave it out"
            ) from None
        types.append(kind)
    return pl.DataFrame(columns), types


def _held(dtype: pl.DataType, scheme: str) -> tuple[str, pl.DataType]:
    """Return the SQL type that holds values of a type, and the type that they are turned into before."""
    if dtype == pl.Boolean and scheme not in _NO_TRUTH:
        return "BOOLEAN", dtype
    if dtype == pl.Boolean or (dtype.is_integer() and dtype not in (pl.UInt64, pl.Int128)):
        return "BIGINT", pl.Int64()
    if dtype.is_float():
        return "DOUBLE PRECISION", pl.Float64()
    if scheme not in _AS_TEXTS:
        if isinstance(dtype, pl.Decimal):
            return f"DECIMAL({dtype.precision},{dtype.scale})", dtype
        if dtype == pl.Date:
            return "DATE", dtype
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
            return "DATETIME(6)" if scheme == "mysql" else "TIMESTAMP", pl.Datetime("us")
    return "TEXT", pl.String()


def _as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows as texts, in an order that depends on nothing else."""
    texts = frame.cast(pl.String())
    return texts.sort(columns_named(texts.columns))
