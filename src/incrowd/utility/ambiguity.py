"""Ambiguity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.utility.base import CellMetric, MetricResult, SteersByClasses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable

__all__ = ["Ambiguity"]


@dataclass(frozen=True)
class Ambiguity(CellMetric, SteersByClasses):
    """AM: how many combinations of values a released record may stand for, on average.

    Per record the product over quasi-identifiers of the values that its cell covers; a suppressed record
    may be anything. More than 2 ** 1000 combinations, as hundreds of columns have, count as so many.

    References
    ----------
    Nergiz and Clifton, Thoughts on k-anonymization, Data and Knowledge Engineering 63(3), 2007, section 3.2.
    """

    name: ClassVar[str] = "ambiguity"
    summary: ClassVar[str] = "AM: mean number of value combinations that a record may stand for"
    paper: ClassVar[str] = "Nergiz and Clifton 2007"
    scale: ClassVar[str] = "1 (nothing lost) to the number of all combinations of values"
    needs_leaves: ClassVar[bool] = True

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the mean over records."""
        import numpy as np

        from incrowd.table.domain import MOST_COMBINATIONS, combinations_of

        everything = combinations_of(recoding.domains)
        each = np.ones(frequency.keys)
        for cells in recoding.cells:
            each = np.minimum(each * (cells.hi - cells.lo + 1)[cells.codes], MOST_COMBINATIONS)
        each[recoding.suppressed] = everything
        total = float(each @ frequency.weights) + frequency.suppressed * everything
        return MetricResult(self.name, total / frequency.rows if frequency.rows else 0.0)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Return (AM - 1) / (combinations - 1)."""
        from incrowd.table.domain import combinations_of

        everything = combinations_of(frequency.domains)
        return (lost.value - 1) / max(everything - 1, 1)

    def of_groups(
        self,
        sizes: NDArray[np.int64],
        failing: NDArray[np.bool_],
        rows: int,
        leaves: NDArray[np.float64],
        everything: float,
    ) -> float:
        """Return the mean over records."""
        kept = ~failing
        total = float(sizes[kept] @ leaves[kept])
        return (total + (rows - int(sizes[kept].sum())) * everything) / rows

    def bound(
        self, sizes: NDArray[np.int64], rows: int, kept: int, smallest: int, leaves: NDArray[np.float64]
    ) -> float:
        """Return the mean without suppression, which generalizing raises."""
        return float(sizes @ leaves) / rows

    def least(self, cells: int, rows: int, kept: int, smallest: int) -> float:
        """Return 1, what nothing falls below."""
        return kept / rows

    def floor(self, suppressed: int, rows: int, smallest: int, everything: float) -> float:
        """Return the mean when all that is kept is not generalized."""
        return (suppressed * everything + (rows - suppressed)) / rows
