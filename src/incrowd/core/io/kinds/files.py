"""Reading and writing files of every kind, found by name and checked after writing."""

from __future__ import annotations

from pathlib import Path

from incrowd.core.errors import TableError, setting
from incrowd.core.io.addresses import require_regular
from incrowd.core.io.beginnings import header_row_setting
from incrowd.core.io.double_header import refuse_double_header
from incrowd.core.io.frames import without_negative_zero
from incrowd.core.io.kinds import KINDS
from incrowd.core.io.kinds.base import GIB, Kept, Kind
from incrowd.core.io.nesting import flat
from incrowd.core.lazy import pl


def kind_of(path: Path) -> Kind | None:
    """Return the kind of a file by name, or None for CSV, Parquet and unknown names."""
    suffix = path.suffix.lower()
    return next((kind for kind in KINDS if suffix in kind.suffixes), None)


def suffixes() -> str:
    """List the usual ending of each kind."""
    return ", ".join(kind.suffixes[0] for kind in KINDS)


def usual_suffix(kept: Kept | None) -> str:
    """Return the usual file ending for a release of a table read from a file (unknown: ``.csv``)."""
    suffixes = [kind.suffixes[0] for kind in KINDS if kept is not None and kind.name == kept.kind]
    return suffixes[0] if suffixes else ".csv"


def refuse_streamed(path: Path) -> None:
    """Refuse a file of a kind that is read and written whole where rows stream.

    Raises
    ------
    TableError
    """
    kind = kind_of(path)
    if kind is not None:
        raise TableError(
            f"{path}: {kind.title} is read and written whole, and rows that stream are not; name a .csv, "
            ".csv.gz or .parquet"
        )


def refuse_sheet(path: Path, sheet: str | None) -> None:
    """Refuse a sheet that is asked for of a file that has none.

    Raises
    ------
    TableError
    """
    if sheet is not None:
        raise TableError(
            f"{path}: a sheet ({setting('sheet', '--sheet')}) is one of an Excel workbook; leave it out"
        )


def refuse_header_row(path: Path, header_row: int | None) -> None:
    """Raise for a row of names in a file whose kind has no such row.

    Raises
    ------
    TableError
    """
    if header_row is not None:
        raise TableError(
            f"{path}: a row of names ({header_row_setting()}) is one of a CSV or a workbook; leave it out"
        )


def read_kind(
    kind: Kind, path: Path, sheet: str | None, header_row: int | None = None
) -> tuple[pl.DataFrame, Kept]:
    """Read a file of a kind.

    Parameters
    ----------
    header_row
        The row of a workbook that names the columns, from 1; None finds it out.

    Raises
    ------
    TableError
        When it cannot be read, is too large, has no rows or two rows of names.
    MissingExtraError
    """
    kind.require()
    if not kind.sheets:
        refuse_sheet(path, sheet)
        refuse_header_row(path, None if header_row == 1 else header_row)
    try:
        require_regular(path)
        size = path.stat().st_size
        if size > kind.most:
            raise TableError(
                f"{path}: {kind.title} is read whole, and more than {kind.most // GIB} GiB are not; save the "
                "table as .parquet"
            )
        table, kept = kind.read(path, sheet, header_row)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror})") from None
    if not table.height or not table.width:
        raise TableError(f"{path}: the table has no rows")
    table = flat(table, str(path))
    if kind.sheets:
        # Files of the other kinds say by themselves what their columns are called.
        refuse_double_header(table, f"{path}, sheet {kept.sheet!r}", row="row 2")
    return table, kept


def write_kind(kind: Kind, table: pl.DataFrame, place: Path, target: Path, kept: Kept | None) -> None:
    """Write a file of a kind and read the copy again, where every cell has to match.

    Raises
    ------
    TableError
        When a column has no place in such a file, or something reads back otherwise.
    MissingExtraError
    """
    kind.require()
    kept = kept if kept is not None and kept.kind == kind.name else None
    meant = kind.prepared(table, target, kept)
    kind.write(meant, place, kept)
    copy, _ = kind.read(place, None, 1)
    if copy.columns != meant.columns or copy.height != meant.height:
        raise TableError(f"{target}: what was written does not read back the same; nothing is kept")
    for name in meant.columns:
        if not _equal_cells(meant[name], copy[name]):
            raise TableError(
                f"{target}: column {name!r} does not read back the same, so nothing is kept; look for blanks "
                "at the end of texts, control characters and long numbers, or write .parquet"
            )


def _equal_cells(meant: pl.Series, copy: pl.Series) -> bool:
    if meant.dtype == copy.dtype:
        return meant.equals(copy, null_equal=True)
    return _texts(meant).equals(_texts(copy), null_equal=True)


def _texts(series: pl.Series) -> pl.Series:
    """Convert the values of a column to texts as in a CSV."""
    if series.dtype.is_float():
        series = without_negative_zero(series)
        return series.cast(pl.String).str.strip_suffix(".0")
    if isinstance(series.dtype, pl.Datetime):
        return series.dt.replace_time_zone(None).dt.to_string("%Y-%m-%dT%H:%M:%S%.f")
    return series.cast(pl.String)
