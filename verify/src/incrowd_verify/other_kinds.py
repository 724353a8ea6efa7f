"""Readers of files that DuckDB does not read by itself, each of which makes a private Parquet file.

Of statistics packages a labelled value is its label, and all else is itself. The row of names of a raw file
may stand below titles. Objects become columns of dotted names, and short lists become texts.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import logging
import posixpath
import re
import secrets
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from html import unescape
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from incrowd_gate.errors import MissingExtraError, TableError, setting
from incrowd_gate.lazy import duckdb, pl

_CARD = 80
"""Bytes of a header of a SAS transport file."""
_HEAD = 40
"""Rows of a workbook that are looked at for names of columns."""
_NO_DAY = datetime.date(1899, 12, 31)
"""The day that a workbook gives to a time without a day."""


def is_other_kind(path: Path) -> bool:
    """Say whether a file is named for a kind that is neither CSV nor Parquet."""
    return path.suffix.lower() in _READERS


def is_json_lines(path: Path) -> bool:
    """Say whether a file is named as JSON lines."""
    return _READERS.get(path.suffix.lower()) is _json_lines


def as_parquet(
    path: Path,
    scratch: Path,
    sheet: str | None = None,
    wanted: Collection[str] = (),
    header_row: int | None = None,
    *,
    fill_merged: bool = False,
) -> Path | None:
    """Copy a file of another kind, told by the file's name, into a Parquet file in a private folder.

    - `wanted`: names of columns that are looked for, in a workbook whose names stand below titles.
    - `header_row`: the row of a workbook that names the columns, from 1.
    - `fill_merged`: whether cells of a workbook that are merged down a column have the value of the first.

    Returns
    -------
    None where the file is named for none of these kinds.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        return None
    if not path.is_file():
        why = "is no file" if path.exists() else "No such file or directory"
        raise TableError(f"{path}: the file cannot be read ({why})")
    copy = scratch / f"{secrets.token_hex(8)}.parquet"
    table = _excel(path, sheet, wanted, header_row, fill_merged=fill_merged) if read is _excel else read(path)
    if not table.width:
        raise TableError(f"{path}: the file has no columns")
    table.write_parquet(copy)
    return copy


def _arrow(path: Path) -> pl.DataFrame:
    try:
        data = path.read_bytes()
        # Polars would take the compressed bytes of an early version for values.
        if b"ARROW:experimental_compression" not in data:
            return pl.read_ipc(data)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        pass
    raise TableError(f"{path}: the file cannot be read as Arrow IPC (Feather)")


def _json_lines(path: Path) -> pl.DataFrame:
    try:
        return pl.read_ndjson(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError):
        raise TableError(f"{path}: the file cannot be read as JSON lines") from None


def _excel(
    path: Path,
    asked: str | None = None,
    wanted: Collection[str] = (),
    header_row: int | None = None,
    *,
    fill_merged: bool = False,
) -> pl.DataFrame:
    """Read a sheet by name, or the only sheet with cells, from the row that names the columns."""
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
        [sheet] = firsts
        head = book.load_sheet(sheet, header_row=None, skip_rows=0, n_rows=_HEAD, dtypes="string")
        above = named_row(head.to_polars().rows(), wanted, header_row)
        first = book.load_sheet(
            sheet, header_row=None, skip_rows=above, n_rows=1, dtypes="string"
        ).to_polars()
        if not first.height:
            raise lacking_row(path, above + 1)
        below = book.load_sheet(
            sheet, header_row=None, skip_rows=above + 1, schema_sample_rows=None
        ).to_polars()
    except fastexcel.FastExcelError:
        raise TableError(f"{path}: the file cannot be read as an Excel workbook") from None
    if fill_merged:
        below = _filled(path, sheet, above + 1, below)
    names = first.row(0)
    if not below.height or len(names) < below.width or None in names:
        raise TableError(f"{path}: the sheet has no rows, or a column without a name in its row of names")
    if len(set(names)) < len(names):
        raise TableError(f"{path}: two columns have the same name; rename one")
    rows = below.filter(~pl.all_horizontal(pl.all().is_null()))
    return pl.DataFrame([_typed(column).alias(name) for name, column in zip(names, rows, strict=True)])


