"""The normalized certainty penalty NCP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.utility.base import LevelCosts, Lost, Metric, per_attribute_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.domain import Domain
    from incrowd.frequency import FrequencyTable
    from incrowd.recoding import Recoding

__all__ = ["NCP"]


@dataclass(frozen=True)
class NCP(Metric):
    """NCP, averaged over records and quasi-identifiers (the global certainty penalty GCP).

    A number or date costs (largest - smallest) / (range of the column) over its class; a category
    costs (leaves under its node) / (all leaves), and 0 where it is not generalized. Without a hierarchy
    the distinct values of the class stand for the leaves. A suppressed cell costs 1.

    References
    ----------
    Xu, Wang, Pei, Wang, Shi and Fu, Utility-based anonymization using local recoding, KDD 2006,
    section 3.1.
    """

    name: ClassVar[str] = "ncp"
    summary: ClassVar[str] = "NCP: width of each released cell relative to its column"
    paper: ClassVar[str] = "Xu et al. 2006"

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> Lost:
        """Return the mean over records and attributes, in [0, 1]."""
        import numpy as np

        penalties = []
        for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
            if domain.ordered:
                penalties.append(cells.loss)
                continue
            # LM counts (n - 1) / (all - 1); bring it back to n / all, and 0 for a single value.
            share = (cells.loss * max(domain.size - 1, 1) + 1) / max(domain.size, 1)
            penalties.append(np.minimum(share, 1) * (cells.loss > 0))
        return per_attribute_mean(self.name, frequency, recoding, penalties)

    def level_costs(self, domain: Domain, totals: NDArray[np.int64]) -> LevelCosts:
        """Return leaves / all leaves of each cell, 0 for a single value."""
        import numpy as np

        tree = domain.tree
        levels = []
        for level in range(tree.height + 1):
            leaves = tree.leaves_at(level)
            levels.append(np.where(leaves > 1, leaves / max(domain.size, 1), 0.0))
        return LevelCosts(levels, np.ones(domain.size), 1.0, 1.0)
