"""The distortion MD."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import CellMetric, LevelCosts, MetricResult, SteersByCells

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable


class Distortion(CellMetric, SteersByCells):
    """MD: the levels that every cell climbed, summed over records and quasi-identifiers.

    A value climbs to the node of its cell. In local recoding it climbs to the lowest common ancestor of its
    class. A suppressed value climbs to the root. Without a hierarchy there is one level, from the value to
    anything wider. A cell that was suppressed before counts the height of the hierarchy. Per attribute the
    figure is the mean over records.

    References
    ----------
    The distortion metric of COMP 430/530 (Koc University, fall 2024), homework 1, part 1; the height
    metric of Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001,
    taken per cell.
    """

    name: ClassVar[str] = "distortion"
    summary: ClassVar[str] = "MD: levels climbed, summed over all cells"
    paper: ClassVar[str] = "COMP 430 2024, after Samarati 2001"
    scale: ClassVar[str] = "0 (nothing climbed) to records times the heights of all hierarchies"

    def level_costs(self, domain: Domain, totals: NDArray[np.int64]) -> LevelCosts:
        """Return the steps that each value climbs, which stop at the root."""
        tree = domain.tree
        deep = tree.depths[tree.leaves].astype(np.float64)
        levels = [np.minimum(deep, level) for level in range(tree.height + 1)]
        return LevelCosts(levels, deep, float(tree.height), 1.0)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Return the value over that of suppressing every record."""
        most = frequency.suppressed * sum(domain.height for domain in frequency.domains)
        for codes, domain in zip(frequency.codes, frequency.domains, strict=True):
            tree = domain.hierarchy
            deep = 1 if tree is None else tree.depths[tree.leaves[codes]].astype(int)
            most += int((deep * frequency.weights).sum())
        return lost.value / max(most, 1)

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the sum, exactly."""
        total = 0
        per_attribute = {}
        for domain, codes, cells in zip(recoding.domains, frequency.codes, recoding.cells, strict=True):
            # The entry of a suppressed key has depth 0, so it climbs to the root.
            climbed = cells.climbed(domain, codes)
            here = int(climbed @ frequency.weights) + frequency.suppressed * domain.height
            total += here
            per_attribute[domain.name] = here / frequency.rows if frequency.rows else 0.0
        return MetricResult(self.name, total, per_attribute)
