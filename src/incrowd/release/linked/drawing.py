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

_BOX, _LINE, _STEP, _SIGN = 180, 58, 36, 7
"""The width of a table, the height of a line, an indent, and the width of a letter, in pixels."""
_LONGEST, _LONGEST_NAME = 66, 22
"""Letters of a join and of a name that are drawn; a screen reader is told all of them."""


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
    wide = max(depth * _STEP + _BOX + 20 + _SIGN * min(len(joins), _LONGEST + 3) for depth, _, joins in lines)
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
            (_shortened(name, _LONGEST_NAME), x + 12, y + 19, "name"),
            (f"{rows[name]:,} rows", x + 12, y + 36, "rows"),
            (_shortened(joins, _LONGEST), x + _BOX + 14, y + 27, "words"),
        ):
            parts.append(f'<text class="joins-{kind}" x="{left}" y="{down}">{escape(visible(text))}</text>')
    return "".join([*parts, "</svg>"])


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