def _filled(path: Path, sheet: str, above: int, below: pl.DataFrame) -> pl.DataFrame:
    """Repeat the first value of merged cells down the column.

    `above`: rows of the sheet above the table.

    Raises `TableError`: the parts of the workbook are not where a workbook has them.
    """
    try:
        tags = _merged(path, sheet)
    except (KeyError, UnicodeDecodeError, zipfile.BadZipFile):
        raise TableError(
            f"{path}: its merged cells cannot be read; save it with a spreadsheet program as a new workbook"
        ) from None
    cells = [column.to_list() for column in below]
    for tag in tags:
        block = re.fullmatch(r"([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)", _attribute(tag, "ref"))
        if block is None or block[1] != block[3] or int(block[2]) <= above:
            continue
        at = -1
        for letter in block[1]:
            at = 26 * (at + 1) + ord(letter) - ord("A")
        first, last = int(block[2]) - above - 1, int(block[4]) - above - 1
        for row in range(first + 1, min(last + 1, below.height)) if at < below.width else ():
            cells[at][row] = cells[at][first]
    return pl.DataFrame(cells, below.schema, orient="col")


def _merged(path: Path, sheet: str) -> list[str]:
    """Return the elements of a sheet that say which cells are merged."""
    with zipfile.ZipFile(path) as book:
        ids = {
            unescape(_attribute(tag, "name")): _attribute(tag, "id")
            for tag in re.findall(r"<(?:\w+:)?sheet\s[^>]*>", book.read("xl/workbook.xml").decode())
        }
        links = {
            _attribute(tag, "Id"): _attribute(tag, "Target")
            for tag in re.findall(r"<Relationship\s[^>]*>", book.read("xl/_rels/workbook.xml.rels").decode())
        }
        part = posixpath.normpath(posixpath.join("/xl", links[ids[sheet]]))[1:]
        return re.findall(r"<(?:\w+:)?mergeCell\s[^>]*>", book.read(part).decode())


def _attribute(tag: str, name: str) -> str:
    """Return an attribute of an element, with any prefix."""
    found = re.search(rf"""\s(?:\w+:)?{name}\s*=\s*["']([^"']*)["']""", tag)
    return "" if found is None else found[1]


def _typed(column: pl.Series) -> pl.Series:
    """Return days and times as such, and a column without a value as texts."""
    if isinstance(column.dtype, pl.Datetime) and column.count():
        days = column.dt.date()
        if (days <= _NO_DAY).all():
            return column.dt.time()
        return days if (column == column.dt.truncate("1d")).all() else column
    return column if column.count() else column.cast(pl.String)


def _stata(path: Path) -> pl.DataFrame:
    import pyreadstat

    _, said = pyreadstat.read_dta(path, metadataonly=True, output_format="dict")
    formats = {each.replace("%-", "%"): each for each in said.original_variable_types.values() if each}
    cells, said = pyreadstat.read_dta(
        path,
        user_missing=True,
        output_format="dict",
        extra_date_formats=[each for key, each in formats.items() if key.startswith(("%td", "%d"))],
        extra_datetime_formats=[each for key, each in formats.items() if key.startswith("%tc")],
    )
    return _labelled(cells, said)


def _spss(path: Path) -> pl.DataFrame:
    import pyreadstat

    return _labelled(*pyreadstat.read_sav(path, user_missing=True, output_format="dict"))


def _sas(path: Path) -> pl.DataFrame:
    import pyreadstat

    cells, said = pyreadstat.read_xport(path, output_format="dict")
    _special_missing(path, cells)
    return _labelled(cells, said)


