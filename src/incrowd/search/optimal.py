"""The optimal full-domain recoding."""

from __future__ import annotations

import heapq
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.errors import ParameterError, quoted
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.search.full_domain import FullDomainAlgorithm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.search.base import SearchProblem
    from incrowd.search.lattice import Budget, Deadline, Explorer, Limits, Node

_ENUMERATED = 2**22
"""Largest lattice searched as a whole. A larger lattice is searched from the top."""

_UNBOUNDED = 2**18
"""Largest lattice searched to the end without a time limit."""

_CHOSEN = 16
"""Nodes that are chosen in one walk over the lattice, or as many as are looked at in one call."""

_OUTLIERS_FROM = 4096
"""Nodes of a lattice from which rare keys are followed beforehand; elsewhere a few nodes settle all."""

_PROPOSED = 8
"""Nodes looked at per round of guesses."""

_WHOLE, _DOWNWARD = "10m", "60s"
"""Budgets of larger lattices, searched whole and from the top."""

_LAST = 0.1
"""Share of the budget that is added for a search from the top, if the whole lattice gave nothing."""


@dataclass(frozen=True)
class Optimal(FullDomainAlgorithm):
    """Finds the node of the lattice with the least loss among all that satisfy the models.

    The loss of every node without suppression is known before the search. Suppression only adds to it. The
    search looks first at the nodes whose verdict settles most others:

    - A node that satisfies the models settles all nodes whose loss cannot be lower.
    - A node that fails settles all nodes below it, if the models are monotone: specializing can only make
      classes worse.

    If the models are not monotone, the search looks at nodes in the order of their losses until no better one
    can come. Either way the result is the optimum.

    Parameters
    ----------
    metric, aggregate
        See `FullDomainAlgorithm`.
    budget
        When to stop early: seconds (``30s``), minutes (``2m``) or a number of nodes (``5000``). The best node
        until then is taken, and the release says whether it was proved optimal. A budget in time makes the
        result depend on the machine. All rounds of `recode_suppressed` share it: each search gets half of
        what is left. A budget in time is also for the sweep, which gets at least half of it, and one in nodes
        is not.

    Notes
    -----
    Large lattices have a budget even if none is named:

    - More than 262,144 nodes: ten minutes.
    - More than 4,194,304 nodes: one minute. The lattice is searched from its top downward, the best nodes
      first. Under a metric of cells, as loss, what a node suppresses is also guessed from the nodes that were
      looked at, and nodes that are guessed to be better than the best come in between. What is tried is
      drawn by the seed. A quarter of the budget proves how far from the best the result can be:
      ``release.lattice.bound`` and ``gap``.

    If the budget of a smaller lattice gave no node that satisfies the models, the search goes down from the
    top for a tenth of it more.

    References
    ----------
    Kohlmayer, Prasser, Eckert, Kemper and Kuhn, Flash: efficient, stable and optimal k-anonymity, PASSAT 2012
    (predictive tagging); Prasser, Kohlmayer and Kuhn, Efficient and effective pruning strategies for health
    data de-identification, BMC Medical Informatics and Decision Making 16, 2016 (bounds under suppression);
    Prasser, Bild, Eicher, Spengler, Kohlmayer and Kuhn, Lightning: utility-driven anonymization of
    high-dimensional data, Transactions on Data Privacy 9(2), 2016 (best-first search under a budget).
    """

    budget: str | None = parameter(
        "when to stop early: seconds (30s), minutes (2m) or a number of nodes (5000)", kind=str, optional=True
    )

    name: ClassVar[str] = "optimal"
    summary: ClassVar[str] = "the full-domain recoding of least loss, proved over the whole lattice"
    paper: ClassVar[str] = "Kohlmayer et al. 2012; Prasser et al. 2016"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget is not None and not re.fullmatch(r"[1-9][0-9]{0,8}[sm]?", self.budget):
            raise ParameterError(
                "optimal: budget must be seconds (30s), minutes (2m) or nodes (5000), got "
                + quoted(self.budget)
            )

    def limits(self, problem: SearchProblem) -> Limits:
        """Add the given budget, or the default budget of a large lattice."""
        from incrowd.search.lattice import Budget

        limits = super().limits(problem)
        nodes = limits.lattice.size
        text = self.budget or (_DOWNWARD if nodes > _ENUMERATED else _WHOLE if nodes > _UNBOUNDED else None)
        return limits if text is None else replace(limits, budget=Budget.of_text(text))

    def choose(self, explorer: Explorer) -> tuple[Node | None, bool]:
        """Search the whole lattice, or as much as the budget allows."""
        if explorer.lattice.size > _ENUMERATED:
            return _from_the_top(explorer, explorer.limits.budget)
        search = _Search(explorer)
        proved = search.run()
        explorer.bound = search.bound()
        if search.best is None and not proved:
            return _from_the_top(explorer, explorer.limits.budget.part(_LAST))
        return search.best, proved

    def finds(self, problem: SearchProblem, levels: tuple[int, ...]) -> bool:
        """Say whether a search meets an anonymous node within the budget.

        A call that failed has spent its time, so only a small part of it is added for each try.
        """
        if self.budget is None:
            return super().finds(problem, levels)
        budget = self.limits(problem).budget
        trial = replace(budget, seconds=_LAST * budget.seconds)
        return self.choose(self.explorer(problem, trial))[0] is not None


