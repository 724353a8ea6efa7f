"""What every engine does: count the rows of a table, and apply a recoding to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.io.files import CsvFormat
    from incrowd.progress import Progress
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable
    from incrowd.table.schema import Schema

__all__ = ["Engine"]


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
