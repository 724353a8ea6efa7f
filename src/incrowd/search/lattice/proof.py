"""Proving a lower bound of the scores of all nodes of a huge lattice."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.search.lattice.explorer import Explorer
    from incrowd.search.lattice.lattice import Deadline
    from incrowd.search.lattice.node import Node
    from incrowd.search.lattice.score import Terms

_SHARE = 0.25
"""Share of the nodes, and of the seconds, that are spent on the proof."""

_AT_ONCE = 0.05
"""Share of the seconds of a budget that the solver may take at once."""

_BRANCHES = 2_000
"""Branches of the solver's search, after which it returns the bound that it has."""

_STATED = 2
"""Half of the facts that are stated before the program is solved again, at first."""

_GAP = 1e-4
"""How far the solver's proposal may be from its bound, relatively."""

_TOLERANCE = 1e-5
"""By how much the solver may be wrong: its bound is lowered by so much."""


class Proof:
    """Raises a lower bound on the score of all nodes that may be chosen, and proposes nodes on the way.

    The score of a node is a sum of one term per attribute and level, which says what is lost without
    suppression, and of what suppression costs beyond, the extra. Two facts are known of the nodes N below a
    node M that was looked at:

    - If M fails and settles those below it, N fails.
    - Else the extra of N is at least that of M: whoever is suppressed at M is suppressed at N, and loses
      there at least as much by it, since the cells of N cost no more. Under the geometric mean both are
      logarithms; as the logarithm is concave, the extra of N is at least that of M all the same.

    So a node that may be chosen climbs, in some attribute, above each M that fails, and pays the extra of
    each other M above which it does not climb. The least sum of terms and extra under these conditions is a
    bound. It is an integer program with one binary variable per attribute and level, which HiGHS solves.

    What the program proposes is looked at. It fails or costs more than was thought, or it is the optimum.
    Then the highest nodes are searched that show the same, which state most: few attributes below their top
    suffice to say that too many records are suppressed. They are added to the program, and so on: it is an
    implicit hitting set problem.

    Parameters
    ----------
    explorer
        What looks at nodes.
    terms
        What the levels lose.
    deadline
        When to stop.

    Attributes
    ----------
    bound
        What no node scores below, as far as it is proved.

    References
    ----------
    Moreno-Centeno and Karp, The implicit hitting set approach to solve combinatorial optimization problems
    with an application to multigenome alignment, Operations Research 61(2), 2013.
    """

    def __init__(self, explorer: Explorer, terms: Terms, deadline: Deadline) -> None:
        lattice = explorer.lattice
        self.bound = 0.0
        self._explorer = explorer
        self._terms = terms
        self._deadline = deadline
        self._random = np.random.default_rng(explorer.problem.seed)
        self._lows, self._highs = lattice.lows, lattice.highs
        # One variable says whether an attribute climbs to a level or higher; the last one is the extra.
        self._starts = np.concatenate(([0], np.cumsum(np.array(lattice.shape) - 1))).astype(np.int64)
        self._rows: list[NDArray[np.float64]] = []
        self._least: list[float] = []
        self._stated: set[tuple[int, ...]] = set()
        self._best = np.inf
        self._looked, self._seconds = 0, 0.0
        self._rounds = self._steps()
        self._order_levels()

    @classmethod
    def of_explorer(cls, explorer: Explorer, deadline: Deadline) -> Proof | None:
        """Return a proof; None where losses are no sums over attributes."""
        terms = explorer.terms()
        return None if terms is None else cls(explorer, terms, deadline)

    @property
    def next(self) -> bool:
        """Whether the proof has the next turn."""
        if self._deadline.timed:
            return self._seconds < _SHARE * self._deadline.passed
        return self._looked < _SHARE * self._explorer.looked

    def step(self) -> Node | None:
        """Go on to the next node that is looked at; None when there is nothing left to prove."""
        start = time.monotonic()
        node = next(self._rounds, None)
        self._looked += 1
        self._seconds += time.monotonic() - start
        return node

    def is_least(self, score: float) -> bool:
        """Say whether no node scores less, but for the error of the solver."""
        total, bound = self._terms.total(score), self._terms.total(self.bound)
        return total - bound <= 2 * (_TOLERANCE + _GAP * total)

    def _order_levels(self) -> None:
        """State that the extra is not negative, and that a climb to a level includes the level below."""
        self._state(np.append(np.zeros(self._starts[-1]), 1.0), 0.0)
        for start, stop in zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True):
            for place in range(start, stop - 1):
                row = np.zeros(self._starts[-1] + 1)
                row[place], row[place + 1] = 1, -1
                self._state(row, 0.0)

    def _steps(self) -> Iterator[Node]:
        """Solve the program, and look at the proposals and the nodes above, again and again."""
        most = _STATED
        while True:
            levels = self._solved()
            if levels is None or (np.isfinite(self._best) and self.is_least(self._terms.score(self._best))):
                return
            stated = len(self._rows)
            # The program is small at first and solved at once; later more is stated before it is solved.
            most *= 2
            while self._total(levels) < self._best and len(self._rows) < stated + most:
                node = yield from self._look(levels)
                enough = self._best - self._total(levels)
                if not self._tells(node, enough):
                    break
                highest = yield from self._highest(levels, enough)
                self._add(highest)
                if highest == self._explorer.lattice.top:
                    # It tells the same of every node; nothing is left where all fail.
                    if self._fails(self._explorer.look(highest)[0]):
                        return
                    break
                levels = self._climbed(levels, highest)
            if len(self._rows) == stated:
                return

    def _highest(self, levels: tuple[int, ...], enough: float) -> Generator[Node, None, tuple[int, ...]]:
        """Find a node as high as possible that tells the same as a node below, beginning near the top."""
        top = np.array(self._explorer.lattice.top)
        order = self._random.permutation(np.flatnonzero(np.array(levels) < top))
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) // 2
            node = yield from self._look(self._lowered(levels, order[:middle]))
            low, high = (low, middle) if self._tells(node, enough) else (middle + 1, high)
        found = self._lowered(levels, order[:high])
        for j in order[:high].tolist():
            for level in range(int(top[j]), levels[j], -1):
                higher = (*found[:j], level, *found[j + 1 :])
                node = yield from self._look(higher)
                if self._tells(node, enough):
                    found = higher
                    break
        return found

    def _look(self, levels: tuple[int, ...]) -> Generator[Node, None, Node]:
        """Look at a node, and yield the node if nobody looked before."""
        new = levels not in self._explorer.nodes
        [node] = self._explorer.look(levels)
        self.hear(node)
        if new:
            yield node
        return node

    def _lowered(self, levels: tuple[int, ...], attributes: NDArray[np.int64]) -> tuple[int, ...]:
        """Return the top, with some attributes at the levels of a node."""
        lowered = list(self._explorer.lattice.top)
        for j in attributes.tolist():
            lowered[j] = levels[j]
        return tuple(lowered)

    def _climbed(self, levels: tuple[int, ...], over: tuple[int, ...]) -> tuple[int, ...]:
        """Climb over a node in a single attribute, at a low cost."""
        costs = {}
        for j, level in enumerate(over):
            if level < self._highs[j]:
                terms = self._terms.levels[j]
                step = terms[level + 1 - self._lows[j]] - terms[levels[j] - self._lows[j]]
                costs[j] = step * self._random.uniform(0.5, 1.5)
        j = min(costs, key=lambda j: (costs[j], j))
        return (*levels[:j], over[j] + 1, *levels[j + 1 :])

    def hear(self, node: Node) -> None:
        """Take note of a node that was looked at."""
        if node.anonymous:
            self._best = min(self._best, self._terms.total(node.score))

    def _tells(self, node: Node, enough: float) -> bool:
        """Say whether all nodes below a node fail, or pay enough to be no better than the best."""
        return self._fails(node) or self._extra(node) >= max(enough, _TOLERANCE)

    def _fails(self, node: Node) -> bool:
        """Say whether all nodes below a node fail, or suppress every record as the node does."""
        if node.fails_below or node.anonymous:
            return node.fails_below
        return self._explorer.rules.settles and not self._explorer.may_be_starred(node.levels)

    def _extra(self, node: Node) -> float:
        """Return the least cost of suppression of all nodes below one."""
        if (
            not node.anonymous
            or not self._explorer.rules.settles
            or self._explorer.may_be_starred(node.levels)
        ):
            return 0.0
        return self._terms.total(node.score) - self._total(node.levels)

    def _total(self, levels: tuple[int, ...]) -> float:
        """Return the sum of the terms of a node."""
        return math.fsum(
            terms[level - low]
            for terms, level, low in zip(self._terms.levels, levels, self._lows.tolist(), strict=True)
        )

    def _add(self, levels: tuple[int, ...]) -> None:
        """State a node's condition on the nodes below, once: if nothing new is stated, the proof ends."""
        if levels in self._stated:
            return
        self._stated.add(levels)
        [node] = self._explorer.look(levels)
        fails = self._fails(node)
        extra = 1.0 if fails else self._extra(node)
        row = np.zeros(self._starts[-1] + 1)
        for j, level in enumerate(levels):
            if level < self._highs[j]:
                row[self._starts[j] + level - self._lows[j]] = extra
        row[-1] = 0.0 if fails else 1.0
        self._state(row, extra)

    def _state(self, row: NDArray[np.float64], least: float) -> None:
        self._rows.append(row)
        self._least.append(least)

    def _solved(self) -> tuple[int, ...] | None:
        """Solve the program, raise the bound, and return the proposed node."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        steps = np.concatenate([np.diff(terms) for terms in self._terms.levels])
        highest = np.append(np.ones(len(steps)), np.inf)
        options: dict[str, Any] = {"mip_rel_gap": _GAP, "node_limit": _BRANCHES}
        if self._deadline.timed:
            left = self._deadline.seconds - self._deadline.passed
            options["time_limit"] = max(min(left, _AT_ONCE * self._deadline.seconds), 0.0)
        found = milp(
            np.append(steps, 1.0),
            integrality=np.append(np.ones(len(steps)), 0),
            bounds=Bounds(np.zeros(len(highest)), highest),
            constraints=LinearConstraint(np.array(self._rows), np.array(self._least), np.inf),
            options=options,
        )
        # Without a level to choose nothing is whole, and the solver states no bound but its solution.
        least_value = found.mip_dual_bound if len(steps) else found.fun
        if least_value is not None and np.isfinite(least_value):
            least = self._total(self._explorer.lattice.bottom) + float(least_value) - _TOLERANCE
            self.bound = max(self.bound, self._terms.score(max(least, 0.0)))
        if found.x is None:
            return None
        climbed = np.round(found.x[:-1])
        return tuple(
            int(low + climbed[start:stop].sum())
            for low, start, stop in zip(self._lows, self._starts[:-1], self._starts[1:], strict=True)
        )
