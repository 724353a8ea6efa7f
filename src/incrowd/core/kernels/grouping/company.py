"""Who shares their codes with enough records: some columns are grouped, and small groups are left out."""

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
    kept: NDArray[np.int64],
    ids: NDArray[np.int64],
) -> tuple[int, int]:
    """Group rows by some columns; keep those whose group has enough records.

    ``codes`` is int64[all columns, all rows]. The rows ``rows`` are grouped by the columns ``columns``. The
    kept rows are written into ``kept``, and the group of each into ``ids``: int64, as long as ``rows``.
    Groups are numbered in order of first appearance, those of fewer than ``least`` records left out::

        column 0 | a a b c b
        column 1 | 1 1 2 1 2      least 2: kept 0 1 2 4, ids 0 0 1 1

    Returns how many rows are kept, and how many groups there are.
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
            known = table[slot]
            if known < 0:
                table[slot] = known = groups
                first[groups] = row
                groups += 1
                break
            same = True
            for column in columns:
                if codes[column, first[known]] != codes[column, row]:
                    same = False
                    break
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        group[place] = known
        sums[known] += weights[row]
    large = 0
    for known in range(groups):
        if sums[known] >= least:
            first[known] = large
            large += 1
        else:
            first[known] = -1
    count = 0
    for place in range(rows.size):
        number = first[group[place]]
        if number >= 0:
            kept[count] = rows[place]
            ids[count] = number
            count += 1
    return count, large
