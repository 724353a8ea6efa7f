"""The normalized certainty penalty NCP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.utility.base import LevelCosts, PenaltyMetric, SteersByCells

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.domain import Domain


@dataclass(frozen=True)
class NCP(PenaltyMetric, SteersByCells):
    """NCP, averaged over records and quasi-identifiers (the global certainty penalty GCP).

    - A number or date costs (largest - smallest value of its class) / (range of the column).
    - A category costs (leaves under its node) / (all leaves), and 0 if it is not generalized. Without a
      hierarchy the distinct values of the class stand for the leaves.
    - A suppressed cell costs 1.

    Parameters
    ----------
    leaf
        What a category that is not generalized costs: ``zero``, or ``share``, 1 / (all leaves), as the bare
        formula has it.

    References
    ----------
    Xu, Wang, Pei, Wang, Shi and Fu, Utility-based anonymization using local recoding, KDD 2006,
    section 3.1.
    """

    leaf: str = parameter(
        "what a category that is not generalized costs", kind=str, default="zero", choices=("zero", "share")
    )

    name: ClassVar[str] = "ncp"
    summary: ClassVar[str] = "NCP: width of each released cell relative to its column"
    paper: ClassVar[str] = "Xu et al. 2006"

    def penalties(self, recoding: Recoding) -> list[NDArray[np.float64]]:
        """Return the width of each cell relative to the cell's column."""
        penalties = []
        for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
            if domain.ordered:
                penalties.append(cells.loss)
                continue
            # LM counts (n - 1) / (all - 1); bring it back to n / all, and 0 for a single value.
            share = (cells.loss * max(domain.size - 1, 1) + 1) / max(domain.size, 1)
            penalties.append(np.minimum(share, 1) * (cells.loss > 0 if self.leaf == "zero" else 1.0))
        return penalties

    def level_costs(self, domain: Domain, totals: NDArray[np.int64]) -> LevelCosts:
        """Return leaves / all leaves of each cell, 0 for a single value."""
        tree, size = domain.tree, max(domain.size, 1)
        alone = 0.0 if self.leaf == "zero" else 1 / size
        leaves = (tree.leaves_at(level) for level in range(tree.height + 1))
        levels = [np.where(counts > 1, counts / size, alone) for counts in leaves]
        return LevelCosts(levels, np.ones(domain.size), 1.0, 1.0)
