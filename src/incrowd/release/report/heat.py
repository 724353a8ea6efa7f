"""A count table as HTML with cells shaded by value: in reports, notebooks and the studio."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from incrowd.core.errors import visible

STEPS = 8
"""Shades of cells that have a value, from the lightest to the darkest."""


class Code(NamedTuple):
    """A code in the head of a row or column: the text, the depth below the total, and whether a sum."""

    text: str
    depth: int
    total: bool


class HeatCell(NamedTuple):
    """A cell: the text, the shade from 0 (none) to `STEPS`, the mark if suppressed, and a note.

    The mark is ``x``, or ``x primary`` where the reader may know which cells are unsafe themselves.
    """

    text: str
    shade: int = 0
    mark: str = ""
    note: str = ""


@dataclass(frozen=True)
class HeatTable:
    """A table of shaded cells.

    Attributes
    ----------
    title, caption
        The table's name, and its quantity by its columns.
    names
        The columns of the data whose codes are the heads of the rows.
    rows, columns
        The codes of each row and of each column; a table without columns has one column without a code.
    quantity
        The head of a column without a code.
    cells
        The cells, row by row.
    notes
        Sentences below.
    """

    title: str
    caption: str
    names: Sequence[str]
    rows: Sequence[tuple[Code, ...]]
    columns: Sequence[tuple[Code, ...]]
    quantity: str
    cells: Sequence[Sequence[HeatCell]]
    notes: Sequence[str]


STYLE = (
    ".heat { border-collapse: collapse; width: auto; border: 0; font-variant-numeric: tabular-nums; }"
    ".heat caption { text-align: left; padding: 0 0 .4rem; }"
    ".heat th, .heat td { border: 1px solid rgba(128,128,128,.4); padding: .3rem .6rem; text-align: right;"
    " vertical-align: top; min-width: 3.2rem; font-weight: 400; white-space: nowrap; }"
    ".heat th:last-child, .heat td:last-child { padding-right: .6rem; } .heat thead { border: 0; }"
    ".heat th { text-align: left; white-space: normal; } .heat thead th { text-align: right; }"
    ".heat thead th.names, .heat th[scope=colgroup] { text-align: left; }"
    ".heat tbody th { min-width: 7rem; max-width: 18rem; overflow-wrap: anywhere; }"
    ".heat .total { font-weight: 700; } .heat td.total { background: rgba(128,128,128,.1); }"
    ".heat tr.total > * { border-bottom-width: 2px; }"
    ".heat td { print-color-adjust: exact; -webkit-print-color-adjust: exact; }"
    + "".join(
        f".heat td.s{step} {{ background: rgba(60,130,210,{0.44 * step / STEPS:.3f}); }}"
        for step in range(1, STEPS + 1)
    )
    + ".heat td.x { background-image: repeating-linear-gradient(45deg,"
    " transparent 0 5px, rgba(128,128,128,.45) 5px 6px); }"
    ".heat td.x.primary { background-image: repeating-linear-gradient(45deg, transparent 0 5px,"
    " rgba(128,128,128,.45) 5px 6px), repeating-linear-gradient(-45deg, transparent 0 5px,"
    " rgba(128,128,128,.45) 5px 6px); }"
    ".heat td abbr { font-weight: 700; text-decoration: none; }"
    ".heat td small { display: block; white-space: pre; font-size: .8em; font-weight: 400; }"
)
"""The look of the tables that `to_html` writes. It fits a light and a dark page."""


def to_html(table: HeatTable) -> str:
    """Return a heat table as HTML with escaped texts, for the look of `STYLE`.

    Examples
    --------
    >>> head = (Code("a <b", 1, False),)
    >>> table = HeatTable("t", "people by x", ["x"], [head], [()], "people", [[HeatCell("7", 3)]], ["Note."])
    >>> '<th scope="row" style="padding-left:1.4rem">a &lt;b</th><td class="s3">7</td>' in to_html(table)
    True
    """
    text = html.escape
    head = "".join(f'<th scope="col" class="names">{text(name)}</th>' for name in table.names)
    depth = len(table.columns[0])
    lines = []
    for place in range(max(depth, 1)):
        cells = []
        # The same codes above each other are one head.
        for codes, group in groupby(column[: place + 1] for column in table.columns):
            width = len(list(group))
            total = ' class="total"' if any(code.total for code in codes) else ""
            span = f' colspan="{width}"' if width > 1 else ""
            name = codes[place].text if codes else table.quantity
            cells.append(f'<th scope="col{"group" if span else ""}"{span}{total}>{text(name)}</th>')
        corner = head if place >= depth - 1 else f'<td colspan="{len(table.names)}"></td>'
        lines.append(f"<tr>{corner}{''.join(cells)}</tr>")
    body = []
    for codes, values in zip(table.rows, table.cells, strict=True):
        is_sum = any(code.total for code in codes)
        kind = ' class="total"' if is_sum else ""
        line = ""
        for code in codes:
            indent = f"padding-left:{0.6 + 0.8 * code.depth:.1f}rem"
            line += f'<th scope="row"{kind} style="{indent}">{text(code.text)}</th>'
        for column, cell in zip(table.columns, values, strict=True):
            line += _cell(cell, total=is_sum or any(code.total for code in column))
        body.append(f"<tr{kind}>{line}</tr>")
    title = text(table.title, quote=True)
    notes = "".join(f"<li>{text(line)}</li>" for line in table.notes)
    return visible(
        # What is wider than the screen scrolls, by keys, too.
        f'<div class="scroll" style="overflow-x:auto" tabindex="0" role="region" aria-label="{title}">'
        f'<table class="heat"><caption>{text(table.caption)}</caption><thead>{"".join(lines)}</thead>'
        f"<tbody>{''.join(body)}</tbody></table></div><ul>{notes}</ul>"
    )


def _cell(cell: HeatCell, *, total: bool) -> str:
    kinds = [*(["total"] if total else []), *([f"s{cell.shade}"] if cell.shade else []), cell.mark]
    names = " ".join(filter(None, kinds))
    kind = f' class="{names}"' if names else ""
    shown = html.escape(cell.text)
    shown = f'<abbr title="not shown">{shown}</abbr>' if cell.mark else shown
    note = f"<small>{html.escape(cell.note)}</small>" if cell.note else ""
    return f"<td{kind}>{shown}{note}</td>"
