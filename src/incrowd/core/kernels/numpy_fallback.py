"""The loops in NumPy, for so few rows that they end before the compiler is loaded.

Every function gives what the kernel of its name gives, to the last bit.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.mondrian.partition_arrays import DOWN, EITHER

if TYPE_CHECKING:
    from incrowd.core.kernels.mondrian.partition_arrays import Axes, Keys, Partitions, Sides

_DENSE = 16
"""Ranks of all partitions, per key, up to which records are counted in an array and not sorted."""


def shape(
    parents: NDArray[np.int32], last: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], int]:
    """Find the shape of a tree; see `trees.shape_of`."""
    above, covered = parents.tolist(), last.tolist()
    depths, heights = [0] * len(above), [0] * len(above)
    way = [0]  # the nodes from the root down to the one before
    wrong = -1
    for node in range(1, len(above)):
        steps = depths[above[node]]
        if steps >= len(way) or way[steps] != above[node]:
            wrong = node
            break
        depths[node] = steps + 1
        del way[steps + 1 :]
        way.append(node)
    for node in range(len(above) - 1, 0, -1):
        parent = above[node]
        covered[parent] = max(covered[parent], covered[node])
        heights[parent] = max(heights[parent], heights[node] + 1)
    return np.array(depths, np.int32), np.array(heights, np.int32), np.array(covered, np.int32), wrong


def scan(data: bytes, mark: bytes, limit: int) -> tuple[int, int, int, int, int] | None:
    """Count fields and records of a CSV; see `lines.scan`. None where a quote is never closed."""
    if b'"' in data:
        data = _quoted(mark).sub(_without_quotes, data)
        if _opening(mark).search(data):
            return None
    expected, records, blank, line = -1, 0, 0, 1
    start, size = 0, len(data)
    while start < size:
        end = data.find(b"\n", start)
        piece = data[start : end if end >= 0 else size]
        if piece in (b"", b"\r"):
            blank += end >= 0
        else:
            fields = piece.count(mark) + 1
            if expected < 0:
                expected = fields
            elif fields != expected:
                return expected, records, line, fields, blank
            records += 1
            if records == limit:
                break
        line += 1 + piece.count(b"\0")
        start += len(piece) + 1
    return expected, records, 0, 0, blank


@cache
def _opening(mark: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?:\A|(?<=[\n" + re.escape(mark) + rb']))"')


@cache
def _quoted(mark: bytes) -> re.Pattern[bytes]:
    return re.compile(_opening(mark).pattern + rb'[^"]*(?:""[^"]*)*"(?!")')


def _without_quotes(found: re.Match[bytes]) -> bytes:
    """Put something else for a quoted text, which still tells how many lines it goes over."""
    return b"x" + b"\0" * found[0].count(b"\n")


def first_ids(words: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give each distinct word an id in order of first appearance."""
    _, first, place = np.unique(words, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(first), np.int32)
    number[order] = np.arange(len(first), dtype=np.int32)
    return number[place], first[order].astype(np.int64, copy=False)


