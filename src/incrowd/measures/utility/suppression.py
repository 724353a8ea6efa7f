"""The share of suppressed records and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import CellMetric, MetricResult

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable


class Suppression(CellMetric):
    """Share of records with ``*`` in every quasi-identifier, and share of ``*`` cells per attribute.

    References
    ----------
    Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001, section 4.
    """

    name: ClassVar[str] = "suppression"
    summary: ClassVar[str] = "share of suppressed records; per attribute, the share of * cells"
    paper: ClassVar[str] = "Samarati 2001"

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the shares, in [0, 1]."""
        rows = max(frequency.rows, 1)

        def share(starred: NDArray[np.bool_]) -> float:
            return (int(frequency.weights[starred].sum()) + frequency.suppressed) / rows

        per_attribute = {
            domain.name: share(cells.starred)
            for domain, cells in zip(recoding.domains, recoding.cells, strict=True)
        }
        everywhere = self.per_record(frequency, recoding) > 0
        return MetricResult(self.name, share(everywhere), per_attribute)

    def per_record(self, frequency: FrequencyTable, recoding: Recoding) -> NDArray[np.float64]:
        """Return 1 for a suppressed record and 0 for another."""
        everywhere = np.ones(frequency.keys)
        for cells in recoding.cells:
            everywhere *= cells.starred
        return everywhere
