"""Base classes of searches of the lattice, verdicts on nodes, and information on a target column."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.errors import InfeasibleError, ParameterError, listed, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.core.progress import Silent
from incrowd.measures.utility import AGGREGATES, METRICS, STEERING
from incrowd.search.base import (
    STARRED_ROOT,
    Algorithm,
    SearchProblem,
    Solution,
    all_hold,
    names_starred_root,
    refuse_every_class,
    refuse_infeasible,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.core.recoding import Recoding, ValueCells
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.search.lattice import Budget, Explorer, Lattice, Limits, Node, SharedBudget


_ROUND_SHARE = 0.5

_FOR_SWEEP = 0.5
"""Share of a time budget reserved for the sweep, which also gets the time that searches leave."""


@dataclass(frozen=True)
class FullDomainAlgorithm(Algorithm):
    """Searches the lattice of full-domain recodings: every column climbs to a single level of a hierarchy.

    Classes that fail a model are suppressed whole; a node counts when they are no more records than
    `max_suppression` allows. A class that has ``*`` in every quasi-identifier counts as suppressed. Under
    km-anonymity people are suppressed whole where that loses fewer records: with all combinations of values
    that they have rows with.

    Parameters
    ----------
    metric
        What the algorithm minimizes among the nodes that it may choose from.
    aggregate
        How a loss per attribute becomes one figure: ``mean`` (weighted), ``geometric-mean`` (of 1 + loss,
        less 1) or ``max``; metrics of classes have one figure anyway.
    recode_suppressed
        Whether the suppressed records are then recoded on their own, with half of them suppressed at most
        where that is possible, and so on until that helps nobody; the result is local recoding in rounds.
    rounds
        How `recode_suppressed` chooses its rounds. ``search`` keeps the first result and searches anew among
        the suppressed records. ``sweep`` also goes through all combinations of levels, from the least mean
        loss LM on, and releases whoever has company there; the result that loses less by LM is taken.

    Attributes
    ----------
    most_nodes
        How many nodes it may have to look at; a larger lattice is refused. None where effort is bounded
        otherwise.
    tags
        Whether it needs models that are monotone under generalization, and refuses others. With suppression
        it needs more: a class that satisfies the model must satisfy it whatever other class joins it.
    """

    metric: str = parameter("what is minimized", kind=str, default="loss", choices=STEERING)
    aggregate: str = parameter(
        "how the losses of the attributes become one",
        kind=str,
        default="mean",
        choices=AGGREGATES,
    )

    recode_suppressed: bool = parameter(
        "whether the suppressed records are recoded on their own, round after round",
        kind=bool,
        default=False,
    )

    rounds: str = parameter(
        "how recode_suppressed chooses its rounds", kind=str, default="sweep", choices=("sweep", "search")
    )

    full_domain: ClassVar[bool] = True
    most_nodes: ClassVar[int | None] = None
    tags: ClassVar[bool] = False

    def search(self, problem: SearchProblem) -> Solution:
        """Choose a node of the lattice (see `Algorithm.search`)."""
        from incrowd.core.recoding import FullDomain
        from incrowd.search.lattice import SharedBudget

        limits = self.limits(problem)
        self.check_effort(limits.lattice)
        shared = SharedBudget(limits.budget)
        explorer = self.explorer(problem, self._next(shared) if self.recode_suppressed else None)
        best, proved = self.choose(explorer)
        if best is None:
            raise InfeasibleError(explain(self, explorer, proved=proved))
        suppressed = explorer.suppressed_keys(best.levels)
        space = explorer.space(best, proved=proved)
        recoding: Recoding = FullDomain.build(problem.frequency, best.levels, suppressed)
        if self.recode_suppressed and suppressed.any():
            shared.looked += explorer.looked
            recoding = self._rounds(problem, best.levels, suppressed, shared)
        if self.recode_suppressed and self.rounds == "sweep":
            from incrowd.search._level_sweep import swept_levels

            recoding = swept_levels(problem, recoding, self.name, shared.left.seconds)
        return Solution(recoding, space)

    def explorer(self, problem: SearchProblem, budget: Budget | None = None) -> Explorer:
        """Return the explorer of nodes, with the budget of `limits` by default."""
        from incrowd.search.lattice import Explorer

        limits = self.limits(problem)
        if budget is not None:
            limits = replace(limits, budget=budget)
        return Explorer(problem, METRICS.get(self.metric)(), self.aggregate, limits)

    def _next(self, shared: SharedBudget) -> Budget:
        """Return the budget of the next search, half of the rest."""
        return shared.half(_FOR_SWEEP if self.rounds == "sweep" else 0.0)

    def limits(self, problem: SearchProblem) -> Limits:
        """Return the limits of a search: all that the problem allows, where the algorithm takes all."""
        from incrowd.search.lattice import Limits

        return Limits.of_problem(problem)

    def check_effort(self, lattice: Lattice) -> None:
        """Raise for a lattice that the algorithm would search for days.

        Raises
        ------
        ParameterError
            When it may have to look at more nodes than `most_nodes`.
        """
        nodes = self.nodes_at_most(lattice)
        if self.most_nodes is not None and nodes > self.most_nodes:
            raise ParameterError(
                f"{self.name}: {len(lattice.names)} quasi-identifiers have {nodes:,} combinations of levels, "
                f"and it looks at {self.most_nodes:,} at most; fix or bound levels "
                f"({setting('Attribute(levels=...)', '--levels')}), name fewer quasi-identifiers, or use "
                "optimal with a budget, datafly or mondrian"
            )

    def nodes_at_most(self, lattice: Lattice) -> int:
        """Return how many nodes the algorithm may have to look at."""
        return lattice.size

    def _rounds(
        self,
        problem: SearchProblem,
        levels: tuple[int, ...],
        suppressed: NDArray[np.bool_],
        shared: SharedBudget,
    ) -> Recoding:
        """Recode the suppressed records in further rounds while a round releases a record."""
        frequency = problem.frequency
        round_of_key = np.where(suppressed, np.int32(-1), np.int32(0))
        rounds = [levels]
        while (remaining := np.flatnonzero(round_of_key < 0)).size and not shared.spent:
            part = frequency.only(round_of_key < 0)
            # A lower limit settles more nodes; half of them costs no quality that we could measure.
            for share in (_ROUND_SHARE, 1.0):
                rest = self.explorer(
                    replace(problem, frequency=part, max_suppression=share), self._next(shared)
                )
                best, _ = self.choose(rest)
                shared.looked += rest.looked
                if best is not None:
                    break
            if best is None or best.suppressed >= part.rows:
                break
            placed = round_of_key.copy()
            placed[remaining[~rest.suppressed_keys(best.levels)]] = len(rounds)
            if not _histories_hold(problem, [*rounds, best.levels], placed):
                break
            rounds, round_of_key = [*rounds, best.levels], placed
        return _in_rounds(frequency, rounds, round_of_key, self.name)

    @abstractmethod
    def choose(self, explorer: Explorer) -> tuple[Node | None, bool]:
        """Choose a node, or None if none is anonymous, and say whether none can be better."""

    def finds(self, problem: SearchProblem, levels: tuple[int, ...]) -> bool:
        """Say whether a search finds a node, given a candidate at or right below the top.

        An algorithm that does not look at every node has to try.
        """
        explorer = self.explorer(problem)
        return explorer.look(levels)[0].anonymous and (explorer.rules.settles or not self.tags)


def _in_rounds(
    frequency: FrequencyTable,
    rounds: Sequence[tuple[int, ...]],
    round_of_key: NDArray[np.int32],
    algorithm: str,
) -> Recoding:
    """Recode each key to the levels of the key's round."""
    from incrowd.core.recoding import SingleDimensional, level_cells

    cells = [
        [level_cells(domain, level) for domain, level in zip(frequency.domains, chosen, strict=True)]
        for chosen in rounds
    ]
    return SingleDimensional.build(frequency, cells, round_of_key, algorithm)