def class_counts(
    indptr: NDArray[np.int64], codes: NDArray[np.integer], counts: NDArray[np.int64], values: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Add up counts per class; ``indptr[c]`` is where the entries of class c begin. Gives a `Counts`."""
    classes = len(indptr) - 1
    size = max(values, 1)
    owner = np.repeat(np.arange(classes, dtype=np.int64), np.diff(indptr))
    found, which = np.unique(owner * size + codes, return_inverse=True)
    summed = np.zeros(len(found), np.int64)
    np.add.at(summed, which, counts)
    ends = np.zeros(classes + 1, np.int64)
    np.cumsum(np.bincount(found // size, minlength=classes), out=ends[1:])
    return ends, (found % size).astype(np.int32), summed


def class_sums(
    indptr: NDArray[np.int64], members: NDArray[np.int64], amounts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add up the whole amounts of each class's members: int64[classes]."""
    before = np.zeros(len(members) + 1, np.int64)
    np.cumsum(amounts[members], out=before[1:])
    return before[indptr[1:]] - before[indptr[:-1]]


def least_of(values: NDArray[np.number], want: int) -> NDArray[np.int64]:
    """Return the places of the least values, in order; of equal ones the first: int64[want]."""
    if not want:
        return np.zeros(0, np.int64)
    near = np.flatnonzero(values <= np.partition(values, want - 1)[want - 1])
    return near[np.argsort(values[near], kind="stable")[:want]]


def last_groups(values: NDArray[np.float64], least: int) -> NDArray[np.int64]:
    """Return the size of the last group in the best grouping of the first i values; see `groups`."""
    count, sizes = len(values), 2 * least - 1
    # Of the last `size` values before each place: their mean and squares, as far as there are so many.
    mean, squares = np.zeros(count + 1), np.zeros(count + 1)
    error = np.full((count + 1, least), np.inf)
    for size in range(1, min(sizes, count) + 1):
        last = values[: count + 1 - size]
        gap = last - mean[size:]
        mean[size:] += gap / size
        squares[size:] += gap * (last - mean[size:])
        if size >= least:
            error[size:, size - least] = squares[size:]
    # What there are too few values before is never best.
    best = np.full(count + 1 + sizes, np.inf)
    best[sizes] = 0.0
    found = np.zeros(count + 1, np.int64)
    for end in range(least, count + 1):
        each = best[end : end + least][::-1] + error[end]
        size = each.argmin()
        if each[size] < np.inf:
            best[end + sizes], found[end] = each[size], size + least
    return found


def gather(points: NDArray[np.float64], k: int, group: NDArray[np.int64]) -> None:
    """Write for each record the number of its group; see `mdav`."""
    left = np.arange(len(points))
    number = 0
    while len(left) >= 2 * k:
        here = points[left]
        # Added up one after the other, as the loop does.
        away = _squares(here, np.cumsum(here, axis=0)[-1] / len(left))
        away = _squares(here, here[away.argmax()])
        farthest = here[away.argmax()]
        left = _without(left, least_of(away, k), number, group)
        number += 1
        if len(left) >= 2 * k:
            left = _without(left, least_of(_squares(points[left], farthest), k), number, group)
            number += 1
    group[left] = number


def _squares(points: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    gaps = points - centre
    total = np.zeros(len(points))
    for gap in gaps.T:
        total += gap * gap
    return total


def _without(
    left: NDArray[np.int64], taken: NDArray[np.int64], number: int, group: NDArray[np.int64]
) -> NDArray[np.int64]:
    group[left[taken]] = number
    return np.delete(left, taken)


def spans(keys: Keys, parts: Partitions, axes: Axes) -> None:
    """Find each partition's extent, and the order in which to try its attributes; see `partition.spans`."""
    borders = np.column_stack((parts.starts, parts.stops)).ravel()
    # A run may end where the keys end; there must be something to begin with.
    codes = np.vstack((keys.codes, keys.codes[-1:]))
    parts.lows[:] = np.minimum.reduceat(codes, borders)[::2]
    parts.highs[:] = np.maximum.reduceat(codes, borders)[::2]
    width = np.empty(parts.lows.shape)
    for j in range(len(axes.weight)):
        low, high = (ends[:, j].astype(np.int64) for ends in (parts.lows, parts.highs))
        width[:, j] = _span(axes, j, low, high) * axes.weight[j]
    parts.order[:] = np.argsort(-width, axis=1, kind="stable")


def order_by_saving(keys: Keys, parts: Partitions, axes: Axes, least: int) -> None:
    """Order the attributes of each partition by the loss that a cut saves; see `savings.order_by_saving`."""
    places, owner, _ = members_of_runs(parts.starts, parts.stops)
    saved = np.full(parts.lows.shape, -1.0)
    for j, size in enumerate(axes.size.tolist() if len(owner) else ()):
        words = owner * size + keys.codes[places, j].astype(np.int64)
        room = len(parts.starts) * size
        if room <= _DENSE * len(words):
            sums = np.bincount(words, keys.weights[places], room)
            values = np.flatnonzero(sums)
            sums = sums[values]
        else:
            values, which = np.unique(words, return_inverse=True)
            sums = np.bincount(which, keys.weights[places])
        records = sums.astype(np.int64)
        if axes.way[j] in (DOWN, EITHER):
            saved[:, j] = _saved_down(values, records, parts, axes, j, least)
        if axes.way[j] != DOWN:
            _save_between(values, records, parts, axes, j, least, saved[:, j])
        saved[:, j] *= axes.weight[j]
    parts.order[:] = np.argsort(-saved, axis=1, kind="stable")


def _saved_down(
    values: NDArray[np.int64],
    records: NDArray[np.int64],
    parts: Partitions,
    axes: Axes,
    j: int,
    least: int,
) -> NDArray[np.float64]:
    """Return the loss saved by a cut of each partition below the common ancestor; -1 where there is none."""
    owner, rank = np.divmod(values, axes.size[j])
    node = _ancestor(axes, j, *(ends[:, j].astype(np.int64) for ends in (parts.lows, parts.highs)))
    deepest = (axes.ladder[j + 1] - axes.ladder[j]) // axes.size[j] - 1
    depth = np.minimum(axes.node_depth[axes.nodes[j] + node] + 1, deepest)
    child = axes.at_depth[axes.ladder[j] + depth[owner] * axes.size[j] + rank]
    first = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(child, prepend=-1) != 0))
    last = np.append(first[1:], len(child)) - 1
    whose, here = owner[first], np.add.reduceat(records, first)
    apart = here >= least
    gain = here * (
        _share(axes, j, node)[whose] - _share(axes, j, _ancestor(axes, j, rank[first], rank[last]))
    )
    count = len(node)
    saved, ways = np.bincount(whose[apart], gain[apart], count), np.bincount(whose[apart], minlength=count)
    rest = np.bincount(whose[~apart], here[~apart], count)
    return np.where((ways > 1) | ((ways > 0) & (rest >= least)), saved, -1.0)


