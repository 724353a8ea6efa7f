"""The cells that must not be published, and the required widths of intervals."""

from __future__ import annotations

from incrowd.core.lazy import NDArray, np
from incrowd.release.tables.counting import Cells
from incrowd.release.tables.need import Need

OPEN_SHARE = 0.1
"""How far the interval of a suppressed sum reaches at least, as a share of the sum, if no rule says more."""
_EXACT = 1e-5
"""Share of the largest sum of a table below which an interval counts as one number."""


def primary_cells(cells: Cells) -> NDArray[np.bool_]:
    """Return bool[cells]: which cells the rules of a table find unsafe.

    - threshold: fewer people than n, and at least one (or none, where zeros are hidden). Of a sum, only
      those count whose part is above 0.
    - dominance (n, share): the n largest people have more than the share of the sum.
    - p %: the sum less its two largest parts is less than p % of the largest, so the second largest person
      can tell the largest part to within p %.

    Source: Hundepool et al., Statistical Disclosure Control, Wiley 2012, section 4.2.
    """
    layout, people = cells.layout, cells.people
    unsafe = (cells.contributors < layout.threshold) & ((people > 0) | (layout.zeros == "hide"))
    return unsafe | (_slack(cells) > 0)


def _slack(cells: Cells) -> NDArray[np.float64]:
    """Return float64[cells]: required reach of an interval from a sum by dominance and p %; 0 if safe.

    With parts x1 >= x2 >= ... of a sum X, an interval that ends ``share * X < x1 + .. + xn`` too near tells
    the largest parts: the end must be at ``(x1 + .. + xn) / share`` for dominance, and at
    ``X + p/100 * x1 - (X - x1 - x2)`` for p %.
    """
    total = cells.values
    slack = np.zeros(len(total))
    for weights, share, _ in cells.layout.sum_rules:
        largest = (cells.largest[:, : len(weights)] * weights).sum(axis=1)
        slack = np.maximum(slack, largest / share - total)
    # Sums of decimal numbers miss a rule that they meet exactly by a few last digits.
    return np.where(slack > 1e-9 * total, slack, 0.0)


def need_of(cells: Cells, primary: NDArray[np.bool_]) -> Need:
    """Return how wide the intervals of suppressed cells must be.

    A count must be open by the table's `width`. A sum must be open by a tenth of its largest value, and by a
    tenth of what a person has on average: a sum of 0 is somebody's number, too. An unsafe sum must be open
    above and below by what its rule asks for, at least a tenth of itself, too.
    """
    layout, values = cells.layout, cells.values
    shown = float(layout.zeros == "show")
    if layout.sum is None:
        width = np.full(len(values), float(layout.open_width))
        return Need(values, width, np.zeros(len(values)), floor=shown)
    slack = np.where(primary, np.maximum(_slack(cells), OPEN_SHARE * values), 0.0)
    average = values[0] / max(int(cells.people[0]), 1)
    least = max(OPEN_SHARE * average, _EXACT * values.max(initial=1.0))
    return Need(values, np.maximum(OPEN_SHARE * values, least), slack, OPEN_SHARE, whole=False)


def cost_of(cells: Cells) -> NDArray[np.float64]:
    """Return float64[cells]: the cost of the suppression of each cell, above 0."""
    least = np.ones(len(cells.values))
    measures = {"cells": 0 * least, "people": cells.people, "values": cells.values}
    return np.asarray(measures[cells.layout.cost] + least, np.float64)
