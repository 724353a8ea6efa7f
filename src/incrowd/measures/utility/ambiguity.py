"""Ambiguity."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import np
from incrowd.measures.utility.base import CellMetric, ClassCosts, MetricResult, SteersByClasses

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable


class Ambiguity(CellMetric, SteersByClasses):
    """AM: mean number of value combinations that a released record may stand for.

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

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the mean over records."""
        from incrowd.core.table.domain import MOST_COMBINATIONS, combinations_of

        everything = combinations_of(recoding.domains)
        numbers = np.ones(frequency.keys)
        for cells in recoding.cells:
            numbers = np.minimum(numbers * (cells.hi - cells.lo + 1)[cells.codes], MOST_COMBINATIONS)
        numbers[recoding.suppressed] = everything
        total = float(numbers @ frequency.weights) + frequency.suppressed * everything
        return MetricResult(self.name, total / frequency.rows if frequency.rows else 0.0)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Return (AM - 1) / (combinations - 1)."""
        from incrowd.core.table.domain import combinations_of

        everything = combinations_of(frequency.domains)
        return (lost.value - 1) / max(everything - 1, 1)

    def class_costs(self, rows: int, everything: float) -> ClassCosts:
        """Return the share of each record in the mean."""
        return ClassCosts(combination=1 / rows, suppressed=everything / rows)
