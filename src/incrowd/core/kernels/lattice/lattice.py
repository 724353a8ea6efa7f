"""Rolling groups of keys up to a node of the generalization lattice, and choosing the next node."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.grouping.hashing import slot_of
from incrowd.core.kernels.jit import compiled, inlined, inner


@compiled
def roll_up(keys, weights, codes, tables, offsets, prefix, bits):
    """Group keys that have the same cells at a node of the lattice.

    Parameters
    ----------
    keys
        int32[groups]: one key of each group of a node below, or every key.
    weights
        int64[groups]: records of each group.
    codes
        uint[keys, columns]: code of each key's value; a column holds one attribute or several.
    tables, offsets
        uint64[...] and int64[columns]: ``tables[offsets[j] + code]`` is the cell's number, in its place of a
        word of 64 bits.
    prefix
        uint64[groups] or empty: bits of the word that are known already.
    bits
        Width of the word in use.

    Returns
    -------
    ids
        int32[groups]: the new group of each group, numbered in order of first appearance.
    first
        int32[new groups]: one key of each new group.
    sums
        int64[new groups]: its records.
    """
    n = keys.size
    columns = offsets.size
    ids = np.empty(n, np.int32)
    first = np.empty(n, np.int32)
    sums = np.empty(n, np.int64)
    found = 0
    direct = bits <= 16
    capacity = 64
    if direct:
        capacity = 1 << bits
    else:
        while capacity < 2 * n:
            capacity *= 2
    mask = np.uint64(capacity - 1)
    slots = np.full(capacity, -1, np.int32)
    words = np.empty(1 if direct else n, np.uint64)
    for i in range(n):
        word = prefix[i] if prefix.size else np.uint64(0)
        key = keys[i]
        for j in range(columns):
            word |= tables[offsets[j] + codes[key, j]]
        if direct:
            slot = word
            group = slots[slot]
        else:
            slot = slot_of(word, mask)
            group = slots[slot]
            while group >= 0 and words[group] != word:
                slot = (slot + np.uint64(1)) & mask
                group = slots[slot]
        if group < 0:
            group = found
            slots[slot] = group
            if not direct:
                words[group] = word
            first[group] = key
            sums[group] = 0
            found += 1
        sums[group] += weights[i]
        ids[i] = group
    return ids, first[:found].copy(), sums[:found].copy()


@compiled
def suppression_gaps(keys, weights, failing, codes, gaps, offsets):
    """Add up the further cost of suppressing some groups: float64[attributes].

    Parameters
    ----------
    keys, weights, failing
        One key and the records of each group, and whether it is suppressed.
    codes
        uint[keys, attributes]: rank of each key's value.
    gaps, offsets
        ``gaps[offsets[j] + rank]`` is the cost of suppressing a record with that rank, above its cell's.
    """
    extra = np.zeros(offsets.size)
    for group in range(keys.size):
        if failing[group]:
            key = keys[group]
            for j in range(offsets.size):
                extra[j] += weights[group] * gaps[offsets[j] + codes[key, j]]
    return extra


@inner
def first_run(at, low, strides):
    """Begin with the first run of a box of nodes; see `next_run`."""
    run = 0
    for j in range(at.size):
        at[j] = low[j]
        run += low[j] * strides[j]
    return run


@inner
def next_run(at, low, high, strides, start):
    """Go on to the next run of a box of nodes, and return the start, -1 after the last run.

    A run is the nodes of a box that differ in the last attribute alone, which are neighbours.

    Parameters
    ----------
    at
        int64[attributes]: levels of the run, written.
    low, high
        int64[attributes]: levels of the box, both included.
    strides
        int64[attributes]: distance of nodes that differ by one level.
    start
        Where the run starts.
    """
    j = at.size - 2
    while j >= 0 and at[j] == high[j]:
        start -= (at[j] - low[j]) * strides[j]
        at[j] = low[j]
        j -= 1
    if j < 0:
        return -1
    at[j] += 1
    return start + strides[j]


@inner
def fill_box(values, low, high, strides, value):
    """Write a value to all nodes of a box; see `next_run`."""
    at = np.empty(low.size, np.int64)
    run = first_run(at, low, strides)
    length = high[-1] - low[-1] + 1
    while run >= 0:
        for node in range(run, run + length):
            values[node] = value
        run = next_run(at, low, high, strides, run)


@inner
def raise_box(values, low, high, strides, value):
    """Raise all nodes of a box to a value at least; see `next_run`."""
    at = np.empty(low.size, np.int64)
    run = first_run(at, low, strides)
    length = high[-1] - low[-1] + 1
    while run >= 0:
        for node in range(run, run + length):
            values[node] = max(values[node], value)
        run = next_run(at, low, high, strides, run)


@inner
def add_up_below(values, shape, strides):
    """Add to the value of each node the values of all nodes below."""
    for j in range(shape.size):
        stride = strides[j]
        block = stride * shape[j]
        for start in range(0, values.size, block):
            for node in range(start + stride, start + block, stride):
                _add(values[node : node + stride], values[node - stride : node])


@inner
def add_up_above(values, shape, strides):
    """Add to the value of each node the values of all nodes above."""
    for j in range(shape.size):
        stride = strides[j]
        block = stride * shape[j]
        for start in range(0, values.size, block):
            for node in range(start + block - 2 * stride, start - 1, -stride):
                _add(values[node : node + stride], values[node + stride : node + 2 * stride])


@inner
def _add(values, others):
    """Add others to values without overlap, so that several are added at once."""
    for place in range(values.size):
        values[place] += others[place]


@compiled
def choose_nodes(order, shape, strides, counts, many, chosen):
    """Choose nodes with a verdict that will settle many others either way.

    A node that fails settles the nodes below it; one that holds settles those that cannot be better, which
    stand after it in the order. Where scores are learned from other nodes, the order is only a guess, and a
    node that holds settles nodes above it: then the geometric mean of both is taken. The harmonic mean of
    what is settled either way decides. Chosen nodes are neither above nor below each other.

    Parameters
    ----------
    order
        int64[...]: the nodes that are not settled, the most promising first.
    shape, strides
        int64[attributes]: number of levels, and the distance of nodes that differ by one level.
    counts
        int32[1, nodes] or int32[2, nodes]: scratch; the latter where scores are learned from other nodes.
    many, chosen
        How many nodes are wanted, and int64[many] for them.

    Returns
    -------
    int
        How many were chosen; 0 when no node is given.
    """
    attributes = shape.size
    counts[:] = 0
    for place in range(order.size):
        counts[:, order[place]] = 1
    below, above = counts[0], counts[-1]
    learned = counts.shape[0] > 1
    add_up_below(below, shape, strides)
    if learned:
        add_up_above(above, shape, strides)
    # Settled nodes have no score. Of equal nodes the last in the order is chosen.
    scores = np.full(below.size, -1.0)
    left = order.size
    waiting = np.empty(left, np.int64)
    for place in range(left):
        node = order[left - 1 - place]
        holds = float(place + 1)
        if learned:
            holds = np.sqrt(holds * above[node])
        scores[node] = holds * below[node] / (holds + below[node])
        waiting[place] = node
    found = 0
    bottom = np.zeros(attributes, np.int64)
    top = shape - 1
    levels = np.empty(attributes, np.int64)
    while found < many:
        best = -1.0
        node_of_best = -1
        kept = 0
        for place in range(left):
            node = waiting[place]
            if scores[node] > best:
                best = scores[node]
                node_of_best = node
            if scores[node] >= 0:
                waiting[kept] = node
                kept += 1
        left = kept
        if node_of_best < 0:
            break
        chosen[found] = node_of_best
        found += 1
        for j in range(attributes):
            levels[j] = node_of_best // strides[j] % shape[j]
        fill_box(scores, bottom, levels, strides, -1.0)
        fill_box(scores, levels, top, strides, -1.0)
    return found


@compiled
def below_several(levels, heights, few, lot, bases, above):
    """Find nodes below several of the given nodes, of nodes that lie near each other.

    Nodes are parted where they differ most, again and again, until few are left.

    Parameters
    ----------
    levels
        int64[nodes, attributes].
    heights
        int64[attributes]: number of levels.
    few, lot
        How many nodes are worth one below them, at least; and how many lie near each other, at most.
    bases, above
        int64[nodes, attributes] and int64[nodes], written: the nodes below, and how many are above each.

    Returns
    -------
    int
        How many were found.
    """
    many, attributes = levels.shape
    order = np.arange(many)
    starts, stops = np.zeros((2, many + 2), np.int64)
    stops[0] = many
    found, waiting = 0, 1
    while waiting > 0:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        if stop - start < few:
            continue
        widest, axis, cut = -1.0, 0, 0.0
        for j in range(attributes):
            total, squares = 0.0, 0.0
            low = levels[order[start], j]
            for at in range(start, stop):
                level = levels[order[at], j]
                low = min(low, level)
                total += level
                squares += level * level
            bases[found, j] = low
            mean = total / (stop - start)
            spread = (squares / (stop - start) - mean * mean) / max(heights[j] - 1, 1) ** 2
            if spread > widest:
                widest, axis, cut = spread, j, mean
        middle = start
        for at in range(start, stop):
            if levels[order[at], axis] <= cut:
                order[at], order[middle] = order[middle], order[at]
                middle += 1
        if stop - start <= lot or middle == stop:
            above[found] = stop - start
            found += 1
        else:
            starts[waiting], stops[waiting] = start, middle
            starts[waiting + 1], stops[waiting + 1] = middle, stop
            waiting += 2
    return found


@compiled
def mark_too_small(codes, weights, cells, ranks, lows, shape, strides, enough, dead):  # noqa: PLR0913
    """Mark the nodes at which the class of a key has too few records.

    Two keys are in one class at one node and all above it: that of the levels at which their values meet. So
    sums over what lies below a node are the sizes of the class at all nodes at once.

    Parameters
    ----------
    codes, weights
        uint[keys, columns] and int64[keys], as in `roll_up`.
    cells
        See `kernels.lattice.nodes`.
    ranks
        int64[attributes]: ranks of the one key.
    lows, shape, strides
        int64[attributes]: lowest level, number of levels, and the distance of nodes that differ by one level.
    enough
        How many records are enough.
    dead
        bool[nodes]: marked, never unmarked.
    """
    nodes = dead.size
    sizes = np.zeros(nodes, np.int64)
    tables, offsets = _meeting_tables(cells, ranks, lows, shape, strides)
    for key in range(weights.size):
        node = _meeting(codes, key, tables, offsets)
        if node >= 0:
            sizes[node] += weights[key]
    add_up_below(sizes, shape, strides)
    for node in range(nodes):
        dead[node] |= sizes[node] < enough


@compiled
def count_values(codes, keys, cells, ranks, lows, shape, strides, counts):
    """Count the values of a sensitive attribute in the class of a key, at every node.

    Parameters
    ----------
    codes, cells, ranks, lows, shape, strides
        As in `mark_too_small`.
    keys
        The values of each key; see `kernels.grouping.counting.Counts`.
    counts
        int64[nodes, values], 0 before.
    """
    tables, offsets = _meeting_tables(cells, ranks, lows, shape, strides)
    for key in range(codes.shape[0]):
        node = _meeting(codes, key, tables, offsets)
        if node >= 0:
            for entry in range(keys.indptr[key], keys.indptr[key + 1]):
                counts[node, keys.codes[entry]] += keys.counts[entry]
    add_up_below(counts.reshape(-1), shape, strides * counts.shape[1])


@inner
def _meeting_tables(cells, ranks, lows, shape, strides):
    """Return tables of where keys meet a key of given ranks, and the start of each column's table.

    An entry of a table is added to the number of the node at which a key meets the one. It is negative where
    they never do.
    """
    columns = cells.columns.shape[0] - 1
    offsets = np.zeros(columns + 1, np.int64)
    for c in range(columns):
        offsets[c + 1] = offsets[c] + cells.columns[c, 1]
    tables = np.zeros(offsets[columns], np.int64)
    for c in range(columns):
        steps = tables[offsets[c] : offsets[c + 1]]
        # The values of the last attribute change with every code, those of the others after so many codes.
        alike = 1
        for j in range(cells.columns[c + 1, 0] - 1, cells.columns[c, 0] - 1, -1):
            level, size = cells.attributes[j, 0] + lows[j], cells.attributes[j, 2]
            for rank in range(size):
                # Values that meet stay together. Whoever never meets stays below 0, whatever is added.
                climbed = -shape[0] * strides[0]
                for above in range(shape[j]):
                    start = cells.levels[level + above, 0]
                    if cells.cells[start + rank] == cells.cells[start + ranks[j]]:
                        climbed = above * strides[j]
                        break
                for first in range(rank * alike, steps.size, size * alike):
                    for code in range(first, first + alike):
                        steps[code] += climbed
            alike *= size
    return tables, offsets[:columns]


@inlined
def _meeting(codes, key, tables, offsets):
    """Return the lowest node at which a key meets the key that the tables are made for, else -1."""
    node = 0
    for j in range(offsets.size):
        step = tables[offsets[j] + codes[key, j]]
        if step < 0:
            return -1
        node += step
    return node
