"""The gate before a release on the page: the verdict, and why each open point is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.gate.accepted import Accepted
from incrowd.gate.kinds import KINDS
from incrowd.studio.fields import button, text_field
from incrowd.studio.parts import box, bullets, heading, marked, note, tell, words

if TYPE_CHECKING:
    from incrowd.gate.verdict import Verdict
    from incrowd.studio.work import Work

_LOOKS = {"holds": "good", "open": "warn", "broken": "problem"}


def show_verdict(verdict: Verdict) -> None:
    """Show the verdict in its colour, and its points: broken, open, and accepted ones."""
    marked(words("div", verdict.text, _LOOKS[verdict.state]), "verdict").props("role=status")
    if verdict.points:
        with marked(ui.column().classes("box"), "points"):
            bullets(verdict.lines())


def _number(points: int, what: str) -> str:
    return f"{points} {'point' if points == 1 else 'points'} {what}"


class Gate:
    """The gate before a release with open points: each needs a reason to be accepted.

    It calls `opened` when every point has an answer.
    """

    def __init__(self, work: Work, opened: Callable[[], None]) -> None:
        assert work.release is not None
        self._work, self._opened = work, opened
        self._points = [point for point in work.release.verdict.open if KINDS[point.name].accepted]
        self._reasons: list[Any] = []

    def draw(self) -> None:
        """Show each open point with a field for the reason."""
        heading("Before you publish")
        note(
            f"{_number(len(self._points), 'may')} give something away or cost much. Go back and change the "
            "policy, or say of each why you accept it. The account repeats your reasons, so name no person."
        )
        for number, point in enumerate(self._points):
            with marked(box(", ".join((point.name, *point.columns))), f"point-{number}"):
                words("p", point.text)
                note(point.way_out)
                reason = text_field("Why do you accept it?", f"why-{number}").classes("w-full")
                self._reasons.append(reason)
        if self._points:
            button("Accept and go on", "accept", self._accept, "", icon="done_all")
        self._messages = ui.column().classes("w-full")

    def _accept(self) -> None:
        reasons = [(reason.value or "").strip() for reason in self._reasons]
        if missing := reasons.count(""):
            tell(self._messages, f"Nothing can be taken yet: {_number(missing, 'without a reason')}.")
            return
        answers = zip(self._points, reasons, strict=True)
        self._work.accept([Accepted(each.name, next(iter(each.columns), None), why) for each, why in answers])
        self._opened()
