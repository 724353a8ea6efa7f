"""The table of a window: where it is, how it is read, and what is shown of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.errors import InputError, TableError
from incrowd.io.columns import columns_named

if TYPE_CHECKING:
    import polars as pl

    from incrowd.io.files import CsvFormat
    from incrowd.progress import Progress

__all__ = ["Column", "Source", "counted", "read"]


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
    """

    path: Path
    name: str
    sample: bool = False


@dataclass(frozen=True)
class Column:
    """What is shown of a column: its type and counts."""

    name: str
    type: str
    distinct: int
    missing: int


def read(
    source: Source, csv_format: CsvFormat | None, streams: bool, progress: Progress | None
) -> tuple[Any, CsvFormat | None]:
    """Read a table, or open it where its rows stream; errors name it as its owner does."""
    from incrowd.engines import open_table

    try:
        return open_table(source.path, csv_format, stream=streams, progress=progress)
    except InputError as error:
        raise type(error)(str(error).replace(str(source.path), source.name)) from None


def counted(rows: pl.LazyFrame, *, estimate: bool) -> tuple[int, list[Column]]:
    """Count the rows, and the values of each column; distinct ones about, where that is asked for."""
    import polars as pl

    schema = rows.collect_schema()
    columns = columns_named(schema)
    distinct = [
        column.approx_n_unique() if estimate else column.drop_nulls().n_unique() for column in columns
    ]
    try:
        counts = rows.select(
            pl.len().alias("n"),
            *(each.alias(f"d{place}") for place, each in enumerate(distinct)),
            *(column.null_count().alias(f"m{place}") for place, column in enumerate(columns)),
        ).collect(engine="streaming")
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
