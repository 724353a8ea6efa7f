"""Classes from a sweep from fine to coarse, in which large enough groups leave at each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.kernels.clusters.costs import cell_costs
from incrowd.core.kernels.grouping.hashing import group_with_company
from incrowd.core.lazy import NDArray, np
from incrowd.search.lattice.lattice import Budget

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.core.recoding.cells import ValueCells
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.search._points import PricedKeys

_MOST_NODES = 1 << 20
"""Largest number of combinations sorted by cost. Beyond, rungs are dropped."""

_AT_ONCE = 4
"""Columns that are grouped before keys without company are left out."""


class Rung(NamedTuple):
    """A generalization of an attribute: level, group of each key, int64[keys], and mean cost."""

    level: int
    groups: NDArray[np.int64]
    cost: float


class Sweep(NamedTuple):
    """The result of a sweep.

    Attributes
    ----------
    class_of
        int64[keys]: the class of each key, -1 for whoever is left.
    levels
        The levels of the rungs at which each class left.
    """

    class_of: NDArray[np.int64]
    levels: list[tuple[int, ...]]


def swept(keys: PricedKeys, least: int, nodes: int) -> NDArray[np.int64] | None:
    """Return the class of each key in classes of `least` records, int64[keys], or None without a class.

    Whoever is left in the end joins the last class: it came of the dearest combination, so it shares least
    anyway.

    Parameters
    ----------
    nodes
        Combinations that are looked at; of more, so many that lie evenly in their order.
    """
    ladders = [_rungs(keys, j) for j in range(len(keys.frequency.domains))]
    result = sweep(ladders, keys.frequency.weights, least, nodes)
    if not result.levels:
        return None
    result.class_of[result.class_of < 0] = len(result.levels) - 1
    return result.class_of


def sweep(
    ladders: list[list[Rung]],
    weights: NDArray[np.integer],
    least: int,
    nodes: int,
    accept: Callable[[NDArray[np.int64], int], NDArray[np.bool_]] | None = None,
    progress: Progress | None = None,
    seconds: float = math.inf,
) -> Sweep:
    """Go through the combinations of rungs from the cheapest to the dearest.

    At each combination the remaining keys are grouped. Groups of enough records become classes and leave::

        keys 21 m, 22 m, 25 f, 38 f     least 2
        ages by 1 year, sex      no group of 2
        ages by 10 years, sex    21 m and 22 m leave with the cells 20-29, m
        all ages, sex            25 f and 38 f leave with the cells *, f

    Parameters
    ----------
    ladders
        Of each attribute the rungs, the finest first.
    least
        Records that a class needs.
    nodes
        See `swept`.
    accept
        Says which of some classes may leave, bool[classes], given the class of each key, int64[keys] with -1
        for none, and how many classes there are. By default all may.
    seconds
        How long it may take. If that is too short for all, combinations that lie evenly among those that wait
        are left out, but never the last.
    """
    combinations = _in_order(_thinned(ladders), nodes, seconds)
    remaining = np.arange(len(weights))
    class_of = np.full(len(weights), -1, np.int64)
    levels: list[tuple[int, ...]] = []
    company = _Company(ladders, weights.astype(np.int64, copy=False), least)
    for rungs in combinations:
        if progress is not None:
            progress.advance(len(class_of) - len(remaining), len(class_of))
        placed, ids, count = company.of(rungs, remaining)
        if not count:
            continue
        if accept is not None:
            candidates = np.full(len(weights), -1, np.int64)
            candidates[placed] = ids
            good = accept(candidates, count)
            accepted = good[ids]
            placed, ids, count = placed[accepted], (np.cumsum(good) - 1)[ids[accepted]], int(good.sum())
        class_of[placed] = ids + len(levels)
        levels += [tuple(rung.level for rung in rungs)] * count
        remaining = remaining[class_of[remaining] < 0]
        if not len(remaining):
            break
    return Sweep(class_of, levels)


class _Company:
    """Search for keys in groups with enough records under a combination of rungs.

    Keys are first grouped by the few columns that tell most of them apart. Who has too little company by
    these has too little by all, and later, too, when fewer are left. So they are remembered: a bit for each
    key and combination of such rungs.
    """

    def __init__(self, ladders: list[list[Rung]], weights: NDArray[np.int64], least: int) -> None:
        rungs = [rung for ladder in ladders for rung in ladder]
        self._codes = np.array([rung.groups for rung in rungs], np.int64).reshape(len(rungs), len(weights))
        self._row = {id(rung): number for number, rung in enumerate(rungs)}
        self._alike = [_alike(rung) for rung in rungs]
        self._weights, self._least = weights, least
        self._alone: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        self._rows, self._ids = np.empty((2, len(weights)), np.int64)

    def of(
        self, rungs: Sequence[Rung], left: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return the remaining keys in large groups, the group of each, and the number of groups."""
        columns = sorted((self._row[id(rung)] for rung in rungs), key=self._alike.__getitem__)
        few = tuple(columns[:_AT_ONCE])
        if few in self._alone:
            left = left[np.unpackbits(self._alone[few])[left] == 0]
            return self._grouped(columns, left)
        members, ids, count = self._grouped(few, left)
        alone = np.zeros(len(self._weights), np.bool_)
        alone[left] = True
        alone[members] = False
        self._alone[few] = np.packbits(alone)
        return (members, ids, count) if len(few) == len(columns) else self._grouped(columns, members)

    def _grouped(
        self, columns: Sequence[int], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        numbers = np.array(columns, np.int64)
        count, groups = group_with_company(
            self._codes, numbers, rows, self._weights, self._least, self._rows, self._ids
        )
        return self._rows[:count].copy(), self._ids[:count].copy(), groups


def _alike(rung: Rung) -> float:
    """Return the number of pairs of keys in a common group."""
    counts = np.unique(rung.groups, return_counts=True)[1].astype(np.float64)
    return float(counts @ counts)


def _rungs(keys: PricedKeys, j: int) -> list[Rung]:
    """Return the rungs of an attribute, the finest first: levels of a hierarchy, or halves of halves."""
    domain = keys.frequency.domains[j]
    if domain.hierarchy is not None:
        from incrowd.core.recoding import level_cells

        return [level_rung(keys, j, level, level_cells(domain, level)) for level in range(domain.height + 1)]
    if domain.ordered:
        return _halves(keys, j)
    codes = keys.frequency.codes[j].astype(np.int64)
    return [Rung(0, codes, 0.0), Rung(1, np.zeros_like(codes), float(keys.costs.whole[j]))]


def level_rung(keys: PricedKeys, j: int, level: int, cells: ValueCells) -> Rung:
    """Return the rung of a level of an attribute's hierarchy, given the cells."""
    codes = keys.frequency.codes[j]
    losses = np.asarray(cells.loss)[np.asarray(cells.entry)][codes] * int(keys.costs.whole[j])
    return Rung(level, np.asarray(cells.entry)[codes].astype(np.int64), _mean(losses, keys.frequency))


def _halves(keys: PricedKeys, j: int) -> list[Rung]:
    """Return intervals of 1, 2, 4, ... ranks, with missing apart until the last rung."""
    domain, codes = keys.frequency.domains[j], keys.frequency.codes[j].astype(np.int64)
    missing = domain.missing
    rungs: list[Rung] = []
    width = 1
    while width < domain.size:
        groups = np.where(codes == missing, domain.size, codes // width)
        rungs.append(Rung(len(rungs), groups, _mean_cost(keys, j, groups)))
        width *= 2
    alike = np.zeros_like(codes)
    return [*rungs, Rung(len(rungs), alike, _mean_cost(keys, j, alike))]


def _mean_cost(keys: PricedKeys, j: int, groups: NDArray[np.int64]) -> float:
    """Return the mean cost of a record in the cells of the groups, with other attributes unchanged."""
    frequency = keys.frequency
    _, ids = np.unique(groups, return_inverse=True)
    codes = frequency.codes[j].astype(np.int64)
    lows, highs = np.zeros((2, int(ids.max()) + 1, len(frequency.domains)), np.int64)
    lows[:, j] = frequency.domains[j].size
    np.minimum.at(lows[:, j], ids, codes)
    np.maximum.at(highs[:, j], ids, codes)
    return _mean(cell_costs(keys.costs, lows, highs)[ids], frequency)


def _mean(each: NDArray[np.float64] | NDArray[np.int64], frequency: FrequencyTable) -> float:
    return float(each @ frequency.weights) / max(int(frequency.weights.sum()), 1)


def _thinned(ladders: list[list[Rung]]) -> list[list[Rung]]:
    """Drop every second rung of the longest ladders until the combinations are few enough.

    Where two rungs of each are still too many, the attributes that lose least by it keep the coarsest alone.
    """
    ladders = list(ladders)
    while np.prod([float(len(ladder)) for ladder in ladders]) > _MOST_NODES:
        longest = max(range(len(ladders)), key=lambda j: len(ladders[j]))
        if len(ladders[longest]) > 2:
            # The finest and the coarsest stay.
            ladders[longest] = [*ladders[longest][:-1:2], ladders[longest][-1]]
            continue
        pairs = (j for j, ladder in enumerate(ladders) if len(ladder) == 2)
        cheapest = min(pairs, key=lambda j: ladders[j][-1].cost)
        ladders[cheapest] = ladders[cheapest][-1:]
    return ladders


def _in_order(ladders: list[list[Rung]], nodes: int, seconds: float) -> Iterator[tuple[Rung, ...]]:
    """Yield combinations of rungs by cost, in a tie with finer first attributes first."""
    total = np.zeros(1)
    for ladder in ladders:
        total = (total[:, None] + np.array([rung.cost for rung in ladder])[None, :]).ravel()
    # Sums of equal costs may differ in their last bits.
    order = np.argsort(np.round(total, 9), kind="stable")
    if len(order) > nodes:
        order = order[np.unique(np.linspace(0, len(order) - 1, nodes).astype(np.int64))]
    places = np.column_stack(np.unravel_index(order, [len(ladder) for ladder in ladders])).tolist()
    deadline, number, step = None, 0, 1
    for looked in count():
        yield tuple(ladder[position] for ladder, position in zip(ladders, places[number], strict=True))
        waiting = len(places) - 1 - number
        if not waiting:
            return
        # The first one may have loaded machine code, so the clock starts behind it.
        deadline = deadline or Budget(seconds=seconds).begin()
        enough = min(max(deadline.left(looked), 1), waiting)
        step = min(math.ceil(waiting / enough), 2 * step)
        # The last combination is the coarsest: its groups take all keys that are left.
        number += min(step, waiting)