def _histories_hold(
    problem: SearchProblem, rounds: Sequence[tuple[int, ...]], round_of_key: NDArray[np.int32]
) -> bool:
    """Say whether rounds judged separately satisfy the conditions on all classes of a person."""
    models = [model for model in problem.models if model.needs_every_class]
    if not models:
        return True
    recoding = _in_rounds(problem.frequency, rounds, round_of_key, "rounds")
    return bool(all_hold(models, recoding.classes(problem.frequency)).all())


def explain(algorithm: FullDomainAlgorithm, explorer: Explorer, *, proved: bool) -> str:
    """Explain the failure: the failing models where the table is coarsest, and a change that would help.

    Parameters
    ----------
    proved
        Whether no node is anonymous; else the search may have missed one.
    """
    from incrowd.measures.privacy import KAnonymity

    lattice, problem = explorer.lattice, explorer.problem
    # The top may be `*` throughout, which counts as suppressed; what is right below it is not.
    coarsest = [lattice.top, *lattice.below(lattice.top)]
    loose = explorer.again(replace(problem, max_suppression=1.0))
    least = min(
        loose.look(*coarsest),
        key=lambda node: (
            not len(loose.class_sizes(node.levels)),
            not node.anonymous,
            node.suppressed,
            -sum(node.levels),
            node.levels,
        ),
    )
    levels = listed(f"{name}={level}" for name, level in zip(lattice.names, least.levels, strict=True))
    limit = f"{problem.max_suppression:.2%} suppressed"
    missed = explorer.again(problem).look(least.levels)[0].anonymous
    words = [
        f"no full-domain recoding among {lattice.size:,} satisfies the models with at most {limit}"
        if proved and not missed
        else f"{algorithm.name} found no full-domain recoding among {lattice.size:,} that satisfies the "
        f"models with at most {limit}"
    ]
    if missed:
        further = "give it a larger budget" if algorithm.name == "optimal" else "use optimal"
        return f"{words[0]}; the one at {levels} does: fix these levels, or {further}"
    words.append(f"at {levels} " + ("; ".join(loose.failures(least.levels)) or _starred(loose, least.levels)))
    share = _rounded_up(least.suppressed / problem.frequency.rows)
    quiet = replace(problem, progress=Silent())
    # Advice is followed, so what it asks for is tried first.
    if least.anonymous and algorithm.finds(replace(quiet, max_suppression=share), least.levels):
        allowed = setting(f"max_suppression={share}", f"--max-suppression {share}")
        words.append(f"there, {allowed} would do")
    k_models = [model for model in problem.models if isinstance(model, KAnonymity)]
    k = _largest_k(loose, least.levels, explorer.limits.allowed)
    fewer = k_models and 1 <= k < k_models[0].limit
    if fewer and algorithm.finds(replace(quiet, models=[KAnonymity(k)]), least.levels):
        words.append(f"{setting(f'k={k}', f'-k {k}')} alone would do without")
    # What fails for all records as one class was refused before.
    if names_starred_root(problem.attributes):
        words.append(f"at the top {STARRED_ROOT} would do: a class of * alone is suppressed")
    return "; ".join(words)


