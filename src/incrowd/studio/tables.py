"""The table of a window: its place, how it is read, and the description of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from incrowd.dialects.addresses import Address
from incrowd.errors import InputError, ParameterError, TableError
from incrowd.io.cancellable_scan import passing
from incrowd.io.columns import columns_named
from incrowd.lazy import pl
from incrowd.progress import check, interrupting

if TYPE_CHECKING:
    from incrowd.io.files import CsvFormat
    from incrowd.progress import Progress


@dataclass(frozen=True)
class Source:
    """Where a table is.

    Attributes
    ----------
    path
        The file that is read.
    name
        How a command names it.
    sample
        Whether it is the built-in sample.
    database, table
        The database and its table, where the rows come from one; `path` is then a folder for a copy, which
        is looked at.
    """

    path: Path
    name: str
    sample: bool = False
    database: Address | None = None
    table: str | None = None

    @property
    def title(self) -> str:
        """The name of the table on the page."""
        return self.name if self.table is None else f"{self.table} in {self.name}"


@dataclass(frozen=True)
class Column:
    """The description of a column: its type and counts."""

    name: str
    type: str
    distinct: int
    missing: int


def read(
    source: Source, csv_format: CsvFormat | None, streams: bool, progress: Progress | None
) -> tuple[Any, CsvFormat | None]:
    """Read a table, or open it where its rows stream; errors name it as its owner does."""
    from incrowd.engines import open_table

    with called(source.path, source.name):
        return open_table(source.path, csv_format, stream=streams, progress=progress)


def path_of(text: str) -> Path:
    """Return the path that somebody wrote, with ``~`` for a home.

    Raises
    ------
    TableError
        When ``~name`` names no user.
    """
    try:
        return Path(text.strip()).expanduser()
    except RuntimeError:
        raise TableError(f"{text}: there is no user of this name; write the whole path") from None


@contextmanager
def called(path: Path, name: str) -> Iterator[None]:
    """Name a file in errors as its owner does, and not by its place in the private folder."""
    try:
        yield
    except InputError as error:
        raise type(error)(str(error).replace(str(path), name)) from None


def in_database(address: str, table: str, copy: Path) -> Source:
    """Return a table of a database as a source.

    Raises
    ------
    InputError
        When that is no address, or it holds a password, which a command would show.
    """
    found = Address(address)
    try:
        secret = urlsplit(found.url).password
    except ValueError:
        secret = None
    if secret is not None:
        raise ParameterError(
            f"leave the password out of the address: put it into {found.dialect.secret}, since the address "
            "is part of the command that makes the release again"
        )
    if not table:
        raise ParameterError("write the name of a table of the database, as people or schema.people")
    return Source(copy, found.url, database=found, table=table)


def copied(source: Source, progress: Progress) -> None:
    """Copy the rows of a table of a database into the source's folder, some at a time.

    Raises
    ------
    InputError
    """
    from incrowd.engines.sql.databases import Database

    assert source.database is not None
    assert source.table is not None
    progress.stage("fetch")
    source.path.mkdir(0o700)
    with Database(source.database) as database, interrupting(progress, database.interrupt):
        table = database.table(source.table)
        for number, rows in enumerate(table.rows()):
            rows.write_parquet(source.path / f"{number:06d}.parquet")
            check(progress)


def counted(rows: pl.LazyFrame, *, estimate: bool) -> tuple[int, list[Column]]:
    """Count the rows, and the values of each column; distinct ones about, where that is asked for."""
    schema = rows.collect_schema()
    columns = columns_named(schema)
    distinct = [
        column.approx_n_unique() if estimate else column.drop_nulls().n_unique() for column in columns
    ]
    try:
        counts = (
            passing(rows)
            .select(
                pl.len().alias("n"),
                *(each.alias(f"d{place}") for place, each in enumerate(distinct)),
                *(column.null_count().alias(f"m{place}") for place, column in enumerate(columns)),
            )
            .collect(engine="streaming")
        )
    except pl.exceptions.PolarsError as error:
        raise TableError(
            f"the values of a column cannot be counted ({type(error).__name__}); leave columns of lists out"
        ) from None
    found = [
        Column(
            name,
            "text" if dtype == pl.String else str(dtype),
            int(counts[f"d{place}"][0]),
            int(counts[f"m{place}"][0]),
        )
        for place, (name, dtype) in enumerate(schema.items())
    ]
    return int(counts["n"][0]), found
