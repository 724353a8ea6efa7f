"""Classes from a sweep: the finest generalizations first, and whoever has company there is taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.costs import cell_costs
from incrowd.kernels.grouping import group_codes

if TYPE_CHECKING:
    from incrowd.algorithms._sets import PricedKeys
    from incrowd.table.frequency import FrequencyTable

__all__ = ["swept"]

_MOST_NODES = 1 << 20
"""Combinations of rungs of which the cheapest order is made; beyond, rungs are left out."""


class _Rung(NamedTuple):
    """One generalization of an attribute: the group of each key, int64[keys], and its mean cost."""

    groups: NDArray[np.int64]
    cost: float


def swept(keys: PricedKeys, least: int, nodes: int) -> NDArray[np.int64] | None:
    """Put keys into classes of `least` records: the class of each, int64[keys], or None where there is none.

    The combinations of rungs are gone through from the cheapest to the dearest. At each one the keys that are
    left are grouped. Groups of enough records are classes, and leave. Whoever is left in the end joins the
    last class: it came of the dearest combination, so it shares least anyway.

    Parameters
    ----------
    nodes
        Combinations that are looked at; of more, so many that lie evenly in their order.
    """
    frequency = keys.frequency
    rungs = _thinned([_rungs(keys, j) for j in range(len(frequency.domains))])
    chosen = _in_order(rungs, nodes)
    left = np.arange(frequency.keys)
    class_of = np.full(frequency.keys, -1, np.int64)
    found = 0
    for node in chosen:
        columns = [rung[level].groups[left] for rung, level in zip(rungs, node, strict=True)]
        ids, first = group_codes(columns, len(left))
        large = np.bincount(ids, frequency.weights[left], len(first)) >= least
        if not large.any():
            continue
        number = np.cumsum(large) - 1 + found
        taken = large[ids]
        class_of[left[taken]] = number[ids[taken]]
        found += int(large.sum())
        left = left[~taken]
        if not len(left):
            break
    if not found:
        return None
    class_of[left] = found - 1
    return class_of


def _rungs(keys: PricedKeys, j: int) -> list[_Rung]:
    """Return the rungs of an attribute, the finest first: levels of a hierarchy, or halves of halves."""
    domain = keys.frequency.domains[j]
    if domain.hierarchy is not None:
        return [_of_level(keys, j, level) for level in range(domain.height + 1)]
    if domain.ordered:
        return _halves(keys, j)
    codes = keys.frequency.codes[j].astype(np.int64)
    return [_Rung(codes, 0.0), _Rung(np.zeros_like(codes), float(keys.costs.whole[j]))]


def _of_level(keys: PricedKeys, j: int, level: int) -> _Rung:
    from incrowd.recoding import level_cells

    cells = level_cells(keys.frequency.domains[j], level)
    codes = keys.frequency.codes[j]
    lost = np.asarray(cells.loss)[np.asarray(cells.entry)][codes] * int(keys.costs.whole[j])
    return _Rung(np.asarray(cells.entry)[codes].astype(np.int64), _mean(lost, keys.frequency))


def _halves(keys: PricedKeys, j: int) -> list[_Rung]:
    """Return intervals of 1, 2, 4, ... ranks; missing values stand alone until all is one."""
    domain, codes = keys.frequency.domains[j], keys.frequency.codes[j].astype(np.int64)
    missing = domain.missing
    rungs = []
    width = 1
    while width < domain.size:
        groups = np.where(codes == missing, domain.size, codes // width)
        rungs.append(_Rung(groups, _mean_cost(keys, j, groups)))
        width *= 2
    alike = np.zeros_like(codes)
    return [*rungs, _Rung(alike, _mean_cost(keys, j, alike))]


def _mean_cost(keys: PricedKeys, j: int, groups: NDArray[np.int64]) -> float:
    """Return what the cells of the groups cost a record on average, the other attributes as they are."""
    frequency = keys.frequency
    _, ids = np.unique(groups, return_inverse=True)
    codes = frequency.codes[j].astype(np.int64)
    lows, highs = np.zeros((2, int(ids.max()) + 1, len(frequency.domains)), np.int64)
    lows[:, j] = frequency.domains[j].size
    np.minimum.at(lows[:, j], ids, codes)
    np.maximum.at(highs[:, j], ids, codes)
    return _mean(cell_costs(keys.costs, lows, highs)[ids], frequency)


def _mean(each: NDArray[np.float64] | NDArray[np.int64], frequency: FrequencyTable) -> float:
    return float(each @ frequency.weights) / max(int(frequency.weights.sum()), 1)


def _thinned(rungs: list[list[_Rung]]) -> list[list[_Rung]]:
    """Leave out every second rung of the longest ladders until there are few enough combinations."""
    while np.prod([float(len(ladder)) for ladder in rungs]) > _MOST_NODES:
        longest = max(range(len(rungs)), key=lambda j: len(rungs[j]))
        if len(rungs[longest]) <= 2:
            break
        # The finest and the coarsest stay.
        rungs[longest] = [*rungs[longest][:-1:2], rungs[longest][-1]]
    return rungs


def _in_order(rungs: list[list[_Rung]], nodes: int) -> list[tuple[int, ...]]:
    """Return combinations of rungs by what they cost; of equal ones those of finer first attributes first."""
    total = np.zeros(1)
    for ladder in rungs:
        total = (total[:, None] + np.array([rung.cost for rung in ladder])[None, :]).ravel()
    order = np.argsort(total, kind="stable")
    if len(order) > nodes:
        order = order[np.unique(np.linspace(0, len(order) - 1, nodes).astype(np.int64))]
    levels = np.unravel_index(order, [len(ladder) for ladder in rungs])
    return list(zip(*(column.tolist() for column in levels), strict=True))
