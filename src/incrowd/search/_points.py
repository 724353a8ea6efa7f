"""The records of a table as points, and the cost of a common class of points or of sets of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.kernels.clusters.costs import (
    Costs,
    cell_costs,
    farthest,
    farthest_from,
    measure,
    nearest,
    reach,
    take,
)
from incrowd.core.kernels.clusters.growing import grow
from incrowd.core.kernels.grouping.grouping import group_columns, group_members
from incrowd.core.kernels.jit import over_ranges, so_few
from incrowd.core.kernels.numpy_fallback import least_of
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding.cells import effective_style

if TYPE_CHECKING:
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Attribute


_BITS = 62
_COMPACT_FROM = 64
_ASKED, _ASKED_AT_MOST = 16, 2048
"""Candidates per record that a class takes, by least initial cost, and the largest number of candidates."""

_FARTHER_THAN_ALL = np.iinfo(np.int64).max


def costs_of(
    frequency: FrequencyTable,
    attributes: Sequence[Attribute],
    *,
    levels: bool = False,
    heights: bool = False,
    blanks: bool = False,
) -> Costs:
    """Return the cost of cells under the loss metric LM, averaged with the attributes' weights.

    Parameters
    ----------
    heights
        Whether a node of a hierarchy costs the height of what is below it over that of the tree instead.
    blanks
        Whether every cell with more than one value costs the attribute's whole weight.
    levels
        Whether to add the levels that two records climb (MD), over the most that two can climb.

    Notes
    -----
    Costs are whole multiples of one unit, exactly, while sums over all records fit 63 bits; else they are
    rounded to as small a unit as fits.
    """
    weights = [Fraction(attribute.weight) for attribute in attributes]
    total = sum(weights, Fraction(0)) or Fraction(1)
    climbed = 2 * sum(domain.height for domain in frequency.domains)
    parts = [
        _Part(
            domain,
            weight / total,
            Fraction(1, climbed) if levels and climbed else Fraction(0),
            heights,
            blanks,
        )
        for domain, weight in zip(frequency.domains, weights, strict=True)
    ]
    return _laid_out(parts, _unit(parts, frequency.records))


def _unit(parts: Sequence[_Part], records: int) -> int:
    """Return the units in a cost of 1, exact where sums over all records fit."""
    most = 4 * max(records, 1)
    unit = math.lcm(*(value.denominator for part in parts for value in part.distinct()))
    return unit if unit * most < 1 << _BITS else 1 << (_BITS - most.bit_length())


def _laid_out(parts: Sequence[_Part], unit: int) -> Costs:
    """Write the costs of all attributes into the arrays of the kernels, in units."""

    def in_units(value: Fraction) -> int:
        return round(value * unit)

    def stacked(arrays: list[Any], dtype: Any) -> Any:
        return np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype)

    def starts(lengths: list[int]) -> NDArray[np.int64]:
        return np.cumsum([0, *lengths], dtype=np.int64)

    trees = [part.domain.tree if part.is_tree else None for part in parts]
    present = [tree for tree in trees if tree is not None]
    return Costs(
        is_tree=np.array([part.is_tree for part in parts], np.bool_),
        first=starts([part.domain.size for part in parts]),
        missing=np.array([-1 if part.is_tree else part.domain.missing for part in parts], np.int64),
        whole=np.array([in_units(part.loss + 2 * part.level) for part in parts], np.int64),
        step=np.array([in_units(part.step) for part in parts], np.int64),
        place=stacked([[in_units(value) for value in part.places()] for part in parts], np.int64),
        own=stacked([[in_units(value) for value in part.own()] for part in parts], np.int64),
        leaf=stacked(
            [
                np.zeros(part.domain.size) if tree is None else tree.leaves
                for part, tree in zip(parts, trees, strict=True)
            ],
            np.int32,
        ),
        nodes=starts([0 if tree is None else len(tree.parents) for tree in trees]),
        node_lo=stacked([tree.lo for tree in present], np.int32),
        node_hi=stacked([tree.hi for tree in present], np.int32),
        node_parent=stacked([tree.parents for tree in present], np.int32),
        node_cost=stacked([[in_units(value) for value in part.node_costs()] for part in parts], np.int64),
    )


class _Part:
    """The exact costs of an attribute."""

    def __init__(self, domain: Domain, loss: Fraction, level: Fraction, heights: bool, blanks: bool) -> None:
        self.domain = domain
        self.heights = heights
        self.blanks = blanks
        self.loss = loss
        self.level = level
        self.is_tree = not domain.ordered and not blanks

    @property
    def step(self) -> Fraction:
        return self.loss if self.blanks else 2 * self.level

    def node_costs(self) -> list[Fraction]:
        if not self.is_tree:
            return []
        tree = self.domain.tree
        if self.heights:
            scale = self.loss / max(tree.height, 1)
            return [scale * height for height in tree.heights.tolist()]
        scale = self.loss / max(self.domain.size - 1, 1)
        leaves = (tree.hi - tree.lo).tolist()
        return [
            scale * (count - 1) - 2 * self.level * depth
            for count, depth in zip(leaves, tree.depths.tolist(), strict=True)
        ]

    def own(self) -> list[Fraction]:
        if not self.is_tree:
            return [Fraction(0)] * self.domain.size
        tree = self.domain.tree
        return [self.level * depth for depth in tree.depths[tree.leaves].tolist()]

    def places(self) -> list[Fraction]:
        if self.is_tree or self.blanks:
            return [Fraction(0)] * self.domain.size
        numbers = [Fraction(value) for value in self.domain.positions.tolist() if not math.isnan(value)]
        extent = numbers[-1] - numbers[0] if numbers else Fraction(0)
        places = [self.loss * (value - numbers[0]) / extent if extent else Fraction(0) for value in numbers]
        return places + [Fraction(0)] * (self.domain.size - len(places))

    def distinct(self) -> set[Fraction]:
        """Return values with denominators that are multiples of all other denominators."""
        level = {self.level}
        if self.is_tree:
            steps = self.domain.tree.height if self.heights else self.domain.size - 1
            return level | {self.loss / max(steps, 1)}
        return level | {self.loss} | set(self.places())


class Points:
    """The distinct records of a table, and which records share each.

    Attributes
    ----------
    first
        int64[attributes + 1]: where the ranks of each attribute stand in the row of spots, and its end; see
        `incrowd.core.kernels.clusters.costs`.
    spots
        int32[points, attributes]: the spot of each point's rank.
    point_of_row
        int32[records]
    """

    def __init__(self, frequency: FrequencyTable) -> None:
        sizes = [domain.size for domain in frequency.domains]
        self.first = np.cumsum([0, *sizes], dtype=np.int64)
        self.records = frequency.keys
        self.point_of_row, first = group_columns(frequency.codes, sizes, frequency.keys)
        self.indptr, self.rows = group_members(self.point_of_row, len(first))
        self.spots = np.empty((len(first), len(sizes)), np.int32)
        for j, codes in enumerate(frequency.codes):
            self.spots[:, j] = codes[first] + self.first[j]

    def ranks(self, row: int) -> NDArray[np.int64]:
        """Return the rank of a record in each attribute."""
        spots = self.spots[self.point_of_row[row]]
        return np.asarray(spots - self.first[:-1], np.int64)


class Unused:
    """The records without a class, and the distances from the current target.

    Attributes
    ----------
    left
        How many there are.
    class_of_row
        int32[records]: -1 for those.
    near
        int64[spots]: what a record is away for each of its spots. Whoever aims writes it.
    total
        int64[points]: a distance of each point; see `nearest` and `measure`.
    """

    def __init__(self, points: Points) -> None:
        self.left = points.records
        self.class_of_row = np.full(points.records, -1, np.int32)
        self.near = np.zeros(int(points.first[-1]), np.int64)
        self.total = np.zeros(len(points.spots), np.int64)
        self._points = points
        self._cursor = points.indptr[:-1].copy()
        self._ends = points.indptr[1:]
        self._alive = np.arange(len(points.spots))
        self._work = np.arange(len(points.spots) + 1)

    @staticmethod
    def of_points(points: Points) -> Unused:
        """Return the records of all points, handled without the compiler if few."""
        return _FewUnused(points) if so_few(points.records) else Unused(points)

    def nearest(self, want: int, *, add: bool = False) -> NDArray[np.int64]:
        """Return the unused records nearest to the target, in order, with ties to the lowest row.

        Parameters
        ----------
        add
            Whether every distance is added to `total`.
        """
        results = over_ranges(
            nearest, self._work, want, self._alive, self._points.spots, self.near, self._points.rows,
            self._cursor, self._ends, self.total if add else self.total[:0],
        )  # fmt: skip
        distances = np.concatenate([distance for distance, _ in results])
        rows = np.concatenate([row for _, row in results])
        return np.asarray(rows[np.lexsort((rows, distances))[:want]])

    def measure(self) -> None:
        """Write the distance of every unused record to the target into `total`."""
        over_ranges(
            measure, self._work, self._alive, self._points.spots, self.near, self._cursor, self._ends,
            self.total,
        )  # fmt: skip

    def farthest(self) -> int:
        """Return the unused record with the largest `total`, the lowest in a tie (none: -1)."""
        results = over_ranges(
            farthest, self._work, self._alive, self._points.rows, self._cursor, self._ends, self.total
        )
        return _first_of_largest(results)

    def farthest_from_aim(self) -> int:
        """Return the unused record farthest from the target, the lowest in a tie (none: -1)."""
        results = over_ranges(
            farthest_from, self._work, self._alive, self._points.spots, self.near, self._points.rows,
            self._cursor, self._ends,
        )  # fmt: skip
        return _first_of_largest(results)

    def take(self, rows: NDArray[np.int64], number: int) -> None:
        """Put records into a class."""
        take(rows, number, self._points.point_of_row, self._cursor, self.class_of_row)
        self.left -= len(rows)
        if len(self._alive) > _COMPACT_FROM and 4 * self.left < 3 * len(self._alive):
            self._alive = self._alive[self._cursor[self._alive] < self._ends[self._alive]]
            self._work = np.arange(len(self._alive) + 1)

    def rest(self) -> NDArray[np.int64]:
        """Return the records that are left, in order."""
        return np.flatnonzero(self.class_of_row < 0)


def _first_of_largest(results: Sequence[tuple[int, int]]) -> int:
    """Return the record of the largest value among results of ranges, the lowest in a tie (none: -1)."""
    candidates = [(-value, row) for value, row in results if row >= 0]
    return int(min(candidates)[1]) if candidates else -1


class UnusedByCost(Unused):
    """Records at a distance that is the cost of a common class."""

    def __init__(self, points: Points, costs: Costs) -> None:
        super().__init__(points)
        self._costs = costs
        self._attributes = np.arange(points.spots.shape[1])

    def aim(self, lo: NDArray[np.int64], hi: NDArray[np.int64], *, centre: bool = False) -> None:
        """Measure distances to the class with given cells.

        Parameters
        ----------
        centre
            Whether the distance is that of two records, which counts what their own ranks cost.
        """
        costs = self._costs
        reach(costs, lo, hi, self._attributes, self.near)
        if centre:
            self.near += costs.own
            self.near += np.repeat(costs.own[costs.first[:-1] + lo], np.diff(costs.first))

    def grow(self, lo: NDArray[np.int64], hi: NDArray[np.int64], want: int, number: int) -> int:
        """Add to a class in turn the `want` records that increase the cost of the class least.

        The cell ``lo .. hi`` is written. Returns the last record that it took; there must be as many.
        """
        last = -1
        while want > 0:
            self.aim(lo, hi)
            # Most classes stay among the first records that are near, so that all are asked once.
            pool = min(_ASKED * want, _ASKED_AT_MOST)
            rows = self.nearest(pool)
            spots = self._points.spots[self._points.point_of_row[rows]]
            picks = np.empty(min(want, pool), np.int64)
            count = grow(self._costs, self.near, lo, hi, rows, spots, len(rows) < pool, picks)  # type: ignore[no-untyped-call]
            self.take(rows[picks[:count]], number)
            last = int(rows[picks[count - 1]])
            want -= count
        return last


class _FewUnused(Unused):
    """A number of records so small that NumPy suffices while the compiler is not loaded.

    Here `total` is int64[rows]: that of the unused records among `_rows`, and -1 for used ones.
    """

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self._rows = np.arange(points.records)
        self._columns = np.ascontiguousarray(points.spots[points.point_of_row].T, np.intp)
        self.total = np.zeros(points.records, np.int64)

    def _distances(self) -> NDArray[np.int64]:
        distances = np.zeros(len(self._rows), np.int64)
        for column in self._columns:
            distances += self.near[column]
        return distances

    def nearest(self, want: int, *, add: bool = False) -> NDArray[np.int64]:
        away = self._distances()
        if add:
            self.total[self.total >= 0] += away[self.total >= 0]
        away[self.total < 0] = _FARTHER_THAN_ALL
        return self._rows[least_of(away, min(want, self.left))]

    def measure(self) -> None:
        np.copyto(self.total, self._distances(), where=self.total >= 0)

    def farthest(self) -> int:
        position = int(self.total.argmax()) if self.left else -1
        return int(self._rows[position]) if position >= 0 else -1

    def farthest_from_aim(self) -> int:
        self.measure()
        return self.farthest()

    def take(self, rows: NDArray[np.int64], number: int) -> None:
        self.class_of_row[rows] = number
        self.left -= len(rows)
        self.total[np.searchsorted(self._rows, rows)] = -1
        if len(self._rows) > _COMPACT_FROM and 2 * self.left < len(self._rows):
            unused = self.total >= 0
            self._rows, self._columns = self._rows[unused], self._columns[:, unused]
            self.total = self.total[unused]


def class_cells(
    frequency: FrequencyTable, indptr: NDArray[np.int64], members: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the smallest and largest rank of every class: int64[classes, attributes] each."""
    shape = (len(indptr) - 1, len(frequency.domains))
    lows, highs = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for j, codes in enumerate(frequency.codes):
        ranks = codes[members]
        lows[:, j] = np.minimum.reduceat(ranks, indptr[:-1])
        highs[:, j] = np.maximum.reduceat(ranks, indptr[:-1])
    return lows, highs


