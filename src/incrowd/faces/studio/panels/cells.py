"""The form of the cells of a column: a value each, or a set of items with a sign between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.faces.studio.fields import choice_field, hinted, text_field
from incrowd.faces.studio.sets import KNOWN, hold_sets

if TYPE_CHECKING:
    from incrowd.faces.studio.choices import Choices
    from incrowd.faces.studio.tables import Column

_KINDS = {False: "each cell is one value", True: "a cell holds a set of items"}


def has_cells_form(choices: Choices, name: str, columns: Collection[Column]) -> bool:
    """Say whether a column gets the form: a quasi-identifier of texts, or a sensitive column of lists."""
    settings = choices.columns[name]
    if settings["role"] == "sensitive":
        return "parts" in settings or name in choices.lists
    is_text = any(each.name == name and each.type == "text" for each in columns)
    return settings["role"] == "quasi" and (is_text or settings.get("kind") == "set" or name in choices.lists)


def cells_in_words(settings: Mapping[str, Any]) -> str:
    """Describe the cells of a column, as "sets parted by ';', 2 items known"."""
    parts = settings.get("parts")
    if settings.get("kind") != "set":
        return f"lists parted by {parts!r}" if parts else "one value each"
    return f"sets parted by {parts or ';'!r}, {settings.get('known', '?')} items known"


def draw_cells(choices: Choices, name: str, redraw: Callable[[], None], changed: Callable[[], None]) -> None:
    """Show the form; `redraw` is called where the kind of the cells changes, and `changed` after the rest."""
    settings = choices.columns[name]
    holds_sets = settings.get("kind") == "set"

    def take_kind(event: Any) -> None:
        hold_sets(choices, name, holds=event.value)
        redraw()

    def take(key: str, value: Any) -> None:
        settings.pop(key, None)
        if value:
            settings[key] = value
        changed()

    with ui.element("div").classes("fields"):
        if settings["role"] == "quasi":
            choice_field(_KINDS, "What a cell holds", "kind", holds_sets, on_change=take_kind)
        if holds_sets or settings["role"] == "sensitive":
            field = text_field("Separator", "parts", settings.get("parts", ""))
            field.on_value_change(lambda e: take("parts", (e.value or "").strip()))
            hinted(field, "what parts the items of a cell, as ;")
        if holds_sets:
            field = choice_field([*KNOWN], "Items that are known", "known", settings.get("known"))
            field.on_value_change(lambda e: take("known", e.value))
            hinted(field, "an attacker knows at most so many of a cell")
