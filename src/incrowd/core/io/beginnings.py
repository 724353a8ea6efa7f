"""The beginning of a file of rows: encoding, line ends, titles above the row of names, a second header.

Programs that export tables write titles, dates and names of groups above the row of names. Some write UTF-16
without a mark that says so, or end lines with a carriage return alone.

A second header is a first record of names or of units such as ``years,,EUR``. Read as a record, it would make
a column of numbers one of texts, and stand in the release as a person. See `has_double_header`.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incrowd.core.errors import TableError, setting
from incrowd.core.io.columns import column_named, passing
from incrowd.core.lazy import pl

MISSING_TEXTS = (
    "?", "??", "NA", "N/A", "n/a", "N.A.", "n.a.", "#N/A", "#NULL!", "-", "--", "---", ".", "..", "null",
    "NULL", "Null", "(null)", "<NA>", "nan", "NaN", "NAN", "missing", "Missing", "MISSING", "k.A.", "s/d",
    "n.d.",
)  # fmt: skip
"""Texts of missing answers. `None` and `unknown` may be answers and are not included."""


DIGITS = "^ *[-+]?[.]?[0-9][-+0-9.,:/ TZeE%'\u00a0\u202f]*$"
"""A number or a date, in whatever spelling."""
_NO_ANSWER = {text.casefold() for text in MISSING_TEXTS} | {
    "", "unknown", "not known", "not available", "not applicable", "not stated", "no answer", "none",
    "refused", "declined", "withheld", "undisclosed", "other", "inf", "infinity", "true", "false", "yes",
    "no",
}  # fmt: skip
"""Texts that a person's record may have in a column of numbers."""
_UNITS = "%€$£¥°"
_HEAD = 1000
"""Records that are looked at before all are."""


@dataclass(frozen=True)
class _Below:
    """Values of a column below the first record: whether the word occurs `again`, and all are `digits`."""

    values: int
    various: bool
    digits: bool
    again: bool


def refuse_double_header(
    table: pl.DataFrame | pl.LazyFrame, place: str, *, row: str = "the second line", headerless: bool = False
) -> None:
    """Raise for a table with a first record that looks like a second row of names.

    Parameters
    ----------
    table
        As it was read.
    place
        What the table is called.
    row
        What its first record is called.
    headerless
        Whether the caller named the columns, so that the first record is the first line.

    Raises
    ------
    TableError
    """
    if not has_double_header(table):
        return
    row, again = ("the first line", "a row of names") if headerless else (row, "a second row of names")
    leave = f"leave {setting('CsvFormat(names=...)', '--names')} out and " if headerless else ""
    raise TableError(
        f"{place}: {row} looks like {again}, since it has texts alone, above numbers or other texts; {leave}"
        "keep one row of names (or move it down, if it is a row of values)"
    )


def has_double_header(table: pl.DataFrame | pl.LazyFrame) -> bool:
    """Say whether the first record looks like a second row of names or a row of units.

    It has to be made of words, each of which is found nowhere else in its column. A word is a text that is
    neither a number nor an answer such as ``unknown``. Also one of these has to be so:

    - no column is empty there, and one has nothing but numbers below;
    - two columns with different words have nothing but numbers below;
    - one column repeats its name, and has nothing but numbers below;
    - several columns are filled, all of them repeat their names, and one has different values below.

    Numbers are dates, too, and all that is written with digits.

    Examples
    --------
    >>> import polars as pl
    >>> has_double_header(pl.DataFrame({"age": ["years", "30", "41"], "pay": ["EUR", "9", None]}))
    True
    >>> has_double_header(pl.DataFrame({"age": ["unknown", "30", "41"], "town": ["Rome", "Oslo", "Rome"]}))
    False
    """
    words = _words(table)
    if not words:
        return False
    rows = table.lazy()
    width = len(rows.collect_schema())
    # An honest table is hardly ever suspicious by its first records.
    return _suspicious(words, _below(rows.head(_HEAD), words), width, enough=0) and _suspicious(
        words, _below(rows, words), width, enough=2
    )