def _save_between(
    values: NDArray[np.int64],
    records: NDArray[np.int64],
    parts: Partitions,
    axes: Axes,
    j: int,
    least: int,
    most: NDArray[np.float64],
) -> None:
    """Write the loss saved by the best cut of each partition between two values, and the rank right of it.

    Parameters
    ----------
    values, records
        The partition and rank of each value, as one number, and its records there: int64[values].
    most
        The loss that another cut saves: float64[partitions], which is written where this one saves more.
    """
    owner, rank = np.divmod(values, axes.size[j])
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    before = np.cumsum(records) - records
    before -= before[first][owner]
    right = np.flatnonzero(owner[1:] == owner[:-1]) + 1
    right = right[(before[right] >= least) & (parts.totals[owner[right]] - before[right] >= least)]
    if not len(right):
        return
    whose, left, total = owner[right], before[right], parts.totals[owner[right]]
    if axes.counted[j] and not axes.is_tree[j]:
        # Such cells are sets, and each value after the first costs as much.
        held = np.diff(first, append=len(owner))[whose]
        below = right - first[whose]
        spans = [(each - 1) / max(axes.size[j] - 1, 1) for each in (held, below, held - below)]
    else:
        low, high = (ends[whose, j].astype(np.int64) for ends in (parts.lows, parts.highs))
        pairs = (low, high), (low, rank[right - 1]), (rank[right], high)
        spans = [_span(axes, j, *pair) for pair in pairs]
    saved = total * spans[0] - left * spans[1] - (total - left) * spans[2]
    order = np.lexsort((-saved, whose))
    best = order[np.flatnonzero(np.diff(whose[order], prepend=-1))]
    best = best[saved[best] > most[whose[best]]]
    most[whose[best]], parts.cuts[whose[best], j] = saved[best], rank[right[best]]


