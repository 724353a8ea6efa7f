"""Formats of other programs, recognized by name or by the first bytes.

Some are read and written all the same: see `incrowd.core.io.kinds`.
"""

from __future__ import annotations

import re
from pathlib import Path

from incrowd.core.errors import TableError
from incrowd.core.io.kinds import KINDS
from incrowd.core.io.kinds.files import kind_of, refuse_streamed, suffixes

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
    """Raise for a supposed CSV whose first bytes are those of another format.

    Raises
    ------
    TableError
    """
    for mark, kind in _KINDS:
        if start.startswith(mark):
            raise TableError(f"{path}: this is {kind.title} and no CSV; name it {kind.suffixes[0]}")
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
