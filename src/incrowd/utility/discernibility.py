"""The discernibility metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.utility.base import ClassMetric, MetricResult, SteersByClasses, sum_of_squares

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.table.classes import EquivalenceClasses
    from incrowd.table.frequency import FrequencyTable

__all__ = ["Discernibility"]


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

    def of_groups(
        self,
        sizes: NDArray[np.int64],
        failing: NDArray[np.bool_],
        rows: int,
        leaves: NDArray[np.float64],
        everything: float,
    ) -> float:
        """Return the sum of costs."""
        kept = sizes[~failing]
        return float(kept @ kept) + float(rows - int(kept.sum())) * rows

    def bound(
        self, sizes: NDArray[np.int64], rows: int, kept: int, smallest: int, leaves: NDArray[np.float64]
    ) -> float:
        """Return the sum of squares, which merging raises, and suppressing all the more."""
        # A record of a class that is too small ends in one that is not, or suppressed.
        large = sizes[sizes >= smallest]
        small = int(sizes.sum()) - int(large.sum())
        before = rows - int(sizes.sum())
        return float(large @ large) + float(small) * min(smallest, rows) + float(before) * rows

    def least(self, cells: int, rows: int, kept: int, smallest: int) -> float:
        """Return the sum for classes of equal size."""
        return kept * kept / min(cells, max(rows // smallest, 1))

    def floor(self, suppressed: int, rows: int, smallest: int, everything: float) -> float:
        """Return the cost of the suppressed, and of the others in the smallest classes there may be."""
        return float(suppressed) * rows + float(rows - suppressed) * min(smallest, rows)
