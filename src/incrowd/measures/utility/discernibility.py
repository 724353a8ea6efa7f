"""The discernibility metric, with and without a penalty for suppression."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from incrowd.measures.utility.base import ClassCosts, ClassMetric, MetricResult, SteersByClasses

if TYPE_CHECKING:
    from incrowd.core.lazy import NDArray, np
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


class _Discernibility(ClassMetric):
    """The sum of squared class sizes, and a penalty for suppressed records."""

    scale: ClassVar[str] = "records (every record apart) to records squared (all alike)"

    @abstractmethod
    def _penalty(self, suppressed: int, rows: int) -> int: ...

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the sum of costs, exactly."""
        penalty = self._penalty(classes.suppressed, classes.frequency.rows)
        return MetricResult(self.name, sum_of_squares(classes.sizes) + penalty)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Scale the sum to [0, 1], from the raw table to a single class of all records."""
        _, sizes = frequency.combinations
        least = sum_of_squares(sizes) + self._penalty(frequency.suppressed, frequency.rows)
        return (lost.value - least) / max(frequency.rows**2 - least, 1)


class Discernibility(_Discernibility, SteersByClasses):
    """DM: sum of the class size over records, where a suppressed record costs the size of the table.

    References
    ----------
    Bayardo and Agrawal, Data privacy through optimal k-anonymization, ICDE 2005, section 2.
    """

    name: ClassVar[str] = "discernibility"
    summary: ClassVar[str] = "DM: sum of squared class sizes; a suppressed record counts the whole table"
    paper: ClassVar[str] = "Bayardo and Agrawal 2005"

    def _penalty(self, suppressed: int, rows: int) -> int:
        return suppressed * rows

    def class_costs(self, rows: int, everything: float) -> ClassCosts:
        """Return the squares, and the size of the table for a suppressed record."""
        return ClassCosts(square=1.0, suppressed=float(rows))


class DiscernibilityStar(_Discernibility):
    """DM*: sum of squared class sizes, where the suppressed records form a class.

    So it never falls when classes are joined, which DM with its penalty may.

    References
    ----------
    El Emam, Dankar, Issa et al., A globally optimal k-anonymity method for the de-identification of health
    data, JAMIA 16(5), 2009, section on information loss (DM*).
    """

    name: ClassVar[str] = "discernibility-star"
    summary: ClassVar[str] = "DM*: sum of squared class sizes; suppressed records are one class"
    paper: ClassVar[str] = "El Emam et al. 2009"

    def _penalty(self, suppressed: int, rows: int) -> int:
        return suppressed**2


def sum_of_squares(sizes: NDArray[np.int64]) -> int:
    """Return the sum of squared class sizes, exactly.

    Examples
    --------
    >>> import numpy as np
    >>> sum_of_squares(np.array([3, 4]))
    25
    """
    # The result is at most the square of the sum, which only Python's integers hold from 2**31 on.
    if int(sizes.sum()) < 2**31:
        return int(sizes @ sizes)
    return sum(int(size) ** 2 for size in sizes)