_MOST_VALUES = 64
"""Largest number of values of a set with a column per value."""


class PricedKeys(NamedTuple):
    """The keys of a search, the attributes, and the costs of cells."""

    frequency: FrequencyTable
    attributes: Sequence[Attribute]
    costs: Costs

    @classmethod
    def of_table(cls, frequency: FrequencyTable, attributes: Sequence[Attribute]) -> PricedKeys:
        """Return the keys of a table with costs."""
        return cls(frequency, attributes, costs_of(frequency, attributes))

    def is_set(self, j: int) -> bool:
        """Say whether a class releases a set of an attribute's values, each further value at equal cost."""
        domain = self.frequency.domains[j]
        plain = domain.hierarchy is None and not domain.ordered
        return plain and effective_style(self.attributes[j].output or "auto", domain) in ("set", "mean")

    def cost_of_value(self, j: int) -> int:
        """Return the cost of each value after the first in a set of an attribute."""
        return int(self.costs.whole[j]) // max(self.frequency.domains[j].size - 1, 1)


class _Column(NamedTuple):
    """A column of a search, with the costs of intervals (see `Costs`)."""

    ranks: NDArray[np.int64]
    missing: int
    whole: int
    step: int
    nodes: int
    place: NDArray[np.int64]
    own: NDArray[np.int64]
    leaf: NDArray[np.int32]
    is_tree: bool = False


