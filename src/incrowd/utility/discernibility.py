"""The discernibility metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.utility.base import ClassCosts, ClassMetric, MetricResult, SteersByClasses, sum_of_squares

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses
    from incrowd.table.frequency import FrequencyTable


@dataclass(frozen=True)
class Discernibility(ClassMetric, SteersByClasses):
    """DM: every record costs the size of its class, a suppressed one the size of the table.

    References
    ----------
    Bayardo and Agrawal, Data privacy through optimal k-anonymization, ICDE 2005, section 2.
    """

    name: ClassVar[str] = "discernibility"
    summary: ClassVar[str] = "DM: sum of squared class sizes; a suppressed record counts the whole table"
    paper: ClassVar[str] = "Bayardo and Agrawal 2005"
    scale: ClassVar[str] = "records (every record apart) to records squared (all alike)"

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the sum of costs, exactly."""
        frequency = classes.frequency
        squares = sum_of_squares(classes.sizes)
        return MetricResult(self.name, squares + classes.suppressed * frequency.rows)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Put the value between that of the table as it was and that of suppressing every record."""
        _, sizes = frequency.combinations
        least = sum_of_squares(sizes) + frequency.suppressed * frequency.rows
        return (lost.value - least) / max(frequency.rows**2 - least, 1)

    def class_costs(self, rows: int, everything: float) -> ClassCosts:
        """Return the squares, and the size of the table for a suppressed record."""
        return ClassCosts(square=1.0, suppressed=float(rows))
