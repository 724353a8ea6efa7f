"""How many people of a class share sets of items: by pairs of all nodes, and by sets of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import ParameterError
from incrowd.core.kernels.grouping.grouping import group_columns
from incrowd.core.kernels.people.histories import choose, subsets
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.release.jobs.make.sets.cells import Baskets

_RUN = 4_000_000
"""Pairs that are counted at a time."""
_MOST_SETS = 60_000_000
"""Sets of items that are looked at, which take some gigabytes."""


class Shared(NamedTuple):
    """The sets of `size` items of each row, and how many rows of its class have the same.

    - `owner`: int64[sets]; `sets`: int64[sets, size], nodes; `support`: int64[sets].
    """

    owner: NDArray[np.int64]
    sets: NDArray[np.int64]
    support: NDArray[np.int64]


def shared(baskets: Baskets, of_class: NDArray[np.int64], size: int, where: str) -> Shared:
    """Count the rows of each class that have the same sets of items.

    Parameters
    ----------
    of_class
        int64[rows]: the class of each row.
    where
        The columns, for errors.

    Raises
    ------
    ParameterError
        When there are too many sets.
    """
    lengths = np.bincount(baskets.row, minlength=baskets.rows)
    total = choose(lengths, size).sum()
    if total > _MOST_SETS:
        raise ParameterError(
            f"{where}: an attacker may know {total:,.0f} sets of {size} items, and {_MOST_SETS:,} "
            "are looked at; lower known, or shorten the sets"
        )
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    sets, counts = subsets(indptr, baskets.node, size)
    owner = np.repeat(np.arange(baskets.rows), counts)
    if not len(owner):
        return Shared(owner, sets, np.zeros(0, np.int64))
    nodes, classes = len(baskets.items.labels), int(of_class.max(initial=0)) + 1
    ids, first = group_columns([of_class[owner], *sets.T], [classes, *[nodes] * size], len(owner))
    return Shared(owner, sets, np.bincount(ids, minlength=len(first))[ids])


def lacking(baskets: Baskets, of_class: NDArray[np.int64], k: int, known: int) -> NDArray[np.float64]:
    """Add up how many people each pair of nodes lacks to be shared by k, over all classes that have it.

    A row has the nodes above its items, too. The diagonal is of single nodes. All is 0 of two nodes where
    whoever knows both of anybody finds k people; so it is with nodes above these, too.

    Returns
    -------
    float64[nodes, nodes], the same below and above the diagonal.
    """
    nodes = len(baskets.items.labels)
    ways = baskets.items.ways_up()[baskets.node]
    there = ways >= 0
    both = np.unique(np.repeat(baskets.row, there.sum(axis=1)) * nodes + ways[there])
    row, node = both // nodes, both % nodes
    order = np.lexsort((node, row, of_class[row]))
    row, node = row[order], node[order]
    lack = np.zeros(nodes * nodes)
    for run, is_whole in _runs(row, of_class):
        if is_whole:
            counts = np.zeros(nodes * nodes, np.int64)
            for part in _parts(row[run], node[run]):
                counts += _pairs_of(part, nodes, known, dense=True)[1]
            lack += np.where(counts > 0, np.maximum(k - counts, 0), 0)
            continue
        each = np.flatnonzero(np.append(True, np.diff(row[run]) != 0))
        classes, number = np.unique(of_class[row[run][each]], return_inverse=True)
        owner, code = _pairs_of((row[run], node[run]), nodes, known, dense=False)
        ids, first = group_columns([number[owner], code], [len(classes), nodes * nodes], len(code))
        short = k - np.bincount(ids, minlength=len(first))
        lack += np.bincount(code[first], weights=np.maximum(short, 0), minlength=nodes * nodes)
    below = lack.reshape(nodes, nodes)
    return np.maximum(below, below.T)


def _runs(row: NDArray[np.int64], of_class: NDArray[np.int64]) -> Iterator[tuple[slice, bool]]:
    """Yield runs of entries: several whole classes with few pairs together, or a large class alone."""
    change = np.append(True, np.diff(row) != 0)
    lengths = np.diff(np.append(np.flatnonzero(change), len(row)))
    work = np.cumsum(lengths * (lengths + 1) // 2)
    ends = np.cumsum(lengths)
    last = np.flatnonzero(np.append(np.diff(of_class[row[change]]) != 0, True))
    start, done, previous = 0, 0, None
    for at in last.tolist():
        if previous is not None and work[at] - done > _RUN:
            yield slice(start, int(ends[previous])), False
            start, done = int(ends[previous]), int(work[previous])
        if work[at] - done > _RUN:
            yield slice(start, int(ends[at])), True
            start, done, previous = int(ends[at]), int(work[at]), None
        else:
            previous = at
    if previous is not None:
        yield slice(start, len(row)), False


def _parts(
    row: NDArray[np.int64], node: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the entries of whole rows, few pairs at a time."""
    starts = np.flatnonzero(np.append(True, np.diff(row) != 0))
    lengths = np.diff(np.append(starts, len(row)))
    work = np.cumsum(lengths * (lengths + 1) // 2)
    bounds = np.searchsorted(work, np.arange(_RUN, work[-1] + _RUN, _RUN)) + 1
    bounds = np.unique(np.append(0, np.minimum(bounds, len(starts))))
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        end = len(row) if last == len(starts) else starts[last]
        yield row[starts[first] : end], node[starts[first] : end]


def _pairs_of(
    entries: tuple[NDArray[np.int64], NDArray[np.int64]], nodes: int, known: int, *, dense: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row's place and the number of each pair of nodes; if `dense`, counts of numbers."""
    row, node = entries
    starts = np.append(np.flatnonzero(np.append(True, np.diff(row) != 0)), len(row)).astype(np.int64)
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    code = node * nodes + node
    if known > 1:
        sets, counts = subsets(starts, node, 2)
        owner = np.append(owner, np.repeat(np.arange(len(starts) - 1), counts))
        code = np.append(code, sets[:, 0] * nodes + sets[:, 1])
    return (owner, np.bincount(code, minlength=nodes * nodes)) if dense else (owner, code)