def in_columns(keys: PricedKeys, order: Sequence[int]) -> tuple[NDArray[np.int64], Costs]:
    """Return the ranks of the keys in the columns of a search, int64[keys, columns], and the costs.

    The attributes come in the order that is given.

    Most attributes are one column. A set of values has a column for every value but the most frequent one: 1
    where a key has it. A class that differs in such a column pays for one value more. So {a, b, c} costs two
    values if a is the most frequent one. A set without the most frequent value costs one too many.
    With very many values a set is one column, in which the values stand by how frequent they are. It costs as
    many values as lie between its ends.
    """
    frequency, costs = keys.frequency, keys.costs
    columns: list[_Column] = []
    for j in order:
        codes = frequency.codes[j].astype(np.int64)
        if keys.is_set(j):
            counts = np.bincount(codes, frequency.weights, frequency.domains[j].size)
            columns += _set_columns(codes, np.argsort(-counts, kind="stable"), keys.cost_of_value(j))
        else:
            columns.append(_as_it_is(codes, costs, j))
    ranks = [column.ranks[:, None] for column in columns]
    return np.concatenate([np.zeros((frequency.keys, 0), np.int64), *ranks], axis=1), costs._replace(
        is_tree=np.array([column.is_tree for column in columns], np.bool_),
        first=np.cumsum([0, *(len(column.place) for column in columns)], dtype=np.int64),
        missing=np.array([column.missing for column in columns], np.int64),
        whole=np.array([column.whole for column in columns], np.int64),
        step=np.array([column.step for column in columns], np.int64),
        nodes=np.array([column.nodes for column in columns], np.int64),
        place=np.concatenate([np.zeros(0, np.int64), *(column.place for column in columns)]),
        own=np.concatenate([np.zeros(0, np.int64), *(column.own for column in columns)]),
        leaf=np.concatenate([np.zeros(0, np.int32), *(column.leaf for column in columns)]),
    )