def _starred(explorer: Explorer, levels: tuple[int, ...]) -> str:
    rows = explorer.problem.frequency.rows
    suppressed = rows - int(explorer.class_sizes(levels).sum())
    subject = "every record has" if suppressed == rows else f"{suppressed:,} of {rows:,} records have"
    return f"{subject} * in every quasi-identifier"


def _rounded_up(share: float) -> float:
    return math.ceil(share * 10_000) / 10_000


def _largest_k(explorer: Explorer, levels: tuple[int, ...], allowed: int) -> int:
    """Return the largest k for which a node stays within the suppression limit (none: 0)."""
    ordered = np.sort(explorer.class_sizes(levels))
    # Records of `*` throughout are suppressed whatever k is.
    starred = explorer.problem.frequency.rows - int(ordered.sum())
    suppressed = starred + np.cumsum(ordered) - ordered
    within = ordered[suppressed <= allowed]
    return int(within[-1]) if len(within) else 0


class Tags:
    """Tags of nodes, where all nodes above an anonymous node are anonymous, and below a failing node fail.

    Parameters
    ----------
    explorer
        What looks at nodes.
    name
        The algorithm, for errors.

    Attributes
    ----------
    status
        int8 over the lattice's grid: 1 anonymous, -1 not, 0 not known.

    Raises
    ------
    ParameterError
        When the models do not allow tagging.
    """

    def __init__(self, explorer: Explorer, name: str) -> None:
        if not explorer.rules.settles:
            raise ParameterError(
                f"{name} needs models under which generalizing never hurts (with suppression: under which a "
                "class that holds absorbs any other); use optimal for these"
            )
        self.explorer = explorer
        self.lattice = explorer.lattice
        self.status: NDArray[np.int8] = np.zeros(self.lattice.grid, np.int8)

    def known(self, levels: tuple[int, ...]) -> int:
        """Return the status of a node."""
        return self.status[self.lattice.between(levels, levels)].item()

    def ask(self, levels: tuple[int, ...]) -> bool:
        """Say whether a node is anonymous, and look at the node if unknown."""
        if not self.known(levels):
            self.mark(self.explorer.look(levels)[0])
        return self.known(levels) > 0

    def mark(self, node: Node) -> None:
        """Tag a node and all nodes above or below."""
        lattice = self.lattice
        if node.anonymous:
            above = self.status[lattice.between(node.levels, lattice.top)]
            above[above == 0] = 1
        elif node.fails_below:
            self.status[lattice.between(lattice.bottom, node.levels)] = -1
        self.status[lattice.between(node.levels, node.levels)] = 1 if node.anonymous else -1

    def minimal(self) -> list[tuple[int, ...]]:
        """Return the anonymous nodes without an anonymous node below, in the order of the levels."""
        good = self.status > 0
        lowest = good.copy()
        for axis in range(good.ndim):
            below = np.moveaxis(good, axis, 0)
            np.moveaxis(lowest, axis, 0)[1:] &= ~below[:-1]
        nodes = np.repeat(self.lattice.lows[None, :], int(lowest.sum()), axis=0)
        nodes[:, self.lattice.free] += np.argwhere(lowest)
        return [tuple(levels) for levels in nodes.tolist()]

    def best(self) -> tuple[Node | None, bool]:
        """Choose the minimal node of least score, proved best where nothing is suppressed."""
        from incrowd.search.lattice import least

        nodes = [node for node in self.explorer.look(*self.minimal()) if node.anonymous]
        best = least(nodes)
        return best, best is None or not self.explorer.limits.suppresses


