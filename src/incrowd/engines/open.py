"""Open a table, and choose the engine for any supported kind of table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import TableError
from incrowd.core.lazy import pl
from incrowd.core.parameters import COUNT
from incrowd.core.progress import Progress, Silent, interrupting
from incrowd.core.recoding.people import add_people, add_sensitive
from incrowd.engines.base import DRIVER_KEYS, Engine, EngineSettings
from incrowd.engines.files import FilesEngine
from incrowd.engines.memory import MemoryEngine
from incrowd.engines.scan import ScanEngine
from incrowd.engines.spark import SparkEngine
from incrowd.engines.sql.engine import SqlEngine

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.streams import Files
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.engines.sql.databases import DatabaseTable

ENGINES: tuple[type[Engine], ...] = (
    MemoryEngine,
    ScanEngine,
    FilesEngine,
    SqlEngine,
    SparkEngine,
)
"""Every engine, in the order of the search for an engine that takes a table."""


def engine_for(
    table: Any,
    *,
    driver_keys: int | None = None,
    progress: Progress | None = None,
    starred: bool = False,
) -> Engine:
    """Return the engine that works on a table.

    Parameters
    ----------
    driver_keys
        How many combinations of values an engine may fetch that counts elsewhere; None for `DRIVER_KEYS`.
    progress
        Told how far long work is, where the engine knows.
    starred
        As in `EngineSettings`.

    Raises
    ------
    TableError
        When none does.
    ParameterError
        When `driver_keys` is below 1.
    """
    keys = DRIVER_KEYS if driver_keys is None else COUNT.check(driver_keys, "engine", "driver_keys")
    settings = EngineSettings(keys, progress or Silent(), starred)
    for engine in ENGINES:
        if engine.takes(table):
            return engine(table, settings)
    raise TableError(
        f"a {type(table).__module__}.{type(table).__name__} is no table that incrowd works on; "
        "give a pandas, Polars or PyArrow table, a Spark DataFrame, a relation of DuckDB, a table of an "
        "ic.Database, or the path of a CSV or Parquet file"
    )


def read_classes(  # noqa: PLR0913
    table: Any,
    schema: Schema,
    *,
    joint: bool = False,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    driver_keys: int | None = None,
    progress: Progress | None = None,
    made_from: tuple[FrequencyTable, Recoding] | None = None,
    starred: bool = False,
) -> EquivalenceClasses:
    """Return the equivalence classes of a table without any recoding.

    Parameters
    ----------
    table, population
        A table that an engine works on, or the path of a CSV or Parquet file.
    schema
        The quasi-identifiers and sensitive attributes; other columns are not looked at.
    joint
        Whether to count the sensitive attributes' combinations, too.
    csv_format
        How a CSV is written, where it is not plain.
    driver_keys
        As in `engine_for`.
    progress
        Told how far the counting is, where the engine knows.
    made_from
        Of a release, the counts before and the recoding. They know its people, whom the release names no
        more.
    starred
        As in `EngineSettings`.

    Raises
    ------
    InputError
        When a table cannot be read or does not fit the schema.
    """
    from incrowd.core.table.classes import EquivalenceClasses

    engine = engine_for(
        loaded(table, csv_format), driver_keys=driver_keys, progress=progress, starred=starred
    )
    with interrupting(engine.settings.progress, engine.interrupt):
        if made_from is None:
            frequency = engine.count(schema.measured(), joint=joint).frequency
        else:
            release_schema = schema.without_perturbed().measured(person=False)
            frequency = engine.count(
                release_schema, joint=joint and len(release_schema.sensitive) == len(schema.sensitive)
            ).frequency
            frequency = add_people(add_sensitive(frequency, *made_from), *made_from)
        if population is not None:
            frequency = with_population(frequency, schema, population)
    return EquivalenceClasses.of_keys(frequency)


def first_rows(table: pl.DataFrame | Files | DatabaseTable, most: int) -> pl.DataFrame:
    """Return the first rows of an opened table, at most `most` if the table is not in memory.

    Raises
    ------
    TableError
        When it has no rows, or a file is damaged.
    """
    from incrowd.core.io.files import note_names_of_line
    from incrowd.core.io.streams import Files, reading

    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, Files):
        with reading(table, table.columns):
            rows = table.frame.head(most).collect(engine="streaming")
        by_line = table.csv_format is not None and not table.csv_format.names
        return note_names_of_line(rows) if by_line else rows
    batches: list[pl.DataFrame] = []
    for batch in table.rows():
        batches.append(batch.head(most - sum(each.height for each in batches)))
        if sum(each.height for each in batches) == most:
            break
    if not batches or not batches[0].height:
        raise TableError(f"{table.title}: the table has no rows")
    return pl.concat(batches)


def with_population(frequency: FrequencyTable, schema: Schema, population: Any) -> FrequencyTable:
    """Return a frequency table with the population records that each key covers.

    Parameters
    ----------
    schema
        The quasi-identifiers of both tables, with the hierarchies whose labels the keys may have.
    population
        A table that an engine works on, or the path of a CSV or Parquet file.

    Raises
    ------
    InputError
        When the population cannot be read or lacks a quasi-identifier.
    """
    from dataclasses import replace

    from incrowd.core.errors import InputError
    from incrowd.core.recoding.population import as_counted, cover
    from incrowd.core.table.schema import Schema

    quasi = Schema.of_attributes(
        (replace(each, key_of=()) for each in schema.quasi), null_values=schema.null_values
    )
    try:
        engine = engine_for(loaded(population))
        has_person = set(schema.person) <= set(engine.columns)
        quasi_there = (
            replace(as_counted(each), key_of=each.key_of if has_person else ()) for each in schema.quasi
        )
        plainly = Schema.of_attributes(
            (*(schema.having("person") if has_person else ()), *quasi_there), null_values=schema.null_values
        )
        everybody = engine.count(plainly).frequency
        if everybody.people.table is not None:
            raise TableError(
                "it has several rows of one person, who would count as several people; keep one row each"
            )
    except InputError as error:
        raise type(error)(f"population: {error}") from None
    return replace(frequency, population=cover(frequency, everybody, quasi.quasi))


def open_table(
    table: Any,
    csv_format: CsvFormat | None = None,
    *,
    stream: bool = False,
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> tuple[Any, CsvFormat | None]:
    """Read a table from a file, or open a folder, a pattern or (with `stream`) a file without reading.

    Parameters
    ----------
    table
        The path of a CSV or Parquet file, a folder or a pattern; anything else is given back as it is.
    csv_format
        How a CSV is written, where it is not plain.
    stream
        Whether one file is only opened, too.
    memory
        What counting may take where rows stream, as ``4GiB``; half of the machine's by default.
    progress
        Told how far the opening is.

    Returns
    -------
    table
        What an engine takes.
    csv_format
        How the CSV was written, with what was found out; None where there is none.

    Raises
    ------
    TableError
        When it cannot be read.
    """
    if not isinstance(table, str | os.PathLike):
        return table, csv_format
    from incrowd.core.io.addresses import is_scan
    from incrowd.core.io.files import read_table
    from incrowd.core.io.streams import scan

    if stream or is_scan(table):
        files = scan(table, csv_format, memory=memory, progress=progress)
        return files, files.csv_format
    return read_table(table, csv_format)


def loaded(table: Any, csv_format: CsvFormat | None = None) -> Any:
    """Return the table of `open_table`, with the fields of a frame's objects as columns."""
    source = open_table(table, csv_format)[0]
    return MemoryEngine(source).native if MemoryEngine.takes(source) else source
