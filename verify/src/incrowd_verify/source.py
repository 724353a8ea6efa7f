"""Tables for DuckDB: files, folders, patterns of files, and databases.

DuckDB compares column names without regard to case, and renames repeats. So every column is called ``c0``,
``c1``, ... here. The names are read separately, from a CSV file's header or a Parquet file's schema. Errors
name the place and never a cell's content.

In a CSV file an unquoted empty field is missing. A quoted one (``""``) is the empty text, which is a value.
So ``allow_quoted_nulls`` is false; DuckDB's default would make it missing, too. A row with more or fewer
fields than the header is an error. There is one exception: DuckDB accepts one empty field too many at the end
of a row (``1,2,`` under ``a,b``).
"""

from __future__ import annotations

import codecs
import gzip
import math
import re
import secrets
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import IO

from incrowd_gate.errors import ParameterError, TableError, refuse_pipe
from incrowd_gate.lazy import duckdb, pl
from incrowd_verify.other_kinds import (
    as_parquet,
    encoding_of,
    first_records,
    flat_columns,
    is_json_lines,
    lacking_row,
    named_row,
)

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
INTEGERS = (*_SIGNED, *(f"U{name}" for name in _SIGNED))
"""Types of whole numbers."""
_FLOATS = ("FLOAT", "DOUBLE")
_DELIMITERS = (",", ";", "\t", "|")
_ZIPPED = b"\x1f\x8b"
_PARQUET = b"PAR1"
_UTF8 = ("utf-8", "utf-8-sig")
_BEGINNING = 1 << 16
_QUOTES = "quote = '\"', escape = '\"'"
ESCAPED = "^'('*[=+@\\t\\r\\n＝＋－＠-])"
"""Pattern of a text with ``'`` before what a spreadsheet would run as a formula."""
_PARQUET_NAMES = (
    "SELECT name FROM (SELECT name, row_number() OVER () AS place FROM parquet_schema({})) WHERE place > 1"
)
_DUCKDB_READS = {"iso8859-1": "latin-1", "utf-16": "utf-16", "utf-16-le": "utf-16"}
"""Encodings that DuckDB reads without an extension, by Python's names of them."""


@dataclass(frozen=True)
class CsvFormat:
    """How CSV files are written.

    - `delimiter`: one character, or one and a blank, which means that blanks around values are no part of
      them; None finds it out.
    - `encoding`: none for UTF-8, or UTF-16 where the first bytes tell it.
    - `names`: the columns of a file that has no header.
    - `escaped`: whether texts that a spreadsheet would run as formulas have ``'`` in front.
    - `sheet`: the sheet of a workbook.
    - `header_row`: the line of a CSV, or the row of a workbook, that names the columns, from 1; None finds it
      out.
    - `fill_merged`: whether cells of a workbook that are merged down a column have the value of the first.
    """

    delimiter: str | None = None
    encoding: str | None = None
    names: tuple[str, ...] = ()
    escaped: bool = False
    sheet: str | None = None
    header_row: int | None = None
    fill_merged: bool = False

    def __post_init__(self) -> None:
        mark = self.delimiter
        if mark is not None and (len(mark) not in (1, 2) or mark[1:] not in ("", " ") or mark[0] in '"\r\n'):
            raise ParameterError(
                'delimiter must be one character, other than " and a line end, or one and a blank'
            )


@dataclass(frozen=True)
class Part:
    """A file of a table, or the whole table, for DuckDB to read.

    - `relation`: SQL that stands after FROM; its columns are called c0, c1, ...
    - `trimmed`: whether blanks around values are no part of them.
    - `plainly`: SQL of a reader with ``{}`` for the file, if DuckDB reads it by itself: Parquet, JSON lines,
      or a CSV with a header in an encoding that DuckDB knows.
    - `header`: SQL of the names as they stand in the file, with ``{}`` for it: DuckDB calls some columns
      otherwise.
    - `by_name`: whether the names have no order, as in JSON lines.
    - `headed`: whether nothing but a line tells the names, as in a CSV or a workbook.
    - `zones`: the time zones of points of time, by column, where the file names them.
    """

    relation: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    trimmed: bool = False
    plainly: str | None = None
    header: str | None = None
    by_name: bool = False
    headed: bool = False
    zones: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A loaded table of the connection, with columns named c0, c1, ...

    - `names`, `types`: the columns' names and DuckDB's types; all of them, also those that were not loaded.
    - `in_order`: whether its rows have an order, which ``rowid`` tells.
    - `headed`: whether nothing but a line told the names.
    - `zones`: the time zones of points of time, by column, where a file names them; else a clock in UTC
      shows them.
    """

    name: str
    title: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    in_order: bool
    headed: bool = False
    zones: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Say whether the table has a column of this name, compared literally."""
        return name in self._places

    def place(self, name: str) -> int:
        """Return the place of a column by name, compared literally."""
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def type_of(self, name: str) -> str:
        """Return DuckDB's type of a column."""
        return self.types[self.place(name)]

    def zone_of(self, name: str) -> str | None:
        """Return the time zone of the clock for a column's points of time, or None for other values."""
        return self.zones.get(name, "UTC") if self.type_of(name) == "TIMESTAMP WITH TIME ZONE" else None

    def kind_of(self, name: str) -> str:
        """Return our kind of a column (see `group_of`)."""
        return group_of(self.type_of(name))


