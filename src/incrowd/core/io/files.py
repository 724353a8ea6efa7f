"""Table files, read into memory and written all or nothing: CSV, Parquet and other kinds."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import mmap
import os
import re
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from incrowd.core.errors import EncodingError, TableError, quoted, setting
from incrowd.core.io.addresses import file_path, read_bytes
from incrowd.core.io.beginnings import (
    HEAD_ROWS,
    bytes_of_lines,
    has_lone_returns,
    header_row_setting,
    line_of_names,
    refuse_double_header,
    say_row_of_names,
    utf16_of,
)
from incrowd.core.io.columns import column_named, flat, repeated_columns
from incrowd.core.io.kinds.base import Kept, Place, refuse_types
from incrowd.core.io.kinds.files import (
    LONGEST_SIGNATURE,
    PARQUET,
    kind_of,
    read_kind,
    refuse_content,
    refuse_header_row,
    refuse_other_format,
    refuse_sheet,
    write_kind,
)
from incrowd.core.io.targets import writing
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import COUNT

Frame = TypeVar("Frame", "pl.DataFrame", "pl.LazyFrame")

DELIMITERS = ",;\t|"
_HEADER = 16 << 20
"""Bytes of a CSV searched for the header."""
_CHUNK = 1 << 22
"""Bytes encoded at a time."""
GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_NO_FILES = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape")


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Format of a CSV.

    Attributes
    ----------
    delimiter
        One character, or one and a blank (``", "``), which means that blanks around values are no part of
        them; None finds it out.
    encoding
        Python's name of the encoding.
    names
        Column names of a file that has no header line.
    escaped
        Whether texts that a spreadsheet would run as formulas have ``'`` in front in the file.
    sheet
        The sheet of a workbook that is read, where it has several.
    header_row
        The line of a CSV, or the row of a workbook, that names the columns, from 1; None finds it out. The
        lines above it are not read.
    fill_merged
        Whether cells of a workbook that are merged down a column all have the value of the first; without it
        such a workbook is refused.
    kept
        What a file of another kind said beside its cells; it is found out when the file is read.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    names: tuple[str, ...] = ()
    escaped: bool = False
    sheet: str | None = None
    header_row: int | None = None
    fill_merged: bool = False
    kept: Kept | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        mark = self.delimiter
        if mark is not None and (
            not 1 <= len(mark) <= 2 or mark[1:] not in ("", " ") or mark[0] in '"\n\r' or ord(mark[0]) > 127
        ):
            raise TableError(
                f"delimiter {quoted(mark)} is not one ASCII character, or one followed by a blank"
            )
        if self.header_row is not None:
            COUNT.check(self.header_row, "CsvFormat", "header_row")
            if self.names:
                raise TableError(
                    f"{setting('names', '--names')} is for a file without a header, and "
                    f"{setting('header_row', '--header-row')} says where it is; leave one out"
                )
        if not _writes_text(self.encoding):
            raise TableError(
                f"encoding {quoted(self.encoding)} is not known as one of text files; try utf-8 or latin-1"
            )

    @property
    def place(self) -> Place:
        """Where the table stands in a workbook."""
        return Place(self.sheet, self.header_row, self.fill_merged)

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the columns by name, for files of SPSS, Stata and SAS."""
        columns = {} if self.kept is None else self.kept.columns
        by_column = {name: getattr(column, "label", None) for name, column in columns.items()}
        return {name: label for name, label in by_column.items() if label}

    @property
    def missing_codes(self) -> dict[str, list[str]]:
        """Cells of missing codes by column name, for files of SPSS, Stata and SAS."""
        columns = {} if self.kept is None else self.kept.columns
        by_column: dict[str, list[str]] = {
            name: getattr(column, "missing_texts", list)() for name, column in columns.items()
        }
        return {name: codes for name, codes in by_column.items() if codes}


def has_parquet_ends(start: bytes, end: bytes, size: int) -> bool:
    """Say whether a file is Parquet, by the marks at both ends and the footer size.

    A CSV may begin with the same four letters.
    """
    footer = int.from_bytes(end[:4], "little")
    return start == end[4:] == _PARQUET and footer + 12 <= size


