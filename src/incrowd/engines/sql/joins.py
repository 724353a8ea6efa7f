"""What rows of a database are joined with, so that each has its released cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incrowd.io.columns import column_named
from incrowd.lazy import pl
from incrowd.recoding import SUPPRESSED

if TYPE_CHECKING:
    from incrowd.dialects.base import Dialect, Upload


class Joins:
    """The tables that rows are joined with.

    Attributes
    ----------
    uploads
        The tables by their names.
    clauses
        The SQL that joins each of them.
    """

    def __init__(self, dialect: Dialect | type[Dialect]) -> None:
        self.dialect = dialect
        self.uploads: dict[str, Upload] = {}
        self.clauses: list[str] = []

    def add(self, name: str, alias: str, upload: Upload, condition: str) -> None:
        """Join a table by a condition, in which it is called by its alias."""
        self.uploads[name] = upload
        self.clauses.append(f"LEFT JOIN {self.dialect.quote(name)} AS {alias} ON {condition}")


def parted_by_column(
    frame: pl.DataFrame, keys: Sequence[str], cells: Sequence[str]
) -> tuple[pl.DataFrame, list[pl.DataFrame]] | None:
    """Part keys into the suppressed and a table per column, where a text follows from the one value.

    Returns
    -------
    None where a text depends on other values, too.
    """
    gone = pl.all_horizontal(column_named(cell).eq_missing(pl.lit(SUPPRESSED)) for cell in cells)
    kept = frame.filter(~gone)
    tables = [
        kept.select(key, cell, "known").unique(maintain_order=True)
        for key, cell in zip(keys, cells, strict=True)
    ]
    if any(table[key].n_unique() < len(table) for key, table in zip(keys, tables, strict=True)):
        return None
    return frame.filter(gone).select(*keys, "known"), tables