def group_of(declared: str) -> str:
    """Return our kind of a DuckDB type: number, float, date or text (all the rest)."""
    if declared in INTEGERS or declared.startswith("DECIMAL"):
        return "number"
    if declared in _FLOATS:
        return "float"
    return "date" if declared == "DATE" or declared.startswith("TIMESTAMP") else "text"


def literal(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def number(value: float | Fraction) -> str:
    """Write a number of a clause or a policy as SQL; anything else becomes no SQL."""
    assert isinstance(value, int | float | Fraction)
    assert math.isfinite(value)
    return str(value) if isinstance(value, int) else f"{float(value)!r}::DOUBLE"


def connect(
    scratch: Path, files: Iterable[Path], folders: Iterable[Path] = (), *, in_order: bool = False
) -> duckdb.DuckDBPyConnection:
    """Open an in-memory database that reaches some files, some folders and a private folder, and no others.

    - `scratch`: the private folder, in which it spills.
    - `files`, `folders`: what is read besides.
    - `in_order`: whether loaded rows keep the order in which they are read.
    """
    con = duckdb.connect(":memory:", config={
        "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
        "temp_directory": str(scratch), "preserve_insertion_order": str(in_order).lower(),
    })  # fmt: skip
    con.execute("SET enable_progress_bar = false")
    lock(con, _both_forms(files), _both_forms([scratch, *folders]))
    return con


def lock(con: duckdb.DuckDBPyConnection, files: Iterable[str], folders: Iterable[str]) -> None:
    """Let a connection reach some files and folders, fetch and load nothing, and change no setting again."""
    con.execute("SET allowed_paths = ?", [list(files)])
    con.execute("SET allowed_directories = ?", [list(folders)])
    off = ("allow_community_extensions", "python_enable_replacements", "enable_external_access")
    settings = ("autoinstall_known_extensions", "autoload_known_extensions", *off)
    con.execute(
        "".join(f"SET GLOBAL {name} = false; " for name in settings) + "SET lock_configuration = true"
    )


def open_file(
    con: duckdb.DuckDBPyConnection, path: Path, wanted: Collection[str], csv_format: CsvFormat, scratch: Path
) -> Part:
    """Find out how to read a file: another kind by the name, else CSV or Parquet by the content.

    `wanted`: names of columns that are looked for: the delimiter is the one under which most are in the
    header.
    """
    refuse_pipe(path)
    copy = as_parquet(
        path, scratch, csv_format.sheet, wanted, csv_format.header_row, fill_merged=csv_format.fill_merged
    )
    if copy is not None:
        part = _parquet(con, copy)
        if is_json_lines(path):
            return _json_lines(part)
        return replace(part, plainly=None, header=None, headed=path.suffix.lower() == ".xlsx")
    try:
        with path.open("rb") as file:
            start = file.read(4)
            file.seek(max(file.seek(0, 2) - 4, 0))
            end = file.read(4)
    except OSError as error:
        raise TableError(f"{path}: the file cannot be read ({error.strerror})") from None
    if start == _PARQUET and (end == _PARQUET or path.suffix.lower() in (".parquet", ".pq")):
        return _parquet(con, path)
    zipped = start.startswith(_ZIPPED)
    if zipped:
        _check_gzip(path)
    with gzip.open(path) if zipped else path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    codec = _codec(csv_format.encoding, beginning)
    file_in_utf8 = _in_utf8(path, codec, zipped, scratch, returns=_has_lone_returns(beginning, codec))
    part = _csv(con, file_in_utf8, wanted, csv_format)
    return _unescaped(part) if csv_format.escaped else part


def _json_lines(part: Part) -> Part:
    """Say how DuckDB reads JSON lines by itself, with the types of the copy.

    It does not tell names apart that differ in case alone.
    """
    if part.plainly is None or len({name.lower() for name in part.names}) < len(part.names):
        return replace(part, plainly=None, header=None)
    columns = ", ".join(
        f"{literal(name)}: {literal(declared)}" for name, declared in zip(part.names, part.types, strict=True)
    )
    options = "format = 'newline_delimited', ignore_errors = false"
    return replace(
        part,
        plainly=f"read_json({{}}, {options}, records = true, columns = {{{columns}}})",
        header=f"SELECT DISTINCT unnest(json_keys(json)) AS name FROM read_json_objects({{}}, {options})",
        by_name=True,
    )


def _unescaped(part: Part) -> Part:
    """Take a quotation mark off texts and names of columns where the beginning of a formula follows."""
    mark = literal(ESCAPED)
    columns = ", ".join(
        f"regexp_replace(c{place}, {mark}, '\\1') AS c{place}" for place in range(len(part.names))
    )
    names = tuple(re.sub(ESCAPED, r"\1", name) for name in part.names)
    relation = f"(SELECT {columns} FROM {part.relation})"
    return replace(part, relation=relation, names=names, plainly=None, header=None)


def _check_gzip(path: Path) -> None:
    """Read a gzip file through to the checksum: DuckDB before 2.0 takes a file that was cut off for whole."""
    try:
        with gzip.open(path) as file:
            while file.read(1 << 20):
                pass
    except (OSError, EOFError, zlib.error):
        raise TableError(f"{path}: the file cannot be read (its gzip is damaged or cut off)") from None


@contextmanager
def reworded(path: Path) -> Iterator[None]:
    """Turn DuckDB's errors, which quote the file's content, into errors that name the place only."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise TableError(f"{path}: not enough memory to measure the file") from None
    except duckdb.Error as error:
        message = str(error)
        row = re.search(r"^(?:Invalid Input Error: )?CSV Error on Line: (\d+)$", message, re.MULTILINE)
        place = f", row {row[1]} (the header is row 1)" if row else ""
        fields = re.search(r"^Expected Number of Columns: (\d+) Found: (\d+)$", message, re.MULTILINE)
        if fields:
            why = f"{fields[2]} fields, but the header has {fields[1]}"
        elif "nvalid unicode" in message:
            why = "not in UTF-8; name the encoding of the file"
        elif "reached an invalid state" in message:
            why = "lines that end in several ways, or a quotation mark inside a value; save it anew"
        elif "unterminated quote" in message:
            why = "a quotation mark that is not closed, or text after a closing one"
        else:
            why = f"DuckDB cannot read the file ({type(error).__name__})"
        raise TableError(f"{path}{place}: {why}") from None


def glob_free(path: Path) -> str:
    """Write a path as an SQL literal in which ``*``, ``?`` and ``[`` mean themselves."""
    return literal(_globbed(path))


def _globbed(path: Path) -> str:
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


def _both_forms(paths: Iterable[Path]) -> Iterator[str]:
    """Write each path unchanged and in the form of `glob_free`, as DuckDB looks both up."""
    for path in paths:
        yield from (str(path), _globbed(path))


def _distinct(names: tuple[str, ...], path: Path) -> tuple[str, ...]:
    # Positions, not names: where a header is missing the first line is a person's data.
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name in first:
            raise TableError(f"{path}: columns {first[name]} and {place} have the same name; rename one")
        first[name] = place
    return names


# --- Parquet ------------------------------------------------------------------------------------------


def _parquet(con: duckdb.DuckDBPyConnection, path: Path) -> Part:
    file = glob_free(path)
    with reworded(path):
        schema = con.execute(f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({file})").fetchall()
        names = _distinct(_top_level(schema), path)
        if not names:
            raise TableError(f"{path}: the file has no columns")
        aliases = ", ".join(f"c{place}" for place in range(len(names)))
        relation = f"read_parquet({file}, hive_partitioning = false) AS file({aliases})"
        nested = any(children for _, children in schema[1:])
        if nested:
            columns = flat_columns(con, relation, names)
            names = _distinct(tuple(name for name, _ in columns), path)
            listed = ", ".join(f"{cell} AS c{place}" for place, (_, cell) in enumerate(columns))
            relation = f"(SELECT {listed} FROM {relation})"
        types = con.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    part = Part(relation, names, tuple(str(row[1]) for row in types))
    if "TIMESTAMP WITH TIME ZONE" in part.types:
        part = replace(part, zones=_zones(con, path))
    plainly = "read_parquet({}, hive_partitioning = false)"
    return part if nested else replace(part, plainly=plainly, header=_PARQUET_NAMES)


def _zones(con: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    """Return by column the time zones that a Parquet file names and that DuckDB knows."""
    known = {zone for (zone,) in con.execute("SELECT name FROM pg_timezone_names()").fetchall()}
    try:
        kinds = pl.read_parquet_schema(path)
    except pl.exceptions.PolarsError:
        return {}
    zones = {name: kind.time_zone for name, kind in kinds.items() if isinstance(kind, pl.Datetime)}
    return {name: zone for name, zone in zones.items() if zone is not None and zone in known}


def _top_level(schema: list[tuple[str, int]]) -> tuple[str, ...]:
    """Pick the columns out of a Parquet schema, which lists nested fields behind the column."""
    names = []
    place = 1  # 0 is the root
    while place < len(schema):
        names.append(schema[place][0])
        open_fields = 1
        while open_fields:
            open_fields += schema[place][1] - 1
            place += 1
    return tuple(names)


# --- CSV ----------------------------------------------------------------------------------------------


def _codec(encoding: str | None, start: bytes) -> str:
    if encoding is None:
        return encoding_of(start)
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except LookupError:
        raise ParameterError(f"encoding {encoding!r} is unknown; try utf-8 or cp1252") from None


@dataclass(frozen=True)
class _CsvFile:
    """A CSV file, and the file with the same content in UTF-8.

    `copy`: the file that is read: the same, or a private copy in UTF-8, which is not gzipped.
    """

    path: Path
    codec: str
    zipped: bool
    copy: Path

    @property
    def copy_is_zipped(self) -> bool:
        """Whether the file that is read is gzipped."""
        return self.zipped and self.copy is self.path

    @property
    def compression(self) -> str:
        """SQL of the compression of the file that is read."""
        return f"compression = '{'gzip' if self.copy_is_zipped else 'none'}'"

    @property
    def duckdb_encoding(self) -> str | None:
        """DuckDB's name of the encoding, or None if DuckDB does not read the file by itself."""
        if self.codec in _UTF8:
            return "utf-8"
        return None if self.zipped else _DUCKDB_READS.get(self.codec)


def _has_lone_returns(start: bytes, codec: str) -> bool:
    """Say whether lines end with a carriage return and no line feed."""
    text = codecs.getincrementaldecoder(codec)("ignore").decode(start)
    return "\r" in text and "\n" not in text


def _in_utf8(path: Path, codec: str, zipped: bool, scratch: Path, *, returns: bool) -> _CsvFile:
    """Copy a CSV that is in another encoding, or has lines that DuckDB may not tell apart."""
    if codec in _UTF8 and not returns:
        return _CsvFile(path, codec, zipped, path)
    copy = scratch / f"{secrets.token_hex(8)}.csv"
    try:
        with _open_text(path, codec, zipped) as old, copy.open("w", encoding="utf-8", newline="") as new:
            while piece := old.read(_BEGINNING):
                new.write(piece.replace("\r", "\n") if returns else piece)
    except (UnicodeError, OSError, EOFError):
        raise TableError(f"{path}: not in the encoding {codec}; name the encoding of the file") from None
    return _CsvFile(path, "" if returns else codec, zipped, copy)


def _csv(
    con: duckdb.DuckDBPyConnection, file: _CsvFile, wanted: Collection[str], csv_format: CsvFormat
) -> Part:
    asked, given_names = csv_format.delimiter, csv_format.names
    trimmed = asked is not None and len(asked) > 1
    row = 1 if given_names else csv_format.header_row
    marks = [asked[0]] if asked else _DELIMITERS
    found = {each: _header(file, each, wanted, row, trimmed=trimmed) for each in marks}
    headers = {each: names for each, (names, _) in found.items()}
    mark = _delimiter(con, file, headers, wanted, given_names)
    above = found[mark][1]
    if not headers[mark]:
        raise TableError(f"{file.path}, row 1: the header cannot be read as CSV")
    names = _distinct(given_names or headers[mark], file.path)
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(names)))
    # Where there is one column, a missing value has to be quoted, or its line would be blank.
    alone = str(len(names) == 1).lower()
    strictly = (
        f"nullstr = '', allow_quoted_nulls = {alone}, null_padding = false, ignore_errors = false, "
        f"{file.compression}, hive_partitioning = false"
    )
    relation = (
        f"read_csv({glob_free(file.copy)}, auto_detect = false, header = {str(not given_names).lower()}, "
        f"columns = {{{columns}}}, delim = {literal(mark)}, {_QUOTES}, skip = {above}, {strictly})"
    )
    part = Part(relation, names, ("VARCHAR",) * len(names), trimmed, headed=True)
    if given_names:
        return part
    reader = (
        f"read_csv({{}}, header = true, all_varchar = true, delim = {literal(mark)}, {_QUOTES}, "
        f"comment = '', skip = {above}, {strictly}"
    )
    return _read_plainly(con, file, part, reader)


