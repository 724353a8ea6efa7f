"""The average equivalence class size, normalized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.utility.base import ClassMetric, MetricResult

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class AECS(ClassMetric):
    """AECS: growth of the mean class size, from the raw table (0) to one class of all records (1).

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
        frequency = classes.frequency
        if not len(classes):
            return MetricResult(self.name, 1.0)
        least = frequency.records / max(len(frequency.combinations[1]), 1)
        if frequency.records <= least:
            return MetricResult(self.name, 0.0)
        mean = classes.records / len(classes)
        return MetricResult(self.name, min(max((mean - least) / (frequency.records - least), 0.0), 1.0))
