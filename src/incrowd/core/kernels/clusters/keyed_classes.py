"""Classes of keys: costs, members, cheapest joins, median cuts, and lower bounds on costs and lost records.

A key is a row of ranks with a number of records as weight. The cells of a class are the smallest intervals of
ranks that cover all keys of the class, and each record of the class costs the sum of these cells' costs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.clusters.costs import Costs, cell_cost
from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.kernels.jit import compiled, inner, over_ranges

_TABLED = 1 << 11
"""Largest number of leaves for tabulating the costs of all intervals of a hierarchy."""
_NUMBER, _TABLE, _LADDER = range(3)
_KIND, _START, _SIZE, _MISSING, _WHOLE, _STEP = range(6)


class Cells(NamedTuple):
    """Costs of intervals of ranks, with the layout of attribute j in ``about[j]``.

    - A number: the place of each rank. ``lo .. hi`` costs the difference plus a step; with the missing rank,
      the cost of the whole column.
    - A small hierarchy: a table of all intervals, ``lo * size + hi``.
    - A large hierarchy: at level n the largest cost of a common ancestor among 2^n pairs of neighbouring
      ranks. An interval costs the maximum over the pairs within.
    """

    about: NDArray[np.int64]
    values: NDArray[np.int64]


class Points(NamedTuple):
    """Keys: ``ranks[i, j]``, and ``weights[i]`` records."""

    ranks: NDArray[np.int64]
    weights: NDArray[np.int64]


class KeyedClasses(NamedTuple):
    """Classes as linked lists of keys.

    ``totals[c]`` has the first key of class c (-1 for none), the records, the total cost and the cost of a
    record. ``bounds[0, c]`` and ``bounds[1, c]`` are the lowest and highest ranks of class c, and
    ``bounds[2, c]`` the costs of these cells; the last row is scratch space.
    ``links[i]`` has the next and the previous key in the class of key i, and the class.
    """

    totals: NDArray[np.int64]
    bounds: NDArray[np.int64]
    links: NDArray[np.int64]


HEAD, RECORDS, COST, EACH = range(4)
AFTER, BEFORE, CLASS = range(3)


def tabulate(costs: Costs) -> Cells:
    """Tabulate the interval costs of all attributes."""
    about = np.zeros((len(costs.is_tree), 6), np.int64)
    parts: list[NDArray[np.int64]] = []
    start = 0
    for j in range(len(about)):
        first, size = int(costs.first[j]), int(costs.first[j + 1] - costs.first[j])
        if not costs.is_tree[j]:
            kind, values = _NUMBER, costs.place[first : first + size]
        elif size <= _TABLED:
            kind, values = _TABLE, _all_intervals(costs, j, size)
        else:
            kind, values = _LADDER, _ladder(_neighbours(costs, j, size))
        about[j] = kind, start, size, costs.missing[j], costs.whole[j], costs.step[j]
        parts.append(values)
        start += len(values)
    return Cells(about, np.concatenate([np.zeros(0, np.int64), *parts]))


@compiled
def _all_intervals(costs, j, size):
    values = np.zeros(size * size, np.int64)
    for lo in range(size):
        for hi in range(lo, size):
            values[lo * size + hi] = cell_cost(costs, j, lo, hi)
    return values


@compiled
def _neighbours(costs, j, size):
    values = np.zeros(size - 1, np.int64)
    for rank in range(size - 1):
        values[rank] = cell_cost(costs, j, rank, rank + 1)
    return values


def _ladder(level: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sparse table for range maxima: maxima of 1, 2, 4, ... neighbours from each place, level by level."""
    size, levels = len(level), [level]
    width = 1
    while 2 * width <= size:
        higher = np.zeros(size, np.int64)
        higher[: size - 2 * width + 1] = np.maximum(
            levels[-1][: size - 2 * width + 1], levels[-1][width : size - width + 1]
        )
        levels.append(higher)
        width *= 2
    return np.concatenate(levels)


@compiled
def interval(cells: Cells, j: int, lo: int, hi: int) -> Any:
    """Cost of the cell ``lo .. hi`` of attribute j."""
    if lo == hi:
        return np.int64(0)
    about, values = cells.about, cells.values
    start = about[j, _START]
    if about[j, _KIND] == _TABLE:
        return values[start + lo * about[j, _SIZE] + hi]
    if about[j, _KIND] == _NUMBER:
        if hi == about[j, _MISSING]:
            return about[j, _WHOLE]
        return values[start + hi] - values[start + lo] + about[j, _STEP]
    level, width = 0, 1
    while 2 * width <= hi - lo:
        width *= 2
        level += 1
    start += level * (about[j, _SIZE] - 1)
    return max(values[start + lo], values[start + hi - width])


