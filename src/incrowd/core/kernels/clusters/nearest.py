"""Nearest released records of raw rows by expected Gower distance over the values of a cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.jit import compiled, inner, over_ranges


class Cloud(NamedTuple):
    """Released records and rows to compare, by column j.

    Attributes
    ----------
    numeric
        bool[columns]: whether the column is one of numbers.
    low, high, extent
        float64[records, columns] twice, float64[columns]: ends of each record's cell of numbers, NaN for
        missing; the range of the column.
    values
        float64[rows, columns]: numbers of the rows.
    codes, ranks
        int32[records, columns] and int32[rows, columns]: cells of the records, as numbers of sets, and ranks
        of the rows. The code is -1 for an interval of numbers, or a cell without a category.
    members, starts
        float64[...], int64[sets + 1]: set i is ``members[starts[i]:starts[i + 1]]``: numbers, missing is NaN,
        or the ranks of categories, ascending.
    """

    numeric: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    extent: NDArray[np.float64]
    values: NDArray[np.float64]
    codes: NDArray[np.int32]
    ranks: NDArray[np.int32]
    members: NDArray[np.float64]
    starts: NDArray[np.int64]


def nearest(
    cloud: Cloud, rows: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest records of each row, and distances, by the sum of Gower distances.

    Distances are rounded to 1e-12, ties go to the first record: int64[rows, count] and float64[rows, count].
    """
    records = np.zeros((len(rows), count), np.int64)
    gaps = np.full((len(rows), count), np.inf)
    work = np.arange(len(rows) + 1, dtype=np.int64) * len(cloud.codes)
    over_ranges(_nearest, work, cloud, rows, records, gaps)
    return records, gaps


@inner
def _apart(cloud, record, row, j):
    number = cloud.codes[record, j]
    if not cloud.numeric[j]:
        return _not_named(cloud.members, cloud.starts, number, cloud.ranks[row, j])
    value, extent = cloud.values[row, j], cloud.extent[j]
    if number < 0:
        return _gap(value, cloud.low[record, j], cloud.high[record, j], extent)
    total = 0.0
    for place in range(cloud.starts[number], cloud.starts[number + 1]):
        total += _gap(value, cloud.members[place], cloud.members[place], extent)
    return total / (cloud.starts[number + 1] - cloud.starts[number])


@inner
def _not_named(members, starts, number, rank):
    """Probability of another category, if all categories of the cell are equally likely."""
    if number < 0:
        return 1.0
    low, end = starts[number], starts[number + 1]
    share = 1.0 / (end - low)
    high = end
    while low < high:
        middle = (low + high) // 2
        if members[middle] < rank:
            low = middle + 1
        else:
            high = middle
    return 1.0 - share if low < end and members[low] == rank else 1.0


@inner
def _gap(value, low, high, extent):
    if np.isnan(value) or np.isnan(low):
        # A missing value has distance 1 from a number and 0 from a missing value.
        return 0.0 if np.isnan(value) and np.isnan(low) else 1.0
    if low < value < high:
        gap = ((value - low) ** 2 + (high - value) ** 2) / (2 * (high - low))
    else:
        gap = abs(value - (low + high) / 2)
    return min(gap / extent, 1.0)


@compiled
def _nearest(start, stop, cloud, rows, records, gaps):
    count = records.shape[1]
    for place in range(start, stop):
        row = rows[place]
        size = 0
        for record in range(len(cloud.codes)):
            distance = 0.0
            rounded = 0.0
            worst = gaps[place, count - 1]
            for j in range(len(cloud.numeric)):
                distance += _apart(cloud, record, row, j)
                rounded = np.rint(distance * 1e12) / 1e12
                if rounded >= worst:
                    break
            if rounded >= worst:
                continue
            spot = min(size, count - 1)
            while spot > 0 and gaps[place, spot - 1] > rounded:
                gaps[place, spot] = gaps[place, spot - 1]
                records[place, spot] = records[place, spot - 1]
                spot -= 1
            gaps[place, spot] = rounded
            records[place, spot] = record
            size = min(size + 1, count)