def _delimiter(
    con: duckdb.DuckDBPyConnection, file: _CsvFile, headers: Mapping[str, tuple[str, ...]], wanted:
    Collection[str], given_names: tuple[str, ...],
) -> str:  # fmt: skip
    """Choose the delimiter under which the header fits best, and among several the choice of DuckDB."""
    if given_names:
        distances = {each: -abs(len(names) - len(given_names)) for each, names in headers.items()}
    else:
        distances = {each: len(set(wanted).intersection(names)) for each, names in headers.items()}
    best = [each for each, count in distances.items() if count == max(distances.values())]
    if "," in best and all(len(headers[each]) == 1 for each in best):
        # Of a single column, what parts the items of its sets parts no columns.
        return ","
    if len(best) > 1:
        with reworded(file.path):
            sniffed = con.execute(
                f"SELECT delimiter FROM sniff_csv({glob_free(file.copy)}, {_QUOTES}, header = true, "
                f"{file.compression})"
            ).fetchone()
        if sniffed and sniffed[0] in best:
            return str(sniffed[0])
    return best[0]


def _read_plainly(con: duckdb.DuckDBPyConnection, file: _CsvFile, part: Part, reader: str) -> Part:
    """Say how DuckDB reads a CSV with a header by itself, if at all.

    `reader`: SQL of the reader of its copy, still open at the end, with ``{}`` for the file.
    """
    encoding = file.duckdb_encoding
    if encoding is None:
        return part
    plainly = reader + (")" if encoding == "utf-8" else f", encoding = '{encoding}')")
    if encoding != "utf-8" and not _reads(con, plainly.replace("{}", glob_free(file.path), 1)):
        return part
    first = plainly.replace("header = true", "header = false").replace("nulls = true", "nulls = false")
    name = "trim(name, ' ')" if part.trimmed else "name"
    header = (
        f"SELECT coalesce({name}, '') AS name FROM (SELECT unnest(list_value(*COLUMNS(*))) AS name "
        f"FROM (SELECT * FROM {first} LIMIT 1))"
    )
    return replace(part, plainly=plainly, header=header)


