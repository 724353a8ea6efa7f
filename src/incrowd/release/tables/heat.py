"""A published table as a heat table, which tells no more than the file of the table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from incrowd.core.lazy import np
from incrowd.release.report.heat import STEPS, Code, HeatCell, HeatTable
from incrowd.release.tables.protect import MARK
from incrowd.release.tables.workbook import notes_of
from incrowd_gate.wording import percent

if TYPE_CHECKING:
    from incrowd.release.tables.cells import Axis
    from incrowd.release.tables.protect import PublishedTable

_ROWS, _COLUMNS = 30, 12
"""Rows and columns of a table that is shown short."""


def heat_of(table: PublishedTable, *, internal: bool = False, short: bool = False) -> HeatTable:
    """Return a table with cells shaded by published value, totals aside.

    Parameters
    ----------
    internal
        Also say of each suppressed cell whether it is primary or secondary, and what a secondary one costs.
        By default nothing is told that the file of the table does not have: a primary cell is below the
        threshold and a secondary one is not, so that its kind narrows what can be known of a cell.
    short
        Leave the end of a large table out.
    """
    rows, columns, values = table.grid()
    side, heads = len(rows[0]), [_codes(axis) for axis in table.axes]
    down = [tuple(heads[place][code] for place, code in enumerate(codes)) for codes in rows]
    across = [tuple(heads[side + place][code] for place, code in enumerate(codes)) for codes in columns]
    parts = np.logical_and.outer(
        *([not any(code.total for code in codes) for codes in each] for each in (down, across))
    )
    largest = float(np.where(parts & ~np.isnan(values), values, 0.0).max())
    costs = _costs(table) if internal else [""] * len(table.values)
    notes = notes_of(table)[1:]
    if internal and table.hidden.any():
        notes.append(
            "Primary cells are unsafe themselves. Secondary ones would tell them, and say what they cost."
        )
    last_row, last_column = (_ROWS, _COLUMNS) if short else (len(rows), len(columns))
    left = {"rows": len(rows) - last_row, "columns": len(columns) - last_column}
    if more := [f"{number:,} more {which}" for which, number in left.items() if number > 0]:
        notes.append(f"And {', '.join(more)}.")

    def cell(row: int, column: int) -> HeatCell:
        value = float(values[row, column])
        if math.isnan(value):
            note = costs[row * len(columns) + column]
            return HeatCell(MARK, mark="x primary" if note == "primary" else "x", note=note)
        shaded = parts[row, column] and value > 0
        return HeatCell(f"{value:,.10g}", math.ceil(STEPS * math.sqrt(value / largest)) if shaded else 0)

    names = [axis.column for axis in table.axes]
    by = " and ".join(filter(None, (", ".join(names[:side]), ", ".join(names[side:]))))
    return HeatTable(
        table.layout.name,
        f"{table.quantity} by {by}",
        names[:side],
        down[:last_row],
        across[:last_column],
        table.quantity,
        [
            [cell(row, column) for column in range(min(last_column, len(columns)))]
            for row in range(min(last_row, len(rows)))
        ],
        notes,
    )


def _codes(axis: Axis) -> dict[str, Code]:
    """Return the codes of a dimension as heads, by name."""
    sums = {node for node, _ in axis.families}
    depths = axis.tree.depths.tolist()
    return {code: Code(code, depths[node], node in sums) for node, code in enumerate(axis.codes)}


def _costs(table: PublishedTable) -> list[str]:
    """Return the kind of each cell, and the cost of a secondary cell as a share of all people or values."""
    cost = table.layout.cost
    if cost == "cells":
        shares = ["1 cell"] * len(table.values)
    else:
        # One is added to each cost, so that no cell is free.
        own = table.cost - 1
        of = "people" if cost == "people" else table.quantity
        shares = [f"{percent(share)} of {of}" for share in (own / max(own[0], 1)).tolist()]
    return [
        "primary" if primary else f"secondary\n{share}"
        for primary, share in zip(table.primary.tolist(), shares, strict=True)
    ]
