"""How many people of a class share sets of items: by pairs of all nodes, and by sets of any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import ParameterError
from incrowd.core.kernels.grouping.grouping import group_columns
from incrowd.core.kernels.people.histories import choose, subsets
from incrowd.core.lazy import NDArray, np
from incrowd.release.jobs.make.sets.cells import distinct

if TYPE_CHECKING:
    from incrowd.release.jobs.make.sets.cells import Baskets

_RUN = 4_000_000
"""Pairs that are counted at a time."""
_MOST_SETS = 60_000_000
"""Sets of items that are looked at, which take some gigabytes."""


class View(NamedTuple):
    """Baskets of which an attacker may know items: those of rows, or those of people.

    - `of_class`, `person`: int64[rows] each: the class of a basket, -1 for none, and the person's number.
    - `several`: whether somebody has several baskets in a class.
    """

    baskets: Baskets
    of_class: NDArray[np.int64]
    person: NDArray[np.int64]
    several: bool = False


class Shared(NamedTuple):
    """The sets of `size` items of each basket, and how many people of its class have a basket with the same.

    - `owner`: int64[sets]; `sets`: int64[sets, size], nodes; `support`: int64[sets].
    """

    owner: NDArray[np.int64]
    sets: NDArray[np.int64]
    support: NDArray[np.int64]


def views_of(baskets: Baskets, of_class: NDArray[np.int64], person: NDArray[np.int64] | None) -> list[View]:
    """Return the baskets of rows and, where people have several, one of each person in each of the classes.

    Such a basket has the items of all rows of the person, in whatever class.

    Parameters
    ----------
    of_class
        int64[rows]: the class of each row, -1 for none.
    person
        int64[rows]: the number of each row's person; None where nobody has a second row.
    """
    if person is None:
        return [View(baskets, of_class, np.arange(baskets.rows))]
    nodes, classes = len(baskets.items.labels), int(of_class.max(initial=0)) + 1
    shown = of_class >= 0
    homes = distinct(person[shown] * classes + of_class[shown])
    items = distinct(person[baskets.row] * nodes + baskets.node)
    owner = homes // classes
    start, stop = (np.searchsorted(items // nodes, owner, side) for side in ("left", "right"))
    row = np.repeat(np.arange(len(homes)), stop - start)
    ends = np.cumsum(stop - start)
    node = items[np.arange(len(row)) + (start - np.append(0, ends[:-1]))[row]] % nodes
    whole = replace(baskets, rows=len(homes), row=row, node=node)
    return [View(baskets, of_class, person, several=True), View(whole, homes % classes, owner)]


def shared(view: View, size: int, where: str) -> Shared:
    """Count the people of each class who have the same sets of items.

    Parameters
    ----------
    where
        The columns, for errors.

    Raises
    ------
    ParameterError
        When there are too many sets.
    """
    baskets, of_class, person, several = view
    starts = np.append(np.flatnonzero(np.diff(baskets.row, prepend=-1)), len(baskets.row)).astype(np.int64)
    total = choose(np.diff(starts), size).sum()
    if total > _MOST_SETS:
        raise ParameterError(
            f"{where}: an attacker may know {total:,.0f} sets of {size} items, and {_MOST_SETS:,} "
            "are looked at; lower known, or shorten the sets"
        )
    sets, counts = subsets(starts, baskets.node, size)
    owner = np.repeat(baskets.row[starts[:-1]], counts)
    if not len(owner):
        return Shared(owner, sets, np.zeros(0, np.int64))
    nodes, classes = len(baskets.items.labels), int(of_class.max(initial=0)) + 1
    ids, first = group_columns([of_class[owner], *sets.T], [classes, *[nodes] * size], len(owner))
    each = ids.astype(np.int64)
    if several:
        people = int(person.max()) + 1
        each = distinct(each * people + person[owner]) // people
    return Shared(owner, sets, np.bincount(each, minlength=len(first))[ids])


def lacking(view: View, k: int, known: int) -> NDArray[np.float64]:
    """Add up how many people each pair of nodes lacks to be shared by k, over all classes that have it.

    A basket has the nodes above its items, too. The diagonal is of single nodes. All is 0 of two nodes where
    whoever knows both of anybody finds k people; so it is with nodes above these, too.

    Returns
    -------
    float64[nodes, nodes], the same below and above the diagonal.
    """
    baskets, of_class, person, _ = view
    nodes = len(baskets.items.labels)
    ways = baskets.items.ways_up()[baskets.node]
    there = ways >= 0
    both = distinct(np.repeat(baskets.row, there.sum(axis=1)) * nodes + ways[there])
    row, node = both // nodes, both % nodes
    order = np.lexsort((node, row, person[row], of_class[row]))
    row, node = row[order], node[order]
    # People are told apart within a class.
    changes = (np.diff(person[row], prepend=-1) != 0) | (np.diff(of_class[row], prepend=-1) != 0)
    home = np.cumsum(changes) if view.several else None
    lack = np.zeros(nodes * nodes)
    for run, is_whole in _runs(row, of_class):
        if is_whole:
            counts = np.zeros(nodes * nodes, np.int64)
            for part in _parts(run, row, person):
                counts += np.bincount(
                    _pairs_of(part, row, node, home, nodes, known)[1], minlength=nodes * nodes
                )
            lack += np.where(counts > 0, np.maximum(k - counts, 0), 0)
            continue
        entry, code = _pairs_of(run, row, node, home, nodes, known)
        classes, number = np.unique(of_class[row[entry]], return_inverse=True)
        ids, first = group_columns([number, code], [len(classes), nodes * nodes], len(code))
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


def _parts(run: slice, row: NDArray[np.int64], person: NDArray[np.int64]) -> Iterator[slice]:
    """Yield the entries of whole people, few pairs at a time."""
    last = np.flatnonzero(np.append(np.diff(row[run]) != 0, True))
    lengths = np.diff(last, prepend=-1)
    work = np.cumsum(lengths * (lengths + 1) // 2)
    whole = np.flatnonzero(np.append(np.diff(person[row[run][last]]) != 0, True))
    bounds = np.searchsorted(work[whole], np.arange(_RUN, work[-1] + _RUN, _RUN))
    ends = last[whole[np.unique(np.minimum(bounds, len(whole) - 1))]] + 1
    for start, stop in pairwise([0, *ends.tolist()]):
        yield slice(run.start + start, run.start + stop)


def _pairs_of(
    run: slice,
    row: NDArray[np.int64],
    node: NDArray[np.int64],
    home: NDArray[np.int64] | None,
    nodes: int,
    known: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an entry of the basket and the number of each pair of nodes, once for each home."""
    starts = np.append(np.flatnonzero(np.diff(row[run], prepend=-1)), len(row[run])).astype(np.int64)
    entry = np.repeat(starts[:-1], np.diff(starts)) + run.start
    code = node[run] * nodes + node[run]
    if known > 1:
        sets, counts = subsets(starts, node[run], 2)
        entry = np.append(entry, np.repeat(starts[:-1] + run.start, counts))
        code = np.append(code, sets[:, 0] * nodes + sets[:, 1])
    if home is not None:
        _, once = np.unique(home[entry] * nodes * nodes + code, return_index=True)
        entry, code = entry[once], code[once]
    return entry, code
