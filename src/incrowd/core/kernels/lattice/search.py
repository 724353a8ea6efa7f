"""The search of a lattice under models that look at sizes alone, without Python between nodes."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.grouping.hashing import slot_of
from incrowd.core.kernels.jit import compiled, inner
from incrowd.core.kernels.lattice.lattice import fill_box, lower_box, raise_box
from incrowd.core.kernels.lattice.search_arrays import CLASSES, EVERY, PLACES
from incrowd.core.kernels.lattice.search_meeting import mark_smallest
from incrowd.core.kernels.lattice.search_splits import raise_below

_NODE, _GOOD, _FAILS, _GONE, _CLASSES, _SMALLEST = range(6)
_SCORE, _BOUND, _FLOOR = range(3)
"""Columns of `Found`."""

_WORTH = 0.8
"""Groups are kept for the nodes above where they are fewer than this share of those they were made of."""

_DENSE = 8
"""Combinations of cells for each key that is grouped, up to which all are counted."""

_WORD = 2.0**63
"""The most combinations of cells in one word of 64 bits. It stays below 2**64: doubles are rounded."""


@compiled
def look_at(plan, given, nodes, room, kept, found):
    """Look at the nodes of a plan that are not settled meanwhile, and learn from each; see `plan_nodes`.

    Parameters
    ----------
    plan
        int64[..., 2]: nodes, and how many others are to be made of each; 0 where it is to be judged.
    given, nodes, room, kept, found
        See `kernels.lattice.search_arrays`.

    Returns
    -------
    int
        How many were looked at.
    """
    keys, cells = given.keys, given.cells
    levels = np.empty(nodes.shape.size, np.int64)
    bottom = np.zeros(levels.size, np.int64)
    # A plain 0 would be a type of its own to the compiler, which would make what it is given to twice.
    looked = np.int64(0)
    for place in range(plan.shape[0]):
        node, served = plan[place, 0], plan[place, 1]
        if served == 0 and (nodes.dead[node] or nodes.least[node] >= nodes.best[0]):
            continue
        if served > 0 and nodes.refused[node]:
            continue
        for j in range(levels.size):
            levels[j] = node // nodes.strides[j] % nodes.shape[j]
        members, weights = keys.each, keys.weights
        base = nodes.fewest[node] % PLACES
        if base != EVERY:
            start = kept.start[base]
            stop = start + nodes.fewest[node] // PLACES
            members, weights = kept.keys[start:stop], kept.weights[start:stop]
        groups = _group(levels, keys.codes, members, weights, cells, nodes.shape, room)
        if served > 0:
            if (members.size - groups) * served > members.size:
                _keep(node, levels, groups, room, kept, nodes)
            else:
                fill_box(nodes.refused, bottom, levels, nodes.strides, True)
            continue
        if groups <= _WORTH * members.size:
            _keep(node, levels, groups, room, kept, nodes)
        found.whole[looked, _NODE] = node
        _judge(levels, room.first[:groups], room.sums[:groups], given, found, looked)
        _learn(node, levels, given.limit.slack, nodes, found, looked)
        if found.whole[looked, _FAILS] and not given.limit.suppresses:
            mark_smallest(room.first[:groups], room.sums[:groups], given, nodes, room)
        # What lies below a node that fails is settled already.
        if given.costs.adds == CLASSES and not found.whole[looked, _FAILS]:
            raise_below(levels, room.sums[:groups], given, nodes)
        looked += 1
    return looked


@inner
def _keep(node, levels, groups, room, kept, nodes):
    """Keep the groups of a node for the nodes above, where there is room."""
    place, places, start, stop = kept.free
    if place == places or start + groups > stop:
        return
    for group in range(groups):
        kept.keys[start + group] = room.first[group]
        kept.weights[start + group] = room.sums[group]
    kept.nodes[place], kept.sizes[place], kept.start[place] = node, groups, start
    kept.free[0] = place + 1
    kept.free[2] = start + groups
    lower_box(nodes.fewest, levels, nodes.shape - 1, nodes.strides, np.int64(groups) * PLACES + place)


@inner
def _group(levels, codes, members, weights, cells, shape, room):
    """Group keys, or groups that were kept, by the cells of a node; return how many groups there are."""
    columns = cells.columns.shape[0] - 1
    starts = np.empty(columns, np.int64)
    counts = np.empty(columns, np.int64)
    _tables(levels, cells, shape, room, starts, counts)
    factors = np.empty(columns, np.uint64)
    before, known, first = np.uint64(0), 1.0, 0
    while True:
        # One word takes as many columns as it can; the others then tell apart who is alike in these.
        combinations, factor, last = known, np.uint64(known), first
        factors[:] = 0
        while last < columns and (last == first or combinations * counts[last] <= _WORD):
            factors[last] = factor
            combinations *= counts[last]
            factor *= np.uint64(counts[last])
            last += 1
        # All words are made before any is looked up: the processor cannot predict which group is new.
        for i in range(members.size):
            key = members[i]
            word = room.packed[i] * before
            for c in range(columns):
                word += room.tables[starts[c] + codes[key, c]] * factors[c]
            room.packed[i] = word
        if last == columns:
            break
        before, known, first = np.uint64(1), float(_group_many(members, weights, room)), last
    if first == 0 and combinations <= min(room.records.size, _DENSE * members.size):
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
    """Group by words through a hash table; each word becomes the number of its group."""
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
        packed[i] = group
    return groups


@inner
def _tables(levels, cells, shape, room, starts, counts):
    """Find or make the numbered cells of every column of codes, and count the combinations of each."""
    needed = 0
    for c in range(starts.size):
        combination = 0
        for j in range(cells.columns[c, 0], cells.columns[c + 1, 0]):
            combination = combination * shape[j] + levels[j]
        starts[c] = cells.columns[c, 2] + combination
        if room.table_of[starts[c]] < 0:
            needed += cells.columns[c, 1]
    if room.made[0] + needed > room.tables.size:
        for place in range(room.table_of.size):
            room.table_of[place] = -1
        room.made[0] = 0
    for c in range(starts.size):
        place = starts[c]
        if room.table_of[place] < 0:
            room.table_of[place] = room.made[0]
            room.made[0] += cells.columns[c, 1]
            _fill_table(c, levels, cells, room.tables, room.table_of[place])
        starts[c] = room.table_of[place]
        counts[c] = 1
        for j in range(cells.columns[c, 0], cells.columns[c + 1, 0]):
            counts[c] *= cells.levels[cells.attributes[j, 0] + levels[j], 1]


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
    """Say whether a node is anonymous, and return its loss, given its groups' keys and records."""
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
    """Return a lower bound of the loss of all nodes above; see `bound` in `lattice.score`."""
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
    """Mark the nodes that a node settles."""
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
