"""Looking at nodes under models that look at sizes alone: compiled, and several in a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.kernels.jit import each_on_a_core
from incrowd.core.kernels.lattice.nodes import (
    GROUPS,
    START,
    Cells,
    Costs,
    Found,
    Given,
    Kept,
    Keys,
    Limit,
    Room,
    find_below,
    look_at,
)
from incrowd.core.kernels.lattice.splits import BINS
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.search.lattice.cells import LevelCells
    from incrowd.search.lattice.lattice import Lattice
    from incrowd.search.lattice.rollup import Rollup

_DIRECT = 2**16
"""Combinations of cells up to which all are counted, 12 bytes each."""

_KEPT_NODES = 4096
_KEPT_GROUPS = 2**24
"""Nodes whose groups are kept, and groups of all together, 12 bytes each."""

_TASKS_FROM = 10_000
"""Groups to go through from which a second core pays."""

_KEPT_SHARE = 1024
"""The most groups that are kept for each key."""


class Sizes:
    """Groups, judges and scores nodes under models that look at sizes alone.

    Parameters
    ----------
    frequency
        The keys.
    cells, rollup
        The cells of every level, and how the keys are packed.
    limit
        The conditions on a node.
    costs
        What nodes lose.
    """

    def __init__(
        self,
        frequency: FrequencyTable,
        cells: LevelCells,
        rollup: Rollup,
        limit: Limit,
        costs: Costs,
    ) -> None:
        keys, attributes = frequency.keys, len(cells.ranks)
        ranks = np.column_stack([codes.astype(np.uint32) for codes in cells.codes])
        self._given = Given(
            Keys(rollup.codes, ranks, frequency.weights, np.arange(keys, dtype=np.int32)),
            rollup.cells,
            costs,
            limit,
        )
        self._rooms = [_room(keys, self._given.cells) for _ in range(2)]
        self._levels = np.zeros((_KEPT_NODES, attributes), np.int64)
        self._sizes, self._starts, self._uses = np.zeros((3, _KEPT_NODES), np.int64)
        groups = max(min(_KEPT_GROUPS, keys * _KEPT_SHARE), 2)
        self._keys, self._weights = np.empty(groups, np.int32), np.empty(groups, np.int64)
        self._nodes, self._groups = 0, 0

    def look(self, levels: NDArray[np.int64], served: NDArray[np.int64]) -> Found:
        """Look at nodes, int64[nodes, attributes], half on another core where there is much to group.

        Parameters
        ----------
        served
            int64[nodes]: how many others are to be made of each, so that it is grouped alone; 0 elsewhere.
        """
        many = len(levels)
        splits = many if self._given.costs.splits else 0
        found = Found(np.empty((many, 8), np.int64), np.empty((many, 4)), np.empty((splits, 2, BINS + 1)))
        base, work = self._below(levels)
        if self._nodes + many > _KEPT_NODES or self._groups + work[-1] > len(self._keys):
            self._forget()
            base, work = self._below(levels)
        self._uses[base[base >= 0]] += 1
        start, total = self._groups, int(work[-1])
        if total < _TASKS_FROM or many < 2:
            parts = [(0, many, start, len(self._keys))]
        else:
            # What each half keeps has a place of its own, so neither waits for the other.
            cut = min(int(np.searchsorted(work, total / 2)) + 1, many - 1)
            middle = start + min(int(work[cut - 1]), (len(self._keys) - start) // 2)
            parts = [(0, cut, start, middle), (cut, many, middle, len(self._keys))]

        def part(number: int) -> int:
            first, last, start, stop = parts[number]
            here = slice(first, last)
            end: int = look_at(  # type: ignore[no-untyped-call]
                levels[here],
                base[here],
                served[here],
                start,
                self._given,
                self._kept(stop),
                self._rooms[number],
                Found(found.whole[here], found.real[here], found.bins[here]),
            )
            return end

        ends = each_on_a_core(part, range(len(parts)))
        if len(parts) > 1:
            gap = middle - ends[0]
            for array in (self._keys, self._weights):
                array[ends[0] : ends[1] - gap] = array[middle : ends[1]]
            starts = found.whole[cut:, START]
            starts[starts >= 0] -= gap
            ends[1] -= gap
        self._groups = ends[-1]
        self._list(levels, found)
        return found

    def _below(self, levels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the kept node that each node is made of, -1 for every key, and the running sum of groups."""
        base, sizes = np.empty((2, len(levels)), np.int64)
        find_below(levels, len(self._given.keys.each), self._kept(0), base, sizes)  # type: ignore[no-untyped-call]
        return base, np.cumsum(sizes)

    def _kept(self, stop: int) -> Kept:
        """Return the groups that are kept, and room for more up to a place."""
        levels, sizes, starts = (array[: self._nodes] for array in (self._levels, self._sizes, self._starts))
        return Kept(levels, sizes, starts, self._keys[:stop], self._weights[:stop])

    def _list(self, levels: NDArray[np.int64], found: Found) -> None:
        """List the nodes with groups that were kept."""
        new = found.whole[:, START] >= 0
        here = slice(self._nodes, self._nodes + int(new.sum()))
        self._levels[here], self._sizes[here] = levels[new], found.whole[new, GROUPS]
        self._starts[here], self._uses[here] = found.whole[new, START], 1
        self._nodes = here.stop

    def _forget(self) -> None:
        """Forget groups until half of the room is free, first large groups that few nodes were made of."""
        count = self._nodes
        order = np.argsort(-self._uses[:count] / np.maximum(self._sizes[:count], 1), kind="stable")
        fits = np.cumsum(self._sizes[order]) <= len(self._keys) // 2
        stays = np.sort(order[: min(int(fits.argmin()) if not fits.all() else count, _KEPT_NODES // 2)])
        end = 0
        for start, size in zip(self._starts[stays].tolist(), self._sizes[stays].tolist(), strict=True):
            # What is moved down overwrites nothing that is still to be moved.
            for array in (self._keys, self._weights):
                array[end : end + size] = array[start : start + size]
            end += size
        self._nodes, self._groups = len(stays), end
        for index in (self._levels, self._sizes, self._starts, self._uses):
            index[: len(stays)] = index[stays]
        self._starts[: len(stays)] = np.cumsum(self._sizes[: len(stays)]) - self._sizes[: len(stays)]
        self._uses[: len(stays)] //= 2


def parts_of(cells: LevelCells, lattice: Lattice) -> NDArray[np.float64]:
    """Return the most cells of each level within a cell of a level above; see `Nodes.parts`."""
    most = max(lattice.shape)
    parts = np.ones((len(lattice.shape), most, most))
    for j, (low, high) in enumerate(zip(lattice.lows.tolist(), lattice.highs.tolist(), strict=True)):
        for below in range(low, high + 1):
            first = np.zeros(cells.counts[j][below], np.int64)
            first[cells.cells[j][below]] = np.arange(len(cells.ranks[j]))
            for above in range(below, high + 1):
                children = np.bincount(cells.cells[j][above][first], minlength=1)
                parts[j, below - low, above - low] = max(int(children.max()), 1)
    return parts


def _room(keys: int, cells: Cells) -> Room:
    """Make room for grouping the keys of a node."""
    slots = 64
    while slots < 2 * keys:
        slots *= 2
    tables = cells.columns[:, 1] * cells.columns[:, 3]
    return Room(
        tables=np.empty(int(tables.sum()), np.uint64),
        table_levels=np.full((int(cells.columns[:, 3].sum()), len(cells.attributes)), -1, np.int64),
        packed=np.empty(max(keys, 1), np.uint64),
        records=np.zeros(_DIRECT, np.int64),
        key_of=np.empty(_DIRECT, np.int32),
        slots=np.empty(slots, np.int32),
        words=np.empty(max(keys, 1), np.uint64),
        first=np.empty(keys + 1, np.int32),
        sums=np.empty(keys + 1, np.int64),
        lost=np.empty(keys + 1, np.int64),
    )
