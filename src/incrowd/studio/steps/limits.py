"""Step 4: the privacy models and their limits."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.privacy import MODELS
from incrowd.privacy.attacker import Attacker
from incrowd.studio.cancelling import Watched
from incrowd.studio.forms import entry_form
from incrowd.studio.parts import grid, heading, marked, note, words

__all__ = ["Limits"]

_FIRST: dict[str, Any] = {
    "k": 5, "l": 2, "t": 0.3, "h": 0.5, "alpha": 0.5, "L": 2, "K": 5, "C": 0.5, "beta": 1, "delta": 1,
    "delta_max": 0.5, "score": 1, "risk": 0.2, "share": 0.05, "threshold": 0.2,
}  # fmt: skip
"""What a limit without a default begins with, so that a form is never half filled."""
_USUAL: dict[str, tuple[dict[str, Any], ...]] = {
    "teaching": ({"model": "k-anonymity", "k": 3},),
    "contract": ({"model": "k-anonymity", "k": 5}, {"model": "l-diversity", "l": 2}),
    "public": ({"model": "k-anonymity", "k": 11}, {"model": "l-diversity", "l": 3}),
}
"""Limits that are often asked for. l-diversity is for tables with a sensitive column."""
_USUAL_TOLD = {
    "teaching": "teaching, among colleagues: k = 3, a risk of at most 33%",
    "contract": "research under contract: k = 5, a risk of at most 20%; l = 2",
    "public": "a public release: k = 11, a risk of at most 9%; l = 3",
}


class Limits:
    """Choose models and limits, and see what the table reaches now."""

    name = "Limits"

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None

    def ready(self) -> bool:
        """Say whether there is a table."""
        return self.page.work.choices is not None

    def draw(self) -> None:
        """Show a form for every model, and what the table reaches."""
        heading("What must the release satisfy?")
        note("Every class of records that look alike has to satisfy all of these models.")
        self._begin()
        self._models = ui.column().classes("w-full")
        self._draw_models()
        with ui.row().classes("items-center box"):
            known = {model.name: f"{model.name}: {model.summary}" for model in MODELS if _has_form(model)}
            chosen = ui.select(known, label="Another model", value=None).style(
                "width: 100%; max-width: 640px"
            )
            chosen.props("outlined dense options-dense data-field=model")

            def add() -> None:
                if chosen.value is None:
                    return
                model = MODELS.get(chosen.value)
                first = {name: _FIRST[name] for name in model.needed()}
                self.page.work.choices.models.append({"model": model.name, **first})
                self._changed()
                self._draw_models()

            marked(ui.button("Add", on_click=add), "add-model").props("no-caps")
        heading("What the table reaches now", 3)
        note("Measured without any recoding. What fails here is what the release has to mend.")
        marked(ui.button("Measure", on_click=self._measure), "measure").props("no-caps outline")
        self._told = ui.column().classes("w-full")
        self._measured = marked(ui.column().classes("w-full"), "measured")
        if self.page.work.assessment is not None:
            self._show()

    def _begin(self) -> None:
        """Show the usual limits to begin with."""

        def take(event: Any) -> None:
            sensitive = bool(self.page.work.choices.having("sensitive"))
            models = [each for each in _USUAL[event.value] if sensitive or each["model"] == "k-anonymity"]
            self.page.work.choices.models[:] = [dict(each) for each in models]
            self._changed()
            self._draw_models()

        chosen = ui.select(_USUAL_TOLD, label="Begin with the limits of", value=None, on_change=take)
        chosen.props("outlined dense options-dense data-field=usual").style("width: 100%; max-width: 640px")

    def _changed(self) -> None:
        self.page.changed()
        self._measured.clear()

    def _draw_models(self) -> None:
        self._models.clear()
        choices = self.page.work.choices
        with self._models:
            for place, settings in enumerate(choices.models):
                self._draw_model(place, settings)
            for attacker in choices.document.get("attackers", ()):
                with ui.column().classes("box"):
                    words("div", f"attacker: {attacker['name']}", "name")
                    note(f"{Attacker.summary}. As the policy has it.")

    def _draw_model(self, place: int, settings: dict[str, Any]) -> None:
        model = MODELS.get(settings["model"])
        with ui.column().classes("box").props(f"data-model={model.name}"):
            with ui.row().classes("w-full items-center"):
                words("div", model.name, "name")
                ui.space()

                def remove() -> None:
                    del self.page.work.choices.models[place]
                    self._changed()
                    self._draw_models()

                button = ui.button(icon="delete", on_click=remove).props("flat round dense")
                button.props["aria-label"] = f"Remove {model.name}"
            note(f"{model.summary[0].upper()}{model.summary[1:]}.")
            with ui.element("div").classes("fields"):
                names = {"attribute": self.page.work.choices.having("sensitive")}
                entry_form(model, settings, self._changed, names)

    async def _measure(self) -> None:
        watched = Watched()
        self._measured.clear()
        with self._measured:
            ui.spinner(size="lg")
        found = await self.page.doing(self._told, watched, self.page.work.assess, watched)
        self._measured.clear()
        if found is not None:
            self._show()

    def _show(self) -> None:
        found = self.page.work.assessment
        with self._measured:
            asked = [each for each in found.results.asked if each.limit is not None]
            rows = [
                (
                    each.model + (f" of {each.attribute}" if each.attribute else ""),
                    each.quantity,
                    "-" if each.value is None else f"{each.value:.6g}",
                    f"{each.sign} {each.limit:.6g}",
                    "holds" if each.holds else "fails",
                )
                for each in asked
            ]
            if rows:
                grid(
                    "What the table reaches",
                    ("model", "measure", "reached", "asked", ""),
                    rows,
                    numbers=(2, 3),
                )
            with words("ul", ""):
                for sentence in found.sentences(conditions=False):
                    words("li", sentence)


def _has_form(model: Any) -> bool:
    """Say whether a form says everything a model needs: no second table, and no list of other models."""
    return model is not Attacker and "needs_population" not in vars(model)
