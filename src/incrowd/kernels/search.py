"""The search of a lattice under models that look at sizes alone, without Python between nodes."""

from __future__ import annotations

import numpy as np

from incrowd.kernels.hashing import slot_of
from incrowd.kernels.jit import compiled, inner
from incrowd.kernels.lattice import choose_nodes, fill_box, lower_box, raise_box
from incrowd.kernels.search_arrays import CLASSES
from incrowd.kernels.search_splits import raise_below

__all__ = ["ALIVE", "COUNTS", "NO_GROUPS", "search_nodes"]

_TABLES, _KEPT, _PLACE, _PLANNED, _MANY, ALIVE, COUNTS = range(7)
"""Places in `Nodes.counts`: entries of tables, nodes kept, the place in the plan and its end, how many nodes
were wanted, and how many were open."""

_NODE, _GOOD, _FAILS, _GONE, _CLASSES, _SMALLEST = range(6)
_SCORE, _BOUND, _FLOOR = range(3)
"""Columns of `Found`."""

_WORTH = 0.8
"""Groups are kept for the nodes above where they are fewer than this share of those they were made of."""

_PLACES = 2**32
"""What the groups of a node are multiplied with in `Kept.fewest`, so that its place can be added."""

NO_GROUPS = 2**63 - 1
"""In `Kept.fewest`: no groups were kept of a node below."""

_DENSE = 8
"""Combinations of cells for each key that is grouped, up to which all are counted."""


@compiled
def search_nodes(given, nodes, room, kept, found, most):
    """Look at nodes until all is settled, or so many were looked at; the next call goes on.

    Parameters
    ----------
    given, nodes, room, kept, found
        See `kernels.search_arrays`.
    most
        How many nodes may be looked at.

    Returns
    -------
    int
        How many were looked at; 0 when all is settled.
    """
    keys, cells, counts = given.keys, given.cells, nodes.counts
    levels = np.empty(nodes.shape.size, np.int64)
    bottom = np.zeros(levels.size, np.int64)
    # A plain 0 would be a type of its own to the compiler, which would make what it is given to twice.
    looked = np.int64(0)
    while looked < most:
        if counts[_PLACE] == counts[_PLANNED]:
            _plan(nodes)
            if counts[_PLANNED] == 0:
                break
        node, served = nodes.plan[counts[_PLACE], 0], nodes.plan[counts[_PLACE], 1]
        counts[_PLACE] += 1
        if served == 0 and (nodes.dead[node] or nodes.least[node] >= nodes.best[0]):
            continue
        if served > 0 and kept.refused[node]:
            continue
        for j in range(levels.size):
            levels[j] = node // nodes.strides[j] % nodes.shape[j]
        members, weights = keys.each, keys.weights
        if kept.fewest[node] != NO_GROUPS:
            base = kept.fewest[node] % _PLACES
            members = kept.keys[kept.start[base] : kept.start[base + 1]]
            weights = kept.weights[kept.start[base] : kept.start[base + 1]]
        groups = _group(levels, keys.codes, members, weights, cells, nodes, room)
        if served > 0:
            if (members.size - groups) * served > members.size:
                _keep(levels, groups, room, kept, nodes)
            else:
                fill_box(kept.refused, bottom, levels, nodes.strides, True)
            continue
        if groups <= _WORTH * members.size:
            _keep(levels, groups, room, kept, nodes)
        found.whole[looked, _NODE] = node
        _judge(levels, room.first[:groups], room.sums[:groups], given, found, looked)
        _learn(node, levels, given.limit.slack, nodes, found, looked)
        # What lies below a node that fails is settled already.
        if given.costs.adds == CLASSES and not found.whole[looked, _FAILS]:
            raise_below(levels, room.sums[:groups], given, nodes)
        looked += 1
    return looked


