"""The nodes at which one class is too small: all of them fail where nothing may be suppressed."""

from __future__ import annotations

import numpy as np

from incrowd.core.kernels.jit import inner
from incrowd.core.kernels.lattice.lattice import mark_too_small


@inner
def mark_smallest(first, sums, given, nodes, room):
    """Mark every node at which the smallest group of one node is too small, and whoever joins it there.

    Parameters
    ----------
    first, sums
        One key and the records of each group of the node.
    given, nodes, room
        See `kernels.lattice.search_arrays`.
    """
    keys, cells = given.keys, given.cells
    smallest = 0
    for group in range(sums.size):
        if sums[group] < sums[smallest]:
            smallest = group
    columns = cells.columns.shape[0] - 1
    offsets = np.empty(columns, np.int64)
    stop = np.int64(0)
    for c in range(columns):
        offsets[c] = stop
        _meet(c, first[smallest], given, nodes, room.meeting[stop : stop + cells.columns[c, 1]])
        stop += cells.columns[c, 1]
    mark_too_small(
        keys.codes,
        keys.weights,
        room.meeting,
        offsets,
        nodes.shape,
        nodes.strides,
        given.limit.least,
        nodes.dead,
    )


@inner
def _meet(column, key, given, nodes, steps):
    """Return for each code of a column its share of the number of the node at which it joins a key.

    The values of an attribute climb until they meet the key's. Where they never do, the number stays below 0,
    whatever else is added.
    """
    cells = given.cells
    first, last = cells.columns[column, 0], cells.columns[column + 1, 0]
    steps[:] = 0
    # The values of the last attribute change with every code, those of the others after so many codes.
    alike = np.int64(1)
    for j in range(last - 1, first - 1, -1):
        level, ranks = cells.attributes[j]
        rank_of_key = given.keys.ranks[key, j]
        for rank in range(ranks):
            climbed = np.int64(0)
            for above in range(nodes.shape[j]):
                start = cells.levels[level + above, 0]
                if cells.cells[start + rank] == cells.cells[start + rank_of_key]:
                    # Values that meet stay together.
                    break
                climbed += nodes.strides[j]
            if climbed == nodes.shape[j] * nodes.strides[j]:
                climbed = -nodes.dead.size
            for start in range(rank * alike, steps.size, ranks * alike):
                steps[start : start + alike] += climbed
        alike *= ranks