def _labelled(cells: Mapping[str, list[Any]], said: Any) -> pl.DataFrame:
    """Make a table of the values that pyreadstat reads.

    A column in which some cell has a label, or a letter as missing code, is one of texts.
    """
    columns = []
    for name, values in cells.items():
        labels = _labels(said.variable_value_labels.get(name) or {})
        if said.readstat_variable_types[name] == "string":
            column = [labels.get(each, each) or None for each in values]
            columns.append(pl.Series(name, column, pl.String))
        elif any(isinstance(each, str) or (each is not None and each in labels) for each in values):
            column = [None if each is None else labels.get(each) or _bare_text(each) for each in values]
            columns.append(pl.Series(name, column, pl.String))
        elif any(each is not None and not isinstance(each, int | float) for each in values):
            columns.append(pl.Series(name, values))
        else:
            columns.append(pl.Series(name, values, pl.Float64, strict=False))
    return pl.DataFrame(columns)


def _labels(given: Mapping[Any, str]) -> dict[Any, str]:
    """Return the label of each code, with the code behind a label that may be taken for another label."""
    stripped = {code: label.strip() for code, label in given.items()}
    labels = {}
    for code, label in stripped.items():
        if not label:
            continue
        shared = sum(other == label for other in stripped.values()) > 1
        bare = code if isinstance(code, str) else _bare_text(code)
        labels[code] = f"{label} ({bare})" if shared or (_is_number(label) and label != bare) else label
        if isinstance(code, str) and not shared:
            labels[code] = label
    return labels


def _is_number(label: str) -> bool:
    try:
        return _bare_text(float(label)) == label
    except ValueError:
        return False


def _bare_text(value: Any) -> str:
    """Write a value without a label: 3 for 3.0, a letter behind a point, days in the form of ISO."""
    if isinstance(value, str):
        return f".{value}"
    if isinstance(value, int | float):
        return repr(float(value)).removesuffix(".0")
    return str(value.isoformat())


def _special_missing(path: Path, cells: Mapping[str, list[Any]]) -> None:
    """Put the letters of a SAS transport file in the place of missing numbers."""
    data = path.read_bytes()
    start = data.index(b"HEADER RECORD*******NAM")
    fields = [data[start + _CARD + 140 * n : start + _CARD + 140 * (n + 1)] for n in range(len(cells))]
    # Fields follow each other, whatever places they say they have.
    ends = list(accumulate((int.from_bytes(field[4:6], "big") for field in fields), initial=0))
    width = ends[-1]
    first = data.index(b"HEADER RECORD*******OBS", start) + _CARD
    for field, place, values in zip(fields, ends[:-1], cells.values(), strict=True):
        if field[1] != 1:
            continue
        at = first + place
        for row, value in enumerate(values):
            if value is None:
                held = data[at + row * width : at + row * width + 1]
                if held.isalpha() or held == b"_":
                    values[row] = held.decode()


def _of_package(read: Callable[[Path], pl.DataFrame], what: str) -> Callable[[Path], pl.DataFrame]:
    """Read a file of a statistics package, and name the errors in the file, or the library that is absent."""

    def call(path: Path) -> pl.DataFrame:
        try:
            import pyreadstat
        except ImportError:
            raise MissingExtraError("pyreadstat", "stats", what) from None
        try:
            return read(path)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ArithmeticError, ValueError, OSError):
            raise TableError(f"{path}: the file cannot be read as {what}") from None

    return call


_READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".feather": _arrow,
    ".arrow": _arrow,
    ".ipc": _arrow,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".dta": _of_package(_stata, "a Stata file"),
    ".sav": _of_package(_spss, "an SPSS file"),
    ".zsav": _of_package(_spss, "an SPSS file"),
    ".xpt": _of_package(_sas, "a SAS transport file"),
    ".xport": _of_package(_sas, "a SAS transport file"),
    ".xlsx": _excel,
}
"""The reader of each ending."""

_ROWS = 40
_NAMES = {b"\x01\x00": "utf-16-le", b"\x00\x01": "utf-16-be"}


