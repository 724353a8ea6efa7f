"""Order of rows: information of neighbouring rows about a number or date."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd.attacks.base import Attack, wilson
from incrowd.attacks.kind import AttackCall, AttackKind
from incrowd.attacks.setting import Column, Setting
from incrowd.core.errors import key_or_row_map
from incrowd.core.lazy import NDArray, np

_DRAWS = 3
"""Random orders with which the order of the release is compared."""
_TELLS = 0.5
"""An order tells something if it has fewer runs than this share of those of a random order."""
_NEAR = 0.01
"""Share of a column's distinct values that may be left of a value that counts as found."""


def ordered_columns(setting: Setting) -> list[str]:
    """Return the quasi-identifiers that are numbers or dates."""
    return [name for name in setting.quasi if setting.columns[name].numeric]


def order(setting: Setting) -> Attack:
    """Assume that a column sorts the rows, and intersect each cell with the bounds of neighbouring cells.

    Logs are in the order of time, so row N is no later than row N + 1. A released row is parted into runs in
    which the cells can be sorted. Within a run a value is at least the largest lower bound before it, and at
    most the smallest upper bound after it. A value is found if at most 1 % of the column's distinct values
    are left, and that of the raw row is among them. It is pinned if it is the only one left. Where a random
    order of the same cells has nearly as few runs, the order tells nothing, and the cell alone is looked at.
    Of several columns, the one of which the order finds the most counts.

    Returns
    -------
    `main`: the share of the rows of which the value is found; `baseline`: the same by the cells alone.
    `figures`: for each column the share of rows that are pinned, and the mean width of what is left as a
    share of the column's range; each by the order, and by the cells alone.
    """
    random = np.random.default_rng([setting.seed, 11])
    figures: dict[str, float] = {}
    best: tuple[int, int] = (0, 0)
    for name in ordered_columns(setting):
        column = setting.columns[name]
        low, high = _bounds(column)
        ends_by_order = _tighten(low, high, random)
        distinct = np.unique(column.place(column.values[~np.isnan(column.values)]))
        alone, together = (
            _remaining(column, distinct, *ends, setting.people) for ends in ((low, high), ends_by_order)
        )
        figures |= {
            f"{name} pinned": float((together == 1).mean()),
            f"{name} pinned by cells": float((alone == 1).mean()),
            f"{name} width": _width(distinct, *ends_by_order),
            f"{name} width of cells": _width(distinct, low, high),
        }
        near = max(_NEAR * len(distinct), 1)
        counts = int((together <= near).sum()), int((alone <= near).sum())
        if counts[0] - counts[1] >= best[0] - best[1]:
            best = counts
    people = setting.people
    rates = (wilson(right, people) for right in best)
    return Attack("order", people, next(rates), next(rates), None, None, figures)


def _bounds(column: Column) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scaled ends of the cells, infinite for a cell that tells nothing."""
    low, high = (np.asarray(column.place(end), np.float64) for end in (column.low, column.high))
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _tighten(
    low: NDArray[np.float64], high: NDArray[np.float64], random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Tighten the ends by the order of rows, ascending or descending, whichever has fewer runs."""
    ways = ((low, high, 1), (-high, -low, -1))
    runs = [list(_runs(one, other)) for one, other, _ in ways]
    chosen = int(len(runs[1]) < len(runs[0]))
    one, other, sign = ways[chosen]
    usual = []
    for _ in range(_DRAWS):
        shuffled = random.permutation(len(low))
        usual.append(sum(1 for _ in _runs(one[shuffled], other[shuffled])))
    if len(runs[chosen]) > _TELLS * np.mean(usual):
        return low, high
    first, last = one.copy(), other.copy()
    for start, stop in runs[chosen]:
        first[start:stop] = np.maximum.accumulate(one[start:stop])
        last[start:stop] = np.minimum.accumulate(other[start:stop][::-1])[::-1]
    return (first, last) if sign > 0 else (-last, -first)


def _runs(low: NDArray[np.float64], high: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """Yield maximal runs of cells that could hold ascending values."""
    # Example: 1-3, 2-5, 4-4, 1-2 splits before 1-2, since no value up to 2 can follow one of at least 4.
    start, largest = 0, -np.inf
    for row, (least, most) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        if most < largest:
            yield start, row
            start, largest = row, -np.inf
        largest = max(largest, least)
    yield start, len(low)


def _remaining(
    column: Column,
    distinct: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    people: int,
) -> NDArray[np.float64]:
    """Count the distinct values left for each row: float64[rows], infinite without the true value."""
    counts = np.searchsorted(distinct, high, "right") - np.searchsorted(distinct, low, "left")
    values = column.place(column.values[:people])
    return np.where((low <= values) & (values <= high), counts, np.inf)


def _width(distinct: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    """Return the mean width of intervals as a share of the width of the distinct values."""
    extent = float(distinct[-1] - distinct[0]) or 1.0
    inside = np.minimum(high, distinct[-1]) - np.maximum(low, distinct[0])
    return float(np.mean(inside.clip(0) / extent))


def _attempt(call: AttackCall) -> Attack:
    """Try the attack unless a cell shows that row N of the two tables is not the same person."""
    setting = call.setting
    for name in () if call.aligned else ordered_columns(setting):
        low, high = _bounds(setting.columns[name])
        values = setting.columns[name].place(setting.columns[name].values[: setting.people])
        if wrong := int(((values < low) | (values > high)).sum()):
            return Attack.of_nothing(
                "order",
                f"column {name!r}: {wrong:,} records have a cell that is not true of the row in their place, "
                f"so it is not known which row is which; name {key_or_row_map()}",
            )
    return order(setting)


ORDER = AttackKind(
    "order",
    "as many rows as the raw table, and a quasi-identifier of numbers or dates",
    lambda call: call.setting.records == call.setting.people and bool(ordered_columns(call.setting)),
    _attempt,
)
