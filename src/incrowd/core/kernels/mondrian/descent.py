"""Mondrian in one pass, where sizes alone decide which cuts are admissible."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import compiled
from incrowd.core.kernels.mondrian.partition import (
    GIVEN,
    arrange_run,
    cut_of,
    extents_of,
    room_for_cuts,
    room_for_extents,
    room_for_order,
)
from incrowd.core.kernels.mondrian.partition_arrays import Partitions
from incrowd.core.kernels.mondrian.runs import most_nodes
from incrowd.core.kernels.mondrian.savings import savings_of


@compiled
def descend(start, stop, keys, runs, axes, where, least, deepest):
    """Cut some runs of keys, and the sides of their cuts, until no cut is left or they are as deep as asked.

    One part is cut after the other, from the left, so that small ones stay in the cache.

    Parameters
    ----------
    runs
        int64[runs]: where the runs begin. Then two int32[keys], which are read and written where a run
        begins: where it ends, and how many cuts led to it, or -1 less that number where no cut of it is left.
    where, least
        See `propose`. `GIVEN` is the rank where a cut saves most of the loss, and then attributes are ordered
        by what they save, and not by width.
    deepest
        Cuts after which a run is left as it is.
    """
    starts, ends, depths = runs
    attributes = axes.size.size
    longest = np.int64(0)
    for p in range(start, stop):
        longest = max(longest, ends[starts[p]] - starts[p])
    of_cuts = room_for_cuts(axes, longest)
    of_savings = of_cuts[2], np.empty(longest)
    width, seen = room_for_extents(axes)
    widest = most_nodes(axes) + 2
    of_order = room_for_order(keys, longest, widest)
    begins = np.empty(widest + 1, np.int64)
    one = np.zeros((5, 1), np.int64)
    extents = np.empty((2, 1, attributes), keys.codes.dtype)
    part = Partitions(
        one[0], one[1], one[2], extents[0], extents[1],
        np.empty((1, attributes), np.int16), np.empty((1, attributes), np.int64),
        one[3], one[4], np.empty(1, np.bool_),
    )  # fmt: skip
    for p in range(start, stop):
        first, end = starts[p], np.int64(ends[starts[p]])
        while first < end:
            last, depth = np.int64(ends[first]), depths[first]
            if depth < 0 or depth >= deepest:
                first = last
                continue
            total = np.int64(0)
            for i in range(first, last):
                total += keys.weights[i]
            many = np.int64(0)
            if last - first > 1 and total >= 2 * least:
                part.starts[0], part.stops[0], part.totals[0], part.tried[0] = first, last, total, 0
                if where == GIVEN:
                    savings_of(0, keys, part, axes, least, of_savings, width)
                else:
                    extents_of(0, keys, part, axes, width, seen)
                cut_of(0, keys, part, axes, where, least, of_cuts)
                many = part.many[0]
            if many < 2:
                depths[first] = -1 - depth
                continue
            arrange_run(keys, first, last, many, of_order, begins)
            for g in range(many):
                ends[first + begins[g]] = first + begins[g + 1]
                depths[first + begins[g]] = depth + 1
