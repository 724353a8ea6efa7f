"""Groups of rows with enough records, without the rows in small groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.hashing import slot_of
from incrowd.core.kernels.jit import compiled

_PRIME = np.uint64(0x100000001B3)


@compiled
def group_with_company(
    codes: NDArray[np.int64],
    columns: NDArray[np.int64],
    rows: NDArray[np.int64],
    weights: NDArray[np.int64],
    least: int,
    large_rows: NDArray[np.int64],
    ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Group rows by some columns and return the rows in groups with enough records.

    ``codes`` is int64[all columns, all rows]. The rows ``rows`` are grouped by the columns ``columns``. Rows
    in large groups go into ``large_rows`` and their groups into ``ids``, int64, both as long as ``rows``.
    Groups of at least ``least`` records are numbered in order of first appearance::

        column 0 | a a b c b
        column 1 | 1 1 2 1 2      least 2: large_rows 0 1 2 4, ids 0 0 1 1

    Returns the number of rows and groups written.
    """
    capacity = 16
    while capacity < 2 * rows.size:
        capacity *= 2
    mask = np.uint64(capacity - 1)
    table = np.full(capacity, -1, np.int64)  # the group at each slot
    first = np.empty(rows.size, np.int64)
    sums = np.zeros(rows.size, np.int64)
    group = np.empty(rows.size, np.int64)
    groups = 0
    for place in range(rows.size):
        row = rows[place]
        word = np.uint64(0)
        for column in columns:
            word = word * _PRIME ^ np.uint64(codes[column, row])
        slot = slot_of(word, mask)
        while True:
            candidate = table[slot]
            if candidate < 0:
                table[slot] = candidate = groups
                first[groups] = row
                groups += 1
                break
            same = True
            for column in columns:
                if codes[column, first[candidate]] != codes[column, row]:
                    same = False
                    break
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        group[place] = candidate
        sums[candidate] += weights[row]
    large = 0
    for candidate in range(groups):
        if sums[candidate] >= least:
            first[candidate] = large
            large += 1
        else:
            first[candidate] = -1
    count = 0
    for place in range(rows.size):
        number = first[group[place]]
        if number >= 0:
            large_rows[count] = rows[place]
            ids[count] = number
            count += 1
    return count, large
