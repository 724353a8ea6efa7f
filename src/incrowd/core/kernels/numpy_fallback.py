"""NumPy versions of kernels, for so few rows that the compiler would load for longer.

Every function returns the same bits as its kernel: `gather` as that of MDAV in `clusters`, `propose`, `spans`
and `arrange` as those of `mondrian.partition`, `order_by_saving` as that of `mondrian.savings`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.mondrian.runs import DOWN, EITHER

if TYPE_CHECKING:
    from incrowd.core.kernels.mondrian.runs import Axes, Keys, Partitions, Sides

_DENSE = 16
"""Largest ratio of possible (partition, rank) pairs to keys for counting in a dense array."""


def shape(
    parents: NDArray[np.int32], last: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], int]:
    """Compute the shape of a tree (see `trees.shape_of`)."""
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
    """Count fields and records of a CSV like `lines.scan`, or return None for an unclosed quote."""
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


def _without_quotes(match: re.Match[bytes]) -> bytes:
    """Replace a quoted text by a placeholder with the same number of line breaks."""
    return b"x" + b"\0" * match[0].count(b"\n")


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
    """Sum counts by class and code, as the fields of a `Counts`.

    Class c has the entries ``indptr[c]:indptr[c + 1]``.
    """
    classes = len(indptr) - 1
    size = max(values, 1)
    owner = np.repeat(np.arange(classes, dtype=np.int64), np.diff(indptr))
    words, inverse = np.unique(owner * size + codes, return_inverse=True)
    sums = np.zeros(len(words), np.int64)
    np.add.at(sums, inverse, counts)
    ends = np.zeros(classes + 1, np.int64)
    np.cumsum(np.bincount(words // size, minlength=classes), out=ends[1:])
    return ends, (words % size).astype(np.int32), sums


def class_sums(
    indptr: NDArray[np.int64], members: NDArray[np.int64], amounts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sum the integer amounts of each class's members: int64[classes]."""
    before = np.zeros(len(members) + 1, np.int64)
    np.cumsum(amounts[members], out=before[1:])
    return before[indptr[1:]] - before[indptr[:-1]]


def least_of(values: NDArray[np.number], want: int) -> NDArray[np.int64]:
    """Return indices of the `want` smallest values, ascending, ties by index: int64[want]."""
    if not want:
        return np.zeros(0, np.int64)
    near = np.flatnonzero(values <= np.partition(values, want - 1)[want - 1])
    return near[np.argsort(values[near], kind="stable")[:want]]


def last_groups(values: NDArray[np.float64], least: int) -> NDArray[np.int64]:
    """Size of the last group in the best grouping of the first i values (see `clusters.groups`)."""
    count, sizes = len(values), 2 * least - 1
    # Mean and squared deviations of the `size` values before each place.
    mean, squares = np.zeros(count + 1), np.zeros(count + 1)
    error = np.full((count + 1, least), np.inf)
    for size in range(1, min(sizes, count) + 1):
        last = values[: count + 1 - size]
        gap = last - mean[size:]
        mean[size:] += gap / size
        squares[size:] += gap * (last - mean[size:])
        if size >= least:
            error[size:, size - least] = squares[size:]
    # A place with too few values before has an infinite error.
    best = np.full(count + 1 + sizes, np.inf)
    best[sizes] = 0.0
    last_size = np.zeros(count + 1, np.int64)
    for end in range(least, count + 1):
        errors = best[end : end + least][::-1] + error[end]
        size = errors.argmin()
        if errors[size] < np.inf:
            best[end + sizes], last_size[end] = errors[size], size + least
    return last_size


def gather(points: NDArray[np.float64], k: int, group: NDArray[np.int64]) -> None:
    """Write the group number of each record (see `clusters.groups`)."""
    rest = np.arange(len(points))
    number = 0
    while len(rest) >= 2 * k:
        here = points[rest]
        # Sequential sums, like those of the kernel.
        squares = _squares(here, np.cumsum(here, axis=0)[-1] / len(rest))
        squares = _squares(here, here[squares.argmax()])
        farthest = here[squares.argmax()]
        rest = _without(rest, least_of(squares, k), number, group)
        number += 1
        if len(rest) >= 2 * k:
            rest = _without(rest, least_of(_squares(points[rest], farthest), k), number, group)
            number += 1
    group[rest] = number


