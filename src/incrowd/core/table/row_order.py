"""Detection of quasi-identifiers that the order of a table's rows reveals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable

_LEAST = 20
"""Rows below which an order is taken for chance."""
_ONE_WAY = 0.9
"""Share of the changes from row to row in one direction above which a column is nearly sorted."""
_GROUPED = 0.5
"""Share of the changes of a random order below which equal values stand together."""


class ColumnOrder:
    """The order of the values of a column, fed in batches.

    Parameters
    ----------
    size
        Number of distinct values.
    """

    def __init__(self, size: int) -> None:
        self._counts = np.zeros(size, np.int64)
        self._last: int | None = None
        self._changes = self._upward = 0

    def add(self, ranks: NDArray[np.integer]) -> None:
        """Add the ranks of the next rows."""
        ranks = ranks.astype(np.int64)
        self._counts += np.bincount(ranks, minlength=len(self._counts))
        if self._last is not None:
            ranks = np.concatenate([[self._last], ranks])
        steps = np.diff(ranks)
        self._changes += int((steps != 0).sum())
        self._upward += int((steps > 0).sum())
        self._last = int(ranks[-1]) if len(ranks) else self._last

    @property
    def tells(self) -> bool:
        """Whether the rows are nearly sorted by the column, or equal values stand together."""
        rows = int(self._counts.sum())
        if rows < _LEAST:
            return False
        usual = (rows - 1) * float(1 - ((self._counts / rows) ** 2).sum())
        if usual < 1:
            return False  # nearly everybody has one value, and its place tells nothing
        upward = max(self._upward, self._changes - self._upward)
        sorted_ = self._changes > 1 and upward >= _ONE_WAY * self._changes
        return sorted_ or self._changes <= _GROUPED * usual


def columns_in_order(frequency: FrequencyTable) -> list[str]:
    """Return the quasi-identifiers that are nearly sorted, or that group equal values together.

    Suppressed rows are passed over. Where rows are not in memory nobody knows, and nothing is returned.

    Examples
    --------
    A log has the columns time and age. Its rows are sorted by time, so this returns ``["time"]``.
    """
    if frequency.row_keys is None:
        return []
    keys = frequency.row_keys[frequency.row_keys >= 0]
    names = []
    for domain, codes in zip(frequency.domains, frequency.codes, strict=True):
        order = ColumnOrder(domain.size)
        order.add(codes[keys])
        if order.tells:
            names.append(domain.name)
    return names
