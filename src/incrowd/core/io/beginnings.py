"""The beginning of a file of rows: the encoding, the line ends, and titles above the row of names.

Programs that export tables write titles, dates and names of groups above the row of names. Some write UTF-16
without a mark that says so, or end lines with a carriage return alone.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from incrowd.core.errors import TableError, setting
from incrowd.core.io.double_header import DIGITS, is_name, is_no_answer

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
