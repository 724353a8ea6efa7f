"""The row of names of a raw file, which may stand below titles, and texts in UTF-16 that no mark tells."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from incrowd.errors import TableError, setting

_ROWS = 40
_NAMES = {b"\x01\x00": "utf-16-le", b"\x00\x01": "utf-16-be"}


def encoding_of(start: bytes) -> str:
    """Return the encoding of a text by its first bytes: UTF-8, or UTF-16 with or without a mark."""
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    pairs = [start[place : place + 2] for place in range(0, len(start) - 1, 2)]
    # Latin letters and signs between cells have one byte of two that is zero, always the same one.
    kinds = {bytes(byte != 0 for byte in pair) for pair in pairs} - {b"\x01\x01"}
    rare = 20 * sum(0 in pair for pair in pairs) < len(pairs)
    signs = {pair.strip(b"\0") for pair in pairs if 0 in pair}
    is_table = signs.intersection((b"\n", b"\r")) and signs.intersection((b",", b";", b"\t", b"|"))
    return "utf-8" if rare or not is_table or len(kinds) != 1 else _NAMES.get(kinds.pop(), "utf-8")


def named_row(rows: Sequence[Sequence[str | None]], wanted: Collection[str], asked: int | None) -> int:
    """Return the place of the row that names the columns, from 0.

    Parameters
    ----------
    rows
        The first rows of a table.
    wanted
        Names that are looked for: it is the first row that has most of them.
    asked
        The row that the caller named, from 1.
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