@inner
def distance(cells, points, a, b):
    """Cost of a record in a class of two keys."""
    total = np.int64(0)
    for j in range(points.ranks.shape[1]):
        one, other = points.ranks[a, j], points.ranks[b, j]
        total += interval(cells, j, min(one, other), max(one, other))
    return total


@inner
def picked(points, keys):
    """Select points by index."""
    ranks = np.empty((keys.size, points.ranks.shape[1]), np.int64)
    weights = np.empty(keys.size, np.int64)
    for at in range(keys.size):
        weights[at] = points.weights[keys[at]]
        for j in range(ranks.shape[1]):
            ranks[at, j] = points.ranks[keys[at], j]
    return Points(ranks, weights)


def changed(classes, cost):
    """Compare class costs with `cost`, bool[classes], and update `cost`."""
    is_changed = classes.totals[:, COST] != cost
    cost[:] = classes.totals[:, COST]
    return is_changed


@compiled
def keyed_classes(points, cells, class_of, room):
    """Build classes from a class number per key, with capacity `room`."""
    keys, width = points.ranks.shape
    totals = np.zeros((room, 4), np.int64)
    for c in range(room):
        totals[c, HEAD] = -1
    links = np.full((keys, 3), np.int64(-1))
    classes = KeyedClasses(totals, np.zeros((3, room + 1, width), np.int64), links)
    for i in range(keys):
        _link(classes, points, i, class_of[i])
    for c in range(room):
        settle(classes, points, cells, c)
    return classes


@inner
def _link(classes, points, i, c):
    totals, links = classes.totals, classes.links
    links[i, AFTER] = totals[c, HEAD]
    links[i, BEFORE] = -1
    links[i, CLASS] = c
    if totals[c, HEAD] >= 0:
        links[totals[c, HEAD], BEFORE] = i
    totals[c, HEAD] = i
    totals[c, RECORDS] += points.weights[i]


@inner
def move(classes, points, i, c):
    """Move key i to class c, without updating bounds and costs (see `settle`)."""
    totals, links = classes.totals, classes.links
    home, after, before = links[i, CLASS], links[i, AFTER], links[i, BEFORE]
    if before >= 0:
        links[before, AFTER] = after
    else:
        totals[home, HEAD] = after
    if after >= 0:
        links[after, BEFORE] = before
    totals[home, RECORDS] -= points.weights[i]
    _link(classes, points, i, c)


@inner
def settle(classes, points, cells, c):
    """Recompute the bounds and the cost of class c."""
    totals, bounds = classes.totals, classes.bounds
    if totals[c, HEAD] < 0:
        totals[c, COST] = 0
        return
    totals[c, EACH] = _covered(classes, points, cells, c, np.int64(-1), np.int64(-1))
    totals[c, COST] = totals[c, RECORDS] * totals[c, EACH]
    last = bounds.shape[1] - 1
    for j in range(bounds.shape[2]):
        for side in range(3):
            bounds[side, c, j] = bounds[side, last, j]


@inner
def take_in(classes, points, cells, c, i):
    """Extend the cells and the records of class c by key i, without linking the key."""
    totals = classes.totals
    totals[c, RECORDS] += points.weights[i]
    totals[c, EACH] += stretch(cells, classes.bounds, c, points, i)
    totals[c, COST] = totals[c, RECORDS] * totals[c, EACH]


@inner
def stretch(cells, bounds, c, points, i):
    """Extend the cells of class c by key i and return the growth of a record's cost."""
    growth = np.int64(0)
    for j in range(bounds.shape[2]):
        rank = points.ranks[i, j]
        if rank < bounds[0, c, j] or rank > bounds[1, c, j]:
            bounds[0, c, j], bounds[1, c, j] = min(bounds[0, c, j], rank), max(bounds[1, c, j], rank)
            before = bounds[2, c, j]
            bounds[2, c, j] = interval(cells, j, bounds[0, c, j], bounds[1, c, j])
            growth += bounds[2, c, j] - before
    return growth


@inner
def without(classes, points, cells, out, into):
    """Cost of the class of key `out` without `out` and with key `into` (-1: none)."""
    c = classes.links[out, CLASS]
    size = classes.totals[c, RECORDS] - points.weights[out]
    if into >= 0:
        size += points.weights[into]
    # A key strictly within all bounds leaves them unchanged.
    bounds, ranks = classes.bounds, points.ranks
    cost = np.int64(0)
    for j in range(ranks.shape[1]):
        low, high = bounds[0, c, j], bounds[1, c, j]
        if low < high and (ranks[out, j] == low or ranks[out, j] == high):
            return size * _covered(classes, points, cells, c, out, into)
        if into >= 0 and not low <= ranks[into, j] <= high:
            cost += interval(cells, j, min(low, ranks[into, j]), max(high, ranks[into, j]))
        else:
            cost += bounds[2, c, j]
    return size * cost


