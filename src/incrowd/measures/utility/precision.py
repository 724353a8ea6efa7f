"""Loss of precision."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import CellMetric, LevelCosts, MetricResult, SteersByCells, cell_costs
from incrowd.measures.utility.generalization_intensity import GeneralizationIntensity

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable


class Precision(CellMetric, SteersByCells):
    """1 - Prec: level of a cell over the height of the hierarchy, averaged over cells.

    A suppressed cell counts 1. Without a hierarchy there are the levels 0 (value) and 1 (everything).

    In full-domain recoding the level of a cell is the level of its column. This also holds for values that
    reached the root at a lower level. In other recodings it is the number of steps from a value to the lowest
    common ancestor of its class.

    References
    ----------
    Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5),
    2002, definition 4 (Prec). The number of steps alone is the distortion MD.
    """

    name: ClassVar[str] = "precision"
    summary: ClassVar[str] = "levels climbed in the hierarchies over their heights, as a mean"
    paper: ClassVar[str] = "Sweeney 2002"

    def level_costs(self, domain: Domain, totals: NDArray[np.int64]) -> LevelCosts:
        """Return level / height."""
        height = domain.tree.height
        levels = [np.full(domain.size, level / max(height, 1)) for level in range(height + 1)]
        return LevelCosts(levels, np.ones(domain.size), 1.0, 1.0)

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the mean over records and attributes, in [0, 1]."""
        from incrowd.core.recoding import FullDomain

        if isinstance(recoding, FullDomain):
            return cell_costs(self, frequency, recoding)
        return replace(GeneralizationIntensity().measure(frequency, recoding), metric=self.name)
