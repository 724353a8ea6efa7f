"""The average class size and the normalized growth of that size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.parameters import parameter
from incrowd.measures.utility.base import ClassCosts, ClassMetric, MetricResult, SteersByClasses

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


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
        """Return the mean, or 0 if every record is suppressed."""
        return MetricResult(self.name, classes.records / len(classes) / self.k if len(classes) else 0.0)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Return the growth from the raw table to a single class, as the metric aecs does."""
        return _growth(lost.value * self.k, frequency)

    def class_costs(self, rows: int, everything: float) -> ClassCosts:
        """Return 1 / k a record, over the number of classes."""
        return ClassCosts(record=1 / self.k, by_class=True)


class AECS(ClassMetric):
    """AECS: growth of the mean class size from the raw table (0) to a single class of all records (1).

    (a_out - a_in) / (N - a_in), brought into [0, 1]. Here a is the mean class size: the number of records
    over the number of classes. Suppressed records are left out of a_out. Without a class the figure is 1.
    Other tools report 1 less this figure.

    References
    ----------
    LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006, section 5,
    normalized as in Prasser, Eicher, Spengler, Bild and Kuhn, Flexible data anonymization using ARX,
    2020.
    """

    name: ClassVar[str] = "aecs"
    summary: ClassVar[str] = "growth of the mean class size: 0 as in the raw table, 1 in one class"
    paper: ClassVar[str] = "LeFevre et al. 2006; Prasser et al. 2020"

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the share, in [0, 1]."""
        if not len(classes):
            return MetricResult(self.name, 1.0)
        return MetricResult(self.name, _growth(classes.records / len(classes), classes.frequency))


def _growth(mean: float, frequency: FrequencyTable) -> float:
    """Scale a mean size to [0, 1], from the mean key of the table to all records."""
    least = frequency.records / max(len(frequency.combinations[1]), 1)
    most = max(frequency.records - least, 1e-300)
    return min(max((mean - least) / most, 0.0), 1.0)
