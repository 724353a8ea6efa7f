"""The discernibility metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.utility.base import Lost, Metric

if TYPE_CHECKING:
    from incrowd.frequency import FrequencyTable
    from incrowd.recoding import Recoding

__all__ = ["Discernibility"]


@dataclass(frozen=True)
class Discernibility(Metric):
    """DM: every record costs the size of its class, a suppressed one the size of the table.

    References
    ----------
    Bayardo and Agrawal, Data privacy through optimal k-anonymization, ICDE 2005, section 2.
    """

    name: ClassVar[str] = "discernibility"
    summary: ClassVar[str] = "DM: sum of squared class sizes, suppressed records count the whole table"
    paper: ClassVar[str] = "Bayardo and Agrawal 2005"
    scale: ClassVar[str] = "records (every record apart) to records squared (all alike)"

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> Lost:
        """Return the sum of costs, exactly."""
        classes = recoding.classes(frequency)
        # Python integers: the square of a table's size can be more than 64 bits hold.
        squares = sum(int(size) ** 2 for size in classes.sizes) if len(classes) else 0
        return Lost(self.name, squares + classes.suppressed * frequency.rows)
