"""The permanent figures: risk before and after on a shared bar, the loss, and the verdict."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.core.errors import listed
from incrowd.core.progress import RELEASE
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.faces.studio import status
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.fields import button
from incrowd.faces.studio.job import Job, in_words
from incrowd.faces.studio.parts import emptied, marked, words
from incrowd.faces.studio.work import Work
from incrowd_gate.wording import at_most

LOOKS = {"holds": "good", "open": "warn", "broken": "problem"}
"""How each state of a verdict looks: green, amber and red."""
_WIDTH = 20
"""The part of the bar, in per cent, from which a word stands on its left."""


class Loops:
    """The count (`begun`) of loops that this process compiles, which later releases find compiled.

    `loop` is the name of the last one. A first release by Mondrian compiles `USUAL` of them, with the figures
    that are shown beside it. Another method or another kind of column may need a few more or fewer.
    """

    USUAL = 21
    begun = 0
    loop = ""

    @classmethod
    def count(cls, loop: str) -> None:
        """Count a loop that begins to compile, and keep its name."""
        cls.begun += 1
        cls.loop = loop


class Figures:
    """The bar of risk, and the verdict, of a window's table."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._problem = ""
        self._waiting: Any = None
        self._begun = 0
        self.watched = Watched()
        self._job = Job(
            page, "Make the release", "run", Work.anonymize, lambda _: page.follow_up(), steps=RELEASE
        )

    def wait(self) -> None:
        """Say that figures are on the way, and stop a release under the choices before.

        While loops are compiled, which happens once, that is said, too.
        """
        self._problem = ""
        self._begun = Loops.begun
        self._job.stop()
        if self._waiting is not None and not self._waiting.is_deleted:
            self._waiting.set_visibility(True)

    def look(self) -> None:
        """Show the stage that runs, and the loops that are compiled, while the page waits."""
        if self._waiting is not None and not self._waiting.is_deleted and self._waiting.visible:
            self._runs.set_text(in_words(*self.watched.state()))
            self._preparing.set_visibility(Loops.begun > self._begun)
            total = max(Loops.USUAL, Loops.begun)
            self._compiling.set_text(f"Preparing (once): loop {Loops.begun} of about {total}, {Loops.loop}")
            self._share.set_value(Loops.begun / (total + 1))

    def refuse(self, text: str) -> None:
        """Keep an error, to be shown instead of a verdict."""
        self._problem = text

    def draw(self, place: Any, *, waiting: bool = False) -> None:
        """Show the current figures, also while exact figures are on the way."""
        work = self._page.work
        figures = status.figures(work)
        with emptied(place):
            with marked(ui.element("div").classes("risk"), "risk"):
                self._draw_risk(figures)
            with ui.element("div").classes("figure-tiles"):
                for name, figure, mark in figures.tiles():
                    with ui.element("div"):
                        words("span", name, "muted")
                        marked(words("b", figure), mark)
            self._verdict = ui.element("div").classes("verdict-place")
            self.draw_verdict()
            with ui.element("div").classes("waiting") as self._waiting:
                ui.spinner(size="sm").props('aria-label="Measuring"')
                self._runs = marked(words("span", "Recoding the table", "runs"), "runs")
                with marked(ui.element("div").classes("preparing"), "preparing") as self._preparing:
                    self._compiling = words("span", "").props("role=status")
                    self._share = ui.linear_progress(0.0, show_value=False, size="8px")
                    self._share.props["aria-label"] = "Loops are compiled"
            self._preparing.set_visibility(False)
            self._waiting.set_visibility(waiting)

    def _draw_risk(self, figures: status.Figures) -> None:
        """Show the largest risk before and after, and the limit, as places between 0 and 100 %."""
        told = figures.told()
        words("div", told, "risk-words")
        bar = ui.element("div").classes("risk-bar").props("role=img")
        bar.props["aria-label"] = told
        with bar:
            if figures.after is not None:
                ui.element("div").classes("risk-after").style(f"width: {100 * figures.after:.2f}%")
            for tick in (0, 25, 50, 75, 100):
                if figures.limit is None or abs(tick - 100 * figures.limit) > _WIDTH / 2:
                    end = "end" if tick == 100 else ""
                    words("span", f"{tick}%", f"risk-tick {end}").style(f"left: {tick}%")
            for mark in ("limit", "before", "after"):
                share = getattr(figures, mark)
                if share is not None:
                    side = "left" if 100 * share > 100 - _WIDTH else "right"
                    place = ui.element("div").classes(f"risk-mark {mark} {side}")
                    with place.style(f"left: {100 * share:.2f}%"):
                        # Two words that would touch are one; the sentence above has both figures.
                        near = mark == "before" and abs(share - (figures.after or -1)) < 2 * _WIDTH / 100
                        words("span", "" if near else f"{mark} {at_most(share)}")

    def draw_verdict(self) -> None:
        """Show the verdict or a stand-in, and the way on; count tables have a verdict in their panel."""
        with emptied(self._verdict):
            if self._page.shows_tables:
                words("span", "The verdict of the tables stands in their panel", "muted")
            else:
                self._draw_verdict(self._page.work)

    def _draw_verdict(self, work: Any) -> None:
        go = self._page.go
        open_roles = [] if work.choices is None else work.choices.having(OPEN_ROLE)
        if open_roles:
            marked(words("span", f"Still without a role: {listed(open_roles, 3)}", "warn"), "open-roles")
        elif not work.choices.having("quasi"):
            marked(
                words("span", "No column is a quasi-identifier yet: name at least one.", "warn"), "no-quasi"
            )
        elif self._problem:
            text = self._problem if len(self._problem) < 160 else f"{self._problem[:157]}..."
            marked(words("span", text, "problem").props("role=alert"), "problem")
            if work.infeasible:
                button("What would help?", "help-me", lambda: go("Verdict"), "dense")
        elif work.release is not None:
            state, brief = status.mark(work) or ("", "")
            chip = marked(words("span", f"Verdict: {brief}", f"chip {LOOKS[state]}"), "status-verdict")
            chip.props("role=status")
            if state == "holds":
                button("Hand over", "next", lambda: go("Hand over"), "dense", icon="download")
            else:
                button("See the points", "next", lambda: go("Verdict"), "dense")
        elif not work.follows:
            self._job.draw()
        else:
            words("span", "Judging the release", "muted")