def _words(table: pl.DataFrame | pl.LazyFrame) -> dict[str, str]:
    """Return the words of the first record by column, or none where a cell is no word."""
    first = table.lazy().head(1).collect()
    if not first.height:
        return {}
    filled = {
        name: cell
        for name, cell in zip(first.columns, first.row(0), strict=True)
        if cell is not None and not (isinstance(cell, str) and is_no_answer(cell))
    }
    return filled if all(isinstance(cell, str) and is_name(cell) for cell in filled.values()) else {}


def is_no_answer(text: str) -> bool:
    """Say whether a text means that nothing is known, such as ``unknown``."""
    return text.strip().casefold() in _NO_ANSWER


def is_name(text: str) -> bool:
    """Say whether a non-empty text may name a column: a letter or a unit, and no leading digit."""
    stripped = text.strip()
    return not stripped[0].isdigit() and any(mark.isalpha() or mark in _UNITS for mark in stripped)


def _below(rows: pl.LazyFrame, words: Mapping[str, str]) -> dict[str, _Below]:
    """Summarize the cells of columns below the first record."""
    aggregates: list[pl.Expr] = []
    for number, (name, word) in enumerate(words.items()):
        cells = column_named(name)
        no_answer = cells.str.strip_chars().str.to_lowercase().is_in(sorted(_NO_ANSWER))
        values = cells.filter(no_answer.not_())
        aggregates += [
            values.len().alias(f"values{number}"),
            (values.min() != values.max()).fill_null(value=False).alias(f"various{number}"),
            values.str.contains(DIGITS).all().alias(f"digits{number}"),
            (values == word).any().alias(f"again{number}"),
        ]
    texts = rows.slice(1).select(column_named(name).cast(pl.String) for name in words)
    results = passing(texts).select(aggregates).collect(engine="streaming").row(0)
    return {name: _Below(*results[4 * position : 4 * position + 4]) for position, name in enumerate(words)}


def _suspicious(words: Mapping[str, str], below: Mapping[str, _Below], width: int, *, enough: int) -> bool:
    """Say whether words stand above cells that make a second header likely.

    Parameters
    ----------
    width
        Columns of the table.
    enough
        Values below that tell what a column holds; 0 where not all records were looked at.
    """
    if any(each.again for each in below.values()):
        return False
    above = [name for name, each in below.items() if each.digits and each.values >= enough]
    repeating = [name for name, word in words.items() if name.strip().casefold() == word.strip().casefold()]
    return bool(
        (above and len(words) == width)
        or len({words[name].strip().casefold() for name in above}) > 1
        or set(above).intersection(repeating)
        or (len(repeating) == len(words) > 1 and any(each.various or not enough for each in below.values()))
    )


HEAD_ROWS = 40
"""Rows that are looked at for a row of names."""
_HEAD_BYTES = 1 << 16
_FEWEST_NULS = 0.05
"""Share of NUL bytes at even or odd places from which a text is taken for UTF-16."""


