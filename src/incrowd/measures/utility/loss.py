"""The loss metric LM."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import LevelCosts, PenaltyMetric, SteersByCells

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.domain import Domain


class Loss(PenaltyMetric, SteersByCells):
    """LM, averaged over records and quasi-identifiers.

    A cell costs:

    - with a hierarchy, (leaves under its node - 1) / (all leaves - 1). Example: 3 of 9 leaves cost 2/8;
    - for a number or date without hierarchy, (largest - smallest value of the class) / (range of the column);
    - for another category, (distinct values in the class - 1) / (distinct values in the column - 1);
    - if it is suppressed, 1.

    References
    ----------
    Iyengar, Transforming data to satisfy privacy constraints, KDD 2002, section 3.1.
    """

    name: ClassVar[str] = "loss"
    summary: ClassVar[str] = "LM: the part of its column that a cell covers, as a mean over cells"
    paper: ClassVar[str] = "Iyengar 2002"

    def penalties(self, recoding: Recoding) -> list[NDArray[np.float64]]:
        """Return the loss of each cell."""
        return [cells.loss for cells in recoding.cells]

    def level_costs(self, domain: Domain, totals: NDArray[np.int64]) -> LevelCosts:
        """Return (leaves - 1) / (all leaves - 1) of each cell."""
        tree = domain.tree
        levels = [(tree.leaves_at(level) - 1) / max(domain.size - 1, 1) for level in range(tree.height + 1)]
        return LevelCosts(levels, np.ones(domain.size), 1.0, 1.0)
