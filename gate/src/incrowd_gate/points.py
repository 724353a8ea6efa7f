"""The kinds of points in a verdict, a point, and the answers to points."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

from incrowd_gate.errors import PolicyError, did_you_mean, named, setting, visible
from incrowd_gate.parameters import Parameter

State = Literal["holds", "open", "broken"]
"""What a verdict says of a release."""

Unanswered = Literal["refuse", "write"]
"""What becomes of a release with open points."""
UNANSWERED = Parameter(
    str,
    "what becomes of a release with open points: it is refused, or written all the same",
    choices=get_args(Unanswered),
)


class Kind(NamedTuple):
    """A kind of point: the meaning in a phrase, and whether a policy can accept the point with a reason.

    A release with a `broken` one is broken, whatever anybody answers.
    """

    meaning: str
    accepted: bool = True
    broken: bool = False


KINDS = {
    "limit": Kind("a limit of the policy is not met", accepted=False, broken=True),
    "conformity": Kind("the released file does not suit its policy", accepted=False, broken=True),
    "clause": Kind("a clause of the rule profile is not met", accepted=False, broken=True),
    "unanswered-clause": Kind("a clause of the rule profile lacks an answer or an input", accepted=False),
    "ledger": Kind("people are exposed together with earlier releases", accepted=False, broken=True),
    "cell": Kind("a cell of a count table can be computed too closely", accepted=False, broken=True),
    "linked-tables": Kind("count tables tie to one another, and what they tell together was not computed"),
    "linked-columns": Kind("count tables of two quantities tell each other"),
    "nothing-left": Kind("no cell of a quasi-identifier tells anything", accepted=False, broken=True),
    "not-checked": Kind(
        "a limit or a kind of point could not be checked with what was given", accepted=False
    ),
    "unique-column": Kind("many records have a value of their own in a column"),
    "unique-together": Kind("two columns single out many records together"),
    "outlying-value": Kind("one record has a number or date far beyond all others of a column"),
    "personal-text": Kind("a column has texts that name or reach people"),
    "named-identifier": Kind("a column is called, or looks, as what names or reaches one person"),
    "free-text": Kind("a column has sentences that people wrote"),
    "unread-column": Kind("a column was not searched for texts about people"),
    "list-cells": Kind("cells of a sensitive column list several values"),
    "unprotected-sensitive": Kind("no model protects a sensitive column"),
    "derived-column": Kind("a column that is released as it is follows from a generalized one"),
    "untrue-label": Kind("values stand under an interval of a hierarchy that does not hold them"),
    "repeated-id": Kind("a column looks like the id of people who have several rows"),
    "suppressed-records": Kind("suppressed records leave and satisfy no model"),
    "few-matches": Kind("records with suppressed cells fit fewer released ones than k"),
    "blanked-column": Kind("most cells of a quasi-identifier stand for every value"),
    "much-suppressed": Kind(
        "more than a fifth of the records, or a third of the cells of a count table, are suppressed"
    ),
}
"""Every kind of point by its name, in the order in which a verdict lists them."""

ANSWERABLE = tuple(name for name, kind in KINDS.items() if kind.accepted)
"""The kinds that a policy can accept."""


@dataclass(frozen=True)
class Accepted:
    """A point of a verdict that the owner of the data accepts.

    Attributes
    ----------
    point
        Its kind, a key of `KINDS` that can be accepted.
    column
        The column that it is about, the first where it is about several. None for one about the records.
    why
        The reason. The account of the release repeats it.

    Raises
    ------
    PolicyError
        When nobody can accept such a point, or no reason is named.

    Examples
    --------
    >>> Accepted("unique-column", "seqn", "a number that the study made up").column
    'seqn'
    >>> Accepted.read("unique-column:seqn=a number that the study made up").column
    'seqn'
    """

    point: str
    column: str | None = None
    why: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return plain data in the form of a policy file."""
        settings = {"point": self.point, "column": self.column, "why": self.why}
        return {name: value for name, value in settings.items() if value is not None}

    def _repr_html_(self) -> str:
        about = f" of {self.column}" if self.column else ""
        return visible(f"<p>{html.escape(f'{self.point}{about} is accepted: {self.why}')}</p>")

    @classmethod
    def read(cls, text: str) -> Accepted:
        """Read an answer in option form: ``POINT=REASON``, or ``POINT:COLUMN=REASON``."""
        about, sign, why = text.partition("=")
        if not sign:
            raise PolicyError(
                'accepted: write POINT:COLUMN="reason", or POINT="reason" where it is about records'
            )
        point, _, column = about.partition(":")
        return cls(point.strip(), column.strip() or None, why.strip())

    def __post_init__(self) -> None:
        if self.point not in ANSWERABLE:
            what = "nobody can accept a point" if self.point in KINDS else "there is no point"
            raise PolicyError(
                f"accepted: {what} {self.point!r}; those are {named(ANSWERABLE, 30)}"
                + did_you_mean(self.point, ANSWERABLE)
            )
        if not self.why.strip():
            raise PolicyError(f"accepted: {self.point}: say why, since the account repeats the reason")


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
        The setting that removes what the point is about, as ``("top", 0.99)`` or ``("k", 11)``; None where
        none does.
    subject
        The id of the clause, or the name of the count table, that it is about; None where it is about none.

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
    subject: str | None = None

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
        """Return plain data for JSON, without any value of the table.

        An accepted point has no way out: each interface words one in its own terms, and what all of them
        publish is the same.
        """
        return {
            "point": self.name,
            "columns": list(self.columns),
            "share": self.share,
            "state": self.state,
            "text": self.text,
            "way_out": self.way_out if self.why is None else "",
            "accepted": self.why,
        }


def answered(points: Iterable[Point], answers: Iterable[Accepted]) -> tuple[Point, ...]:
    """Return points in the order of kinds, with the reasons of accepting answers."""
    whys = {(each.point, each.column): each.why for each in reversed([*answers])}
    return tuple(
        replace(point, why=whys.get((point.name, next(iter(point.columns), None))))
        for point in in_order(points)
    )


def in_order(points: Iterable[Point]) -> list[Point]:
    """Return points in the order of kinds."""
    order = list(KINDS)
    return sorted(points, key=lambda point: order.index(point.name))
