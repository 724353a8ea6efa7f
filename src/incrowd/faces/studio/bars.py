"""Bars in a table: figures as numbers, and as lengths on the same axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from incrowd.faces.studio.parts import cut, words


def bars(
    title: str,
    rows: Sequence[tuple[Any, ...]],
    written: Callable[[float], str],
    names: Sequence[str] = ("before", "after"),
) -> Any:
    """Show figures as a table: a label a row, numbers, and bars below each other on the same axis.

    A row is a label and a figure for each name, None where there is none. `written` writes a figure. The
    title is for who cannot see the table.
    """
    largest = max((value for _, *values in rows for value in values if value is not None), default=0) or 1
    with ui.element("table").classes("bars") as table:
        table.props["aria-label"] = title
        with ui.element("thead"), ui.element("tr"):
            ui.element("td")
            for name in names:
                with words("th", name).props("scope=col"):
                    ui.element("div").classes(f"bar {name}")
            ui.element("td")
        with ui.element("tbody"):
            for label, *values in rows:
                with ui.element("tr"):
                    words("th", cut(label)).props("scope=row")
                    for value in values:
                        words("td", "-" if value is None else written(value))
                    with ui.element("td").props("aria-hidden=true"):
                        for name, value in zip(names, values, strict=True):
                            width = f"width: {(value or 0) / largest:.2%}"
                            ui.element("div").classes(f"bar {name}").style(width)
    return table


def histogram(title: str, rows: Sequence[tuple[str, int]]) -> Any:
    """Show a bar of records per label."""
    return bars(title, rows, "{:,.0f}".format, ("records",))
