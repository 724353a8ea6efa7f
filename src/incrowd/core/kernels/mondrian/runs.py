"""Arrays of Mondrian's kernels, each partition a contiguous run, and common functions on runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.sorting import sort_run
from incrowd.core.kernels.jit import inlined, inner

_FEW = 24
"""Largest number of keys for sorting values by insertion instead of marks."""

_WORD = 6
"""Binary logarithm of the bits of a word."""

_MAGIC = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.int64)
_PLACES[[((1 << place) * int(_MAGIC) % 2**64) >> 58 for place in range(64)]] = range(64)
"""Index of a single bit by the upper six bits of the product with a de Bruijn number."""


@inner
def ancestor(axes, j, lo, hi):
    """Lowest common ancestor of leaf ranks lo..hi, as a node number of attribute j."""
    base = axes.nodes[j]
    # The ladder's last rung holds the leaves themselves.
    node = axes.at_depth[axes.ladder[j + 1] - axes.size[j] + lo]
    while axes.node_hi[base + node] <= hi:
        node = axes.node_parent[base + node]
    return node


@inner
def widest_first(width, order):
    """Sort attributes by falling width, ties by attribute number."""
    for a in range(width.size):
        order[a] = a
    for a in range(1, width.size):
        j = order[a]
        b = a - 1
        while b >= 0 and width[order[b]] < width[j]:
            order[b + 1] = order[b]
            b -= 1
        order[b + 1] = j


@inlined
def share_of(axes, j, node):
    """Loss of a node of attribute j: (leaves - 1) / (size - 1)."""
    node += axes.nodes[j]
    return (axes.node_hi[node] - axes.node_lo[node] - 1) / max(axes.size[j] - 1, 1)


@inlined
def span_of(axes, j, lo, hi):
    """Loss of ranks lo..hi of an attribute without hierarchy."""
    if lo == hi:
        return 0.0
    if hi == axes.missing[j]:
        # The interval joins the missing value to others.
        return 1.0
    base = axes.offset[j]
    return (axes.positions[base + hi] - axes.positions[base + lo]) / axes.extent[j]


@inner
def largest_size(axes):
    """Largest number of ranks of an attribute."""
    largest = 0
    for j in range(axes.size.size):
        largest = max(largest, axes.size[j])
    return largest


@inner
def most_nodes(axes):
    """Largest number of nodes of an attribute."""
    deepest = 0
    for j in range(axes.size.size):
        deepest = max(deepest, axes.nodes[j + 1] - axes.nodes[j])
    return deepest


@inner
def longest_run(start, stop, parts):
    """Largest number of keys of a partition."""
    longest = 0
    for p in range(start, stop):
        longest = max(longest, parts.stops[p] - parts.starts[p])
    return longest


@inner
def sort_ranks(codes, first, last, j, words):
    """Sort a run by rank into words of rank (upper half) and place (lower half)."""
    for i in range(last - first):
        words[i] = (np.int64(codes[first + i, j]) << 32) | i
    sort_run(words, 0, last - first)


@inner
def room_for_values(axes, longest):
    """Allocate buffers for `values_of` in runs of at most `longest` keys."""
    largest = largest_size(axes)
    words = (largest >> _WORD) + 1
    return (
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.zeros(largest, np.int64),
        np.zeros(words, np.uint64),
        np.zeros((words >> _WORD) + 1, np.uint64),
    )


@inlined
def values_of(keys, first, last, j, size, room):
    """Write the distinct ranks of a run, ascending, with records by rank, and return the number of ranks.

    `room` comes from `room_for_values`: ranks and records, then the records of each of the attribute's `size`
    ranks, a bit for each rank, and a bit for each word of those bits. The last three are 0 before and after.
    Many ranks of few keys are sorted by these bits::

        ranks 130 5 70 5     marks of words 0, 1, 2: bits 5, 6, 2     words: bits 0, 1, 2
        read from the lowest bit: 5, 70, 130
    """
    codes, weights = keys.codes, keys.weights
    ranks, records, sums, marks, words = room
    one, low = np.uint64(1), (1 << _WORD) - 1
    count = 0
    if size <= last - first:
        for i in range(first, last):
            sums[codes[i, j]] += weights[i]
        for value in range(size):
            if sums[value] > 0:
                ranks[count], records[count] = value, sums[value]
                sums[value] = 0
                count += 1
    elif last - first <= _FEW:
        for i in range(first, last):
            rank = np.int64(codes[i, j])
            v = count
            while v > 0 and ranks[v - 1] > rank:
                v -= 1
            if v > 0 and ranks[v - 1] == rank:
                records[v - 1] += weights[i]
                continue
            for n in range(count, v, -1):
                ranks[n], records[n] = ranks[n - 1], records[n - 1]
            ranks[v], records[v] = rank, weights[i]
            count += 1
    else:
        for i in range(first, last):
            rank = np.int64(codes[i, j])
            word = rank >> _WORD
            sums[rank] += weights[i]
            marks[word] |= one << np.uint64(rank & low)
            words[word >> _WORD] |= one << np.uint64(word & low)
        for n in range((size >> _WORD >> _WORD) + 1):
            while words[n] != 0:
                others = words[n] & (words[n] - one)
                place = (n << _WORD) | _PLACES[((words[n] ^ others) * _MAGIC) >> np.uint64(58)]
                words[n] = others
                while marks[place] != 0:
                    others = marks[place] & (marks[place] - one)
                    least = (place << _WORD) | _PLACES[((marks[place] ^ others) * _MAGIC) >> np.uint64(58)]
                    marks[place] = others
                    ranks[count], records[count] = least, sums[least]
                    sums[least] = 0
                    count += 1
    return count


ORDERED, DOWN, APPEARANCE, EITHER = range(4)
"""Kinds of cuts: in the order of ranks, down the hierarchy, by first appearance of values, or
in each partition as is better, in order or down."""


class Axes(NamedTuple):
    """Tables of the attributes for kernels, by attribute j.

    ``positions[offset[j] + rank]`` is the place of a rank, and ``extent[j]`` the distance of the outermost
    places. An interval that joins the missing rank ``missing[j]`` to other ranks has width 1. If
    ``is_tree[j]``, ``at_depth[ladder[j] + depth * size[j] + rank]`` is the ancestor of a leaf at that depth,
    or the leaf itself if shallower, and ``node_lo``, ``node_hi``, ``node_depth``, ``node_parent`` at
    ``nodes[j] + node`` describe a node. ``way[j]`` is one of `ORDERED`, `DOWN`, `APPEARANCE`, `EITHER`.
    The width of a partition is the share of the attribute times ``weight[j]``. With `by_span`, the width is
    the distance of the outermost ranks, or the number of values if ``counted[j]``.
    """

    by_span: np.bool_
    weight: NDArray[np.float64]
    counted: NDArray[np.bool_]
    way: NDArray[np.int8]
    is_tree: NDArray[np.bool_]
    size: NDArray[np.int64]
    missing: NDArray[np.int64]
    offset: NDArray[np.int64]
    positions: NDArray[np.float64]
    extent: NDArray[np.float64]
    ladder: NDArray[np.int64]
    at_depth: NDArray[np.int32]
    nodes: NDArray[np.int64]
    node_lo: NDArray[np.int32]
    node_hi: NDArray[np.int32]
    node_depth: NDArray[np.int32]
    node_parent: NDArray[np.int32]


class Keys(NamedTuple):
    """The keys in an order in which every partition is a run.

    ``codes[i, j]`` is the rank of the key at place i in attribute j, ``weights[i]`` its records,
    ``numbers[i]`` the number in the table, and ``groups[i]`` the side of the proposed cut.
    """

    codes: NDArray[np.unsignedinteger]
    weights: NDArray[np.int64]
    numbers: NDArray[np.int64]
    groups: NDArray[np.int32]


class Partitions(NamedTuple):
    """Open partitions: the keys at ``starts[p] .. stops[p] - 1``, which have ``totals[p]`` records.

    ``lows[p, j]`` and ``highs[p, j]`` are the outermost ranks, ``order[p]`` the attributes in the order of
    trial, ``tried[p]`` the number of attributes tried, and ``cuts[p, j]`` a rank to cut at (-1 for none; no
    columns unless ranks are given). The proposed cut has ``many[p]`` sides (0 without a cut): two if
    ``binary[p]``, else the sides of a cut down a hierarchy.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    totals: NDArray[np.int64]
    lows: NDArray[np.unsignedinteger]
    highs: NDArray[np.unsignedinteger]
    order: NDArray[np.int16]
    cuts: NDArray[np.int64]
    tried: NDArray[np.int64]
    many: NDArray[np.int64]
    binary: NDArray[np.bool_]

    def picked(self, chosen: NDArray[np.bool_]) -> Partitions:
        """Select partitions, as copies."""
        return Partitions._make(array[chosen] for array in self)


class Sides(NamedTuple):
    """Sides of the partitions' cuts, with the first four fields of `Partitions`.

    Side g of partition p ends before place ``ends[first_end[p] + g]``.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    many: NDArray[np.int64]
    binary: NDArray[np.bool_]
    ends: NDArray[np.int64]
    first_end: NDArray[np.int64]
