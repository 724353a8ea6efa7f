"""Non-uniform entropy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import CellMetric, LevelCosts, MetricResult, SteersByCells, mean_of

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable


class NonUniformEntropy(CellMetric, SteersByCells):
    """Information needed to guess a value from the released cell, over the information in the value.

    A cell costs -log2(records with the value / records with a value that the cell covers). A suppressed cell
    costs -log2(records with the value / all records). The sum per attribute is divided by the sum for
    suppressing every record. A constant column loses nothing.

    References
    ----------
    Gionis and Tassa, k-anonymization with minimal loss of information, IEEE TKDE 21(2), 2009, definition 4.4;
    de Waal and Willenborg, Information loss through global recoding and local suppression, 1999.
    """

    name: ClassVar[str] = "non-uniform-entropy"
    summary: ClassVar[str] = "share of the information in the values that generalization took away"
    paper: ClassVar[str] = "Gionis and Tassa 2009"

    def level_costs(self, domain: Domain, totals: NDArray[np.int64]) -> LevelCosts:
        """Return the information that each cell took away, in bits."""
        tree = domain.tree
        below = np.concatenate(([0], np.cumsum(totals)))
        records = max(int(below[-1]), 1)
        # A value that does not occur costs nothing, since no record has it.
        occurs = totals > 0
        counts = np.where(occurs, totals, 1)
        levels = []
        for level in range(tree.height + 1):
            nodes = tree.climb(level)
            covered = below[tree.hi[nodes]] - below[tree.lo[nodes]]
            levels.append(np.where(occurs, np.log2(np.where(occurs, covered, 1) / counts), 0.0))
        suppressed = np.where(occurs, np.log2(records / counts), 0.0)
        information = float(suppressed @ totals)
        return LevelCosts(levels, suppressed, information / records, information / records)

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the mean over attributes, in [0, 1]."""
        per_attribute = {}
        for j, (domain, cells) in enumerate(zip(recoding.domains, recoding.cells, strict=True)):
            codes, totals = frequency.codes[j], frequency.totals(j)
            costs = self.level_costs(domain, totals)
            below = np.concatenate(([0], np.cumsum(totals)))
            covered = (below[cells.hi + 1] - below[cells.lo])[cells.codes]
            bits = np.log2(covered / totals[codes])
            bits[recoding.suppressed] = costs.suppressed[codes][recoding.suppressed]
            lost = float(bits @ frequency.weights) + frequency.suppressed * costs.before
            per_attribute[domain.name] = lost / (costs.whole * frequency.rows) if costs.whole else 0.0
        return MetricResult(self.name, mean_of(per_attribute), per_attribute)


class PooledEntropy(CellMetric, SteersByCells):
    """Bits that all cells took away: non-uniform entropy summed over attributes, not averaged.

    It lies between 0 and the bits that suppressing every record takes away. Normalized, it is the sum of the
    losses over the sum of their maxima. So columns with more information weigh more. Other tools report 1
    less the normalized figure. A search minimizes the bits, by the mean over the attributes.

    References
    ----------
    Gionis and Tassa, k-anonymization with minimal loss of information, IEEE TKDE 21(2), 2009, definition 4.4.
    """

    name: ClassVar[str] = "pooled-entropy"
    summary: ClassVar[str] = "bits that generalization took away, over all columns together"
    paper: ClassVar[str] = "Gionis and Tassa 2009"
    scale: ClassVar[str] = "0 (nothing lost) to the bits of all values"

    def level_costs(self, domain: Domain, totals: NDArray[np.int64]) -> LevelCosts:
        """Return the information that each cell took away, in bits."""
        return replace(NonUniformEntropy().level_costs(domain, totals), whole=1.0, summed=True)

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the bits."""
        shares = NonUniformEntropy().measure(frequency, recoding).per_attribute or {}
        per_attribute = {
            domain.name: shares[domain.name] * bits
            for domain, bits in zip(frequency.domains, self._most(frequency), strict=True)
        }
        return MetricResult(self.name, math.fsum(per_attribute.values()), per_attribute)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Return the bits as a share of the loss of suppressing every record."""
        most = math.fsum(self._most(frequency))
        return lost.value / most if most else 0.0

    def _most(self, frequency: FrequencyTable) -> list[float]:
        costs = (
            NonUniformEntropy().level_costs(domain, frequency.totals(j))
            for j, domain in enumerate(frequency.domains)
        )
        return [cost.whole * frequency.rows for cost in costs]


class PooledEntropyARX(CellMetric):
    """Bits that all cells took away, with suppressed records as ARX charges them.

    ``pooled-entropy`` charges a suppressed record all of its bits. ARX charges it the bits of its cells as if
    it were kept, and the bits of these cells among the suppressed records. Example: of ten records, the two
    with the cells 1-3 and 4-6 are suppressed. Each costs one bit more than if it were kept. The figure is at
    most that of ``pooled-entropy``. The charge of a record depends on the other suppressed records, so no
    search minimizes it. Other recodings than those of full domain are charged as by ``pooled-entropy``.

    References
    ----------
    The non-monotonic non-uniform entropy of ARX 3.9, whose tests have the figure 228878.2039109517 for Adult
    with entropy 5-diversity of the occupation.
    """

    name: ClassVar[str] = "pooled-entropy-arx"
    summary: ClassVar[str] = "bits that generalization took away, with suppressed records as in ARX"
    paper: ClassVar[str] = "Gionis and Tassa 2009; ARX 3.9"
    scale: ClassVar[str] = "0 (nothing lost) to the bits of all values"

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the bits, which for other than full-domain recodings are those of ``pooled-entropy``."""
        from incrowd.core.recoding import FullDomain

        lost = recoding.suppressed
        if isinstance(recoding, FullDomain):
            recoding = FullDomain.build(frequency, recoding.levels)
        bits = PooledEntropy().measure(frequency, recoding).per_attribute or {}
        for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
            counts = np.bincount(cells.codes[lost], frequency.weights[lost])
            counts = np.append(counts[counts > 0], [frequency.suppressed] * (frequency.suppressed > 0))
            bits[domain.name] += float(counts @ np.log2(counts.sum() / counts))
        return MetricResult(self.name, math.fsum(bits.values()), bits)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Return the bits as a share of the loss of suppressing every record."""
        return PooledEntropy().normalized(lost, frequency)
