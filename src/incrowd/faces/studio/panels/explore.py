"""The drawer of tried settings: a card for each, and the chart of loss and risk."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.core.documents import loss_in_words
from incrowd.core.errors import ParameterError
from incrowd.faces.studio import exploring
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.exploring import Try
from incrowd.faces.studio.fields import button, choice_field, text_field
from incrowd.faces.studio.figures import LOOKS
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.panels.analyses import Analyses
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import bullets, emptied, fold, grid, heading, marked, note, words
from incrowd.faces.studio.sets import lacking
from incrowd.search import ALGORITHMS
from incrowd_gate.wording import at_most

_FIRST = ("mondrian", "datafly")
_SIZES = "2, 5, 10, 20"


class Explore(Panel):
    """Compare tried settings, take a setting back, and try others."""

    name = "Explore"
    follows = True

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._job = Job(page, "Try them", "compare", self._compare, self._add)
        self._levels = Job(page, "Try one level for each column", "levels", self._try_levels, self._add)
        self._analyses = Analyses(page)
        self._methods: list[str] = list(_FIRST)
        self._sizes = _SIZES
        self._picked: set[int] = set()
        self._problems_of_tries: dict[str, list[str]] = {}

    def draw(self) -> None:
        """Show the chart, the cards, and the forms that try other settings."""
        tries: list[Try] = self.work.tries
        self._picked &= set(range(len(tries)))
        heading("What would be lost?")
        note("Every setting that you try stays here. Low and left is best. Click a point to take it back.")
        if tries:
            chart = ui.echart(
                exploring.chart(tries), lambda event: self._take(int(event.name) - 1), renderer="svg"
            )
            text = f"{len(tries)} settings, by loss and largest risk; the cards below have their figures"
            chart.props["aria-label"] = text
            marked(chart.classes("chart").props("role=img"), "front")
        self._comparison = marked(ui.column().classes("w-full"), "lost")
        self._draw_comparison()
        with marked(ui.element("div").classes("cards"), "cards"):
            least = exploring.best(tries)
            for places in sorted(exploring.alike(tries), key=max, reverse=True):
                if len(places) == 1:
                    self._draw_card(places[0], tries[places[0]], least=places[0] == least)
                    continue
                each = tries[places[0]]
                now = any(tries[place].document == self.work.chosen.document for place in places)
                notes = ["shown now"] * now + ["least loss"] * (least in places)
                title = ", ".join((f"{len(places)} settings: {each.figures[0]}", *each.figures[1:], *notes))
                with marked(fold(title).classes("card"), f"alike-{places[0] + 1}"):
                    for place in places[::-1]:
                        self._draw_card(place, tries[place], least=place == least)
        if self._problems_of_tries:
            number = sum(map(len, self._problems_of_tries.values()))
            with fold(f"{number} settings gave no release"):
                reasons = (f"{'; '.join(titles)}: {why}" for why, titles in self._problems_of_tries.items())
                marked(bullets(reasons), "no-release")
        if text := lacking(self.work.chosen.columns, "Other settings are tried"):
            note(text)
            return
        heading("Try others", 3)
        note("Each method runs with each class size k. The other limits stand, and nothing is released.")
        with ui.element("div").classes("fields"):
            names = [each.name for each in ALGORITHMS if not each.needed()]
            chosen = choice_field(names, "Methods", "algorithms", self._methods, multiple=True)
            chosen.bind_value_to(self, "_methods")
            sizes = text_field("Class sizes k", "sizes", self._sizes, "whole numbers with commas between")
            sizes.bind_value_to(self, "_sizes")
        self._job.draw()
        note("Or every column is lifted to one level of its hierarchy, the same for all its values.")
        self._levels.draw()
        self._tell_levels()
        self._analyses.draw()
        self._last = marked(ui.element("div").classes("cards"), "last")

    def draw_last(self) -> None:
        """Show the last setting at the end, so that nothing moves under the pointer."""
        place = len(self.work.tries) - 1
        with self._last:
            self._draw_card(place, self.work.tries[place], least=False)

    def _draw_card(self, place: int, each: Try, *, least: bool) -> None:
        now = each.document == self.work.chosen.document
        with marked(ui.element("section").classes("card"), f"card-{place + 1}") as card:
            card.props["aria-label"] = f"Setting {place + 1}"
            words("div", f"{place + 1}: {each.title}", "name")
            figures = f"loss {loss_in_words(each.loss)}, largest risk {at_most(each.risk)}"
            words("div", f"{figures}, {each.suppressed:,} suppressed")
            with ui.row().classes("items-center"):
                words("span", each.state, f"chip {LOOKS[each.state]}")
                if least:
                    words("span", "least loss", "muted")
                ui.space()
                pick = ui.checkbox("compare", value=place in self._picked)
                pick.on_value_change(lambda e: self._pick(place, picked=e.value)).props("dense")
                if now:
                    words("span", "shown now", "muted")
                else:
                    button("Take it", f"take-{place + 1}", lambda: self._take(place), "dense outline")

    def _pick(self, place: int, *, picked: bool) -> None:
        (self._picked.add if picked else self._picked.discard)(place)
        self._draw_comparison()

    def _draw_comparison(self) -> None:
        """Show two settings or more, column by column."""
        with emptied(self._comparison):
            if len(self._picked) > 1:
                tries = {place + 1: self.work.tries[place] for place in sorted(self._picked)}
                names, rows = exploring.losses(tries)
                grid("What each column loses", names, rows, numbers=range(1, len(names)))

    def _take(self, place: int) -> None:
        """Take a setting back; the release follows."""
        tries = self.work.tries
        if 0 <= place < len(tries):
            self.page.take(tries[place].document)

    # --- other settings ---------------------------------------------------------------------------

    def _compare(self, work: Any, watched: Watched) -> Any:
        sizes = [part.strip() for part in self._sizes.split(",")]
        if not all(part.isdecimal() and int(part) for part in sizes):
            raise ParameterError("class sizes: write whole numbers from 1 with commas between, as 2, 5, 10")
        if not self._methods:
            raise ParameterError("methods: choose at least one")
        return exploring.compare_settings(work, self._methods, [*map(int, sizes)], watched)

    def _try_levels(self, work: Any, watched: Watched) -> Any:
        tries = exploring.of_levels(work, watched)
        return tries, {} if tries else {"the limits fail on the cells that leave": ["One level a column"]}

    def _add(self, outcome: tuple[list[Try], dict[str, list[str]]]) -> None:
        tries, self._problems_of_tries = outcome
        for each in tries:
            exploring.keep(self.work.tries, each)
        self.page.redraw(self)

    def _tell_levels(self) -> None:
        """Say which levels are fixed, and offer to free the levels."""
        levels = {name: settings.get("levels") for name, settings in self.work.chosen.columns.items()}
        fixed = [f"{name} {' to '.join(map(str, both))}" for name, both in levels.items() if both is not None]
        if fixed:
            with ui.row().classes("items-center"):
                words("span", f"Fixed levels: {', '.join(fixed)}")
                button("Let them be chosen", "free-levels", self._free)

    def _free(self) -> None:
        exploring.free_levels(self.work.chosen.document)
        self.page.changed()
        self.page.redraw(self)
