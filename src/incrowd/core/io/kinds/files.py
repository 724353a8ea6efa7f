"""Files of every kind, found by name or first bytes, read, and checked after writing."""

from __future__ import annotations

import re
from pathlib import Path

from incrowd.core.errors import TableError, setting
from incrowd.core.io.addresses import require_regular
from incrowd.core.io.beginnings import header_row_setting, refuse_double_header
from incrowd.core.io.columns import flat
from incrowd.core.io.frames import without_negative_zero
from incrowd.core.io.kinds import KINDS
from incrowd.core.io.kinds.base import GIB, Kept, Kind, Place
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


def refuse_sheet(path: Path, place: Place) -> None:
    """Refuse a sheet that is asked for of a file that has none.

    Raises
    ------
    TableError
    """
    if place.sheet is not None:
        raise TableError(
            f"{path}: a sheet ({setting('sheet', '--sheet')}) is one of an Excel workbook; leave it out"
        )
    if place.fill_merged:
        raise TableError(
            f"{path}: merged cells ({setting('fill_merged', '--fill-merged')}) are those of a workbook; "
            "leave it out"
        )


def refuse_header_row(path: Path, header_row: int | None) -> None:
    """Raise for a row of names in a kind of file without such a row.

    Raises
    ------
    TableError
    """
    if header_row is not None:
        raise TableError(
            f"{path}: a row of names ({header_row_setting()}) is one of a CSV or a workbook; leave it out"
        )


def read_kind(kind: Kind, path: Path, place: Place) -> tuple[pl.DataFrame, Kept]:
    """Read a file of a kind.

    Raises
    ------
    TableError
        When it cannot be read, is too large, has no rows or two rows of names.
    MissingExtraError
    """
    kind.require()
    if not kind.sheets:
        refuse_sheet(path, place)
        refuse_header_row(path, None if place.header_row == 1 else place.header_row)
    try:
        require_regular(path)
        size = path.stat().st_size
        if size > kind.most:
            raise TableError(
                f"{path}: {kind.title} is read whole, and more than {kind.most // GIB} GiB are not; save the "
                "table as .parquet"
            )
        table, kept = kind.read(path, place)
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
    copy, _ = kind.read(place, Place(header_row=1))
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


_NAMES = {
    "an Excel workbook with macros": ".xlsm",
    "an old or binary Excel workbook": ".xls .xlsb",
    "an OpenDocument file": ".ods",
    "an SPSS file of the portable kind": ".por",
    "a SAS file": ".sas7bdat .sd7",
    "an R file": ".rds .rda .rdata",
    "an ORC file": ".orc",
    "an Avro file": ".avro",
    "a JSON file": ".json",
    "a YAML file": ".yaml .yml",
    "a TOML file": ".toml",
    "an XML file": ".xml",
    "a page": ".html .htm",
    "a PDF": ".pdf",
    "a document": ".docx .doc .odt .md",
    "a database": ".db .sqlite .sqlite3 .duckdb .mdb",
    "an archive": ".zip .7z .rar .tar .bz2 .xz .zst",
    "a pickle": ".pkl .pickle",
    "an HDF5 file": ".h5 .hdf5",
    "a NumPy file": ".npy .npz",
}
_CSV = re.compile(r"\.(csv|tsv)(\.gz)?$", re.IGNORECASE)
_BY_SUFFIX = {suffix: kind for kind, suffixes in _NAMES.items() for suffix in suffixes.split()}

PARQUET = (".parquet", ".pq")
"""Endings of Parquet files."""

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SIGNATURES = (
    (_ZIP, "an Excel workbook or another zip archive"),
    (_OLE, "an old Excel workbook"),
    (b"\x00" * 12 + b"\xc2\xea\x81\x60", "a SAS data set"),
    ("ASCII SPSS PORT FILE".encode("cp037"), "an SPSS file of the portable kind"),
    (b"ASCII SPSS PORT FILE", "an SPSS file of the portable kind"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%PDF-", "a PDF"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
)


_KINDS = tuple((mark, kind) for kind in KINDS for mark in kind.marks)
LONGEST_SIGNATURE = max(len(mark) for mark, _ in (*_SIGNATURES, *_KINDS))
"""Bytes from the start of a file that determine the format."""


def refuse_content(path: Path, start: bytes) -> None:
    """Raise for a supposed CSV that begins with the bytes of another format.

    Raises
    ------
    TableError
    """
    for mark, kind in _KINDS:
        if start.startswith(mark):
            raise TableError(f"{path}: this is {kind.title} and no CSV; name it {kind.suffixes[0]}")
    if path.suffix.lower() == ".json" and start.lstrip()[:1] in (b"{", b"["):
        raise TableError(
            f"{path}: this is a JSON document and no table; write one object per line and name it .ndjson, "
            "of a FHIR bundle with: jq -c '.entry[].resource | select(.resourceType == \"Patient\")'"
        )
    for mark, title in _SIGNATURES:
        if start.startswith(mark):
            sheets = ".xlsx (without macros), " if mark in (_ZIP, _OLE) else ""
            raise TableError(
                f"{path}: this is {title} and no CSV; save the table as {sheets}.csv or .parquet first"
            )


def refuse_other_format(target: Path) -> None:
    """Raise for a CSV named with the ending of another format or with no known ending.

    Raises
    ------
    TableError
    """
    if _CSV.search(target.name):
        return
    kind = _BY_SUFFIX.get(target.suffix.lower())
    if kind is not None:
        why = f"the name is that of {kind}, which is not written"
    elif target.suffix:
        why = f"no kind of table is named {target.suffix}"
    else:
        why = "the name has no ending, which says how the table is written"
    raise TableError(
        f"{target}: {why}; name the table .csv, .csv.gz, .tsv or .parquet, or of another kind: {suffixes()}"
    )


def require_written(target: Path, *, streamed: bool, many: bool = False) -> None:
    """Refuse a name that a table is not written under, before there is a table.

    Parameters
    ----------
    streamed
        Whether the rows stream.
    many
        Whether a name without an ending is a folder of files.

    Raises
    ------
    TableError
    MissingExtraError
    """
    kind = kind_of(target)
    if kind is not None:
        if streamed:
            refuse_streamed(target)
        kind.require()
    elif target.suffix.lower() not in PARQUET and not (many and not target.suffix):
        refuse_other_format(target)
