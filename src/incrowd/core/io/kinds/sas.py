"""SAS transport files (XPORT), of versions 5 and 8."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from incrowd.core.errors import TableError
from incrowd.core.io.addresses import read_bytes
from incrowd.core.io.kinds.base import Kept, Place
from incrowd.core.io.kinds.labels import Limits, Written
from incrowd.core.io.kinds.stat_files import StatFile, arguments
from incrowd.core.lazy import np, pl

_CARD = 80
_HEADER = b"HEADER RECORD*******"
_FIELD = 140


class Sas(StatFile):
    """SAS transport files, which have no labels of values, so a suppressed number makes a text column."""

    name = "sas"
    title = "a SAS transport file"
    suffixes: ClassVar[tuple[str, ...]] = (".xpt", ".xport")
    marks: ClassVar[tuple[bytes, ...]] = (b"HEADER RECORD*******LIB",)
    limits = Limits(labels=0)

    def read(self, path: Path, place: Place) -> tuple[pl.DataFrame, Kept]:
        """Read a file and record the file's version."""
        data = read_bytes(path)
        if data.count(_HEADER + b"MEMB") > 1:
            raise TableError(f"{path}: the file has several tables; save each to a file of its own")
        table, kept = super().read(path, place)
        return table, replace(kept, version=5 if data.startswith(_HEADER + b"LIBRARY ") else 8)

    def parsed(self, path: Path) -> tuple[Mapping[str, list[Any]], Any]:
        """Read a file, with the missing codes ``.A`` to ``.Z`` and ``._`` that pyreadstat passes over."""
        import pyreadstat

        cells, metadata = pyreadstat.read_xport(path, output_format="dict")
        for name, codes in _letters(path.read_bytes(), list(cells), metadata.number_rows or 0).items():
            for row, letter in codes.items():
                cells[name][row] = letter
        return cells, metadata

    def put(self, table: pl.DataFrame, place: Path, columns: Mapping[str, Written], kept: Kept) -> None:
        """Write a file, and put letters where numbers are missing."""
        import pyreadstat

        coded = {name: table[name].to_list() for name, each in columns.items() if each.letters}
        numbers = {
            name: [None if isinstance(value, str) else value for value in values]
            for name, values in coded.items()
        }
        plain = table.with_columns(pl.Series(name, values, pl.Float64) for name, values in numbers.items())
        pyreadstat.write_xport(
            plain, place, file_format_version=5 if kept.version == 5 else 8, **arguments(columns, kept)
        )
        if coded:
            place.write_bytes(_with_letters(place.read_bytes(), table.columns, coded))


def _layout(data: bytes, count: int) -> tuple[int, int, list[tuple[int, int] | None]]:
    """Return the start and length of rows, and the position and length of each field (text: None)."""
    names = data.index(_HEADER + b"NAM")
    rows = data.index(_HEADER + b"OBS", names)
    fields: list[tuple[int, int] | None] = []
    width = 0
    for number in range(count):
        field = data[names + _CARD + number * _FIELD :][:_FIELD]
        length = int.from_bytes(field[4:6], "big")
        is_number = int.from_bytes(field[:2], "big") == 1
        # Fields follow each other: where a file says that they stand is another order in some files of SAS.
        fields.append((width, length) if is_number else None)
        width += length
    return rows + _CARD, width, fields


def _letters(data: bytes, names: list[str], rows: int) -> dict[str, dict[int, str]]:
    """Return the letters of missing codes by column and row."""
    start, width, fields = _layout(data, len(names))
    every = np.frombuffer(data, np.uint8, rows * width, start).reshape(rows, width)
    letters = {}
    for name, field in zip(names, fields, strict=True):
        if field is None:
            continue
        position, length = field
        first, rest = every[:, position], every[:, position + 1 : position + length]
        letter = ((first >= ord("A")) & (first <= ord("Z"))) | (first == ord("_"))
        lettered = np.flatnonzero(letter & ~rest.any(axis=1)).tolist()
        if lettered:
            letters[name] = {row: chr(first[row]) for row in lettered}
    return letters


def _with_letters(data: bytes, names: list[str], coded: Mapping[str, list[Any]]) -> bytes:
    """Replace missing numbers in a written file by the letters of missing codes."""
    start, width, fields = _layout(data, len(names))
    content = bytearray(data)
    for name, field in zip(names, fields, strict=True):
        if field is None or name not in coded:
            continue
        for row, value in enumerate(coded[name]):
            if isinstance(value, str):
                content[start + row * width + field[0]] = ord(value)
    return bytes(content)