def _span(axes: Axes, j: int, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of an attribute that intervals of ranks cover; 1 where they join the missing one."""
    if axes.is_tree[j]:
        return _share(axes, j, _ancestor(axes, j, lo, hi))
    places = axes.positions[axes.offset[j] : axes.offset[j + 1]]
    width, absent = np.zeros(len(lo)), hi == axes.missing[j]
    if axes.extent[j] > 0:
        width[~absent] = (places[hi[~absent]] - places[lo[~absent]]) / axes.extent[j]
    width[absent & (lo != hi)] = 1.0
    return width


def _ancestor(axes: Axes, j: int, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.integer]:
    """Return the lowest common ancestors of intervals of leaf ranks; see `runs.ancestor`."""
    node: NDArray[np.integer] = axes.at_depth[axes.ladder[j + 1] - axes.size[j] + lo]
    while (below := axes.node_hi[axes.nodes[j] + node] <= hi).any():
        node[below] = axes.node_parent[axes.nodes[j] + node[below]]
    return node


def _share(axes: Axes, j: int, node: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the loss of nodes; see `runs.share_of`."""
    leaves = axes.node_hi[axes.nodes[j] + node] - axes.node_lo[axes.nodes[j] + node]
    return np.asarray((leaves - 1) / max(axes.size[j] - 1, 1))


def propose(keys: Keys, parts: Partitions, axes: Axes, least: int) -> None:
    """Write for each partition the next cut by order whose sides are large enough.

    It is at the rank that is given, where there are ``parts.cuts``; else both sides weigh about alike.
    """
    parts.many[:] = 0
    attributes = keys.codes.shape[1]
    open_ = parts.totals >= 2 * least
    while True:
        waiting = np.flatnonzero(open_ & (parts.many == 0) & (parts.tried < attributes))
        if not len(waiting):
            return
        tried = parts.order[waiting, parts.tried[waiting]].astype(np.int64)
        parts.tried[waiting] += 1
        wide = parts.lows[waiting, tried] != parts.highs[waiting, tried]
        down = np.isin(axes.way[tried], (DOWN, EITHER))
        if parts.cuts.shape[1]:
            down &= parts.cuts[waiting, tried] < 0
        if (across := wide & ~down).any():
            _cut(keys, parts, axes, least, waiting[across], tried[across])
        for j in np.unique(tried[wide & down]).tolist():
            _divide(keys, parts, axes, least, waiting[wide & down & (tried == j)], j)


def _cut(
    keys: Keys,
    parts: Partitions,
    axes: Axes,
    least: int,
    chosen: NDArray[np.int64],
    attribute: NDArray[np.int64],
) -> None:
    """Cut some partitions by one attribute each, where this leaves enough records on both sides."""
    places, owner, first = members_of_runs(parts.starts[chosen], parts.stops[chosen])
    total = parts.totals[chosen]
    highest = parts.highs[chosen, attribute].astype(np.int64)
    rank = keys.codes[places, attribute[owner]].astype(np.int64)
    weight = keys.weights[places]
    # Those who have no value go their own way, where they are enough.
    absent = np.add.reduceat(np.where(rank == highest[owner], weight, 0), first)
    apart = (highest == axes.missing[attribute]) & (absent >= least) & (total - absent >= least)
    if parts.cuts.shape[1]:
        given = parts.cuts[chosen, attribute]
        good = apart | (given >= 0)
    else:
        given, left = _middles(rank, weight, owner, first, total)
        good = apart | ((left >= least) & (total - left >= least))
    cut = np.where(apart, highest, given)
    taken = good[owner]
    keys.groups[places[taken]] = (rank >= cut[owner])[taken]
    parts.many[chosen[good]] = 2
    parts.binary[chosen[good]] = True


def _divide(keys: Keys, parts: Partitions, axes: Axes, least: int, chosen: NDArray[np.int64], j: int) -> None:
    """Part some partitions by the children below the common ancestor; see `partition._divide`."""
    places, owner, _ = members_of_runs(parts.starts[chosen], parts.stops[chosen])
    node = _ancestor(axes, j, *(ends[chosen, j].astype(np.int64) for ends in (parts.lows, parts.highs)))
    depth = axes.node_depth[axes.nodes[j] + node] + 1
    child = axes.at_depth[axes.ladder[j] + depth[owner] * axes.size[j] + keys.codes[places, j]]
    nodes = axes.nodes[j + 1] - axes.nodes[j]
    found, which = np.unique(owner * nodes + child, return_inverse=True)
    whose, below = found // nodes, np.bincount(which, keys.weights[places])
    apart = below >= least
    pooled = np.bincount(whose[~apart], below[~apart], len(chosen))
    # Where the others are too few, the smallest joins them, and then they are enough.
    few = np.flatnonzero(apart & ((pooled > 0) & (pooled < least))[whose])
    few = few[np.lexsort((below[few], whose[few]))]
    apart[few[np.flatnonzero(np.diff(whose[few], prepend=-1))]] = False
    ways = np.bincount(whose[apart], minlength=len(chosen))
    before: NDArray[np.int64] = np.cumsum(apart) - apart
    side = np.where(apart, before - before[np.flatnonzero(np.diff(whose, prepend=-1))][whose], ways[whose])
    taken = ways[owner] > 0
    keys.groups[places[taken]] = side[which][taken]
    parts.many[chosen] = np.where(ways > 0, ways + (np.bincount(whose, minlength=len(chosen)) > ways), 0)
    parts.binary[chosen] = False


def _middles(
    rank: NDArray[np.int64],
    weight: NDArray[np.int64],
    owner: NDArray[np.int64],
    first: NDArray[np.int64],
    total: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the right side begins so that both sides weigh about alike, and the weight left of it."""
    order = np.lexsort((rank, owner))
    ranked, held = rank[order], owner[order]
    before = np.cumsum(weight[order]) - weight[order]
    before -= before[first][held]
    begins = np.flatnonzero((ranked[1:] != ranked[:-1]) & (held[1:] == held[:-1])) + 1
    gap = np.abs(total[held[begins]] - 2 * before[begins])
    best = begins[np.lexsort((begins, gap, held[begins]))]
    _, at = np.unique(held[best], return_index=True)
    best = best[at]
    return ranked[best], before[best]


def arrange(keys: Keys, sides: Sides) -> None:
    """Sort each partition's keys by group, and write where each side ends."""
    places, owner, first = members_of_runs(sides.starts, sides.stops)
    groups = keys.groups[places]
    source = places[np.lexsort((groups, owner))]
    for array in keys:
        array[places] = array[source]
    upto = np.cumsum(np.bincount(sides.first_end[owner] + groups, minlength=len(sides.ends)))
    sides.ends[:] = upto + np.repeat(sides.starts - first, np.diff(sides.first_end))


def members_of_runs(
    starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List the places of some runs: place, which run it is in, and where each run begins in the list."""
    lengths = stops - starts
    first = np.cumsum(lengths) - lengths
    owner = np.repeat(np.arange(len(starts), dtype=np.int64), lengths)
    return np.arange(len(owner)) + (starts - first)[owner], owner, first
