"""Scoring a node: what it loses, and what is known of that beforehand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import ParameterError
from incrowd.table.domain import MOST_COMBINATIONS, combinations_of
from incrowd.table.frequency import smallest_codes
from incrowd.utility import STEERING, SteersByCells, SteersByClasses

if TYPE_CHECKING:
    from incrowd.algorithms.base import SearchProblem
    from incrowd.algorithms.lattice.cells import LevelCells
    from incrowd.algorithms.lattice.limits import Limits
    from incrowd.algorithms.lattice.rollup import Groups
    from incrowd.utility import Metric

__all__ = ["Score", "score_by"]


class Score(ABC):
    """What nodes lose under a metric.

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
        """Return what no node can fall below, as far as known before looking: float64[nodes].

        It never falls from a node to one above.
        """

    def leaves(self, levels: tuple[int, ...], groups: Groups) -> NDArray[np.float64]:
        """Return the combinations of values that each group stands for, where the metric asks for them."""
        return np.zeros(0)

    def bound(self, groups: Groups, leaves: NDArray[np.float64]) -> float:
        """Return what no node above a node of these groups falls below; 0 where nothing more is known."""
        return 0.0

    def floor(self, suppressed: int) -> float:
        """Return what no node falls below that suppresses so many records; 0 where nothing is known."""
        return 0.0

    @abstractmethod
    def of(
        self,
        levels: tuple[int, ...],
        groups: Groups,
        failing: NDArray[np.bool_],
        leaves: NDArray[np.float64],
    ) -> float:
        """Score a node of which some groups, bool[groups], are suppressed."""


def score_by(
    problem: SearchProblem, limits: Limits, metric: Metric, aggregate: str, cells: LevelCells
) -> Score:
    """Return the score by a metric; `aggregate` is for metrics that have a value per attribute.

    Raises
    ------
    ParameterError
        When no attribute weighs anything, or the metric cannot steer a search.
    """
    if not sum(attribute.weight for attribute in problem.attributes) > 0:
        raise ParameterError("the weights of the quasi-identifiers are all 0; raise one")
    if isinstance(metric, SteersByClasses):
        return _OfClasses(problem, limits, metric, cells)
    if isinstance(metric, SteersByCells):
        return _OfCells(problem, limits, metric, aggregate)
    raise ParameterError(
        f"{metric.name} cannot steer a search of full-domain recodings; use {', '.join(STEERING)}"
    )


class _OfCells(Score):
    """Costs of cells add up: what a node loses without suppression is known before it is looked at."""

    rises = False

    def __init__(self, problem: SearchProblem, limits: Limits, metric: SteersByCells, aggregate: str) -> None:
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
            scale = 1 / (costs.whole * limits.rows) if costs.whole else 0.0
            before = limits.before * costs.before
            self._scale.append(scale)
            self._shares.append(
                np.array([(float(level @ totals) + before) * scale for level in costs.levels])
            )
            self._gaps.append([costs.suppressed - level for level in costs.levels])
        sizes = [domain.size for domain in frequency.domains]
        self._offsets = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        largest = max(sizes, default=1)
        ranks = [smallest_codes(codes, max(largest, 257)) for codes in frequency.codes]
        self._ranks = np.ascontiguousarray(np.column_stack(ranks))

    def least_scores(self) -> NDArray[np.float64]:
        """Return the score of every node without suppression."""
        total = np.zeros(1)
        scale = self._weights.sum()
        lattice = self._lattice
        for j, (low, high) in enumerate(zip(lattice.lows, lattice.highs, strict=True)):
            shares = self._shares[j][int(low) : int(high) + 1]
            if self._aggregate == "max":
                part = self._weights[j] * shares / self._weights.max()
                total = np.maximum(total[:, None], part[None, :]).ravel()
                continue
            geometric = self._aggregate == "geometric-mean"
            part = self._weights[j] * (np.log1p(shares) if geometric else shares) / scale
            total = (total[:, None] + part[None, :]).ravel()
        return np.expm1(total) if self._aggregate == "geometric-mean" else total

    def of(
        self,
        levels: tuple[int, ...],
        groups: Groups,
        failing: NDArray[np.bool_],
        leaves: NDArray[np.float64],
    ) -> float:
        """Add to the cost of the levels what suppression costs beyond."""
        losses = np.array([self._shares[j][level] for j, level in enumerate(levels)])
        if failing.any():
            from incrowd.kernels.lattice import suppression_gaps

            gaps = np.concatenate([self._gaps[j][level] for j, level in enumerate(levels)])
            extra: NDArray[np.float64] = suppression_gaps(  # type: ignore[no-untyped-call]
                groups.keys, groups.weights, failing, self._ranks, gaps, self._offsets
            )
            losses = losses + extra * np.array(self._scale)
        return self._combined(losses)

    def _combined(self, losses: Sequence[float] | NDArray[np.float64]) -> float:
        """Make one score of a loss per attribute."""
        values, weights = np.asarray(losses, np.float64), self._weights
        if self._aggregate == "geometric-mean":
            return float(np.expm1((weights * np.log1p(values)).sum() / weights.sum()))
        if self._aggregate == "max":
            return float((weights * values).max() / weights.max())
        return float((weights * values).sum() / weights.sum())


class _OfClasses(Score):
    """Classes decide: what nodes lose at least is learned from others."""

    rises = True

    def __init__(
        self, problem: SearchProblem, limits: Limits, metric: SteersByClasses, cells: LevelCells
    ) -> None:
        self.words = metric.name
        self._metric = metric
        self._limits = limits
        self._frequency = problem.frequency
        self._counts = cells.counts
        self._least = problem.least
        self._everything = combinations_of(problem.frequency.domains)

    def least_scores(self) -> NDArray[np.float64]:
        """Return what no table of at most so many classes falls below as a node has combinations of cells."""
        cells = np.ones(1)
        for j, low in enumerate(self._limits.lattice.lows):
            counts = np.array(self._counts[j][int(low) :], np.float64)
            cells = (cells[:, None] * counts[None, :]).ravel()
        distinct, place = np.unique(np.minimum(cells, self._frequency.keys), return_inverse=True)
        rows, kept = self._limits.rows, self._limits.kept
        each = [self._metric.least(int(count), rows, kept, self._least) for count in distinct]
        return np.array(each)[place]

    def leaves(self, levels: tuple[int, ...], groups: Groups) -> NDArray[np.float64]:
        """Return the combinations of values that each group stands for: float64[groups]."""
        if not self._metric.needs_leaves:
            return np.zeros(0)
        leaves = np.ones(len(groups.keys))
        for j, domain in enumerate(self._frequency.domains):
            leaves *= domain.tree.leaves_at(levels[j])[self._frequency.codes[j][groups.keys]]
            np.minimum(leaves, MOST_COMBINATIONS, out=leaves)
        return leaves

    def bound(self, groups: Groups, leaves: NDArray[np.float64]) -> float:
        """Return what no table undercuts whose classes join these."""
        return self._metric.bound(groups.weights, self._limits.rows, self._limits.kept, self._least, leaves)

    def floor(self, suppressed: int) -> float:
        """Return what no table undercuts that suppresses so many records, or more."""
        return self._metric.floor(suppressed, self._limits.rows, self._least, self._everything)

    def of(
        self,
        levels: tuple[int, ...],
        groups: Groups,
        failing: NDArray[np.bool_],
        leaves: NDArray[np.float64],
    ) -> float:
        """Score classes of which some are suppressed."""
        return self._metric.of_groups(groups.weights, failing, self._limits.rows, leaves, self._everything)
