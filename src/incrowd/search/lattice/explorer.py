"""Looking at nodes of the lattice: the interface that algorithms search with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.kernels.jit import each_on_a_core
from incrowd.core.kernels.lattice.lattice import below_several
from incrowd.core.kernels.lattice.nodes import START, Limit
from incrowd.core.kernels.lattice.splits import BINS, Nodes, put_in_bins, settle
from incrowd.core.lazy import NDArray, np
from incrowd.core.progress import check
from incrowd.search.lattice.cells import numbered
from incrowd.search.lattice.judge import Judge, TooSmall
from incrowd.search.lattice.lattice import Budget, Limits
from incrowd.search.lattice.node import Node
from incrowd.search.lattice.rollup import FewPeople, Groups, Rolled, Rollup
from incrowd.search.lattice.rules import Rules
from incrowd.search.lattice.score import score_by
from incrowd.search.lattice.sizes import Sizes, parts_of
from incrowd.search.lattice.space import SolutionSpace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from incrowd.measures.utility import Metric
    from incrowd.search.base import SearchProblem
    from incrowd.search.lattice.lattice import Lattice
    from incrowd.search.lattice.score import Terms


_REFUSED = 64
"""Nodes that are remembered because they join too few groups."""

_KEPT_BYTES = 256 * 2**20
"""What kept groups may take, all together."""


class SharedBudget:
    """A budget that several searches spend in turn.

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
        return Budget(max(deadline.nodes - self.looked, 0), max(deadline.seconds - deadline.passed, 0.0))

    def half(self, kept: float = 0.0) -> Budget:
        """Return a half of the rest, except a share of all the time that is kept for something else."""
        left = self.left
        aside = kept * self.deadline.seconds if self.deadline.timed else 0.0
        return Budget(left.nodes, max(left.seconds - aside, 0.0)).part(0.5)


