"""The drawing of linked tables: a box for each, below the table that it joins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from incrowd.core.errors import visible
from incrowd.release.jobs.compare.draft_linked import tree_of_joins
from incrowd.release.linked.folders import joins_of

if TYPE_CHECKING:
    from incrowd.release.linked.policy import LinkedTable

_BOX, _WORDS, _LINE, _STEP = 180, 300, 58, 36
"""Widths of a table and of words, the height of a line, and an indent, in pixels."""


def svg_of_joins(tables: Iterable[LinkedTable], rows: Mapping[str, int]) -> str:
    """Draw tables and their joins as SVG, whose text is told to a screen reader, too.

    Parameters
    ----------
    rows
        The number of rows of each table.

    Examples
    --------
    >>> from incrowd.release.linked import LinkedTable
    >>> tables = [LinkedTable("person"), LinkedTable("visit", join={"of": "person.id"})]
    >>> "its of is person.id" in svg_of_joins(tables, {"person": 8, "visit": 20})
    True
    """
    lines = tree_of_joins(joins_of(tables := [*tables])) or [(0, each.name, "") for each in tables]
    wide = max(depth for depth, *_ in lines) * _STEP + _BOX + _WORDS
    told = "; ".join(f"{name}, {joins}" if joins else name for _, name, joins in lines)
    parts = [
        f'<svg class="joins" role="img" viewBox="0 0 {wide} {_LINE * len(lines)}" '
        f'style="max-width: {wide}px" aria-label="The tables and their joins: {escape(visible(told))}">'
    ]
    above: dict[int, int] = {}
    for row, (depth, name, joins) in enumerate(lines):
        x, y = depth * _STEP + 2, row * _LINE + 4
        above[depth] = y
        if depth:
            parts.append(f'<path d="M{x - _STEP + 22} {above[depth - 1] + 44} V{y + 22} H{x}"/>')
        parts.append(f'<rect x="{x}" y="{y}" width="{_BOX}" height="44" rx="6"/>')
        for text, left, down, kind in (
            (name, x + 12, y + 19, "name"),
            (f"{rows[name]:,} rows", x + 12, y + 36, "rows"),
            (joins, x + _BOX + 14, y + 27, "words"),
        ):
            parts.append(f'<text class="joins-{kind}" x="{left}" y="{down}">{escape(visible(text))}</text>')
    return "".join([*parts, "</svg>"])
