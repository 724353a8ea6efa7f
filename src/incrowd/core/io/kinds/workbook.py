"""Contents of a workbook beside the cells: found in the parts of the file, before any cell is read."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from xml.parsers import expat

from incrowd.core.errors import TableError, named, setting
from incrowd.core.io.beginnings import header_row_setting
from incrowd.core.lazy import pl

_OLD = b"\xd0\xcf\x11\xe0"
_UNPACKED = 4 << 30
_PIECE = 1 << 20
_TITLES = 1000
"""The last row that may be above the row of names."""
_BOOK = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"


@dataclass
class Sheet:
    """The contents of a sheet.

    Attributes
    ----------
    name
    part
        Where it stands in the archive.
    first
        The place of the first cell, as ``B3``.
    blocks
        The merged cells of the sheet, as ``B3:B7``, in the order of the file.
    formulas, wrong
        The first formula and error value of each row, by its number; those of all rows that are no titles any
        more under one number.
    """

    name: str
    part: str
    first: str | None = None
    blocks: list[str] = field(default_factory=list)
    formulas: dict[int, str] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)

    @property
    def top(self) -> int:
        """The row of the first cell, from 1."""
        return _row(self.first or "A1")


def chosen_sheet(path: Path, asked: str | None) -> Sheet:
    """Return the sheet that is read.

    Raises
    ------
    TableError
        When it is no workbook, has macros, or several sheets of which none is asked for or no such sheet.
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
    return sheet


def require_values(place: str, sheet: Sheet, header_row: int, *, filled: bool = False) -> None:
    """Raise for a sheet with anything but values below the row of names.

    Parameters
    ----------
    filled
        Whether cells that are merged down a column are filled.

    Raises
    ------
    TableError
        When it has formulas, merged cells or error values, or the table does not begin in column A.
    """
    first_row = min(header_row, _TITLES + 1)
    blocks = [each for each in sheet.blocks if _row(each) >= first_row]
    if refused := [each for each in blocks if not (filled and _is_one_column(each, header_row))]:
        merged = min(refused, key=lambda each: min(_row(each), _TITLES + 1))
        ways = ""
        if _is_one_column(merged, header_row):
            fill = setting("CsvFormat(fill_merged=True)", "--fill-merged")
            ways = f"; if the value is that of each of these rows, say so ({fill})"
        if header_row == sheet.top:
            ways += f"; if they are a title, say which row names the columns ({header_row_setting()})"
        raise TableError(
            f"{place}: the cells {merged} are merged; split them, a table has one value a cell{ways}"
        )
    if formula := _from(sheet.formulas, header_row):
        raise TableError(
            f"{place}: cell {formula} is a formula; copy the sheet and paste its values, since the "
            "last result of a formula may be an old one"
        )
    if wrong := _from(sheet.wrong, header_row):
        raise TableError(f"{place}: cell {wrong} is an error such as #N/A; write a value or leave it empty")
    if header_row == sheet.top and sheet.first != f"A{header_row}":
        raise TableError(
            f"{place}: the table begins in {sheet.first} and not in column A; delete the columns before it"
        )


def fill_merged(table: pl.DataFrame, blocks: Iterable[str], header_row: int) -> pl.DataFrame:
    """Fill merged cells of a column with the value of the first cell.

    The rows of the table are those of the sheet below the row of names.
    """
    columns = {name: table[name].to_list() for name in table.columns}
    for block in blocks:
        first, _, last = block.partition(":")
        top, bottom = _row(first) - header_row - 1, min(_row(last) - header_row, table.height)
        place = _column(first)
        if 0 <= top < bottom and place < table.width:
            values = columns[table.columns[place]]
            values[top:bottom] = [values[top]] * (bottom - top)
    return pl.DataFrame(columns, table.schema)


def _is_one_column(block: str, header_row: int) -> bool:
    """Say whether merged cells are in a single column, below the row of names."""
    first, _, last = block.partition(":")
    return _row(first) > header_row and _column(first) == _column(last)


def _from(positions: Mapping[int, str], row: int) -> str | None:
    """Return the first of some positions in or below a row."""
    return next((positions[each] for each in sorted(positions) if each >= min(row, _TITLES + 1)), None)


def _note(positions: dict[int, str], place: str) -> None:
    """Record a position by the last row."""
    positions.setdefault(min(_row(place), _TITLES + 1), place)


def _column(place: str) -> int:
    """Return the column of a place such as ``B3``, from 0."""
    letters = place.lstrip("$").rstrip("$0123456789")
    return reduce(lambda number, letter: 26 * number + ord(letter) - ord("A") + 1, letters, 0) - 1


def _row(place: str) -> int:
    """Return the last row of a place such as ``B3`` or ``A1:L2``."""
    return int(place.rpartition(":")[2].lstrip("$ABCDEFGHIJKLMNOPQRSTUVWXYZ") or 1)


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
    contents = [_scanned(archive, name, part) for name, part in sheets.items()]
    filled = [sheet for sheet in contents if sheet.first is not None]
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
    """Call a function with every element of a part, and the element's name without a prefix."""
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
    """Return the sheets of cells with the parts of the file, in order."""
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
                _note(sheet.wrong, cell["r"])
        elif element in ("v", "is"):
            sheet.first = sheet.first or cell["r"]
        elif element == "f":
            _note(sheet.formulas, cell["r"])
            sheet.first = sheet.first or cell["r"]
        elif element == "mergeCell":
            sheet.blocks.append(attributes.get("ref", ""))

    _parse(archive, part, begin)
    return sheet
