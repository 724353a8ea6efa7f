"""Score of a node: the loss, and bounds of the loss that are known beforehand."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import ParameterError
from incrowd.core.kernels.lattice.nodes import CELLS, CLASSES, Costs
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.domain import MOST_COMBINATIONS, combinations_of
from incrowd.core.table.frequency import smallest_codes
from incrowd.measures.utility import AGGREGATES, STEERING, ClassCosts, SteersByCells, SteersByClasses

if TYPE_CHECKING:
    from incrowd.measures.utility import Metric
    from incrowd.search.base import SearchProblem
    from incrowd.search.lattice.cells import LevelCells
    from incrowd.search.lattice.lattice import Limits
    from incrowd.search.lattice.rollup import Groups

_SHARED = 10_000
"""Values of an attribute up to which NumPy adds products up on one thread."""

_LEVELS = 500
"""Levels of a hierarchy up to which there is a figure for each pair of them."""


class Terms(NamedTuple):
    """The losses of nodes without suppression, as a sum of a term per attribute.

    Attributes
    ----------
    levels
        Per attribute float64[levels of the lattice]: the term; it never falls from one level to the next.
    logarithms
        Whether the sum is the logarithm of 1 + score; it is the score itself otherwise.
    """

    levels: list[NDArray[np.float64]]
    logarithms: bool

    def total(self, score: float) -> float:
        """Return the sum that a score is made of."""
        return math.log1p(score) if self.logarithms else score

    def score(self, total: float) -> float:
        """Return the score that is made of a sum."""
        return math.expm1(total) if self.logarithms else total


class Score(ABC):
    """The losses of nodes under a metric.

    Attributes
    ----------
    words
        What the score is.
    rises
        Whether looking at a node can raise what others are known to lose at least.
    """

    words: str
    rises: bool

    @abstractmethod
    def least_scores(self) -> NDArray[np.float64]:
        """Return lower bounds of all nodes, as far as known before looking: float64[nodes].

        It never falls from a node to one above.
        """

    def leaves(self, levels: tuple[int, ...], groups: Groups) -> NDArray[np.float64]:
        """Return the combinations of values that each group stands for, if the metric needs the number."""
        return np.zeros(0)

    def bound(self, groups: Groups, leaves: NDArray[np.float64]) -> float:
        """Return a lower bound of all nodes above a node of some groups; 0 where nothing more is known."""
        return 0.0

    def floor(self, suppressed: int) -> float:
        """Return a lower bound of nodes that suppress so many records; 0 where nothing is known."""
        return 0.0

    def terms(self) -> Terms | None:
        """Return the losses of nodes without suppression as a sum, or None if impossible."""
        return None

    def guess(self, nodes: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Guess the losses of nodes that suppress such shares of the records; None where that is impossible.

        Parameters
        ----------
        nodes
            int64[nodes, attributes]: their levels.
        """
        return None

    @property
    @abstractmethod
    def costs(self) -> Costs:
        """The same as arrays."""

    @abstractmethod
    def of(
        self,
        levels: tuple[int, ...],
        groups: Groups,
        lost: NDArray[np.int64],
        leaves: NDArray[np.float64],
    ) -> float:
        """Score a node with `lost` suppressed records in each group: int64[groups]."""


def score_by(
    problem: SearchProblem, limits: Limits, metric: Metric, aggregate: str, cells: LevelCells
) -> Score:
    """Return the score by a metric; `aggregate` is for metrics that have a value per attribute.

    Raises
    ------
    ParameterError
        When no attribute weighs anything, or the metric cannot steer a search.
    """
    if not any(attribute.weight > 0 for attribute in problem.attributes):
        raise ParameterError("the weights of the quasi-identifiers are all 0; raise one")
    if isinstance(metric, SteersByClasses):
        return _OfClasses(problem, limits, metric, cells)
    if isinstance(metric, SteersByCells):
        return _OfCells(problem, limits, metric, aggregate, cells)
    raise ParameterError(
        f"{metric.name} cannot steer a search of full-domain recodings; use {', '.join(STEERING)}"
    )


