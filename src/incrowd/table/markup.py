"""Small tables in HTML, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from incrowd.table.documents import figure

__all__ = ["table"]


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with its texts escaped; whole numbers get separators."""

    def cell(value: object) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f'<td style="text-align:right">{figure(value, 6)}</td>'
        text = "" if value is None else str(value)
        return f'<td style="text-align:left">{html.escape(text)}</td>'

    head = "".join(f'<th style="text-align:left">{html.escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return (
        f'<table><caption style="text-align:left">{html.escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
