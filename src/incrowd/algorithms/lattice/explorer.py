"""Looking at nodes of the lattice: groups, verdicts and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.lattice.lattice import Lattice
from incrowd.algorithms.lattice.node import Node
from incrowd.algorithms.lattice.space import SolutionSpace
from incrowd.errors import ParameterError
from incrowd.recoding import SUPPRESSED, node_labels
from incrowd.recoding.population import cells_of, recoded
from incrowd.table.classes import EquivalenceClasses
from incrowd.table.domain import MOST_COMBINATIONS, combinations_of
from incrowd.table.frequency import (
    FrequencyTable,
    JointCounts,
    PopulationCounts,
    SensitiveCounts,
    smallest_codes,
)

if TYPE_CHECKING:
    from incrowd.algorithms.base import SearchProblem
    from incrowd.utility import LevelCosts, Metric

__all__ = ["Explorer"]

_COLUMN_SIZE = 4096
_KEPT_BYTES = 256 * 2**20
"""What kept nodes may take, all together."""
_AT_ONCE = 64
"""Nodes that are held at once while they are looked at; each takes some bytes per key."""


class _Groups(NamedTuple):
    """Keys grouped by the cells of a node; a snapshot from which nodes above are made."""

    keys: NDArray[np.int32]
    weights: NDArray[np.int64]
    counted: FrequencyTable | None

    @property
    def size(self) -> int:
        """Bytes in use."""
        total = self.keys.nbytes + self.weights.nbytes
        if self.counted is not None:
            held = [counts.keys for counts in self.counted.sensitive]
            if self.counted.joint is not None:
                held.append(self.counted.joint.keys)
            total += sum(array.nbytes for counts in held for array in counts)
        return total


class Explorer:
    """Looks at nodes: groups the keys, asks the models, adds up the loss.

    Rows are never seen. A node is made from the smallest node below that was kept.

    Parameters
    ----------
    problem
        The keys, and what every class that is kept must satisfy.
    metric
        What the score is.
    aggregate
        One of `incrowd.utility.AGGREGATES`; only for metrics that have a value per attribute.
    """

    def __init__(self, problem: SearchProblem, metric: Metric, aggregate: str = "mean") -> None:
        self.problem = problem
        self.frequency = frequency = problem.frequency
        self.attributes = attributes = tuple(problem.attributes)
        max_suppression = problem.max_suppression
        self.lattice = Lattice.of(frequency, attributes)
        self.metric = metric
        self.aggregate = aggregate
        self.weights = np.array([attribute.weight for attribute in attributes], np.float64)
        if not self.weights.sum() > 0:
            raise ParameterError("the weights of the quasi-identifiers are all 0; raise one")
        self.nodes: dict[tuple[int, ...], Node] = {}
        rows = frequency.rows
        allowed = int(max_suppression * rows)
        while allowed + 1 <= rows and (allowed + 1) / rows <= max_suppression:
            allowed += 1
        while allowed > 0 and allowed / rows > max_suppression:
            allowed -= 1
        self.allowed = allowed
        self.models = models = tuple(problem.models)
        self.least = max((model.least_size for model in models if not model.of_table), default=1)
        self.judging = [model for model in models if not model.size_only and not model.of_table]
        self.judging.sort(key=lambda model: not model.monotone.absorbing)
        self.whole = [model for model in models if model.needs_table]
        # A failing node settles those below only if suppressing more never helps them.
        monotone = [
            model.monotone.generalization if allowed <= frequency.suppressed else model.monotone.absorbing
            for model in models
        ]
        self.settles = all(monotone)
        self._tables()
        self._costs()
        each = np.arange(frequency.keys, dtype=np.int32)
        self._kept: list[_Groups] = [_Groups(each, frequency.weights, frequency)]
        self._kept_bytes = 0
        self._kept_levels = np.zeros((1024, len(self.lattice.shape)), np.int64)
        self._kept_sizes = np.zeros(1024, np.int64)
        self._kept_sizes[0] = frequency.keys

    def again(self, problem: SearchProblem) -> Explorer:
        """Return an explorer that asks for something else by the same metric and has not looked yet."""
        return Explorer(problem, self.metric, self.aggregate)

    def _tables(self) -> None:
        # Cells get numbers per level, and small attributes share a column of codes.
        frequency = self.frequency
        self._cells: list[list[NDArray[np.int32]]] = []
        self._counts: list[list[int]] = []
        self._stars: list[list[NDArray[np.bool_]]] = []
        self._places: list[list[NDArray[np.int32]]] = []
        people = None
        if any(model.needs_population for model in self.models) and frequency.population is not None:
            people = frequency.population.people
        for j, domain in enumerate(frequency.domains):
            cells, counts, stars, places = [], [], [], []
            for level in range(int(self.lattice.highs[j]) + 1):
                nodes, place = np.unique(domain.tree.climb(level), return_inverse=True)
                labels = node_labels(domain, nodes)
                cells.append(place.astype(np.int32))
                counts.append(len(nodes))
                # What a class of `*` throughout is: suppressed.
                stars.append(np.array([label == SUPPRESSED for label in labels], np.bool_)[place])
                if people is not None:
                    places.append(cells_of(labels, people.domains[j].values, self.attributes[j]))
            self._cells.append(cells)
            self._counts.append(counts)
            self._stars.append(stars)
            if people is not None:
                self._places.append(places)
        self._packed: dict[tuple[int, ...], tuple[NDArray[np.uint64], int]] = {}
        self._columns: list[list[int]] = []
        size = _COLUMN_SIZE + 1
        for j, domain in enumerate(frequency.domains):
            size *= max(domain.size, 1)
            if size > _COLUMN_SIZE:
                self._columns.append([])
                size = max(domain.size, 1)
            self._columns[-1].append(j)
        joined = []
        for column in self._columns:
            codes = np.zeros(frequency.keys, np.int64)
            for j in column:
                codes = codes * max(frequency.domains[j].size, 1) + frequency.codes[j]
            joined.append(codes)
        largest = max((int(codes.max(initial=0)) for codes in joined), default=0)
        columns = [smallest_codes(codes, max(largest, 256) + 1) for codes in joined]
        self._codes = np.ascontiguousarray(np.column_stack(columns))
        largest = max((domain.size for domain in frequency.domains), default=1)
        ranks = [smallest_codes(codes, max(largest, 257)) for codes in frequency.codes]
        self._ranks = np.ascontiguousarray(np.column_stack(ranks))

    def _costs(self) -> None:
        frequency = self.frequency
        self._gaps: list[list[NDArray[np.float64]]] = []
        self.shares: list[NDArray[np.float64]] = []
        self._scale: list[float] = []
        self.by_class = self.metric.by_class
        self._everything = combinations_of(frequency.domains)
        if self.by_class:
            return
        rows = frequency.rows
        for j, domain in enumerate(frequency.domains):
            totals = frequency.totals(j)
            costs: LevelCosts | None = self.metric.level_costs(domain, totals)
            if costs is None:
                raise ParameterError(f"{self.metric.name} cannot steer a search of full-domain recodings")
            scale = 1 / (costs.whole * rows) if costs.whole else 0.0
            before = frequency.suppressed * costs.before
            self._scale.append(scale)
            self.shares.append(np.array([(float(level @ totals) + before) * scale for level in costs.levels]))
            self._gaps.append([costs.suppressed - level for level in costs.levels])
        sizes = [domain.size for domain in frequency.domains]
        self._rank_offsets = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)

    # --- scores ---------------------------------------------------------------------------------------

    def combine(self, losses: Sequence[float] | NDArray[np.float64]) -> float:
        """Make one score of a loss per attribute."""
        values = np.asarray(losses, np.float64)
        if self.aggregate == "geometric-mean":
            return float(np.expm1((self.weights * np.log1p(values)).sum() / self.weights.sum()))
        if self.aggregate == "max":
            return float((self.weights * values).max() / self.weights.max())
        return float((self.weights * values).sum() / self.weights.sum())

    def least_scores(self) -> NDArray[np.float64]:
        """Return what no node can fall below, as far as known before looking: float64[nodes].

        It never falls from a node to one above.
        """
        lattice = self.lattice
        if self.by_class:
            cells = np.ones(1)
            for j, low in enumerate(lattice.lows):
                counts = np.array(self._counts[j][int(low) :], np.float64)
                cells = (cells[:, None] * counts[None, :]).ravel()
            rows = self.frequency.rows
            kept = max(rows - self.allowed, 1)
            most = np.minimum(cells, self.frequency.keys)
            distinct, place = np.unique(most, return_inverse=True)
            return np.array([self.metric.least(int(count), rows, kept, self.least) for count in distinct])[
                place
            ]
        total = np.zeros(1)
        scale = self.weights.sum()
        for j, (low, high) in enumerate(zip(lattice.lows, lattice.highs, strict=True)):
            shares = self.shares[j][int(low) : int(high) + 1]
            if self.aggregate == "max":
                part = self.weights[j] * shares / self.weights.max()
                total = np.maximum(total[:, None], part[None, :]).ravel()
                continue
            part = (
                self.weights[j] * (np.log1p(shares) if self.aggregate == "geometric-mean" else shares) / scale
            )
            total = (total[:, None] + part[None, :]).ravel()
        return np.expm1(total) if self.aggregate == "geometric-mean" else total

    def absorbing(self) -> Explorer | None:
        """Return an explorer of those models alone under which a failing node settles those below."""
        models = [model for model in self.models if model.monotone.absorbing]
        if self.least > 1:
            from incrowd.privacy import KAnonymity

            models.append(KAnonymity(self.least))
        if not models:
            return None
        share = self.allowed / self.frequency.rows
        made = self.again(replace(self.problem, models=models, max_suppression=share))
        made.allowed = self.allowed
        return made

    # --- looking --------------------------------------------------------------------------------------

    def look(self, *levels: tuple[int, ...]) -> list[Node]:
        """Look at nodes, each given by its levels; at several at once where there are cores."""
        from incrowd.kernels.jit import each_on_a_core

        new = [node for node in dict.fromkeys(levels) if node not in self.nodes]
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            for node, rolled in zip(some, each_on_a_core(self._roll, some), strict=True):
                self.nodes[node] = self._judge(node, *rolled)
        return [self.nodes[node] for node in levels]

    def _source(self, levels: tuple[int, ...]) -> int:
        kept = len(self._kept)
        fits = (self._kept_levels[:kept] <= np.array(levels)).all(axis=1)
        return int(np.where(fits, self._kept_sizes[:kept], np.iinfo(np.int64).max).argmin())

    def _roll(
        self, levels: tuple[int, ...], source: int | None = None
    ) -> tuple[NDArray[np.int32], _Groups, int]:
        if source is None:
            source = self._source(levels)
        groups = self._kept[source]
        prefix = np.zeros(0, np.uint64)
        bits = 0
        tables: list[NDArray[np.uint64]] = []
        used: list[int] = []
        for number in range(len(self._columns)):
            table, width = self._table(number, levels)
            if bits + width > 64:
                ids, first, _ = self._pass(groups, tables, used, prefix, bits)
                prefix = ids.astype(np.uint64)
                bits = max(len(first) - 1, 0).bit_length()
                tables, used = [], []
            tables.append(table << np.uint64(bits))
            bits += width
            used.append(number)
        ids, first, sums = self._pass(groups, tables, used, prefix, bits)
        return ids, _Groups(first, sums, None), source

    def _table(self, number: int, levels: tuple[int, ...]) -> tuple[NDArray[np.uint64], int]:
        """Return the cells of a column of codes as packed numbers, and how many bits these take."""
        column = self._columns[number]
        key = (number, *(levels[j] for j in column))
        if key not in self._packed:
            table, bits = np.zeros(1, np.uint64), 0
            for j in column:
                cells = self._cells[j][levels[j]].astype(np.uint64) << np.uint64(bits)
                bits += (self._counts[j][levels[j]] - 1).bit_length()
                table = (table[:, None] | cells[None, :]).ravel()
            self._packed[key] = table, bits
        return self._packed[key]

    def _pass(
        self,
        groups: _Groups,
        tables: list[NDArray[np.uint64]],
        used: list[int],
        prefix: NDArray[np.uint64],
        bits: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        from incrowd.kernels.lattice import roll_up

        sizes = [len(table) for table in tables]
        offsets = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        codes = self._codes if len(used) == self._codes.shape[1] else self._codes[:, used]
        joined = np.concatenate(tables) if tables else np.zeros(0, np.uint64)
        made: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]] = roll_up(  # type: ignore[no-untyped-call]
            groups.keys, groups.weights, codes, joined, offsets, prefix, bits
        )
        return made

    def _keep(self, levels: tuple[int, ...], groups: _Groups, source: int) -> None:
        """Keep a node's groups for the nodes above, where that saves work and there is room."""
        if len(groups.keys) > 0.8 * self._kept_sizes[source]:
            return
        kept = len(self._kept)
        if self._kept_bytes + groups.size > _KEPT_BYTES:
            return
        self._kept_bytes += groups.size
        if kept == len(self._kept_sizes):
            self._kept_sizes = np.concatenate((self._kept_sizes, np.zeros(kept, np.int64)))
            self._kept_levels = np.vstack((self._kept_levels, np.zeros_like(self._kept_levels)))
        self._kept.append(groups)
        self._kept_levels[kept] = levels
        self._kept_sizes[kept] = len(groups.keys)

    def _judge(self, levels: tuple[int, ...], ids: NDArray[np.int32], groups: _Groups, source: int) -> Node:
        """Ask the models about a node's classes, and score it."""
        before = self.frequency.suppressed
        failing = groups.weights < self.least
        suppressed = int(groups.weights[failing].sum()) + before
        leaves = self._leaves(levels, groups.keys) if self.metric.needs_leaves else np.zeros(0)
        rows = self.frequency.rows
        bound = (
            self.metric.bound(groups.weights, rows, max(rows - self.allowed, 1), self.least, leaves)
            if self.by_class
            else 0.0
        )
        counting = bool(self.judging or self.whole)
        if suppressed > self.allowed:
            if not counting:
                self._keep(levels, groups, source)
            # Classes below are no larger, whatever the other models are.
            return Node(levels, False, suppressed, 0, 0, np.inf, True, bound)
        fails_below = False
        if counting:
            below = self._kept[source].counted
            assert below is not None
            classes = EquivalenceClasses.from_assignment(below, ids, len(groups.keys))
            self._describe(classes, levels, groups.keys)
            failing, fails_below = self._failing(classes, failing, self.allowed)
            groups = groups._replace(counted=self._rolled(classes))
        self._keep(levels, groups, source)
        starred = self._starred(levels, groups.keys)
        if starred is not None:
            failing = failing | starred
        suppressed = int(groups.weights[failing].sum()) + before
        kept = ~failing
        good = suppressed <= self.allowed and bool(kept.any())
        if good and self.whole:
            left = classes.only(kept)
            good = all(result.holds for model in self.whole for result in model.measure(left))
            fails_below = fails_below or (not good and self.settles and starred is None)
        if not good:
            return Node(levels, False, suppressed, 0, 0, np.inf, fails_below, bound)
        score = self._score(levels, groups, failing, leaves)
        sizes = groups.weights[kept]
        floor = 0.0
        if self.by_class and self.settles and starred is None:
            # Whoever is suppressed here is suppressed below, too.
            floor = self.metric.floor(suppressed, rows, self.least, self._everything)
        return Node(levels, True, suppressed, len(sizes), int(sizes.min()), score, False, bound, floor)

    def _failing(
        self, classes: EquivalenceClasses, failing: NDArray[np.bool_], allowed: int
    ) -> tuple[NDArray[np.bool_], bool]:
        """Find the classes to suppress, enough to be too many, and whether that settles the nodes below."""
        sizes = classes.sizes
        before = self.frequency.suppressed
        for model in self.judging:
            failing = failing | ~model.holds(classes)
            if int(sizes[failing].sum()) + before > allowed:
                # The absorbing models come first, so nothing else has been counted yet.
                exact = allowed <= before and model.monotone.generalization and self.settles
                return failing, model.monotone.absorbing or exact
        fickle = [model for model in self.judging if not model.monotone.suppression and not model.needs_table]
        while fickle and failing.any() and not failing.all():
            # What is left is judged again: these models look at other classes, too.
            left = classes.only(~failing)
            still = np.ones(len(left), np.bool_)
            for model in fickle:
                still &= model.holds(left)
            if still.all():
                break
            kept = np.flatnonzero(~failing)
            failing = failing.copy()
            failing[kept[~still]] = True
        return failing, False

    def _describe(
        self, classes: EquivalenceClasses, levels: tuple[int, ...], keys: NDArray[np.int32]
    ) -> None:
        """Tell classes their cells and their people, where a model looks at them; one key stands for each."""
        if not self._places and not any(model.needs_cells for model in self.models):
            return
        codes, sizes = [], []
        for j, level in enumerate(levels):
            size = self._counts[j][level]
            codes.append(smallest_codes(self._cells[j][level][self.frequency.codes[j][keys]], size))
            sizes.append(size)
        classes.set_codes(codes, sizes)
        if self._places:
            population = self.frequency.population
            assert population is not None
            assert population.people is not None
            places = [self._places[j][level] for j, level in enumerate(levels)]
            classes.set_population(*recoded(codes, sizes, places, population.people))

    def _rolled(self, classes: EquivalenceClasses) -> FrequencyTable:
        """Return the classes as the keys of a smaller table."""
        from incrowd.kernels.counting import class_counts

        frequency = classes.frequency
        sensitive = tuple(
            SensitiveCounts(counted.domain, classes.counts(j), counted.totals)
            for j, counted in enumerate(frequency.sensitive)
        )
        joint = population = None
        if frequency.joint is not None:
            combinations = len(frequency.joint.codes[0])
            counts = class_counts(classes.indptr, classes.members, frequency.joint.keys, combinations)
            joint = JointCounts(frequency.joint.codes, counts)
        if frequency.population is not None:
            people = frequency.population
            population = PopulationCounts(classes.population, people.outside, people.records)
        return FrequencyTable(
            (), (), classes.sizes, sensitive, frequency.suppressed, joint=joint, population=population
        )

    def _starred(self, levels: tuple[int, ...], keys: NDArray[np.int32]) -> NDArray[np.bool_] | None:
        """Find the groups that have `*` in every attribute, which makes them suppressed."""
        stars = [self._stars[j][level] for j, level in enumerate(levels)]
        if not all(star.any() for star in stars):
            return None
        starred = np.ones(len(keys), np.bool_)
        for star, codes in zip(stars, self.frequency.codes, strict=True):
            starred &= star[codes[keys]]
        return starred if starred.any() else None

    def _leaves(self, levels: tuple[int, ...], keys: NDArray[np.int32]) -> NDArray[np.float64]:
        leaves = np.ones(len(keys))
        for j, domain in enumerate(self.frequency.domains):
            leaves *= domain.tree.leaves_at(levels[j])[self.frequency.codes[j][keys]]
            np.minimum(leaves, MOST_COMBINATIONS, out=leaves)
        return leaves

    def _score(
        self,
        levels: tuple[int, ...],
        groups: _Groups,
        failing: NDArray[np.bool_],
        leaves: NDArray[np.float64],
    ) -> float:
        if self.by_class:
            return self.metric.of_groups(
                groups.weights, failing, self.frequency.rows, leaves, self._everything
            )
        losses = np.array([self.shares[j][level] for j, level in enumerate(levels)])
        if failing.any():
            from incrowd.kernels.lattice import suppression_gaps

            gaps = np.concatenate([self._gaps[j][level] for j, level in enumerate(levels)])
            extra: NDArray[np.float64] = suppression_gaps(  # type: ignore[no-untyped-call]
                groups.keys, groups.weights, failing, self._ranks, gaps, self._rank_offsets
            )
            losses = losses + extra * np.array(self._scale)
        return self.combine(losses)

    def suppressed_keys(self, levels: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return which keys are suppressed at a node: bool[keys]."""
        ids, groups, _ = self._roll(levels, 0)
        failing = groups.weights < self.least
        if self.judging:
            classes = EquivalenceClasses.from_assignment(self.frequency, ids, len(groups.keys))
            self._describe(classes, levels, groups.keys)
            failing, _ = self._failing(classes, failing, self.frequency.rows)
        starred = self._starred(levels, groups.keys)
        return np.asarray((failing if starred is None else failing | starred)[ids])

    def distinct_cells(self, levels: tuple[int, ...]) -> list[int]:
        """Return how many distinct cells each quasi-identifier has in the table at a node."""
        return [
            len(np.unique(self._cells[j][level][codes]))
            for j, (level, codes) in enumerate(zip(levels, self.frequency.codes, strict=True))
        ]

    def class_sizes(self, levels: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the sizes of a node's classes, none suppressed but those of ``*`` throughout."""
        _, groups, _ = self._roll(levels)
        starred = self._starred(levels, groups.keys)
        return groups.weights if starred is None else groups.weights[~starred]

    def failures(self, levels: tuple[int, ...]) -> list[str]:
        """Say which models a node does not satisfy without suppression, and what it reaches."""
        ids, groups, _ = self._roll(levels, 0)
        classes = EquivalenceClasses.from_assignment(self.frequency, ids, len(groups.keys))
        self._describe(classes, levels, groups.keys)
        starred = self._starred(levels, groups.keys)
        if starred is not None:
            classes = classes.only(~starred)
        return [
            result.shortfall()
            for model in self.models
            for result in model.measure(classes)
            if result.holds is False and result.value is not None
        ]

    def space(self, best: Node | None, *, proved: bool) -> SolutionSpace:
        """Return what was found out."""
        words = self.metric.name if self.by_class else f"{self.metric.name} ({self.aggregate})"
        return SolutionSpace(
            self.lattice.names,
            self.lattice.size,
            words,
            tuple(self.nodes.values()),
            best,
            proved,
            self.frequency.rows,
        )
