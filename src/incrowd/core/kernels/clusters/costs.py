"""Integer costs of generalizing records to common cells, so that ties are exact.

An attribute's cell is the interval of ranks ``lo .. hi``. Ranks of all attributes stand in one row of
spots: rank r of attribute j is spot ``first[j] + r``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.jit import compiled


class Costs(NamedTuple):
    """Cost tables for kernels, by attribute j.

    If ``is_tree[j]``, a cell costs ``node_cost`` of the lowest common ancestor. Otherwise a cell costs the
    ``place`` of the last spot less that of the first, plus ``step[j]`` if the two differ, or ``whole[j]`` for
    an interval that joins the missing rank ``missing[j]`` to other ranks. ``own`` is the additional cost of a
    record by spot, whatever the cell. ``leaf`` is the node of a spot, and node n of attribute j has the index
    ``nodes[j] + n``.
    """

    is_tree: NDArray[np.bool_]
    first: NDArray[np.int64]
    missing: NDArray[np.int64]
    whole: NDArray[np.int64]
    step: NDArray[np.int64]
    place: NDArray[np.int64]
    own: NDArray[np.int64]
    leaf: NDArray[np.int32]
    nodes: NDArray[np.int64]
    node_lo: NDArray[np.int32]
    node_hi: NDArray[np.int32]
    node_parent: NDArray[np.int32]
    node_cost: NDArray[np.int64]


class Clusters(NamedTuple):
    """Classes that may be joined: class c has the cells ``lows[c] .. highs[c]`` of cost ``own[c]``."""

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    sizes: NDArray[np.int64]
    own: NDArray[np.int64]


@compiled
def number_cost(costs, j, lo, hi):
    """Cost of the cell ``lo .. hi`` of attribute j, an attribute without hierarchy."""
    if lo == hi:
        return np.int64(0)
    if hi == costs.missing[j]:
        return costs.whole[j]
    base = costs.first[j]
    return costs.place[base + hi] - costs.place[base + lo] + costs.step[j]


@compiled
def _ancestor(costs, j, lo, hi):
    base = costs.nodes[j]
    node = costs.leaf[costs.first[j] + lo]
    while costs.node_hi[base + node] <= hi:
        node = costs.node_parent[base + node]
    return node


@compiled
def cell_cost(costs, j, lo, hi):
    """Cost of the cell ``lo .. hi`` of attribute j, without the records' `own` costs."""
    if costs.is_tree[j]:
        return costs.node_cost[costs.nodes[j] + _ancestor(costs, j, lo, hi)]
    return number_cost(costs, j, lo, hi)


