"""Step 6: the search."""

from __future__ import annotations

import math
from typing import Any

from nicegui import ui

from incrowd.core.progress import RELEASE
from incrowd.faces.studio import declared
from incrowd.faces.studio.fields import button, choice_field
from incrowd.faces.studio.forms import advanced, entry_form, slider
from incrowd.faces.studio.gate import show_verdict
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.meaning import Slider
from incrowd.faces.studio.parts import emptied, heading, marked, note, words
from incrowd.faces.studio.steps.step import Step
from incrowd.faces.studio.work import Work, policy_settings
from incrowd.release.policy.policy import Policy
from incrowd.release.policy.settings import SETTINGS
from incrowd.search import ALGORITHMS

_SHARE = "max_suppression"


class Run(Step):
    """Choose an algorithm, and make the release."""

    name = "Run"

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._job = Job(
            page, "Make the release", "run", Work.anonymize, self._made, self._failed, steps=RELEASE
        )
        self._advice = Job(page, "What would help?", "advise", Work.advise, self._show_advice, icon="search")
        self._helps: list[Any] | None = None

    def draw(self) -> None:
        """Show the settings of the search, and the buttons that start and stop it."""
        heading("How is the release made?")
        note("Values are made coarser until every limit holds, with as little loss as can be.")
        with ui.column().classes("box"):
            self._algorithm()
        self._job.draw()
        self._done = ui.column().classes("w-full")
        if self.work.release is not None:
            self._tell()
        elif self.work.infeasible:
            self._offer()
        else:
            self._advice.stop()

    def _algorithm(self) -> None:
        """Show the algorithm, the records that may be suppressed, and further settings."""
        choices = self.work.choices
        settings = choices.algorithm
        settings.setdefault("name", "mondrian")
        names = {each.name: f"{each.name}: {each.summary}" for each in ALGORITHMS}
        chosen = choice_field(names, "Algorithm", "algorithm", settings["name"]).classes("w-full whole")
        needed = ui.element("div").classes("fields")
        self._suppression()
        general = policy_settings(name for name in SETTINGS if name != _SHARE)
        _, known = declared.parameters_of(ALGORITHMS.get(settings["name"]))
        set_now = {**choices.document, **settings}
        with advanced("advanced-run", set_now, general | known):
            further = ui.element("div").classes("fields")
            with ui.element("div").classes("fields"):
                entry_form(Policy, choices.document, self._changed, known=general)

        def draw() -> None:
            entry = ALGORITHMS.get(settings["name"])
            columns = {"target": list(choices.columns)}
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
            limits = policy_settings((_SHARE,))
            field = entry_form(Policy, document, self._changed, known=limits)[_SHARE]
            slider(field, document, _SHARE, Slider(0, 1, 0.01), "Records that may be suppressed")
        field.on_value_change(lambda _: sentence.set_text(text()))

    async def make(self) -> None:
        """Make the release."""
        await self._job.run()

    def _changed(self) -> None:
        self.page.changed()
        self._advice.stop()
        self._done.clear()

    def _made(self, _: Any) -> None:
        self._advice.stop()
        self._tell()
        self.page.released()

    async def _failed(self) -> None:
        """Look for changes that help, where the table cannot satisfy the policy."""
        self._done.clear()
        self._helps = None
        if self.work.infeasible:
            self._offer()
            await self._advice.run()

    def _offer(self) -> None:
        """Show the changes that help, and the search for them."""
        with self._done, ui.column().classes("box"):
            words("div", "The table cannot satisfy the policy. What would help?", "name")
            note("Single changes are tried, each with a search of its own, until three are found that help.")
            self._advice.draw()
            self._changes = marked(ui.column().classes("w-full"), "advice").props("role=status")
        if self._helps is not None:
            self._show_advice(self._helps)

    def _show_advice(self, found: list[Any]) -> None:
        self._helps = found
        with emptied(self._changes):
            if not found:
                note("No single change that was tried is enough. Loosen two limits, or name fewer columns.")
            for change in found:
                with ui.row(wrap=False).classes("items-center"):
                    take = button("Take it", "take-advice", lambda _, change=change: self._take(change))
                    take.classes("shrink-0").props("no-wrap").props["aria-label"] = f"Take it: {change.text}"
                    words("span", change.text)

    async def _take(self, change: Any) -> None:
        """Make a change, and run again."""
        document = self.work.choices.document
        changed = change.edited(document)
        document.clear()
        document.update(changed)
        self.work.changed()
        self.page.enable()
        self.page.redraw(self)
        await self.make()

    def _tell(self) -> None:
        release = self.work.release
        with emptied(self._done):
            show_verdict(release.verdict)
            seconds = math.fsum(release.seconds.values())
            marked(note(f"The run took {seconds:.1f} s."), "seconds").props("role=status")
            button("Look at it", "look", lambda: self.page.go("Look"), "icon-right=arrow_forward")
