"""The compiled search: its input and its result."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.kernels.jit import at_once
from incrowd.core.kernels.lattice.search import look_at
from incrowd.core.kernels.lattice.search_arrays import (
    EVERY,
    PLACES,
    Cells,
    Choice,
    Costs,
    Found,
    Given,
    Kept,
    Keys,
    Limit,
    Nodes,
    Room,
)
from incrowd.core.kernels.lattice.search_kept import make_room
from incrowd.core.kernels.lattice.search_plan import ALIVE, COUNTS, plan_nodes, share_nodes
from incrowd.core.lazy import NDArray, np
from incrowd.search.lattice.node import SLACK, Node

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.search.lattice.cells import LevelCells
    from incrowd.search.lattice.lattice import Lattice
    from incrowd.search.lattice.limits import Limits
    from incrowd.search.lattice.rollup import Rollup

_CHOSEN = 8, 64
"""Nodes that are chosen in one walk over the lattice: where nothing may be suppressed, and elsewhere.

Where nothing may be suppressed, a node that fails settles so many others that a long plan is soon outdated.
"""

_TABLES = 2**20
"""Entries of tables of packed cells that are kept, 8 bytes each."""

_DIRECT = 2**16
"""Combinations of cells up to which all are counted, 12 bytes each."""

_KEPT_NODES = 4096
_KEPT_GROUPS = 2**24
"""Nodes whose groups are kept on each side, and groups of all together, 12 bytes each."""

_KEPT_SHARES = 16, 1024
"""The most groups that are kept for each key, in the same two cases.

The fewer nodes there are, the more it costs to touch memory for the first time.
"""


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
        many = _CHOSEN[given.limit.suppresses]
        plan, counts = np.zeros((2, 2 * many, 2), np.int64), np.zeros(COUNTS, np.int64)
        counts[ALIVE] = lattice.size
        self._choice = Choice(order, around, plan, np.zeros(2, np.int64), counts)
        keys = len(given.keys.each)
        self._sides = [
            _Side(
                Nodes(
                    shape,
                    lattice.strides,
                    settled,
                    least,
                    np.array([np.inf]),
                    np.full(lattice.size, keys * PLACES + EVERY, np.int64),
                    np.zeros(lattice.size, np.bool_),
                ),
                _room(keys, given.cells),
                kept,
                Found(np.zeros((many, 6), np.int64), np.zeros((many, 3))),
            )
            for settled, least, kept in zip(
                (dead, dead.copy()),
                (scores, scores.copy()),
                _kept(keys * _KEPT_SHARES[given.limit.suppresses]),
                strict=True,
            )
        ]

    @property
    def open(self) -> int:
        """Nodes that were not settled when the last ones were chosen."""
        return int(self._choice.counts[ALIVE])

    def look(self, most: int) -> list[Node]:
        """Look at the next nodes, so many at most; none are left when none come."""
        first, second = (side.nodes for side in self._sides)
        work = plan_nodes(self._choice, first, most, self._given.limit.suppresses)  # type: ignore[no-untyped-call]
        if not self._choice.planned.any():
            return []
        # Each side goes on by what it finds itself, whether the other one is ahead or behind.
        found = at_once(work, lambda: self._side(0), lambda: self._side(1))
        share_nodes(first, second)  # type: ignore[no-untyped-call]
        one, other = (side.kept for side in self._sides)
        keys = len(self._given.keys.each)
        make_room(one, other, first, second, keys)  # type: ignore[no-untyped-call]
        make_room(other, one, first, second, keys)  # type: ignore[no-untyped-call]
        return [node for nodes in found for node in nodes]

    def _side(self, place: int) -> list[Node]:
        """Look at the nodes of one side's plan."""
        side = self._sides[place]
        plan = self._choice.plan[place, : self._choice.planned[place]]
        looked = look_at(plan, self._given, *side)  # type: ignore[no-untyped-call]
        whole, real = side.found.whole[:looked], side.found.real[:looked].tolist()
        lattice = self._lattice
        levels = (whole[:, :1] // lattice.strides % side.nodes.shape + lattice.lows).tolist()
        return [
            Node(tuple(at), bool(good), gone, classes, smallest, score, bool(fails), bound, floor)
            for at, (good, fails, gone, classes, smallest), (score, bound, floor) in zip(
                levels, whole[:, 1:].tolist(), real, strict=True
            )
        ]


class _Side(NamedTuple):
    """One of two searches that look at nodes at the same time, and then share their knowledge."""

    nodes: Nodes
    room: Room
    kept: Kept
    found: Found


def given_to_loop(
    frequency: FrequencyTable, cells: LevelCells, rollup: Rollup, limits: Limits, costs: Costs, least: int
) -> Given:
    """Bundle the arrays that do not change during a search.

    Parameters
    ----------
    cells, rollup
        The cells of every level, and how the keys are packed.
    costs
        What nodes lose.
    least
        Records below which a class is suppressed.
    """
    ranks = np.column_stack([codes.astype(np.uint32) for codes in cells.codes])
    keys = Keys(rollup.codes, ranks, frequency.weights, np.arange(frequency.keys, dtype=np.int32))
    limit = Limit(least, limits.suppresses, limits.allowed, limits.before, limits.rows, limits.kept, SLACK)
    return Given(keys, _flat(cells, limits.lattice, rollup.columns), costs, limit)


def _flat(cells: LevelCells, lattice: Lattice, columns: list[list[int]]) -> Cells:
    """Put the cells of all levels of the lattice into flat arrays."""
    every = [
        (j, level)
        for j, (low, high) in enumerate(zip(lattice.lows.tolist(), lattice.highs.tolist(), strict=True))
        for level in range(low, high + 1)
    ]
    sizes = cells.sizes
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
            first = np.zeros(cells.counts[j][below], np.int64)
            first[cells.cells[j][below]] = np.arange(len(cells.ranks[j]))
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
        made=np.zeros(1, np.int64),
        packed=np.empty(max(keys, 1), np.uint64),
        records=np.zeros(_DIRECT, np.int64),
        key_of=np.empty(_DIRECT, np.int32),
        slots=np.empty(slots, np.int32),
        words=np.empty(max(keys, 1), np.uint64),
        first=np.empty(keys + 1, np.int32),
        sums=np.empty(keys + 1, np.int64),
        meeting=np.empty(int(cells.columns[:, 1].sum()), np.int64),
    )


def _kept(most: int) -> list[Kept]:
    """Make room for the groups of nodes, so many at most: each side writes to its half, and reads both."""
    groups = max(min(_KEPT_GROUPS, most), 2) // 2
    each, weights = np.empty(2 * groups, np.int32), np.empty(2 * groups, np.int64)
    nodes, sizes, start = np.zeros((3, 2 * _KEPT_NODES), np.int64)
    return [
        Kept(
            each,
            weights,
            nodes,
            sizes,
            start,
            np.array(
                [side * _KEPT_NODES, (side + 1) * _KEPT_NODES, side * groups, (side + 1) * groups], np.int64
            ),
        )
        for side in range(2)
    ]