@compiled
def cell_costs(costs: Costs, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cost of each class's cells ``lows[c] .. highs[c]``, without the records' `own` costs."""
    total = np.zeros(lows.shape[0], np.int64)
    for c in range(lows.shape[0]):
        for j in range(lows.shape[1]):
            total[c] += cell_cost(costs, j, lows[c, j], highs[c, j])
    return total


@compiled
def pair_cost(costs, a, b):
    """Cost of two records, given by spots, in a common class."""
    total = np.int64(0)
    for j in range(a.size):
        base = costs.first[j]
        total += cell_cost(costs, j, min(a[j], b[j]) - base, max(a[j], b[j]) - base)
        total += costs.own[a[j]] + costs.own[b[j]]
    return total


@compiled
def nearest_centroid(
    costs: Costs, records: NDArray[np.int32], centroids: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the nearest centroid of each record, both given by spots, ties to the first."""
    best = np.zeros(records.shape[0], np.int32)
    for i in range(records.shape[0]):
        lowest = np.int64(9223372036854775807)
        for c in range(centroids.shape[0]):
            cost = pair_cost(costs, records[i], centroids[c])
            if cost < lowest:
                lowest = cost
                best[i] = c
    return best


@compiled
def reach(
    costs: Costs,
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    which: NDArray[np.int64],
    cost: NDArray[np.int64],
) -> None:
    """Write the cost of the cell ``lo .. hi`` extended by each spot of the attributes `which`.

    The tree is walked from the cell's ancestor to the root; each ring of new leaves has one cost::

        root {a b c d e}     node {a b c}     cell a..b has ancestor {a b}
        cost of a, b: that of {a b}; of c: that of {a b c}; of d, e: that of the root
    """
    for j in which:
        base = costs.first[j]
        size = costs.first[j + 1] - base
        if costs.is_tree[j]:
            nodes = costs.nodes[j]
            node = _ancestor(costs, j, lo[j], hi[j])
            inner_lo = inner_hi = np.int64(costs.node_lo[nodes + node])
            while True:
                outer_lo, outer_hi = costs.node_lo[nodes + node], costs.node_hi[nodes + node]
                here = costs.node_cost[nodes + node]
                for r in range(outer_lo, inner_lo):
                    cost[base + r] = here
                for r in range(inner_hi, outer_hi):
                    cost[base + r] = here
                inner_lo, inner_hi = np.int64(outer_lo), np.int64(outer_hi)
                if inner_hi - inner_lo == size:
                    break
                node = costs.node_parent[nodes + node]
        else:
            for r in range(size):
                cost[base + r] = number_cost(costs, j, min(lo[j], r), max(hi[j], r))


@compiled
def _before(distance, row, other_distance, other_row):
    return distance < other_distance or (distance == other_distance and row < other_row)


# Called for every record, so that a tuple of these arrays would add a tenth to a short call.
@compiled
def nearest(start, stop, want, alive, spots, near, rows, cursor, ends, total):  # noqa: PLR0913
    """Find the `want` nearest unused records of points ``alive[start:stop]``, ties by the lowest row.

    A point stands for records with equal quasi-identifiers. Point p has ``spots[p]`` and the unused records
    ``rows[cursor[p]:ends[p]]``, ascending. The distance of a point is the sum of `near` over the spots, added
    to ``total[p]`` unless `total` is empty. Returns distances and rows, unordered.
    """
    width = spots.shape[1]
    distances = np.empty(want, np.int64)
    heap_rows = np.empty(want, np.int64)
    count = 0
    for a in range(start, stop):
        point = alive[a]
        if cursor[point] == ends[point]:
            continue
        distance = np.int64(0)
        for j in range(width):
            distance += near[spots[point, j]]
        if total.size:
            total[point] += distance
        for at in range(cursor[point], ends[point]):
            row = rows[at]
            if count < want:
                # Sift up: the top of the heap is the farthest record.
                place = count
                count += 1
                while place > 0:
                    above = (place - 1) >> 1
                    if not _before(distances[above], heap_rows[above], distance, row):
                        break
                    distances[place] = distances[above]
                    heap_rows[place] = heap_rows[above]
                    place = above
            else:
                if want == 0 or not _before(distance, row, distances[0], heap_rows[0]):
                    break
                place = 0
                while True:
                    below = 2 * place + 1
                    if below >= want:
                        break
                    if below + 1 < want and _before(
                        distances[below], heap_rows[below], distances[below + 1], heap_rows[below + 1]
                    ):
                        below += 1
                    if not _before(distance, row, distances[below], heap_rows[below]):
                        break
                    distances[place] = distances[below]
                    heap_rows[place] = heap_rows[below]
                    place = below
            distances[place] = distance
            heap_rows[place] = row
    return distances[:count], heap_rows[:count]


@compiled
def measure(start, stop, alive, spots, near, cursor, ends, total):
    """Write the distance of points ``alive[start:stop]`` to ``total[point]`` (see `nearest`)."""
    for a in range(start, stop):
        point = alive[a]
        if cursor[point] < ends[point]:
            distance = np.int64(0)
            for j in range(spots.shape[1]):
                distance += near[spots[point, j]]
            total[point] = distance


@compiled
def farthest(start, stop, alive, rows, cursor, ends, total):
    """Return the largest `total` of points ``alive[start:stop]`` and its lowest unused row, or -1."""
    best = np.int64(-1)
    best_row = np.int64(-1)
    for a in range(start, stop):
        point = alive[a]
        if cursor[point] < ends[point]:
            row = rows[cursor[point]]
            if best_row < 0 or total[point] > best or (total[point] == best and row < best_row):
                best = total[point]
                best_row = row
    return best, best_row


@compiled
def farthest_from(start, stop, alive, spots, near, rows, cursor, ends):
    """Return the largest distance of points ``alive[start:stop]`` and its lowest unused row, or -1."""
    best = np.int64(-1)
    best_row = np.int64(-1)
    for a in range(start, stop):
        point = alive[a]
        if cursor[point] < ends[point]:
            distance = np.int64(0)
            for j in range(spots.shape[1]):
                distance += near[spots[point, j]]
            if distance >= best:
                row = rows[cursor[point]]
                if best_row < 0 or distance > best or row < best_row:
                    best = distance
                    best_row = row
    return best, best_row


@compiled
def take(
    rows: NDArray[np.int64],
    number: int,
    point_of_row: NDArray[np.int32],
    cursor: NDArray[np.int64],
    class_of_row: NDArray[np.int32],
) -> None:
    """Assign records, the lowest unused of each point, to class `number`."""
    for row in rows:
        class_of_row[row] = number
        cursor[point_of_row[row]] += 1


@compiled
def cheapest_class(
    costs: Costs,
    near: NDArray[np.int64],
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    size: int,
    itself: int,
    classes: Clusters,
) -> np.int64:
    """Find the cheapest class to join for records with the cells ``lo .. hi``, ties to the first.

    A join costs the growth of both cells times records. ``near`` is the result of `reach` for ``lo .. hi``.
    Class `itself` is skipped.
    """
    lows, highs, sizes, own = classes
    lowest = np.int64(9223372036854775807)
    chosen = np.int64(-1)
    for c in range(lows.shape[0]):
        if c == itself:
            continue
        cost = np.int64(0)
        for j in range(lows.shape[1]):
            if costs.is_tree[j]:
                # Both ancestors lie between the cell and the root, and the upper ancestor covers all.
                base = costs.first[j]
                cost += max(near[base + lows[c, j]], near[base + highs[c, j]])
            else:
                cost += number_cost(costs, j, min(lows[c, j], lo[j]), max(highs[c, j], hi[j]))
        grown = size * cost + sizes[c] * (cost - own[c])
        if grown < lowest:
            lowest = grown
            chosen = np.int64(c)
    return chosen


@compiled
def nearest_class(start, stop, targets, classes, costs, best):
    """Write the cheapest class to join for each class ``targets[start:stop]``."""
    lows, highs, sizes, _ = classes
    near = np.empty(costs.first[-1], np.int64)
    which = np.arange(lows.shape[1])
    for i in range(start, stop):
        f = targets[i]
        reach(costs, lows[f], highs[f], which, near)
        best[i] = cheapest_class(costs, near, lows[f], highs[f], sizes[f], f, classes)
