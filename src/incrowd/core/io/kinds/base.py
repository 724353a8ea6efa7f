"""Base class of kinds of table files: names, reading and writing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from incrowd.core.errors import TableError, require_extra
from incrowd.core.lazy import pl

GIB = 1 << 30


@dataclass(frozen=True)
class Kept:
    """Labels of columns beside the cells of a file, repeated in a release of the same kind.

    Attributes
    ----------
    columns
        Per column what the kind makes of it.
    version
        That of the format, where a release has the same.
    sheet
        The sheet of a workbook that was read.
    """

    kind: str
    columns: dict[str, Any] = field(default_factory=dict, repr=False)
    version: int = 0
    sheet: str | None = None


@dataclass(frozen=True)
class Place:
    """Where a table stands in a workbook.

    Attributes
    ----------
    sheet
        None for the only one with cells.
    header_row
        The row that names the columns, from 1; None finds it out.
    fill_merged
        Whether cells that are merged down a column all have the value of the first.
    """

    sheet: str | None = None
    header_row: int | None = None
    fill_merged: bool = False


class Kind(ABC):
    """A kind of table file that is neither CSV nor Parquet. Such files are read and written whole.

    A cell is what it would be in a CSV of the same table, so that every kind gives the same release.

    Attributes
    ----------
    name
        One word.
    title
        What a file of this kind is called, with its article.
    suffixes
        Endings of its files' names, the usual one first.
    marks
        How such files begin.
    extra, libraries
        What has to be installed, and what of it is imported; none where incrowd has it anyway.
    most
        Bytes of the largest file that is read.
    sheets
        Whether such files have sheets.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    marks: ClassVar[tuple[bytes, ...]] = ()
    extra: ClassVar[str | None] = None
    libraries: ClassVar[tuple[str, ...]] = ()
    most: ClassVar[int] = 2 * GIB
    sheets: ClassVar[bool] = False

    @abstractmethod
    def read(self, path: Path, place: Place) -> tuple[pl.DataFrame, Kept]:
        """Read a file, or the table at a place of a workbook.

        Raises
        ------
        TableError
            When it is not readable as such a file.
        """

    @abstractmethod
    def prepared(self, table: pl.DataFrame, target: Path, kept: Kept | None) -> pl.DataFrame:
        """Return a table exactly as the written file will read back.

        Raises
        ------
        TableError
            When a column has no place in such a file.
        """

    @abstractmethod
    def write(self, table: pl.DataFrame, place: Path, kept: Kept | None) -> None:
        """Write a prepared table as cells and labels, and nothing else.

        Parameters
        ----------
        kept
            What a file of this kind said, that the table comes from; None where it comes from elsewhere.
        """

    def require(self) -> None:
        """Refuse to work without the libraries.

        Raises
        ------
        MissingExtraError
        """
        if self.extra is not None:
            require_extra(self.libraries, self.extra, self.title)


def refuse_types(types: Mapping[str, pl.DataType], target: Path, kind: str, refused: tuple[Any, ...]) -> None:
    """Refuse columns of types that a kind of file cannot hold.

    Raises
    ------
    TableError
    """
    for name, dtype in types.items():
        if dtype in refused:
            raise TableError(
                f"{target}: column {name!r} is of type {dtype}, which {kind} cannot hold; write .parquet, or "
                "leave the column out"
            )


def simple_cells(table: pl.DataFrame, target: Path, kind: str, unit: Literal["ms", "us"]) -> pl.DataFrame:
    """Return a table with cells of texts, doubles, integers, truth values, days and times.

    Raises
    ------
    TableError
        When a column holds anything else.
    """
    from polars import selectors

    refuse_types(
        table.schema, target, kind, (pl.Object, pl.Binary, pl.Duration, pl.List, pl.Struct, pl.Array)
    )
    return table.with_columns(
        selectors.categorical().cast(pl.String),
        selectors.enum().cast(pl.String),
        selectors.decimal().cast(pl.Float64),
        selectors.datetime().dt.replace_time_zone(None).dt.cast_time_unit(unit),
    ).with_columns(selectors.float().fill_nan(None))