def _squares(points: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    gaps = points - centre
    total = np.zeros(len(points))
    for gap in gaps.T:
        total += gap * gap
    return total


def _without(
    rest: NDArray[np.int64], places: NDArray[np.int64], number: int, group: NDArray[np.int64]
) -> NDArray[np.int64]:
    group[rest[places]] = number
    return np.delete(rest, places)


def spans(keys: Keys, parts: Partitions, axes: Axes) -> None:
    """Write each partition's extents and order of attributes (see `mondrian.partition.spans`)."""
    borders = np.column_stack((parts.starts, parts.stops)).ravel()
    # `reduceat` needs an index within the array, even for a run that ends with the keys.
    codes = np.vstack((keys.codes, keys.codes[-1:]))
    parts.lows[:] = np.minimum.reduceat(codes, borders)[::2]
    parts.highs[:] = np.maximum.reduceat(codes, borders)[::2]
    width = np.empty(parts.lows.shape)
    for j in range(len(axes.weight)):
        low, high = (ends[:, j].astype(np.int64) for ends in (parts.lows, parts.highs))
        width[:, j] = _span(axes, j, low, high) * axes.weight[j]
    parts.order[:] = np.argsort(-width, axis=1, kind="stable")


def order_by_saving(keys: Keys, parts: Partitions, axes: Axes, least: int) -> None:
    """Order the attributes of each partition by the best cut's saving (see `mondrian.savings`)."""
    places, owner, _ = members_of_runs(parts.starts, parts.stops)
    savings = np.full(parts.lows.shape, -1.0)
    for j, size in enumerate(axes.size.tolist() if len(owner) else ()):
        words = owner * size + keys.codes[places, j].astype(np.int64)
        room = len(parts.starts) * size
        if room <= _DENSE * len(words):
            sums = np.bincount(words, keys.weights[places], room)
            values = np.flatnonzero(sums)
            sums = sums[values]
        else:
            values, inverse = np.unique(words, return_inverse=True)
            sums = np.bincount(inverse, keys.weights[places])
        records = sums.astype(np.int64)
        if axes.way[j] in (DOWN, EITHER):
            savings[:, j] = _savings_down(values, records, parts, axes, j, least)
        if axes.way[j] != DOWN:
            _write_savings_between(values, records, parts, axes, j, least, savings[:, j])
        savings[:, j] *= axes.weight[j]
    parts.order[:] = np.argsort(-savings, axis=1, kind="stable")


def _savings_down(
    values: NDArray[np.int64],
    records: NDArray[np.int64],
    parts: Partitions,
    axes: Axes,
    j: int,
    least: int,
) -> NDArray[np.float64]:
    """Return the saving of a cut below the common ancestor, by partition, or -1 for no such cut."""
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


def _write_savings_between(
    values: NDArray[np.int64],
    records: NDArray[np.int64],
    parts: Partitions,
    axes: Axes,
    j: int,
    least: int,
    most: NDArray[np.float64],
) -> None:
    """Write the saving of each partition's best cut between two values, and the rank above the cut.

    Parameters
    ----------
    values, records
        Partition and rank of each value, as one number, and the records with that value: int64[values].
    most
        float64[partitions]: the saving of another cut, replaced by a larger saving.
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
        distinct = np.diff(first, append=len(owner))[whose]
        below = right - first[whose]
        spans = [
            (values_there - 1) / max(axes.size[j] - 1, 1)
            for values_there in (distinct, below, distinct - below)
        ]
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
    """Share of an attribute covered by intervals of ranks, or 1 with the missing rank."""
    if axes.is_tree[j]:
        return _share(axes, j, _ancestor(axes, j, lo, hi))
    places = axes.positions[axes.offset[j] : axes.offset[j + 1]]
    width, absent = np.zeros(len(lo)), hi == axes.missing[j]
    if axes.extent[j] > 0:
        width[~absent] = (places[hi[~absent]] - places[lo[~absent]]) / axes.extent[j]
    width[absent & (lo != hi)] = 1.0
    return width


def _ancestor(axes: Axes, j: int, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.integer]:
    """Lowest common ancestors of intervals of leaf ranks (see `mondrian.runs.ancestor`)."""
    node: NDArray[np.integer] = axes.at_depth[axes.ladder[j + 1] - axes.size[j] + lo]
    while (below := axes.node_hi[axes.nodes[j] + node] <= hi).any():
        node[below] = axes.node_parent[axes.nodes[j] + node[below]]
    return node


def _share(axes: Axes, j: int, node: NDArray[np.integer]) -> NDArray[np.float64]:
    """Loss of nodes (see `mondrian.runs.share_of`)."""
    leaves = axes.node_hi[axes.nodes[j] + node] - axes.node_lo[axes.nodes[j] + node]
    return np.asarray((leaves - 1) / max(axes.size[j] - 1, 1))


def propose(keys: Keys, parts: Partitions, axes: Axes, least: int) -> None:
    """Write each partition's next cut with large enough sides.

    A cut by order is made at the rank in ``parts.cuts`` if there are any, else as balanced as possible.
    """
    parts.many[:] = 0
    attributes = keys.codes.shape[1]
    open_ = parts.totals >= 2 * least
    while True:
        waiting = np.flatnonzero(open_ & (parts.many == 0) & (parts.tried < attributes))
        if not len(waiting):
            return
        attribute = parts.order[waiting, parts.tried[waiting]].astype(np.int64)
        parts.tried[waiting] += 1
        wide = parts.lows[waiting, attribute] != parts.highs[waiting, attribute]
        down = np.isin(axes.way[attribute], (DOWN, EITHER))
        if parts.cuts.shape[1]:
            down &= parts.cuts[waiting, attribute] < 0
        if (across := wide & ~down).any():
            _cut(keys, parts, axes, least, waiting[across], attribute[across])
        for j in np.unique(attribute[wide & down]).tolist():
            _divide(keys, parts, axes, least, waiting[wide & down & (attribute == j)], j)


def _cut(
    keys: Keys,
    parts: Partitions,
    axes: Axes,
    least: int,
    chosen: NDArray[np.int64],
    attribute: NDArray[np.int64],
) -> None:
    """Cut partitions by order, by an attribute each, if both sides keep enough records."""
    places, owner, first = members_of_runs(parts.starts[chosen], parts.stops[chosen])
    total = parts.totals[chosen]
    highest = parts.highs[chosen, attribute].astype(np.int64)
    rank = keys.codes[places, attribute[owner]].astype(np.int64)
    weight = keys.weights[places]
    # Records without a value form a side of their own if there are enough.
    absent = np.add.reduceat(np.where(rank == highest[owner], weight, 0), first)
    apart = (highest == axes.missing[attribute]) & (absent >= least) & (total - absent >= least)
    if parts.cuts.shape[1]:
        ranks = parts.cuts[chosen, attribute]
        good = apart | (ranks >= 0)
    else:
        ranks, left = _middles(rank, weight, owner, first, total)
        good = apart | ((left >= least) & (total - left >= least))
    cut = np.where(apart, highest, ranks)
    moving = good[owner]
    keys.groups[places[moving]] = (rank >= cut[owner])[moving]
    parts.many[chosen[good]] = 2
    parts.binary[chosen[good]] = True


def _divide(keys: Keys, parts: Partitions, axes: Axes, least: int, chosen: NDArray[np.int64], j: int) -> None:
    """Divide partitions by the children of the common ancestor (see `mondrian.partition`)."""
    places, owner, _ = members_of_runs(parts.starts[chosen], parts.stops[chosen])
    node = _ancestor(axes, j, *(ends[chosen, j].astype(np.int64) for ends in (parts.lows, parts.highs)))
    depth = axes.node_depth[axes.nodes[j] + node] + 1
    child = axes.at_depth[axes.ladder[j] + depth[owner] * axes.size[j] + keys.codes[places, j]]
    nodes = axes.nodes[j + 1] - axes.nodes[j]
    words, inverse = np.unique(owner * nodes + child, return_inverse=True)
    whose, below = words // nodes, np.bincount(inverse, keys.weights[places])
    apart = below >= least
    pooled = np.bincount(whose[~apart], below[~apart], len(chosen))
    # If the pooled rest is too small, the smallest child joins, which is always enough.
    few = np.flatnonzero(apart & ((pooled > 0) & (pooled < least))[whose])
    few = few[np.lexsort((below[few], whose[few]))]
    apart[few[np.flatnonzero(np.diff(whose[few], prepend=-1))]] = False
    ways = np.bincount(whose[apart], minlength=len(chosen))
    before: NDArray[np.int64] = np.cumsum(apart) - apart
    side = np.where(apart, before - before[np.flatnonzero(np.diff(whose, prepend=-1))][whose], ways[whose])
    moving = ways[owner] > 0
    keys.groups[places[moving]] = side[inverse][moving]
    parts.many[chosen] = np.where(ways > 0, ways + (np.bincount(whose, minlength=len(chosen)) > ways), 0)
    parts.binary[chosen] = False


def _middles(
    rank: NDArray[np.int64],
    weight: NDArray[np.int64],
    owner: NDArray[np.int64],
    first: NDArray[np.int64],
    total: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First rank of the right side for the most balanced cut, and the weight left of the cut."""
    order = np.lexsort((rank, owner))
    ranked, owners = rank[order], owner[order]
    before = np.cumsum(weight[order]) - weight[order]
    before -= before[first][owners]
    begins = np.flatnonzero((ranked[1:] != ranked[:-1]) & (owners[1:] == owners[:-1])) + 1
    gap = np.abs(total[owners[begins]] - 2 * before[begins])
    best = begins[np.lexsort((begins, gap, owners[begins]))]
    _, at = np.unique(owners[best], return_index=True)
    best = best[at]
    return ranked[best], before[best]


def arrange(keys: Keys, sides: Sides) -> None:
    """Sort each partition's keys by group and write the ends of the sides."""
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
    """Concatenate runs: the places, the run of each place, and the start of each run in the list."""
    lengths = stops - starts
    first = np.cumsum(lengths) - lengths
    owner = np.repeat(np.arange(len(starts), dtype=np.int64), lengths)
    return np.arange(len(owner)) + (starts - first)[owner], owner, first
