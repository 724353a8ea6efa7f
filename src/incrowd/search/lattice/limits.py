"""The limits of a search of the lattice."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incrowd.search.lattice.lattice import Lattice

if TYPE_CHECKING:
    from incrowd.search.base import SearchProblem

_FIRST = 8
"""Nodes to begin with, while nobody knows how long one takes."""

_TICK = 1e-9
"""Seconds; less have not passed."""

_STEPS = 1_000
"""Parts of a budget that progress counts."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a search that has begun is to stop."""

    nodes: float
    start: float
    end: float

    def reached(self, looked: int) -> tuple[int, int]:
        """Return how much of the budget is spent, and how much there is, for `Progress.advance`."""
        if self.spent(looked):
            return _STEPS, _STEPS
        share = max(looked / self.nodes, (time.monotonic() - self.start) / (self.end - self.start))
        return int(share * _STEPS), _STEPS

    def spent(self, looked: int) -> bool:
        """Say whether a search that has looked at so many nodes is to stop."""
        return looked >= self.nodes or time.monotonic() >= self.end

    @property
    def timed(self) -> bool:
        """Whether seconds are limited."""
        return self.end < math.inf

    @property
    def seconds(self) -> float:
        """How long the search may take."""
        return self.end - self.start

    @property
    def passed(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self.start

    def left(self, looked: int) -> int:
        """Return how many nodes may still be looked at: those that are left, and that the time is enough for.

        Nodes to come take as long as those before did, it is supposed, and at least one may be looked at.
        """
        left = min(self.nodes - looked, 2**31)
        if self.timed:
            at_once = (self.end - time.monotonic()) * looked / max(self.passed, _TICK) if looked else _FIRST
            left = min(left, max(at_once, 1))
        return int(left)


@dataclass(frozen=True, slots=True)
class Budget:
    """How many nodes a search may look at, and for how long; without limit by default.

    Example: ``Budget.of("30s")``, ``Budget.of("2m")``, ``Budget.of("5000")``.
    """

    nodes: float = math.inf
    seconds: float = math.inf

    @classmethod
    def of(cls, text: str) -> Budget:
        """Read seconds (``30s``), minutes (``2m``) or a number of nodes (``5000``)."""
        if text[-1] in "sm":
            return cls(seconds=int(text[:-1]) * (60 if text[-1] == "m" else 1))
        return cls(nodes=int(text))

    def begin(self) -> Deadline:
        """Start the clock."""
        start = time.monotonic()
        return Deadline(self.nodes, start, start + self.seconds)

    def part(self, share: float) -> Budget:
        """Return a share of it; of nodes at least one."""
        nodes = self.nodes if self.nodes == math.inf else max(int(share * self.nodes), 1)
        return Budget(nodes, share * self.seconds)


class SharedBudget:
    """A budget that several searches spend, one after the other.

    Attributes
    ----------
    deadline
        When all of them are to have ended.
    looked
        Nodes that they have looked at.
    """

    def __init__(self, budget: Budget) -> None:
        self.deadline = budget.begin()
        self.looked = 0

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.deadline.spent(self.looked)

    @property
    def left(self) -> Budget:
        """The nodes and seconds that are left."""
        deadline = self.deadline
        return Budget(max(deadline.nodes - self.looked, 0), max(deadline.end - time.monotonic(), 0.0))

    def half(self, kept: float = 0.0) -> Budget:
        """Return a half of the rest, except a share of all the time that is kept for something else."""
        left = self.left
        aside = kept * self.deadline.seconds if self.deadline.timed else 0.0
        return Budget(left.nodes, max(left.seconds - aside, 0.0)).part(0.5)


@dataclass(frozen=True, eq=False, slots=True)
class Limits:
    """The limits of a search; see `FullDomainAlgorithm.limits` for algorithms that allow themselves less.

    Attributes
    ----------
    lattice
        The levels that it may choose from.
    rows
        Records of the table, those suppressed before included.
    before
        Records that were suppressed before.
    allowed
        Records that may be suppressed, those suppressed before included.
    budget
        How many nodes it may look at, and for how long.
    """

    lattice: Lattice
    rows: int
    before: int
    allowed: int
    budget: Budget = Budget()

    @classmethod
    def of(cls, problem: SearchProblem) -> Limits:
        """Return the limits of a problem.

        Raises
        ------
        ParameterError
            When a bound of levels is above a hierarchy's height.
        """
        frequency, share = problem.frequency, problem.max_suppression
        rows = frequency.rows
        allowed = int(share * rows)
        # The product is rounded: the share itself decides.
        while allowed + 1 <= rows and (allowed + 1) / rows <= share:
            allowed += 1
        while allowed > 0 and allowed / rows > share:
            allowed -= 1
        return cls(Lattice.of(frequency, problem.attributes), rows, frequency.suppressed, allowed)

    def at_most(self, records: int) -> Limits:
        """Return the same limits with no more than so many records suppressed."""
        return replace(self, allowed=min(self.allowed, records))

    @property
    def suppresses(self) -> bool:
        """Whether records may be suppressed that were not suppressed before."""
        return self.allowed > self.before

    @property
    def kept(self) -> int:
        """Records that are kept at least."""
        return max(self.rows - self.allowed, 1)
