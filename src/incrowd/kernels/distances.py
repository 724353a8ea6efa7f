"""Distances of each class's value distribution to that of the whole table.

All sums run over integers scaled by ``class size x table size``, and are divided once at the end. So a
distance that is a simple fraction comes out as the nearest double of that fraction. If the integers would not
fit 64 bits, the same code runs in floating point.

The work per class grows with the values present in the class, not with those of the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.counting import Counts
from incrowd.kernels.jit import compiled, over_ranges
from incrowd.kernels.sorting import sort_run

__all__ = ["equal_distances", "frequency_differences", "hierarchical_distances", "ordered_distances"]

_SAFE = 2**62


class _Tree(NamedTuple):
    """A hierarchy: the node of each leaf rank, and of each node its parent (-1 at the root) and height."""

    leaves: NDArray[np.integer]
    parents: NDArray[np.integer]
    heights: NDArray[np.integer]


@compiled
def _ordered(start, stop, classes, sizes, total, cumulative, prefix, distances):
    indptr, codes, counts = classes
    values = cumulative.size
    for group in range(start, stop):
        size = sizes[group]
        moved = total * 0
        held = total * 0
        at = 0
        for entry in range(indptr[group], indptr[group + 1] + 1):
            last = entry == indptr[group + 1]
            upto = values if last else codes[entry]
            if upto > at:
                # Between two present values the class's cumulative count stands still while the
                # table's grows, so their difference changes sign at most once: find where.
                level = held * total
                low, high = at, upto
                while low < high:
                    middle = (low + high) // 2
                    if cumulative[middle] * size > level:
                        high = middle
                    else:
                        low = middle + 1
                moved += (low - at) * level - size * (prefix[low] - prefix[at])
                moved += size * (prefix[upto] - prefix[low]) - (upto - low) * level
                at = upto
            if not last:
                held += counts[entry]
        distances[group] = moved / (size * total * (values - 1))


@compiled
def _equal(start, stop, classes, sizes, total, totals, distances):
    indptr, codes, counts = classes
    for group in range(start, stop):
        size = sizes[group]
        moved = total * 0
        met = total * 0
        for entry in range(indptr[group], indptr[group + 1]):
            moved += abs(counts[entry] * total - totals[codes[entry]] * size)
            met += totals[codes[entry]]
        moved += (total - met) * size
        distances[group] = moved / (2 * size * total)


@compiled
def _differences(start, stop, classes, sizes, total, totals, distances):
    indptr, codes, counts = classes
    for group in range(start, stop):
        size = sizes[group]
        largest = total * 0
        for entry in range(indptr[group], indptr[group + 1]):
            largest = max(largest, abs(counts[entry] * total - totals[codes[entry]] * size))
        distances[group] = largest / (size * total)


@compiled
def _hierarchical(start, stop, classes, sizes, total, mass, tree, distances):
    indptr, codes, counts = classes
    leaves, parents, heights = tree
    nodes = parents.size
    held = mass * 0  # the class's count below each node
    plus = mass * 0  # surplus and deficit of the children met so far
    minus = mass * 0
    met = mass * 0  # table mass of the children met so far
    seen = np.zeros(nodes, np.bool_)
    touched = np.empty(nodes, np.int64)
    for group in range(start, stop):
        size = sizes[group]
        found = 0
        for entry in range(indptr[group], indptr[group + 1]):
            node = leaves[codes[entry]]
            while node >= 0:
                if not seen[node]:
                    seen[node] = True
                    touched[found] = node
                    found += 1
                held[node] += counts[entry]
                node = parents[node]
        sort_run(touched, 0, found)
        cost = total * 0
        # Children come after their parent in depth-first order, so go from the back.
        for i in range(found - 1, -1, -1):
            node = touched[i]
            if heights[node] > 0:
                lacking = minus[node] + (mass[node] - met[node]) * size
                cost += heights[node] * min(plus[node], lacking)
            extra = held[node] * total - mass[node] * size
            parent = parents[node]
            if parent >= 0:
                met[parent] += mass[node]
                if extra > 0:
                    plus[parent] += extra
                else:
                    minus[parent] -= extra
            held[node] = 0
            plus[node] = 0
            minus[node] = 0
            met[node] = 0
            seen[node] = False
        distances[group] = cost / (size * total * heights[0])


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
    classes: Counts,
    sizes: NDArray[np.int64],
    totals: NDArray[np.int64],
    leaves: NDArray[np.int32],
    parents: NDArray[np.int32],
    heights: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Earth Mover's Distance over a tree: height of the lowest common ancestor over the tree's height.

    Parameters
    ----------
    classes, sizes
        As in `ordered_distances`; codes are leaf ranks.
    totals
        int64[leaves]: counts in the whole table, zero allowed.
    leaves
        int32[leaves]: node of each leaf rank.
    parents, heights
        int32[nodes], nodes in depth-first order, the root first with parent -1.
    """
    distances = np.zeros(len(sizes))
    if not len(sizes) or heights[0] == 0:
        return distances
    total, sized, scaled = _scaled(sizes, totals, 2 * int(heights[0]))
    mass = np.zeros(len(parents), scaled.dtype)
    mass[leaves] = scaled
    for node in range(len(parents) - 1, 0, -1):
        mass[parents[node]] += mass[node]
    tree = _Tree(leaves, parents, heights)
    over_ranges(_hierarchical, classes.indptr, classes, sized, total, mass, tree, distances)
    return distances
