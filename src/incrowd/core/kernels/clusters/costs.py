"""The cost of giving records one cell: whole numbers, so that equal costs are equal.

An attribute's cell is the interval of ranks ``lo .. hi``. Ranks of all attributes stand in one row of
spots: rank r of attribute j is spot ``first[j] + r``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.jit import compiled


class Costs(NamedTuple):
    """The cost tables of each attribute j, for the loops.

    Where ``is_tree[j]``, a cell costs ``node_cost`` of the lowest common ancestor. Else it costs ``place``
    of its last spot less that of its first, plus ``step[j]`` where the two differ; an interval that joins
    the missing rank ``missing[j]`` to others costs ``whole[j]``. ``own`` is what a record's own rank costs
    besides, whatever the cell. ``leaf`` is the node of a spot; node n of attribute j stands at
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
    """Classes that others may join: class c has the cells ``lows[c] .. highs[c]``, which cost ``own[c]``."""

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    sizes: NDArray[np.int64]
    own: NDArray[np.int64]


@compiled
def number_cost(costs, j, lo, hi):
    """Cost of the cell ``lo .. hi`` of attribute j, which has no hierarchy."""
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
    """Cost of the cell ``lo .. hi`` of attribute j, without the cost of the records' own ranks."""
    if costs.is_tree[j]:
        return costs.node_cost[costs.nodes[j] + _ancestor(costs, j, lo, hi)]
    return number_cost(costs, j, lo, hi)


@compiled
def cell_costs(costs: Costs, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cost of each class's cells ``lows[c] .. highs[c]``, without the cost of the records' own ranks."""
    total = np.zeros(lows.shape[0], np.int64)
    for c in range(lows.shape[0]):
        for j in range(lows.shape[1]):
            total[c] += cell_cost(costs, j, lows[c, j], highs[c, j])
    return total


@compiled
def pair_cost(costs, a, b):
    """Cost of two records, given by their spots, in one class."""
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
    """Return for each record, given by its spots, the nearest centroid; of equal ones the first."""
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
    """Write for every spot of the attributes `which` the cost of the cell ``lo .. hi`` with it."""
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


# It is called for every record, and a tuple of these arrays would add a tenth to a short call.
@compiled
def nearest(start, stop, want, alive, spots, near, rows, cursor, ends, total):  # noqa: PLR0913
    """Find the `want` nearest unused records of points ``alive[start:stop]``, ties to the lowest row.

    A point is what records with equal quasi-identifiers share: ``spots[point]``, its unused records
    ``rows[cursor[point]:ends[point]]`` in ascending order. The distance of a point is the sum of `near`
    over its spots; it is added to ``total[point]`` where `total` is not empty. Returns the distances and
    rows found, in no order.
    """
    width = spots.shape[1]
    distances = np.empty(want, np.int64)
    found_rows = np.empty(want, np.int64)
    found = 0
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
            if found < want:
                # Sift up: the worst of the chosen stands on top of the heap.
                place = found
                found += 1
                while place > 0:
                    above = (place - 1) >> 1
                    if not _before(distances[above], found_rows[above], distance, row):
                        break
                    distances[place] = distances[above]
                    found_rows[place] = found_rows[above]
                    place = above
            else:
                if want == 0 or not _before(distance, row, distances[0], found_rows[0]):
                    break
                place = 0
                while True:
                    below = 2 * place + 1
                    if below >= want:
                        break
                    if below + 1 < want and _before(
                        distances[below], found_rows[below], distances[below + 1], found_rows[below + 1]
                    ):
                        below += 1
                    if not _before(distance, row, distances[below], found_rows[below]):
                        break
                    distances[place] = distances[below]
                    found_rows[place] = found_rows[below]
                    place = below
            distances[place] = distance
            found_rows[place] = row
    return distances[:found], found_rows[:found]


@compiled
def measure(start, stop, alive, spots, near, cursor, ends, total):
    """Write the distance of points ``alive[start:stop]`` to ``total[point]``; see `nearest`."""
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
    taken: NDArray[np.int64],
    number: int,
    point_of_row: NDArray[np.int32],
    cursor: NDArray[np.int64],
    class_of_row: NDArray[np.int32],
) -> None:
    """Give records a class and mark them used: always the lowest unused ones of their points."""
    for row in taken:
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
    """Find the class that records with the cells ``lo .. hi`` are cheapest to join; of equal ones the first.

    A join costs what the cells of both grow by, times records. ``near`` is what `reach` wrote for
    ``lo .. hi``; class `itself` is left out.
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
                # Both ancestors lie on the way from the cell to the root: the upper one covers all.
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
def nearest_class(start, stop, asking, classes, costs, best):
    """Write the class that is cheapest to join for each class ``asking[start:stop]``."""
    lows, highs, sizes, _ = classes
    near = np.empty(costs.first[-1], np.int64)
    which = np.arange(lows.shape[1])
    for i in range(start, stop):
        f = asking[i]
        reach(costs, lows[f], highs[f], which, near)
        best[i] = cheapest_class(costs, near, lows[f], highs[f], sizes[f], f, classes)
