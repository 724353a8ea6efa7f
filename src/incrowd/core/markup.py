"""Small tables in HTML for notebooks, with every text escaped, and without values of a table."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from incrowd.core.documents import figure
from incrowd.core.errors import visible

ROWS = 30
"""Rows of a list that are shown."""


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[object]], most: int | None = None
) -> str:
    """Return a table with escaped texts and a limited number of rows; whole numbers get separators."""
    rows = list(rows)
    more = f"; {len(rows) - most:,} more" if most is not None and len(rows) > most else ""

    def is_figure(value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)

    def cell(value: Any) -> str:
        if is_figure(value):
            return f'<td style="text-align:right">{figure(value)}</td>'
        text = "" if value is None else str(value)
        return f'<td style="text-align:left">{html.escape(text)}</td>'

    right = {place for row in rows for place, value in enumerate(row) if is_figure(value)}
    head = "".join(
        f'<th style="text-align:{"right" if place in right else "left"}">{html.escape(name)}</th>'
        for place, name in enumerate(header)
    )
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows[:most])
    return visible(
        f'<table><caption style="text-align:left">{html.escape(caption + more)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def cards(figures: Iterable[Sequence[str]]) -> str:
    """Return figures beside each other as on the first page of a report: label, figure and note.

    Examples
    --------
    >>> "<b>21%</b>" in cards([("Loss", "21%", "of a cell")])
    True
    """
    box = "display:inline-block;vertical-align:top;margin:0 2em .5em 0;border-top:2px solid;padding-top:.2em"
    parts = (
        f'<div style="{box}"><div>{html.escape(label)}</div><div style="font-size:1.5em">'
        f"<b>{html.escape(text)}</b></div><div>{html.escape(note)}</div></div>"
        for label, text, note in figures
    )
    return visible(f"<div>{''.join(parts)}</div>")


class InNotebooks:
    """A result that a notebook shows as tables, made of some parts of `to_dict`.

    What is shown is named, so that nothing gets onto a page unasked: documents may hold values of a table.
    """

    _shown: ClassVar[tuple[str, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        found = self.to_dict()
        return document(repr(self), {name: found[name] for name in self._shown if name in found})


def document(caption: str, parts: Mapping[str, object]) -> str:
    """Return plain data as tables: figures in the first, and a further table for each list of mappings.

    Examples
    --------
    >>> html = document("A <b>", {"records": 5, "runs": [{"k": 2, "loss": 0.5}]})
    >>> "A &lt;b&gt;" in html, html.count("<table>")
    (True, 2)
    """
    figures: list[tuple[str, object]] = []
    tables = []
    for name, part in parts.items():
        if isinstance(part, list) and part and all(isinstance(each, Mapping) for each in part):
            tables.append(_records(_words(name), part))
        else:
            figures += _flat(_words(name), part)
    return table(caption, ("figure", "value"), figures) + "".join(tables)


def _records(caption: str, records: Sequence[Mapping[str, object]]) -> str:
    rows = [dict(pair for name, value in each.items() for pair in _flat(_words(name), value))
            for each in records]  # fmt: skip
    names = list(dict.fromkeys(name for row in rows for name in row))
    return table(caption, names, ([row.get(name) for name in names] for row in rows), ROWS)


def _flat(name: str, part: object) -> list[tuple[str, object]]:
    """Return the figures of a part, with a name for each figure of a mapping."""
    if isinstance(part, Mapping):
        return [pair for key, value in part.items() for pair in _flat(f"{name}: {key}", value)]
    if isinstance(part, list | tuple):
        return [
            (name, ", ".join(figure(each) if isinstance(each, int | float) else str(each) for each in part))
        ]
    return [(name, {True: "yes", False: "no"}.get(part, part) if isinstance(part, bool) else part)]


def _words(name: str) -> str:
    return name.replace("_", " ")
