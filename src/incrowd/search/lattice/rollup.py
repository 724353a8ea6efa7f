"""Rolling up keys: the groups of a node, made from the groups of a node below."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.kernels.lattice.lattice import count_values, mark_too_small, roll_up
from incrowd.core.kernels.lattice.nodes import Cells
from incrowd.core.kernels.people.small_groups import GroupPeople, join_people
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable, smallest_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.search.lattice.cells import LevelCells
    from incrowd.search.lattice.lattice import Lattice


class FewPeople(NamedTuple):
    """The people of groups, as far as a least size needs to know.

    Attributes
    ----------
    people
        The people of each group. Of one that has enough without them the others may not be listed. Under
        a key of the table somebody may be listed several times, under a group once.
    least
        How many people are enough.
    """

    people: GroupPeople
    least: int

    @classmethod
    def of_people(cls, people: FrequencyTable, least: int) -> FewPeople:
        """List the people of every key."""
        assert people.people.listed is not None
        return cls(GroupPeople(people.weights, people.people.listed.people_of_keys), least)

    @property
    def failing(self) -> NDArray[np.bool_]:
        """The groups that have not enough people: bool[groups]; for groups of keys alone."""
        return self.people.alike + np.diff(self.people.entries.indptr) < self.least

    @property
    def size(self) -> int:
        """Bytes in use."""
        alike, entries = self.people
        return alike.nbytes + entries.indptr.nbytes + entries.items.nbytes

    def rolled(self, ids: NDArray[np.int32], groups: int) -> FewPeople:
        """Return the people after the groups are joined into larger groups.

        Parameters
        ----------
        ids
            int32[groups below]: the group of each.
        groups
            How many there are now.
        """
        return FewPeople(join_people(ids, groups, self.people, self.least), self.least)


_COLUMN_SIZE = 4096
"""Combinations of values that share a column of codes, at most."""

_COUNTED = 2**20
"""Nodes times values of an attribute up to which one class is counted at all nodes."""

_TABLES = 2**20
"""Entries of tables of packed cells that are kept, 8 bytes each."""


class Groups(NamedTuple):
    """Keys grouped by the cells of a node; a snapshot from which nodes above are made.

    Attributes
    ----------
    keys
        int32[groups]: one key of each, which stands for it.
    weights
        int64[groups]: records of each.
    counted
        The groups as the keys of a table with all that models look at; None where none looks.
    few
        The people of groups that may have too few; None where people are not counted or none are asked for.
    """

    keys: NDArray[np.int32]
    weights: NDArray[np.int64]
    counted: FrequencyTable | None
    few: FewPeople | None = None

    @property
    def size(self) -> int:
        """Bytes in use."""
        total = self.keys.nbytes + self.weights.nbytes + (0 if self.few is None else self.few.size)
        if self.counted is not None:
            held = [counts.keys for counts in self.counted.sensitive]
            if self.counted.joint is not None:
                held.append(self.counted.joint.keys)
            total += sum(array.nbytes for counts in held for array in counts)
            people = self.counted.people.table
            if people is not None and people.people.listed is not None:
                total += people.people.listed.size
        return total


class Rolled(NamedTuple):
    """The groups of a node.

    Attributes
    ----------
    ids
        int32[groups below]: the group that each group below belongs to.
    groups
        The groups, of which nothing is counted yet.
    below
        The groups from which they were made.
    """

    ids: NDArray[np.int32]
    groups: Groups
    below: Groups


class Rollup:
    """Groups keys by the cells of a node; rows are never seen.

    Small attributes share a column of codes, and the cells of a column are packed in one number.

    Attributes
    ----------
    columns
        The attributes of each column of codes.
    codes
        uint[keys, columns].
    cells
        The cells of every level as flat arrays.
    """

    def __init__(self, frequency: FrequencyTable, cells: LevelCells) -> None:
        self._cells = cells
        self._frequency = frequency
        self._weights = frequency.weights
        self._packed: dict[tuple[int, ...], tuple[NDArray[np.uint64], int]] = {}
        self.columns = _columns(cells.sizes)
        joined = []
        for column in self.columns:
            codes = np.zeros(frequency.keys, np.int64)
            for j in column:
                codes = codes * cells.sizes[j] + cells.codes[j]
            joined.append(codes)
        largest = max((int(codes.max(initial=0)) for codes in joined), default=0)
        columns = [smallest_codes(codes, max(largest, 256) + 1) for codes in joined]
        self.codes = np.ascontiguousarray(np.column_stack(columns))
        self.cells = _flat(cells, self.columns)

    def roll(self, levels: tuple[int, ...], below: Groups) -> Rolled:
        """Join groups of a node below by the cells of a node."""
        prefix = np.zeros(0, np.uint64)
        bits = 0
        tables: list[NDArray[np.uint64]] = []
        used: list[int] = []
        for number in range(len(self.columns)):
            table, width = self._table(number, levels)
            if bits + width > 64:
                ids, first, _ = self._pass(below, tables, used, prefix, bits)
                prefix = ids.astype(np.uint64)
                bits = max(len(first) - 1, 0).bit_length()
                tables, used = [], []
            tables.append(table << np.uint64(bits))
            bits += width
            used.append(number)
        ids, first, sums = self._pass(below, tables, used, prefix, bits)
        return Rolled(ids, Groups(first, sums, None), below)

    def mark_too_small(self, key: int, enough: int, lattice: Lattice, dead: NDArray[np.bool_]) -> None:
        """Mark the nodes at which the class of a key has fewer records than enough: bool[nodes]."""
        mark_too_small(self.codes, self._weights, *self._meetings(key, lattice), enough, dead)  # type: ignore[no-untyped-call]

    def outliers(self, lattice: Lattice, most: int) -> list[int]:
        """Return the keys with the rarest cells over all levels below the top, at most `most`."""
        if len(self.codes) <= most:
            return list(range(len(self.codes)))
        rarity = np.zeros(len(self.codes))
        for number, column in enumerate(self.columns):
            table = np.zeros(1)
            for j in column:
                records = self._frequency.totals(j)[self._cells.ranks[j]]
                of_rank = np.zeros(len(records))
                for cells in self._cells.cells[j][int(lattice.lows[j]) : int(lattice.highs[j])]:
                    of_rank -= np.log(np.maximum(np.bincount(cells, records), 1))[cells]
                table = (table[:, None] + of_rank[None, :]).ravel()
            rarity += table[self.codes[:, number]]
        rarest = np.flatnonzero(rarity >= np.partition(rarity, -most)[-most])
        return [int(key) for key in rarest[:most]]

    def class_at(self, key: int, lattice: Lattice, nodes: NDArray[np.int64]) -> EquivalenceClasses | None:
        """Return the class of a key at each of some nodes, with all that models look at but cells.

        Where a lattice has many nodes, or an attribute many values, that is too much to count: None.
        """
        sensitive = []
        meetings = self._meetings(key, lattice)
        sizes = None
        for counted in self._frequency.sensitive:
            if lattice.size * counted.domain.size > _COUNTED:
                return None
            some = self._values_at(nodes, counted.keys, counted.domain.size, meetings, lattice)
            sizes = some.sum(axis=1)
            there = some > 0
            ends = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
            values = Counts(ends, np.nonzero(there)[1].astype(np.int32), some[there])
            sensitive.append(replace(counted, keys=values, rows=None))
        if sizes is None:
            # Without a sensitive attribute, records are counted as one of one value.
            keys = len(self.codes)
            records = Counts(np.arange(keys + 1), np.zeros(keys, np.int32), self._weights)
            sizes = self._values_at(nodes, records, 1, meetings, lattice)[:, 0]
        table = FrequencyTable((), (), sizes, tuple(sensitive), self._frequency.suppressed)
        return EquivalenceClasses.of_keys(table)

    def _values_at(
        self,
        nodes: NDArray[np.int64],
        keys: Counts,
        size: int,
        meetings: tuple[Cells, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        lattice: Lattice,
    ) -> NDArray[np.int64]:
        """Count the values in the class of a key at each of some nodes: int64[nodes, size]."""
        counts = np.zeros((lattice.size, size), np.int64)
        count_values(self.codes, keys, *meetings, counts)  # type: ignore[no-untyped-call]
        return counts[nodes]

    def _meetings(
        self, key: int, lattice: Lattice
    ) -> tuple[Cells, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the cells, the ranks of a key, and the lattice, as arguments of `mark_too_small`."""
        ranks = np.array([codes[key] for codes in self._cells.codes], np.int64)
        return self.cells, ranks, lattice.lows, np.array(lattice.shape, np.int64), lattice.strides

    def _table(self, number: int, levels: tuple[int, ...]) -> tuple[NDArray[np.uint64], int]:
        """Return the cells of a column of codes as packed numbers, and the bits of each number."""
        column = self.columns[number]
        key = (number, *(levels[j] for j in column))
        if key not in self._packed:
            table, bits = np.zeros(1, np.uint64), 0
            for j in column:
                cells = self._cells.cells[j][levels[j]].astype(np.uint64) << np.uint64(bits)
                bits += (self._cells.counts[j][levels[j]] - 1).bit_length()
                table = (table[:, None] | cells[None, :]).ravel()
            self._packed[key] = table, bits
        return self._packed[key]

    def _pass(
        self,
        below: Groups,
        tables: list[NDArray[np.uint64]],
        used: list[int],
        prefix: NDArray[np.uint64],
        bits: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        sizes = [len(table) for table in tables]
        offsets = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        codes = self.codes if len(used) == self.codes.shape[1] else self.codes[:, used]
        joined = np.concatenate(tables) if tables else np.zeros(0, np.uint64)
        made: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]] = roll_up(  # type: ignore[no-untyped-call]
            below.keys, below.weights, codes, joined, offsets, prefix, bits
        )
        return made