class _OfCells(Score):
    """Scores by costs of cells, by which the loss of a node without suppression is known beforehand."""

    rises = False

    def __init__(
        self,
        problem: SearchProblem,
        limits: Limits,
        metric: SteersByCells,
        aggregate: str,
        cells: LevelCells,
    ) -> None:
        frequency = problem.frequency
        self.words = f"{metric.name} ({aggregate})"
        self._aggregate = aggregate
        self._lattice = limits.lattice
        self._weights = np.array([attribute.weight for attribute in problem.attributes], np.float64)
        self._shares: list[NDArray[np.float64]] = []
        self._gaps: list[list[NDArray[np.float64]]] = []
        self._scale: list[float] = []
        for j, domain in enumerate(frequency.domains):
            totals = frequency.totals(j)
            costs = metric.level_costs(domain, totals)
            rows = 1 if costs.summed else limits.rows
            scale = 1 / (costs.whole * rows) if costs.whole else 0.0
            before = limits.before * costs.before
            self._scale.append(scale)
            self._shares.append(
                np.array([(_total(level, totals) + before) * scale for level in costs.levels])
            )
            ranks = cells.ranks[j]
            self._gaps.append([(costs.suppressed - level)[ranks] for level in costs.levels])
        sizes = [len(ranks) for ranks in cells.ranks]
        self._offsets = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        self._cells = cells

    @cached_property
    def _ranks(self) -> NDArray[np.unsignedinteger]:
        """uint[keys, attributes]: place of each key's value, for suppression alone."""
        largest = max(self._cells.sizes, default=1)
        ranks = [smallest_codes(codes, max(largest, 257)) for codes in self._cells.codes]
        return np.ascontiguousarray(np.column_stack(ranks))

    def least_scores(self) -> NDArray[np.float64]:
        """Return the score of every node without suppression."""
        total = np.zeros(1)
        terms = self.terms()
        if terms is None:
            for shares, weight in zip(self._free_shares(), self._weights, strict=True):
                part = weight * shares / self._weights.max()
                total = np.maximum(total[:, None], part[None, :]).ravel()
            return total
        for part in terms.levels:
            total = (total[:, None] + part[None, :]).ravel()
        return np.expm1(total) if terms.logarithms else total

    def _free_shares(self) -> list[NDArray[np.float64]]:
        """Return the losses of attributes without suppression, at the levels of the lattice."""
        bounds = zip(self._lattice.lows.tolist(), self._lattice.highs.tolist(), strict=True)
        return [shares[low : high + 1] for shares, (low, high) in zip(self._shares, bounds, strict=True)]

    def terms(self) -> Terms | None:
        """Return the weighted losses of the attributes; under the largest of all there is no sum."""
        if self._aggregate == "max":
            return None
        logarithms = self._aggregate == "geometric-mean"
        parts = [np.log1p(shares) if logarithms else shares for shares in self._free_shares()]
        scale = self._weights.sum()
        return Terms(
            [weight * part / scale for weight, part in zip(self._weights, parts, strict=True)], logarithms
        )

    def of(
        self,
        levels: tuple[int, ...],
        groups: Groups,
        lost: NDArray[np.int64],
        leaves: NDArray[np.float64],
    ) -> float:
        """Add the further cost of suppression to the cost of the levels."""
        losses = np.array([self._shares[j][level] for j, level in enumerate(levels)])
        if lost.any():
            from incrowd.core.kernels.lattice.lattice import suppression_gaps

            gaps = np.concatenate([self._gaps[j][level] for j, level in enumerate(levels)])
            extra: NDArray[np.float64] = suppression_gaps(  # type: ignore[no-untyped-call]
                groups.keys, lost, lost > 0, self._ranks, gaps, self._offsets
            )
            losses = losses + extra * np.array(self._scale)
        return float(self._combined(losses))

    def guess(self, nodes: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Guess the losses as if suppressed records were like all others."""
        losses = np.column_stack([of_level[nodes[:, j]] for j, of_level in enumerate(self._shares)])
        losses += shares[:, None] * (1 - losses)
        return self._combined(losses)

    @cached_property
    def costs(self) -> Costs:
        """The costs of cells by level."""
        every = [(j, level) for j, levels in enumerate(self._cells.cells) for level in range(len(levels))]
        return Costs(
            adds=CELLS,
            aggregate=AGGREGATES.index(self._aggregate),
            weights=np.column_stack((self._weights, self._scale)),
            shares=np.array([self._shares[j][level] for j, level in every]),
            values=np.concatenate([self._gaps[j][level] for j, level in every]).astype(np.float64),
            **asdict(ClassCosts()),
            most=0.0,
            splits=False,
        )

    def _combined(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Combine a loss per attribute, float64[..., attributes], into a score."""
        weights = self._weights
        if self._aggregate == "geometric-mean":
            return np.asarray(np.expm1((weights * np.log1p(losses)).sum(axis=-1) / weights.sum()))
        if self._aggregate == "max":
            return np.asarray((weights * losses).max(axis=-1) / weights.max())
        return np.asarray((weights * losses).sum(axis=-1) / weights.sum())


def _total(costs: NDArray[np.float64], records: NDArray[np.int64]) -> float:
    """Add up costs times records, never on several threads: the sum must not depend on how many there are."""
    return float(costs @ records if len(costs) <= _SHARED else (costs * records).sum())


class _OfClasses(Score):
    """Classes decide: lower bounds of the losses of nodes are learned from other nodes."""

    rises = True

    def __init__(
        self, problem: SearchProblem, limits: Limits, metric: SteersByClasses, cells: LevelCells
    ) -> None:
        self.words = metric.name
        self._limits = limits
        self._frequency = problem.frequency
        self._cells = cells
        self._least = max(problem.least, 1)
        self._costs = metric.class_costs(limits.rows, combinations_of(problem.frequency.domains))

    def least_scores(self) -> NDArray[np.float64]:
        """Return a lower bound of tables of at most so many classes as a node has combinations of cells."""
        cells = np.ones(1)
        for j, low in enumerate(self._limits.lattice.lows):
            counts = np.array(self._cells.counts[j][int(low) :], np.float64)
            cells = (cells[:, None] * counts[None, :]).ravel()
        classes = np.minimum(
            np.minimum(cells, self._frequency.keys), max(self._limits.rows // self._least, 1)
        )
        costs, kept = self._costs, self._limits.kept
        if costs.by_class:
            return np.asarray(costs.record * kept / classes)
        # Squares are least where all classes are of one size.
        return np.asarray((costs.record + costs.combination) * kept + costs.square * kept * kept / classes)

    def leaves(self, levels: tuple[int, ...], groups: Groups) -> NDArray[np.float64]:
        """Return the combinations of values that each group stands for: float64[groups]."""
        if not self._costs.combination:
            return np.zeros(len(groups.keys))
        leaves = np.ones(len(groups.keys))
        for j, domain in enumerate(self._frequency.domains):
            leaves *= domain.tree.leaves_at(levels[j])[self._frequency.codes[j][groups.keys]]
            np.minimum(leaves, MOST_COMBINATIONS, out=leaves)
        return leaves

    def bound(self, groups: Groups, leaves: NDArray[np.float64]) -> float:
        """Return a lower bound of tables with classes that join some groups."""
        costs, limits, sizes = self._costs, self._limits, groups.weights
        large = sizes >= self._least
        small = int(sizes[~large].sum())
        if costs.by_class:
            # Merging makes classes fewer, and those that are too small must first become large enough.
            return costs.record * limits.kept / max(int(large.sum()) + small // self._least, 1)
        # A record of a class that is too small ends in one that is not, or suppressed. Merging raises squares
        # and combinations, and suppressing all the more.
        squares = float(sizes[large] @ sizes[large]) + float(small) * min(self._least, limits.rows)
        return (
            costs.square * squares
            + costs.combination * float(sizes @ leaves)
            + costs.suppressed * limits.before
        )

    def floor(self, suppressed: int) -> float:
        """Return a lower bound of tables that suppress so many records, or more."""
        costs, rows = self._costs, self._limits.rows
        if costs.by_class:
            return 0.0
        # The others are in the smallest classes that there may be, and not generalized.
        each = costs.record + costs.square * min(self._least, rows) + costs.combination
        return costs.suppressed * float(suppressed) + each * float(rows - suppressed)

    def of(
        self,
        levels: tuple[int, ...],
        groups: Groups,
        lost: NDArray[np.int64],
        leaves: NDArray[np.float64],
    ) -> float:
        """Score classes without the suppressed records, where classes may be suppressed whole."""
        costs, rows = self._costs, self._limits.rows
        kept = lost < groups.weights
        sizes = (groups.weights - lost)[kept]
        records = int(sizes.sum())
        total = (
            costs.record * records
            + costs.square * float(sizes @ sizes)
            + costs.combination * float(sizes @ leaves[kept])
            + costs.suppressed * float(rows - records)
        )
        return total / max(len(sizes), 1) if costs.by_class else total

    @cached_property
    def costs(self) -> Costs:
        """The costs of classes."""
        leaves = [
            domain.tree.leaves_at(level)[ranks].astype(np.float64)
            for domain, ranks, levels in zip(
                self._frequency.domains, self._cells.ranks, self._cells.cells, strict=True
            )
            for level in range(len(levels))
        ]
        costs = self._costs
        # Where suppressing records of a class that could be kept might pay, squares bound nothing.
        bounds = costs.by_class or 0 < costs.square * self._limits.rows <= costs.suppressed
        return Costs(
            adds=CLASSES,
            aggregate=0,
            weights=np.zeros((0, 2)),
            shares=np.zeros(0),
            values=np.concatenate(leaves),
            **asdict(costs),
            most=float(MOST_COMBINATIONS),
            splits=bounds and max(self._limits.lattice.shape) <= _LEVELS,
        )
