"""The kinds of points in a verdict."""

from __future__ import annotations

from typing import Literal, NamedTuple

from incrowd_verify.parameters import Parameter

State = Literal["holds", "open", "broken"]
"""What a verdict says of a release."""

Unanswered = Literal["refuse", "write"]
"""What becomes of a release with open points."""
UNANSWERED = Parameter(
    str,
    "what becomes of a release with open points: it is refused, or written all the same",
    choices=("refuse", "write"),
)


class Kind(NamedTuple):
    """One kind of point.

    Attributes
    ----------
    meaning
        What such a point says, in one phrase.
    accepted
        Whether a policy can accept it with a reason.
    broken
        Whether a release with such a point is broken, whatever anybody answers.
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
    "nothing-left": Kind("no cell of a quasi-identifier tells anything", accepted=False, broken=True),
    "not-checked": Kind("a limit could not be checked with what was given", accepted=False),
    "unique-column": Kind("many records have a value of their own in a column"),
    "unique-together": Kind("two columns single out many records together"),
    "outlying-value": Kind("one record has a number or date far beyond all others of a column"),
    "personal-text": Kind("a column has texts that name or reach people"),
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
    "much-suppressed": Kind("more than a fifth of the records are suppressed"),
}
"""Every kind of point by its name, in the order in which a verdict lists them."""

ANSWERABLE = tuple(name for name, kind in KINDS.items() if kind.accepted)
"""The kinds that a policy can accept."""
