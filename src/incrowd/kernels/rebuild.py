"""Taking a few neighbouring classes apart and building them anew, where that costs less."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.exchange import exchange
from incrowd.kernels.jit import compiled, inner
from incrowd.kernels.joining import joined
from incrowd.kernels.keyed_classes import (
    CLASS,
    COST,
    RECORDS,
    cells_cost,
    changed,
    class_members,
    distance,
    free_class,
    interval,
    keyed_classes,
    move,
    picked,
    settle,
    union_growth,
)

__all__ = ["Blocks", "improve_blocks", "rebuild"]

_NEIGHBOURS = 5
"""Classes that are taken apart together with one."""
_TRIES = 4
"""Beginnings that are tried for each set of classes."""
_MOST_KEYS = 256
"""Keys that are built anew at most; the work grows with their square."""
_ROUNDS = 12


class Blocks(NamedTuple):
    """Sets of keys that are looked at apart: ``keys[indptr[b]:indptr[b + 1]]``, each with a seed."""

    indptr: NDArray[np.int64]
    keys: NDArray[np.int64]
    seeds: NDArray[np.uint64]


@compiled
def improve_blocks(start, stop, blocks, points, cells, k, class_of):
    """Give the keys of blocks ``start .. stop`` classes of least cost.

    ``class_of`` holds numbers from 0 in each block, or -1 for all keys of a block that has no classes yet. It
    gets the new ones.
    """
    for b in range(start, stop):
        keys = blocks.keys[blocks.indptr[b] : blocks.indptr[b + 1]]
        own = picked(points, keys)
        numbers = np.empty(keys.size, np.int64)
        for i in range(keys.size):
            numbers[i] = class_of[keys[i]]
        if numbers[0] < 0:
            numbers = joined(own, cells, k)
        classes = keyed_classes(own, cells, numbers, _room(own, numbers, k))
        exchange(classes, own, cells, k, _ROUNDS)
        rebuild(classes, own, cells, k, blocks.seeds[b])
        exchange(classes, own, cells, k, _ROUNDS)
        number = np.full(len(classes.totals), -1, np.int64)
        count = 0
        for i in range(keys.size):
            c = classes.links[i, CLASS]
            if number[c] < 0:
                number[c] = count
                count += 1
            class_of[keys[i]] = number[c]


@inner
def _room(points, numbers, k):
    """Return for how many classes there must be room: none is made with fewer than k records, some may be."""
    records = np.zeros(numbers.size, np.int64)
    total = np.int64(0)
    for i in range(numbers.size):
        records[numbers[i]] += points.weights[i]
        total += points.weights[i]
    room = total // k + 1
    for c in range(numbers.size):
        room += 0 < records[c] < k
    return room


@inner
def rebuild(classes, points, cells, k, seed):
    """Take each class apart with its nearest ones and build them anew; three times, or while it helps."""
    members = np.empty(points.weights.size, np.int64)
    near = np.empty(_NEIGHBOURS, np.int64)
    labels = np.empty(_MOST_KEYS, np.int64)
    best_labels = np.empty(_MOST_KEYS, np.int64)
    state = np.array([seed], np.uint64)
    cost = np.full(len(classes.totals), -1, np.int64)
    for _ in range(3):
        better = 0
        fresh = changed(classes, cost)
        for c in range(len(classes.totals)):
            if classes.totals[c, COST] == 0 or not fresh[c]:
                continue
            found = _neighbours(classes, cells, c, near)
            many = class_members(classes, c, members, 0)
            before = classes.totals[c, COST]
            for n in range(found):
                before += classes.totals[near[n], COST]
                many = class_members(classes, near[n], members, many)
                if many > _MOST_KEYS:
                    break
                if n not in (0, found // 2, found - 1):
                    continue
                keys = members[:many]
                part = picked(points, keys)
                count = _best_build(part, cells, k, before, state, labels, best_labels)
                if count:
                    _replace(classes, points, cells, keys, best_labels, count)
                    better += 1
                    break
        if better <= len(classes.totals) // 200:
            return


@inner
def _neighbours(classes, cells, c, near):
    """Find the classes that c is cheapest to join, the cheapest first: how many there are."""
    growths = np.empty(near.size, np.int64)
    found = 0
    for b in range(len(classes.totals)):
        if b == c or classes.totals[b, RECORDS] == 0:
            continue
        growth = union_growth(classes, cells, c, b)
        if found == near.size and growth >= growths[found - 1]:
            continue
        at = found if found < near.size else found - 1
        if found < near.size:
            found += 1
        while at > 0 and growths[at - 1] > growth:
            growths[at] = growths[at - 1]
            near[at] = near[at - 1]
            at -= 1
        growths[at] = growth
        near[at] = b
    return found


@inner
def _best_build(part, cells, k, before, state, labels, best_labels):
    """Build classes of some keys from several beginnings; how many the cheapest has, 0 if none costs less."""
    best, chosen = before, 0
    for _ in range(_TRIES):
        state[0] = state[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        begin = np.int64((state[0] >> np.uint64(33)) % np.uint64(part.weights.size))
        count, cost = _build(part, cells, k, begin, labels)
        if cost < best:
            best = cost
            chosen = count
            for i in range(part.weights.size):
                best_labels[i] = labels[i]
    return chosen


@inner
def _build(part, cells, k, begin, labels):
    """Grow one class of k records after the other, each from the key farthest from the seed before.

    Writes the class of each key and returns how many there are, and their cost.
    """
    keys = part.weights.size
    left = np.int64(0)
    for i in range(keys):
        labels[i] = -1
        left += part.weights[i]
    most = max(left // k, 1)
    bounds = np.empty((2, most, part.ranks.shape[1]), np.int64)
    sizes = np.zeros(most, np.int64)
    count = 0
    while left >= k:
        begin = _farthest(part, cells, labels, begin)
        at = begin
        while True:
            labels[at] = count
            left -= part.weights[at]
            _take_in(part, bounds, sizes, count, at)
            if sizes[count] >= k:
                break
            at = _cheapest_key(part, cells, labels, bounds, count)
        count += 1
    for i in range(keys):
        if labels[i] < 0:
            labels[i] = _cheapest_class(part, cells, i, bounds, sizes, count)
            _take_in(part, bounds, sizes, labels[i], i)
    cost = np.int64(0)
    for c in range(count):
        cost += sizes[c] * cells_cost(cells, bounds, c)
    return count, cost


@inner
def _take_in(part, bounds, sizes, c, i):
    """Add a key to a class, which it begins if that is empty."""
    for j in range(bounds.shape[2]):
        rank = part.ranks[i, j]
        bounds[0, c, j] = min(bounds[0, c, j], rank) if sizes[c] else rank
        bounds[1, c, j] = max(bounds[1, c, j], rank) if sizes[c] else rank
    sizes[c] += part.weights[i]


@inner
def _farthest(part, cells, labels, begin):
    """Find the key in no class that is farthest from one."""
    most, chosen = np.int64(-1), begin
    for i in range(part.weights.size):
        if labels[i] < 0:
            apart = distance(cells, part, begin, i)
            if apart > most:
                most = apart
                chosen = i
    return chosen


@inner
def _cheapest_key(part, cells, labels, bounds, c):
    """Find the key in no class whose records cost least in a class."""
    best, chosen = np.int64(9223372036854775807), 0
    for i in range(part.weights.size):
        if labels[i] < 0:
            cost = np.int64(0)
            for j in range(bounds.shape[2]):
                rank = part.ranks[i, j]
                cost += interval(cells, j, min(bounds[0, c, j], rank), max(bounds[1, c, j], rank))
                if cost >= best:
                    break
            if cost < best:
                best = cost
                chosen = i
    return chosen


@inner
def _cheapest_class(part, cells, i, bounds, sizes, count):
    """Find the class that a key makes grow least."""
    best, chosen = np.int64(9223372036854775807), 0
    for c in range(count):
        cost = np.int64(0)
        for j in range(bounds.shape[2]):
            rank = part.ranks[i, j]
            cost += interval(cells, j, min(bounds[0, c, j], rank), max(bounds[1, c, j], rank))
        cost = (sizes[c] + part.weights[i]) * cost - sizes[c] * cells_cost(cells, bounds, c)
        if cost < best:
            best = cost
            chosen = c
    return chosen


@inner
def _replace(classes, points, cells, keys, labels, count):
    """Give some keys, which are whole classes, the classes that were built of them."""
    old, numbers = np.empty(keys.size, np.int64), np.empty(count, np.int64)
    many = 0
    for i in keys:
        c = classes.links[i, CLASS]
        known = False
        for at in range(many):
            known = known or old[at] == c
        if not known:
            old[many] = c
            many += 1
    for c in range(count):
        numbers[c] = old[c] if c < many else free_class(classes)
        if c >= many:
            # It is no longer free once it has its keys.
            for at in range(keys.size):
                if labels[at] == c:
                    move(classes, points, keys[at], numbers[c])
    for at in range(keys.size):
        if classes.links[keys[at], CLASS] != numbers[labels[at]]:
            move(classes, points, keys[at], numbers[labels[at]])
    for c in range(many):
        settle(classes, points, cells, old[c])
    for c in range(count):
        settle(classes, points, cells, numbers[c])
