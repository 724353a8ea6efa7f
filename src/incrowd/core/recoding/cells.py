"""Released cells of a quasi-identifier: the cell of every key, and the values of every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.cells import read_span
from incrowd.core.recoding.labels import SUPPRESSED, node_labels, range_label
from incrowd.core.table.frequency import smallest_codes

if TYPE_CHECKING:
    from incrowd.core.table.domain import Domain


@dataclass(frozen=True, eq=False)
class Cells:
    """The released cells of a quasi-identifier.

    Attributes
    ----------
    codes
        uint[keys]: the entry of each key.
    labels
        Released text per entry; None is the missing value.
    lo, hi
        int32[entries]: the interval of ranks that the entry stands for, ends included.
    loss
        float64[entries] in [0, 1]: share of the attribute's certainty that is lost (see `Domain.span`).
    depth
        int32[entries]: steps below the root of the node that the entry stands for, or of the lowest one that
        covers it; without a hierarchy 1 for a value and 0 for anything wider.
    """

    codes: NDArray[np.unsignedinteger]
    labels: tuple[str | None, ...]
    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    loss: NDArray[np.float64]
    depth: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"Cells({len(self.labels):,} labels)"

    def climbed(self, domain: Domain, codes: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
        """Return the hierarchy steps from each key's value to the key's cell: int64[keys].

        Parameters
        ----------
        codes
            uint[keys]: the rank of each key's value.
        """
        tree = domain.hierarchy
        depths = 1 if tree is None else tree.depths[tree.leaves[codes]]
        return np.asarray(depths - self.depth[self.codes], np.int64)

    def without(self, gone: NDArray[np.bool_], size: int) -> Cells:
        """Return the cells with ``*``, which covers all `size` ranks, for some keys: bool[keys]."""
        entry = np.arange(len(self.labels))
        cells = ValueCells(entry, list(self.labels), self.lo, self.hi, self.loss, self.depth)
        return with_suppressed(np.where(gone, -1, self.codes.astype(np.int64)), cells, size)

    def only(self, mask: NDArray[np.bool_]) -> Cells:
        """Return the cells of some keys: bool[keys]."""
        return replace(self, codes=self.codes[mask])

    @property
    def starred(self) -> NDArray[np.bool_]:
        """Which keys have ``*``: bool[keys]."""
        starred = np.array([label == SUPPRESSED for label in self.labels], np.bool_)
        return np.asarray(starred[self.codes])

    @cached_property
    def released(self) -> tuple[NDArray[np.int64], list[str | None]]:
        """Position of each entry among the distinct labels, and the distinct labels."""
        distinct: dict[str | None, int] = {}
        positions = np.fromiter(
            (distinct.setdefault(label, len(distinct)) for label in self.labels), np.int64, len(self.labels)
        )
        return positions, list(distinct)


class ValueCells(NamedTuple):
    """A cell for every rank of an attribute.

    ``entry[rank]`` is the rank's cell; the others are those of `Cells`.
    """

    entry: NDArray[np.integer]
    labels: list[str | None]
    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    loss: NDArray[np.float64]
    depth: NDArray[np.int32]


def level_cells(domain: Domain, level: int) -> ValueCells:
    """Let every value climb so many levels.

    Raises
    ------
    ParameterError
        When the hierarchy has no such level.
    """
    tree = domain.tree
    if not 0 <= level <= tree.height:
        raise ParameterError(f"column {domain.name!r}: level {level} is outside 0 .. {tree.height}")
    return node_cells(domain, tree.climb(level))


def node_cells(domain: Domain, node_of_rank: NDArray[np.integer]) -> ValueCells:
    """Let a node of the tree stand for every rank: int[size]."""
    tree = domain.tree
    nodes, entry = np.unique(node_of_rank, return_inverse=True)
    lo = tree.lo[nodes].astype(np.int32)
    hi = (tree.hi[nodes] - 1).astype(np.int32)
    loss = np.asarray((hi - lo) / max(domain.size - 1, 1), np.float64)
    return ValueCells(entry, node_labels(domain, nodes), lo, hi, loss, tree.depths[nodes])


def interval_cells(domain: Domain, starts: NDArray[np.integer]) -> ValueCells:
    """Cut the ranks of an attribute into intervals: ranges of numbers and dates, else nodes of the tree.

    Parameters
    ----------
    starts
        int[cells]: the first rank of each cell, ascending from 0; of a hierarchy's ranks each must be all
        those below a node.
    """
    lo = np.asarray(starts, np.int32)
    hi = np.append(lo[1:], domain.size).astype(np.int32) - 1
    entry = np.repeat(np.arange(len(lo)), hi - lo + 1)
    if not domain.ordered:
        return node_cells(domain, domain.ancestors(lo, hi)[entry])
    labels, lo, hi, loss = range_cells(domain, lo, hi)
    return ValueCells(entry, labels, lo, hi, loss, depths_of(domain, lo, hi))


def range_cells(
    domain: Domain, lo: NDArray[np.int32], hi: NDArray[np.int32]
) -> tuple[list[str | None], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return the labels of intervals of numbers, the ranks covered by each label, and the losses.

    Joined with the missing value, an interval stands for everything. On a grid, it stands for what its text
    covers, and loses as much.
    """
    labels = [range_label(domain, int(a), int(b)) for a, b in zip(lo, hi, strict=True)]
    starred = np.array([label == SUPPRESSED for label in labels], np.bool_)
    loss = domain.span(lo, hi)
    lo, hi = np.where(starred, 0, lo), np.where(starred, domain.size - 1, hi)
    if domain.grid is not None:
        for number in np.flatnonzero((lo < hi) & ~starred).tolist():
            span = read_span(labels[number] or "", domain.kind)
            written = None if span is None else domain.covered(span)
            assert written is not None  # it covers the values that it was made of
            lo[number], hi[number], loss[number] = written
    return labels, lo, hi, loss


