"""The verdict on a release: holds, open or broken."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from incrowd_gate.errors import VerdictError, setting, visible
from incrowd_gate.points import Point, State, Unanswered

_NAMED = 8
"""Points that the sentence of a verdict names."""
LISTED = 50
"""Points that are listed on a screen; an account has all."""
_MARKS = {"holds": "HOLDS", "open": "OPEN", "broken": "BROKEN"}


@dataclass(frozen=True)
class Verdict:
    """The state of a release, derived from the points.

    - ``broken``: a limit, or a clause of the rule profile, is not met. Nothing may leave.
    - ``open``: a point waits for an answer. Nothing leaves unless somebody says so.
    - ``holds``: every limit is met, and each point has an answer.

    Attributes
    ----------
    points
        All points, those that the policy accepts included, in the order of their kinds.
    what
        ``release``, or ``table`` where a table is assessed as it stands.
    remark
        A sentence about what nobody could check, which every face says behind the verdict; mostly empty.

    Examples
    --------
    >>> Verdict(()).state, Verdict(()).text
    ('holds', 'HOLDS: the release satisfies its policy, and no point is open.')
    """

    points: tuple[Point, ...]
    what: str = "release"
    remark: str = ""

    @property
    def state(self) -> State:
        """``holds``, ``open`` or ``broken``."""
        states = {point.state for point in self.points}
        return "broken" if "broken" in states else "open" if "open" in states else "holds"

    @property
    def holds(self) -> bool:
        """Whether every limit is met and no point is open."""
        return self.state == "holds"

    @property
    def open(self) -> tuple[Point, ...]:
        """The points that wait for an answer."""
        return tuple(point for point in self.points if point.state == "open")

    @property
    def broken(self) -> tuple[Point, ...]:
        """The points that no answer removes."""
        return tuple(point for point in self.points if point.state == "broken")

    @property
    def accepted(self) -> tuple[Point, ...]:
        """The points that the policy accepts, each with a reason."""
        return tuple(point for point in self.points if point.state == "holds")

    @property
    def text(self) -> str:
        """The verdict as a sentence, with the remark as another sentence."""
        if self.broken:
            said = f"the {self.what} does not satisfy its policy ({_kinds(self.broken)})."
        elif self.open:
            said = f"{_number_of_points(self.open, 'waits', 'wait')} for an answer ({_kinds(self.open)})."
        elif self.accepted:
            answers = _kinds(self.accepted)
            said = f"the {self.what} satisfies its policy, and each point has an answer ({answers})."
        else:
            said = f"the {self.what} satisfies its policy, and no point is open."
        return f"{_MARKS[self.state]}: {said} {self.remark}".rstrip()

    @property
    def brief(self) -> str:
        """The verdict in a few words: ``holds``, ``2 points are open`` or ``broken``."""
        return self.state if self.state != "open" else _number_of_points(self.open, "is open", "are open")

    def lines(self) -> list[str]:
        """Return broken, open and accepted points as sentences, of many only the first."""
        points = (*self.broken, *self.open, *self.accepted)
        return [*(point.sentence() for point in points[:LISTED]), *_more(points)]

    def refuse(self, *, only_broken: bool = False) -> None:
        """Refuse a release that does not hold, with `only_broken` only if broken.

        Raises
        ------
        VerdictError
            With each point, the change that removes it and the line that accepts it; of very many points the
            first, and how many more of each kind there are. Its `verdict` has them all.
        """
        points = self.broken if only_broken else (*self.broken, *self.open)
        if not points:
            return
        lines = [f"nothing was released. {self.text}"]
        for point in points[:LISTED]:
            lines.append(f"- {point.sentence()}")
            if point.answer:
                lines.append(f"  Or accept it: {point.answer}")
        lines += [f"- {line}" for line in _more(points)]
        # The page has no such setting.
        if not self.broken and (written := setting('unanswered="write"', "--unanswered write")):
            lines.append(f"Or release it all the same, which the account then says: {written}")
        raise VerdictError("\n".join(lines), self)

    def admit(self, unanswered: Unanswered) -> None:
        """Raise for an open or broken verdict, unless the caller asks to write a release with open points.

        A broken release passes where the caller writes open ones, and is refused where it is written.

        Raises
        ------
        VerdictError
        """
        if unanswered == "refuse":
            self.refuse()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the table.

        ``not_looked_for`` has the signs of people that texts were not searched for, as a library is absent.
        """
        from incrowd_gate.texts import missing

        return {
            "state": self.state,
            "text": self.text,
            "points": [point.to_dict() for point in self.points],
            "not_looked_for": [sign for sign, _ in missing()],
        }

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in self.lines())
        return visible(f"<p><b>{html.escape(self.text)}</b></p><ul>{lines}</ul>")


def _more(points: Sequence[Point]) -> list[str]:
    """Count the points that are not listed, by kind, if there are any."""
    kinds = Counter(point.name for point in points[LISTED:])
    if not kinds:
        return []
    counts = ", ".join(f"{name} ({count:,})" for name, count in kinds.items())
    return [f"And {kinds.total():,} more: {counts}. Leave out the columns that nobody needs, and run again."]


def _number_of_points(points: Sequence[Point], one: str, several: str) -> str:
    """Return the number of points with a verb in singular or plural."""
    return f"1 point {one}" if len(points) == 1 else f"{len(points):,} points {several}"


def _kinds(points: Sequence[Point]) -> str:
    """Name the points by kind and column or clause, each once with their number, of many only the first."""
    whose = ((x.name, x.subject if "clause" in x.name else next(iter(x.columns), None)) for x in points)
    kinds = Counter(": ".join(filter(None, each)) for each in whose)
    names = [name if number == 1 else f"{name} ({number:,})" for name, number in kinds.items()]
    return "; ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
