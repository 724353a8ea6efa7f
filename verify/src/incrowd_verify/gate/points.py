"""A point of a verdict, and the answers to points."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from incrowd_verify.errors import setting, visible
from incrowd_verify.gate.accepted import Accepted
from incrowd_verify.gate.kinds import KINDS, State


@dataclass(frozen=True)
class Point:
    """A point of a verdict: a failed limit, or a danger or loss that needs an answer.

    Attributes
    ----------
    name
        Its kind, a key of `KINDS`.
    columns
        The columns that it is about; none where it is about the records.
    share
        Share of the records that it concerns, 0..1; None where it is about no records.
    text
        A sentence with the figures. It names columns and no value.
    way_out
        A sentence on the change that removes the point.
    why
        Why the policy accepts it; None where it does not.
    limit
        The setting that cuts off what the point is about, as ``("top", 0.99)``; None where none does.

    Examples
    --------
    >>> Point("much-suppressed", (), 0.3, "30.0% of the records are suppressed.", "Ask for less.").state
    'open'
    """

    name: str
    columns: tuple[str, ...]
    share: float | None
    text: str = field(repr=False)
    way_out: str = field(repr=False)
    why: str | None = field(default=None, repr=False)
    limit: tuple[str, float] | None = field(default=None, repr=False)

    @property
    def state(self) -> State:
        """The verdict by this point alone: ``broken``, ``open``, or ``holds`` if accepted."""
        if KINDS[self.name].broken:
            return "broken"
        return "open" if self.why is None else "holds"

    @property
    def answer(self) -> str:
        """The option or policy entry that accepts the point, or "" for an unacceptable point."""
        if not KINDS[self.name].accepted:
            return ""
        about = f":{self.columns[0]}" if self.columns else ""
        values = ", ".join(json.dumps(text, ensure_ascii=False) for text in (self.name, *self.columns[:1]))
        key = "" if self.columns else "why="
        entry = f'[[accepted]] point = "{self.name}"'
        entry += f', column = "{self.columns[0]}"' if self.columns else ""
        return setting(
            f'accepted=[ic.Accepted({values}, {key}"...")]',
            f'--accept {self.name}{about}="..."',
            f'{entry}, why = "..."',
        )

    def _repr_html_(self) -> str:
        return visible(f"<p>{html.escape(self.sentence())}</p>")

    def sentence(self) -> str:
        """Return the point as a text: kind, figures, and the way out or the reason."""
        end = self.way_out if self.why is None else f"Accepted: {self.why}"
        return f"{self.name}: {self.text} {end}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the table."""
        return {
            "point": self.name,
            "columns": list(self.columns),
            "share": self.share,
            "state": self.state,
            "text": self.text,
            "way_out": self.way_out,
            "accepted": self.why,
        }


def answered(points: Iterable[Point], answers: Iterable[Accepted]) -> tuple[Point, ...]:
    """Return points in the order of kinds, with the reasons of accepting answers."""
    answers = tuple(answers)
    return tuple(
        replace(point, why=next((each.why for each in answers if _is_about(each, point)), None))
        for point in in_order(points)
    )


def in_order(points: Iterable[Point]) -> list[Point]:
    """Return points in the order of kinds."""
    order = list(KINDS)
    return sorted(points, key=lambda point: order.index(point.name))


def _is_about(answer: Accepted, point: Point) -> bool:
    return answer.point == point.name and answer.column == next(iter(point.columns), None)
