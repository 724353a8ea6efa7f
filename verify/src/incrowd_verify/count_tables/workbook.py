"""Count tables in a workbook, with a sheet for each table, read cell by cell with every heading.

Above a table stand the codes of its columns, and left of it those of its rows. What is not shown is an ``x``
or the label of the manifest, and notes follow below in the first column. Nothing else may stand in a sheet.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isclose, isfinite
from pathlib import Path
from typing import Any

from incrowd_gate.errors import MissingExtraError, TableError
from incrowd_verify.count_tables.rules import Rules, label_of

WORKBOOK = "tables.xlsx"
_MARK = "x"
_LONGEST = 31
"""Characters of the name of a sheet."""
_EXACT = 1e-9
"""Share of a number by which its digits in a workbook, 16 of them, may miss it."""

Codes = tuple[str, ...]


@dataclass(frozen=True)
class Workbook:
    """The workbook of a folder.

    - `path`: where it is.
    - `sheets`: by table the lines of its sheet, each with the text of every cell, None where it is empty.
    """

    path: Path
    sheets: Mapping[str, Sequence[Sequence[str | None]]]

    @classmethod
    def read(cls, folder: Path, entries: Sequence[Mapping[str, Any]]) -> Workbook | None:
        """Read the workbook of some tables of a manifest; None where the folder has none.

        Raises `TableError`: it cannot be read, or has other sheets than tables.
        Raises `MissingExtraError`: the library is absent.
        """
        path = folder / WORKBOOK
        if not path.exists():
            return None
        try:
            import fastexcel
        except ImportError:
            raise MissingExtraError("fastexcel", "excel", "an Excel workbook") from None
        # It says of a column without values that it does not know its type.
        logging.getLogger("fastexcel").setLevel(logging.ERROR)
        try:
            names = [str(entry["name"]) for entry in entries]
            book = fastexcel.read_excel(path)
            if book.sheet_names != _sheets(names):
                raise TableError(f"{path}: has other sheets than {folder.name} has tables")
            sheets = [
                book.load_sheet(sheet, header_row=None, skip_rows=0, dtypes="string").to_polars().rows()
                for sheet in book.sheet_names
            ]
        except (KeyError, TypeError):
            raise TableError(f"{folder}: a table of the manifest has no name") from None
        except (fastexcel.FastExcelError, OSError):
            raise TableError(f"{path}: the file cannot be read as an Excel workbook") from None
        return cls(path, dict(zip(names, sheets, strict=True)))

    def cells(self, entry: Mapping[str, Any]) -> dict[Codes, float | None]:
        """Return the value of each cell of a table by the cell's codes, None where not shown.

        Raises `TableError`: a heading is none of the manifest's, or a cell is no number.
        """
        lines, expected, places = self.sheets[entry["name"]], _headings(entry), _places(entry)
        below = 1 + max(line for line, _ in places.values())
        inside = {*places.values()}
        for line, texts in enumerate(lines):
            for place, text in enumerate(texts):
                free = (line, place) in inside or (line >= below and place == 0)
                if not free and (text or "") != expected.pop((line, place), ""):
                    raise self._other(entry, line, place)
        for line, place in (place for place, text in expected.items() if text):
            raise self._other(entry, line, place)
        values: dict[Codes, float | None] = {}
        mark = label_of(entry) or _MARK
        for codes, (line, place) in places.items():
            try:
                text = lines[line][place]
                values[codes] = None if text == mark else float(str(text))
            except (IndexError, ValueError):
                values[codes] = float("nan")
            if not isfinite(values[codes] or 0.0):
                raise self.unlike(entry, codes, f"is neither a number nor {mark}")
        return values

    def compare(self, entry: Mapping[str, Any], shown: Mapping[Codes, float | None]) -> None:
        """Compare a table with another file of the table, and raise `TableError` where a cell differs."""
        for codes, value in self.cells(entry).items():
            other = shown[codes]
            if (value is None) != (other is None) or not isclose(value or 0, other or 0, rel_tol=_EXACT):
                raise self.unlike(entry, codes, "is not that of the other file of the table")

    def unlike(self, entry: Mapping[str, Any], codes: Codes, what: str) -> TableError:
        """Return the error about a cell, with the codes and the place of the cell in the sheet."""
        names = [each["column"] for each in entry["dimensions"]]
        labels = " and ".join(f"{name} = {code}" for name, code in zip(names, codes, strict=True))
        at = _at(*_places(entry)[codes])
        return TableError(f"{self.path}: table {entry['name']}: {labels} ({at}) {what}")

    def _other(self, entry: Mapping[str, Any], line: int, place: int) -> TableError:
        return TableError(
            f"{self.path}: table {entry['name']}: its sheet has other codes or further cells than "
            f"the manifest says ({_at(line, place)})"
        )


def _sheets(names: Sequence[str]) -> list[str]:
    """Return the name of each table's sheet, without forbidden signs, and with a number if taken before."""
    sheets: list[str] = []
    for number, name in enumerate(names, 1):
        short = re.sub(r"[\[\]:*?/\\']", " ", name)[:_LONGEST]
        is_taken = short.casefold() in {sheet.casefold() for sheet in sheets}
        sheets.append(f"{short[: _LONGEST - 4]} {number}" if is_taken else short)
    return sheets


def _sides(entry: Mapping[str, Any]) -> tuple[list[Codes], list[Codes], int, int]:
    """Return the codes of rows and of columns, and how many headings stand left of and above a value."""
    side = len(Rules.of_entry(entry)["rows"]) or 1
    codes = [each["codes"] for each in entry["dimensions"]]
    return [*product(*codes[:side])], [*product(*codes[side:])], side, len(codes) - side + 1


def _headings(entry: Mapping[str, Any]) -> dict[tuple[int, int], str]:
    """Return the texts of the headings by line and place."""
    rows, columns, side, top = _sides(entry)
    names = [each["column"] for each in entry["dimensions"][:side]]
    return (
        {(top - 1, place): name for place, name in enumerate(names)}
        | {(line, side + n): code for n, codes in enumerate(columns) for line, code in enumerate(codes)}
        | {(top + n, place): code for n, codes in enumerate(rows) for place, code in enumerate(codes)}
    )


def _places(entry: Mapping[str, Any]) -> dict[Codes, tuple[int, int]]:
    """Return the line and the place of each cell by the cell's codes."""
    rows, columns, side, top = _sides(entry)
    return {
        (*row, *column): (top + line, side + place)
        for line, row in enumerate(rows)
        for place, column in enumerate(columns)
    }


def _at(line: int, place: int) -> str:
    """Return the coordinates of a cell as in a spreadsheet, such as C4."""
    letters, place = "", place + 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{line + 1}"
