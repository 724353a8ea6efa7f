"""The panel of the verdict: each point with helpful changes, and the figures of the release."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from incrowd.faces.studio import status
from incrowd.faces.studio.fields import button
from incrowd.faces.studio.gate import Gate, show_verdict
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.mends import changes_of, head_of
from incrowd.faces.studio.panels.account import Account
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import emptied, heading, marked, note, words
from incrowd.faces.studio.work import Work


class VerdictPanel(Panel):
    """See whether the release holds, mend or accept points, and look at the figures."""

    name = "Verdict"
    follows = True

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._advice = Job(page, "What would help?", "advise", Work.advise, self._show_advice, icon="search")
        self._account = Account(page)
        self._points: list[Any] | None = None

    def draw(self) -> None:
        """Show the verdict and the points, or the changes that would make a release possible."""
        work = self.work
        self._points = None
        if work.infeasible and status.has_roles(work):
            self._offer()
        elif work.release is None:
            heading("Is the release safe?")
            note("There is no release yet: every column needs a role, and the limits have to hold.")
        else:
            self._show_verdict()

    def _show_verdict(self) -> None:
        work = self.work
        verdict = work.release.verdict
        heading("Is the release safe?")
        show_verdict(verdict, None if verdict.holds else [each.sentence() for each in verdict.accepted])
        if not verdict.holds:
            self._points = list(verdict.lines())
            changes = partial(changes_of, work=work, head=head_of(work))
            Gate(self.page, work, self.page.follow_up, changes, self.page.limits_taken).draw()
        else:
            button("Hand over", "to-hand-over", lambda: self.page.go("Hand over"), "", icon="download")
        with ui.column().classes("account w-full items-start") as self._below:
            self._account.draw()

    def follow(self) -> bool:
        """Leave unchanged points in place, with reasons in the making, above new figures."""
        work = self.work
        if self._points is None or work.infeasible or not work.is_recoded:
            return False
        if work.release is None:
            return bool(work.follows)  # It is judged in a moment.
        if self._points != list(work.release.verdict.lines()):
            return False
        with emptied(self._below):
            self._account.draw()
        return True

    # --- a table that cannot satisfy the policy ---------------------------------------------------

    def _offer(self) -> None:
        """Show the changes that help, and the search for changes."""
        heading("The table cannot satisfy the policy")
        note("Single changes are tried, each with a search of its own, until three are found that help.")
        self._advice.draw()
        self._changes = marked(ui.column().classes("w-full"), "advice").props("role=status")
        ui.timer(0, self._advice.run, once=True)

    def _show_advice(self, changes: list[Any]) -> None:
        with emptied(self._changes):
            if not changes:
                note("No single change that was tried is enough. Loosen two limits, or name fewer columns.")
            for change in changes:
                with ui.row(wrap=False).classes("items-center"):
                    take = button("Take it", "take-advice", lambda _, change=change: self._take(change))
                    take.classes("shrink-0").props("no-wrap").props["aria-label"] = f"Take it: {change.text}"
                    words("span", change.text)

    def _take(self, change: Any) -> None:
        """Make a change; the release follows."""
        self.page.take(change.edited(self.work.chosen.document))
