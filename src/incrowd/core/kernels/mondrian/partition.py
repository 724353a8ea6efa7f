"""Kernels of Mondrian: propose a cut for every open partition, and carry the cut out.

The arrays are those of `incrowd.core.kernels.mondrian.runs`. A cut is a group number per key, and
is carried out by sorting the partition's keys by group.
"""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.grouping.sorting import sort_run
from incrowd.core.kernels.jit import compiled, inlined, inner
from incrowd.core.kernels.mondrian.runs import (
    APPEARANCE,
    DOWN,
    EITHER,
    ancestor,
    largest_size,
    longest_run,
    most_nodes,
    room_for_values,
    share_of,
    span_of,
    values_of,
    widest_first,
)

BALANCED, MEDIAN, HALVES, GIVEN = range(4)
"""Position of a cut by order: as balanced as possible; below the median; in two
halves that part records with the median; at a given rank."""


@inlined
def extents_of(p, keys, parts, axes, width, seen):
    """Write partition p's extents and the order of attributes to try, the widest first."""
    codes, first, last = keys.codes, parts.starts[p], parts.stops[p]
    for j in range(width.size):
        low = high = codes[first, j]
        for i in range(first + 1, last):
            low = min(low, codes[i, j])
            high = max(high, codes[i, j])
        parts.lows[p, j], parts.highs[p, j] = low, high
    for j in range(width.size):
        lo, hi = parts.lows[p, j], parts.highs[p, j]
        if lo == hi:
            width[j] = 0.0
        elif axes.by_span:
            if axes.counted[j]:
                count = 0
                for i in range(first, last):
                    if not seen[codes[i, j]]:
                        seen[codes[i, j]] = True
                        count += 1
                for i in range(first, last):
                    seen[codes[i, j]] = False
                width[j] = count
            elif hi == axes.missing[j]:
                width[j] = axes.extent[j]
            else:
                base = axes.offset[j]
                width[j] = axes.positions[base + hi] - axes.positions[base + lo]
        elif axes.is_tree[j]:
            width[j] = share_of(axes, j, ancestor(axes, j, lo, hi))
        else:
            width[j] = span_of(axes, j, np.int64(lo), np.int64(hi))
        width[j] *= axes.weight[j]
    widest_first(width, parts.order[p])


@inlined
def room_for_extents(axes):
    """Allocate buffers for `extents_of`."""
    return np.empty(axes.size.size), np.zeros(largest_size(axes) if axes.by_span else 0, np.bool_)


@compiled
def spans(start, stop, keys, parts, axes):
    """Write the extents of partitions and the order of attributes to try."""
    width, seen = room_for_extents(axes)
    for p in range(start, stop):
        extents_of(p, keys, parts, axes, width, seen)


@inlined
def _balanced_cut(count, total, values):
    """First rank of the right side for the most balanced cut.

    Returns the rank and the weight left of the cut, ties by the lower rank::

        ranks   10 20 30 40
        records  5  1  2  4     total 12: 5 | 7 and 6 | 6 and 8 | 4; the cut is at 30
    """
    ranks, records = values
    best, best_left = ranks[count - 1], np.int64(0)
    best_gap = np.int64(9223372036854775807)
    before = np.int64(0)
    for v in range(1, count):
        before += records[v - 1]
        gap = abs(total - 2 * before)
        if gap >= best_gap:
            break
        best, best_left, best_gap = ranks[v], before, gap
    return best, best_left


@inlined
def _median_cut(count, total, values):
    """Rank of the upper median record, and the weight below that rank."""
    ranks, records = values
    left = np.int64(0)
    for v in range(count):
        if left + records[v] > total // 2:
            return ranks[v], left
        left += records[v]
    return ranks[0], np.int64(0)


