"""Excel workbooks, read from a sheet of values and written with a single sheet."""

from __future__ import annotations

import datetime
import logging
from pathlib import Path
from typing import Any, ClassVar

from incrowd.core.errors import TableError
from incrowd.core.io.beginnings import HEAD_ROWS, header_row_setting, place_of_names, say_row_of_names
from incrowd.core.io.kinds.base import Kept, Kind, Place, simple_cells
from incrowd.core.io.kinds.labels import Column, Limits, written
from incrowd.core.lazy import pl

_ROWS, _COLUMNS = 1_048_576, 16_384
_SHEET = "Sheet1"
_NO_DAY = datetime.date(1899, 12, 31)
_FIRST_DAY = datetime.date(1900, 3, 1)
"""First day counted correctly, since Excel's calendar has a 29 February 1900."""
CREATED = datetime.datetime(1980, 1, 1)
"""Creation date of every workbook, so that none reveals the actual date."""
_FORMATS = {"date": "yyyy-mm-dd", "datetime": "yyyy-mm-dd hh:mm:ss.000", "time": "hh:mm:ss.000"}


class Excel(Kind):
    """Excel workbooks (.xlsx)."""

    name = "excel"
    title = "an Excel workbook"
    suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)
    extra = "excel"
    libraries: ClassVar[tuple[str, ...]] = ("fastexcel", "xlsxwriter")
    sheets = True

    def read(self, path: Path, place: Place) -> tuple[pl.DataFrame, Kept]:
        """Read a sheet from the row of names on (see `Kind.read`)."""
        import fastexcel

        from incrowd.core.io.kinds.workbook import chosen_sheet, fill_merged, require_values

        chosen, header_row = chosen_sheet(path, place.sheet), place.header_row
        sheet = chosen.name
        location = f"{path}, sheet {sheet!r}"
        # It says of a column without values that it does not know its type.
        logging.getLogger("fastexcel").setLevel(logging.ERROR)
        try:
            book = fastexcel.read_excel(path)
            row = header_row
            if row is None:
                head = _texts(book, sheet, chosen.top - 1, HEAD_ROWS)
                cells = [[(cell or "").strip() for cell in cells] for cells in head.rows()]
                row = chosen.top + place_of_names(cells)
            require_values(location, chosen, row, filled=place.fill_merged)
            if row != header_row and row > 1:
                say_row_of_names(location, "row", row)
            first = _texts(book, sheet, row - 1, 1)
            below = book.load_sheet(
                sheet, header_row=None, skip_rows=row, schema_sample_rows=None
            ).to_polars()
        except fastexcel.FastExcelError:
            raise TableError(f"{path}: not a readable workbook (.xlsx)") from None
        names = _names(location, first, below)
        if not names:
            return pl.DataFrame(), Kept(self.name)
        if place.fill_merged:
            below = fill_merged(below, chosen.blocks, row)
        rows = below.filter(~pl.all_horizontal(pl.all().is_null()))
        columns = [_typed(column).alias(name) for name, column in zip(names, rows, strict=True)]
        about = {name: Column(_kind(column)) for name, column in zip(names, columns, strict=True)}
        return pl.DataFrame(columns), Kept(self.name, dict(about), sheet=sheet)

    def prepared(self, table: pl.DataFrame, target: Path, kept: Kept | None) -> pl.DataFrame:
        """Return the table with the types of cells, where numbers have 16 digits."""
        plain = simple_cells(table, target, self.title, "ms")
        if table.height >= _ROWS or table.width > _COLUMNS:
            raise TableError(
                f"{target}: a sheet has {_ROWS:,} rows and {_COLUMNS:,} columns at most; write .parquet"
            )
        about = {} if kept is None else kept.columns
        if plain.select(pl.all_horizontal(pl.all().is_null()).any()).item():
            raise TableError(
                f"{target}: a row has no value at all, and programs pass such rows of a sheet over; write "
                ".csv or .parquet, or release another column"
            )
        return pl.DataFrame([_prepared(column, about.get(column.name)) for column in plain])

    def write(self, table: pl.DataFrame, place: Path, kept: Kept | None) -> None:
        """Write a workbook without formulas and links (see `Kind.write`)."""
        import xlsxwriter

        # In memory, since it would put parts of the table into the system's folder for temporary files.
        options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        book = xlsxwriter.Workbook(place, {**options, "strings_to_numbers": False})
        book.set_properties({"created": CREATED})
        sheet = book.add_worksheet(_SHEET if kept is None or kept.sheet is None else kept.sheet)
        formats = {kind: book.add_format({"num_format": text}) for kind, text in _FORMATS.items()}
        for place_of, column in enumerate(table):
            sheet.write_string(0, place_of, column.name)
            put: Any = sheet.write_number
            further: tuple[Any, ...] = ()
            if column.dtype == pl.String:
                put = sheet.write_string
            elif column.dtype == pl.Boolean:
                put = sheet.write_boolean
            elif column.dtype.is_temporal():
                put = sheet.write_datetime
                days = "date" if column.dtype == pl.Date else "datetime"
                further = (formats["time" if column.dtype == pl.Time else days],)
            for row, value in enumerate(column, 1):
                if value is not None:
                    put(row, place_of, value, *further)
        book.close()


