"""The share of suppressed records and cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.utility.base import CellMetric, MetricResult

if TYPE_CHECKING:
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable

__all__ = ["Suppression"]


@dataclass(frozen=True)
class Suppression(CellMetric):
    """Share of records that have ``*`` in every quasi-identifier; per attribute of the cells that have it.

    References
    ----------
    Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001, section 4.
    """

    name: ClassVar[str] = "suppression"
    summary: ClassVar[str] = "share of suppressed records; per attribute, the share of * cells"
    paper: ClassVar[str] = "Samarati 2001"

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the shares, in [0, 1]."""
        import numpy as np

        from incrowd.recoding import SUPPRESSED

        rows = max(frequency.rows, 1)
        everywhere = np.ones(frequency.keys, np.bool_)
        per_attribute = {}
        for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
            starred = np.array([label == SUPPRESSED for label in cells.labels])[cells.codes]
            everywhere &= starred
            per_attribute[domain.name] = (int(frequency.weights[starred].sum()) + frequency.suppressed) / rows
        return MetricResult(
            self.name, (int(frequency.weights[everywhere].sum()) + frequency.suppressed) / rows, per_attribute
        )