def _writes_text(encoding: str) -> bool:
    """Say whether Python knows an encoding that files are read and written in."""
    try:
        codec = codecs.lookup(encoding)
        # Others turn bytes into bytes, need the text whole, or read escapes as what they stand for.
        return codec._is_text_encoding and codec.name.replace("-", "_") not in _NO_FILES
    except (LookupError, ValueError):
        return False


def escaping(csv_format: CsvFormat | None, escaped: bool) -> CsvFormat:
    """Return a format with formulas escaped or not."""
    return replace(csv_format or CsvFormat(), escaped=escaped)


def is_parquet(path: Path) -> bool:
    """Say whether a file is named as Parquet."""
    return path.suffix.lower() in PARQUET


def read_table(
    path: str | os.PathLike[str], csv_format: CsvFormat | None = None, *, written: bool = False
) -> tuple[pl.DataFrame, CsvFormat]:
    """Read a CSV (also gzipped), a Parquet file, or a file of another kind.

    All values of a CSV stay text exactly as written; an empty field without quotes is missing.

    Parameters
    ----------
    written
        Whether the file was written here, so that its first record is one, whatever it looks like.

    Returns
    -------
    table
    csv_format
        The format with what was found out; as given for Parquet. Of another kind it has what is `kept`.

    Raises
    ------
    TableError
        When the file cannot be read: missing, empty, ragged, wrongly encoded, a quote never closed, two rows
        of names.
    """
    path, csv_format = file_path(path), csv_format or CsvFormat()
    kind = kind_of(path)
    if kind is not None:
        row = 1 if written else csv_format.header_row
        table, metadata = read_kind(kind, path, replace(csv_format.place, header_row=row))
        # What else is read in the same way is a file of its own, with sheets of its own.
        used = replace(csv_format, kept=metadata, sheet=None, header_row=None, fill_merged=False)
        return note_names_of_line(table) if kind.sheets else table, used
    refuse_sheet(path, csv_format.place)
    try:
        data = read_bytes(path)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror})") from None
    if is_parquet(path) or has_parquet_ends(data[:4], data[-8:], len(data)):
        try:
            refuse_header_row(path, csv_format.header_row)
            table = pl.read_parquet(data, hive_partitioning=False)
        except pl.exceptions.PolarsError:
            raise TableError(f"{path}: not a readable Parquet file") from None
        return flat(table, str(path)), csv_format
    refuse_content(path, data[:LONGEST_SIGNATURE])
    if data[:2] == GZIP:
        with unzipping(path):
            data = gzip.decompress(data)
    table, used = _read_csv(data, path, csv_format, written=written)
    if not written:
        refuse_double_header(table, str(path), headerless=bool(used.names))
    return table if used.names else note_names_of_line(table), used


@contextmanager
def unzipping(path: Path) -> Iterator[None]:
    """Raise with the file's name where unzipping fails."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise TableError(f"{path}: the gzip file is damaged or cut off") from None


_READ: WeakValueDictionary[int, pl.DataFrame] = WeakValueDictionary()


def note_names_of_line(table: pl.DataFrame) -> pl.DataFrame:
    """Record that the names of a table come from a line of a file, and return the table."""
    _READ[id(table)] = table
    return table


def was_read(table: Any) -> bool:
    """Say whether the names of a table come from a line of a file, and so may be a person's row."""
    return _READ.get(id(table)) is table