def utf16_of(start: bytes) -> str | None:
    r"""Return Python's name of the UTF-16 encoding of a text, or None if the text is in another encoding.

    Examples
    --------
    >>> utf16_of("age,sex\n".encode("utf-16-le")), utf16_of(b"age,sex\n")
    ('utf-16-le', None)
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    half = len(start[:_HEAD_BYTES]) // 2
    even, odd = start[: 2 * half : 2].count(0), start[1 : 2 * half : 2].count(0)
    if min(even, odd) or max(even, odd) <= _FEWEST_NULS * half:
        return None
    name = "utf-16-le" if odd else "utf-16-be"
    text = codecs.getincrementaldecoder(name)("ignore").decode(start[:_HEAD_BYTES])
    # A file of bytes may have some that are zero, but hardly ends of lines and delimiters beside them.
    return name if _has_any(text, "\r\n") and _has_any(text, ",;\t|") else None


def has_lone_returns(start: bytes) -> bool:
    """Say whether the lines of a text end with a carriage return alone, as on old Macs."""
    return b"\r" in start and b"\n" not in start


def line_of_names(start: bytes, delimiter: str | None, delimiters: str) -> int:
    """Return the number from 1 of the CSV line that names the columns (unclear: 1).

    Parameters
    ----------
    start
        The beginning of the file in UTF-8.
    delimiter
        The delimiter, if it is known; else one of `delimiters` is.
    """
    text = start[:_HEAD_BYTES].decode("utf-8", "ignore")
    best, most = 1, 1
    for mark in [delimiter[0]] if delimiter else delimiters:
        numbers, rows = _records(text, mark, complete=len(start) < _HEAD_BYTES)
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 and 2 * _filled(rows[0]) > len(rows[0]):
            return 1
        position = place_of_names(rows)
        if position and len({len(row) for row in rows[position:]}) == 1 and len(rows[position]) > most:
            best, most = numbers[position], len(rows[position])
    return best


def place_of_names(rows: Sequence[Sequence[str]]) -> int:
    """Return the position from 0 of the row of names below titles (unclear: 0).

    It is the first row whose cells are all filled with different words, as many as most rows have cells. All
    rows above have at most half of them filled, and below it a column has nothing but numbers or dates.

    Examples
    --------
    >>> place_of_names([["Staff 2026", ""], ["", ""], ["name", "age"], ["Ann", "41"], ["Bob", "30"]])
    2
    """
    width = max(Counter(map(len, rows)).items(), key=lambda each: (each[1], each[0]), default=(0, 0))[0]
    for position, row in enumerate(rows):
        if len(row) == len(set(row)) == width > 1 and all(cell and is_name(cell) for cell in row):
            return position if _stands_above_digits(width, rows[position + 1 :]) else 0
        if 2 * _filled(row) > width:
            return 0
    return 0


def header_row_setting() -> str:
    """Return the setting by which a caller chooses the row of names."""
    return setting("CsvFormat(header_row=...)", "--header-row")


def say_row_of_names(place: str, row: str, number: int) -> None:
    """Warn that a row below titles is taken for the row of names."""
    warnings.warn(
        f"{place}: {row} {number} is taken as the header; {header_row_setting()} says otherwise",
        stacklevel=2,
    )


def bytes_of_lines(data: bytes, lines: int, path: Path) -> int:
    """Return how many bytes the first lines of a text have.

    Raises
    ------
    TableError
        When it has no more lines.
    """
    end = 0
    for _ in range(lines):
        end = data.find(b"\n", end) + 1
        if not end or end == len(data):
            raise TableError(
                f"{path}: has no line {lines + 1}; {setting('header_row', '--header-row')} is the line that "
                "names the columns"
            )
    return end


def _records(text: str, mark: str, *, complete: bool) -> tuple[list[int], list[list[str]]]:
    """Return the first non-blank records of a text, and the line number of each."""
    numbers: list[int] = []
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    before = 0
    try:
        for row in reader:
            if row:
                numbers.append(before + 1)
                rows.append([cell.strip() for cell in row])
            before = reader.line_num
            if len(rows) > HEAD_ROWS:
                break
    except csv.Error:
        return [], [[]]
    # The last one may be cut off.
    cut = len(rows) > HEAD_ROWS or not complete
    return (numbers[:-1], rows[:-1] or [[]]) if cut else (numbers, rows or [[]])


def _has_any(text: str, signs: str) -> bool:
    return any(sign in text for sign in signs)


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell)


def _stands_above_digits(width: int, below: Sequence[Sequence[str]]) -> bool:
    """Say whether a column of some rows has values, all of which are numbers or dates."""
    rows = [row for row in below if len(row) == width]
    for position in range(width):
        cells = [row[position] for row in rows if not is_no_answer(row[position])]
        if cells and all(re.match(DIGITS, cell) for cell in cells):
            return True
    return False
