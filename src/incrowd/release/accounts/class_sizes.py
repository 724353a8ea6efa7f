"""Equivalence classes in bins by size."""

from __future__ import annotations

from dataclasses import dataclass

from incrowd.core.lazy import NDArray, np

_BINS = (1, 2, 3, 4, 5, 10, 20, 50)


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Classes with a size in ``least .. most``, both included."""

    least: int
    most: int
    classes: int
    records: int


def size_distribution(sizes: NDArray[np.int64]) -> tuple[SizeBin, ...]:
    """Group classes into bins, given the size of each: int64[classes]."""
    from incrowd.core.kernels.grouping.counting import tally

    return size_bins(*tally(sizes))


def size_bins(sizes: NDArray[np.int64], counts: NDArray[np.integer]) -> tuple[SizeBin, ...]:
    """Group classes into bins by size.

    Parameters
    ----------
    sizes, counts
        int64[sizes], ascending: each size that occurs, and how many classes have it.
    """
    bounds = list(_BINS)
    while len(sizes) and bounds[-1] <= int(sizes[-1]):
        bounds += [bounds[-1] * 2, bounds[-1] * 4, bounds[-1] * 10]
    place = np.searchsorted(bounds, sizes, side="right") - 1
    classes = np.bincount(place, counts, minlength=len(bounds))
    records = np.bincount(place, sizes * counts, minlength=len(bounds))
    return tuple(
        SizeBin(bounds[i], bounds[i + 1] - 1, int(classes[i]), int(records[i]))
        for i in range(len(bounds) - 1)
        if classes[i]
    )
