"""Keys and costs of a search that releases categories without a hierarchy as sets of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.kernels.clusters.costs import Costs, cell_costs
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding.cells import effective_style
from incrowd.search._points import class_cells, costs_of

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Attribute

_MOST_VALUES = 64
"""Largest number of values of a set with a column per value."""


class PricedKeys(NamedTuple):
    """The keys of a search, the attributes, and the costs of cells."""

    frequency: FrequencyTable
    attributes: Sequence[Attribute]
    costs: Costs

    @classmethod
    def of(cls, frequency: FrequencyTable, attributes: Sequence[Attribute]) -> PricedKeys:
        """Return the keys of a table with costs."""
        return cls(frequency, attributes, costs_of(frequency, attributes))

    def is_set(self, j: int) -> bool:
        """Say whether a class releases the set of an attribute's values, each further value at the same
        cost.
        """
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
    """Return the loss of a record of each class, where a set counts only the values present:
    int64[classes].
    """
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