def _as_it_is(codes: NDArray[np.int64], costs: Costs, j: int) -> _Column:
    spots = slice(int(costs.first[j]), int(costs.first[j + 1]))
    return _Column(
        codes, int(costs.missing[j]), int(costs.whole[j]), int(costs.step[j]), int(costs.nodes[j]),
        costs.place[spots], costs.own[spots], costs.leaf[spots], bool(costs.is_tree[j]),
    )  # fmt: skip


def _set_columns(codes: NDArray[np.int64], order: NDArray[np.intp], each: int) -> list[_Column]:
    """Return the columns of a set, where `order` lists the values by falling frequency."""
    size = len(order)
    if size > _MOST_VALUES:
        rank = np.empty(size, np.int64)
        rank[order] = np.arange(size)
        spots = np.arange(size) * each
        return [_Column(rank[codes], -1, int(spots[-1]), 0, 0, spots, *_nothing(size))]
    return [
        _Column((codes == value).astype(np.int64), -1, each, each, 0, np.zeros(2, np.int64), *_nothing(2))
        for value in order[1:]
    ]


def _nothing(size: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return np.zeros(size, np.int64), np.zeros(size, np.int32)


def class_costs(keys: PricedKeys, indptr: NDArray[np.int64], members: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the loss of a record of each class, where a set counts only present values: int64[classes]."""
    frequency = keys.frequency
    lows, highs = class_cells(frequency, indptr, members)
    class_of = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    costs = np.zeros(len(indptr) - 1, np.int64)
    for j, domain in enumerate(frequency.domains):
        if keys.is_set(j):
            pairs = np.unique(class_of * domain.size + frequency.codes[j][members])
            values = np.bincount(pairs // domain.size, minlength=len(costs))
            costs += (values - 1) * keys.cost_of_value(j)
            # Its interval is counted already.
            lows[:, j] = highs[:, j] = 0
    return costs + cell_costs(keys.costs, lows, highs)
