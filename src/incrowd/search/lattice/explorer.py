"""Looking at nodes of the lattice: the interface that algorithms search with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.kernels.jit import each_on_a_core
from incrowd.core.lazy import NDArray, np
from incrowd.core.progress import check
from incrowd.search.lattice.cells import numbered
from incrowd.search.lattice.judge import Judge, TooSmall
from incrowd.search.lattice.limits import Limits
from incrowd.search.lattice.memory import Memory
from incrowd.search.lattice.node import Node
from incrowd.search.lattice.rollup import Groups, Rolled, Rollup
from incrowd.search.lattice.score import score_by
from incrowd.search.lattice.small_groups import FewPeople
from incrowd.search.lattice.space import SolutionSpace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from incrowd.measures.utility import Metric
    from incrowd.search.base import SearchProblem
    from incrowd.search.lattice.lattice import Lattice
    from incrowd.search.lattice.loop import Loop
    from incrowd.search.lattice.score import Terms

_FEWEST = 3
"""Nodes that are made of one below them, or may be settled at once, so that it pays for itself."""


_OUTLIERS = 4
"""Keys whose classes are followed through the lattice before any node is looked at."""

_AT_ONCE = 64
"""Nodes that are held at once while they are looked at; each takes some bytes per key."""
_LEVELS = 500
"""Levels of a hierarchy up to which a search is compiled."""


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
        One of `incrowd.utility.AGGREGATES`; only for metrics that have a value per attribute.
    limits
        What the search may do; all that the problem allows by default.

    Attributes
    ----------
    bound
        What no node can score below, as far as a search that was not finished proved; the search writes it.
    """

    def __init__(
        self, problem: SearchProblem, metric: Metric, aggregate: str = "mean", limits: Limits | None = None
    ) -> None:
        self.problem = problem
        self.limits = limits or Limits.of(problem)
        self.bound = 0.0
        self._by = metric, aggregate
        self._cells = numbered(problem, self.lattice)
        self._rollup = Rollup(problem.frequency, self._cells)
        self._judge = Judge(problem, self.limits, self._cells)
        self._score = score_by(problem, self.limits, metric, aggregate, self._cells)
        each = np.arange(problem.frequency.keys, dtype=np.int32)
        people = problem.frequency.people.table
        least = self._judge.least_people
        few = FewPeople.of(people, least) if people is not None and least > 1 else None
        whole = Groups(each, problem.frequency.weights, problem.frequency, few)
        self._memory = Memory(whole, len(self.lattice.shape))
        self._best: _Best | None = None

    @property
    def lattice(self) -> Lattice:
        """The nodes that it may look at."""
        return self.limits.lattice

    @property
    def looked(self) -> int:
        """How many nodes it has looked at."""
        return len(self._memory.nodes)

    @property
    def settles(self) -> bool:
        """Whether a node that fails settles those below."""
        return self._judge.settles

    @property
    def may_settle(self) -> bool:
        """Whether a node that fails by far settles those below."""
        return self._judge.may_settle

    @property
    def rises(self) -> bool:
        """Whether looking at a node can raise the lower bounds of others."""
        return self._score.rises

    def least_scores(self) -> NDArray[np.float64]:
        """Return lower bounds of all nodes, as far as known before looking: float64[nodes].

        It never falls from a node to one above.
        """
        return self._score.least_scores()

    def look(self, *levels: tuple[int, ...]) -> list[Node]:
        """Look at nodes, each given by its levels; at several at once where there are cores."""
        nodes = self._memory.nodes
        new = [node for node in dict.fromkeys(levels) if node not in nodes]
        for start in range(0, len(new), _AT_ONCE):
            check(self.problem.progress)
            some = new[start : start + _AT_ONCE]
            for node, grouped in zip(some, each_on_a_core(self._grouped, some), strict=True):
                nodes[node] = self._known(node, *grouped)
        return [nodes[node] for node in levels]

    def terms(self) -> Terms | None:
        """Return the losses of nodes without suppression as a sum over attributes; None where it is none."""
        return self._score.terms()

    def may_be_starred(self, levels: tuple[int, ...]) -> bool:
        """Say whether each attribute has a cell ``*`` at a node; one of ``*`` alone counts as suppressed."""
        return all(self._cells.stars[j][level].any() for j, level in enumerate(levels))

    def guess(self, nodes: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Guess the losses of nodes, int64[nodes, attributes], that suppress such shares of the records."""
        return self._score.guess(nodes, shares)

    @property
    def nodes(self) -> Mapping[tuple[int, ...], Node]:
        """The nodes that it has looked at, by their levels."""
        return self._memory.nodes

    def loop(
        self, order: NDArray[np.int64], dead: NDArray[np.bool_], scores: NDArray[np.float64]
    ) -> Loop | None:
        """Return the compiled search, if there is one for the models and the hierarchies.

        There is none where models look at more than sizes, or where a hierarchy has very many levels: the
        search keeps a figure for each pair of levels.

        Parameters
        ----------
        order, dead, scores
            int64, bool and float64[nodes]: the nodes, the most promising first; which are settled; and what
            each cannot fall below.
        """
        if not self._judge.by_size or max(self.lattice.shape) > _LEVELS:
            return None
        from incrowd.search.lattice.loop import Loop, given_to_loop

        given = given_to_loop(
            self.problem.frequency,
            self._cells,
            self._rollup,
            self.limits,
            self._score.for_loop(),
            self._judge.least,
        )
        return Loop(given, self.lattice, order, dead, scores)

    def note(self, nodes: Iterable[Node]) -> None:
        """Remember nodes that were looked at elsewhere."""
        self._memory.nodes.update((node.levels, node) for node in nodes)

    def prepare(self, nodes: Sequence[tuple[int, ...]]) -> None:
        """Group nodes below several of those that are to be looked at, where that saves work."""
        if self.settles and (self._judge.counting or not self.limits.suppresses):
            # Most of these nodes fail by their sizes and settle others, so much would be made in vain.
            return
        for levels, above in below_several(nodes, self.lattice.shape):
            if self._memory.is_refused(levels):
                continue
            rolled = self._rolled(levels)
            before, after = len(rolled.below.keys), len(rolled.groups.keys)
            saved = before - self._judge.kept_work * after
            if saved * above > before * self._judge.effort:
                self._memory.keep(levels, self._judge.counted(levels, rolled))
            else:
                self._memory.refuse(levels)

    def _rolled(self, levels: tuple[int, ...]) -> Rolled:
        return self._rollup.roll(levels, self._memory.below(levels))

    def _whole(self, levels: tuple[int, ...]) -> Rolled:
        """Return the groups with the group of every key."""
        return self._rollup.roll(levels, self._memory.whole)

    def _grouped(self, levels: tuple[int, ...]) -> tuple[Rolled, TooSmall]:
        rolled = self._rolled(levels)
        return rolled, self._judge.too_small(rolled)

    def _known(self, levels: tuple[int, ...], rolled: Rolled, too_small: TooSmall) -> Node:
        """Judge and score a node."""
        groups = rolled.groups
        leaves = self._score.leaves(levels, groups)
        # Classes that lose some of their records may cost less than whole ones.
        bound = 0.0 if self._judge.whole_people else self._score.bound(groups, leaves)
        found = self._judge.verdict(levels, rolled, too_small, lambda: self._whole(levels))
        if found.known and self._memory.wants(groups, rolled.below):
            self._memory.keep(levels, found.groups(groups))
        if not found.anonymous:
            if not self.limits.suppresses and groups.weights.min() < self._judge.least:
                self._memory.rare[levels] = int(groups.keys[groups.weights.argmin()])
            elif self._judge.by_class:
                self._memory.failing[levels] = int(groups.keys[found.lost.argmax()])
            return Node(levels, False, found.suppressed, 0, 0, np.inf, found.fails_below, bound)
        score = self._score.of(levels, groups, found.lost, leaves)
        if rolled.below is self._memory.whole and (self._best is None or score < self._best.score):
            self._best = _Best(levels, rolled, too_small, score)
        sizes = (groups.weights - found.lost)[found.lost < groups.weights]
        floor = 0.0
        if self.settles and not found.starred:
            # Whoever is suppressed here is suppressed below, too.
            floor = self._score.floor(found.suppressed)
        return Node(levels, True, found.suppressed, len(sizes), int(sizes.min()), score, False, bound, floor)

    def mark_outliers(self, dead: NDArray[np.bool_]) -> None:
        """Mark the nodes at which the class of one of the rarest keys is too small: bool[nodes].

        Before any node is looked at, this settles what several of them would. It does nothing where records
        may be suppressed.
        """
        if self._judge.least > 1 and not self.limits.suppresses:
            for key in self._rollup.outliers(self.lattice, _OUTLIERS):
                self._rollup.mark_too_small(key, self._judge.least, self.lattice, dead)

    def mark_failing(
        self, levels: tuple[int, ...], dead: NDArray[np.bool_], alive: NDArray[np.bool_]
    ) -> None:
        """Mark the nodes at which a class that failed at one node fails, too.

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
            self._rollup.mark_too_small(key, self._judge.least, self.lattice, dead)
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
        """Return the sizes of a node's classes, none suppressed but those of ``*`` throughout."""
        return self._judge.sizes(levels, self._rolled(levels))

    def failures(self, levels: tuple[int, ...]) -> list[str]:
        """Say which models a node does not satisfy without suppression, and the values that it reaches."""
        return self._judge.failures(levels, self._whole(levels))

    def again(self, problem: SearchProblem, limits: Limits | None = None) -> Explorer:
        """Return an explorer that asks for something else by the same metric and has not looked yet."""
        return Explorer(problem, *self._by, limits)

    def absorbing(self) -> Explorer | None:
        """Return an explorer of those models alone under which a failing node settles those below."""
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


def below_several(
    nodes: Sequence[tuple[int, ...]], shape: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield nodes below several of those given, and how many are above each; below most comes first.

    Example: of ``(2, 0)``, ``(2, 1)`` and ``(3, 1)`` it yields ``(2, 0), 3``.

    Parameters
    ----------
    shape
        Number of levels per attribute.
    """
    heights = np.maximum(np.array(shape) - 1, 1)
    waiting = [np.array(nodes)]
    while waiting:
        part = waiting.pop()
        if len(part) < _FEWEST:
            continue
        yield tuple(part.min(axis=0).tolist()), len(part)
        axis = int((part / heights).var(axis=0).argmax())
        low = part[:, axis] <= part[:, axis].mean()
        if not low.all():
            waiting += [part[low], part[~low]]
