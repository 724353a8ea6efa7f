"""Shannon entropy of the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import CellMetric, MetricResult, mean_of

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable


class ShannonEntropy(CellMetric):
    """Share of each column's Shannon entropy that the released cells have lost.

    The figure is 1 - H(cells) / H(values), averaged over attributes. H is the entropy of the frequencies in
    the whole column. ``*`` is one cell. A constant column loses nothing.

    References
    ----------
    Shannon, A mathematical theory of communication, 1948; as a measure of columns in Prasser, Eicher,
    Spengler, Bild and Kuhn, Flexible data anonymization using ARX, 2020.
    """

    name: ClassVar[str] = "shannon-entropy"
    summary: ClassVar[str] = "share of each column's entropy that its released cells have lost"
    paper: ClassVar[str] = "Shannon 1948"

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the mean over attributes, in [0, 1]."""
        per_attribute = {}
        for j, (domain, cells) in enumerate(zip(recoding.domains, recoding.cells, strict=True)):
            positions, labels = cells.released
            after = np.bincount(positions[cells.codes], frequency.weights, len(labels))
            before = _entropy(frequency.totals(j))
            share = 1 - _entropy(after) / before if before > 0 else 0.0
            per_attribute[domain.name] = min(max(share, 0.0), 1.0)
        return MetricResult(self.name, mean_of(per_attribute), per_attribute)


def _entropy(counts: NDArray[np.integer] | NDArray[np.floating]) -> float:
    occurring = counts[counts > 0].astype(np.float64)
    total = occurring.sum()
    return float(np.log2(total) - (occurring @ np.log2(occurring)) / total) if total else 0.0
