"""Arrays of Mondrian's kernels: permuted keys with every partition as a contiguous run.

Attributes are described by flat tables (`Axes`), so that one compiled loop serves numbers, trees and
plain categories.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
