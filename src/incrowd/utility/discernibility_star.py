"""The discernibility metric without a penalty for suppression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.utility.base import ClassMetric, MetricResult, sum_of_squares

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses
    from incrowd.table.frequency import FrequencyTable


@dataclass(frozen=True)
class DiscernibilityStar(ClassMetric):
    """DM*: the sum of squared class sizes, in which suppressed records are one more class.

    So it never falls when classes are joined, which DM with its penalty may.

    References
    ----------
    El Emam, Dankar, Issa et al., A globally optimal k-anonymity method for the de-identification of health
    data, JAMIA 16(5), 2009, section on information loss (DM*).
    """

    name: ClassVar[str] = "discernibility-star"
    summary: ClassVar[str] = "DM*: sum of squared class sizes; suppressed records are one class"
    paper: ClassVar[str] = "El Emam et al. 2009"
    scale: ClassVar[str] = "records (every record apart) to records squared (all alike)"

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the sum, exactly."""
        squares = sum_of_squares(classes.sizes)
        return MetricResult(self.name, squares + classes.suppressed**2)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Put the value between that of the table as it was and that of one class of all records."""
        _, sizes = frequency.combinations
        least = sum_of_squares(sizes) + frequency.suppressed**2
        return (lost.value - least) / max(frequency.rows**2 - least, 1)