@inner
def _by_appearance(codes, numbers, first, last, j, earliest, groups):
    """Divide a run's values in halves by first appearance, the smaller half first, and return the number.

    Keys are numbered in order of appearance. ``earliest[rank]`` is -1 before and after.
    """
    count = 0
    for i in range(first, last):
        rank = codes[i, j]
        if earliest[rank] < 0:
            count += 1
            earliest[rank] = numbers[i]
        elif numbers[i] < earliest[rank]:
            earliest[rank] = numbers[i]
    appearances = np.empty(count, np.int64)
    count = 0
    for i in range(first, last):
        if earliest[codes[i, j]] == numbers[i]:
            appearances[count] = numbers[i]
            count += 1
    sort_run(appearances, 0, count)
    border = appearances[count // 2]
    for i in range(first, last):
        groups[i] = 1 if earliest[codes[i, j]] >= border else 0
    for i in range(first, last):
        earliest[codes[i, j]] = -1
    return count


@inner
def _halve(keys, run, j, least, earliest):
    """Divide a run by first appearance and return whether both sides have enough records."""
    first, last, total = run
    _by_appearance(keys.codes, keys.numbers, first, last, j, earliest, keys.groups)
    left = np.int64(0)
    for i in range(first, last):
        if keys.groups[i] == 0:
            left += keys.weights[i]
    return left >= least and total - left >= least


@inner
def _cut_off(keys, run, j, value, least):
    """Whether both the records with a value and the other records are enough."""
    first, last, total = run
    here = np.int64(0)
    for i in range(first, last):
        if keys.codes[i, j] == value:
            here += keys.weights[i]
    return here >= least and total - here >= least


@inlined
def _middle(keys, run, j, size, where, values):
    """First rank of the right side, records left of the cut, and records of that rank to send left."""
    first, last, total = run
    count = values_of(keys, first, last, j, size, values)
    if where == BALANCED:
        cut, left = _balanced_cut(count, total, values[:2])
        return cut, left, np.int64(0)
    cut, left = _median_cut(count, total, values[:2])
    if where == HALVES:
        # Keys are single records here: some of those at the median go to the left.
        return cut, total // 2, total // 2 - left
    return cut, left, np.int64(0)


@inner
def _put_right(codes, groups, run, j, cut, shared):
    """Send keys with rank >= `cut` right, except `shared` keys of rank `cut`."""
    first, last, _ = run
    for i in range(first, last):
        groups[i] = 1 if codes[i, j] >= cut else 0
    for i in range(first, last if shared > 0 else first):
        if shared > 0 and codes[i, j] == cut:
            groups[i] = 0
            shared -= 1


@inner
def _pool(children, count, below, side, least):
    """Mark the children with a separate side by 0 and the pooled children by -1.

    The pool needs enough records, too, so the smallest children join until the pool is large enough. Returns
    the number of children with a side, and the records in the pool::

        least 3, children with 5, 4, 3 and 1 records: 1 is pooled, then 3 joins; sides 5 | 4 | 3 + 1
    """
    apart = 0
    pooled = np.int64(0)
    for c in range(count):
        if below[children[c]] >= least:
            side[children[c]] = 0
            apart += 1
        else:
            side[children[c]] = -1
            pooled += below[children[c]]
    while 0 < pooled < least and apart > 0:
        smallest = -1
        for c in range(count):
            child = children[c]
            if side[child] == 0 and (smallest < 0 or below[child] < below[smallest]):
                smallest = child
        side[smallest] = -1
        pooled += below[smallest]
        apart -= 1
    return apart, pooled


@inner
def _divide(keys, run, j, child_of, least, room):
    """Divide a run by the child of each rank and return the number of sides, 0 without a cut.

    Every child with enough records is a side; the other children stay together under the node's label.
    """
    first, last, _ = run
    below, side, children = room
    count = 0
    for i in range(first, last):
        child = child_of[keys.codes[i, j]]
        if below[child] == 0:
            children[count] = child
            count += 1
        below[child] += keys.weights[i]
    sort_run(children, 0, count)
    apart, pooled = _pool(children, count, below, side, least)
    if apart > 0:
        number = 0
        for c in range(count):
            child = children[c]
            if side[child] == 0:
                side[child] = number
                number += 1
            else:
                side[child] = apart
        for i in range(first, last):
            keys.groups[i] = side[child_of[keys.codes[i, j]]]
    for c in range(count):
        below[children[c]] = 0
    return apart + (1 if apart > 0 and pooled > 0 else 0)


@inner
def _cut(keys, run, j, bounds, rank, where, least, values):
    """Cut a run by the order of an attribute and return whether both sides have enough records."""
    hi, missing, size = bounds
    if hi == missing and _cut_off(keys, run, j, hi, least):
        _put_right(keys.codes, keys.groups, run, j, hi, np.int64(0))
        return True
    if where == GIVEN:
        if rank >= 0:
            _put_right(keys.codes, keys.groups, run, j, rank, np.int64(0))
        return rank >= 0
    cut, left, shared = _middle(keys, run, j, size, where, values)
    good = left >= least and run[2] - left >= least
    if good:
        _put_right(keys.codes, keys.groups, run, j, cut, shared)
    return good


@inlined
def room_for_cuts(axes, longest):
    """Allocate buffers for `cut_of` in partitions of at most `longest` keys."""
    largest = 0
    for j in range(axes.size.size):
        if axes.way[j] == APPEARANCE:
            largest = max(largest, axes.size[j])
    earliest = np.full(largest, -1, np.int64)
    nodes = most_nodes(axes)
    below = np.zeros(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    return earliest, below, room_for_values(axes, longest)


@inlined
def cut_of(p, keys, parts, axes, where, least, room):
    """Write the next cut of partition p (see `propose`)."""
    earliest, below, values = room
    tried, many = parts.tried, parts.many
    many[p] = 0
    run = parts.starts[p], parts.stops[p], parts.totals[p]
    if run[2] < 2 * least:
        return
    while tried[p] < axes.size.size and many[p] == 0:
        j = parts.order[p, tried[p]]
        tried[p] += 1
        lo, hi = np.int64(parts.lows[p, j]), np.int64(parts.highs[p, j])
        if lo == hi:
            continue
        down = axes.way[j] == DOWN or (axes.way[j] == EITHER and parts.cuts[p, j] < 0)
        parts.binary[p] = not down
        if down:
            depth = axes.node_depth[axes.nodes[j] + ancestor(axes, j, lo, hi)] + 1
            child_of = axes.at_depth[axes.ladder[j] + depth * axes.size[j] :]
            many[p] = _divide(keys, run, j, child_of, least, below)
        elif axes.way[j] == APPEARANCE:
            many[p] = 2 if _halve(keys, run, j, least, earliest) else 0
        else:
            bounds = hi, axes.missing[j], axes.size[j]
            rank = parts.cuts[p, j] if where == GIVEN else np.int64(-1)
            many[p] = 2 if _cut(keys, run, j, bounds, rank, where, least, values) else 0


@compiled
def propose(start, stop, keys, parts, axes, where, least):
    """Write the next cut of each partition with at least `least` records on every side.

    Each key gets a side as group, and ``parts.tried`` moves on to the next attribute. `where` is one of
    `BALANCED`, `MEDIAN`, `HALVES`, `GIVEN`; only `GIVEN` reads ``parts.cuts``. An attribute with way `EITHER`
    is cut down the hierarchy if ``parts.cuts`` has no rank.
    """
    room = room_for_cuts(axes, longest_run(start, stop, parts))
    for p in range(start, stop):
        cut_of(p, keys, parts, axes, where, least, room)


@inlined
def room_for_order(keys, longest, widest):
    """Allocate buffers for `arrange_run` in runs of `longest` keys and `widest` sides at most."""
    codes = np.empty((longest, keys.codes.shape[1]), keys.codes.dtype)
    return codes, np.empty((longest, 2), np.int64), np.empty(widest, np.int64)


@inlined
def arrange_run(keys, first, last, many, room, begins):
    """Sort a run of keys by group, and write the bounds of the `many` sides::

    keys   a b c d e         b d a c e
    groups 1 0 1 0 2    ->   begins 0 2 4 5
    """
    codes, weights, numbers, groups = keys.codes, keys.weights, keys.numbers, keys.groups
    new_codes, new_rest, cursor = room
    begins[: many + 1] = 0
    for i in range(first, last):
        begins[groups[i] + 1] += 1
    for g in range(many):
        begins[g + 1] += begins[g]
        cursor[g] = begins[g]
    for i in range(first, last):
        to = cursor[groups[i]]
        cursor[groups[i]] += 1
        for j in range(codes.shape[1]):
            new_codes[to, j] = codes[i, j]
        new_rest[to, 0], new_rest[to, 1] = weights[i], numbers[i]
    for i in range(last - first):
        for j in range(codes.shape[1]):
            codes[first + i, j] = new_codes[i, j]
        weights[first + i], numbers[first + i] = new_rest[i, 0], new_rest[i, 1]


@compiled
def arrange(start, stop, keys, sides):
    """Sort each partition's keys by group, without `groups` itself, and write the ends of the sides."""
    starts, stops, many = sides.starts, sides.stops, sides.many
    longest = 0
    widest = 0
    for p in range(start, stop):
        longest = max(longest, stops[p] - starts[p])
        widest = max(widest, many[p])
    room = room_for_order(keys, longest, widest)
    begins = np.empty(widest + 1, np.int64)
    for p in range(start, stop):
        if many[p] < 2:
            continue
        arrange_run(keys, starts[p], stops[p], many[p], room, begins)
        for g in range(many[p]):
            sides.ends[sides.first_end[p] + g] = starts[p] + begins[g + 1]


@compiled
def sum_runs(start, stop, runs, weights, sums):
    """Sum the weights of the keys in each run."""
    starts, stops = runs
    for p in range(start, stop):
        total = np.int64(0)
        for i in range(starts[p], stops[p]):
            total += weights[i]
        sums[p] = total


@compiled
def gather(start, stop, starts, numbers, indptr, members):
    """Write the key numbers of runs contiguously, run g from ``indptr[g]``."""
    for g in range(start, stop):
        first = starts[g] - indptr[g]
        for i in range(indptr[g], indptr[g + 1]):
            members[i] = numbers[first + i]