def _read_csv(
    data: bytes, path: Path, csv_format: CsvFormat, *, written: bool
) -> tuple[pl.DataFrame, CsvFormat]:
    from incrowd.core.kernels.lines import without_blank_lines

    data = _as_utf8(data, path, csv_format.encoding)
    if has_lone_returns(data[: 1 << 20]):
        data = data.replace(b"\r", b"\n")
    # Neither of these copies the file.
    if not data or data.isspace():
        raise TableError(f"{path}: the file is empty")
    if b"\x00" in data:
        raise no_text(path)
    line = 1 if written else header_line(data[: 1 << 20], path, csv_format)
    data = data[bytes_of_lines(data, line - 1, path) :]
    content = np.frombuffer(data, np.uint8)
    used, names, expected, blank = checked_csv(content, path, csv_format, above=line - 1)
    mark = (used.delimiter or ",")[0]
    fields = len(names)
    if fields > 1 and blank:
        buffer = np.empty(len(data), np.uint8)
        length = without_blank_lines(np.frombuffer(data, np.uint8), mark, buffer)
        data = buffer[:length].tobytes()
    try:
        table = pl.read_csv(
            data,
            separator=mark,
            has_header=not used.names,
            new_columns=names,
            infer_schema=False,
            truncate_ragged_lines=False,
            raise_if_empty=True,
        )
    except pl.exceptions.PolarsError:
        raise TableError(f"{path}: not readable as a CSV with the delimiter {mark!r}") from None
    if table.width != fields or table.height != expected:
        raise TableError(f"{path}: {expected} rows were expected and {table.height} read; check the quotes")
    if fields == 1:
        table = table.select(missing_alone(names[0]))
    if len(used.delimiter or ",") > 1:
        table = table.with_columns(pl.all().str.strip_chars(" "))
    return (unescape(table) if used.escaped else table), used


def header_line(start: bytes, path: Path, csv_format: CsvFormat) -> int:
    """Return the line that names the columns: as requested, or found below titles with a warning."""
    if csv_format.header_row is not None:
        return csv_format.header_row
    line = 1 if csv_format.names else line_of_names(start, csv_format.delimiter, DELIMITERS)
    if line > 1:
        say_row_of_names(str(path), "line", line)
    return line


def checked_csv(
    content: NDArray[np.uint8], path: Path, csv_format: CsvFormat, *, above: int = 0
) -> tuple[CsvFormat, list[str], int, int]:
    """Check the shape of a CSV, since parsers fill short lines up without a word.

    Parameters
    ----------
    content
        uint8[bytes]: the file in UTF-8, without a byte order mark; it may be mapped into memory.
    above
        Lines of the file above the content.

    Returns
    -------
    csv_format
        The format with what was found out.
    names
        The columns.
    rows
        How many rows there are below the header.
    blank
        How many lines are blank, of which parsers would make rows.

    Raises
    ------
    TableError
    """
    from incrowd.core.kernels.lines import scan

    delimiter = csv_format.delimiter or _sniff(content)
    mark = delimiter[0]
    fields, records, line, width, blank = scan(content, mark)
    titles = f"; below titles, say which line names the columns ({header_row_setting()})"
    if not records and not line:
        raise TableError(f"{path}: the file is empty")
    if width == -1:
        raise TableError(f"{path}, line {line + above}: a quote is opened here and never closed")
    if line:
        row = titles if line <= HEAD_ROWS and width > fields and not csv_format.names else ""
        first = f"line {above + 1}" if above else "the first line"
        raise TableError(
            f"{path}, line {line + above}: {width} fields where {first} has {fields}; "
            f"mend the line, or name the delimiter if it is not {mark!r}{row}"
        )
    start = content[:_HEADER].tobytes()
    if len(content) > _HEADER and not csv_format.names and b"\n" not in start:
        raise TableError(
            f"{path}: the first line has more than {_HEADER >> 20} MiB and {fields:,} fields; look whether "
            "its lines end as lines do"
        )
    try:
        names = list(csv_format.names) or _header(start, mark, trim=len(delimiter) > 1)
    except csv.Error as error:
        raise TableError(f"{path}: the header cannot be read as CSV ({error})") from None
    if len(names) != fields:
        raise TableError(f"{path}: {len(names)} column names were given for {fields} fields")
    if repeated := repeated_columns(names, csv_format.names):
        raise TableError(f"{path}: {repeated}{titles if names.count('') > 1 else ''}")
    if fields == 1:
        # A blank line is a missing value where there is one column, but not above the header.
        above = len(re.match(rb"(?:\r?\n)*", start)[0].splitlines())  # type: ignore[index]
        records += blank - (0 if csv_format.names else above)
    if not csv_format.names and records < 2:
        raise TableError(f"{path}: the table has no rows below its header")
    return (
        CsvFormat(delimiter, csv_format.encoding, csv_format.names, csv_format.escaped),
        names,
        records - (0 if csv_format.names else 1),
        blank,
    )


