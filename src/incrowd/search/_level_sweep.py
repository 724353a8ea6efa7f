"""Local recoding by levels: a sweep over all combinations of levels, the cheapest first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding import SingleDimensional, level_cells
from incrowd.core.recoding.cells import SUPPRESSED
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.search._points import PricedKeys
from incrowd.search._sweep import level_rung, sweep
from incrowd.search.base import SearchProblem, all_hold
from incrowd.search.lattice import Budget, Limits

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.recoding.cells import ValueCells

_WORK = 300_000_000
"""Keys times nodes of a sweep."""
_MOST_LEFT = 2_000
"""Largest number of remaining keys that are put into classes singly."""
_TRIED = 20
"""Classes tried for each remaining key, the cheapest first."""


def swept_levels(
    problem: SearchProblem, fallback: Recoding, algorithm: str, seconds: float = math.inf
) -> Recoding:
    """Recode keys by a sweep, or return another recoding, whichever loses less by LM.

    The combinations of levels are gone through from the cheapest to the dearest by the mean loss. At each one
    the keys that are left are grouped, and groups that satisfy the models are released so. Whoever is left in
    the end joins the class where the loss grows least, and this class climbs as far as is needed.

    Parameters
    ----------
    fallback
        What there is without a sweep. It stays, too, where a sweep would suppress too many, and where a model
        judges all classes of a person together.
    algorithm
        The algorithm, for the recoding.
    seconds
        How long it may take. If the time is short, combinations are left out.
    """
    if any(model.needs_every_class for model in problem.models):
        return fallback
    search = _LevelSweep(problem.for_classes(), seconds)
    search.release_in_order()
    if not (search.class_of >= 0).any():
        # Classes that are put together cover the people of their values alone, so all of them may fail.
        return fallback
    search.join_left()
    recoding = search.recoding(algorithm)
    classes = EquivalenceClasses.from_codes(
        problem.frequency,
        [cells.codes for cells in recoding.cells],
        [len(cells.labels) for cells in recoding.cells],
        recoding.suppressed,
    )
    suppressed = int(problem.frequency.weights[recoding.suppressed].sum())
    # Classes of several rounds may look alike, so all are asked once more.
    if suppressed > search.allowed or not all_hold(problem.models, classes).all():
        return fallback
    return recoding if search.loss_of(recoding) < search.loss_of(fallback) else fallback


class _LevelSweep:
    """Keys on the way into classes, and the levels of each class.

    Attributes
    ----------
    class_of
        int64[keys]: the class of each key, -1 for whoever is left.
    levels
        int64[classes, attributes]: the levels of each class, counted from the lowest allowed one.
    """

    def __init__(self, problem: SearchProblem, seconds: float = math.inf) -> None:
        self.problem = problem
        self.deadline = Budget(seconds=seconds).begin()
        self.frequency = problem.frequency
        limits = Limits.of_problem(problem)
        self.allowed = limits.allowed - limits.before
        self.lattice = limits.lattice
        self.keys = PricedKeys.of_table(self.frequency, problem.attributes)
        scale = self.keys.costs.whole.astype(np.float64)
        self.shares = scale / max(scale.sum(), 1.0)
        # Of each attribute what a level does to each rank: its cell, whether that is `*`, and what it loses.
        self.cells: list[list[ValueCells]] = [
            [level_cells(domain, level) for level in range(int(low), int(high) + 1)]
            for domain, low, high in zip(
                self.frequency.domains, self.lattice.lows, self.lattice.highs, strict=True
            )
        ]
        self.entries = [np.array([each.entry for each in cells]) for cells in self.cells]
        self.losses = [np.array([each.loss[each.entry] for each in cells]) for cells in self.cells]
        self.stars = [
            np.array([np.array([label == SUPPRESSED for label in each.labels])[each.entry] for each in cells])
            for cells in self.cells
        ]

    def release_in_order(self) -> None:
        """Go through the nodes and form classes, except classes of `*` throughout."""
        problem, frequency = self.problem, self.frequency
        ladders = [
            [level_rung(self.keys, j, int(low) + step, each) for step, each in enumerate(cells)]
            for j, (low, cells) in enumerate(zip(self.lattice.lows, self.cells, strict=True))
        ]
        nodes = max(_WORK // max(frequency.keys, 1), 1)
        accept = self._hold if problem.open_models else None
        result = sweep(
            ladders, frequency.weights, problem.least, nodes, accept, problem.progress, self.deadline.seconds
        )
        self.class_of = result.class_of
        self.levels = np.array(result.levels, np.int64).reshape(-1, len(self.cells)) - self.lattice.lows
        placed = np.flatnonzero(self.class_of >= 0)
        starred = np.ones(len(placed), np.bool_)
        for j, stars in enumerate(self.stars):
            starred &= stars[self.levels[self.class_of[placed], j], frequency.codes[j][placed]]
        self.class_of[placed[starred]] = -1

    def join_left(self) -> None:
        """Put each remaining key into the class where the loss grows least, unless suppression is cheaper."""
        class_of, weights = self.class_of, self.frequency.weights
        remaining = np.flatnonzero(class_of < 0)
        if len(remaining) > _MOST_LEFT or len(remaining) == len(class_of):
            return
        placed = np.flatnonzero(class_of >= 0)
        sizes = np.bincount(class_of[placed], weights[placed], len(self.levels))
        # Any key of a class tells its cells; where one has lost all of its keys, any key does.
        member = np.zeros(len(self.levels), np.int64)
        member[class_of[placed]] = placed
        spare = self.allowed - int(weights[remaining].sum())
        for number, key in enumerate(remaining.tolist()):
            if self.deadline.spent(number):
                return
            weight = int(weights[key])
            levels, loss = self._with(key, member)
            grows = (sizes + weight) * loss - sizes * self._loss(self.levels, member)
            # Whoever has `*` throughout is suppressed, and a class without keys takes nobody in.
            grows[(loss >= 1.0) | (sizes == 0)] = np.inf
            most = weight if spare >= 0 else np.inf
            for chosen in np.argsort(grows, kind="stable")[:_TRIED].tolist():
                if grows[chosen] >= most:
                    break
                class_of[key] = chosen
                if self._holds_alone(chosen):
                    self.levels[chosen] = levels[chosen]
                    sizes[chosen] += weight
                    spare += weight
                    break
                class_of[key] = -1

    def _with(self, key: int, member: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the levels that each class needs for a further key, and the loss of a record there.

        The loss is infinite where the two never have the same cell, as the levels are bounded.
        """
        levels = np.empty_like(self.levels)
        apart = np.zeros(len(member), np.bool_)
        for j, entries in enumerate(self.entries):
            codes = self.frequency.codes[j]
            alike = entries[:, codes[member]] == entries[:, codes[key]][:, None]
            levels[:, j] = np.maximum(self.levels[:, j], alike.argmax(axis=0))
            apart |= ~alike.any(axis=0)
        return levels, np.where(apart, np.inf, self._loss(levels, member))

    def _loss(self, levels: NDArray[np.int64], member: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the loss of a record of each class on some levels, 0..1."""
        total = np.zeros(len(member))
        for j, (share, losses) in enumerate(zip(self.shares, self.losses, strict=True)):
            total += share * losses[levels[:, j], self.frequency.codes[j][member]]
        return total

    def _hold(self, class_of: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
        """Say which classes satisfy the models."""
        return all_hold(
            self.problem.open_models, EquivalenceClasses.from_assignment(self.frequency, class_of, count)
        )

    def _holds_alone(self, number: int) -> bool:
        """Say whether a class alone satisfies the models."""
        if not self.problem.open_models:
            return True
        return bool(self._hold(np.where(self.class_of == number, 0, -1), 1)[0])

    def recoding(self, algorithm: str) -> SingleDimensional:
        """Return the recoding: classes on the same levels are a round."""
        nodes, round_of = np.unique(self.levels, axis=0, return_inverse=True)
        round_of_key = np.where(self.class_of < 0, -1, round_of.reshape(-1)[self.class_of])
        rounds = [[cells[step] for cells, step in zip(self.cells, node, strict=True)] for node in nodes]
        return SingleDimensional.build(self.frequency, rounds, round_of_key.astype(np.int32), algorithm)

    def loss_of(self, recoding: Recoding) -> float:
        """Return the loss LM of a recoding of the keys, 0..1."""
        total = np.zeros(self.frequency.keys)
        for share, cells in zip(self.shares, recoding.cells, strict=True):
            total += share * np.asarray(cells.loss)[cells.codes]
        total[recoding.suppressed] = 1.0
        return float(total @ self.frequency.weights) / max(int(self.frequency.weights.sum()), 1)