class Memory:
    """The results about the nodes that were looked at, and the groups of some nodes.

    Parameters
    ----------
    whole
        Every key as a group of its own.
    attributes
        Number of quasi-identifiers.

    Attributes
    ----------
    nodes
        What is known, in the order in which the nodes were looked at.
    whole
        As given.
    rare, failing
        Where nothing may be suppressed: a key in the smallest class of nodes at which one is too small; and
        one in the largest class that fails other models, of nodes at which no class is.
    """

    def __init__(self, whole: Groups, attributes: int) -> None:
        self.nodes: dict[tuple[int, ...], Node] = {}
        self.whole = whole
        self.rare: dict[tuple[int, ...], int] = {}
        self.failing: dict[tuple[int, ...], int] = {}
        self._kept = [whole]
        self._refused = np.full((_REFUSED, attributes), -1, np.int64)
        self._refusals = 0
        self._bytes = 0
        self._levels = np.zeros((1024, attributes), np.int64)
        self._sizes = np.zeros(1024, np.int64)
        self._sizes[0] = len(whole.keys)

    def below(self, levels: tuple[int, ...]) -> Groups:
        """Return the fewest groups that were kept of a node below."""
        kept = len(self._kept)
        fits = (self._levels[:kept] <= np.array(levels)).all(axis=1)
        return self._kept[int(np.where(fits, self._sizes[:kept], np.iinfo(np.int64).max).argmin())]

    def wants(self, groups: Groups, below: Groups) -> bool:
        """Say whether a node's groups would save work above, compared with the groups `below`."""
        return self._bytes < _KEPT_BYTES and len(groups.keys) <= 0.8 * len(below.keys)

    def keep(self, levels: tuple[int, ...], groups: Groups) -> None:
        """Keep a node's groups for the nodes above, where there is room."""
        kept = len(self._kept)
        if self._bytes + groups.size > _KEPT_BYTES:
            return
        self._bytes += groups.size
        if kept == len(self._sizes):
            self._sizes = np.concatenate((self._sizes, np.zeros(kept, np.int64)))
            self._levels = np.vstack((self._levels, np.zeros_like(self._levels)))
        self._kept.append(groups)
        self._levels[kept] = levels
        self._sizes[kept] = len(groups.keys)

    def refuse(self, levels: Sequence[int] | NDArray[np.int64]) -> None:
        """Remember a node that joins too few groups to be worth keeping."""
        self._refused[self._refusals % _REFUSED] = levels
        self._refusals += 1

    def are_refused(self, levels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which nodes lie below a node that joins too few groups, and so join even fewer: bool[nodes]."""
        return np.asarray(np.any(np.all(self._refused >= levels[:, None], axis=2), axis=1))


_FEWEST = 3
"""Nodes that are made of one below them, or may be settled at once, so that it pays for itself."""


_OUTLIERS = 4
"""Keys whose classes are followed through the lattice before any node is looked at."""

_NONE = 0.0, 0
"""The parts of a node of which they tell nothing, and a row."""

_LOT = 4
"""Nodes near each other that are made of one below them, at most."""

_SMALL, _LARGE_AT_ONCE = 2**15, 8
"""Keys up to which it costs more to call than to group, and nodes that are looked at in one call beyond."""

_AT_ONCE = 64
"""Nodes that are held at once while they are looked at; each takes some bytes per key."""


class _Best(NamedTuple):
    """The best node that was looked at with the group of every key, for the questions that follow."""

    levels: tuple[int, ...]
    rolled: Rolled
    too_small: TooSmall
    score: float


class Explorer:
    """Looks at nodes: has the keys rolled up, judged and scored, and remembers the results.

    Example: ``Explorer(problem, Loss()).look((0, 1), (1, 1))`` says of two nodes whether they are anonymous,
    how many records are suppressed, and what they lose.

    Parameters
    ----------
    problem
        The keys, and what every class that is kept must satisfy.
    metric
        What the score is.
    aggregate
        One of `incrowd.measures.utility.AGGREGATES`; only for metrics that have a value per attribute.
    limits
        What the search may do; all that the problem allows by default.

    Attributes
    ----------
    rules
        The conclusions that the models allow.
    bound
        What no node can score below, as far as a search that was not finished proved; the search writes it.
    """

    def __init__(
        self, problem: SearchProblem, metric: Metric, aggregate: str = "mean", limits: Limits | None = None
    ) -> None:
        self.problem = problem
        self.limits = limits or Limits.of_problem(problem)
        self.bound = 0.0
        self._by = metric, aggregate
        self._cells = numbered(problem, self.lattice)
        self._rollup = Rollup(problem.frequency, self._cells)
        self.rules = Rules.of_problem(problem, suppresses=self.limits.suppresses)
        self._judge = Judge(problem.frequency, self.rules, self.limits, self._cells)
        self._score = score_by(problem, self.limits, metric, aggregate, self._cells)
        each = np.arange(problem.frequency.keys, dtype=np.int32)
        people = problem.frequency.people.table
        least = self.rules.least_people
        few = FewPeople.of_people(people, least) if people is not None and least > 1 else None
        whole = Groups(each, problem.frequency.weights, problem.frequency, few)
        self._memory = Memory(whole, len(self.lattice.shape))
        self._best: _Best | None = None
        bounds = self.limits
        self._limit = Limit(max(self.rules.least, 1), bounds.allowed, bounds.before, bounds.rows, bounds.kept)
        self._sizes: Sizes | None = None
        if self.rules.by_size:
            self._sizes = Sizes(problem.frequency, self._cells, self._rollup, self._limit, self._score.costs)
        self._shape = np.array(self.lattice.shape)
        self._parts: NDArray[np.float64] | None = None
        self._bins = np.empty((0, 2, BINS + 1))
        # The parts and the row of its bins, for each node that was looked at last.
        self._splits: dict[tuple[int, ...], tuple[float, int]] = {}

    @property
    def lattice(self) -> Lattice:
        """The lattice of nodes that may be looked at."""
        return self.limits.lattice

    @property
    def looked(self) -> int:
        """Number of nodes that were looked at."""
        return len(self._memory.nodes)

    @property
    def rises(self) -> bool:
        """Whether looking at a node can raise the lower bounds of others."""
        return self._score.rises

    @property
    def at_once(self) -> int:
        """Number of nodes to look at before asking which are still open, whatever the number of cores.

        Chosen nodes settle each other where one class settles many. Elsewhere a better one settles others,
        which saves more than it costs to call where there is much to group.
        """
        if self._sizes is None or not self.limits.suppresses:
            return 2
        return _AT_ONCE if self.problem.frequency.keys <= _SMALL else _LARGE_AT_ONCE

    @property
    def by_class(self) -> bool:
        """Whether a node that holds settles the nodes above, by the number of classes."""
        return self._score.costs.by_class

    def least_scores(self) -> NDArray[np.float64]:
        """Return lower bounds of all nodes, as far as known before looking: float64[nodes].

        It never falls from a node to one above.
        """
        return self._score.least_scores()

    def look(self, *levels: tuple[int, ...]) -> list[Node]:
        """Look at nodes, given by levels; at several at once where there are cores."""
        nodes = self._memory.nodes
        new = [node for node in dict.fromkeys(levels) if node not in nodes]
        for start in range(0, len(new), _AT_ONCE):
            check(self.problem.progress)
            some = new[start : start + _AT_ONCE]
            self._splits = {}
            if self._sizes is not None:
                self._look_at_sizes(self._sizes, some)
                continue
            splits = self._score.costs.splits and not self.rules.of_people
            self._bins = np.empty((len(some) if splits else 0, 2, BINS + 1))
            for row, (node, grouped) in enumerate(
                zip(some, each_on_a_core(self._grouped, some), strict=True)
            ):
                nodes[node] = self._judge_node(node, *grouped)
                if splits and not nodes[node].fails_below:
                    weights, bins = grouped[0].groups.weights, self._bins[row]
                    most = put_in_bins(weights, self._score.costs, self._limit, *bins)  # type: ignore[no-untyped-call]
                    self._splits[node] = most, row
        return [nodes[node] for node in levels]

    def _look_at_sizes(self, sizes: Sizes, some: Sequence[tuple[int, ...]]) -> None:
        found = sizes.look(np.array(some, np.int64), np.zeros(len(some), np.int64))
        self._bins = found.bins
        results = zip(some, found.whole[:, :6].tolist(), found.real.tolist(), strict=True)
        for row, (
            levels,
            (good, fails, gone, classes, smallest, key),
            (score, bound, floor, most),
        ) in enumerate(results):
            self._memory.nodes[levels] = Node(
                levels, bool(good), gone, classes, smallest, score, bool(fails), bound, floor
            )
            self._splits[levels] = most, row
            if fails and not self.limits.suppresses:
                self._memory.rare[levels] = key

    def terms(self) -> Terms | None:
        """Return the losses of nodes without suppression as a sum over attributes, or None if impossible."""
        return self._score.terms()

    def may_be_starred(self, levels: tuple[int, ...]) -> bool:
        """Say whether each attribute has a cell ``*`` at a node; classes of only ``*`` are suppressed."""
        return all(self._cells.stars[j][level].any() for j, level in enumerate(levels))

    def guess(self, nodes: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Guess the losses of nodes, int64[nodes, attributes], that suppress such shares of the records."""
        return self._score.guess(nodes, shares)

    @property
    def nodes(self) -> Mapping[tuple[int, ...], Node]:
        """The nodes that were looked at, by levels."""
        return self._memory.nodes

    def settle(
        self,
        nodes: Sequence[Node],
        dead: NDArray[np.bool_],
        least: NDArray[np.float64],
        beat: float,
    ) -> None:
        """Mark the nodes that some settle which were looked at last, and raise the bounds of others.

        Parameters
        ----------
        dead, least
            bool and float64[nodes], written: which are settled, and what each cannot fall below.
        beat
            What a score must stay below to be better than the best so far.
        """
        lattice, costs = self.lattice, self._score.costs
        if self._parts is None:
            self._parts = parts_of(self._cells, lattice) if costs.splits else np.ones((1, 1, 1))
        bounds = [(node.bound, node.floor, self._splits.get(node.levels, _NONE)[0]) for node in nodes]
        settle(  # type: ignore[no-untyped-call]
            np.array([node.levels for node in nodes]) - lattice.lows,
            np.array([node.fails_below for node in nodes]),
            np.array(bounds, np.float64),
            np.array([self._splits.get(node.levels, _NONE)[1] for node in nodes]),
            self._bins,
            beat,
            costs.record * self.limits.kept if costs.by_class else 0.0,
            Nodes(self._shape, lattice.strides, dead, least, self._parts),
        )

    def prepare(self, nodes: Sequence[tuple[int, ...]]) -> None:
        """Group nodes below several of those that are to be looked at, where that saves work."""
        if len(nodes) < _FEWEST or (
            self.rules.settles and (self.rules.counting or not self.limits.suppresses)
        ):
            # Most of these nodes fail by their sizes and settle others, so much would be made in vain.
            return
        levels = np.array(nodes, np.int64)
        bases, above = np.empty_like(levels), np.empty(len(levels), np.int64)
        found = below_several(levels, self._shape, _FEWEST, _LOT, bases, above)  # type: ignore[no-untyped-call]
        new = np.flatnonzero(~self._memory.are_refused(bases[:found]))
        if self._sizes is not None:
            if not len(new):
                return
            whole = self._sizes.look(bases[new], above[new]).whole
            for base in bases[new][whole[:, START] < 0]:
                self._memory.refuse(base)
            return
        for base, many in zip(map(tuple, bases[new].tolist()), above[new].tolist(), strict=True):
            rolled = self._rolled(base)
            before, after = len(rolled.below.keys), len(rolled.groups.keys)
            saved = before - self.rules.kept_work * after
            if saved * many > before * self.rules.effort:
                self._memory.keep(base, self._judge.counted(base, rolled))
            else:
                self._memory.refuse(base)

    def _rolled(self, levels: tuple[int, ...]) -> Rolled:
        return self._rollup.roll(levels, self._memory.below(levels))

    def _whole(self, levels: tuple[int, ...]) -> Rolled:
        """Return the groups with the group of every key."""
        return self._rollup.roll(levels, self._memory.whole)

    def _grouped(self, levels: tuple[int, ...]) -> tuple[Rolled, TooSmall]:
        rolled = self._rolled(levels)
        return rolled, self._judge.too_small(rolled)

    def _judge_node(self, levels: tuple[int, ...], rolled: Rolled, too_small: TooSmall) -> Node:
        """Judge and score a node."""
        groups = rolled.groups
        leaves = self._score.leaves(levels, groups)
        # Classes that lose some of their records may cost less than whole ones.
        bound = 0.0 if self.rules.of_people else self._score.bound(groups, leaves)
        found = self._judge.verdict(levels, rolled, too_small, lambda: self._whole(levels))
        if found.known and self._memory.wants(groups, rolled.below):
            self._memory.keep(levels, found.groups(groups))
        if not found.anonymous:
            if not self.limits.suppresses and groups.weights.min() < self.rules.least:
                self._memory.rare[levels] = int(groups.keys[groups.weights.argmin()])
            elif self.rules.by_class:
                self._memory.failing[levels] = int(groups.keys[found.lost.argmax()])
            return Node(levels, False, found.suppressed, 0, 0, np.inf, found.fails_below, bound)
        score = self._score.of(levels, groups, found.lost, leaves)
        if rolled.below is self._memory.whole and (self._best is None or score < self._best.score):
            self._best = _Best(levels, rolled, too_small, score)
        sizes = (groups.weights - found.lost)[found.lost < groups.weights]
        floor = 0.0
        if self.rules.settles and not found.starred:
            # Whoever is suppressed here is suppressed below, too.
            floor = self._score.floor(found.suppressed)
        return Node(levels, True, found.suppressed, len(sizes), int(sizes.min()), score, False, bound, floor)

    def mark_outliers(self, dead: NDArray[np.bool_]) -> None:
        """Mark the nodes at which the class of any of the rarest keys is too small: bool[nodes].

        Before any node is looked at, this settles what several of them would. It does nothing where records
        may be suppressed.
        """
        if self.rules.least > 1 and not self.limits.suppresses:
            for key in self._rollup.outliers(self.lattice, _OUTLIERS):
                self._rollup.mark_too_small(key, self.rules.least, self.lattice, dead)

    def mark_failing(
        self, levels: tuple[int, ...], dead: NDArray[np.bool_], alive: NDArray[np.bool_]
    ) -> None:
        """Mark the nodes at which a class that failed at a given node fails, too.

        That is the smallest one where it was too small, else the largest one that failed. This costs about as
        much as looking at one node. It does nothing where records may be suppressed.

        Parameters
        ----------
        levels
            The node, which was looked at.
        dead
            bool[nodes]: marked, never unmarked.
        alive
            bool[nodes]: those of which it matters; others may be marked, too.
        """
        key = self._memory.rare.pop(levels, None)
        if key is not None:
            self._rollup.mark_too_small(key, self.rules.least, self.lattice, dead)
        key = self._memory.failing.pop(levels, None)
        nodes = np.flatnonzero(alive & ~dead)
        if key is None or len(nodes) < _FEWEST:
            return
        classes = self._rollup.class_at(key, self.lattice, nodes)
        if classes is not None:
            dead[nodes[self._judge.fails(classes)]] = True

    def distinct_cells(self, levels: tuple[int, ...]) -> list[int]:
        """Return how many distinct cells each quasi-identifier has in the table at a node."""
        return [
            len(np.unique(cells[level][codes]))
            for cells, level, codes in zip(self._cells.cells, levels, self._cells.codes, strict=True)
        ]

    def suppressed_keys(self, levels: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return which keys are suppressed at a node: bool[keys]."""
        if self._best is not None and self._best.levels == levels:
            return self._judge.suppressed(*self._best[:3])
        rolled = self._whole(levels)
        return self._judge.suppressed(levels, rolled, self._judge.too_small(rolled))

    def class_sizes(self, levels: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the sizes of a node's classes without suppression, leaving out a class of only ``*``."""
        return self._judge.sizes(levels, self._rolled(levels))

    def failures(self, levels: tuple[int, ...]) -> list[str]:
        """Say which models a node does not satisfy without suppression, and the values reached."""
        return self._judge.failures(levels, self._whole(levels))

    def again(self, problem: SearchProblem, limits: Limits | None = None) -> Explorer:
        """Return an explorer that asks for something else by the same metric and has not looked yet."""
        return Explorer(problem, *self._by, limits)

    def absorbing(self) -> Explorer | None:
        """Return an explorer of the models under which a failing node settles the nodes below, if any."""
        models = [model for model in self.problem.models if self.problem.monotone(model).absorbing]
        if self.problem.least > 1:
            from incrowd.measures.privacy import KAnonymity

            models.append(KAnonymity(self.problem.least))
        return self.again(replace(self.problem, models=models), self.limits) if models else None

    def space(self, best: Node | None, *, proved: bool) -> SolutionSpace:
        """Return the results of the search."""
        return SolutionSpace(
            self.lattice.names,
            self.lattice.size,
            self._score.words,
            tuple(self._memory.nodes.values()),
            best,
            proved,
            self.limits.rows,
            best.score if proved and best is not None else self.bound,
        )
