"""Mondrian multidimensional recoding."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from incrowd.core.errors import ParameterError, SchemaError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.core.progress import Silent
from incrowd.search.base import SearchProblem, Solution, all_hold
from incrowd.search.local import LocalAlgorithm, unreleasable

if TYPE_CHECKING:
    from incrowd.core.hierarchy import Hierarchy
    from incrowd.core.kernels.mondrian.runs import Axes, Partitions, Sides
    from incrowd.core.table.domain import Domain

_LONG = 10_000
"""Keys of a run that a single core always cuts."""

_BATCH = 4_000_000
"""Keys cut between progress reports."""


@dataclass(frozen=True)
class Mondrian(LocalAlgorithm):
    """Cuts the table in two, again and again, while both sides satisfy the models.

    Example: 1,000 records are cut at the median age. Each half is cut at its median zip, and so on, until a
    side would have fewer than k records. Each part is then an equivalence class.

    - **Which attribute?** The one whose values are spread widest, relative to its column and times its
      weight (``choose="range"``). If no cut of it is admissible, the next one is tried.
    - **Where?** Numbers, dates and categories without hierarchy are cut between two values, near the median:
      both sides have as nearly as possible the same number of records.
    - **Hierarchies.** A column with a hierarchy is cut below the common ancestor of its values. Each child
      that satisfies the models becomes a part of its own. The other children stay together under the
      ancestor.
    - **Missing values** of a number are cut off first.

    If no rule is named, both ``choose="range"`` and ``choose="loss"`` are tried, and the result that loses
    less by LM is taken, of those that blank the fewest columns for most of the records.

    Strict Mondrian never puts records with the same quasi-identifiers into different classes. No record is
    suppressed: the whole table is the first class.

    Parameters
    ----------
    mode
        ``strict``, or ``relaxed``: records at the median are divided so that both sides are equally large.
    choose
        Which attribute is tried first. ``range``: the widest relative to its column. ``span``: the widest in
        its own units; for categories, the number of values. ``loss``: the cut that saves most of the loss LM
        in its attribute; numbers are then cut where it saves most, too, and hierarchies, unless `categories`
        is named, down or between two leaves, whichever saves more. ``gain``: the cut with the largest
        information gain on `target`; numbers are then cut where the gain is largest, too.
    median
        Where numbers are cut. ``balanced``, unless it is named: as near to the median as possible. ``below``:
        the left side has the values below the median; so there is no cut if the median is the smallest value.
        Relaxed Mondrian, ``loss`` and ``gain`` do not use it.
    categories
        How categories are cut. ``hierarchy``, unless it is named or ``choose`` is ``loss``: down the
        hierarchy, if there is one.
        ``ordered``: like numbers, in the order of the leaves or texts. ``appearance``: the values are halved
        in the order of their first appearance, the smaller half first.
    target
        The sensitive or insensitive column that the release should predict, for ``gain``.
    max_depth
        Largest number of cuts on the way to a class; unlimited by default.

    References
    ----------
    LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006 (strict: section
    2.1, relaxed: section 2.2); information gain: the same authors, Workload-aware anonymization, KDD 2006,
    section 4.1. ``choose="span", median="below", categories="appearance"`` are the rules of the
    teaching notebooks after A. Dewes' implementation of it.
    """

    mode: str = parameter(
        "whether records at the median may be parted",
        kind=str,
        default="strict",
        choices=("strict", "relaxed"),
    )
    choose: str | None = parameter(
        "which attribute is cut first",
        kind=str,
        choices=("range", "span", "loss", "gain"),
        optional=True,
    )
    median: str | None = parameter(
        "where numbers are cut", kind=str, choices=("balanced", "below"), optional=True
    )
    categories: str | None = parameter(
        "how categories are cut",
        kind=str,
        choices=("hierarchy", "ordered", "appearance"),
        optional=True,
    )
    target: str | None = parameter("the column that the release should predict", kind=str, optional=True)
    max_depth: int | None = parameter(
        "largest number of cuts on the way to a class", kind=int, optional=True, low=0
    )

    name: ClassVar[str] = "mondrian"
    summary: ClassVar[str] = "cuts the table at medians and down hierarchies while the models hold"
    paper: ClassVar[str] = "LeFevre et al. 2006"
    joins: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.choose == "gain") != (self.target is not None):
            raise ParameterError("mondrian: choose=gain and a target belong together; name both or neither")

    @property
    def by_record(self) -> bool:  # type: ignore[override]
        """Whether records with the same quasi-identifiers may be parted: where relaxed."""
        return self.mode == "relaxed"

    def search(self, problem: SearchProblem) -> Solution:
        """Search by the named rules, or by all candidate rules, and keep the result of least loss."""
        from incrowd.core.kernels.jit import at_once
        from incrowd.core.recoding import BLANKED_ABOVE, blanked_shares
        from incrowd.measures.utility import Loss

        frequency = problem.frequency
        if self.by_record or any((self.choose, self.median, self.categories)):
            return super().search(problem)

        def by_loss() -> Solution | None:
            # Sets that are too long refuse a recoding, and another one may have none.
            with suppress(SchemaError):
                return replace(self, choose="loss").search(replace(problem, progress=Silent()))
            return None

        # Two searches have a core each, and share the others where there are four or more.
        both: list[Solution | None] = at_once(frequency.keys, partial(super().search, problem), by_loss)
        solutions = [solution for solution in both if solution is not None]

        def lost(solution: Solution) -> tuple[int, int, float]:
            recoding = solution.recoding
            shares = blanked_shares(frequency, recoding).values()
            blanked = sum(share > BLANKED_ABOVE for share in shares)
            return unreleasable(problem, recoding), blanked, Loss().measure(frequency, recoding).value

        return min(solutions, key=lost)

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Cut until no cut is admissible."""
        if self.categories == "appearance" and not problem.frequency.in_order:
            raise ParameterError(
                "mondrian: categories=appearance needs rows in an order, and those of this table have none; "
                "say categories=ordered or hierarchy"
            )
        return _Search(self, problem).run()


