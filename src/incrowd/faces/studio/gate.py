"""The gate before a release on the page: its verdict, and the answers or changes that points wait for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.faces.studio.changes import changes_of, head_of
from incrowd.faces.studio.fields import button, text_field
from incrowd.faces.studio.parts import box, bullets, heading, marked, note, tell, words
from incrowd.faces.studio.rules import attestation_fields
from incrowd.release.gate.accepted import Accepted
from incrowd.release.gate.kinds import KINDS
from incrowd.release.gate.verdict import LISTED

if TYPE_CHECKING:
    from incrowd.release.gate.points import Point
    from incrowd.release.gate.verdict import Verdict
    from incrowd.verification import ClauseResult

LOOKS = {"holds": "good", "open": "warn", "broken": "problem"}
"""How each state of a verdict looks: green, amber and red."""


def show_verdict(verdict: Verdict, points: Sequence[str] | None = None) -> None:
    """Show the verdict in its colour, and its points, or those lines that are named."""
    marked(words("div", verdict.text, LOOKS[verdict.state]), "verdict").props("role=status")
    lines = verdict.lines() if points is None else points
    if lines:
        with marked(ui.column().classes("box"), "points"):
            bullets(lines)


def _number(points: int, what: str) -> str:
    return f"{points} {'point' if points == 1 else 'points'} {what}"


class Gate:
    """The gate before a release that does not hold: each point needs an answer, or another release.

    It calls `opened` when every field has an answer.
    """

    def __init__(self, page: Any, opened: Callable[[], None]) -> None:
        self._page, self._work, self._opened = page, page.work, opened
        self._head = head_of(self._work)
        self._reasons: list[tuple[Point, Any]] = []
        self._attested: list[Callable[[], dict[str, str] | None]] = []

    def draw(self) -> None:
        """Show each broken and open point, with the changes that remove it and the fields that answer it."""
        release = self._work.release
        verdict = release.verdict
        heading("Before you publish")
        if verdict.broken:
            note("Nothing can be taken: no answer removes what is broken. Go back, or take a change.")
        else:
            note(
                f"{_number(len(verdict.open), 'may')} give something away or cost much. Take a change, which "
                "makes the release anew, or say of each why you accept it. The account repeats your answers, "
                "so name no patient."
            )
        # A release whose clauses nobody judged has a point without a clause.
        clauses = chain((each for each in release.clauses if each.unanswered), repeat(None))
        points = (*verdict.broken, *verdict.open)
        if len(points) > LISTED:
            note(f"The first {LISTED} of {len(points):,} points; the others follow once these are answered.")
        for number, point in enumerate(points[:LISTED]):
            with marked(box(": ".join((point.name, *point.columns[:1]))), f"point-{number}"):
                words("p", point.text)
                note(point.way_out)
                self._show_changes(point)
                if KINDS[point.name].accepted:
                    reason = text_field("Why do you accept it?", f"why-{number}").classes("w-full")
                    self._reasons.append((point, reason))
                elif point.name == "unanswered-clause":
                    self._ask(next(clauses))
        if self._reasons or self._attested:
            button("Accept and go on", "accept", self._accept, "", icon="done_all")
        self._messages = ui.column().classes("w-full")

    def _show_changes(self, point: Point) -> None:
        changes = list(changes_of(point, self._work, self._head))
        with ui.row() if changes or KINDS[point.name].broken else nullcontext():
            for change in changes:

                async def take(_: Any, make: Callable[[], None] = change.make) -> None:
                    make()
                    await self._page.run_again()

                button(change.text, f"take-{change.name}", take)
            if KINDS[point.name].broken:
                button("Go to Roles", "go-roles", lambda: self._page.go("Roles"))

    def _ask(self, clause: ClauseResult | None) -> None:
        """Ask who attests a clause; one that lacks an input waits for it among the limits."""
        profile = self._work.release.policy.profile
        question = None
        if clause is not None and profile is not None:
            asked = {each.id: each.question for each in profile.profile.clauses}
            question = asked.get(clause.id)
        if clause is not None and question is not None:
            self._attested.append(attestation_fields(clause.id, question))
        else:
            button("Go to Limits", "go-limits", lambda: self._page.go("Limits"))

    async def _accept(self) -> None:
        reasons = [(point, (field.value or "").strip()) for point, field in self._reasons]
        attested = [answer() for answer in self._attested]
        missing = [why for _, why in reasons].count("") + attested.count(None)
        if missing:
            tell(self._messages, f"Nothing can be taken yet: {_number(missing, 'without an answer')}.")
            return
        answers = [Accepted(each.name, next(iter(each.columns), None), why) for each, why in reasons]

        def wrong(text: str) -> None:
            tell(self._messages, text)

        if await self._page.doing(wrong, None, self._work.accept, answers, attested) is not None:
            self._page.enable()
            self._opened()
