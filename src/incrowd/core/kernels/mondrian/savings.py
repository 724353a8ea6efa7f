"""Cuts of Mondrian by the loss that they save."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import compiled, inlined
from incrowd.core.kernels.mondrian.partition_arrays import DOWN, EITHER
from incrowd.core.kernels.mondrian.runs import (
    ancestor,
    longest_run,
    room_for_values,
    share_of,
    span_of,
    values_of,
    widest_first,
)


@inlined
def _in_tree(axes, j, found, total, least, room):
    """Return the loss saved by the best cut of values between two leaves, and the rank right of it."""
    ranks, records, rights = room
    base = axes.nodes[j]
    lo, hi = ranks[0], ranks[found - 1]
    leaves = axes.ladder[j + 1] - axes.size[j]
    node = np.int64(axes.at_depth[leaves + hi])
    for v in range(found - 1, -1, -1):
        while axes.node_lo[base + node] > ranks[v]:
            node = axes.node_parent[base + node]
        rights[v] = share_of(axes, j, node)
    most, cut, before = -1.0, np.int64(-1), np.int64(0)
    node = np.int64(axes.at_depth[leaves + lo])
    for v in range(1, found):
        before += records[v - 1]
        if total - before < least:
            break
        while axes.node_hi[base + node] <= ranks[v - 1]:
            node = axes.node_parent[base + node]
        if before >= least:
            saved = total * rights[0] - before * share_of(axes, j, node) - (total - before) * rights[v]
            if saved > most:
                most, cut = saved, ranks[v]
    return most, cut


@inlined
def _between(axes, j, found, total, least, room):
    """Return the same in an attribute without hierarchy."""
    ranks, records, _ = room
    lo, hi = ranks[0], ranks[found - 1]
    most, cut, before = -1.0, np.int64(-1), np.int64(0)
    # Cells of categories are sets, and each value after the first costs as much.
    each = max(axes.size[j] - 1, 1)
    whole = (found - 1) / each if axes.counted[j] else span_of(axes, j, lo, hi)
    for v in range(1, found):
        before += records[v - 1]
        if total - before < least:
            break
        if before < least:
            continue
        if axes.counted[j]:
            left, right = (v - 1) / each, (found - v - 1) / each
        else:
            left, right = span_of(axes, j, lo, ranks[v - 1]), span_of(axes, j, ranks[v], hi)
        saved = total * whole - before * left - (total - before) * right
        if saved > most:
            most, cut = saved, ranks[v]
    return most, cut


@inlined
def _down(axes, j, found, least, room):
    """Return the loss saved by a cut below the common ancestor, where children of enough records go apart."""
    ranks, records, _ = room
    size = axes.size[j]
    node = ancestor(axes, j, ranks[0], ranks[found - 1])
    whole = share_of(axes, j, node)
    deepest = (axes.ladder[j + 1] - axes.ladder[j]) // size - 1
    rung = axes.ladder[j] + min(axes.node_depth[axes.nodes[j] + node] + 1, deepest) * size
    saved, ways, rest = 0.0, 0, np.int64(0)
    v = 0
    while v < found:
        # The leaves of a node have ranks that follow each other.
        child, begin, here = axes.at_depth[rung + ranks[v]], v, np.int64(0)
        while v < found and axes.at_depth[rung + ranks[v]] == child:
            here += records[v]
            v += 1
        if here >= least:
            ways += 1
            saved += here * (whole - share_of(axes, j, ancestor(axes, j, ranks[begin], ranks[v - 1])))
        else:
            rest += here
    # The smallest child joins the others where they are too few, so one child alone cannot leave them.
    return saved if ways > 1 or (ways > 0 and rest >= least) else -1.0


@inlined
def savings_of(p, keys, parts, axes, least, room, saved):
    """Find the extent of a partition, and the order of its attributes; see `order_by_saving`."""
    values, rights = room
    ranks, records = values[:2]
    known = ranks, records, rights
    for j in range(saved.size):
        found = values_of(keys, parts.starts[p], parts.stops[p], j, axes.size[j], values)
        parts.lows[p, j], parts.highs[p, j] = ranks[0], ranks[found - 1]
        parts.cuts[p, j] = -1
        saved[j] = -1.0
        if found > 1:
            if axes.way[j] == DOWN or axes.way[j] == EITHER:
                saved[j] = _down(axes, j, found, least, known)
            if axes.way[j] != DOWN:
                if axes.is_tree[j]:
                    by_order, cut = _in_tree(axes, j, found, parts.totals[p], least, known)
                else:
                    by_order, cut = _between(axes, j, found, parts.totals[p], least, known)
                if by_order > saved[j]:
                    saved[j] = by_order
                    parts.cuts[p, j] = cut
        saved[j] *= axes.weight[j]
    widest_first(saved, parts.order[p])


@compiled
def order_by_saving(start, stop, keys, parts, axes, least):
    """Find each partition's extent, and order its attributes by the loss that a cut saves, most first.

    A cut by order is made where it saves most of those that leave `least` records on both sides. It is
    written to ``parts.cuts``, and -1 where there is none, or where a cut down the hierarchy saves as much.
    """
    longest = longest_run(start, stop, parts)
    room = room_for_values(axes, longest), np.empty(longest)
    saved = np.empty(axes.size.size)
    for p in range(start, stop):
        savings_of(p, keys, parts, axes, least, room, saved)
