"""The panel of the limits: privacy models, attackers, rules of others, and the search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.faces.studio import declared, meaning
from incrowd.faces.studio.fields import button, choice_field, path_field, several_of, text_field
from incrowd.faces.studio.forms import advanced, entry_form, slider
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.panels.search import SearchForm
from incrowd.faces.studio.parts import box, bullets, emptied, fold, grid, heading, marked, note, words
from incrowd.faces.studio.rules import rules_form
from incrowd.faces.studio.work import Work
from incrowd.measures.privacy import MODELS
from incrowd.measures.privacy.attacker import Attacker
from incrowd.release.accounts.points import unprotected

if TYPE_CHECKING:
    from incrowd.measures.privacy import PrivacyModel


class Limits(Panel):
    """Choose models and limits, and see the values that the table reaches now."""

    name = "Limits"

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._reached: dict[str, str | None] = {}
        self._job = Job(page, "Measure", "measure", Work.assess, self._tell)
        self._search = SearchForm(page)

    def draw(self) -> None:
        """Show usual limits, a form for every model, and the values that the table reaches."""
        work = self.work
        if work.assessment is None:
            self._reached = {}
        heading("What must the release satisfy?")
        note("Choose for whom the release is, and change the limits below if need be.")
        with ui.element("div").classes("recipes"):
            self._cards = {mark: self._card(mark, recipe) for mark, recipe in meaning.RECIPES.items()}
        self._unprotected = marked(ui.column().classes("w-full"), "unprotected").props("role=status")
        self._models = ui.column().classes("w-full")
        self._adding("Another model", declared.models(), work.choices.models, "model")
        opened = bool(work.population or work.choices.document.get("attackers"))
        with marked(fold("Advanced: attackers and a population", opened=opened), "advanced-limits"):
            self._more()
        opened = "profile" in work.choices.document
        with marked(fold("Rules of others: a profile", opened=opened), "rules"):
            rules_form(self.page)
        self._draw_models()
        self._mark()
        self._search.draw()
        heading("What the table reaches now", 3)
        note("Measured without any recoding. What fails here is what the release has to mend.")
        self._job.draw()
        self._measured = marked(ui.column().classes("w-full"), "measured")
        if work.assessment is not None:
            self._show_results()

    def _card(self, mark: str, recipe: meaning.Recipe) -> Any:
        """Show usual limits as a button that sets the limits."""
        choices = self.work.choices

        def take() -> None:
            choices.models[:] = recipe.models(choices.having("sensitive"))
            self._redraw()

        card = marked(ui.button(color=None, on_click=take), f"usual-{mark}")
        with card.classes("box recipe").props("no-caps unelevated"):
            words("span", recipe.title, "name")
            words("span", recipe.text())
            words("span", recipe.readers, "muted")
        return card

    def _mark(self) -> None:
        """Mark the card of the current limits, and name the sensitive columns without a limit."""
        choices = self.work.choices
        sensitive = choices.having("sensitive")
        for mark, card in self._cards.items():
            models = meaning.RECIPES[mark].models(sensitive)
            card.props["aria-pressed"] = str(choices.models == models).lower()
            card.update()
        left = unprotected(declared.complete_models(choices.document), sensitive)

        def protect() -> None:
            declared.protect(choices, left)
            self._redraw()

        self._unprotected.clear()
        if left:
            with self._unprotected, ui.column().classes("warn"):
                for name in left:
                    text = "is sensitive, but no limit protects it: whoever finds a class may learn it."
                    words("div", f"{name} {text}")
                button("Add l-diversity (l = 2)", "protect", protect)

    def _changed(self) -> None:
        self.page.limits_changed()
        self.page.changed()
        self._measured.clear()
        self._mark()

    def _redraw(self) -> None:
        self._changed()
        self._draw_models()

    # --- models -----------------------------------------------------------------------------------

    def _adding(
        self, title: str, known: list[type[PrivacyModel]], models: list[dict[str, Any]], field: str
    ) -> None:
        """Show a list of models to add to some models."""
        with ui.row(wrap=False).classes("items-center w-full"):
            options = {model.name: f"{model.name}: {model.summary}" for model in known}
            chosen = choice_field(options, title, field).style("width: 100%; max-width: 640px")

            def add() -> None:
                if chosen.value is not None:
                    first = declared.first_settings(MODELS.get(chosen.value))
                    models.append({"model": chosen.value, **first})
                    self._redraw()

            button("Add", f"add-{field}", add)

    def _draw_models(self) -> None:
        choices = self.work.choices
        with emptied(self._models):
            for place in range(len(choices.models)):
                self._model_form(choices.models, place)
        with emptied(self._attackers):
            for place in range(len(choices.document.get("attackers", ()))):
                self._draw_attacker(place)

    def _head(self, title: str, entries: list[Any], place: int) -> None:
        """Show the title of an entry, and a button that removes the entry."""

        def remove() -> None:
            del entries[place]
            self._redraw()

        with ui.row().classes("w-full items-center"):
            words("div", title, "name")
            ui.space()
            delete = ui.button(icon="delete", on_click=remove).props("flat round dense")
            delete.props["aria-label"] = f"Remove {title}"

    def _model_form(self, models: list[dict[str, Any]], place: int) -> None:
        """Show the form of a model of a list."""
        settings = models[place]
        model = MODELS.get(settings["model"])
        limit, (first, further) = model.limit_name, declared.parameters_of(model)
        columns = {"attribute": self.work.choices.having("sensitive")}

        def changed() -> None:
            sentence.set_text(meaning.means(settings))
            self._changed()

        with ui.column().classes("box").props(f"data-model={model.name}"):
            self._head(model.name, models, place)
            note(f"{model.summary[0].upper()}{model.summary[1:]}.")
            with ui.element("div").classes("fields"):
                fields = entry_form(model, settings, changed, known=first)
                span = meaning.slider_of(model.name, settings.get(limit))
                if span is not None:
                    slider(fields[limit], settings, limit, span, f"{limit} of {model.name}")
            sentence = marked(words("p", meaning.means(settings)), "means").props("aria-live=polite")
            if (now := self._reached.get(model.name)) is not None:
                marked(note(now), "reached")
            if further:
                with advanced("advanced-model", settings, further), ui.element("div").classes("fields"):
                    entry_form(model, settings, changed, columns, further)

    # --- attackers and the population -------------------------------------------------------------

    def _more(self) -> None:
        """Show the attackers, a button that adds an attacker, and the place of the population."""
        self._attackers = ui.column().classes("w-full")
        with ui.row().classes("items-center box"):
            note("Somebody who knows some of the columns, as an insurer knows zip and age.")
            button("Add an attacker", "add-attacker", self._add_attacker)
        with box("A population"):
            note("For k-map, delta-presence and profitability: a table of people, of whom yours holds some.")
            now, title = self.work.population or "", "Path of the population's file"
            path_field(title, "population", now, "", self._set_population).classes("w-full")

    def _set_population(self, text: str) -> None:
        self.work.set_population(text)
        self._changed()

    def _add_attacker(self) -> None:
        choices = self.work.choices
        quasi = choices.having("quasi")
        attackers = choices.document.setdefault("attackers", [])
        first = {"model": "k-anonymity", **declared.first_settings(MODELS.get("k-anonymity"))}
        attackers.append({"name": f"attacker {len(attackers) + 1}", "knows": quasi[:2], "models": [first]})
        self._redraw()

    def _draw_attacker(self, place: int) -> None:
        """Show the form of an attacker: a name, the known attributes, and the models against the attacker."""
        choices = self.work.choices
        settings = declared.plain_attacker(choices.document["attackers"][place])
        quasi = choices.having("quasi")

        def write(event: Any) -> None:
            if event.value:
                settings["name"] = event.value
                self._changed()

        def choose(event: Any) -> None:
            settings["knows"] = list(event.value)
            self._changed()

        with ui.column().classes("box").props(f"data-attacker={place}"):
            self._head(f"attacker {settings['name']}", choices.document["attackers"], place)
            note(f"{Attacker.summary[0].upper()}{Attacker.summary[1:]}.")
            with ui.element("div").classes("fields"):
                text_field("Called", "called", settings["name"], on_change=write)
                knows = [name for name in settings["knows"] if name in quasi]
                several_of(quasi, "Knows", "knows", knows, choose)
            for number in range(len(settings["models"])):
                self._model_form(settings["models"], number)
            knows = declared.attacker_models()
            self._adding("Another model against this attacker", knows, settings["models"], "against")

    def _tell(self, found: Any) -> None:
        # A limit that is moved does not change the values that the table reaches.
        asked = found.results.asked
        self._reached = {each.model: meaning.reached(asked, each.model) for each in asked}
        self._measured.clear()
        self._draw_models()
        self._show_results()

    def _show_results(self) -> None:
        assessment = self.work.assessment
        with self._measured:
            rows = []
            for each in assessment.results.asked:
                if each.limit is not None:
                    name = f"{each.model} of {each.attribute}" if each.attribute else each.model
                    reached = "-" if each.value is None else f"{each.value:.6g}"
                    limit, holds = f"{each.sign} {each.limit:.6g}", "holds" if each.holds else "fails"
                    rows.append((name, each.quantity, reached, limit, holds))
            if rows:
                grid(
                    "What the table reaches", ("model", "measure", "reached", "asked", "result"), rows, (2, 3)
                )
            bullets(assessment.sentences(conditions=False))
