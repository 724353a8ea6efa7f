"""Step 4: the privacy models and their limits."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.errors import InputError
from incrowd.privacy import MODELS
from incrowd.privacy.attacker import Attacker
from incrowd.studio import declared, meaning
from incrowd.studio.cancelling import Watched
from incrowd.studio.forms import entry_form
from incrowd.studio.job import Job
from incrowd.studio.parts import grid, heading, marked, note, words

_USUAL: dict[str, tuple[dict[str, Any], ...]] = {
    "teaching": ({"model": "k-anonymity", "k": 3},),
    "contract": ({"model": "k-anonymity", "k": 5}, {"model": "l-diversity", "l": 2}),
    "public": ({"model": "k-anonymity", "k": 11}, {"model": "l-diversity", "l": 3}),
}
"""Limits that are often asked for. l-diversity is for tables with a sensitive column."""
_USUAL_LABELS = {
    "teaching": "teaching, among colleagues: k = 3, a risk of at most 33%",
    "contract": "research under contract: k = 5, a risk of at most 20%; l = 2",
    "public": "a public release: k = 11, a risk of at most 9%; l = 3",
}


class Limits:
    """Choose models and limits, and see the values that the table reaches now."""

    name = "Limits"

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None
        self._reached: dict[str, str] = {}
        self._job = Job(page, "Measure", "measure", self._measure, self._tell)

    def ready(self) -> bool:
        """Say whether there is a table."""
        return self.page.work.choices is not None

    def draw(self) -> None:
        """Show a form for every model, and the values that the table reaches."""
        if self.page.work.assessment is None:
            self._reached = {}
        heading("What must the release satisfy?")
        note(
            "Set how well people are hidden: among how many records that look alike, and how open it stays "
            "what is sensitive about them. Each class of records that look alike has to satisfy all models."
        )
        self._begin()
        self._models = ui.column().classes("w-full")
        self._draw_models()
        with ui.row().classes("items-center box"):
            known = {model.name: f"{model.name}: {model.summary}" for model in declared.models()}
            chosen = ui.select(known, label="Another model", value=None).style(
                "width: 100%; max-width: 640px"
            )
            chosen.props("outlined dense options-dense data-field=model")

            def add() -> None:
                if chosen.value is None:
                    return
                first = declared.first_settings(MODELS.get(chosen.value))
                self.page.work.choices.models.append({"model": chosen.value, **first})
                self._changed()
                self._draw_models()

            marked(ui.button("Add", on_click=add), "add-model").props("no-caps")
        self._more()
        heading("What the table reaches now", 3)
        note("Measured without any recoding. What fails here is what the release has to mend.")
        self._job.draw()
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

        chosen = ui.select(_USUAL_LABELS, label="Begin with the limits of", value=None, on_change=take)
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
            for place in range(len(choices.document.get("attackers", ()))):
                self._draw_attacker(place)

    def _draw_model(self, place: int, settings: dict[str, Any]) -> None:
        self._model_form(self.page.work.choices.models, place, settings)

    def _model_form(self, models: list[dict[str, Any]], place: int, settings: dict[str, Any]) -> None:
        """Show the form of one of some models."""
        model = MODELS.get(settings["model"])
        with ui.column().classes("box").props(f"data-model={model.name}"):
            with ui.row().classes("w-full items-center"):
                words("div", model.name, "name")
                ui.space()

                def remove() -> None:
                    del models[place]
                    self._changed()
                    self._draw_models()

                button = ui.button(icon="delete", on_click=remove).props("flat round dense")
                button.props["aria-label"] = f"Remove {model.name}"
            note(f"{model.summary[0].upper()}{model.summary[1:]}.")
            sliding = ui.element("div").classes("sliding")
            with ui.element("div").classes("fields"):
                names = {"attribute": self.page.work.choices.having("sensitive")}
                fields = entry_form(model, settings, lambda: self._limited(settings, said), names)
            with sliding:
                self._slider(settings, fields.get(model.limit_name))
            said = marked(words("p", meaning.means(settings)), "means").props("aria-live=polite")
            now = self._reached.get(model.name)
            if now is not None:
                marked(note(now), "reached")

    def _limited(self, settings: dict[str, Any], said: Any) -> None:
        """Explain a changed limit."""
        said.set_text(meaning.means(settings))
        self._changed()

    def _slider(self, settings: dict[str, Any], field: Any) -> None:
        """Show the limit as a slider, which writes into its field; the field moves it, too."""
        model = MODELS.get(settings["model"])
        value = settings.get(model.limit_name)
        span = meaning.slider_of(model.name, value)
        if span is None or field is None:
            return
        low, high, step = span
        slider = ui.slider(min=low, max=high, step=step, value=low if value is None else value)
        slider.props("label").props(f"data-slider={model.limit_name}")
        slider.props["aria-label"] = f"{model.limit_name} of {model.name}"

        def slid(event: Any) -> None:
            # Some sliders give fractions for whole numbers, and 0.30000000000000004 for 0.3.
            given = int(event.value) if step == 1 else round(event.value, 2)
            if settings.get(model.limit_name) != given:
                field.set_value(str(given))

        def written(_: Any) -> None:
            now = settings.get(model.limit_name)
            if now is not None and low <= now <= high and slider.value != now:
                slider.set_value(now)

        slider.on_value_change(slid)
        field.on_value_change(written)

    # --- attackers and the population -------------------------------------------------------------

    def _more(self) -> None:
        """Show the buttons that add an attacker, and the place of the population."""
        with ui.row().classes("items-center box"):
            note("Somebody who knows some of the columns, as an insurer knows zip and age.")
            button = ui.button("Add an attacker", on_click=self._add_attacker)
            marked(button, "add-attacker").props("no-caps outline")
        with ui.column().classes("box"):
            words("div", "A population", "name")
            note(
                "For k-map, delta-presence and profitability: a table of the people of whom yours may hold "
                "some, with the same quasi-identifiers."
            )
            path = ui.input("Path of the population's file", value=self.page.work.population or "")
            path.classes("w-full").props("outlined dense data-field=population")
            path.on("change", lambda: self._set_population(path))

    def _set_population(self, field: Any) -> None:
        text = (field.value or "").strip()
        try:
            self.page.work.set_population(text)
        except InputError as error:
            field.error = str(error)
            return
        field.error = None
        self._changed()

    def _add_attacker(self) -> None:
        choices = self.page.work.choices
        quasi = choices.having("quasi")
        attackers = choices.document.setdefault("attackers", [])
        first = {"model": "k-anonymity", **declared.first_settings(MODELS.get("k-anonymity"))}
        attackers.append({"name": f"attacker {len(attackers) + 1}", "knows": quasi[:2], "models": [first]})
        self._changed()
        self._draw_models()

    def _draw_attacker(self, place: int) -> None:
        """Show the form of an attacker: a name, the known attributes, and the models that hold against it."""
        choices = self.page.work.choices
        settings = declared.plain_attacker(choices.document["attackers"][place])
        with ui.column().classes("box").props(f"data-attacker={place}"):
            with ui.row().classes("w-full items-center"):
                words("div", f"attacker: {settings['name']}", "name")
                ui.space()

                def remove() -> None:
                    del choices.document["attackers"][place]
                    self._changed()
                    self._draw_models()

                button = ui.button(icon="delete", on_click=remove).props("flat round dense")
                button.props["aria-label"] = f"Remove attacker {settings['name']}"
            note(f"{Attacker.summary[0].upper()}{Attacker.summary[1:]}.")
            with ui.element("div").classes("fields"):
                self._knowledge(settings)
            for number, model in enumerate(settings["models"]):
                self._model_form(settings["models"], number, model)
            self._add_model(settings)

    def _knowledge(self, settings: dict[str, Any]) -> None:
        def write(event: Any) -> None:
            if event.value:
                settings["name"] = event.value
                self._changed()

        def choose(event: Any) -> None:
            settings["knows"] = list(event.value)
            self._changed()

        ui.input("Called", value=settings["name"], on_change=write).props("outlined dense data-field=called")
        quasi = self.page.work.choices.having("quasi")
        known = [name for name in settings["knows"] if name in quasi]
        knows = ui.select(
            quasi,
            label="Knows",
            value=known,
            multiple=True,
            on_change=choose,
            validation=lambda chosen: None if chosen else "choose at least one",
        )
        knows.props("outlined dense options-dense data-field=knows")

    def _add_model(self, settings: dict[str, Any]) -> None:
        with ui.row().classes("items-center"):
            known = {model.name: f"{model.name}: {model.summary}" for model in declared.attacker_models()}
            chosen = ui.select(known, label="Another model against this attacker", value=None)
            chosen.props("outlined dense options-dense data-field=against").style("width: 320px")

            def add() -> None:
                if chosen.value is None:
                    return
                first = declared.first_settings(MODELS.get(chosen.value))
                settings["models"].append({"model": chosen.value, **first})
                self._changed()
                self._draw_models()

            marked(ui.button("Add", on_click=add), "add-against").props("no-caps")

    def _measure(self, watched: Watched) -> Any:
        return self.page.work.assess(watched)

    def _tell(self, _: Any) -> None:
        self._measured.clear()
        self._reach()
        self._draw_models()
        self._show()

    def _reach(self) -> None:
        """Remember the values that the table reaches: a limit that is moved does not change them."""
        asked = self.page.work.assessment.results.asked
        texts = {name: meaning.reached(asked, name) for name in {each.model for each in asked}}
        self._reached = {name: text for name, text in texts.items() if text is not None}

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