@inner
def _covered(classes, points, cells, c, out, into):
    """Write the cells of class c without key `out` and with key `into` (-1: none) into the scratch row.

    Returns the cost of a record in these cells. Pass -1 as int64: a constant is compiled as another type.
    """
    bounds, links, ranks = classes.bounds, classes.links, points.ranks
    last = bounds.shape[1] - 1
    for j in range(ranks.shape[1]):
        bounds[0, last, j] = 9223372036854775807
        bounds[1, last, j] = -1
    is_first = into >= 0
    i = into if is_first else classes.totals[c, HEAD]
    while i >= 0:
        if i != out:
            for j in range(ranks.shape[1]):
                bounds[0, last, j] = min(bounds[0, last, j], ranks[i, j])
                bounds[1, last, j] = max(bounds[1, last, j], ranks[i, j])
        i = classes.totals[c, HEAD] if is_first else links[i, AFTER]
        is_first = False
    cost = np.int64(0)
    for j in range(ranks.shape[1]):
        bounds[2, last, j] = interval(cells, j, bounds[0, last, j], bounds[1, last, j])
        cost += bounds[2, last, j]
    return cost


@inner
def best_join(classes, points, cells, i, limit):
    """Find the other class where key i adds the least cost below `limit`, or -1."""
    home = classes.links[i, CLASS]
    weight = points.weights[i]
    best, chosen = limit, np.int64(-1)
    for c in range(len(classes.totals)):
        growth = weight * classes.totals[c, EACH]
        if growth >= best or c == home or classes.totals[c, RECORDS] == 0:
            continue
        size = classes.totals[c, RECORDS] + weight
        for j in range(points.ranks.shape[1]):
            rank = points.ranks[i, j]
            low, high = min(classes.bounds[0, c, j], rank), max(classes.bounds[1, c, j], rank)
            growth += size * (interval(cells, j, low, high) - classes.bounds[2, c, j])
            if growth >= best:
                break
        if growth < best:
            best = growth
            chosen = np.int64(c)
    return chosen, best


@inner
def union_growth(classes, cells, a, b):
    """Growth of the total cost if classes a and b are merged."""
    cost = np.int64(0)
    for j in range(classes.bounds.shape[2]):
        low = min(classes.bounds[0, a, j], classes.bounds[0, b, j])
        high = max(classes.bounds[1, a, j], classes.bounds[1, b, j])
        cost += interval(cells, j, low, high)
    return (
        (classes.totals[a, RECORDS] + classes.totals[b, RECORDS]) * cost
        - classes.totals[a, COST]
        - classes.totals[b, COST]
    )


@inner
def class_members(classes, c, members, count):
    """Write the keys of class c to ``members[count:]`` and return the new count."""
    i = classes.totals[c, HEAD]
    while i >= 0:
        members[count] = i
        count += 1
        i = classes.links[i, AFTER]
    return count


@inner
def free_class(classes):
    """Return the first unused class number, -1 for none."""
    for c in range(len(classes.totals)):
        if classes.totals[c, RECORDS] == 0:
            return c
    return -1


_SAMPLE = 512
"""Points sampled for the choice of a cut; their median is off by a few percent of all points."""


