"""Joining keys into classes of at least k records, always those two that lose least."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.clusters.keyed_classes import interval
from incrowd.core.kernels.jit import compiled, inner


class _Unions(NamedTuple):
    """Classes by their first key: the lowest and highest ranks of each; its records, and their cost."""

    bounds: NDArray[np.int64]
    totals: NDArray[np.int64]


@inner
def _growth(cells, unions, a, b, k, limit):
    """Return the extra cost of two classes as one, for k records of each at most; infinite from `limit`."""
    bounds, totals = unions
    size, own = totals[0, a] + totals[0, b], totals[1, a] + totals[1, b]
    # What is beyond k records need not have been joined: it does not make a union cheaper.
    counted = min(size, k)
    most = (limit * counted + own) / size
    cost = np.int64(0)
    for j in range(bounds.shape[2]):
        low, high = min(bounds[0, a, j], bounds[0, b, j]), max(bounds[1, a, j], bounds[1, b, j])
        cost += interval(cells, j, low, high)
        if cost > most:
            return np.inf
    return (size * cost - own) / counted


@inner
def _nearest(cells, unions, a, alive, left, k):
    """Find the class that a is cheapest to join; of equal ones the first of those left."""
    best, chosen = np.inf, np.int64(-1)
    for at in range(left):
        b = alive[at]
        if b != a:
            growth = _growth(cells, unions, a, b, k, best)
            if growth < best:
                best = growth
                chosen = b
    return chosen, best


@compiled
def joined(points, cells, k):
    """Join keys until every class has k records: the class of each key, int64[keys], numbered from 0.

    Classes of fewer than k records ask for the class that they are cheapest to join. The cheapest union of
    all happens, and whoever had asked for one of the two asks anew.
    """
    keys = points.weights.size
    unions = _Unions(np.empty((2, *points.ranks.shape), np.int64), np.zeros((2, keys), np.int64))
    for a in range(keys):
        unions.totals[0, a] = points.weights[a]
        for j in range(points.ranks.shape[1]):
            unions.bounds[0, a, j] = unions.bounds[1, a, j] = points.ranks[a, j]
    alive, place, into = np.arange(keys), np.arange(keys), np.arange(keys)
    left = keys
    target = np.full(keys, np.int64(-1))
    growth = np.full(keys, np.inf)
    for a in range(keys):
        if points.weights[a] < k:
            target[a], growth[a] = _nearest(cells, unions, a, alive, left, k)
    while left > 1:
        a = alive[0]
        for at in range(1, left):
            if growth[alive[at]] < growth[a]:
                a = alive[at]
        if growth[a] == np.inf:
            break
        b = target[a]
        # The one that it had asked for may be gone, or may have grown.
        if into[b] != b or _growth(cells, unions, a, b, k, np.inf) > growth[a]:
            target[a], growth[a] = _nearest(cells, unions, a, alive, left, k)
            continue
        into[a] = b
        left -= 1
        alive[place[a]] = alive[left]
        place[alive[left]] = place[a]
        _unite(cells, unions, a, b)
        growth[b] = np.inf
        if unions.totals[0, b] < k and left > 1:
            target[b], growth[b] = _nearest(cells, unions, b, alive, left, k)
    return _numbered(into)


@inner
def _unite(cells, unions, a, b):
    """Let a class take another one in."""
    bounds, totals = unions
    cost = np.int64(0)
    for j in range(bounds.shape[2]):
        bounds[0, b, j] = min(bounds[0, a, j], bounds[0, b, j])
        bounds[1, b, j] = max(bounds[1, a, j], bounds[1, b, j])
        cost += interval(cells, j, bounds[0, b, j], bounds[1, b, j])
    totals[0, b] += totals[0, a]
    totals[1, b] = totals[0, b] * cost


@inner
def _numbered(into):
    """Give each key the number of its root, from 0."""
    number = np.full(into.size, -1, np.int64)
    found = np.empty(into.size, np.int64)
    count = 0
    for a in range(into.size):
        root = a
        while into[root] != root:
            root = into[root]
        if number[root] < 0:
            number[root] = count
            count += 1
        found[a] = number[root]
    return found
