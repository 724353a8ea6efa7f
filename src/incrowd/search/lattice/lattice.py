"""The lattice of full-domain recodings, and the limits of a search."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Attribute
    from incrowd.search.base import SearchProblem


class Lattice:
    """The nodes between the least and the largest level of every attribute.

    Parameters
    ----------
    names
        The quasi-identifiers.
    lows, highs
        Least and largest level of each, both included.

    Attributes
    ----------
    shape
        Number of levels per attribute.
    size
        Number of nodes.
    free
        Places of the attributes with more than one level; of the first where all are fixed.
    grid
        Number of levels per free attribute. NumPy's arrays have 64 axes at most, and quasi-identifiers
        may be more.
    strides
        int64[attributes]: distance of the numbers of nodes that differ by one level.
    """

    def __init__(self, names: Sequence[str], lows: Sequence[int], highs: Sequence[int]) -> None:
        self.names = tuple(names)
        self.lows = np.array(lows, np.int64)
        self.highs = np.array(highs, np.int64)
        self.shape = tuple(int(high - low + 1) for low, high in zip(lows, highs, strict=True))
        self.size = prod(self.shape)
        self.free = tuple(j for j, count in enumerate(self.shape) if count > 1) or (0,)
        self.grid = tuple(self.shape[j] for j in self.free)
        steps = [prod(self.shape[j + 1 :]) for j in range(len(self.shape))]
        # Lattices of more than 2**63 nodes are searched without numbering their nodes.
        self.strides = np.array(steps if self.size < 2**62 else [0] * len(steps), np.int64)

    @classmethod
    def of_table(cls, frequency: FrequencyTable, attributes: Sequence[Attribute]) -> Lattice:
        """Make the lattice of a table's quasi-identifiers within the bounds of the attributes.

        Raises
        ------
        ParameterError
            When a bound is above a hierarchy's height.
        """
        lows, highs = [], []
        for domain, attribute in zip(frequency.domains, attributes, strict=True):
            height = domain.tree.height
            low, high = attribute.levels or (0, height)
            if high is None:
                high = height
            top = max(low, high)
            if top > height:
                raise ParameterError(
                    f"column {domain.name!r}: level {top} is above its height; the levels are 0 .. {height}"
                )
            lows.append(low)
            highs.append(high)
        return cls([domain.name for domain in frequency.domains], lows, highs)

    def levels(self, node: int) -> tuple[int, ...]:
        """Return the levels of the node with a number."""
        return tuple(
            int(low + node // stride % count)
            for low, stride, count in zip(self.lows, self.strides, self.shape, strict=True)
        )

    def levels_of(self, nodes: NDArray[np.int64]) -> list[tuple[int, ...]]:
        """Return the levels of the nodes with some numbers."""
        each = nodes[:, None] // self.strides % np.array(self.shape) + self.lows
        return [tuple(levels) for levels in each.tolist()]

    def node(self, levels: Sequence[int]) -> int:
        """Return the number of the node at some levels."""
        return int(((np.array(levels) - self.lows) * self.strides).sum())

    def all_levels(self) -> NDArray[np.int8]:
        """Return the levels of every node: int8[nodes, attributes]."""
        grid = np.indices(self.shape, np.int8).reshape(len(self.shape), -1).T
        return np.ascontiguousarray(grid + self.lows.astype(np.int8))

    def between(self, bottom: Sequence[int], top: Sequence[int]) -> tuple[slice, ...]:
        """Return the slices of an array of `grid` with the nodes from `bottom` to `top`, both included."""
        return tuple(slice(bottom[j] - int(self.lows[j]), top[j] - int(self.lows[j]) + 1) for j in self.free)

    @property
    def bottom(self) -> tuple[int, ...]:
        """The node of least levels."""
        return tuple(self.lows.tolist())

    @property
    def top(self) -> tuple[int, ...]:
        """The node of largest levels."""
        return tuple(self.highs.tolist())

    @property
    def height(self) -> int:
        """Steps from the bottom to the top."""
        return int((self.highs - self.lows).sum())

    def at_height(self, height: int) -> Iterator[tuple[int, ...]]:
        """Yield the nodes `height` steps above the bottom, in the order of levels."""

        def rest(j: int, left: int) -> Iterator[tuple[int, ...]]:
            if j == len(self.shape):
                if left == 0:
                    yield ()
                return
            room = sum(count - 1 for count in self.shape[j + 1 :])
            for step in range(max(0, left - room), min(self.shape[j] - 1, left) + 1):
                for further in rest(j + 1, left - step):
                    yield (int(self.lows[j]) + step, *further)

        yield from rest(0, height)

    def above(self, levels: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield the nodes a single step above, in the order of the attributes."""
        for j, level in enumerate(levels):
            if level < self.highs[j]:
                yield (*levels[:j], level + 1, *levels[j + 1 :])

    def below(self, levels: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield the nodes a single step below, in the order of the attributes."""
        for j, level in enumerate(levels):
            if level > self.lows[j]:
                yield (*levels[:j], level - 1, *levels[j + 1 :])


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
        """Return how many nodes may still be looked at, by the limits of nodes and of time.

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

    Example: ``Budget.of_text("30s")``, ``Budget.of_text("2m")``, ``Budget.of_text("5000")``.
    """

    nodes: float = math.inf
    seconds: float = math.inf

    @classmethod
    def of_text(cls, text: str) -> Budget:
        """Read seconds (``30s``), minutes (``2m``) or a number of nodes (``5000``)."""
        if text[-1] in "sm":
            return cls(seconds=int(text[:-1]) * (60 if text[-1] == "m" else 1))
        return cls(nodes=int(text))

    def begin(self) -> Deadline:
        """Start the clock."""
        start = time.monotonic()
        return Deadline(self.nodes, start, start + self.seconds)

    def part(self, share: float) -> Budget:
        """Return a share of the budget, with 1 node or more."""
        nodes = self.nodes if self.nodes == math.inf else max(int(share * self.nodes), 1)
        return Budget(nodes, share * self.seconds)


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
    def of_problem(cls, problem: SearchProblem) -> Limits:
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
        return cls(Lattice.of_table(frequency, problem.attributes), rows, frequency.suppressed, allowed)

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
