"""Local search on classes: merge neighbouring classes, and rebuild from scratch if cheaper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.clusters.exchange import exchange
from incrowd.core.kernels.clusters.keyed_classes import (
    CLASS,
    COST,
    RECORDS,
    Points,
    changed,
    class_members,
    distance,
    free_class,
    interval,
    keyed_classes,
    move,
    picked,
    settle,
    stretch,
    union_growth,
)
from incrowd.core.kernels.jit import compiled, inner

_NEIGHBOURS = 5
"""Most neighbouring classes rebuilt together with a class."""
_TRIES = 4
"""First keys tried for each rebuilt set of classes."""
_MOST_KEYS = 256
"""Most keys rebuilt together; the work is quadratic."""
_ROUNDS = 12
_INFINITE = 9223372036854775807


class Blocks(NamedTuple):
    """Independent sets of keys, ``keys[indptr[b]:indptr[b + 1]]`` for block b, with a seed each."""

    indptr: NDArray[np.int64]
    keys: NDArray[np.int64]
    seeds: NDArray[np.uint64]


def improve_blocks(start, stop, blocks, points, cells, k, class_of):
    """Assign the keys of blocks ``start .. stop - 1`` to classes of low cost.

    ``class_of`` has class numbers from 0 in each block, or -1 for all keys of a block without classes, and is
    overwritten by the new numbers. Its steps are kernels of their own, which compile sooner than one of all.
    """
    for b in range(start, stop):
        keys = blocks.keys[blocks.indptr[b] : blocks.indptr[b + 1]]
        part = Points(points.ranks[keys], points.weights[keys])
        numbers = class_of[keys]
        if numbers[0] < 0:
            numbers = joined(part, cells, k)
        classes = keyed_classes(part, cells, numbers, _room(part, numbers, k))
        exchange(classes, part, cells, k, _ROUNDS)
        _rebuild(classes, part, cells, k, blocks.seeds[b])
        exchange(classes, part, cells, k, _ROUNDS)
        # Classes are numbered in order of their first keys.
        _, first, inverse = np.unique(classes.links[:, CLASS], return_index=True, return_inverse=True)
        class_of[keys] = np.argsort(np.argsort(first))[inverse]


def _room(points, numbers, k):
    """Capacity for classes: new classes have k records, classes of `numbers` may have fewer."""
    records = np.bincount(numbers, points.weights)
    return int(points.weights.sum() // k) + 1 + int(((records > 0) & (records < k)).sum())


def _rebuild(classes, points, cells, k, seed):
    """Rebuild each class together with the nearest classes, in three rounds at most.

    The search ends early after a round with few rebuilt classes.
    """
    state = np.array([seed], np.uint64)
    cost = np.full(len(classes.totals), -1, np.int64)
    for _ in range(3):
        if _rebuild_changed(classes, points, cells, k, changed(classes, cost), state) <= len(cost) // 200:
            return


@compiled
def _rebuild_changed(classes, points, cells, k, fresh, state):
    """Rebuild the classes in `fresh` together with the nearest ones, and return the number of cheaper builds.

    ``state[0]`` is the state of the random numbers.
    """
    members = np.empty(points.weights.size, np.int64)
    near = np.empty(_NEIGHBOURS, np.int64)
    labels = np.empty(_MOST_KEYS, np.int64)
    best_labels = np.empty(_MOST_KEYS, np.int64)
    better = 0
    for c in range(len(classes.totals)):
        if classes.totals[c, COST] == 0 or not fresh[c]:
            continue
        count_near = _neighbours(classes, cells, c, near)
        many = class_members(classes, c, members, np.int64(0))
        before = classes.totals[c, COST]
        for n in range(count_near):
            before += classes.totals[near[n], COST]
            many = class_members(classes, near[n], members, many)
            if many > _MOST_KEYS:
                break
            if n not in (0, count_near // 2, count_near - 1):
                continue
            keys = members[:many]
            part = picked(points, keys)
            count = _best_build(part, cells, k, before, state, labels, best_labels)
            if count:
                _replace(classes, points, cells, keys, best_labels, count)
                better += 1
                break
    return better


@inner
def _neighbours(classes, cells, c, near):
    """Write the cheapest classes to merge with class c, ascending by cost, and return the number."""
    growths = np.empty(near.size, np.int64)
    count = 0
    for b in range(len(classes.totals)):
        if b == c or classes.totals[b, RECORDS] == 0:
            continue
        growth = union_growth(classes, cells, c, b)
        if count == near.size and growth >= growths[count - 1]:
            continue
        at = count if count < near.size else count - 1
        if count < near.size:
            count += 1
        while at > 0 and growths[at - 1] > growth:
            growths[at] = growths[at - 1]
            near[at] = near[at - 1]
            at -= 1
        growths[at] = growth
        near[at] = b
    return count


class _Built(NamedTuple):
    """Classes under construction, with the layout of `KeyedClasses`, and the free keys.

    ``totals[c]`` has the records of class c and the cost of a record. ``free`` starts as all keys in order.
    """

    bounds: NDArray[np.int64]
    totals: NDArray[np.int64]
    free: NDArray[np.int64]


@inner
def _best_build(part, cells, k, before, state, labels, best_labels):
    """Build classes from several first keys and return the cheapest number of classes, 0 if not cheaper."""
    keys, width = part.ranks.shape
    records = np.int64(0)
    for i in range(keys):
        records += part.weights[i]
    room = max(records // k, 1)
    built = _Built(
        np.empty((3, room, width), np.int64), np.empty((room, 2), np.int64), np.empty(keys, np.int64)
    )
    firsts = np.full(_TRIES, np.int64(-1))
    best, chosen = before, 0
    for turn in range(_TRIES):
        state[0] = state[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        for i in range(keys):
            built.free[i] = i
        first = _farthest(part, cells, built.free, np.int64((state[0] >> np.uint64(33)) % np.uint64(keys)))
        # The same first key gives the same classes.
        is_repeat = False
        for other in firsts:
            is_repeat = is_repeat or other == first
        if is_repeat:
            continue
        firsts[turn] = first
        count, cost = _build(part, cells, k, built, first, labels, best)
        if cost < best:
            best = cost
            chosen = count
            for i in range(keys):
                best_labels[i] = labels[i]
    return chosen


@inner
def _build(part, cells, k, built, begin, labels, limit):
    """Grow classes of k records in turn, each from the free key farthest from the previous seed.

    Writes the class of each key. Returns the number of classes and the cost, infinite from the limit on.
    """
    bounds, totals, free = built
    left, count, cost = np.int64(0), np.int64(0), np.int64(0)
    for i in free:
        left += part.weights[i]
    while left >= k:
        at = begin
        _begin(part, built, count, at)
        while True:
            labels[at] = count
            left -= part.weights[at]
            free = _without(free, at)
            if totals[count, 0] >= k:
                break
            at = _cheapest_key(part, cells, free, bounds, totals[count, 1], count)
            _take_in(part, cells, built, count, at)
        cost += totals[count, 0] * totals[count, 1]
        count += 1
        if cost >= limit:
            return count, _INFINITE
        if left >= k:
            begin = _farthest(part, cells, free, begin)
    for i in free:
        labels[i] = _cheapest_class(part, cells, i, built, count)
        _take_in(part, cells, built, labels[i], i)
    cost = np.int64(0)
    for c in range(count):
        cost += totals[c, 0] * totals[c, 1]
    return count, cost


@inner
def _begin(part, built, c, i):
    """Start class c with key i."""
    built.totals[c, 0] = part.weights[i]
    built.totals[c, 1] = 0
    for j in range(part.ranks.shape[1]):
        built.bounds[0, c, j] = built.bounds[1, c, j] = part.ranks[i, j]
        built.bounds[2, c, j] = 0


@inner
def _take_in(part, cells, built, c, i):
    """Add key i to class c."""
    built.totals[c, 0] += part.weights[i]
    built.totals[c, 1] += stretch(cells, built.bounds, c, part, i)


@inner
def _without(free, i):
    """Remove key i from the free keys, in order."""
    at = 0
    while free[at] != i:
        at += 1
    for place in range(at, free.size - 1):
        free[place] = free[place + 1]
    return free[: free.size - 1]


@inner
def _farthest(part, cells, free, begin):
    """Find the free key farthest from key `begin`."""
    most, chosen = np.int64(-1), begin
    for i in free:
        apart = distance(cells, part, begin, i)
        if apart > most:
            most = apart
            chosen = i
    return chosen


@inner
def _cheapest_key(part, cells, free, bounds, each, c):
    """Find the free key with the least cost of a record in class c, which costs `each` now."""
    best, chosen = _INFINITE, free[0]
    for i in free:
        cost = each
        for j in range(bounds.shape[2]):
            low, high = min(bounds[0, c, j], part.ranks[i, j]), max(bounds[1, c, j], part.ranks[i, j])
            cost += interval(cells, j, low, high) - bounds[2, c, j]
            if cost >= best:
                break
        if cost < best:
            best = cost
            chosen = i
    return chosen


@inner
def _cheapest_class(part, cells, i, built, count):
    """Find the class with the least growth of cost by key i."""
    weight = part.weights[i]
    best, chosen = _INFINITE, 0
    for c in range(count):
        size, each = built.totals[c, 0], built.totals[c, 1]
        growth = weight * each
        if growth < best:
            for j in range(built.bounds.shape[2]):
                rank = part.ranks[i, j]
                low, high = min(built.bounds[0, c, j], rank), max(built.bounds[1, c, j], rank)
                growth += (size + weight) * (interval(cells, j, low, high) - built.bounds[2, c, j])
                if growth >= best:
                    break
            if growth < best:
                best = growth
                chosen = c
    return chosen


@inner
def _replace(classes, points, cells, keys, labels, count):
    """Replace the classes of `keys`, which are complete, by the `count` rebuilt classes."""
    old, numbers = np.empty(keys.size, np.int64), np.empty(count, np.int64)
    many = 0
    for i in keys:
        c = classes.links[i, CLASS]
        is_listed = False
        for at in range(many):
            is_listed = is_listed or old[at] == c
        if not is_listed:
            old[many] = c
            many += 1
    for c in range(count):
        numbers[c] = old[c] if c < many else free_class(classes)
        if c >= many:
            # The number is no longer free once keys are assigned.
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


class _Unions(NamedTuple):
    """Classes by first key: bounds of ranks, and totals of records and cost."""

    bounds: NDArray[np.int64]
    totals: NDArray[np.int64]


@inner
def _growth(cells, unions, a, b, k, limit):
    """Growth of cost per record by merging classes a and b, for k records at most (infinite from `limit`)."""
    bounds, totals = unions
    size, current = totals[0, a] + totals[0, b], totals[1, a] + totals[1, b]
    # Records beyond k were not needed, so they do not make a union cheaper.
    weight = min(size, k)
    most = (limit * weight + current) / size
    cost = np.int64(0)
    for j in range(bounds.shape[2]):
        low, high = min(bounds[0, a, j], bounds[0, b, j]), max(bounds[1, a, j], bounds[1, b, j])
        cost += interval(cells, j, low, high)
        if cost > most:
            return np.inf
    return (size * cost - current) / weight


@inner
def _nearest(cells, unions, a, alive, left, k):
    """Find the cheapest class for class a to join, ties to the first."""
    best, chosen = np.inf, np.int64(-1)
    for at in range(left):
        b = alive[at]
        if b != a:
            growth = _growth(cells, unions, a, b, k, best)
            if growth < best:
                best = growth
                chosen = b
    return chosen, best


@compiled
def joined(points, cells, k):
    """Merge keys until every class has k records, and return the classes from 0: int64[keys].

    Each class of fewer than k records has a target, the cheapest class to join. The cheapest union of all is
    carried out, and classes with a merged or grown target look for a new target::

        k = 2, keys 1 2 5 6 7      1 joins 2, 7 joins 6, and 5 joins 6 7
        classes {1 2} {5 6 7}
    """
    keys = points.weights.size
    unions = _Unions(np.empty((2, *points.ranks.shape), np.int64), np.zeros((2, keys), np.int64))
    for a in range(keys):
        unions.totals[0, a] = points.weights[a]
        for j in range(points.ranks.shape[1]):
            unions.bounds[0, a, j] = unions.bounds[1, a, j] = points.ranks[a, j]
    alive, place, into = np.arange(keys), np.arange(keys), np.arange(keys)
    left = keys
    target = np.full(keys, np.int64(-1))
    growth = np.full(keys, np.inf)
    for a in range(keys):
        if points.weights[a] < k:
            target[a], growth[a] = _nearest(cells, unions, a, alive, left, k)
    while left > 1:
        a = alive[0]
        for at in range(1, left):
            if growth[alive[at]] < growth[a]:
                a = alive[at]
        if growth[a] == np.inf:
            break
        b = target[a]
        # The target may be merged or may have grown since.
        if into[b] != b or _growth(cells, unions, a, b, k, np.inf) > growth[a]:
            target[a], growth[a] = _nearest(cells, unions, a, alive, left, k)
            continue
        into[a] = b
        left -= 1
        alive[place[a]] = alive[left]
        place[alive[left]] = place[a]
        _unite(cells, unions, a, b)
        growth[b] = np.inf
        if unions.totals[0, b] < k and left > 1:
            target[b], growth[b] = _nearest(cells, unions, b, alive, left, k)
    return _numbered(into)


@inner
def _unite(cells, unions, a, b):
    """Merge class a into class b."""
    bounds, totals = unions
    cost = np.int64(0)
    for j in range(bounds.shape[2]):
        bounds[0, b, j] = min(bounds[0, a, j], bounds[0, b, j])
        bounds[1, b, j] = max(bounds[1, a, j], bounds[1, b, j])
        cost += interval(cells, j, bounds[0, b, j], bounds[1, b, j])
    totals[0, b] += totals[0, a]
    totals[1, b] = totals[0, b] * cost


@inner
def _numbered(into):
    """Return the number of each key's root, from 0."""
    number = np.full(into.size, -1, np.int64)
    numbers = np.empty(into.size, np.int64)
    count = 0
    for a in range(into.size):
        root = a
        while into[root] != root:
            root = into[root]
        if number[root] < 0:
            number[root] = count
            count += 1
        numbers[a] = number[root]
    return numbers