def depths_of(domain: Domain, lo: NDArray[np.int32], hi: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the depth of the lowest node over each interval (see `Cells`)."""
    if domain.hierarchy is None:
        return np.asarray(lo == hi, np.int32)
    return np.asarray(domain.hierarchy.depths[domain.ancestors(lo, hi)], np.int32)


def starred(cells: Sequence[Cells]) -> NDArray[np.bool_]:
    """Return which keys have ``*`` in every quasi-identifier: bool[keys]."""
    everywhere = np.ones(len(cells[0].codes) if cells else 0, np.bool_)
    for column in cells:
        everywhere &= column.starred
    return everywhere


def look_up(
    codes: NDArray[np.unsignedinteger],
    round_of_key: NDArray[np.integer],
    rounds: Sequence[ValueCells],
    domain: Domain,
) -> Cells:
    """Return the cell of each key's rank in the key's round, which is negative for a suppressed key."""
    first = np.cumsum([0, *(len(cells.labels) for cells in rounds)])[:-1]
    entry = np.stack([start + cells.entry for start, cells in zip(first, rounds, strict=True)])
    of_key = np.where(round_of_key < 0, -1, entry[np.maximum(round_of_key, 0), codes])
    labels = [label for cells in rounds for label in cells.labels]
    lo, hi, loss, depth = (np.concatenate(arrays) for arrays in list(zip(*rounds, strict=True))[2:])
    cells = ValueCells(np.arange(len(labels)), labels, lo, hi, loss, depth)
    return with_suppressed(of_key, cells, domain.size)


def with_suppressed(number_of_key: NDArray[np.integer], cells: ValueCells, size: int) -> Cells:
    """Return the entry of each key, where negative numbers get ``*``, which covers all `size` ranks."""
    entry, labels, lo, hi, loss, depth = cells
    if number_of_key.size and number_of_key.min() < 0:
        entry = np.append(entry, len(labels))  # index -1
        labels = [*labels, SUPPRESSED]
        lo, hi = np.append(lo, np.int32(0)), np.append(hi, np.int32(size - 1))
        loss, depth = np.append(loss, 1.0), np.append(depth, np.int32(0))
    return Cells(smallest_codes(entry, len(labels))[number_of_key], tuple(labels), lo, hi, loss, depth)
