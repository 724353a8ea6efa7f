"""Distances of each class's value distribution to that of the whole table.

All sums run over integers scaled by ``class size x table size``, and are divided once at the end. So a
distance that is a simple fraction comes out as the nearest double of that fraction. If the integers would not
fit 64 bits, the same code runs in floating point.

The work per class grows with the values present in the class, not with those of the table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.kernels.grouping.sorting import sort_run
from incrowd.core.kernels.jit import compiled, over_ranges, simple

_SAFE = 2**62


class Tree(NamedTuple):
    """A hierarchy with nodes in depth-first order.

    Attributes
    ----------
    leaves
        int32[leaves]
    parents, heights
        int32[nodes]; the root comes first, with parent -1.
    """

    leaves: NDArray[np.int32]
    parents: NDArray[np.int32]
    heights: NDArray[np.int32]


def flat_tree(values: int) -> Tree:
    """Return the tree in which all values are equally far apart."""
    leaves = np.arange(1, values + 1, dtype=np.int32)
    parents, heights = np.zeros((2, values + 1), np.int32)
    parents[0], heights[0] = -1, 1
    return Tree(leaves, parents, heights)


class _Shares(NamedTuple):
    """A tree with the table's share below each node, and the worth of matching a record there."""

    leaves: NDArray[np.int32]
    parents: NDArray[np.int32]
    share: NDArray[np.float64]
    worth: NDArray[np.float64]


@simple
def _ordered(start, stop, classes, sizes, total, cumulative, prefix, distances):
    indptr, codes, counts = classes
    values = cumulative.size
    for group in range(start, stop):
        size = sizes[group]
        cost = total * 0
        below = total * 0
        at = 0
        for entry in range(indptr[group], indptr[group + 1] + 1):
            last = entry == indptr[group + 1]
            upto = values if last else codes[entry]
            if upto > at:
                # Between two present values the class's cumulative count stands still while the
                # table's grows, so their difference changes sign at most once: find where.
                level = below * total
                low, high = at, upto
                while low < high:
                    middle = (low + high) // 2
                    if cumulative[middle] * size > level:
                        high = middle
                    else:
                        low = middle + 1
                cost += (low - at) * level - size * (prefix[low] - prefix[at])
                cost += size * (prefix[upto] - prefix[low]) - (upto - low) * level
                at = upto
            if not last:
                below += counts[entry]
        distances[group] = cost / (size * total * (values - 1))


@simple
def _equal(start, stop, classes, sizes, total, totals, distances):
    indptr, codes, counts = classes
    for group in range(start, stop):
        size = sizes[group]
        cost = total * 0
        shared = total * 0
        for entry in range(indptr[group], indptr[group + 1]):
            cost += abs(counts[entry] * total - totals[codes[entry]] * size)
            shared += totals[codes[entry]]
        cost += (total - shared) * size
        distances[group] = cost / (2 * size * total)


@simple
def _differences(start, stop, classes, sizes, total, totals, distances):
    indptr, codes, counts = classes
    for group in range(start, stop):
        size = sizes[group]
        largest = total * 0
        for entry in range(indptr[group], indptr[group + 1]):
            largest = max(largest, abs(counts[entry] * total - totals[codes[entry]] * size))
        distances[group] = largest / (size * total)


@simple
def _hierarchical(start, stop, classes, sizes, total, mass, tree, distances):
    indptr, codes, counts = classes
    leaves, parents, heights = tree
    nodes = parents.size
    below = mass * 0  # the class's count below each node
    plus = mass * 0  # surplus and deficit of the children met so far
    minus = mass * 0
    mass_met = mass * 0  # table mass of the children met so far
    is_touched = np.zeros(nodes, np.bool_)
    touched = np.empty(nodes, np.int64)
    for group in range(start, stop):
        size = sizes[group]
        length = 0
        for entry in range(indptr[group], indptr[group + 1]):
            node = leaves[codes[entry]]
            while node >= 0:
                if not is_touched[node]:
                    is_touched[node] = True
                    touched[length] = node
                    length += 1
                below[node] += counts[entry]
                node = parents[node]
        sort_run(touched, 0, length)
        cost = total * 0
        # Children come after their parent in depth-first order, so go from the back.
        for i in range(length - 1, -1, -1):
            node = touched[i]
            if heights[node] > 0:
                lacking = minus[node] + (mass[node] - mass_met[node]) * size
                cost += heights[node] * min(plus[node], lacking)
            extra = below[node] * total - mass[node] * size
            parent = parents[node]
            if parent >= 0:
                mass_met[parent] += mass[node]
                if extra > 0:
                    plus[parent] += extra
                else:
                    minus[parent] -= extra
            below[node] = 0
            plus[node] = 0
            minus[node] = 0
            mass_met[node] = 0
            is_touched[node] = False
        distances[group] = cost / (size * total * heights[0])


@compiled
def _most_kept(start, stop, groups, classes, shares, limit, bounds):
    indptr, codes, counts = classes
    leaves, parents, share, worth = shares
    below = np.zeros(parents.size, np.int64)
    touched = np.empty(parents.size, np.int64)
    for place in range(start, stop):
        group = groups[place]
        length = 0
        most = 0.0
        for entry in range(indptr[group], indptr[group + 1]):
            most += counts[entry]
            node = leaves[codes[entry]]
            while parents[node] >= 0:
                if below[node] == 0:
                    touched[length] = node
                    length += 1
                below[node] += counts[entry]
                node = parents[node]
        # Newton's method from above; the match is concave in the records kept, so the root is never passed.
        while True:
            full = 0.0
            slope = 1.0 - limit
            for i in range(length):
                node = touched[i]
                if below[node] <= most * share[node]:
                    full += worth[node] * below[node]
                else:
                    slope -= worth[node] * share[node]
            if slope <= 0.0 or full >= slope * most * (1.0 - 1e-12):
                break
            most = full / slope
        bounds[place] = most
        for i in range(length):
            below[touched[i]] = 0


