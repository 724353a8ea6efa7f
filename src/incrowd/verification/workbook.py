"""The cells of an Excel workbook."""

from __future__ import annotations

import datetime
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.errors import MissingExtraError, TableError, setting

if TYPE_CHECKING:
    import polars as pl

_NO_DAY = datetime.date(1899, 12, 31)
"""The day of what is a time alone."""


def workbook(path: Path, asked: str | None = None) -> pl.DataFrame:
    """Read the sheet that is asked for, or the only one with cells; its first row names the columns.

    Raises
    ------
    TableError
        The file is no workbook of one sheet with a name above every column.
    MissingExtraError
        fastexcel is not installed.
    """
    import polars as pl

    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("fastexcel", "excel", "an Excel workbook") from None
    # It says of a column without values that it does not know its type.
    logging.getLogger("fastexcel").setLevel(logging.ERROR)
    try:
        book = fastexcel.read_excel(path)
        firsts: dict[str, pl.DataFrame] = {}
        for sheet in book.sheet_names:
            if asked in (None, sheet):
                first = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
                firsts |= {sheet: first} if first.height else {}
        if len(firsts) != 1:
            which = "with cells" if asked is None else f"of the name {asked!r} with cells"
            raise TableError(
                f"{path}: there are {len(firsts)} sheets {which}, and not one; choose one with "
                + setting("sheet=...", "--sheet")
            )
        [(sheet, first)] = firsts.items()
        below = book.load_sheet(sheet, header_row=None, skip_rows=1, schema_sample_rows=None).to_polars()
    except fastexcel.FastExcelError:
        raise TableError(f"{path}: the file cannot be read as an Excel workbook") from None
    names = first.row(0)
    if not below.height or len(names) < below.width or None in names:
        raise TableError(f"{path}: the sheet has no rows, or a column without a name in its first row")
    if len(set(names)) < len(names):
        raise TableError(f"{path}: two columns have the same name; rename one")
    rows = below.filter(~pl.all_horizontal(pl.all().is_null()))
    return pl.DataFrame([_typed(column).alias(name) for name, column in zip(names, rows, strict=True)])


def _typed(column: pl.Series) -> pl.Series:
    """Return days and times as such, and a column without a value as texts."""
    import polars as pl

    if isinstance(column.dtype, pl.Datetime) and column.count():
        days = column.dt.date()
        if (days <= _NO_DAY).all():
            return column.dt.time()
        return days if (column == column.dt.truncate("1d")).all() else column
    return column if column.count() else column.cast(pl.String)