def _texts(book: Any, sheet: str, skipped: int, rows: int) -> pl.DataFrame:
    """Read rows of a sheet as texts."""
    some: pl.DataFrame = book.load_sheet(
        sheet, header_row=None, skip_rows=skipped, n_rows=rows, dtypes="string"
    ).to_polars()
    return some


def _names(place: str, first: pl.DataFrame, below: pl.DataFrame) -> list[str]:
    """Return the column names, and raise for missing or repeated names."""
    names = [] if not first.height else [text or "" for text in first.row(0)]
    if len(names) < below.width or "" in names:
        number = names.index("") + 1 if "" in names else len(names) + 1
        raise TableError(
            f"{place}: column {number} has no name in the row of names; a table has one row of names above "
            f"its rows; below titles, say which row it is ({header_row_setting()})"
        )
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            earlier = names.index(name) + 1
            raise TableError(f"{place}: columns {earlier} and {number} have the same name; rename one")
    return names


def _typed(column: pl.Series) -> pl.Series:
    """Return whole numbers, days and times as such."""
    if column.dtype == pl.Float64:
        integral = (column == column.round(0)).all() and (column.abs() < 2**53).all()
        return column.cast(pl.Int64) if integral else column
    if isinstance(column.dtype, pl.Datetime):
        days = column.dt.date()
        if (days <= _NO_DAY).all() and column.count():
            return column.dt.time()
        return days if (column == column.dt.truncate("1d")).all() else column
    return column


def _kind(column: pl.Series) -> Any:
    if column.dtype == pl.Date:
        return "date"
    return "number" if column.dtype.is_numeric() else "time" if column.dtype.is_temporal() else "text"


def _prepared(column: pl.Series, came: Column | None) -> pl.Series:
    """Return a released column with the input's type, if every cell has that type."""
    if column.dtype == pl.String and came is not None:
        cells = written(column, came, Limits(labels=0))
        column = column if cells.kind == "text" else cells.values.alias(column.name)
    if column.dtype == pl.Null:
        return column.cast(pl.String).alias(column.name)
    if column.dtype.is_temporal() and column.dtype != pl.Time:
        early = (column.cast(pl.Date) < _FIRST_DAY).any()
        return column.dt.to_string("iso:strict" if column.dtype != pl.Date else "iso") if early else column
    if column.dtype.is_float():
        exact = pl.Series(
            [None if value is None else float(f"{value:.16G}") for value in column], dtype=pl.Float64
        )
        return exact.alias(column.name)
    return column
