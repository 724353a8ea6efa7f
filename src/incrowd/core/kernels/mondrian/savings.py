"""Order of Mondrian's cuts by the loss saved."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import compiled, inlined
from incrowd.core.kernels.mondrian.runs import (
    DOWN,
    EITHER,
    ancestor,
    longest_run,
    room_for_values,
    share_of,
    span_of,
    values_of,
    widest_first,
)


@inlined
def _in_tree(axes, j, count, total, least, room):
    """Largest saving of a cut between two leaves, and the first rank right of the cut."""
    ranks, records, rights = room
    base = axes.nodes[j]
    lo, hi = ranks[0], ranks[count - 1]
    leaves = axes.ladder[j + 1] - axes.size[j]
    node = np.int64(axes.at_depth[leaves + hi])
    for v in range(count - 1, -1, -1):
        while axes.node_lo[base + node] > ranks[v]:
            node = axes.node_parent[base + node]
        rights[v] = share_of(axes, j, node)
    most, cut, before = -1.0, np.int64(-1), np.int64(0)
    node = np.int64(axes.at_depth[leaves + lo])
    for v in range(1, count):
        before += records[v - 1]
        if total - before < least:
            break
        while axes.node_hi[base + node] <= ranks[v - 1]:
            node = axes.node_parent[base + node]
        if before >= least:
            saving = total * rights[0] - before * share_of(axes, j, node) - (total - before) * rights[v]
            if saving > most:
                most, cut = saving, ranks[v]
    return most, cut


@inlined
def _between(axes, j, count, total, least, room):
    """Largest saving of a cut of an attribute without hierarchy, and the first rank right of the cut."""
    ranks, records, _ = room
    lo, hi = ranks[0], ranks[count - 1]
    most, cut, before = -1.0, np.int64(-1), np.int64(0)
    # Cells of categories are sets, and each value after the first has the same cost.
    span = max(axes.size[j] - 1, 1)
    whole = (count - 1) / span if axes.counted[j] else span_of(axes, j, lo, hi)
    for v in range(1, count):
        before += records[v - 1]
        if total - before < least:
            break
        if before < least:
            continue
        if axes.counted[j]:
            left, right = (v - 1) / span, (count - v - 1) / span
        else:
            left, right = span_of(axes, j, lo, ranks[v - 1]), span_of(axes, j, ranks[v], hi)
        saving = total * whole - before * left - (total - before) * right
        if saving > most:
            most, cut = saving, ranks[v]
    return most, cut


@inlined
def _down(axes, j, count, least, room):
    """Return the saving of a cut below the common ancestor, with a side for each child of enough records."""
    ranks, records, _ = room
    size = axes.size[j]
    node = ancestor(axes, j, ranks[0], ranks[count - 1])
    whole = share_of(axes, j, node)
    deepest = (axes.ladder[j + 1] - axes.ladder[j]) // size - 1
    rung = axes.ladder[j] + min(axes.node_depth[axes.nodes[j] + node] + 1, deepest) * size
    saved, ways, rest = 0.0, 0, np.int64(0)
    v = 0
    while v < count:
        # The leaves of a node have ranks that follow each other.
        child, begin, here = axes.at_depth[rung + ranks[v]], v, np.int64(0)
        while v < count and axes.at_depth[rung + ranks[v]] == child:
            here += records[v]
            v += 1
        if here >= least:
            ways += 1
            saved += here * (whole - share_of(axes, j, ancestor(axes, j, ranks[begin], ranks[v - 1])))
        else:
            rest += here
    # The smallest child joins a pool that is too small, so a single child cannot leave the pool.
    return saved if ways > 1 or (ways > 0 and rest >= least) else -1.0


@inlined
def savings_of(p, keys, parts, axes, least, room, saved):
    """Write the extents of partition p and the order of attributes (see `order_by_saving`)."""
    values, rights = room
    ranks, records = values[:2]
    buffers = ranks, records, rights
    for j in range(saved.size):
        count = values_of(keys, parts.starts[p], parts.stops[p], j, axes.size[j], values)
        parts.lows[p, j], parts.highs[p, j] = ranks[0], ranks[count - 1]
        parts.cuts[p, j] = -1
        saved[j] = -1.0
        if count > 1:
            if axes.way[j] == DOWN or axes.way[j] == EITHER:
                saved[j] = _down(axes, j, count, least, buffers)
            if axes.way[j] != DOWN:
                if axes.is_tree[j]:
                    by_order, cut = _in_tree(axes, j, count, parts.totals[p], least, buffers)
                else:
                    by_order, cut = _between(axes, j, count, parts.totals[p], least, buffers)
                if by_order > saved[j]:
                    saved[j] = by_order
                    parts.cuts[p, j] = cut
        saved[j] *= axes.weight[j]
    widest_first(saved, parts.order[p])


@compiled
def order_by_saving(start, stop, keys, parts, axes, least):
    """Write each partition's extents, and order the attributes by the best cut's saving, largest first.

    ``parts.cuts`` gets the rank of the cut by order with the largest saving, among cuts with `least` records
    on both sides, or -1 if there is none or a cut down the hierarchy saves as much.
    """
    longest = longest_run(start, stop, parts)
    room = room_for_values(axes, longest), np.empty(longest)
    saved = np.empty(axes.size.size)
    for p in range(start, stop):
        savings_of(p, keys, parts, axes, least, room, saved)
