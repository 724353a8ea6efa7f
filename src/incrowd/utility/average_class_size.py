"""The average class size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.parameters import parameter
from incrowd.utility.base import ClassMetric, MetricResult, SteersByClasses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.table.classes import EquivalenceClasses
    from incrowd.table.frequency import FrequencyTable

__all__ = ["AverageClassSize"]


@dataclass(frozen=True)
class AverageClassSize(ClassMetric, SteersByClasses):
    """C_avg: records in classes over the number of classes, and over k.

    References
    ----------
    LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006, section 5. There k is
    that of k-anonymity, so that 1 is the best; the mean itself has k = 1.
    """

    k: int = parameter("what the mean is divided by", kind=int, default=1, low=1)

    name: ClassVar[str] = "average-class-size"
    summary: ClassVar[str] = "mean number of records in an equivalence class"
    paper: ClassVar[str] = "LeFevre et al. 2006"
    scale: ClassVar[str] = "1 (every record apart) to the number of records (all alike), over k"

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the mean; 0 where every record is suppressed."""
        return MetricResult(self.name, classes.records / len(classes) / self.k if len(classes) else 0.0)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Put the value between the mean key of the table and all records, as the metric aecs does."""
        least = frequency.records / max(len(frequency.combinations[1]), 1)
        most = max(frequency.records - least, 1e-300)
        return min(max((lost.value * self.k - least) / most, 0.0), 1.0)

    def of_groups(
        self,
        sizes: NDArray[np.int64],
        failing: NDArray[np.bool_],
        rows: int,
        leaves: NDArray[np.float64],
        everything: float,
    ) -> float:
        """Return the mean size of the classes that are kept."""
        kept = sizes[~failing]
        return float(kept.sum()) / len(kept) / self.k if len(kept) else 0.0

    def bound(
        self, sizes: NDArray[np.int64], rows: int, kept: int, smallest: int, leaves: NDArray[np.float64]
    ) -> float:
        """Return the records that must be kept over the classes that these can become."""
        # Merging makes classes fewer, and those that are too small must first become large enough.
        large = sizes >= smallest
        classes = int(large.sum()) + int(sizes[~large].sum()) // smallest
        return kept / max(classes, 1) / self.k

    def least(self, cells: int, rows: int, kept: int, smallest: int) -> float:
        """Return the records that must be kept over the classes there can be."""
        return kept / min(cells, max(rows // smallest, 1)) / self.k
