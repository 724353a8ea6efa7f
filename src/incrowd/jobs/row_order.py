"""Whether the order of a table's rows tells its quasi-identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from incrowd.table.frequency import FrequencyTable

__all__ = ["columns_in_order"]

_LEAST = 20
"""Rows below which an order is taken for chance."""
_ONE_WAY = 0.9
"""Share of the changes from row to row that go one way in a column that is nearly sorted."""
_GROUPED = 0.5
"""Share of the changes of a random order below which equal values stand together."""


def columns_in_order(frequency: FrequencyTable) -> list[str]:
    """Return the quasi-identifiers that are nearly sorted, or whose equal values stand together.

    Suppressed rows are passed over. Where rows are not in memory nobody knows, and nothing is returned.

    Examples
    --------
    A log has the columns time and age. Its rows are sorted by time, so this returns ``["time"]``.
    """
    if frequency.row_keys is None:
        return []
    keys = frequency.row_keys[frequency.row_keys >= 0]
    if len(keys) < _LEAST:
        return []
    found = []
    for domain, codes in zip(frequency.domains, frequency.codes, strict=True):
        ranks = codes[keys].astype(np.int64)
        steps = np.diff(ranks)
        changes = int((steps != 0).sum())
        shares = np.bincount(ranks, minlength=domain.size) / len(ranks)
        usual = len(steps) * float(1 - (shares**2).sum())
        if usual < 1:
            continue  # nearly everybody has one value, and its place tells nothing
        upward = int((steps > 0).sum())
        sorted_ = changes > 1 and max(upward, changes - upward) >= _ONE_WAY * changes
        if sorted_ or changes <= _GROUPED * usual:
            found.append(domain.name)
    return found
