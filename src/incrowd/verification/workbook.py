"""The cells of an Excel workbook, read with nothing but Python's own archives and XML."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from incrowd.errors import TableError, setting

if TYPE_CHECKING:
    import polars as pl

_DAYS = {*range(14, 23), *range(45, 48)}
"""Formats of days and times that every workbook has."""


def workbook(path: Path, asked: str | None = None) -> pl.DataFrame:
    """Read the sheet that is asked for, or the only one with cells; its first row names the columns.

    Raises
    ------
    TableError
        The file is no workbook of one sheet with a name above every column.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part for name, part in _parts(archive) if asked in (None, name)]
            sheets = [rows for part in parts if (rows := _rows(archive, part))]
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, ValueError, IndexError, OverflowError):
        raise TableError(f"{path}: the file cannot be read as an Excel workbook") from None
    if len(sheets) != 1:
        which = "with cells" if asked is None else f"of the name {asked!r} with cells"
        raise TableError(
            f"{path}: there are {len(sheets)} sheets {which}, and not one; choose one with "
            + setting("sheet=...", "--sheet")
        )
    names = {
        place: name if isinstance(name, str) else _text(name)
        for place, name in sheets[0].pop(min(sheets[0])).items()
    }
    columns = sorted({place for row in sheets[0].values() for place in row} | set(names))
    if not sheets[0] or any(place not in names for place in columns):
        raise TableError(f"{path}: the sheet has no rows, or a column without a name in its first row")
    if len({names[place] for place in columns}) < len(columns):
        raise TableError(f"{path}: two columns have the same name; rename one")
    return _table([names[place] for place in columns], columns, list(sheets[0].values()))


def _table(names: Sequence[str], places: Sequence[int], rows: Sequence[dict[int, Any]]) -> pl.DataFrame:
    import polars as pl

    columns = []
    for name, place in zip(names, places, strict=True):
        cells = [row.get(place) for row in rows]
        kinds = {type(cell) for cell in cells if cell is not None}
        if len(kinds) > 1:
            cells = [None if cell is None else _text(cell) for cell in cells]
        elif kinds == {datetime}:
            midnight = all(
                cell is None or cell == datetime(cell.year, cell.month, cell.day) for cell in cells
            )
            without_day = all(cell is None or cell.year < 1900 for cell in cells)
            if midnight or without_day:
                cells = [
                    None if cell is None else cell.time() if without_day else cell.date() for cell in cells
                ]
        columns.append(pl.Series(name, cells, None if kinds else pl.String))
    return pl.DataFrame(columns)


def _text(cell: Any) -> str:
    """Write a value that stands in a column with values of another type."""
    if isinstance(cell, float):
        return f"{cell:.9f}".rstrip("0").rstrip(".")
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def _elements(archive: zipfile.ZipFile, part: str, wanted: str) -> Iterator[ElementTree.Element]:
    """Read a part element by element, whatever their prefix; each is forgotten when the next one comes."""
    with archive.open(part) as file:
        for _, element in ElementTree.iterparse(file):
            if _name(element) == wanted:
                yield element
                element.clear()


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _parts(archive: zipfile.ZipFile) -> list[tuple[str, str]]:
    """List the sheets of cells, each with its name and its part."""
    parts = {
        each.attrib["Id"]: posixpath.normpath(posixpath.join("/xl", each.attrib["Target"]))[1:]
        for each in _elements(archive, "xl/_rels/workbook.xml.rels", "Relationship")
        if each.attrib["Type"].endswith("/worksheet")
    }
    found = []
    for each in _elements(archive, "xl/workbook.xml", "sheet"):
        number = next(value for key, value in each.attrib.items() if key.endswith("}id"))
        found += [(each.attrib["name"], parts[number])] if number in parts else []
    return found


def _rows(archive: zipfile.ZipFile, part: str) -> dict[int, dict[int, Any]]:
    """Read the rows of a sheet that have cells, by number, and their cells by the number of the column."""
    texts = []
    if "xl/sharedStrings.xml" in archive.namelist():
        texts = [_characters(each) for each in _elements(archive, "xl/sharedStrings.xml", "si")]
    days = _day_formats(archive)
    rows: dict[int, dict[int, Any]] = {}
    for cell in _elements(archive, part, "c"):
        value = _value(cell, texts, days)
        if value is not None:
            found = re.fullmatch(r"([A-Z]+)([0-9]+)", cell.attrib["r"])
            assert found is not None
            place = 0
            for letter in found[1]:
                place = place * 26 + ord(letter) - 64
            rows.setdefault(int(found[2]), {})[place] = value
    return rows


def _characters(element: ElementTree.Element) -> str:
    """Join the runs of a text, without the notes on its pronunciation."""
    runs = []
    for child in element:
        if _name(child) == "t":
            runs.append(child.text or "")
        elif _name(child) == "r":
            runs += [each.text or "" for each in child if _name(each) == "t"]
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), "".join(runs))


def _value(cell: ElementTree.Element, texts: Sequence[str], days: Sequence[bool]) -> Any:
    kind = cell.attrib.get("t", "n")
    held = {_name(child): child for child in cell}
    if kind == "inlineStr":
        return _characters(held["is"]) if "is" in held else None
    text = held["v"].text if "v" in held else None
    if text is None:
        return None
    if kind == "s":
        return texts[int(text)]
    if kind == "b":
        return text == "1"
    if kind != "n":
        return text
    if days and days[int(cell.attrib.get("s", 0))]:
        milliseconds = round(float(text) * 86_400_000)
        # A day that never was stands before March 1900.
        start = datetime(1899, 12, 30) if milliseconds >= 60 * 86_400_000 else datetime(1899, 12, 31)
        return start + timedelta(milliseconds=milliseconds)
    return float(text)


def _day_formats(archive: zipfile.ZipFile) -> list[bool]:
    """Say of each style of cells whether it shows numbers as days or times."""
    if "xl/styles.xml" not in archive.namelist():
        return []
    own = {}
    for each in _elements(archive, "xl/styles.xml", "numFmt"):
        bare = re.sub(r'"[^"]*"|\\.|\[(?![hms]+\])[^\]]*\]', "", each.attrib["formatCode"].lower())
        own[int(each.attrib["numFmtId"])] = re.search("[dmyhs]", bare.partition(";")[0]) is not None
    for styles in _elements(archive, "xl/styles.xml", "cellXfs"):
        numbers = [int(each.attrib.get("numFmtId", 0)) for each in styles if _name(each) == "xf"]
        return [own.get(number, number in _DAYS) for number in numbers]
    return []