def no_text(path: Path) -> EncodingError:
    """Say that a file has NUL bytes."""
    another = setting("CsvFormat(encoding='utf-16-le')", "--encoding utf-16-le")
    return EncodingError(
        f"{path}: the file has NUL bytes; is it text, and in another encoding such as UTF-16 ({another})?"
    )


def naming_of_encoding() -> str:
    """Say how an encoding is named."""
    option = setting("CsvFormat(encoding='latin-1')", "--encoding latin-1")
    return f"name the encoding, e.g. with {option}; Chinese texts may be in big5 or gb18030"


def _as_utf8(data: bytes, path: Path, encoding: str) -> bytes:
    # Programs that add a byte order mark to a file that has one leave two.
    while data[:3] == codecs.BOM_UTF8:
        data = data[3:]
    if _is_utf8(encoding):
        encoding = utf16_of(data[: 1 << 16]) or encoding
    # ASCII is UTF-8, and this is said ten times as fast as it is decoded.
    if _is_utf8(encoding) and data.isascii():
        return data
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, UnicodeError) as error:
        location = f"byte {error.start}" if isinstance(error, UnicodeDecodeError) else "the file"
        raise EncodingError(f"{path}: {location} is not {encoding}; {naming_of_encoding()}") from None
    if _is_utf8(encoding):
        return data
    return text.lstrip("\ufeff").encode()


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


def _sniff(content: Any) -> str:
    """Choose the delimiter with the most fields among the delimiters that split the first records alike."""
    from incrowd.core.kernels.lines import scan

    best, most = ",", 1
    for mark in DELIMITERS:
        fields, _, line, *_ = scan(content, mark, 100)
        if not line and fields > most:
            best, most = mark, fields
    if most == 1:
        # No delimiter makes the records agree: take the header's most frequent one, the check will tell.
        counts = {mark: scan(content, mark, 1)[0] for mark in DELIMITERS}
        best = max(counts, key=lambda mark: counts[mark])
    return best


def _header(start: bytes, mark: str, *, trim: bool) -> list[str]:
    # A wrapper decodes no more than the lines that are read.
    lines = io.TextIOWrapper(io.BytesIO(start), "utf-8", "ignore", newline="")
    names: list[str] = next((row for row in csv.reader(lines, delimiter=mark) if row), [])
    return [name.strip(" ") for name in names] if trim else names


def missing_alone(name: str) -> pl.Expr:
    """Read the only column of a CSV: an empty field is missing, quoted or not.

    Other programs write a missing value there as ``""``, because they skip blank lines.
    """
    column = column_named(name)
    return pl.when(column != "").then(column).alias(name)


def _null_text(columns: int) -> str:
    """Return how a missing value is written to a CSV.

    A missing value and an empty text differ by quotes, as they did when read. In a file of one column a
    missing value without quotes would be a blank line, which many readers skip.
    """
    return "" if columns > 1 else '""'


def _require_text(target: Path, types: Mapping[str, pl.DataType]) -> None:
    """Raise for a file name of another format, or for column types that a CSV cannot hold.

    Raises
    ------
    TableError
    """
    refuse_other_format(target)
    refuse_types(types, target, "a CSV", (pl.Binary, pl.Object, pl.Duration, pl.List, pl.Struct, pl.Array))


def _nul_in(target: Path) -> TableError:
    """Return the error for the character NUL in a value of a CSV."""
    return TableError(
        f"{target}: a value has the character NUL, which a CSV cannot hold; write .parquet, or leave the "
        "column out"
    )


