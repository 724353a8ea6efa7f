"""Nodes of a lattice under models that look at sizes alone: grouping, judging and scoring."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.hashing import slot_of
from incrowd.core.kernels.jit import compiled, inner
from incrowd.core.kernels.lattice.splits import put_in_bins

CELLS, CLASSES = range(2)
"""What a score adds up: costs of cells, or figures of classes."""

GOOD, FAILS, GONE, COUNT, SMALLEST, KEY, START, GROUPS = range(8)
"""Columns of `Found.whole`."""

SCORE, BOUND, FLOOR, MOST = range(4)
"""Columns of `Found.real`."""

_WORTH = 0.8
"""Groups are kept for the nodes above where they are fewer than this share of those they were made of."""

_DENSE = 8
"""Combinations of cells for each key that is grouped, up to which all are counted."""

_WORD = 2.0**63
"""The most combinations of cells in one word of 64 bits. It stays below 2**64: doubles are rounded."""

Whole = NDArray[np.int64]
Real = NDArray[np.float64]


class Keys(NamedTuple):
    """The keys of a table.

    Attributes
    ----------
    codes
        uint[keys, columns]: codes of several attributes, packed, as `roll_up` takes them.
    ranks
        uint[keys, attributes]: rank of each key's value.
    weights
        int64[keys]: records of each.
    each
        int32[keys]: 0, 1, 2, ...
    """

    codes: NDArray[np.unsignedinteger[Any]]
    ranks: NDArray[np.unsignedinteger[Any]]
    weights: Whole
    each: NDArray[np.int32]


class Cells(NamedTuple):
    """The cells of every attribute at every level.

    Attributes
    ----------
    attributes
        int64[attributes, 3]: the place of level 0 in `levels`, the number of levels, and of ranks, 1 or more.
    levels
        int64[..., 3] for each level of each attribute: where its cells start, how many they are, and whether
        one of them is ``*``.
    columns
        int64[columns + 1, 4] for each column of codes: its first attribute, its codes, the place of its first
        table, and how many tables there is room for.
    cells, stars
        For each level and rank: number of the cell, and whether it is ``*``.
    """

    attributes: Whole
    levels: Whole
    columns: Whole
    cells: NDArray[np.int32]
    stars: NDArray[np.bool_]


class Limit(NamedTuple):
    """The conditions on a node, and the size of the table.

    Attributes
    ----------
    least
        Records below which a class is suppressed.
    allowed, before
        Records that may be suppressed, and that were before.
    rows, kept
        Records of the table, and those that are kept at least.
    """

    least: int
    allowed: int
    before: int
    rows: int
    kept: int


class Costs(NamedTuple):
    """The losses of nodes.

    Attributes
    ----------
    adds
        `CELLS` or `CLASSES`.
    aggregate
        How losses of attributes become one: a place in `utility.AGGREGATES`.
    weights
        float64[attributes, 2]: weight of each attribute, and what its cost is multiplied with.
    shares
        Per level: the loss without suppression.
    values
        Per level and rank, as in `Cells.cells`: what suppressing a record costs beyond its cell, or the
        combinations of values that a cell stands for.
    record, square, combination, suppressed, by_class
        As in `utility.ClassCosts`.
    most
        The most combinations that are counted.
    splits
        Whether the classes of a node say something of the nodes below; see `kernels.lattice.splits`.
    """

    adds: int
    aggregate: int
    weights: Real
    shares: Real
    values: Real
    record: float
    square: float
    combination: float
    suppressed: float
    by_class: bool
    most: float
    splits: bool


class Given(NamedTuple):
    """The arrays that do not change."""

    keys: Keys
    cells: Cells
    costs: Costs
    limit: Limit


class Room(NamedTuple):
    """Room for grouping the keys of a node.

    Attributes
    ----------
    tables, table_levels
        Tables of numbered cells, those of a column after each other; and int64[tables, attributes]: the
        levels for which each was made, -1 before.
    packed
        The cells of each key that is grouped, as one number.
    records, key_of
        Where there are few combinations of cells: the records and one key of each; 0 records between nodes.
    slots, words
        Of the hash table.
    first, sums, lost
        One key and the records of each group of the node, and how many of these are suppressed.
    """

    tables: NDArray[np.uint64]
    table_levels: Whole
    packed: NDArray[np.uint64]
    records: Whole
    key_of: NDArray[np.int32]
    slots: NDArray[np.int32]
    words: NDArray[np.uint64]
    first: NDArray[np.int32]
    sums: Whole
    lost: Whole


class Kept(NamedTuple):
    """Groups of nodes, from which nodes above are made.

    Attributes
    ----------
    levels, sizes, starts
        int64[nodes, attributes] and int64[nodes]: the nodes, how many groups each has, and where they start.
    keys, weights
        One key and the records of each group, those of one node after the other.
    """

    levels: Whole
    sizes: Whole
    starts: Whole
    keys: NDArray[np.int32]
    weights: Whole


class Found(NamedTuple):
    """The results about each node that was looked at; see `lattice.Node`.

    Attributes
    ----------
    whole
        int64[nodes, 8]: whether it is anonymous, whether it fails and all below it, suppressed records,
        classes, records of the smallest, a key of the smallest group, where its groups are kept, -1 where
        they are not, and how many they are.
    real
        float64[nodes, 4]: score, bound, floor, and the parts that a class has room for, 0 where they tell
        nothing.
    bins
        float64[nodes, 2, ...]: what its classes say of the nodes below; see `kernels.lattice.splits`.
    """

    whole: Whole
    real: Real
    bins: Real


@compiled
def find_below(levels, keys, kept, base, sizes):
    """Find for each node the node below with the fewest groups that were kept.

    Parameters
    ----------
    levels
        int64[nodes, attributes].
    keys
        How many keys there are.
    kept
        What is kept.
    base, sizes
        int64[nodes], written: places of `kept`, -1 where every key is to be grouped; and how many groups
        each is made of.
    """
    for at in range(levels.shape[0]):
        base[at] = -1
        fewest = keys
        for place in range(kept.sizes.size):
            if kept.sizes[place] < fewest:
                below = True
                for j in range(levels.shape[1]):
                    if kept.levels[place, j] > levels[at, j]:
                        below = False
                        break
                if below:
                    base[at] = place
                    fewest = kept.sizes[place]
        sizes[at] = fewest


@compiled
def look_at(levels, base, served, start, given, kept, room, found):
    """Group, judge and score some nodes, each by itself.

    Parameters
    ----------
    levels
        int64[nodes, attributes].
    base
        int64[nodes]: of which kept node each is made; see `find_below`.
    served
        int64[nodes]: how many others are to be made of it, where it is grouped for these and not judged; 0
        elsewhere.
    start
        Where groups are kept that are worth it.
    given, kept, room, found
        See the classes above.

    Returns
    -------
    int
        Where the groups that were kept end.
    """
    keys = given.keys
    for at in range(levels.shape[0]):
        members, weights = keys.each, keys.weights
        if base[at] >= 0:
            first = kept.starts[base[at]]
            stop = first + kept.sizes[base[at]]
            members, weights = kept.keys[first:stop], kept.weights[first:stop]
        groups = _group(levels[at], keys.codes, members, weights, given.cells, room)
        worth = groups <= _WORTH * members.size
        if served[at] > 0:
            worth = (members.size - groups) * served[at] > members.size
        else:
            _judge(levels[at], room.first[:groups], room.sums[:groups], room.lost, given, found, at)
        found.whole[at, GROUPS], found.whole[at, START] = groups, -1
        if worth and start + groups <= kept.keys.size:
            found.whole[at, START] = start
            for group in range(groups):
                kept.keys[start + group] = room.first[group]
                kept.weights[start + group] = room.sums[group]
            start += groups
    return start


@inner
def _group(levels, codes, members, weights, cells, room):
    """Group keys, or groups that were kept, by the cells of a node; return how many groups there are."""
    columns = cells.columns.shape[0] - 1
    starts = np.empty(columns, np.int64)
    counts = np.empty(columns, np.int64)
    for c in range(columns):
        starts[c] = _table(c, levels, cells, room)
        counts[c] = 1
        for j in range(cells.columns[c, 0], cells.columns[c + 1, 0]):
            counts[c] *= cells.levels[cells.attributes[j, 0] + levels[j], 1]
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
    """Group by words that are below a small number: count each word, then list the words that occur."""
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
    """Group by words through a hash table; each word becomes the number of the group."""
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
def _table(column, levels, cells, room):
    """Return the start of the table that numbers the combinations of cells of a column of codes."""
    first, last = cells.columns[column, 0], cells.columns[column + 1, 0]
    codes, place, many = cells.columns[column, 1:]
    combination = 0
    start = 0
    for c in range(column):
        start += cells.columns[c, 1] * cells.columns[c, 3]
    for j in range(first, last):
        combination = combination * cells.attributes[j, 1] + levels[j]
    # Of very many combinations the number may have wrapped; it only says where to look.
    table = np.int64(np.uint64(combination) % np.uint64(many))
    start += table * codes
    known = True
    for j in range(first, last):
        known = known and room.table_levels[place + table, j] == levels[j]
        room.table_levels[place + table, j] = levels[j]
    if known:
        return start
    # The values of the last attribute change with every code, those of the others after so many codes.
    size = 1
    room.tables[start] = 0
    for j in range(first, last):
        level, ranks = cells.attributes[j, 0] + levels[j], cells.attributes[j, 2]
        at, count = cells.levels[level, 0], np.uint64(cells.levels[level, 1])
        for code in range(size - 1, -1, -1):
            word = room.tables[start + code] * count
            for rank in range(ranks):
                room.tables[start + code * ranks + rank] = word + np.uint64(cells.cells[at + rank])
        size *= ranks
    return start


@inner
def _judge(levels, first, sums, lost, given, found, at):
    """Return whether a node is anonymous, and the loss, given the groups' keys and records."""
    cells, costs, limit = given.cells, given.costs, given.limit
    whole, real = found.whole, found.real
    starry = True
    at_level = np.empty(levels.size, np.int64)
    for j in range(levels.size):
        level = cells.attributes[j, 0] + levels[j]
        starry = starry and cells.levels[level, 2] > 0
        at_level[j] = cells.levels[level, 0]
    small, smallest = limit.before, 0
    for group in range(sums.size):
        lost[group] = sums[group] if sums[group] < limit.least else 0
        small += lost[group]
        if sums[group] < sums[smallest]:
            smallest = group
    whole[at, FAILS] = small > limit.allowed
    whole[at, KEY] = first[smallest]
    whole[at, GONE], whole[at, GOOD], whole[at, COUNT], whole[at, SMALLEST] = small, 0, 0, 0
    real[at, SCORE], real[at, BOUND], real[at, FLOOR], real[at, MOST] = np.inf, 0.0, 0.0, 0.0
    by_classes = costs.adds == CLASSES
    if by_classes:
        real[at, BOUND] = _bound(at_level, first, sums, given.keys.ranks, costs, limit)
    if small > limit.allowed:
        return
    if costs.splits:
        # What lies below a node that fails is settled already.
        real[at, MOST] = put_in_bins(sums, costs, limit, found.bins[at, 0], found.bins[at, 1])
    gone = small
    for group in range(sums.size if starry else 0):
        if lost[group] == 0 and _is_star(at_level, given.keys.ranks[first[group]], cells.stars):
            lost[group] = sums[group]
            gone += sums[group]
    whole[at, GONE] = gone
    _score(levels, at_level, first, sums, lost, given, found, at)
    if gone > limit.allowed or whole[at, COUNT] == 0:
        whole[at, COUNT], whole[at, SMALLEST], real[at, SCORE] = 0, 0, np.inf
        return
    whole[at, GOOD] = 1
    # Whoever is suppressed here is suppressed below, too; but not who has nothing but stars.
    if by_classes and gone == small and not costs.by_class:
        each = costs.record + costs.square * min(limit.least, limit.rows) + costs.combination
        real[at, FLOOR] = costs.suppressed * float(small) + each * float(limit.rows - small)


