"""The compiled search: what it is given, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.lattice.node import SLACK, Node
from incrowd.kernels.search import ALIVE, COUNTS, NO_GROUPS, search_nodes
from incrowd.kernels.search_arrays import Cells, Costs, Found, Given, Kept, Keys, Limit, Nodes, Room

if TYPE_CHECKING:
    from incrowd.algorithms.lattice.cells import LevelCells
    from incrowd.algorithms.lattice.lattice import Lattice
    from incrowd.algorithms.lattice.limits import Limits
    from incrowd.algorithms.lattice.rollup import Rollup
    from incrowd.table.frequency import FrequencyTable

__all__ = ["Loop", "given_to_loop"]

_CHOSEN = 16
"""Nodes that are chosen in one walk over the lattice."""

_MOST = 256
"""Nodes that are looked at in one call."""

_TABLES = 2**20
"""Entries of tables of packed cells that are kept, 8 bytes each."""

_DIRECT = 2**16
"""Combinations of cells up to which all are counted, 12 bytes each."""

_KEPT_NODES = 4096
_KEPT_GROUPS = 2**24
"""Nodes whose groups are kept, and groups of all together, 12 bytes each."""


class Loop:
    """Searches a lattice under models that look at sizes alone, some nodes in each call.

    Parameters
    ----------
    given
        The keys and what they must satisfy; see `given_to_loop`.
    lattice
        The nodes.
    order, dead, scores
        int64, bool and float64[nodes]: the nodes, the most promising first; which are settled; and what each
        cannot fall below. The search writes all three.
    """

    def __init__(
        self,
        given: Given,
        lattice: Lattice,
        order: NDArray[np.int64],
        dead: NDArray[np.bool_],
        scores: NDArray[np.float64],
    ) -> None:
        self._lattice = lattice
        self._given = given
        shape = np.array(lattice.shape, np.int64)
        around = np.empty((2 if given.costs.by_class else 1, lattice.size), np.int32)
        plan = np.zeros((3 * _CHOSEN, 2), np.int64)
        counts, best = np.zeros(COUNTS, np.int64), np.array([np.inf])
        counts[ALIVE] = lattice.size
        self._nodes = Nodes(shape, lattice.strides, order, dead, scores, around, plan, counts, best)
        self._room = _room(len(given.keys.each), given.cells)
        self._kept = _kept(len(given.keys.each), lattice.size)
        self._found = Found(np.zeros((_MOST, 6), np.int64), np.zeros((_MOST, 3)))

    @property
    def open(self) -> int:
        """Nodes that were not settled when the last ones were chosen."""
        return int(self._nodes.counts[ALIVE])

    def look(self, most: int) -> list[Node]:
        """Look at the next nodes, so many at most; none are left when none come."""
        looked: int = search_nodes(  # type: ignore[no-untyped-call]
            self._given, self._nodes, self._room, self._kept, self._found, min(most, _MOST)
        )
        whole, real = self._found.whole[:looked], self._found.real[:looked].tolist()
        lattice, shape = self._lattice, self._nodes.shape
        levels = (whole[:, :1] // lattice.strides % shape + lattice.lows).tolist()
        return [
            Node(tuple(at), bool(good), gone, classes, smallest, score, bool(fails), bound, floor)
            for at, (good, fails, gone, classes, smallest), (score, bound, floor) in zip(
                levels, whole[:, 1:].tolist(), real, strict=True
            )
        ]


def given_to_loop(
    frequency: FrequencyTable, cells: LevelCells, rollup: Rollup, limits: Limits, costs: Costs, least: int
) -> Given:
    """Bundle what does not change during a search.

    Parameters
    ----------
    cells, rollup
        The cells of every level, and how the keys are packed.
    costs
        What nodes lose.
    least
        Records below which a class is suppressed.
    """
    ranks = np.column_stack([codes.astype(np.uint32) for codes in frequency.codes])
    keys = Keys(rollup.codes, ranks, frequency.weights, np.arange(frequency.keys, dtype=np.int32))
    limit = Limit(least, limits.allowed, limits.before, limits.rows, limits.kept, SLACK)
    return Given(keys, _flat(cells, limits.lattice, rollup.columns), costs, limit)


def _flat(cells: LevelCells, lattice: Lattice, columns: list[list[int]]) -> Cells:
    """Put the cells of all levels of the lattice into flat arrays."""
    every = [
        (j, level)
        for j, (low, high) in enumerate(zip(lattice.lows.tolist(), lattice.highs.tolist(), strict=True))
        for level in range(low, high + 1)
    ]
    sizes = [max(len(of_level[0]), 1) for of_level in cells.cells]
    flat = [cells.cells[j][level] for j, level in every]
    stars = [cells.stars[j][level] for j, level in every]
    counts = [cells.counts[j][level] for j, level in every]
    starry = [bool(each.any()) for each in stars]
    codes = [prod(sizes[j] for j in column) for column in columns]
    combinations = [prod(lattice.shape[j] for j in column) for column in columns]
    ends = [column[0] for column in columns] + [len(sizes)], [*codes, 0], _starts(combinations)
    return Cells(
        attributes=np.column_stack((_starts(lattice.shape)[:-1], sizes)).astype(np.int64),
        levels=np.column_stack((_starts([len(each) for each in flat])[:-1], counts, starry)).astype(np.int64),
        columns=np.column_stack(ends).astype(np.int64),
        cells=np.concatenate(flat),
        stars=np.concatenate(stars),
        parts=_parts(cells, lattice),
    )


def _parts(cells: LevelCells, lattice: Lattice) -> NDArray[np.float64]:
    """Count the cells of each level that one cell of a level above falls into, at most."""
    most = max(lattice.shape)
    parts = np.ones((len(lattice.shape), most, most))
    for j, (low, high) in enumerate(zip(lattice.lows.tolist(), lattice.highs.tolist(), strict=True)):
        for below in range(low, high + 1):
            _, first = np.unique(cells.cells[j][below], return_index=True)
            for above in range(below, high + 1):
                children = np.bincount(cells.cells[j][above][first], minlength=1)
                parts[j, below - low, above - low] = max(int(children.max()), 1)
    return parts


def _starts(lengths: Sequence[int]) -> list[int]:
    """Return where runs of such lengths start, and where the last one ends."""
    return [0, *accumulate(lengths)]


def _room(keys: int, cells: Cells) -> Room:
    """Make room for grouping the keys of a node."""
    slots = 64
    while slots < 2 * keys:
        slots *= 2
    combinations = cells.columns[:, 2]
    whole = int((np.diff(combinations) * cells.columns[:-1, 1]).sum())
    return Room(
        tables=np.empty(max(int(cells.columns[:, 1].sum()), min(whole, _TABLES)), np.uint64),
        table_of=np.full(int(combinations[-1]), -1, np.int64),
        packed=np.empty(max(keys, 1), np.uint64),
        records=np.zeros(_DIRECT, np.int64),
        key_of=np.empty(_DIRECT, np.int32),
        slots=np.empty(slots, np.int32),
        words=np.empty(max(keys, 1), np.uint64),
        first=np.empty(keys + 1, np.int32),
        sums=np.empty(keys + 1, np.int64),
    )


def _kept(keys: int, nodes: int) -> Kept:
    """Make room for the groups of nodes."""
    groups = min(_KEPT_GROUPS, 1024 * max(keys, 1))
    return Kept(
        keys=np.empty(groups, np.int32),
        weights=np.empty(groups, np.int64),
        start=np.zeros(_KEPT_NODES + 1, np.int64),
        fewest=np.full(nodes, NO_GROUPS, np.int64),
        refused=np.zeros(nodes, np.bool_),
    )
