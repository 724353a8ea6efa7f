"""Changes of a draft that remove open points of the drafted release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from incrowd.core.lazy import pl
from incrowd.release.drafting.roles import Guess, leave_out, with_parts
from incrowd.release.drafting.rounding import coarser_steps, rounding_base
from incrowd_gate.points import Point
from incrowd_gate.rules.columns import are_numbers
from incrowd_gate.texts import separator_of

if TYPE_CHECKING:
    from incrowd.release.jobs.make.release import Release

_WHY = {
    "unique-column": "many records have a value of their own in it",
    "unique-together": "many records have values of their own in it and {other}",
    "outlying-value": "one record is far from all others in it",
    "personal-text": "its texts name or reach people",
    "free-text": "it has sentences that people wrote",
    "list-cells": "its cells are lists",
    "derived-column": "it tells more of {other} than the released cells do",
}
"""The points that a change of the draft removes, and why a column is changed."""


@dataclass
class Remedies:
    """The changes of a draft that remove open points.

    - A column of numbers that single out records, alone or with another column, is rounded.
    - A column of numbers of which one is far from all others is cut off there.
    - Of a sensitive column of lists, the sign between the parts is declared.
    - Any other column is left out if it has such texts, singles out records, or tells a generalized column.
      The last quasi-identifier stays.

    Who is a person nobody can guess, and what a class needs is lost. Such points stay open.

    Attributes
    ----------
    bases
        By column what its numbers are rounded to multiples of.
    limits
        By column where its numbers are cut off, as ``{"top": 0.99}``.
    parts
        By column the sign between the parts of its cells.
    left_out
        By column why it is left out.
    """

    bases: dict[str, float] = field(default_factory=dict)
    limits: dict[str, dict[str, float]] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def apply(self, guesses: Sequence[Guess], release: Release) -> tuple[Guess, ...] | None:
        """Change the draft for the first open point with a remedy, or return None."""
        for point in release.verdict.open:
            if (
                point.name in _WHY
                and (new_guesses := self._change(guesses, point, release.table)) is not None
            ):
                return new_guesses
        return None

    def leave_out(self, guesses: Sequence[Guess]) -> tuple[Guess, ...] | None:
        """Leave out rounded columns, cut columns and columns with parts, or return None.

        None where there are none.
        """
        names = list(dict.fromkeys([*self.bases, *self.limits, *self.parts]))
        self.bases, self.limits, self.parts = {}, {}, {}
        new_guesses = tuple(guesses)
        for name in names:
            new_guesses = (
                self._without(new_guesses, name, "what protects its values leaves too little") or new_guesses
            )
        return new_guesses if names else None

    def in_words(self) -> tuple[str, ...]:
        """Describe the changes."""
        return (
            *(f"{name} is rounded to {base:g}" for name, base in self.bases.items()),
            *(
                f"{name} is cut off: {', '.join(f'{word} = {quantile:g}' for word, quantile in each.items())}"
                for name, each in self.limits.items()
            ),
            *(f"the parts of {name} are judged, parted by {sign!r}" for name, sign in self.parts.items()),
            *(f"{name} is left out: {why}" for name, why in self.left_out.items()),
        )

    def _change(
        self, guesses: Sequence[Guess], point: Point, table: pl.DataFrame
    ) -> tuple[Guess, ...] | None:
        column, *others = point.columns
        if point.name == "list-cells" and column not in self.parts:
            sign = separator_of(table[column].cast(pl.String).unique())
            if sign is not None:
                self.parts[column] = sign
                return _replace(guesses, column, with_parts(_guess(guesses, column), sign))
        if point.limit is not None and (limited := self._cut_off(_guess(guesses, column), *point.limit)):
            return _replace(guesses, column, limited)
        if point.name.startswith("unique-"):
            # The column of all pairs is rounded, or else one of the others; of two the one with more values.
            ways = [(column, others), *((other, [column]) for other in others)]
            if len(others) == 1:
                ways.sort(key=lambda way: -table[way[0]].n_unique())
            for one, beside in ways:
                guess = _guess(guesses, one)
                base = rounding_base(table[one], [table[name] for name in beside], _bases(guess, table[one]))
                if base is not None:
                    self.bases[one] = base
                    treatment = _sorted_settings({**(guess.treatment or {}), "round": base})
                    reason = (
                        "rounded, since the exact number, alone or with another one, may tell whose row it is"
                    )
                    return _replace(guesses, one, replace(guess, treatment=treatment, recipe=reason))
        why = _WHY[point.name].format(other=others[0] if others else "")
        return self._without(guesses, column, why)

    def _cut_off(self, guess: Guess, word: str, quantile: float) -> Guess | None:
        """Cut off numbers beyond a quantile, or return None if the column has another treatment."""
        limits = self.limits.get(guess.name, {})
        if word in limits or not {*(guess.treatment or {})} <= {"round", "top", "bottom"}:
            return None
        self.limits[guess.name] = {**limits, word: quantile}
        reason = "cut off, since the farthest number may tell whose row it is"
        return replace(
            guess, treatment=_sorted_settings({**(guess.treatment or {}), word: quantile}), recipe=reason
        )

    def _without(self, guesses: Sequence[Guess], column: str, why: str) -> tuple[Guess, ...] | None:
        """Leave a column out, except the last quasi-identifier."""
        if [guess.name for guess in guesses if guess.role == "quasi"] == [column]:
            return None
        self.bases.pop(column, None)
        self.limits.pop(column, None)
        self.parts.pop(column, None)
        self.left_out[column] = why
        return _replace(guesses, column, leave_out(_guess(guesses, column), why))


def _guess(guesses: Sequence[Guess], column: str) -> Guess:
    return next(guess for guess in guesses if guess.name == column)


def _replace(guesses: Sequence[Guess], column: str, new: Guess) -> tuple[Guess, ...]:
    return tuple(new if guess.name == column else guess for guess in guesses)


def _bases(guess: Guess, column: pl.Series) -> Iterator[float]:
    """Yield rounding bases for a column of numbers, coarser than the present base."""
    if not are_numbers(column):
        return iter(())
    numbers = column.drop_nulls().cast(pl.Float64, strict=False).unique().sort()
    base = (guess.treatment or {}).get("round")
    finest = numbers.diff().drop_nulls().min()
    step = base if isinstance(base, int | float) else finest
    return coarser_steps(float(step)) if isinstance(step, int | float) else iter(())


def _sorted_settings(treatment: dict[str, object]) -> dict[str, object]:
    """Sort the settings so that the name of the treatment comes first."""
    first = ("round", "top", "bottom")
    return dict(sorted(treatment.items(), key=lambda each: first.index(each[0]) if each[0] in first else 9))
