"""Keys and costs of a search for which categories without a hierarchy become sets of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms._points import class_cells, costs_of
from incrowd.kernels.costs import Costs, cell_costs
from incrowd.recoding.labels import effective_style

if TYPE_CHECKING:
    from incrowd.table.domain import Domain
    from incrowd.table.frequency import FrequencyTable
    from incrowd.table.schema import Attribute

__all__ = ["class_costs", "in_columns", "released_as_sets"]

_MOST_VALUES = 64
"""Values up to which a set has a column for each of them."""


def released_as_sets(domain: Domain, attribute: Attribute) -> bool:
    """Say whether a class shows the values of an attribute, so that each value more costs as much again."""
    plain = domain.hierarchy is None and not domain.ordered
    return plain and effective_style(attribute.output or "auto", domain) in ("set", "mean")


class _Column(NamedTuple):
    """A column of a search, and what its intervals cost; see `Costs`."""

    ranks: NDArray[np.int64]
    missing: int
    whole: int
    step: int
    nodes: int
    place: NDArray[np.int64]
    own: NDArray[np.int64]
    leaf: NDArray[np.int32]
    is_tree: bool = False


def in_columns(frequency: FrequencyTable, attributes: Sequence[Attribute]) -> tuple[NDArray[np.int64], Costs]:
    """Return the ranks of the keys in the columns of a search, int64[keys, columns], and what these cost.

    Most attributes are one column. A set of values has a column for every value but the most frequent one: 1
    where a key has it. A class that differs in such a column pays for one value more. So {a, b, c} costs two
    values if a is the most frequent one. A set without the most frequent value costs one too many.
    With very many values a set is one column, in which the values stand by how frequent they are. It costs as
    many values as lie between its ends.
    """
    costs = costs_of(frequency, attributes)
    columns: list[_Column] = []
    for j, (domain, attribute) in enumerate(zip(frequency.domains, attributes, strict=True)):
        codes = frequency.codes[j].astype(np.int64)
        if released_as_sets(domain, attribute):
            order = np.argsort(-np.bincount(codes, frequency.weights, domain.size), kind="stable")
            columns += _of_set(codes, order, int(costs.whole[j]))
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


def _of_set(codes: NDArray[np.int64], order: NDArray[np.intp], whole: int) -> list[_Column]:
    """Return the columns of a set; `order` has the values, the most frequent one first."""
    size = len(order)
    each = whole // max(size - 1, 1)
    if size > _MOST_VALUES:
        rank = np.empty(size, np.int64)
        rank[order] = np.arange(size)
        return [_Column(rank[codes], -1, whole, 0, 0, np.arange(size) * each, *_nothing(size))]
    return [
        _Column((codes == value).astype(np.int64), -1, each, each, 0, np.zeros(2, np.int64), *_nothing(2))
        for value in order[1:]
    ]


def _nothing(size: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return np.zeros(size, np.int64), np.zeros(size, np.int32)


def class_costs(
    frequency: FrequencyTable,
    attributes: Sequence[Attribute],
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return what a record of each class loses, sets by the values that they have: int64[classes]."""
    costs = costs_of(frequency, attributes)
    lows, highs = class_cells(frequency, indptr, members)
    class_of = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    found = np.zeros(len(indptr) - 1, np.int64)
    for j, (domain, attribute) in enumerate(zip(frequency.domains, attributes, strict=True)):
        if released_as_sets(domain, attribute):
            held = np.unique(class_of * domain.size + frequency.codes[j][members])
            values = np.bincount(held // domain.size, minlength=len(found))
            found += (values - 1) * (int(costs.whole[j]) // max(domain.size - 1, 1))
            # Its interval is counted already.
            lows[:, j] = highs[:, j] = 0
    return found + cell_costs(costs, lows, highs)
