"""Step 6: the search."""

from __future__ import annotations

import math
from typing import Any

from nicegui import ui

from incrowd.algorithms import ALGORITHMS
from incrowd.studio.cancelling import Watched
from incrowd.studio.forms import entry_form, field_of
from incrowd.studio.gate import show_findings
from incrowd.studio.job import Job
from incrowd.studio.parts import heading, marked, note, words
from incrowd.studio.work import policy_settings

_SETTINGS = ("max_suppression", "keep_order")
_MORE = ("output", "ends", "set_limit", "wildcards", "judge", "seed")


class Run:
    """Choose an algorithm, and make the release."""

    name = "Run"

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None
        self._job = Job(page, "Run", "run", self._work, self._made, self._failed)
        self._advice = Job(page, "What would help?", "advise", self._advise, self._show_advice)

    def ready(self) -> bool:
        """Say whether there is a table."""
        return self.page.work.choices is not None

    def draw(self) -> None:
        """Show the settings of the search, and the buttons that start and stop it."""
        heading("Make the release")
        note(
            "Values are made coarser until every limit holds, and as little as possible is lost. The release "
            "is measured anew at the end."
        )
        with ui.column().classes("box"):
            self._algorithm()
            with ui.element("div").classes("fields"):
                self._settings(_SETTINGS)
            more = ui.expansion("More settings").props("dense").classes("w-full")
            with more, ui.element("div").classes("fields"):
                self._settings(_MORE)
        self._job.draw()
        self._done = ui.column().classes("w-full")
        if self.page.work.release is not None:
            self._tell()
        elif self.page.work.infeasible:
            self._failed()

    def _algorithm(self) -> None:
        choices = self.page.work.choices
        settings = choices.algorithm
        settings.setdefault("name", "mondrian")
        known = {each.name: f"{each.name}: {each.summary}" for each in ALGORITHMS}
        chosen = ui.select(known, label="Algorithm", value=settings["name"]).classes("w-full")
        chosen.props("outlined dense options-dense data-field=algorithm")
        place = ui.element("div").classes("fields")

        def draw() -> None:
            place.clear()
            entry = ALGORITHMS.get(settings["name"])
            with place:
                parameters = {"target": list(choices.columns)}
                rest = _Without(settings, "name")
                entry_form(entry, rest, self._changed, parameters)

        def choose(event: Any) -> None:
            settings.clear()
            settings["name"] = event.value
            self._changed()
            draw()

        chosen.on_value_change(choose)
        draw()

    def _settings(self, names: tuple[str, ...]) -> None:
        document = self.page.work.choices.document
        for name, (parameter, default) in policy_settings(names).items():

            def change(value: Any, name: str = name) -> None:
                if value is None:
                    document.pop(name, None)
                else:
                    document[name] = value
                self._changed()

            field_of("policy", name, parameter, document.get(name, default), change)

    def _changed(self) -> None:
        self.page.changed()
        self._done.clear()

    def _work(self, watched: Watched) -> Any:
        return self.page.work.anonymize(watched)

    def _made(self, _: Any) -> None:
        self.page.enable()
        self._tell()

    def _failed(self) -> None:
        """Offer to look for changes that help, where the table cannot satisfy the policy."""
        self._done.clear()
        if not self.page.work.infeasible:
            return
        with self._done, ui.column().classes("box"):
            words("div", "The table cannot satisfy the policy", "name")
            note("Single changes are tried, each with a search of its own, until three are found that help.")
            self._advice.draw()
            self._changes = marked(ui.column().classes("w-full"), "advice")

    def _advise(self, watched: Watched) -> Any:
        return self.page.work.advise(watched)

    def _show_advice(self, found: list[Any]) -> None:
        self._changes.clear()
        with self._changes:
            if not found:
                note("No single change that was tried is enough. Loosen two limits, or name fewer columns.")
            for change in found:
                with ui.row().classes("items-center"):
                    button = ui.button("Take it", on_click=lambda _, change=change: self._take(change))
                    marked(button, "take-advice").props("no-caps outline")
                    words("span", change.text)

    def _take(self, change: Any) -> None:
        """Make a change, and run again."""
        document = self.page.work.choices.document
        changed = change.edited(document)
        document.clear()
        document.update(changed)
        self.page.work.changed()
        self.page.enable()
        self.page.redraw(self)
        with self.panel:
            ui.timer(0, self._job.run, once=True)

    def _tell(self) -> None:
        release = self.page.work.release
        self._done.clear()
        with self._done:
            show_findings(release.findings)
            seconds = math.fsum(release.seconds.values())
            text = self.page.work.account["verdict"]["text"]
            marked(words("div", f"{text} {seconds:.1f} s.", "good"), "verdict").props("role=status")
            button = ui.button("Look at it", on_click=lambda: self.page.go("Look"))
            marked(button, "look").props("no-caps icon-right=arrow_forward")


class _Without(dict[str, Any]):
    """The parameters of an entry whose name stands among them; a setting here is set there."""

    def __init__(self, settings: dict[str, Any], name: str) -> None:
        super().__init__({key: value for key, value in settings.items() if key != name})
        self._settings = settings

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self._settings[key] = value

    def pop(self, key: str, *default: Any) -> Any:
        """Take a parameter out of both."""
        self._settings.pop(key, None)
        return super().pop(key, *default)