def write_table(table: pl.DataFrame, path: Path, target: Path, csv_format: CsvFormat) -> None:
    """Write a table to `path` in the format that `target` is named for.

    Raises
    ------
    TableError
        When a value has no place in a file of this format, or in the encoding of a CSV.
    """
    kind = kind_of(target)
    if kind is not None:
        write_kind(kind, table, path, target, csv_format.kept)
        return
    if is_parquet(target):
        table.write_parquet(path)
        return
    write_csv(table.lazy(), path, target, csv_format)


def write_csv(table: pl.LazyFrame, path: Path, target: Path, csv_format: CsvFormat) -> None:
    """Write a lazy frame to a CSV, also gzipped by the name of `target`.

    Raises
    ------
    TableError
        When a value has no place in a CSV, or in the encoding.
    """
    _require_text(target, table.collect_schema())
    mark = (csv_format.delimiter or ",")[0]
    if csv_format.escaped:
        table = escape(table)
    zipped = target.suffix.lower() == ".gz"
    utf8 = codecs.lookup(csv_format.encoding).name == "utf-8"
    sink_csv = partial(
        table.sink_csv,
        separator=mark,
        maintain_order=True,
        null_value=_null_text(len(table.collect_schema())),
        quote_style="necessary",
    )
    if utf8 and not zipped:
        sink_csv(path)
        _refuse_nul(path, target)
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix="plain.") as between:
        plain = Path(between.name)
        sink_csv(plain)
        _refuse_nul(plain, target)
        with plain.open("rb") as source, path.open("wb") as sink:
            # No file name and no time inside, so that the same release has the same bytes.
            out: Any = gzip.GzipFile("", "wb", 6, sink, mtime=0) if zipped else sink
            encoder = codecs.getincrementalencoder(csv_format.encoding)()
            decoder = codecs.getincrementaldecoder("utf-8")()
            while data := source.read(_CHUNK):
                try:
                    out.write(data if utf8 else encoder.encode(decoder.decode(data)))
                except UnicodeEncodeError:
                    problem = f"a value cannot be written in {csv_format.encoding}; use utf-8"
                    raise TableError(f"{target}: {problem}") from None
            if zipped:
                out.close()


def _refuse_nul(path: Path, target: Path) -> None:
    """Raise if a file in UTF-8 contains NUL."""
    # A file that is mapped is looked at without a copy.
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data.find(b"\0") >= 0:
            raise _nul_in(target)


def write_file(
    table: pl.DataFrame, target: str | os.PathLike[str], csv_format: CsvFormat, *, force: bool = False
) -> None:
    """Write a table to a file, all or nothing (see `write_table`, `incrowd.core.io.targets.writing`)."""
    with writing(target, force=force) as temporary:
        write_table(table, temporary, Path(target), csv_format)


# --- texts that a spreadsheet would run as formulas ----------------------------------------------------

# Wide forms run in some languages. Quotes before them count too, so that one can always be taken off again.
_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
_ESCAPED = r"^'+[=+\-@\t\r\n＝＋－＠]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def escape(table: Frame) -> Frame:
    """Put ``'`` before texts and names of columns that begin as formulas do and are not plain numbers."""
    columns, names = [], {}
    for name, kind in table.lazy().collect_schema().items():
        if re.match(_FORMULA, name) and not re.match(_NUMBER, name):
            names[name] = f"'{name}"
        if isinstance(kind, pl.String | pl.Categorical | pl.Enum):
            text = column_named(name).cast(pl.String)
            runs = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
            columns.append(pl.when(runs).then(pl.lit("'") + text).otherwise(text).alias(name))
    return table.with_columns(columns).rename(names)


def unescape(table: Frame) -> Frame:
    """Take off the signs that `escape` added."""
    columns = []
    for name, kind in table.lazy().collect_schema().items():
        if kind == pl.String:
            text = column_named(name)
            escaped = text.str.contains(_ESCAPED)
            columns.append(pl.when(escaped).then(text.str.slice(1)).otherwise(text).alias(name))
    names = {name: name[1:] for name in table.lazy().collect_schema() if re.match(_ESCAPED, name)}
    return table.with_columns(columns).rename(names)