class _Runs(NamedTuple):
    """Runs of keys with start, end and records: int64[runs] each."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    totals: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[_Runs]) -> _Runs:
        """Return the runs of all parts in sequence, possibly none."""
        none = cls(*np.zeros((3, 0), np.int64))
        return cls(*(np.concatenate(each) for each in zip(none, *parts, strict=True)))


class _Search:
    """State of a search: keys in an order in which every partition is a run."""

    def __init__(self, settings: Mondrian, problem: SearchProblem) -> None:
        from incrowd.core.kernels.jit import so_few
        from incrowd.core.kernels.mondrian import partition
        from incrowd.core.kernels.mondrian.runs import APPEARANCE, Keys
        from incrowd.core.table.frequency import smallest_codes

        frequency = problem.frequency
        self.frequency = frequency
        self.problem = problem
        self.max_depth = settings.max_depth
        self.target = frequency.target if settings.choose == "gain" else None
        self.saves = settings.choose == "loss"
        self.where = (
            partition.GIVEN
            if self.saves or self.target is not None
            else partition.HALVES
            if settings.by_record
            else partition.MEDIAN
            if settings.median == "below"
            else partition.BALANCED
        )
        self.least = problem.least
        # Sizes are checked while cuts are proposed; only other models need another look.
        self.checked = problem.open_models
        self.certain = problem.certain_size if self.checked else None
        self.axes = _axes(settings, problem)
        # What NumPy has functions for: the rules that are tried where none is named.
        supported = self.saves or (self.where == partition.BALANCED and settings.choose in (None, "range"))
        supported &= not (self.axes.way == APPEARANCE).any()
        self.by_numpy = supported and so_few(frequency.keys)
        self.by_level = self.by_numpy or self.target is not None or bool(self.checked)
        largest = max((domain.size for domain in frequency.domains), default=1)
        columns = [smallest_codes(codes, largest) for codes in frequency.codes]
        self.keys = Keys(
            codes=np.column_stack(columns) if columns else np.zeros((frequency.keys, 0), np.uint8),
            weights=frequency.weights.copy(),
            numbers=np.arange(frequency.keys, dtype=np.int64),
            groups=np.zeros(frequency.keys, np.int32),
        )

    def run(self) -> tuple[NDArray[np.int32], int]:
        """Return the class of each key and the number of classes, when nothing can be cut.

        Classes are numbered in the order in which a queue of partitions finishes them: those of fewer cuts
        first, and of as many from left to right.
        """
        begins, depths = self._by_level() if self.by_level else self._depth_first()
        number = np.empty(len(begins), np.int32)
        number[np.argsort(depths, kind="stable")] = np.arange(len(begins), dtype=np.int32)
        lengths = np.diff(np.append(begins, self.frequency.keys))
        class_of_key = np.empty(self.frequency.keys, np.int32)
        class_of_key[self.keys.numbers] = np.repeat(number, lengths)
        return class_of_key, len(begins)

    def _depth_first(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Cut with a single kernel, and return the start of each class and the number of cuts above."""
        from incrowd.core.kernels.jit import over_ranges, thread_count
        from incrowd.core.kernels.mondrian.descent import descend

        keys = self.frequency.keys
        deepest = keys if self.max_depth is None else self.max_depth
        # Long runs are cut once and looked at again, so that no core has to cut most of the table alone.
        long = max(min(keys, _BATCH) // (8 * thread_count()), _LONG)
        ends, depths = np.zeros((2, keys), np.int32)
        ends[0] = keys
        begins = open_ = np.zeros(1, np.int64)
        while len(open_):
            lengths = ends[open_] - open_
            if (lengths > long).any():
                batch = open_[lengths > long]
                upto = min(int(depths[batch[0]]) + 1, deepest)
            else:
                batch = open_[: max(int(np.searchsorted(np.cumsum(lengths), _BATCH)), 1)]
                upto = deepest
            work = _work(batch, ends[batch].astype(np.int64))
            runs = batch, ends, depths
            over_ranges(descend, work, self.keys, runs, self.axes, self.where, self.least, upto)
            begins = np.flatnonzero(ends)
            open_ = begins[(depths[begins] >= 0) & (depths[begins] < deepest)]
            self.problem.progress.advance(keys - int((ends[open_] - open_).sum()), keys)
        depths = depths[begins]
        return begins, np.where(depths < 0, -1 - depths, depths)

    def _by_level(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Cut level by level, so that the models judge all sides of a level together."""
        starts = np.zeros(1, np.int64)
        stops = np.array([self.frequency.keys], np.int64)
        totals = np.array([self.frequency.records], np.int64)
        finished = []
        done = depth = 0
        while len(starts):
            deep = self.max_depth is not None and depth >= self.max_depth
            open_ = (totals >= 2 * self.least) & (stops - starts > 1) & (not deep)
            closed = [starts[~open_]]
            done += int((stops - starts)[~open_].sum())
            (starts, stops, totals), uncut = self._level(starts[open_], stops[open_], totals[open_])
            closed.append(uncut[0])
            done += int((uncut[1] - uncut[0]).sum())
            finished.append(np.concatenate(closed))
            self.problem.progress.advance(done, self.frequency.keys)
            depth += 1
        begins, levels = np.concatenate(finished), [len(closed) for closed in finished]
        order = np.argsort(begins)
        return begins[order], np.repeat(np.arange(depth, dtype=np.int32), levels)[order]

    def _sums(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up the records of each run of keys."""
        from incrowd.core.kernels.jit import over_ranges
        from incrowd.core.kernels.mondrian import partition

        if self.by_numpy:
            before = np.zeros(len(self.keys.weights) + 1, np.int64)
            np.cumsum(self.keys.weights, out=before[1:])
            return np.asarray(before[stops] - before[starts])
        sums = np.empty(len(starts), np.int64)
        over_ranges(partition.sum_runs, _work(starts, stops), (starts, stops), self.keys.weights, sums)
        return sums

    def _level(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64], totals: NDArray[np.int64]
    ) -> tuple[_Runs, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Cut every partition once, and return the parts and the uncut partitions."""
        from incrowd.core.kernels import numpy_fallback
        from incrowd.core.kernels.jit import over_ranges
        from incrowd.core.kernels.mondrian import partition

        parts = self._new_partitions(starts, stops, totals)
        if self.by_numpy:
            numpy_fallback.spans(self.keys, parts, self.axes)
            if self.saves:
                numpy_fallback.order_by_saving(self.keys, parts, self.axes, self.least)
        elif self.saves:
            from incrowd.core.kernels.mondrian.savings import order_by_saving

            over_ranges(order_by_saving, _work(starts, stops), self.keys, parts, self.axes, self.least)
        else:
            over_ranges(partition.spans, _work(starts, stops), self.keys, parts, self.axes)
        if self.target is not None:
            from incrowd.core.kernels.mondrian.descent import order_by_gain

            values = self.target.domain.size
            over_ranges(
                order_by_gain, _work(starts, stops), self.keys, parts, self.axes, self.target.keys, values,
                self.least,
            )  # fmt: skip
        runs: list[_Runs] = []
        uncut_starts, uncut_stops = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        while len(parts.starts):
            work = _work(parts.starts, parts.stops)
            # One round with the attributes age, zip, in this order of width, and k = 2:
            #   partition 1: ages 20 30 40 50    cut at 40, and both sides hold: two runs for the next level
            #   partition 2: ages 20 30 40 50    cut at 40, but a side fails: zip is tried in the next round
            #   partition 3: age 20, zip 021     no attribute can be cut: the partition is a class
            if self.by_numpy:
                numpy_fallback.propose(self.keys, parts, self.axes, self.least)
            else:
                over_ranges(partition.propose, work, self.keys, parts, self.axes, self.where, self.least)
            none = parts.many == 0
            uncut_starts.append(parts.starts[none])
            uncut_stops.append(parts.stops[none])
            parts = parts.picked(~none)
            cut, sides = self._carry_out(parts)
            runs.append(sides)
            parts = parts.picked(~cut)
            self._go_down(parts)
        return _Runs.joined(runs), (np.concatenate(uncut_starts), np.concatenate(uncut_stops))

    def _go_down(self, parts: Partitions) -> None:
        """Let partitions be cut down the hierarchy after a cut between two leaves failed."""
        from incrowd.core.kernels.mondrian.runs import EITHER

        if not self.saves:
            return
        places = np.arange(len(parts.starts))
        failed = parts.order[places, parts.tried - 1]
        again = (self.axes.way[failed] == EITHER) & (parts.cuts[places, failed] >= 0)
        parts.cuts[places[again], failed[again]] = -1
        parts.tried[again] -= 1

    def _new_partitions(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64], totals: NDArray[np.int64]
    ) -> Partitions:
        """Return partitions with only positions and numbers of records filled in."""
        from incrowd.core.kernels.mondrian.partition import GIVEN
        from incrowd.core.kernels.mondrian.runs import Partitions

        codes, count = self.keys.codes, len(starts)
        shape = (count, codes.shape[1])
        return Partitions(
            starts=starts,
            stops=stops,
            totals=totals,
            lows=np.empty(shape, codes.dtype),
            highs=np.empty(shape, codes.dtype),
            order=np.empty(shape, np.int16),
            cuts=np.full(shape if self.where == GIVEN else (count, 0), -1, np.int64),
            tried=np.zeros(count, np.int64),
            many=np.zeros(count, np.int64),
            binary=np.zeros(count, np.bool_),
        )

    def _carry_out(self, parts: Partitions) -> tuple[NDArray[np.bool_], _Runs]:
        """Carry out the proposed cuts with sides that satisfy the models, and return the sides."""
        from incrowd.core.kernels import numpy_fallback
        from incrowd.core.kernels.jit import over_ranges
        from incrowd.core.kernels.mondrian import merging, partition

        cut = np.zeros(len(parts.starts), np.bool_)
        runs: list[_Runs] = []
        waiting = np.arange(len(parts.starts))
        while len(waiting):
            sides = _sides(parts, waiting)
            work = _work(sides.starts, sides.stops)
            if self.by_numpy:
                numpy_fallback.arrange(self.keys, sides)
            else:
                over_ranges(partition.arrange, work, self.keys, sides)
            first, ends = sides.first_end, sides.ends
            opens = np.empty_like(ends)
            opens[1:] = ends[:-1]
            opens[first[:-1]] = sides.starts
            good = np.ones(len(waiting), np.bool_)
            candidates = _Runs(opens, ends, self._sums(opens, ends))
            if self.checked:
                holds = self._holds(candidates)
                over_ranges(merging.merge_failing, first, sides, candidates.totals, holds, self.keys.groups)
                good = sides.many == np.diff(first)
                # Fewer sides are tried again, none at all gives the cut up.
                good &= np.logical_and.reduceat(holds, first[:-1])
            accepted = np.repeat(good, np.diff(first))
            runs.append(_Runs(*(each[accepted] for each in candidates)))
            cut[waiting[good]] = True
            parts.many[waiting] = sides.many
            waiting = waiting[~good & (sides.many > 0)]
        return cut, _Runs.joined(runs)

    def _holds(self, runs: _Runs) -> NDArray[np.bool_]:
        """Say which runs of keys satisfy the models as classes."""
        from incrowd.core.kernels import numpy_fallback
        from incrowd.core.kernels.jit import over_ranges
        from incrowd.core.kernels.mondrian import partition
        from incrowd.core.table.classes import EquivalenceClasses

        holds = np.ones(len(runs.totals), np.bool_)
        open_ = runs.totals < (np.inf if self.certain is None else self.certain)
        starts, stops = runs.starts[open_], runs.stops[open_]
        indptr = _work(starts, stops)
        if self.by_numpy:
            members = self.keys.numbers[numpy_fallback.members_of_runs(starts, stops)[0]]
        elif len(starts) and (starts[1:] == stops[:-1]).all():
            members = self.keys.numbers[starts[0] : stops[-1]]
        else:
            members = np.empty(indptr[-1], np.int64)
            over_ranges(partition.gather, indptr, starts, self.keys.numbers, indptr, members)
        holds[open_] = all_hold(self.checked, EquivalenceClasses(self.frequency, indptr, members))
        return holds


def _sides(parts: Partitions, waiting: NDArray[np.int64]) -> Sides:
    """Allocate the sides of the proposed cuts of some partitions."""
    from incrowd.core.kernels.mondrian.runs import Sides

    many = parts.many[waiting]
    first_end = np.zeros(len(many) + 1, np.int64)
    np.cumsum(many, out=first_end[1:])
    return Sides(
        starts=parts.starts[waiting],
        stops=parts.stops[waiting],
        many=many,
        binary=parts.binary[waiting],
        ends=np.empty(first_end[-1], np.int64),
        first_end=first_end,
    )


def _work(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of keys before each partition, for sharing work among the cores."""
    work = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(stops - starts, out=work[1:])
    return work


def _axes(settings: Mondrian, problem: SearchProblem) -> Axes:
    """Convert the domains to the arrays of the compiled loops."""
    from incrowd.core.kernels.mondrian.runs import Axes

    domains = problem.frequency.domains
    trees = [domain.hierarchy for domain in domains]
    present = [tree for tree in trees if tree is not None]
    nothing, nowhere = np.zeros(0, np.int32), np.zeros(0)
    positions = [nowhere if domain.hierarchy is not None else _positions(domain) for domain in domains]
    ladders = [nothing if tree is None else _ladder(tree) for tree in trees]

    def starts(parts: Sequence[Any]) -> Any:
        return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)

    return Axes(
        by_span=np.bool_(settings.choose == "span"),
        weight=np.array([attribute.weight for attribute in problem.attributes], np.float64),
        counted=np.array([not domain.ordered for domain in domains], np.bool_),
        way=np.array([_way(settings, domain) for domain in domains], np.int8),
        is_tree=np.array([tree is not None for tree in trees], np.bool_),
        size=np.array([domain.size for domain in domains], np.int64),
        missing=np.array(
            [-1 if domain.hierarchy is not None else domain.missing for domain in domains], np.int64
        ),
        offset=starts(positions),
        positions=np.concatenate([nowhere, *positions]),
        extent=np.array([_extent(domain) for domain in domains], np.float64),
        ladder=starts(ladders),
        at_depth=np.concatenate([nothing, *ladders]),
        nodes=starts([nothing if tree is None else tree.labels for tree in trees]),
        node_lo=np.concatenate([nothing, *(tree.lo for tree in present)]),
        node_hi=np.concatenate([nothing, *(tree.hi for tree in present)]),
        node_depth=np.concatenate([nothing, *(tree.depths for tree in present)]),
        node_parent=np.concatenate([nothing, *(tree.parents for tree in present)]),
    )


def _way(settings: Mondrian, domain: Domain) -> int:
    """Return the way of cutting a domain."""
    from incrowd.core.kernels.mondrian.runs import APPEARANCE, DOWN, EITHER, ORDERED

    if domain.ordered:
        return ORDERED
    if settings.categories == "appearance":
        return APPEARANCE
    if domain.hierarchy is None or settings.categories == "ordered":
        return ORDERED
    return EITHER if settings.choose == "loss" and settings.categories is None else DOWN


def _positions(domain: Domain) -> NDArray[np.float64]:
    """Return the position of each value: the number, or the rank where values have no distances."""
    return domain.positions if domain.ordered else np.arange(domain.size, dtype=np.float64)


def _extent(domain: Domain) -> float:
    """Return the distance from the first to the last value, or 0 with a hierarchy."""
    if domain.hierarchy is not None:
        return 0.0
    numbers = _positions(domain)
    present = numbers[: domain.missing] if domain.missing >= 0 else numbers
    return float(present[-1] - present[0]) if len(present) else 0.0


def _ladder(tree: Hierarchy) -> NDArray[np.int32]:
    """Return the ancestor of each leaf at each depth, from the root down."""
    # Ancestor at depth d = climbed (own depth - d) steps; go up rung by rung from the leaves.
    at = [tree.leaves.astype(np.int32)]
    for depth in range(tree.height - 1, -1, -1):
        climbed = at[-1].copy()
        deeper = tree.depths[climbed] > depth
        climbed[deeper] = tree.parents[climbed[deeper]]
        at.append(climbed)
    return np.concatenate(at[::-1])
