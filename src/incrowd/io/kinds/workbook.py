"""Contents of a workbook beside the cells that are read: found in its parts, before its cells are read."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from incrowd.errors import TableError, named, setting

_OLD = b"\xd0\xcf\x11\xe0"
_UNPACKED = 4 << 30
_PIECE = 1 << 20
_BOOK = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"


@dataclass
class Sheet:
    """The contents of one sheet.

    Attributes
    ----------
    name
    part
        Where it stands in the archive.
    first, formula, merged, wrong
        Places as ``B3``: the first cell, formula, merged cells, cell with an error value.
    """

    name: str
    part: str
    first: str | None = None
    formula: str | None = None
    merged: str | None = None
    wrong: str | None = None


def chosen_sheet(path: Path, asked: str | None) -> str:
    """Return the sheet that is read, of a workbook in which nothing is but values.

    Raises
    ------
    TableError
        When it is no workbook, has macros, formulas, merged cells, error values, several sheets of which
        none is asked for or no such sheet, or the table does not begin in A1.
    OSError
    """
    with path.open("rb") as file:
        if file.read(4) == _OLD:
            raise TableError(f"{path}: an old workbook, or one with a password; save it as .xlsx without one")
    try:
        with zipfile.ZipFile(path) as archive:
            sheet = _chosen(path, archive, asked)
    except TableError:
        raise
    except (zipfile.BadZipFile, expat.ExpatError, KeyError, ValueError, NotImplementedError, RuntimeError):
        raise TableError(f"{path}: not a readable workbook (.xlsx)") from None
    place = f"{path}, sheet {sheet.name!r}"
    if sheet.merged:
        raise TableError(
            f"{place}: the cells {sheet.merged} are merged; split them, a table has one value a cell"
        )
    if sheet.formula:
        raise TableError(
            f"{place}: cell {sheet.formula} is a formula; copy the sheet and paste its values, since the "
            "last result of a formula may be an old one"
        )
    if sheet.wrong:
        raise TableError(
            f"{place}: cell {sheet.wrong} is an error such as #N/A; write a value or leave it empty"
        )
    if sheet.first != "A1":
        raise TableError(
            f"{place}: the table begins in {sheet.first} and not in A1; delete the rows and columns before it"
        )
    return sheet.name


def _chosen(path: Path, archive: zipfile.ZipFile, asked: str | None) -> Sheet:
    parts = set(archive.namelist())
    if sum(each.file_size for each in archive.infolist()) > _UNPACKED:
        raise TableError(f"{path}: more than 4 GiB when unpacked; save the table as .parquet")
    macros = [part for part in parts if part.lower().endswith(("vbaproject.bin", "macrosheets/sheet1.xml"))]
    if macros or b"macroEnabled" in archive.read("[Content_Types].xml"):
        raise TableError(
            f"{path}: the workbook has macros, which are not run here; save it as .xlsx without them"
        )
    sheets = _sheets(archive)
    if asked is not None:
        if asked not in sheets:
            raise TableError(f"{path}: there is no sheet {asked!r}; it has {named(sheets)}")
        sheets = {asked: sheets[asked]}
    found = [_scanned(archive, name, part) for name, part in sheets.items()]
    filled = [sheet for sheet in found if sheet.first is not None]
    if not filled:
        raise TableError(f"{path}: the sheet is empty" if asked else f"{path}: its sheets are empty")
    if len(filled) > 1:
        names = named(sheet.name for sheet in filled)
        raise TableError(
            f"{path}: has several sheets, {names}; choose one with "
            + setting("CsvFormat(sheet=...)", "--sheet")
        )
    return filled[0]


def _parse(archive: zipfile.ZipFile, part: str, begin: Callable[[str, dict[str, str]], None]) -> None:
    """Call a function with every element of a part, by its name without a prefix."""
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        begin(name.rpartition(":")[2], attributes)

    parser.StartElementHandler = start
    # Parts of a workbook declare no entities; one that does is made to swell.
    parser.EntityDeclHandler = _refuse_entities
    with archive.open(part) as file:
        while piece := file.read(_PIECE):
            parser.Parse(piece, False)
        parser.Parse(b"", True)


def _refuse_entities(*_: object) -> None:
    raise ValueError


def _sheets(archive: zipfile.ZipFile) -> Mapping[str, str]:
    """Return the sheets of cells and their parts, in order."""
    targets: dict[str, str] = {}
    listed: list[tuple[str, str]] = []

    def relation(name: str, attributes: dict[str, str]) -> None:
        if name == "Relationship" and attributes["Type"].endswith("/worksheet"):
            targets[attributes["Id"]] = posixpath.normpath(posixpath.join("/xl", attributes["Target"]))[1:]

    def sheet(name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            number = next(value for key, value in attributes.items() if key.rpartition(":")[2] == "id")
            listed.append((attributes["name"], number))

    _parse(archive, _RELATIONS, relation)
    _parse(archive, _BOOK, sheet)
    return {name: targets[number] for name, number in listed if number in targets}


def _scanned(archive: zipfile.ZipFile, name: str, part: str) -> Sheet:
    """Go over the cells of a sheet."""
    sheet = Sheet(name, part)
    cell = {"r": "A1"}

    def begin(element: str, attributes: dict[str, str]) -> None:
        nonlocal cell
        if element == "c":
            cell = attributes
            if cell.get("t") == "e":
                sheet.wrong = sheet.wrong or cell["r"]
        elif element in ("v", "is"):
            sheet.first = sheet.first or cell["r"]
        elif element == "f":
            sheet.formula = sheet.formula or cell["r"]
            sheet.first = sheet.first or cell["r"]
        elif element == "mergeCell":
            sheet.merged = sheet.merged or attributes.get("ref", "")

    _parse(archive, part, begin)
    return sheet