def _scaled(
    sizes: NDArray[np.int64], totals: NDArray[np.int64], factor: int
) -> tuple[np.generic, NDArray[np.generic], NDArray[np.generic]]:
    """Table size, class sizes and value totals: integers while every sum fits, else floats."""
    total = int(totals.sum())
    if total * int(sizes.max(initial=1)) * max(factor, 2) < _SAFE:
        return np.int64(total), sizes, totals
    return np.float64(total), sizes.astype(np.float64), totals.astype(np.float64)


def ordered_distances(
    classes: Counts, sizes: NDArray[np.int64], totals: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Earth Mover's Distance with ordered ground distance |i - j| / (m - 1) over the m values.

    Parameters
    ----------
    classes
        Counts per class; codes are ranks in the order of the values.
    sizes
        int64[classes], each > 0.
    totals
        int64[m]: counts in the whole table, each > 0.

    Returns
    -------
    float64[classes] in [0, 1]; 0 throughout when there is one value.
    """
    values = len(totals)
    distances = np.zeros(len(sizes))
    if values < 2 or not len(sizes):
        return distances
    total, sized, scaled = _scaled(sizes, totals, values)
    cumulative = np.cumsum(scaled)
    prefix = np.concatenate((np.zeros(1, cumulative.dtype), np.cumsum(cumulative)))
    over_ranges(_ordered, classes.indptr, classes, sized, total, cumulative, prefix, distances)
    return distances


def equal_distances(
    classes: Counts, sizes: NDArray[np.int64], totals: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Earth Mover's Distance with equal ground distance: half the sum of absolute differences.

    Parameters and result as `ordered_distances`; the order of the codes does not matter.
    """
    distances = np.zeros(len(sizes))
    if len(sizes):
        total, sized, scaled = _scaled(sizes, totals, 2)
        over_ranges(_equal, classes.indptr, classes, sized, total, scaled, distances)
    return distances


def frequency_differences(
    classes: Counts, sizes: NDArray[np.int64], totals: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Largest absolute difference of a value's shares of class and table, over the values of the class.

    Parameters and result as `equal_distances`.
    """
    distances = np.zeros(len(sizes))
    if len(sizes):
        total, sized, scaled = _scaled(sizes, totals, 2)
        over_ranges(_differences, classes.indptr, classes, sized, total, scaled, distances)
    return distances


def hierarchical_distances(
    classes: Counts, sizes: NDArray[np.int64], totals: NDArray[np.int64], tree: Tree
) -> NDArray[np.float64]:
    """Earth Mover's Distance over a tree: height of the lowest common ancestor over the tree's height.

    Parameters
    ----------
    classes, sizes
        As in `ordered_distances`; codes are leaf ranks.
    totals
        int64[leaves]: counts in the whole table, zero allowed.
    """
    distances = np.zeros(len(sizes))
    if not len(sizes) or tree.heights[0] == 0:
        return distances
    total, sized, scaled = _scaled(sizes, totals, 2 * int(tree.heights[0]))
    # Every node above a value is visited on the way up and on the way down.
    work = classes.indptr * (2 * int(tree.heights[0]) + 2)
    over_ranges(_hierarchical, work, classes, sized, total, _masses(tree, scaled), tree, distances)
    return distances


def most_kept(
    groups: NDArray[np.int64], classes: Counts, totals: NDArray[np.int64], tree: Tree, limit: float
) -> NDArray[np.float64]:
    """Upper bound on the records of classes that can be divided into parts close to the table.

    The distance of a class is 1 less the match: the sum over nodes of the lesser of the shares of class and
    table there, weighted by the height of the edge above (`worth`). If M records are kept in parts within the
    limit, so is the union of the parts. The union has at each node at most the class's records there,
    `below`. So sum(worth * min(below, M * share)) >= (1 - limit) * M, which bounds M.

    Parameters
    ----------
    groups
        int64[groups]: the classes.
    classes, totals
        As in `hierarchical_distances`.
    limit
        Largest distance of a part, in [0, 1].

    Returns
    -------
    float64[groups]: at most the records of the class.
    """
    bounds = np.zeros(len(groups))
    above = tree.heights[np.maximum(tree.parents, 0)]
    worth = (above - tree.heights) / max(int(tree.heights[0]), 1)
    shares = _Shares(tree.leaves, tree.parents, _masses(tree, totals) / totals.sum(), worth)
    work = np.zeros(len(groups) + 1, np.int64)
    np.cumsum(np.diff(classes.indptr)[groups], out=work[1:])
    over_ranges(_most_kept, work, groups, classes, shares, limit, bounds)
    return bounds


def _masses(tree: Tree, totals: NDArray[Any]) -> NDArray[Any]:
    """Add up the counts of the leaves below each node."""
    mass = np.zeros(len(tree.parents), totals.dtype)
    mass[tree.leaves] = totals
    for node in range(len(mass) - 1, 0, -1):
        mass[tree.parents[node]] += mass[node]
    return mass
