"""The form of the search: the algorithm, and the settings of the release."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from nicegui import ui

from incrowd.faces.studio import declared
from incrowd.faces.studio.fields import choice_field
from incrowd.faces.studio.forms import advanced, entry_form, slider
from incrowd.faces.studio.meaning import Slider
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import emptied, heading, marked, note, words
from incrowd.release.policy.policy import Policy
from incrowd.release.policy.settings import SETTINGS
from incrowd.search import ALGORITHMS

_SHARE = "max_suppression"


class SearchForm(Panel):
    """Choose an algorithm, and the settings of the search; a part of the panel of the limits."""

    def draw(self) -> None:
        """Show the settings of the search."""
        heading("How is the release made?", 3)
        note("Values are made coarser until every limit holds, with as little loss as can be.")
        with ui.column().classes("box"):
            self._algorithm()

    def _algorithm(self) -> None:
        """Show the algorithm, the records that may be suppressed, and further settings."""
        choices = self.work.choices
        settings = choices.algorithm
        settings.setdefault("name", "mondrian")
        names = {each.name: f"{each.name}: {each.summary}" for each in ALGORITHMS}
        chosen = choice_field(names, "Algorithm", "algorithm", settings["name"]).classes("w-full whole")
        needed = ui.element("div").classes("fields")
        self._suppression()
        general = _settings(name for name in SETTINGS if name != _SHARE)
        _, known = declared.parameters_of(ALGORITHMS.get(settings["name"]))
        set_now = {**choices.document, **settings}
        with advanced("advanced-run", set_now, general | known):
            further = ui.element("div").classes("fields")
            with ui.element("div").classes("fields"):
                entry_form(Policy, choices.document, self._changed, known=general)

        def draw() -> None:
            entry = ALGORITHMS.get(settings["name"])
            columns = {"target": list(choices.columns), "strata": list(choices.having("quasi"))}
            for place, known in zip((needed, further), declared.parameters_of(entry), strict=True):
                with emptied(place):
                    entry_form(entry, settings, self._changed, columns, known)

        def choose(event: Any) -> None:
            settings.clear()
            settings["name"] = event.value
            self._changed()
            draw()

        chosen.on_value_change(choose)
        draw()

    def _suppression(self) -> None:
        """Show the share of the records that may be suppressed, as a field and a slider."""
        document, height = self.work.choices.document, self.work.height

        def text() -> str:
            share = document.get(_SHARE, 0.0)
            most = math.floor(share * height + 1e-9)
            return f"Records that may be suppressed: {100 * share:g}% (up to {most:,} of {height:,} records)"

        sentence = marked(words("p", text()), "suppressed").props("aria-live=polite")
        with ui.element("div").classes("fields"):
            limits = _settings((_SHARE,))
            field = entry_form(Policy, document, self._changed, known=limits)[_SHARE]
            slider(field, document, _SHARE, Slider(0, 1, 0.01), "Records that may be suppressed")
        field.on_value_change(lambda _: sentence.set_text(text()))

    def _changed(self) -> None:
        self.page.limits_changed()
        self.page.changed()


def _settings(names: Iterable[str]) -> dict[str, tuple[Any, Any]]:
    """Return the declared parameters of a policy by name, each with a default."""
    return {name: (SETTINGS[name].metadata["parameter"], SETTINGS[name].default) for name in names}
