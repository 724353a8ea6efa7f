"""The questions of a draft: columns that look alike are asked about together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from incrowd.drafting.roles import Guess
from incrowd.table.schema import OPEN_ROLE

_ALONE = 5
"""Open columns up to which each is a question of its own."""
_NAMED = 3


@dataclass(frozen=True)
class Question:
    """A question about one column, or about columns that look alike.

    Attributes
    ----------
    mark
        What the columns have for a role in the draft: ``?``, or ``?2`` for all columns of the second group.
    names
        The columns.
    text
        The question in words.
    """

    mark: str
    names: tuple[str, ...]
    text: str


def joined_questions(guesses: Sequence[Guess]) -> tuple[Guess, ...]:
    """Give open columns that look alike one mark, if there are more open columns than a few."""
    alike: dict[str, list[str]] = {}
    for guess in guesses:
        if guess.role == OPEN_ROLE and guess.alike:
            alike.setdefault(guess.alike, []).append(guess.name)
    if sum(guess.role == OPEN_ROLE for guess in guesses) <= _ALONE:
        return tuple(guesses)
    groups = [kind for kind, names in alike.items() if len(names) > 1]
    marks = {kind: f"{OPEN_ROLE}{number}" for number, kind in enumerate(groups, 1)}
    return tuple(
        replace(guess, mark=marks.get(guess.alike, "")) if guess.role == OPEN_ROLE else guess
        for guess in guesses
    )


def questions_of(guesses: Sequence[Guess]) -> list[Question]:
    """Return the questions: those about several columns first, in the order of their marks."""
    groups: dict[str, list[Guess]] = {}
    alone = []
    for guess in guesses:
        if guess.role == OPEN_ROLE and guess.mark:
            groups.setdefault(guess.mark, []).append(guess)
        elif guess.role == OPEN_ROLE:
            alone.append(Question(OPEN_ROLE, (guess.name,), f"{guess.name}: {guess.reason}"))
    together = [
        Question(mark, tuple(guess.name for guess in found), _asked_of(found))
        for mark, found in groups.items()
    ]
    return sorted(together, key=lambda each: int(each.mark[1:])) + alone


def _asked_of(guesses: Sequence[Guess]) -> str:
    # From all parts of the table, since neighbours are alike.
    step = max(len(guesses) // _NAMED, 1)
    named = ", ".join(guess.name for guess in guesses[::step][:_NAMED])
    such = f"such as {named}" if len(guesses) > _NAMED else f"({named})"
    return f"{len(guesses):,} {guesses[0].alike} {such}: what are they?"