class _Search:
    """State of a search over all nodes: lower bounds of scores, and settled nodes."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.lattice = explorer.lattice
        self.deadline = explorer.limits.budget.begin()
        self.progress = explorer.problem.progress
        self.best: Node | None = None
        self.least = explorer.least_scores()
        self.order = np.argsort(self.least, kind="stable")
        self.dead = np.zeros(self.lattice.size, np.bool_)
        self.around = np.empty((2 if explorer.by_class else 1, self.lattice.size), np.int32)
        self.shape = np.array(self.lattice.shape, np.int64)
        self.many = 1

    def run(self) -> bool:
        """Search until all nodes are settled (True) or the budget is spent (False)."""
        return self._search() and self._first_of_equals()

    def _search(self) -> bool:
        if self.explorer.rules.settles or self.explorer.rules.may_settle:
            return self._settle()
        if not self._rule_out():
            return False
        return self._in_order()

    def _first_of_equals(self) -> bool:
        """Choose the first of the nodes with the best score, after a look at earlier candidates.

        Otherwise the order of looking would decide.
        """
        from incrowd.search.lattice import better, least, score_of_equals

        first = least(node for node in self.explorer.nodes.values() if node.anonymous)
        if first is None:
            return True
        self.best = first
        number = self.lattice.node(first.levels)
        most = score_of_equals(first)
        for other in np.flatnonzero(~self.dead[:number] & (self.least[:number] <= most)).tolist():
            if self.dead[other]:
                continue
            if self._spent():
                return False
            [node] = self.explorer.look(self.lattice.levels(other))
            self._learn([node])
            if node.anonymous and not better(first, node):
                self.best = node
                return True
        return True

    def alive(self) -> NDArray[np.bool_]:
        """Return the nodes that may still be better than the best: bool[nodes]."""
        return ~self.dead & (self.least < self._score_to_beat())

    def bound(self) -> float:
        """Return a lower bound of all nodes."""
        alive = self.alive()
        lowest = float(self.least[alive].min()) if alive.any() else math.inf
        return lowest if self.best is None else min(lowest, self.best.score)

    def _settle(self) -> bool:
        if self.lattice.size >= _OUTLIERS_FROM:
            self.explorer.mark_outliers(self.dead)
        while True:
            alive = self.alive()
            # What is settled stays settled, so the order forgets it.
            self.order = self.order[alive[self.order]]
            chosen = self._next(self.order)
            if not len(chosen):
                return True
            if not self._look(chosen):
                return False

    def _look(self, waiting: NDArray[np.int64]) -> bool:
        """Look at nodes that are not settled in the meantime, until the budget is spent (False)."""
        self.explorer.prepare(self.lattice.levels_of(waiting))
        at_once = min(self.explorer.at_once, self.deadline.left(self.explorer.looked))
        while len(waiting := waiting[self._open(waiting)]):
            if self._spent():
                return False
            many = int(min(at_once, self.deadline.nodes - self.explorer.looked))
            self._learn(self.explorer.look(*self.lattice.levels_of(waiting[:many])))
            waiting = waiting[many:]
        return True

    def _open(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which nodes may still be better than the best."""
        return ~self.dead[nodes] & (self.least[nodes] < self._score_to_beat())

    def _score_to_beat(self) -> float:
        """Return the score that a better node stays below."""
        from incrowd.search.lattice import score_to_beat

        return math.inf if self.best is None else score_to_beat(self.best)

    def _rule_out(self) -> bool:
        """Find the failing nodes by monotone models, and mark the nodes below as failing."""
        sizes = self.explorer.absorbing()
        if sizes is None:
            return True
        unknown = np.ones(self.lattice.size, np.bool_)
        while True:
            chosen = self._next(self.order[unknown[self.order]])
            if not len(chosen):
                return True
            while len(chosen := chosen[unknown[chosen]]):
                if self._spent():
                    return False
                for node in sizes.look(*self.lattice.levels_of(chosen[:2])):
                    unknown[self.lattice.node(node.levels)] = False
                    if node.fails_below:
                        self._slice(self.dead, node, down=True)[...] = True
                        sizes.mark_failing(node.levels, self.dead, unknown)
                        np.logical_and(unknown, ~self.dead, out=unknown)
                    elif node.anonymous:
                        self._slice(unknown, node, down=False)[...] = False
                chosen = chosen[2:]

    def _in_order(self) -> bool:
        """Look at the remaining nodes by least loss, until none can be better."""
        position = 0
        while True:
            alive = self.alive()
            if not alive.any():
                return True
            if self._spent():
                return False
            if self.explorer.rises:
                candidates = np.flatnonzero(alive)
                first = [int(candidates[self.least[candidates].argmin()])]
            else:
                while not alive[self.order[position]]:
                    position += 1
                rest = self.order[position : position + 64]
                first = rest[alive[rest]][:2].tolist()
            self._learn(self.explorer.look(*self.lattice.levels_of(np.array(first))))

    def _next(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Choose open nodes, the most promising first."""
        from incrowd.core.kernels.lattice.lattice import choose_nodes

        # What is learned first settles most, so few are chosen before.
        self.many = min(2 * self.many, max(_CHOSEN, self.explorer.at_once))
        chosen = np.empty(self.many, np.int64)
        nodes = choose_nodes(  # type: ignore[no-untyped-call]
            order, self.shape, self.lattice.strides, self.around, self.many, chosen
        )
        self.progress.advance(self.lattice.size - len(order), self.lattice.size)
        return chosen[:nodes]

    def _spent(self) -> bool:
        return self.deadline.spent(self.explorer.looked)

    def _learn(self, nodes: Sequence[Node]) -> None:
        from incrowd.search.lattice import score_to_beat

        # The score of a node that is not anonymous is infinite.
        beat = self._score_to_beat()
        for node in nodes:
            if node.score < beat:
                self.best, beat = node, score_to_beat(node)
        self.explorer.settle(nodes, self.dead, self.least, beat)
        for node in () if self.explorer.limits.suppresses else nodes:
            if node.fails_below:
                self.explorer.mark_failing(node.levels, self.dead, self.alive())

    def _slice(self, values: NDArray[np.generic], node: Node, *, down: bool) -> NDArray[np.generic]:
        """Return the part of an array of nodes at and below a node, or at and above."""
        lattice = self.lattice
        ends = (lattice.bottom, node.levels) if down else (node.levels, lattice.top)
        return values.reshape(lattice.grid)[lattice.between(*ends)]


def _from_the_top(explorer: Explorer, budget: Budget) -> tuple[Node | None, bool]:
    """Search from the top downward, always below the best unexpanded anonymous node.

    In between look at nodes that are guessed to be better than the best.
    """
    search = _Downward(explorer, budget.begin())
    proved = search.run()
    if search.proof is not None:
        explorer.bound = max(explorer.bound, search.proof.bound)
    return search.best, proved


class _Downward:
    """State of a search from the top: nodes waiting for expansion, guesses, and the proof."""

    def __init__(self, explorer: Explorer, deadline: Deadline) -> None:
        from incrowd.search.lattice.guide import Guide
        from incrowd.search.lattice.proof import Proof

        self.explorer = explorer
        self.deadline = deadline
        self.proof = Proof.of_explorer(explorer, deadline)
        self.proving = self.proof is not None
        self.best: Node | None = None
        self.guide = Guide.of_explorer(explorer)
        self.waiting: list[tuple[float, tuple[int, ...]]] = []
        self.expanded: set[tuple[int, ...]] = set()

    def run(self) -> bool:
        """Search until the budget is spent (False) or the search is complete (True)."""
        lattice = self.explorer.lattice
        # The top may be `*` throughout, which counts as suppressed: start below it, too.
        self._learn(self.explorer.look(lattice.top, *lattice.below(lattice.top)))
        if self.guide is not None:
            for nodes in self.guide.chains():
                self._learn(nodes)
                if self._spent():
                    return False
        while self.waiting and not self._spent():
            nodes = self._bounding()
            self._learn(nodes or self._guessed() or self._below(), bounding=bool(nodes))
            if self._is_proved():
                return False
        # Where anonymous nodes have only anonymous ones above them, none was missed once nothing waits.
        return not self.waiting and self.explorer.rules.settles

    def _bounding(self) -> list[Node]:
        """Look at a node that may raise the bound."""
        if self.proof is None or not self.proving or not self.proof.next:
            return []
        node = self.proof.step()
        self.proving = node is not None
        return [] if node is None else [node]

    def _is_proved(self) -> bool:
        """Say whether no node can be better than the best by more than the solver's tolerance."""
        if self.proof is None or self.proving or self.best is None:
            return False
        return self.proof.is_least(self.best.score)

    def _guessed(self) -> list[Node]:
        """Look at nodes with a guess better than the best score."""
        from incrowd.search.lattice import score_to_beat

        if self.guide is None or self.best is None or not self.guide.next:
            return []
        return self._look(self.guide.propose(_PROPOSED, score_to_beat(self.best)))

    def _below(self) -> list[Node]:
        """Look at the nodes below the best waiting node."""
        _, levels = heapq.heappop(self.waiting)
        if levels in self.expanded:
            return []
        self.expanded.add(levels)
        nodes = self.explorer.nodes
        return self._look([below for below in self.explorer.lattice.below(levels) if below not in nodes])

    def _look(self, levels: list[tuple[int, ...]]) -> list[Node]:
        """Look at nodes within the budget."""
        self.explorer.prepare(levels)
        nodes: list[Node] = []
        for start in range(0, len(levels), 2):
            if self._spent():
                break
            nodes += self.explorer.look(*levels[start : start + 2])
        return nodes

    def _learn(self, nodes: list[Node], *, bounding: bool = False) -> None:
        from incrowd.search.lattice import better

        self.explorer.problem.progress.advance(*self.deadline.reached(self.explorer.looked))
        before = self.best
        for node in nodes:
            if node.anonymous:
                heapq.heappush(self.waiting, (node.score, node.levels))
                if better(node, self.best):
                    self.best = node
        if self.proof is not None:
            for node in nodes:
                self.proof.hear(node)
        if self.guide is not None:
            self.guide.learn(nodes, better=self.best is not before, own=not bounding)

    def _spent(self) -> bool:
        return self.deadline.spent(self.explorer.looked)
