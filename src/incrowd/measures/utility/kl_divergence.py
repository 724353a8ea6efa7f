"""Kullback-Leibler divergence of the raw table from the release."""

from __future__ import annotations

from math import log2, prod
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import CellMetric, MetricResult

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable


class KLDivergence(CellMetric):
    """Kullback-Leibler divergence of the raw combinations of values from the release, in bits.

    The figure is the sum of p(x) log2(p(x) / q(x)) over the combinations x that occur. p(x) is their share of
    the records. q spreads the share of a class evenly over the combinations that its cells stand for. Classes
    may overlap in local recoding. Then only the record's own class is taken, so the figure is an upper bound.
    Suppressed records are one class of all combinations.

    References
    ----------
    Kifer and Gehrke, Injecting utility into anonymized datasets, SIGMOD 2006, section 2.
    """

    name: ClassVar[str] = "kl-divergence"
    summary: ClassVar[str] = "bits of divergence between the raw distribution and that of the release"
    paper: ClassVar[str] = "Kifer and Gehrke 2006"
    scale: ClassVar[str] = "0 (nothing lost) to the bits that suppressing everything loses"

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the divergence in bits."""
        classes = recoding.classes(frequency)
        size = np.full(frequency.keys, classes.suppressed - frequency.suppressed, np.float64)
        size[classes.members] = np.repeat(classes.sizes, np.diff(classes.indptr))
        volume = np.zeros(frequency.keys)
        for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
            wide = (cells.hi - cells.lo + 1).astype(np.float64)
            if domain.hierarchy is None and not domain.ordered:
                # A set counts its values, not the ranks between them.
                wide = np.rint(cells.loss * (domain.size - 1)) + 1
            volume += np.log2(wide)[cells.codes]
        volume[recoding.suppressed] = _bits(frequency)
        true = np.log2(_shares(frequency))
        records = max(frequency.records, 1)
        ratios = true - (np.log2(size / records) - volume)
        return MetricResult(self.name, max(float(ratios @ frequency.weights) / records, 0.0))

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Return the value over that of suppressing every record."""
        entropy = float(np.log2(_shares(frequency)) @ frequency.weights / max(frequency.records, 1))
        most = _bits(frequency) + entropy
        return min(lost.value / most, 1.0) if most > 1e-12 else 0.0


def _bits(frequency: FrequencyTable) -> float:
    """Logarithm to base 2 of the number of value combinations."""
    return log2(max(prod(domain.size for domain in frequency.domains), 1))


def _shares(frequency: FrequencyTable) -> NDArray[np.float64]:
    """Share of the records that have each key's values: float64[keys]."""
    ids, records = frequency.combinations
    return np.asarray(records[ids] / max(frequency.records, 1))
