"""The common parts of Mondrian's loops: runs of keys in the order of a rank, and nodes above them."""

from __future__ import annotations

import numpy as np

from incrowd.kernels.grouping.sorting import sort_run
from incrowd.kernels.jit import inner


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
    """Write the attributes in falling order of width, ties in order of the attributes."""
    for a in range(width.size):
        order[a] = a
    for a in range(1, width.size):
        j = order[a]
        b = a - 1
        while b >= 0 and width[order[b]] < width[j]:
            order[b + 1] = order[b]
            b -= 1
        order[b + 1] = j


@inner
def most_nodes(axes):
    """Length of a buffer for the nodes of any attribute."""
    deepest = 0
    for j in range(axes.size.size):
        deepest = max(deepest, axes.nodes[j + 1] - axes.nodes[j])
    return deepest


@inner
def longest_run(start, stop, parts):
    """Keys of the longest of some partitions."""
    longest = 0
    for p in range(start, stop):
        longest = max(longest, parts.stops[p] - parts.starts[p])
    return longest


@inner
def sort_ranks(codes, first, last, j, words):
    """Sort a run by its ranks; a word has the rank and, in its lower half, the place in the run."""
    for i in range(last - first):
        words[i] = (np.int64(codes[first + i, j]) << 32) | i
    sort_run(words, 0, last - first)
