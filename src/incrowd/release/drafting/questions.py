"""The questions of a draft, with a common question for similar columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from incrowd.core.table.schema import OPEN_ROLE, Role
from incrowd.release.drafting.roles import Guess

_ALONE = 5
"""Open columns up to which each is a question of its own."""
_NAMED = 3


@dataclass(frozen=True)
class Question:
    """A question about a column, or about similar columns.

    Attributes
    ----------
    mark
        What the columns have for a role in the draft: ``?``, or ``?2`` for all columns of the second group.
    names
        The columns.
    text
        The question in words.
    special
        The special category of personal data that the columns may be of; else empty. No common answer
        releases such columns as they are.
    shapes
        The shapes of frequent values by column, such as ``AA-999``.
    labels
        What the file says that a column is, by column, where it does.
    refused
        The roles that a column cannot have, by column.
    bits
        How much they tell of a record, in bits, each for itself.
    """

    mark: str
    names: tuple[str, ...]
    text: str
    special: str = ""
    shapes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, frozenset[Role]] = field(default_factory=dict)
    bits: float = 0.0


def joined_questions(guesses: Sequence[Guess]) -> tuple[Guess, ...]:
    """Join similar open columns into groups with a common mark, if many columns are open.

    Columns that may be of a special category of personal data are a group without a mark, so that a draft
    is answered for each of them.
    """
    alike: dict[str, list[Guess]] = {}
    for guess in guesses:
        if guess.role == OPEN_ROLE and guess.alike:
            alike.setdefault(guess.alike, []).append(guess)
    if sum(guess.role == OPEN_ROLE for guess in guesses) <= _ALONE:
        return tuple(guesses)
    groups = [name for name, members in alike.items() if len(members) > 1]
    unspecial = [name for name in groups if not alike[name][0].special]
    marks = {name: f"{OPEN_ROLE}{number}" for number, name in enumerate(unspecial, 1)}
    return tuple(
        replace(guess, group=guess.alike, mark=marks.get(guess.alike, ""))
        if guess.role == OPEN_ROLE and guess.alike in groups
        else guess
        for guess in guesses
    )


def questions_of(guesses: Sequence[Guess]) -> list[Question]:
    """Return the questions, first of groups in the order of the marks, then of single columns."""
    groups: dict[str, list[Guess]] = {}
    alone = []
    for guess in guesses:
        if guess.role == OPEN_ROLE and guess.group:
            groups.setdefault(guess.group, []).append(guess)
        elif guess.role == OPEN_ROLE:
            alone.append(_question([guess]))
    group_questions = [_question(members) for members in groups.values()]
    return sorted(group_questions, key=lambda each: int(each.mark[1:] or 0)) + alone


def _question(guesses: Sequence[Guess]) -> Question:
    first = guesses[0]
    return Question(
        first.mark or OPEN_ROLE,
        tuple(guess.name for guess in guesses),
        f"{first.name}: {first.reason}" if len(guesses) == 1 else _group_text(guesses),
        first.special,
        {guess.name: guess.shapes for guess in guesses},
        {guess.name: guess.label for guess in guesses if guess.label},
        {guess.name: guess.refused for guess in guesses if guess.refused},
        math.fsum(guess.bits for guess in guesses),
    )


def _group_text(guesses: Sequence[Guess]) -> str:
    # From all parts of the table, since neighbours are alike.
    step = max(len(guesses) // _NAMED, 1)
    names = ", ".join(guess.name for guess in guesses[::step][:_NAMED])
    such = f"such as {names}" if len(guesses) > _NAMED else f"({names})"
    law = ", which the law protects" if guesses[0].special else ""
    return f"{len(guesses):,} {guesses[0].alike} {such}{law}: what are they?"
