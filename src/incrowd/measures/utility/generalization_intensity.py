"""Generalization intensity."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import CellMetric, MetricResult, mean_of

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable


class GeneralizationIntensity(CellMetric):
    """Steps climbed by a cell over the height of the hierarchy, averaged over all cells.

    Precision takes the level of the column in full-domain recoding; this takes each cell's own steps,
    which stop at the root. A suppressed cell counts 1.

    References
    ----------
    Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5),
    2002, definition 4, cell by cell; so named by Prasser, Eicher, Spengler, Bild and Kuhn, Flexible data
    anonymization using ARX, Software: Practice and Experience 50(7), 2020.
    """

    name: ClassVar[str] = "generalization-intensity"
    summary: ClassVar[str] = "steps climbed in the hierarchy over its height, as a mean over cells"
    paper: ClassVar[str] = "Sweeney 2002; Prasser et al. 2020"

    def _costs(self, frequency: FrequencyTable, recoding: Recoding) -> list[NDArray[np.float64]]:
        return [
            np.where(recoding.suppressed, 1.0, cells.climbed(domain, codes) / max(domain.height, 1))
            for domain, codes, cells in zip(recoding.domains, frequency.codes, recoding.cells, strict=True)
        ]

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the mean over records and attributes, in [0, 1]."""
        per_attribute = {
            domain.name: (float(costs @ frequency.weights) + frequency.suppressed) / max(frequency.rows, 1)
            for domain, costs in zip(recoding.domains, self._costs(frequency, recoding), strict=True)
        }
        return MetricResult(self.name, mean_of(per_attribute), per_attribute)

    def per_record(self, frequency: FrequencyTable, recoding: Recoding) -> NDArray[np.float64]:
        """Return the mean over attributes, in [0, 1]."""
        return np.asarray(np.mean(self._costs(frequency, recoding), axis=0))