@inner
def _plan(nodes):
    """Choose the next nodes, few at first; before them come nodes that lie below several of them."""
    counts = nodes.counts
    # What is settled stays settled, so the order forgets it.
    alive = 0
    for place in range(counts[ALIVE]):
        node = nodes.order[place]
        nodes.order[alive] = node
        alive += not nodes.dead[node] and nodes.least[node] < nodes.best[0]
    counts[ALIVE] = alive
    most = nodes.plan.shape[0] // 3
    counts[_MANY] = max(min(2 * counts[_MANY], most), 2)
    part = np.empty(most, np.int64)
    chosen = choose_nodes(nodes.order[:alive], nodes.shape, nodes.strides, nodes.around, counts[_MANY], part)
    # What lies below many comes before what lies below some of them; both before what they serve.
    waiting = np.empty((2 * chosen + 2, 2), np.int64)
    waiting[0, 0] = 0
    waiting[0, 1] = chosen
    left = 1
    planned = 0
    order = np.empty(chosen, np.int64)
    for place in range(chosen):
        order[place] = part[place]
    while left > 0:
        left -= 1
        start, stop = waiting[left, 0], waiting[left, 1]
        # A node more pays for itself where three or more are made of it.
        if stop - start < 3:
            continue
        meet, middle = _divide(part, start, stop, nodes)
        nodes.plan[planned, 0] = meet
        nodes.plan[planned, 1] = stop - start
        planned += 1
        if start < middle < stop:
            waiting[left, 0], waiting[left, 1] = start, middle
            waiting[left + 1, 0], waiting[left + 1, 1] = middle, stop
            left += 2
    for place in range(chosen):
        nodes.plan[planned, 0] = order[place]
        nodes.plan[planned, 1] = 0
        planned += 1
    counts[_PLACE] = 0
    counts[_PLANNED] = planned


@inner
def _divide(part, start, stop, nodes):
    """Part some nodes where they differ most; return the node below all of them, and the place of the cut."""
    widest = -1.0
    axis = 0
    cut = 0.0
    meet = 0
    for j in range(nodes.shape.size):
        low = nodes.shape[j]
        total = 0.0
        squares = 0.0
        for place in range(start, stop):
            level = part[place] // nodes.strides[j] % nodes.shape[j]
            low = min(low, level)
            total += level
            squares += level * level
        meet += low * nodes.strides[j]
        mean = total / (stop - start)
        spread = (squares / (stop - start) - mean * mean) / max(nodes.shape[j] - 1, 1) ** 2
        if spread > widest:
            widest = spread
            axis = j
            cut = mean
    middle = start
    for place in range(start, stop):
        if part[place] // nodes.strides[axis] % nodes.shape[axis] <= cut:
            other = part[middle]
            part[middle] = part[place]
            part[place] = other
            middle += 1
    return meet, middle


@inner
def _keep(levels, groups, room, kept, nodes):
    """Keep the groups of a node for the nodes above, where there is room."""
    place = nodes.counts[_KEPT]
    start = kept.start[place]
    if place == kept.start.size - 1 or start + groups > kept.keys.size:
        return
    for group in range(groups):
        kept.keys[start + group] = room.first[group]
        kept.weights[start + group] = room.sums[group]
    kept.start[place + 1] = start + groups
    nodes.counts[_KEPT] = place + 1
    top = nodes.shape - 1
    lower_box(kept.fewest, levels, top, nodes.strides, np.int64(groups) * _PLACES + place)


@inner
def _group(levels, codes, members, weights, cells, nodes, room):
    """Group keys, or groups that were kept, by the cells of a node; return how many groups there are."""
    columns = cells.columns.shape[0] - 1
    starts = np.empty(columns, np.int64)
    factors = np.empty(columns, np.uint64)
    combinations = _tables(levels, cells, nodes, room, starts, factors)
    # Words first: where it cannot be foretold whether a key is the first of its group, less is done in vain.
    for i in range(members.size):
        key = members[i]
        word = np.uint64(0)
        for c in range(columns):
            word += room.tables[starts[c] + codes[key, c]] * factors[c]
        room.packed[i] = word
    if combinations <= min(room.records.size, _DENSE * members.size):
        return _group_few(members, weights, room, int(combinations))
    return _group_many(members, weights, room)


@inner
def _group_few(members, weights, room, combinations):
    """Group by words that are below a small number: count each, then list those that occur."""
    packed, records, key_of, first, sums = room.packed, room.records, room.key_of, room.first, room.sums
    for i in range(members.size):
        word = packed[i]
        records[word] += weights[i]
        key_of[word] = members[i]
    groups = 0
    for word in range(combinations):
        # What does not occur is written over by what comes next.
        first[groups] = key_of[word]
        sums[groups] = records[word]
        groups += records[word] > 0
        records[word] = 0
    return groups


