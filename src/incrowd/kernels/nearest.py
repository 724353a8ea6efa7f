"""The released records that are nearest to raw ones, cells counting as each of their values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.jit import compiled, over_ranges

__all__ = ["Cloud", "nearest"]


class Cloud(NamedTuple):
    """Released records and the rows that are compared with them, by column j.

    Attributes
    ----------
    numeric
        bool[columns]: whether the column is one of numbers.
    low, high, extent
        float64[records, columns] twice, float64[columns]: ends of each record's cell of numbers, NaN for
        missing; the range of the column.
    values
        float64[rows, columns]: numbers of the rows.
    shares, first, sizes
        float32[...], int64[columns], int64[columns]: the chance that cell c of column j is rank r is
        ``shares[first[j] + c * sizes[j] + r]``.
    codes, ranks
        int32[records, columns] and int32[rows, columns]: cells of the records and ranks of the rows; of a
        column of numbers a cell is the number of a set, -1 where it lies between its ends.
    members, starts
        float64[...], int64[sets + 1]: the numbers of set i are ``members[starts[i]:starts[i + 1]]``, NaN for
        missing.
    """

    numeric: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    extent: NDArray[np.float64]
    values: NDArray[np.float64]
    shares: NDArray[np.float32]
    first: NDArray[np.int64]
    sizes: NDArray[np.int64]
    codes: NDArray[np.int32]
    ranks: NDArray[np.int32]
    members: NDArray[np.float64]
    starts: NDArray[np.int64]


def nearest(
    cloud: Cloud, rows: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest records of each row by the sum of Gower distances, and how far they are.

    Distances are rounded to 1e-12, and of equal ones the first record counts: int64[rows, count] and
    float64[rows, count].
    """
    found = np.zeros((len(rows), count), np.int64)
    gaps = np.full((len(rows), count), np.inf)
    work = np.arange(len(rows) + 1, dtype=np.int64) * len(cloud.codes)
    over_ranges(_nearest, work, cloud, rows, found, gaps)
    return found, gaps


@compiled
def _apart(cloud, record, row, j):
    if not cloud.numeric[j]:
        place = cloud.first[j] + cloud.codes[record, j] * cloud.sizes[j] + cloud.ranks[row, j]
        return 1.0 - np.float64(cloud.shares[place])
    value, extent, number = cloud.values[row, j], cloud.extent[j], cloud.codes[record, j]
    if number < 0:
        return _gap(value, cloud.low[record, j], cloud.high[record, j], extent)
    total = 0.0
    for place in range(cloud.starts[number], cloud.starts[number + 1]):
        total += _gap(value, cloud.members[place], cloud.members[place], extent)
    return total / (cloud.starts[number + 1] - cloud.starts[number])


@compiled
def _gap(value, low, high, extent):
    if np.isnan(value) or np.isnan(low):
        # Missing beside a number is as far as can be, beside missing it is the same.
        return 0.0 if np.isnan(value) and np.isnan(low) else 1.0
    if low < value < high:
        gap = ((value - low) ** 2 + (high - value) ** 2) / (2 * (high - low))
    else:
        gap = abs(value - (low + high) / 2)
    return min(gap / extent, 1.0)


@compiled
def _nearest(start, stop, cloud, rows, found, gaps):
    count = found.shape[1]
    for place in range(start, stop):
        row = rows[place]
        held = 0
        for record in range(len(cloud.codes)):
            far = 0.0
            rounded = 0.0
            worst = gaps[place, count - 1]
            for j in range(len(cloud.numeric)):
                far += _apart(cloud, record, row, j)
                rounded = np.rint(far * 1e12) / 1e12
                if rounded >= worst:
                    break
            if rounded >= worst:
                continue
            spot = min(held, count - 1)
            while spot > 0 and gaps[place, spot - 1] > rounded:
                gaps[place, spot] = gaps[place, spot - 1]
                found[place, spot] = found[place, spot - 1]
                spot -= 1
            gaps[place, spot] = rounded
            found[place, spot] = record
            held = min(held + 1, count)