def encoding_of(start: bytes) -> str:
    """Return the encoding of a text by the first bytes: UTF-8, or UTF-16 with or without a mark."""
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    pairs = [start[place : place + 2] for place in range(0, len(start) - 1, 2)] if 0 in start else []
    # Latin letters and signs between cells have one byte of two that is zero, always the same one.
    kinds = {bytes(byte != 0 for byte in pair) for pair in pairs} - {b"\x01\x01"}
    rare = 20 * sum(0 in pair for pair in pairs) < len(pairs)
    signs = {pair.strip(b"\0") for pair in pairs if 0 in pair}
    is_table = signs.intersection((b"\n", b"\r")) and signs.intersection((b",", b";", b"\t", b"|"))
    return "utf-8" if rare or not is_table or len(kinds) != 1 else _NAMES.get(kinds.pop(), "utf-8")


def named_row(rows: Sequence[Sequence[str | None]], wanted: Collection[str], asked: int | None) -> int:
    """Return the place of the row that names the columns, from 0.

    - `rows`: the first rows of a table.
    - `wanted`: names that are looked for: it is the first row that has most of them.
    - `asked`: the row that the caller named, from 1.
    """
    if asked is not None:
        return asked - 1
    counts = [len(set(wanted).intersection(row)) for row in rows]
    return counts.index(max(counts)) if counts else 0


def first_records(
    lines: Iterable[str], delimiter: str, *, trimmed: bool
) -> tuple[list[list[str]], list[int]]:
    """Read the first records of a CSV; also return how many lines are above each.

    What cannot be read as CSV ends them.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    records: list[list[str]] = []
    above: list[int] = []
    before = 0
    try:
        for record in islice(reader, _ROWS):
            records.append([cell.strip(" ") for cell in record] if trimmed else record)
            above.append(before)
            before = reader.line_num
    except csv.Error:
        pass
    return records, above


def lacking_row(title: object, asked: int) -> TableError:
    """Return the error that says that a table has no such row."""
    return TableError(
        f"{title}: has no row {asked}; {setting('header_row=', '--header-row')} names its columns"
    )


_SHORT = (
    "varchar", "enum", "boolean", "date", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint",
    "usmallint", "uinteger", "ubigint", "uhugeint", "sqlnull",
)  # fmt: skip
"""Types of the values of a list that is one text, as DuckDB's Python calls them."""


def flat_columns(
    con: duckdb.DuckDBPyConnection, relation: str, names: tuple[str, ...]
) -> list[tuple[str, str]]:
    """List the columns of a relation as in a release: names, and the SQL that makes each column.

    - `relation`: SQL whose columns are called c0, c1, ...
    - `names`: what they are called in the file.
    """
    types = con.sql(f"SELECT * FROM {relation}").types
    return [
        column
        for place, (name, kind) in enumerate(zip(names, types, strict=True))
        for column in _fields(name, f"c{place}", kind)
    ]


def _fields(name: str, cell: str, kind: Any) -> Iterator[tuple[str, str]]:
    if kind.id == "struct":
        for field, inner in kind.children:
            escaped = field.replace("'", "''")
            yield from _fields(f"{name}.{field}", f"struct_extract({cell}, '{escaped}')", inner)
        return
    yield name, _list_text(cell, kind)


def _list_text(cell: str, kind: Any) -> str:
    """Join the values of a short list, with quotes around a value that would be read as several."""
    if kind.id not in ("list", "array") or str(dict(kind.children)["child"].id) not in _SHORT:
        return cell
    quoted = "'\"' || replace(x, '\"', '\"\"') || '\"'"
    shown = (
        f"CASE WHEN x IS NULL THEN '' WHEN x = '' OR contains(x, ';') OR contains(x, '\"') THEN {quoted} "
        "ELSE x END"
    )
    return f"array_to_string(list_transform({cell}::VARCHAR[], lambda x: {shown}), ';')"
