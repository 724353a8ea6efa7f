"""The average class size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.parameters import parameter
from incrowd.utility.base import ClassCosts, ClassMetric, MetricResult, SteersByClasses

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses
    from incrowd.table.frequency import FrequencyTable


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

    def class_costs(self, rows: int, everything: float) -> ClassCosts:
        """Return 1 / k a record, over the number of classes."""
        return ClassCosts(record=1 / self.k, by_class=True)
