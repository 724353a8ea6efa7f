"""The cells of a count table, totals included, and the sums that connect cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.domain import MISSING

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Axis:
    """A dimension of a table: the codes of a column, from the total down to the finest.

    Attributes
    ----------
    column
        The column.
    tree
        Its codes as a tree; the root is the total.

    Examples
    --------
    >>> from incrowd.core.hierarchy.tree import Hierarchy
    >>> Axis("area", Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": ["c"]}})).codes
    ('Total', 'north', 'a', 'b', 'south', 'c')
    """

    column: str
    tree: Hierarchy

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """The codes as a table shows codes, in depth-first order; a root ``*`` is called Total.

        A code may be called as the one above it. Then the upper one is marked: ``White (all)``. The code of
        missing values is ``<missing>``.
        """
        codes = list(self.tree.labels)
        for node, parent in enumerate(self.tree.parents.tolist()):
            if parent >= 0 and self.tree.labels[node] == self.tree.labels[parent]:
                codes[parent] = f"{self.tree.labels[parent]} (all)"
        if codes[0] == "*" and "Total" not in codes:
            codes[0] = "Total"
        if MISSING in codes:
            shown = "<missing>"
            while shown in codes:
                shown += "_"
            codes[codes.index(MISSING)] = shown
        return tuple(codes)

    @cached_property
    def families(self) -> list[tuple[int, NDArray[np.int64]]]:
        """Each code that is a sum, with the summed codes."""
        below: dict[int, list[int]] = {}
        for node, parent in enumerate(self.tree.parents.tolist()):
            if parent >= 0:
                below.setdefault(parent, []).append(node)
        return [(node, np.array(parts, np.int64)) for node, parts in below.items()]

    def cut(self, level: int) -> tuple[Axis, NDArray[np.int64]]:
        """Leave out the finest codes, of the last `level` steps below the root.

        Returns
        -------
        axis
            The shorter axis; at least one step below the root stays.
        place
            int64[leaves]: the leaf of the shorter axis that each leaf of this one is a part of.
        """
        tree = self.tree
        depth = max(tree.height - level, 1)
        kept = np.flatnonzero(tree.depths <= depth)
        place = np.full(tree.n_nodes, -1, np.int64)
        place[kept] = np.arange(len(kept))
        above = tree.leaves.astype(np.int64)
        while (deep := tree.depths[above] > depth).any():
            above[deep] = tree.parents[above[deep]]
        parents = tree.parents[kept]
        shorter = Hierarchy(
            [tree.labels[node] for node in kept], np.where(parents < 0, -1, place[np.maximum(parents, 0)])
        )
        return Axis(self.column, shorter), np.searchsorted(shorter.leaves, place[above])

    def spread(self, finest: NDArray[Any], axis: int) -> NDArray[Any]:
        """Sum the finest codes along a dimension of an array, so that the array has every code."""
        sums = np.zeros((*finest.shape[:axis], self.tree.n_nodes, *finest.shape[axis + 1 :]), finest.dtype)
        moved, source = np.moveaxis(sums, axis, 0), np.moveaxis(finest, axis, 0)
        moved[self.tree.leaves] = source
        for node in range(self.tree.n_nodes - 1, 0, -1):
            moved[self.tree.parents[node]] += moved[node]
        return sums


def with_totals(finest: NDArray[Any], axes: Sequence[Axis]) -> NDArray[Any]:
    """Return the cells of all codes from the cells of the finest codes.

    Parameters
    ----------
    finest
        array[leaves of axis 1, leaves of axis 2, ...]
    axes
        The dimensions.

    Returns
    -------
    array[codes of axis 1, codes of axis 2, ...]
    """
    return reduce(lambda cells, each: each[1].spread(cells, each[0]), enumerate(axes), finest)


class Sums(NamedTuple):
    """Sums over cells of a table: ``total = sum of parts``, each as the numbers of cells.

    Attributes
    ----------
    totals
        int64[sums]: the cell that is a sum.
    parts
        One int64[parts] for each sum.
    axis
        int64[sums]: the dimension along which it is summed.
    """

    totals: NDArray[np.int64]
    parts: list[NDArray[np.int64]]
    axis: NDArray[np.int64]


def sums_of(axes: Sequence[Axis]) -> Sums:
    """Return every sum of a table: along each dimension, of each code that has parts, for all other codes.

    A table of sex (Total = f + m) by town (Total = a + b) has cells 0..8 and these sums::

              Total  a   b
        Total   0    1   2      0 = 1 + 2   3 = 4 + 5   6 = 7 + 8
        f       3    4   5      0 = 3 + 6   1 = 4 + 7   2 = 5 + 8
        m       6    7   8
    """
    shape = [axis.tree.n_nodes for axis in axes]
    number = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    totals: list[NDArray[np.int64]] = []
    parts: list[NDArray[np.int64]] = []
    along: list[NDArray[np.int64]] = []
    for place, axis in enumerate(axes):
        moved = np.moveaxis(number, place, 0).reshape(shape[place], -1)
        for node, below in axis.families:
            totals.append(moved[node])
            parts.extend(moved[below].T)
            along.append(np.full(moved.shape[1], place))
    return Sums(np.concatenate(totals), parts, np.concatenate(along))


class Nested(NamedTuple):
    """A code of a column that is the sum of codes of another column, which determines the first.

    Example: every town is in one area, so the area is the sum of its towns. A copy of a column has one part.

    Attributes
    ----------
    column, code
        The column that is determined, and its code.
    below, parts
        The other column, and its codes.
    """

    column: str
    code: str
    below: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Linked:
    """Tables of the same people read together, where a cell that two tables have counts once.

    Attributes
    ----------
    cells
        int64[tables][cells of the table]: the number of each table's cells among all.
    size
        How many cells there are.
    totals, parts
        The sums of all tables, as `Sums`.
    exact
        bool[sums]: whether the total is the sum of its parts. Where people are counted who may be in several
        parts, the total is at most the sum and at least each part.
    nested
        The codes of columns that others determine.
    excess
        int64[pairs, 2]: pairs of sums that are no exact ones, one of people and one of some of them. By what
        the parts of some exceed their total, those of all exceed theirs at least.
    """

    cells: list[NDArray[np.int64]]
    size: int
    totals: NDArray[np.int64]
    parts: list[NDArray[np.int64]] = field(repr=False)
    exact: NDArray[np.bool_]
    nested: tuple[Nested, ...] = ()
    excess: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    @classmethod
    def of_tables(
        cls,
        tables: Iterable[Sequence[Axis]],
        overlapping: Iterable[str] = (),
        nested: Iterable[Nested] = (),
    ) -> Linked:
        """Give each cell of some tables a number among all.

        Two cells are one if they ask the same of the same columns: the cell (Total, north) of age by area is
        the cell (north, Total) of area by sex. A code is known by its column and its name.

        Parameters
        ----------
        tables
            The dimensions of each table.
        overlapping
            Columns of which a person may have several codes.
        nested
            Codes of columns that other columns determine.
        """
        number: dict[tuple[tuple[str, str], ...], int] = {}
        overlapping, nested = set(overlapping), tuple(nested)
        cells: list[NDArray[np.int64]] = []
        totals: list[NDArray[np.int64]] = []
        parts: list[NDArray[np.int64]] = []
        exact: list[NDArray[np.bool_]] = []
        for axes in tables:
            names = [[(axis.column, code) for code in axis.codes] for axis in axes]
            table = np.empty(prod(map(len, names)), np.int64)
            for place, chosen in enumerate(np.ndindex(*map(len, names))):
                # The root asks nothing.
                key = tuple(sorted(names[axis][code] for axis, code in enumerate(chosen) if code))
                table[place] = number.setdefault(key, len(number))
            own = sums_of(axes)
            cells.append(table)
            totals.append(table[own.totals])
            parts.extend(table[each] for each in own.parts)
            exact.append(np.array([axis.column not in overlapping for axis in axes])[own.axis])
        for total, below, holds in _nested_sums(number, nested, overlapping):
            totals.append(np.array([total], np.int64))
            parts.append(np.array(below, np.int64))
            exact.append(np.array([holds]))
        sums = np.concatenate(totals), parts, np.concatenate(exact)
        excess = _excesses(number, *sums) if len(overlapping) > 1 else np.zeros((0, 2), np.int64)
        return cls(cells, len(number), *sums, nested, excess)

    @cached_property
    def rows(self) -> tuple[csr_array, NDArray[np.float64]]:
        """The conditions that all sums set: ``0 <= matrix @ cells <= most``.

        Returns
        -------
        matrix
            float64[rows, cells]: for a sum, 1 for each part and -1 for the total. For a sum that is no exact
            one, further rows have 1 for the total and -1 for one part.
        most
            float64[rows]: 0 where the sum is exact, else infinity.

        A pair of `excess` has a row, too: the parts of all less their total, less the same of some.
        """
        from scipy.sparse import csr_array

        lengths = np.array([len(each) for each in self.parts], np.int64)
        number = np.arange(len(lengths))
        row = [np.repeat(number, lengths), number]
        column = [np.concatenate(self.parts), self.totals]
        value = [np.ones(lengths.sum()), -np.ones(len(lengths))]
        pairs = [
            (self.totals[each], part) for each in np.flatnonzero(~self.exact) for part in self.parts[each]
        ]
        if pairs:
            further = len(lengths) + np.arange(len(pairs))
            total, part = np.array(pairs, np.int64).T
            row += [further, further]
            column += [total, part]
            value += [np.ones(len(pairs)), -np.ones(len(pairs))]
        count = len(lengths) + len(pairs)
        for all_people, some in self.excess.tolist():
            for sign, each in ((1.0, all_people), (-1.0, some)):
                own = np.append(self.parts[each], self.totals[each])
                row.append(np.full(len(own), count))
                column.append(own)
                value.append(np.append(np.full(len(own) - 1, sign), -sign))
            count += 1
        most = np.full(count, np.inf)
        most[: len(lengths)][self.exact] = 0
        where = (np.concatenate(row), np.concatenate(column))
        return csr_array((np.concatenate(value), where), (count, self.size)), most


def _nested_sums(
    number: dict[tuple[tuple[str, str], ...], int], nested: Iterable[Nested], overlapping: set[str]
) -> Iterator[tuple[int, list[int], bool]]:
    """Yield each cell of a code that other codes sum up to, with the cells of the summed codes."""
    by_code: dict[tuple[str, str], list[tuple[tuple[str, str], ...]]] = {}
    for key in number:
        for pair in key:
            by_code.setdefault(pair, []).append(key)
    for column, code, below, parts in nested:
        for key in by_code.get((column, code), ()):
            rest = [pair for pair in key if pair != (column, code)]
            if below in {name for name, _ in rest}:
                continue
            others = [number.get(tuple(sorted([*rest, (below, part)]))) for part in parts]
            cells = [each for each in others if each is not None]
            if len(cells) == len(others):
                yield number[key], cells, not overlapping & {column, below}


def _excesses(
    number: dict[tuple[tuple[str, str], ...], int],
    totals: NDArray[np.int64],
    parts: list[NDArray[np.int64]],
    exact: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the pairs of inexact sums, of all people and of the people with a further code.

    Example: people with several drugs and several illnesses. Those of flu are some of all::

        all:  A 5 + B 4 - 7 = 2 people have both drugs          2 >= 1
        flu:  A 3 + B 2 - 4 = 1 person has both while ill
    """
    names = {cell: key for key, cell in number.items()}
    sums: dict[tuple[tuple[tuple[str, str], ...], frozenset[tuple[str, str]]], int] = {}
    pairs = []
    for place in np.flatnonzero(~exact).tolist():
        above = names[int(totals[place])]
        along = frozenset(pair for part in parts[place].tolist() for pair in set(names[part]) - set(above))
        sums[above, along] = place
    for (total, along), place in sums.items():
        pairs += [
            (all_people, place)
            for pair in total
            if (all_people := sums.get((tuple(each for each in total if each != pair), along))) is not None
        ]
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)