@inner
def _score(levels, at_level, first, sums, lost, given, found, at):
    """Write the loss of a node with some suppressed records in each group, and the classes kept."""
    costs, ranks = given.costs, given.keys.ranks
    by_classes = costs.adds == CLASSES
    losses = np.zeros(levels.size)
    kept, records, smallest = 0, 0, 2**62
    squares, combinations = 0.0, 0.0
    for group in range(sums.size):
        if lost[group] > 0 and not by_classes:
            for j in range(levels.size):
                losses[j] += lost[group] * costs.values[at_level[j] + ranks[first[group], j]]
        size = sums[group] - lost[group]
        if size > 0:
            kept += 1
            records += size
            smallest = min(smallest, size)
            squares += float(size) * size
            if costs.combination > 0:
                combinations += size * _product(at_level, ranks[first[group]], costs)
    found.whole[at, COUNT], found.whole[at, SMALLEST] = kept, smallest
    if not by_classes:
        for j in range(levels.size):
            share = costs.shares[given.cells.attributes[j, 0] + levels[j]]
            losses[j] = share + losses[j] * costs.weights[j, 1]
        found.real[at, SCORE] = _combined(losses, costs)
        return
    score = (
        costs.record * records
        + costs.square * squares
        + costs.combination * combinations
        + costs.suppressed * float(given.limit.rows - records)
    )
    found.real[at, SCORE] = score / max(kept, 1) if costs.by_class else score


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
    """Combine a loss per attribute into a score; see `utility.AGGREGATES`."""
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