def _reads(con: duckdb.DuckDBPyConnection, reader: str) -> bool:
    """Say whether DuckDB reads a file by itself, as DuckDB lacks some characters of encodings."""
    try:
        con.execute(f"SELECT count(*) FROM {reader}").fetchall()
    except duckdb.Error:
        return False
    return True


def _open_text(path: Path, codec: str, zipped: bool, errors: str = "strict") -> IO[str]:
    if zipped:
        return gzip.open(path, "rt", encoding=codec, errors=errors, newline="")
    return path.open(encoding=codec, errors=errors, newline="")


def _header(
    file: _CsvFile, delimiter: str, wanted: Collection[str], row: int | None, *, trimmed: bool
) -> tuple[tuple[str, ...], int]:
    """Return the names of the columns, none if there is no header under a delimiter, and the lines above."""
    try:
        # The reader looks ahead of the header: what is wrong there is left to DuckDB, which knows the row.
        with _open_text(file.copy, "utf-8-sig", file.copy_is_zipped, "surrogateescape") as opened:
            empty = not opened.read(1)
            opened.seek(0)
            if row is not None and row > 1:
                # A row that is named is a line, however titles above it are quoted.
                for _ in range(row - 1):
                    opened.readline()
                records, above = first_records(opened, delimiter, trimmed=trimmed)
                place, before = 0, row - 1
            else:
                records, above = first_records(opened, delimiter, trimmed=trimmed)
                place, before = named_row(records, wanted, row), 0
        names = records[place] if records else []
        "".join(names).encode()
    except UnicodeEncodeError:
        raise TableError(f"{file.path}, row 1: not in UTF-8; name the encoding of the file") from None
    except (OSError, EOFError):
        raise TableError(f"{file.path}: the file cannot be read") from None
    if not records:
        if row is not None and row > 1:
            raise lacking_row(file.path, row)
        if not empty:
            return (), 0
    if not names:
        raise TableError(f"{file.path}: the file has no header")
    return tuple(names), above[place] + before