def halve(
    ranks: NDArray[np.int64], members: NDArray[np.int64], cells: Cells, factors: NDArray[np.float64]
) -> int:
    """Move the points below the best cut to the front, in order, and return the number of points below.

    A cut lies at the median of one attribute and saves the cost of all points as one class less the cost of
    both sides, weighted by ``factors[j]``. The number is 0 for equal points.
    """
    count = min(len(members), _SAMPLE)
    attribute, bar = _cut(ranks[members[np.arange(count) * len(members) // count]], cells, factors)
    if attribute < 0 and count < len(members):
        # The points of a sample may be equal although others differ.
        attribute, bar = _cut(ranks[members], cells, factors)
    if attribute < 0:
        return 0
    below = ranks[members, attribute] < bar
    members[:] = np.concatenate((members[below], members[~below]))
    return int(below.sum())


def _cut(ranks: NDArray[np.int64], cells: Cells, factors: NDArray[np.float64]) -> tuple[int, int]:
    """Return the attribute to cut (-1 for none) and the first rank above the cut."""
    middle = len(ranks) // 2
    cut: tuple[int, int] = _best_cut(ranks, np.partition(ranks, middle, axis=0)[middle], cells, factors)
    return cut


@compiled
def _best_cut(ranks: Any, medians: Any, cells: Any, factors: Any) -> Any:
    best, chosen, bar = -1.0, -1, np.int64(0)
    for j in range(ranks.shape[1]):
        low = high = ranks[0, j]
        for i in range(ranks.shape[0]):
            low, high = min(low, ranks[i, j]), max(high, ranks[i, j])
        if low == high:
            continue
        first = medians[j] if low < medians[j] else medians[j] + 1
        # The last rank below the cut, and the one after it.
        last, after, below = low, high, 0
        for i in range(ranks.shape[0]):
            rank = ranks[i, j]
            if rank < first:
                below += 1
                last = max(last, rank)
            else:
                after = min(after, rank)
        saved = ranks.shape[0] * interval(cells, j, low, high)
        saved -= below * interval(cells, j, low, last)
        saved -= (ranks.shape[0] - below) * interval(cells, j, after, high)
        if factors[j] * saved > best:
            best = factors[j] * saved
            chosen = j
            bar = first
    return chosen, bar


_OFTEN = 1.15 ** np.arange(-16, 24)
"""Ratios of class share to table share above which a value belongs to the tested set of values."""


@compiled
def least_costs(start, stop, targets, points, cells, k, result):
    """Write the least cost of a cell with k records for keys ``targets[start:stop]`` into `result`.

    Of all keys the nearest are collected until the records suffice. Farther keys drop out.
    """
    keys, columns = points.ranks.shape
    costs = np.empty(k + 1, np.int64)
    weights = np.empty(k + 1, np.int64)
    for place in range(start, stop):
        key = targets[place]
        lacking = k - points.weights[key]
        if lacking <= 0:
            result[place] = 0
            continue
        count, records = 0, np.int64(0)
        for other in range(keys):
            if other == key:
                continue
            limit = costs[count - 1] if records >= lacking else np.int64(2**62)
            cost = np.int64(0)
            for j in range(columns):
                a, b = points.ranks[key, j], points.ranks[other, j]
                cost += interval(cells, j, min(a, b), max(a, b))
                if cost >= limit:
                    break
            if cost >= limit:
                continue
            at = count
            while at > 0 and costs[at - 1] > cost:
                costs[at], weights[at] = costs[at - 1], weights[at - 1]
                at -= 1
            costs[at], weights[at] = cost, points.weights[other]
            count += 1
            records += points.weights[other]
            while records - weights[count - 1] >= lacking:
                count -= 1
                records -= weights[count]
        result[place] = costs[count - 1]


@compiled
def _lost(start, stop, pairs, records, priors, ratios, limit, lost):
    steps = ratios.size
    pairs_at, records_at = np.empty(steps, np.int64), np.empty(steps, np.int64)
    mass = np.empty(steps)
    for group in range(start, stop):
        pairs_at[:], records_at[:], mass[:] = 0, 0, 0.0
        all_pairs = other_records = np.int64(0)
        for entry in range(pairs.indptr[group], pairs.indptr[group + 1]):
            all_pairs += pairs.counts[entry]
            other_records += records.counts[entry]
        for entry in range(pairs.indptr[group], pairs.indptr[group + 1]):
            prior = priors[pairs.codes[entry]]
            share = pairs.counts[entry] / all_pairs
            step = 0
            while step < steps and share > ratios[step] * prior:
                step += 1
            if step:
                pairs_at[step - 1] += pairs.counts[entry]
                records_at[step - 1] += records.counts[entry]
                mass[step - 1] += prior
        pairs_above = records_above = most = np.int64(0)
        reach = limit
        for step in range(steps - 1, -1, -1):
            pairs_above += pairs_at[step]
            records_above += records_at[step]
            other_records -= records_at[step]
            reach += mass[step]
            if pairs_at[step] == 0 or reach >= 1:
                continue
            room = reach / (1 - reach) * other_records
            # Rounding errors must not raise the bound.
            least = np.int64(np.ceil((pairs_above - room) * (1 - 1e-9) - 1e-6))
            # If nobody may be left, all records of the set go.
            most = np.maximum(most, records_above if room * (1 + 1e-9) + 1e-6 < 1 else least)
        lost[group] = most


def lost_of_pairs(
    pairs: Counts, records: Counts, priors: NDArray[np.float64], limit: float
) -> NDArray[np.int64]:
    """Lower bound on the records each class must lose until no part has values too often.

    Let S be a set of values, P(S) the share of S in the table, and ``r = P(S) + limit``. In a part within the
    limit, S has at most the share r of the pairs, so at most r / (1 - r) times the pairs of the other values,
    which have at most one pair per record. All parts together keep at most r / (1 - r) times the other
    records of the class. Every further pair of S loses a record. The sets tested contain the values with more
    than c times the table's share, for several c.

    Parameters
    ----------
    pairs, records
        People and records of each value in each class, the same values in both.
    priors
        float64[values]: the share of each value in the table.
    limit
        Largest sum of positive differences between the values' shares of class and table.

    Returns
    -------
    int64[classes]
    """
    lost = np.zeros(len(pairs.indptr) - 1, np.int64)
    over_ranges(_lost, pairs.indptr, pairs, records, priors, _OFTEN, limit, lost)
    return lost