@inner
def _group_many(members, weights, room):
    """Group by words through a hash table."""
    packed, slots, words, first, sums = room.packed, room.slots, room.words, room.first, room.sums
    capacity = 64
    while capacity < 2 * members.size:
        capacity *= 2
    for slot in range(capacity):
        slots[slot] = -1
    mask = np.uint64(capacity - 1)
    groups = 0
    for i in range(members.size):
        word = packed[i]
        slot = slot_of(word, mask)
        while slots[slot] >= 0 and words[slots[slot]] != word:
            slot = (slot + np.uint64(1)) & mask
        group = slots[slot]
        if group < 0:
            group = groups
            slots[slot] = group
            words[group] = word
            first[group] = members[i]
            sums[group] = 0
            groups += 1
        sums[group] += weights[i]
    return groups


@inner
def _tables(levels, cells, nodes, room, starts, factors):
    """Find or make the numbered cells of every column of codes; return how many combinations there may be."""
    counts = nodes.counts
    needed = 0
    for c in range(starts.size):
        combination = 0
        for j in range(cells.columns[c, 0], cells.columns[c + 1, 0]):
            combination = combination * nodes.shape[j] + levels[j]
        starts[c] = cells.columns[c, 2] + combination
        if room.table_of[starts[c]] < 0:
            needed += cells.columns[c, 1]
    if counts[_TABLES] + needed > room.tables.size:
        for place in range(room.table_of.size):
            room.table_of[place] = -1
        counts[_TABLES] = 0
    factor = np.uint64(1)
    combinations = 1.0
    for c in range(starts.size):
        place = starts[c]
        if room.table_of[place] < 0:
            room.table_of[place] = counts[_TABLES]
            counts[_TABLES] += cells.columns[c, 1]
            _fill_table(c, levels, cells, room.tables, room.table_of[place])
        starts[c] = room.table_of[place]
        factors[c] = factor
        for j in range(cells.columns[c, 0], cells.columns[c + 1, 0]):
            count = cells.levels[cells.attributes[j, 0] + levels[j], 1]
            factor *= np.uint64(count)
            combinations *= count
    return combinations


@inner
def _fill_table(column, levels, cells, tables, start):
    """Give each code of a column the number of its combination of cells."""
    first, last = cells.columns[column, 0], cells.columns[column + 1, 0]
    for code in range(cells.columns[column, 1]):
        rest = code
        word = np.uint64(0)
        factor = np.uint64(1)
        for j in range(last - 1, first - 1, -1):
            rank = rest % cells.attributes[j, 1]
            rest //= cells.attributes[j, 1]
            level = cells.attributes[j, 0] + levels[j]
            word += factor * np.uint64(cells.cells[cells.levels[level, 0] + rank])
            factor *= np.uint64(cells.levels[level, 1])
        tables[start + code] = word


