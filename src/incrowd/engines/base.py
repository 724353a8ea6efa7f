"""The seam between tables and everything above them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from incrowd.errors import ParameterError, TableError

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.classes import EquivalenceClasses
    from incrowd.frequency import FrequencyTable
    from incrowd.io.files import CsvFormat
    from incrowd.progress import Progress
    from incrowd.recoding import Recoding
    from incrowd.schema import Schema

__all__ = ["Engine", "engine_for", "loaded", "read_classes", "with_population"]


class Engine(Protocol):
    """A table, wherever its rows live."""

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this engine works on such a table."""

    def __init__(self, table: Any) -> None: ...

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> FrequencyTable:
        """Count the rows.

        Parameters
        ----------
        joint
            Whether to count the sensitive attributes' combinations, too.
        target
            A column that the release is to predict, counted besides; any but an identifying one.

        Raises
        ------
        TableError
            When the table has no rows.
        SchemaError, HierarchyError
            When schema and table do not fit.
        """

    def apply(self, schema: Schema, frequency: FrequencyTable, recoding: Recoding) -> Any:
        """Recode the rows: a table of the same kind, rows in the same order, with new contents only.

        Columns that may not leave are left out; the quasi-identifiers hold the released cells as text.
        """

    @property
    def sources(self) -> Sequence[object]:
        """Files or the database that the rows come from, where an engine knows; no output replaces them."""

    progress: Progress
    """Told how far long work is, where an engine knows."""

    def writes_folder(self, target: Path) -> bool:
        """Say whether `write` makes a folder and not a file."""

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Any:
        """Write the table to `path` in the format that `target` is named for, and open what was written.

        Raises
        ------
        TableError
            When the table cannot be written in that format.
        """


def engine_for(table: Any, *, driver_keys: int | None = None) -> Engine:
    """Return the engine that works on a table.

    Parameters
    ----------
    driver_keys
        How many combinations of values an engine may fetch that counts elsewhere; None for `DRIVER_KEYS`.

    Raises
    ------
    TableError
        When none does.
    ParameterError
        When `driver_keys` is below 1.
    """
    from incrowd.engines import ENGINES, FetchedEngine

    if driver_keys is not None and driver_keys < 1:
        raise ParameterError(f"driver_keys must be at least 1, got {driver_keys}")
    for engine in ENGINES:
        if engine.takes(table):
            made = engine(table)
            if isinstance(made, FetchedEngine) and driver_keys is not None:
                made.driver_keys = driver_keys
            return made
    raise TableError(
        f"a {type(table).__module__}.{type(table).__name__} is no table that incrowd works on; "
        "give a pandas, Polars or PyArrow table, a Spark DataFrame, a relation of DuckDB, a table of an "
        "ic.Database, or the path of a CSV or Parquet file"
    )


def read_classes(
    table: Any,
    schema: Schema,
    *,
    joint: bool = False,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    driver_keys: int | None = None,
    progress: Progress | None = None,
) -> EquivalenceClasses:
    """Return the equivalence classes of a table as it stands.

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

    Raises
    ------
    InputError
        When a table cannot be read or does not fit the schema.
    """
    from incrowd.classes import EquivalenceClasses

    engine = engine_for(loaded(table, csv_format), driver_keys=driver_keys)
    if progress is not None:
        engine.progress = progress
    frequency = engine.count(schema.measured(), joint=joint)
    if population is not None:
        frequency = with_population(frequency, schema, population)
    return EquivalenceClasses.of_keys(frequency)


def with_population(frequency: FrequencyTable, schema: Schema, population: Any) -> FrequencyTable:
    """Return a frequency table that knows which records of a population its keys cover.

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

    from incrowd.errors import InputError
    from incrowd.population import cover
    from incrowd.schema import Schema

    quasi = Schema.of(schema.quasi, null_values=schema.null_values)
    try:
        everybody = engine_for(loaded(population)).count(quasi.measured())
    except InputError as error:
        raise type(error)(f"population: {error}") from None
    return replace(frequency, population=cover(frequency, everybody, quasi.quasi))


def loaded(table: Any, csv_format: CsvFormat | None = None) -> Any:
    """Read a table where it is the path of a CSV or Parquet file; a folder or pattern is only opened."""
    if not isinstance(table, str | os.PathLike):
        return table
    from incrowd.io.files import read_table
    from incrowd.io.streams import is_scan, scan

    return scan(table, csv_format) if is_scan(table) else read_table(table, csv_format)[0]