def _columns(sizes: list[int]) -> list[list[int]]:
    """Return which attributes share a column of codes, given how many values each has.

    There are as few columns as possible. Of as many, those with the smallest largest one stay in the cache.
    """
    few = _columns_within(sizes, _COLUMN_SIZE)
    limits = (2**power for power in range(_COLUMN_SIZE.bit_length()))
    return next(
        (found for found in (_columns_within(sizes, limit) for limit in limits) if len(found) == len(few)),
        few,
    )


def _columns_within(sizes: list[int], most: int) -> list[list[int]]:
    columns: list[list[int]] = []
    size = most + 1
    for j, values in enumerate(sizes):
        size *= values
        if size > most:
            columns.append([])
            size = values
        columns[-1].append(j)
    return columns


def _flat(cells: LevelCells, columns: list[list[int]]) -> Cells:
    """Put the cells of all levels into flat arrays."""
    every = [(j, level) for j, levels in enumerate(cells.cells) for level in range(len(levels))]
    flat, stars = ([each[j][level] for j, level in every] for each in (cells.cells, cells.stars))
    heights, sizes = [len(levels) for levels in cells.cells], cells.sizes
    codes = [prod(sizes[j] for j in column) for column in columns]
    tables = [
        max(min(prod(heights[j] for j in column), _TABLES // (len(columns) * many)), 1)
        for column, many in zip(columns, codes, strict=True)
    ]
    ends = [column[0] for column in columns] + [len(sizes)], [*codes, 0], _starts(tables), [*tables, 0]
    counts, starry = [cells.counts[j][level] for j, level in every], [bool(each.any()) for each in stars]
    return Cells(
        attributes=np.column_stack((_starts(heights)[:-1], heights, sizes)).astype(np.int64),
        levels=np.column_stack((_starts([len(each) for each in flat])[:-1], counts, starry)).astype(np.int64),
        columns=np.column_stack(ends).astype(np.int64),
        cells=np.concatenate(flat),
        stars=np.concatenate(stars),
    )


def _starts(lengths: Sequence[int]) -> list[int]:
    """Return the starts of consecutive runs of some lengths, and the end of the last run."""
    return [0, *accumulate(lengths)]
