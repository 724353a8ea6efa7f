"""The contributors to the cells of count tables, and the judgement of the cells by a table's rules.

Source of the rules: Hundepool et al., Statistical Disclosure Control, Wiley 2012, section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf

from incrowd_gate.lazy import NDArray, np
from incrowd_verify.count_tables.rules import Rules

_EXACT = 1e-9
"""Share of a sum by which two orders of adding it up may differ."""


@dataclass(frozen=True)
class Values:
    """A cell by the raw table, or several cells together.

    - `value`: the count or the sum.
    - `people`: how many people it is about.
    - `makers`: how many of them have a part above 0 in it.
    - `largest`: the largest parts of people in descending order, as many as the rules ask for.
    """

    value: float
    people: int
    makers: int
    largest: Sequence[float]

    def is_unsafe(self, rules: Rules) -> bool:
        """Say whether the rules of a table find the cell unsafe: threshold, dominance, or p %.

        The threshold counts those who make it: a person with a part of 0 hides nobody's part.
        """
        return self.is_small(rules) or self.slack(rules) > 0

    def is_small(self, rules: Rules) -> bool:
        """Say whether too few people make the cell; a cell without people is empty."""
        return self.makers < rules["threshold"] and (self.people > 0 or rules["zeros"] == "hide")

    def slack(self, rules: Rules) -> float:
        """Return how far from a sum an interval must reach by dominance and p %; 0 for a safe sum."""
        margin = self.margin(rules)
        return margin if margin > _EXACT * self.value else 0.0

    def margin(self, rules: Rules) -> float:
        """Return the larger margin by which a sum misses dominance and p %; at most 0 if the sum meets both.

        With parts x1 >= x2 >= ... of a sum X the largest value that fits must be ``(x1 + .. + xn) / share``
        or more for dominance, and ``X + p/100 * x1 - (X - x1 - x2)`` for p %. The margin is what that is
        beyond X. That of several cells together is at most the sum of theirs.
        """
        margins = [-inf]
        if rules["dominance"] is not None and rules["sum"] is not None:
            number, share = rules["dominance"]
            margins.append(fsum(self.largest[:number]) / share - self.value)
        if rules["p_percent"] is not None and rules["sum"] is not None:
            first, second = [*self.largest[:2], 0.0, 0.0][:2]
            margins.append(rules["p_percent"] / 100 * first - (self.value - first - second))
        return max(margins)


@dataclass(frozen=True)
class Contributors:
    """The people of a cell, or of several together.

    - `persons`: int64[people]: the number of each.
    - `parts`: float64[people]: how much each has in it, records or a sum.
    """

    persons: NDArray[np.int64]
    parts: NDArray[np.float64]

    @classmethod
    def together(cls, cells: Iterable[Contributors]) -> Contributors:
        """Return the people of some cells, each once with the sum of the parts."""
        every = [*cells]
        persons, places = np.unique(np.concatenate([each.persons for each in every]), return_inverse=True)
        parts = np.concatenate([each.parts for each in every])
        return cls(persons, np.asarray(np.bincount(places, parts, len(persons)), np.float64))

    @cached_property
    def values(self) -> Values:
        """The values that the rules ask for; a count of people is `people`, and not `value`."""
        parts = np.sort(self.parts)[::-1].tolist()
        return Values(fsum(parts), len(parts), int((self.parts > 0).sum()), parts)

    @property
    def alone(self) -> int | None:
        """The number of the sole maker of a cell; None where nobody or several people make the cell."""
        return next(iter(self.makers)) if len(self.makers) == 1 else None

    @cached_property
    def makers(self) -> frozenset[int]:
        """The numbers of the people with a part above 0."""
        return frozenset(self.persons[self.parts > 0].tolist())


def nobody() -> Contributors:
    """Return the people of an empty cell."""
    return Contributors(np.empty(0, np.int64), np.empty(0))