@inner
def _judge(levels, first, sums, given, found, at):
    """Say whether a node is anonymous, and what it loses, of its groups' keys and records."""
    cells, costs, limit = given.cells, given.costs, given.limit
    whole, real = found.whole, found.real
    starry = True
    at_level = np.empty(levels.size, np.int64)
    for j in range(levels.size):
        level = cells.attributes[j, 0] + levels[j]
        starry = starry and cells.levels[level, 2] > 0
        at_level[j] = cells.levels[level, 0]
    small = limit.before
    for group in range(sums.size):
        small += sums[group] * (sums[group] < limit.least)
    whole[at, _GOOD], whole[at, _FAILS], whole[at, _GONE] = 0, small > limit.allowed, small
    whole[at, _CLASSES], whole[at, _SMALLEST] = 0, 0
    real[at, _SCORE], real[at, _BOUND], real[at, _FLOOR] = np.inf, 0.0, 0.0
    by_classes = costs.adds == CLASSES
    if by_classes:
        real[at, _BOUND] = _bound(at_level, first, sums, given.keys.ranks, costs, limit)
    if small > limit.allowed:
        return
    losses = np.zeros(levels.size)
    kept, records, smallest = 0, 0, 2**62
    squares, combinations = 0.0, 0.0
    for group in range(sums.size):
        size, key = sums[group], first[group]
        star = starry and _is_star(at_level, given.keys.ranks[key], cells.stars)
        if size < limit.least or star:
            whole[at, _GONE] += size if size >= limit.least else 0
            if not by_classes:
                for j in range(levels.size):
                    losses[j] += size * costs.values[at_level[j] + given.keys.ranks[key, j]]
            continue
        kept += 1
        records += size
        smallest = min(smallest, size)
        squares += float(size) * size
        if costs.combination > 0:
            combinations += size * _product(at_level, given.keys.ranks[key], costs)
    if kept == 0 or whole[at, _GONE] > limit.allowed:
        return
    whole[at, _GOOD], whole[at, _CLASSES], whole[at, _SMALLEST] = 1, kept, smallest
    if not by_classes:
        for j in range(levels.size):
            losses[j] = costs.shares[cells.attributes[j, 0] + levels[j]] + losses[j] * costs.weights[j, 1]
        real[at, _SCORE] = _combined(losses, costs)
        return
    score = (
        costs.record * records
        + costs.square * squares
        + costs.combination * combinations
        + costs.suppressed * float(limit.rows - records)
    )
    real[at, _SCORE] = score / kept if costs.by_class else score
    # Whoever is suppressed here is suppressed below, too; but not who has nothing but stars.
    if whole[at, _GONE] == small and not costs.by_class:
        each = costs.record + costs.square * min(limit.least, limit.rows) + costs.combination
        real[at, _FLOOR] = costs.suppressed * float(small) + each * float(limit.rows - small)


@inner
def _is_star(at_level, ranks, stars):
    """Say whether a key has ``*`` in every attribute."""
    star = True
    for j in range(at_level.size):
        star = star and stars[at_level[j] + ranks[j]]
    return star


@inner
def _product(at_level, ranks, costs):
    """Return the combinations of values that a key's cells stand for."""
    product = 1.0
    for j in range(at_level.size):
        product = min(product * costs.values[at_level[j] + ranks[j]], costs.most)
    return product


@inner
def _bound(at_level, first, sums, ranks, costs, limit):
    """Return what no node above falls below; see `bound` in `lattice.score`."""
    large, small = 0, 0
    squares, combinations = 0.0, 0.0
    for group in range(sums.size):
        size = sums[group]
        if size >= limit.least:
            large += 1
            squares += float(size) * size
        else:
            small += size
        if costs.combination > 0:
            combinations += size * _product(at_level, ranks[first[group]], costs)
    if costs.by_class:
        return costs.record * limit.kept / max(large + small // limit.least, 1)
    return (
        costs.square * (squares + float(small) * min(limit.least, limit.rows))
        + costs.combination * combinations
        + costs.suppressed * limit.before
    )


@inner
def _combined(losses, costs):
    """Make one score of a loss per attribute; see `utility.AGGREGATES`."""
    total = 0.0
    weights = 0.0
    for j in range(losses.size):
        weight = costs.weights[j, 0]
        if costs.aggregate == 2:
            total = max(total, weight * losses[j])
            weights = max(weights, weight)
        else:
            total += weight * (np.log1p(losses[j]) if costs.aggregate == 1 else losses[j])
            weights += weight
    return np.expm1(total / weights) if costs.aggregate == 1 else total / weights


@inner
def _learn(node, levels, slack, nodes, found, at):
    """Settle what a node settles."""
    nodes.dead[node] = True
    score, bound, floor = found.real[at, _SCORE], found.real[at, _BOUND], found.real[at, _FLOOR]
    bottom, top = np.zeros(levels.size, np.int64), np.empty(levels.size, np.int64)
    for j in range(levels.size):
        top[j] = nodes.shape[j] - 1
    if found.whole[at, _FAILS]:
        fill_box(nodes.dead, bottom, levels, nodes.strides, True)
    if bound > 0:
        raise_box(nodes.least, levels, top, nodes.strides, bound)
    if floor > 0:
        raise_box(nodes.least, bottom, levels, nodes.strides, floor)
    if found.whole[at, _GOOD] and score < nodes.best[0]:
        nodes.best[0] = score - slack * max(1.0, abs(score))