@dataclass(frozen=True)
class TargetAlgorithm(Algorithm):
    """Base of searches that recode each column by itself, whatever else a record holds."""

    target: str = parameter("the column that the release should predict", kind=str)

    weighted: ClassVar[bool] = False

    def search(self, problem: SearchProblem) -> Solution:
        """Find the cells of all values (see `Algorithm.search`)."""
        from incrowd.core.recoding import SingleDimensional

        frequency = problem.frequency
        refuse_every_class(self.name, problem.models)
        refuse_infeasible(frequency, problem.models)
        cells, in_one_round = [self.value_cells(problem)], np.zeros(frequency.keys, np.int32)
        return Solution(SingleDimensional.build(frequency, cells, in_one_round, self.name))

    @abstractmethod
    def value_cells(self, problem: SearchProblem) -> list[ValueCells]:
        """Return the cells of the values of each quasi-identifier."""


class TargetTable:
    """Frequencies of the target's values by rank of an attribute.

    Figures are in records times bits: the entropy of the target over some records, times their number.
    """

    def __init__(self, frequency: FrequencyTable, position: int) -> None:
        target = frequency.target
        if target is None:
            raise ParameterError(
                f"the column to predict was not counted with column {frequency.domains[position].name!r}; "
                "count the table with target="
            )
        self.values = target.domain.size
        size = frequency.domains[position].size
        key = np.repeat(np.arange(frequency.keys), np.diff(target.keys.indptr))
        cell = frequency.codes[position][key].astype(np.int64) * self.values + target.keys.codes
        counted = np.bincount(cell, target.keys.counts, size * self.values).reshape(size, self.values)
        self.before = np.zeros((size + 1, self.values), np.int64)
        np.cumsum(counted, axis=0, out=self.before[1:])

    def information(self, lo: int, hi: int) -> float:
        """Return the entropy of the target over the ranks ``lo .. hi - 1``, in records times bits."""
        return float(_information(self.before[hi] - self.before[lo]))

    def gain(self, lo: int, hi: int, parts: NDArray[np.int64]) -> float:
        """Return the information gain of dividing ``lo .. hi - 1`` at some first ranks."""
        bounds = np.append(parts, hi)
        return self.information(lo, hi) - float(_information(np.diff(self.before[bounds], axis=0)).sum())

    def best_cut(self, lo: int, hi: int) -> int:
        """Return the rank that cuts ``lo .. hi - 1`` in two with the largest gain, the first in a tie."""
        below = self.before[lo + 1 : hi] - self.before[lo]
        above = self.before[hi] - self.before[lo + 1 : hi]
        return lo + 1 + int(np.argmin(_information(below) + _information(above)))


def _information(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy of rows of counts, times the sums, in bits."""
    total = counts.sum(axis=-1)

    def weighed(x: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(x * np.log2(np.maximum(x, 1)))

    return np.asarray(weighed(total) - weighed(counts).sum(axis=-1))


def children_of(domain: Domain, node: int) -> NDArray[np.int64]:
    """Return the children of a node of the domain's tree, in order."""
    return np.flatnonzero(domain.tree.parents == node)
