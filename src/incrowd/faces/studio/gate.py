"""The gate before a release on the page: the verdict, and answers or changes for the points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.faces.studio.fields import button, text_field
from incrowd.faces.studio.figures import LOOKS
from incrowd.faces.studio.mends import TITLES
from incrowd.faces.studio.parts import box, bullets, heading, marked, note, tell, words
from incrowd.faces.studio.rules import attestation_fields
from incrowd_gate.points import KINDS, Accepted
from incrowd_gate.verdict import LISTED

if TYPE_CHECKING:
    from incrowd.faces.studio.mends import Change
    from incrowd_gate.points import Point
    from incrowd_gate.verdict import Verdict


def show_verdict(verdict: Verdict, points: Sequence[str] | None = None) -> None:
    """Show the verdict in colour, with all points or the given lines."""
    marked(words("div", verdict.text, LOOKS[verdict.state]), "verdict").props("role=status")
    lines = verdict.lines() if points is None else points
    if lines:
        with marked(ui.column().classes("box"), "points"):
            bullets(lines)


def _number_of_points(points: int, what: str) -> str:
    return f"{points} {'point' if points == 1 else 'points'} {what}"


class Gate:
    """The gate before a release that does not hold: each point needs an answer, or another release.

    Parameters
    ----------
    work
        The `Work` of the window, or the `Batch`, that takes the answers. It keeps what is typed so far.
    opened
        Called when every field has an answer.
    changes
        Returns the changes that remove a point; of a batch the choices were made long ago.
    taken
        Called when a change was made; by default the release follows.
    read
        Returns what is judged; by default the release.
    """

    def __init__(
        self,
        page: Any,
        work: Any,
        opened: Callable[[], None],
        changes: Callable[[Point], Iterable[Change]] = lambda _: (),
        taken: Callable[[], None] | None = None,
        read: Callable[[Any], Any] = attrgetter("release"),
    ) -> None:
        self._page, self._work, self._opened, self._read = page, work, opened, read
        self._changes, self._taken = changes, taken or page.changed
        self._reasons: list[tuple[Point, Any]] = []
        self._attested: list[Callable[[], dict[str, str] | None]] = []

    def draw(self) -> None:
        """Show each broken and open point, with changes that remove the point and answer fields."""
        verdict = self._read(self._work).verdict
        heading("Before you publish")
        if verdict.broken:
            note("Nothing can be taken: no answer removes what is broken. Go back, or take a change.")
        else:
            note(
                f"{_number_of_points(len(verdict.open), 'may')} give something away or cost much. Take a "
                "change, which makes the release anew, or say of each why you accept it. What is published "
                "repeats your answers, so name no patient."
            )
        points = (*verdict.broken, *verdict.open)
        if len(points) > LISTED:
            note(f"The first {LISTED} of {len(points):,} points; the others follow once these are answered.")
        for number, point in enumerate(points[:LISTED]):
            title = TITLES.get(point.name) or point.name.replace("-", " ").capitalize()
            whose = point.subject or next(iter(point.columns), "")
            with marked(box(f"{title}: {whose}" if whose else title, point.name), f"point-{number}"):
                words("p", point.text)
                note(point.way_out)
                self._show_changes(point)
                if KINDS[point.name].accepted:
                    name = " ".join((point.name, *point.columns))
                    reason = text_field(
                        "Why do you accept it?", f"why-{number}", self._work.reasons.get(name, "")
                    )
                    reason.classes("w-full").props["data-point"] = name
                    reason.on_value_change(
                        lambda e, name=name: self._work.reasons.update({name: e.value or ""})
                    )
                    self._reasons.append((point, reason))
                elif point.name == "unanswered-clause":
                    self._ask(point.subject)
        if self._reasons or self._attested:
            button("Accept and go on", "accept", self._accept, "", icon="done_all")
        self._messages = ui.column().classes("w-full")

    def _show_changes(self, point: Point) -> None:
        with ui.row():
            for change in self._changes(point):

                def take(_: Any, change: Change = change) -> None:
                    if change.make is None:
                        self._page.go(change.name)
                    else:
                        change.make()
                        self._taken()

                button(change.text, f"take-{change.name}", take)
            if KINDS[point.name].broken:
                button("Go to the columns", "go-roles", lambda: self._page.go("Column"))

    def _ask(self, clause: Any) -> None:
        """Ask who attests a clause, if the profile has a question for it."""
        profile = self._work.release.policy.profile
        questions = {} if profile is None else {each.id: each.question for each in profile.profile.clauses}
        if question := questions.get(clause):
            self._attested.append(attestation_fields(clause, question))

    async def _accept(self) -> None:
        reasons = [(point, (field.value or "").strip()) for point, field in self._reasons]
        attested = [answer() for answer in self._attested]
        if self._read(self._work) is None:
            tell(self._messages, "The release is being made anew. Accept its points in a moment.")
            return
        missing = [why for _, why in reasons].count("") + attested.count(None)
        if missing:
            tell(
                self._messages,
                f"Nothing can be taken yet: {_number_of_points(missing, 'without an answer')}.",
            )
            return
        answers = [Accepted(each.name, next(iter(each.columns), None), why) for each, why in reasons]

        def wrong(text: str) -> None:
            tell(self._messages, text)

        if await self._page.doing(wrong, None, self._work.accept, answers, attested) is not None:
            self._page.enable()
            self._opened()
