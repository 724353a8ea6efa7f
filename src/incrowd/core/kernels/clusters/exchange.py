"""Local search on classes: moves and swaps of keys, dissolving and splitting of classes."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.clusters.keyed_classes import (
    AFTER,
    CLASS,
    COST,
    HEAD,
    RECORDS,
    best_join,
    changed,
    class_members,
    distance,
    free_class,
    interval,
    move,
    settle,
    take_in,
    without,
)
from incrowd.core.kernels.jit import compiled, inner

_SWAPS = 64
"""Most keys of a class tried as swap partners."""


def exchange(classes, points, cells, k, rounds):
    """Improve classes by moves, swaps, dissolving and splitting, with k records in every class.

    Stops after `rounds`, or when a round changes at most one key in a thousand.
    """
    cost = np.full(len(classes.totals), -1, np.int64)
    for _ in range(rounds):
        # The keys of a class with unchanged cost were tried in the round before.
        fresh = changed(classes, cost)
        changes = _exchange_keys(classes, points, cells, k, fresh)
        changes += _dissolve_or_split(classes, points, cells, k, fresh)
        if changes <= points.weights.size // 1000:
            return


@compiled
def _exchange_keys(classes, points, cells, k, fresh):
    """Move or swap each key of the classes in `fresh`, and return the number of changes."""
    changes = 0
    for i in range(points.weights.size):
        if fresh[classes.links[i, CLASS]]:
            changes += _move_or_swap(classes, points, cells, k, i)
    return changes


@compiled
def _dissolve_or_split(classes, points, cells, k, fresh):
    """Dissolve small and split large classes in `fresh`, and return the number of changes."""
    members = np.empty(points.weights.size, np.int64)
    target = np.empty(points.weights.size, np.int64)
    changes = 0
    for c in range(len(classes.totals)):
        if not fresh[c] or classes.totals[c, RECORDS] == 0:
            continue
        if classes.totals[c, RECORDS] < 2 * k:
            changes += _dissolve(classes, points, cells, c, members, target)
        else:
            changes += _split(classes, points, cells, k, c, members)
    return changes


@inner
def _move_or_swap(classes, points, cells, k, i):
    """Move key i to a cheaper class, or swap if class `home` would become too small.

    With k = 3, keys of one record, and a cost of records times range::

        home 1 2 8 (21), there 7 9 9 9 (8)      8 cannot move: home would have 2 records
        home 1 2 7 (18), there 8 9 9 9 (4)      8 swapped for 7 costs 22 instead of 29
    """
    home = classes.links[i, CLASS]
    rest = classes.totals[home, RECORDS] - points.weights[i]
    if classes.totals[home, COST] == 0 or rest == 0:
        return 0
    saved = classes.totals[home, COST] - without(classes, points, cells, i, np.int64(-1))
    there, _ = best_join(classes, points, cells, i, saved)
    if there < 0:
        return 0
    if rest >= k:
        move(classes, points, i, there)
    else:
        other = _best_swap(classes, points, cells, k, i, there)
        if other < 0:
            return 0
        move(classes, points, i, there)
        move(classes, points, other, home)
    settle(classes, points, cells, home)
    settle(classes, points, cells, there)
    return 1


@inner
def _best_swap(classes, points, cells, k, i, there):
    """Find the key of class `there` to swap with key i at the lowest total cost, or -1."""
    home = classes.links[i, CLASS]
    before = classes.totals[home, COST] + classes.totals[there, COST]
    best, chosen = before, np.int64(-1)
    other, tried = classes.totals[there, HEAD], 0
    while other >= 0 and tried < _SWAPS:
        tried += 1
        grown = points.weights[other] - points.weights[i]
        if classes.totals[home, RECORDS] + grown >= k and classes.totals[there, RECORDS] - grown >= k:
            cost = without(classes, points, cells, i, other)
            if cost < best:
                cost += without(classes, points, cells, other, i)
                if cost < best:
                    best = cost
                    chosen = other
        other = classes.links[other, AFTER]
    return chosen


@inner
def _dissolve(classes, points, cells, c, members, target):
    """Distribute the keys of a class over other classes if the total cost falls::

    class 1 9 (16), others 1 2 (2) and 8 9 (2)      20
    1 1 2 (3) and 8 9 9 (3)                          6
    """
    before = classes.totals[c, COST]
    if before == 0:
        return 0
    many = class_members(classes, c, members, np.int64(0))
    size = classes.totals[c, RECORDS]
    # A class without records is no target of a join.
    classes.totals[c, RECORDS] = 0
    spent, done = np.int64(0), 0
    while done < many:
        i = members[done]
        there, growth = best_join(classes, points, cells, i, before - spent)
        if there < 0:
            break
        spent += growth
        target[done] = there
        take_in(classes, points, cells, there, i)
        done += 1
    for at in range(done):
        classes.totals[target[at], RECORDS] -= points.weights[members[at]]
    classes.totals[c, RECORDS] = size
    if done == many:
        for at in range(many):
            move(classes, points, members[at], target[at])
        classes.totals[c, COST] = 0
    for at in range(done):
        settle(classes, points, cells, target[at])
    return 1 if done == many else 0


@inner
def _split(classes, points, cells, k, c, members):
    """Split a class in two if the cost falls: order by closeness to two distant keys, then cut::

    keys 1 2 8 9 (32), k = 2; the distant keys are 1 and 9
    1 | 2 8 9 is too small, 1 2 | 8 9 costs 2 + 2, 1 2 8 | 9 is too small
    """
    many = class_members(classes, c, members, np.int64(0))
    if many < 2 or classes.totals[c, COST] == 0:
        return 0
    one = members[0]
    other = one
    for _ in range(3):
        one, other = other, one
        most = np.int64(-1)
        for at in range(many):
            apart = distance(cells, points, one, members[at])
            if apart > most:
                most = apart
                other = members[at]
    nearer = np.empty(many, np.int64)
    for at in range(many):
        nearer[at] = distance(cells, points, one, members[at]) - distance(cells, points, other, members[at])
    row = _in_order(members, nearer)
    cut = _best_cut(classes, points, cells, k, c, row)
    there = free_class(classes) if cut >= 0 else -1
    if there < 0:
        return 0
    for at in range(cut + 1):
        move(classes, points, row[at], there)
    settle(classes, points, cells, c)
    settle(classes, points, cells, there)
    return 1


@inner
def _in_order(items, values):
    """Sort the first items by `values` in a stable merge sort."""
    many = values.size
    row, other = np.arange(many), np.empty(many, np.int64)
    width = 1
    while width < many:
        for start in range(0, many, 2 * width):
            middle, stop = min(start + width, many), min(start + 2 * width, many)
            a, b = start, middle
            for at in range(start, stop):
                if a < middle and (b >= stop or values[row[a]] <= values[row[b]]):
                    other[at] = row[a]
                    a += 1
                else:
                    other[at] = row[b]
                    b += 1
        row, other = other, row
        width *= 2
    for at in range(many):
        row[at] = items[row[at]]
    return row


@inner
def _best_cut(classes, points, cells, k, c, row):
    """Find the last position of the left side in the cheapest cut below the class's cost, or -1."""
    many = row.size
    behind = np.zeros(many + 1, np.int64)
    size = np.int64(0)
    for at in range(many - 1, -1, -1):
        size += points.weights[row[at]]
        behind[at] = size * _stretched(classes, points, cells, row[at], at == many - 1)
    best, chosen = classes.totals[c, COST], -1
    size = np.int64(0)
    for at in range(many - 1):
        size += points.weights[row[at]]
        cost = size * _stretched(classes, points, cells, row[at], at == 0) + behind[at + 1]
        if size >= k and classes.totals[c, RECORDS] - size >= k and cost < best:
            best = cost
            chosen = at
    return chosen


@inner
def _stretched(classes, points, cells, i, afresh):
    """Extend the scratch cells (last row of the bounds) by key i, or restart, and return the cost."""
    bounds = classes.bounds
    last = bounds.shape[1] - 1
    cost = np.int64(0)
    for j in range(bounds.shape[2]):
        rank = points.ranks[i, j]
        bounds[0, last, j] = rank if afresh else min(bounds[0, last, j], rank)
        bounds[1, last, j] = rank if afresh else max(bounds[1, last, j], rank)
        cost += interval(cells, j, bounds[0, last, j], bounds[1, last, j])
    return cost
