"""Tables as a workbook for readers: a sheet each, rows by columns, with notes below."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.core.errors import require_extra
from incrowd.core.lazy import np
from incrowd.release.tables.protect import MARK, way_of

if TYPE_CHECKING:
    from incrowd.release.tables.protect import PublishedTable

_LONGEST = 31
"""Characters of the name of a sheet."""


def write_workbook(tables: Sequence[PublishedTable], path: Path, label: str = MARK) -> None:
    """Write each table to a sheet of a workbook.

    - `label`: what stands in place of a suppressed value.

    Raises
    ------
    MissingExtraError
        When the library is absent.
    """
    require_extra(("xlsxwriter",), "excel", "a workbook")
    import xlsxwriter

    from incrowd.core.io.kinds.excel import CREATED

    book = xlsxwriter.Workbook(path, {"strings_to_formulas": False, "strings_to_urls": False})
    book.set_properties({"created": CREATED})
    bold = book.add_format({"bold": True})
    numbers = book.add_format({"num_format": "#,##0"})
    hidden = book.add_format({"align": "right", "font_color": "#666666"})
    used: set[str] = set()
    for number, table in enumerate(tables, 1):
        name = re.sub(r"[\[\]:*?/\\']", " ", table.layout.name)[:_LONGEST]
        name = name if name.casefold() not in used else f"{name[: _LONGEST - 4]} {number}"
        used.add(name.casefold())
        sheet = book.add_worksheet(name)
        rows, columns, cells = table.grid()
        side, top = len(rows[0]), len(columns[0]) + 1
        for place, axis in enumerate(table.axes[:side]):
            sheet.write_string(top - 1, place, axis.column, bold)
        for place, codes in enumerate(columns):
            for line, code in enumerate(codes):
                sheet.write_string(line, side + place, code, bold)
        for line, codes in enumerate(rows):
            for place, code in enumerate(codes):
                sheet.write_string(top + line, place, code)
            for place, value in enumerate(cells[line].tolist()):
                if np.isnan(value):
                    sheet.write_string(top + line, side + place, label, hidden)
                else:
                    sheet.write_number(top + line, side + place, value, numbers)
        for line, note in enumerate(notes_of(table, label), top + len(cells) + 1):
            sheet.write_string(line, 0, note)
        sheet.freeze_panes(top, side)
    book.close()


def notes_of(table: PublishedTable, label: str = MARK) -> list[str]:
    """Return the notes below a table: the quantity, the rules, and the meaning of a mark."""
    layout = table.layout
    notes = [f"{table.quantity} by {', '.join(axis.column for axis in table.axes)}"]
    if layout.protect == "suppress":
        rules = [f"the cell has fewer than {layout.threshold} people"]
        rules += [f"its {rule.words}" for rule in layout.sum_rules]
        notes.append(
            f"{label}: not shown, because {', or '.join(rules)}, or would tell one of those that have"
        )
        if layout.zeros == "show":
            notes.append("Empty cells are shown as 0.")
    else:
        notes.append(f"All numbers: {way_of(table)}.")
    if table.overlapping:
        columns = ", ".join(table.overlapping)
        notes.append(
            f"A person may be in several rows or columns of {columns}, so that totals are less than sums."
        )
    return notes
