"""Depth-first Mondrian in a single pass, for models that depend on class sizes alone."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import compiled, inner
from incrowd.core.kernels.mondrian.partition import (
    GIVEN,
    arrange_run,
    cut_of,
    extents_of,
    room_for_cuts,
    room_for_extents,
    room_for_order,
)
from incrowd.core.kernels.mondrian.runs import (
    DOWN,
    Partitions,
    ancestor,
    longest_run,
    most_nodes,
    sort_ranks,
    widest_first,
)
from incrowd.core.kernels.mondrian.savings import savings_of


@compiled
def descend(start, stop, keys, runs, axes, where, least, deepest):
    """Cut runs of keys recursively until no cut is admissible or the depth reaches `deepest`.

    Parts are cut one after the other from the left, so that small parts stay in the cache.

    Parameters
    ----------
    runs
        int64[runs]: starts of the runs. Then two int32[keys], read and written at the start of a run: the end
        of the run, and the number n of cuts that led to the run, or -1 - n for a run without admissible cut.
    where, least
        See `propose`. With `GIVEN`, cuts are where the saving of loss is largest, and attributes are ordered
        by saving instead of width.
    deepest
        Largest number of cuts that lead to a run.
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


@inner
def _x_log_x(x):
    return x * np.log(x) if x > 0 else 0.0


@inner
def _gain_of_children(keys, axes, run, j, node, target, room):
    """Information gain of dividing a run into all children of a node."""
    first, last, base = run
    slot, tally = room
    rung = axes.ladder[j] + (axes.node_depth[axes.nodes[j] + node] + 1) * axes.size[j]
    count = 0
    for i in range(first, last):
        child = axes.at_depth[rung + keys.codes[i, j]]
        if slot[child] < 0:
            slot[child] = count
            tally[count] = 0
            count += 1
        for entry in range(target.indptr[keys.numbers[i]], target.indptr[keys.numbers[i] + 1]):
            tally[slot[child], target.codes[entry]] += target.counts[entry]
    gain = -base
    for s in range(count):
        for v in range(tally.shape[1]):
            gain += _x_log_x(tally[s, v])
        gain -= _x_log_x(tally[s].sum())
    for i in range(first, last):
        slot[axes.at_depth[rung + keys.codes[i, j]]] = -1
    return gain


@inner
def _best_gain(keys, run, j, total, least, target, room):
    """Cut by order with the largest information gain, and the gain, both -1 without an admissible cut."""
    first, last, base = run
    words, counts, left = room
    sort_ranks(keys.codes, first, last, j, words)
    left[:] = 0
    gain, cut = -1.0, np.int64(-1)
    on_left, on_right = 0.0, 0.0
    for v in range(counts.size):
        on_right += _x_log_x(counts[v])
    before = np.int64(0)
    for n in range(last - first):
        rank = words[n] >> 32
        i = first + (words[n] & 0xFFFFFFFF)
        if n > 0 and rank != words[n - 1] >> 32 and before >= least and total - before >= least:
            rank_gain = on_left - _x_log_x(before) + on_right - _x_log_x(total - before) - base
            if rank_gain > gain:
                gain = rank_gain
                cut = rank
        for entry in range(target.indptr[keys.numbers[i]], target.indptr[keys.numbers[i] + 1]):
            v = target.codes[entry]
            on_left -= _x_log_x(left[v])
            on_right -= _x_log_x(counts[v] - left[v])
            left[v] += target.counts[entry]
            on_left += _x_log_x(left[v])
            on_right += _x_log_x(counts[v] - left[v])
        before += keys.weights[i]
    return cut, gain


@compiled
def order_by_gain(start, stop, keys, parts, axes, target, values, least):
    """Order the attributes of each partition by the gain of the best cut, the largest first.

    `target` has the counts of the target's `values` values per key (`Counts`). A cut by order is made at
    the rank of the largest information gain, which is written to ``cuts[p, j]`` (-1 where no cut leaves
    `least` records on both sides); a cut down the hierarchy parts all children of the common ancestor.
    """
    starts, stops, totals = parts.starts, parts.stops, parts.totals
    lows, highs, cuts = parts.lows, parts.highs, parts.cuts
    attributes = keys.codes.shape[1]
    longest = longest_run(start, stop, parts)
    counts = np.empty(values, np.int64)
    in_order = np.empty(longest, np.int64), counts, np.empty(values, np.int64)
    deepest = most_nodes(axes)
    of_nodes = np.full(deepest, -1, np.int64), np.zeros((min(deepest, longest), values), np.int64)
    gain = np.empty(attributes)
    for p in range(start, stop):
        counts[:] = 0
        for i in range(starts[p], stops[p]):
            for entry in range(target.indptr[keys.numbers[i]], target.indptr[keys.numbers[i] + 1]):
                counts[target.codes[entry]] += target.counts[entry]
        base = 0.0
        for v in range(values):
            base += _x_log_x(counts[v])
        base -= _x_log_x(totals[p])
        run = starts[p], stops[p], base
        for j in range(attributes):
            gain[j] = -1.0
            cuts[p, j] = -1
            if lows[p, j] == highs[p, j]:
                continue
            if axes.way[j] == DOWN:
                node = ancestor(axes, j, np.int64(lows[p, j]), np.int64(highs[p, j]))
                gain[j] = _gain_of_children(keys, axes, run, j, node, target, of_nodes)
            else:
                cuts[p, j], gain[j] = _best_gain(keys, run, j, totals[p], least, target, in_order)
        widest_first(gain, parts.order[p])
