"""Bars in a table: a figure before and after, as a length and as a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from incrowd.studio.account import Pair
from incrowd.studio.parts import cut, words


def bars(title: str, pairs: Sequence[Pair], written: Callable[[float], str]) -> Any:
    """Show bars of before and after below each other, a row per label. The numbers stand beside them.

    Parameters
    ----------
    title
        What is shown, for who cannot see it.
    written
        How a figure is written.
    """
    largest = max((value for pair in pairs for value in pair[1:] if value is not None), default=0.0)
    with ui.element("table").classes("bars") as table:
        table.props["aria-label"] = title
        with ui.element("thead"), ui.element("tr"):
            for name in ("", "before", "after"):
                words("th", name).props("scope=col")
        with ui.element("tbody"):
            for pair in pairs:
                with ui.element("tr"):
                    words("th", cut(pair.label)).props("scope=row")
                    _bar(pair.before, largest, written, "before")
                    _bar(pair.after, largest, written, "after")
    return table


def _bar(value: float | None, largest: float, written: Callable[[float], str], kind: str) -> None:
    with ui.element("td"):
        words("span", "-" if value is None else written(value))
        share = (value or 0.0) / largest if largest else 0.0
        ui.element("div").classes(f"bar {kind}").style(f"width: {share:.2%}").props("aria-hidden=true")


def histogram(title: str, rows: Sequence[tuple[str, int]]) -> Any:
    """Show a bar of records per label."""
    largest = max((value for _, value in rows), default=0)
    with ui.element("table").classes("bars one") as table:
        table.props["aria-label"] = title
        with ui.element("thead"), ui.element("tr"):
            for name in ("", "records"):
                words("th", name).props("scope=col")
        with ui.element("tbody"):
            for label, value in rows:
                with ui.element("tr"):
                    words("th", cut(label)).props("scope=row")
                    _bar(value, largest, lambda each: f"{each:,.0f}", "after")
    return table
