"""The loops of Mondrian: propose a cut for every open partition, and carry it out.

Its arrays are those of `incrowd.core.kernels.mondrian.partition_arrays`. A cut is a group number per key. To
carry it out sorts the run by group.
"""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.grouping.sorting import sort_run
from incrowd.core.kernels.jit import compiled, inlined, inner, simple
from incrowd.core.kernels.mondrian.partition_arrays import APPEARANCE, DOWN, EITHER
from incrowd.core.kernels.mondrian.runs import (
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
"""Where a cut by order is: so that both sides weigh as nearly alike as can be; below the median; in two
halves that part records with the median; at a given rank."""


@inlined
def extents_of(p, keys, parts, axes, width, seen):
    """Find a partition's extent, and the order in which to try its attributes (widest first)."""
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
                found = 0
                for i in range(first, last):
                    if not seen[codes[i, j]]:
                        seen[codes[i, j]] = True
                        found += 1
                for i in range(first, last):
                    seen[codes[i, j]] = False
                width[j] = found
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
    """Make room for `extents_of`."""
    return np.empty(axes.size.size), np.zeros(largest_size(axes) if axes.by_span else 0, np.bool_)


@compiled
def spans(start, stop, keys, parts, axes):
    """Find the extents of some partitions, and the order in which to try their attributes."""
    width, seen = room_for_extents(axes)
    for p in range(start, stop):
        extents_of(p, keys, parts, axes, width, seen)


@inlined
def _balanced_cut(found, total, values):
    """Rank at which the right side begins so that both sides weigh as nearly alike as can be.

    Returns the rank and the weight left of it. Ties go to the lower rank.
    """
    ranks, records = values
    best, best_left = ranks[found - 1], np.int64(0)
    best_gap = np.int64(9223372036854775807)
    before = np.int64(0)
    for v in range(1, found):
        before += records[v - 1]
        gap = abs(total - 2 * before)
        if gap >= best_gap:
            break
        best, best_left, best_gap = ranks[v], before, gap
    return best, best_left


@inlined
def _median_cut(found, total, values):
    """Rank of the upper one of the middle records, and the weight below it."""
    ranks, records = values
    left = np.int64(0)
    for v in range(found):
        if left + records[v] > total // 2:
            return ranks[v], left
        left += records[v]
    return ranks[0], np.int64(0)


@inner
def _by_appearance(codes, numbers, first, last, j, earliest, groups):
    """Part the values of a run in halves by first appearance, the smaller half first; how many there are.

    Keys are numbered in the order in which they appear. ``earliest[rank]`` is -1 and is left so.
    """
    found = 0
    for i in range(first, last):
        rank = codes[i, j]
        if earliest[rank] < 0:
            found += 1
            earliest[rank] = numbers[i]
        elif numbers[i] < earliest[rank]:
            earliest[rank] = numbers[i]
    appeared = np.empty(found, np.int64)
    found = 0
    for i in range(first, last):
        if earliest[codes[i, j]] == numbers[i]:
            appeared[found] = numbers[i]
            found += 1
    sort_run(appeared, 0, found)
    border = appeared[found // 2]
    for i in range(first, last):
        groups[i] = 1 if earliest[codes[i, j]] >= border else 0
    for i in range(first, last):
        earliest[codes[i, j]] = -1
    return found


@inner
def _halve(keys, run, j, least, earliest):
    """Part a run by first appearance; say whether both sides have enough records."""
    first, last, total = run
    _by_appearance(keys.codes, keys.numbers, first, last, j, earliest, keys.groups)
    left = np.int64(0)
    for i in range(first, last):
        if keys.groups[i] == 0:
            left += keys.weights[i]
    return left >= least and total - left >= least


@inner
def _cut_off(keys, run, j, value, least):
    """Say whether the records of a value, and the others, are enough."""
    first, last, total = run
    here = np.int64(0)
    for i in range(first, last):
        if keys.codes[i, j] == value:
            here += keys.weights[i]
    return here >= least and total - here >= least


@inlined
def _middle(keys, run, j, size, where, values):
    """Return the rank where the right side begins, the records left of it, and how many of it join them."""
    first, last, total = run
    found = values_of(keys, first, last, j, size, values)
    if where == BALANCED:
        cut, left = _balanced_cut(found, total, values[:2])
        return cut, left, np.int64(0)
    cut, left = _median_cut(found, total, values[:2])
    if where == HALVES:
        # Keys are single records here: some of those at the median go to the left.
        return cut, total // 2, total // 2 - left
    return cut, left, np.int64(0)


@inner
def _put_right(codes, groups, run, j, cut, shared):
    """Put the keys from a rank on to the right, but so many of that rank."""
    first, last, _ = run
    for i in range(first, last):
        groups[i] = 1 if codes[i, j] >= cut else 0
    for i in range(first, last if shared > 0 else first):
        if shared > 0 and codes[i, j] == cut:
            groups[i] = 0
            shared -= 1


@inner
def _pool(children, found, below, side, least):
    """Find the children that go their own way: 0 is their side, -1 that of all others.

    The others need enough records, too. So the smallest join them until they have. How many go their own
    way is returned, and the records of the others.
    """
    apart = 0
    pooled = np.int64(0)
    for c in range(found):
        if below[children[c]] >= least:
            side[children[c]] = 0
            apart += 1
        else:
            side[children[c]] = -1
            pooled += below[children[c]]
    while 0 < pooled < least and apart > 0:
        smallest = -1
        for c in range(found):
            child = children[c]
            if side[child] == 0 and (smallest < 0 or below[child] < below[smallest]):
                smallest = child
        side[smallest] = -1
        pooled += below[smallest]
        apart -= 1
    return apart, pooled


@inner
def _divide(keys, run, j, child_of, least, room):
    """Part a run by the child of each rank; return how many sides there are, 0 if it stays together.

    Every child with enough records goes its own way, the others stay together under the node's label.
    """
    first, last, _ = run
    below, side, children = room
    found = 0
    for i in range(first, last):
        child = child_of[keys.codes[i, j]]
        if below[child] == 0:
            children[found] = child
            found += 1
        below[child] += keys.weights[i]
    sort_run(children, 0, found)
    apart, pooled = _pool(children, found, below, side, least)
    if apart > 0:
        number = 0
        for c in range(found):
            child = children[c]
            if side[child] == 0:
                side[child] = number
                number += 1
            else:
                side[child] = apart
        for i in range(first, last):
            keys.groups[i] = side[child_of[keys.codes[i, j]]]
    for c in range(found):
        below[children[c]] = 0
    return apart + (1 if apart > 0 and pooled > 0 else 0)


@inner
def _cut(keys, run, j, bounds, given, where, least, values):
    """Part a run by the order of an attribute; say whether both sides have enough records."""
    hi, missing, size = bounds
    if hi == missing and _cut_off(keys, run, j, hi, least):
        _put_right(keys.codes, keys.groups, run, j, hi, np.int64(0))
        return True
    if where == GIVEN:
        if given >= 0:
            _put_right(keys.codes, keys.groups, run, j, given, np.int64(0))
        return given >= 0
    cut, left, shared = _middle(keys, run, j, size, where, values)
    good = left >= least and run[2] - left >= least
    if good:
        _put_right(keys.codes, keys.groups, run, j, cut, shared)
    return good


@inlined
def room_for_cuts(axes, longest):
    """Make room for `cut_of` in partitions of at most so many keys."""
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
    """Propose the next cut of a partition; see `propose`."""
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
            given = parts.cuts[p, j] if where == GIVEN else np.int64(-1)
            many[p] = 2 if _cut(keys, run, j, bounds, given, where, least, values) else 0


@compiled
def propose(start, stop, keys, parts, axes, where, least):
    """Write for each partition the next cut whose sides have at least `least` records.

    The number of attributes tried moves on, and each key gets its side as its group. `where` is one of
    `BALANCED`, `MEDIAN`, `HALVES`, `GIVEN`; ``parts.cuts`` matters to the last. What may be cut either way is
    cut down the hierarchy where it has no rank there.
    """
    room = room_for_cuts(axes, longest_run(start, stop, parts))
    for p in range(start, stop):
        cut_of(p, keys, parts, axes, where, least, room)


@inlined
def room_for_order(keys, longest, widest):
    """Make room for `arrange_run` in runs of so many keys, cut into so many sides."""
    codes = np.empty((longest, keys.codes.shape[1]), keys.codes.dtype)
    return codes, np.empty((longest, 2), np.int64), np.empty(widest, np.int64)


@inlined
def arrange_run(keys, first, last, many, room, begins):
    """Sort a run of keys by group, and write where each of its `many` sides begins, and the end."""
    codes, weights, numbers, groups = keys.codes, keys.weights, keys.numbers, keys.groups
    held_codes, held, cursor = room
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
            held_codes[to, j] = codes[i, j]
        held[to, 0], held[to, 1] = weights[i], numbers[i]
    for i in range(last - first):
        for j in range(codes.shape[1]):
            codes[first + i, j] = held_codes[i, j]
        weights[first + i], numbers[first + i] = held[i, 0], held[i, 1]


@compiled
def arrange(start, stop, keys, sides):
    """Sort each partition's keys by group, and write where each side ends. Groups stay where they are."""
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
    """Add up the weights of runs of keys, given where each begins and ends."""
    starts, stops = runs
    for p in range(start, stop):
        total = np.int64(0)
        for i in range(starts[p], stops[p]):
            total += weights[i]
        sums[p] = total


@compiled
def gather(start, stop, starts, numbers, indptr, members):
    """Write the numbers of the keys of some runs one after the other, run g from ``indptr[g]``."""
    for g in range(start, stop):
        first = starts[g] - indptr[g]
        for i in range(indptr[g], indptr[g + 1]):
            members[i] = numbers[first + i]


@simple
def merge_failing(start, stop, sides, sizes, holds, groups):
    """Repair cuts down a hierarchy of which some side fails the models.

    Failing sides are pooled under the ancestor's label; a pool that fails again takes in the smallest
    good side. `sizes` and `holds` have each side at the place of its end. ``sides.many[p]`` becomes the new
    number of sides: unchanged where all hold, 0 where the cut is given up, else smaller, with the new side
    of each key in `groups`.
    """
    many, ends, first_end = sides.many, sides.ends, sides.first_end
    widest = 0
    for p in range(start, stop):
        widest = max(widest, many[p])
    side = np.empty(widest, np.int64)
    for p in range(start, stop):
        count = many[p]
        base = first_end[p]
        failing = 0
        for g in range(count):
            if not holds[base + g]:
                failing += 1
        if failing == 0:
            continue
        if sides.binary[p]:
            many[p] = 0
            continue
        pool = 0
        smallest = -1
        for g in range(count):
            if holds[base + g]:
                side[g] = 0
                if smallest < 0 or sizes[base + g] < sizes[base + smallest]:
                    smallest = g
            else:
                side[g] = -1
                pool += 1
        if pool == 1 and smallest >= 0:
            # A single failing side cannot stay alone, whether it is one child or an earlier pool.
            side[smallest] = -1
            pool += 1
        kept = count - pool
        if kept < 1:
            many[p] = 0
            continue
        number = 0
        for g in range(count):
            if side[g] == 0:
                side[g] = number
                number += 1
            else:
                side[g] = kept
        i = sides.starts[p]
        for g in range(count):
            groups[i : ends[base + g]] = side[g]
            i = ends[base + g]
        many[p] = kept + 1
