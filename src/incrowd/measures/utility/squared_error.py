"""Squared errors of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import CellMetric, ClassMetric, Metric, MetricResult, mean_of

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable

    _Groups = tuple[NDArray[np.int64], int]


class _SquaredError(Metric):
    """Squared error of numbers against the mean of records that look alike, over that of the column."""

    def applies(self, frequency: FrequencyTable) -> bool:
        """Return whether a quasi-identifier has numbers or dates."""
        return any(_numeric(frequency))

    def _errors(self, frequency: FrequencyTable, groups: Callable[[int], _Groups]) -> MetricResult:
        """Return the mean over the attributes with numbers, in [0, 1].

        Parameters
        ----------
        groups
            Given an attribute's place: which records look alike, int[keys], and how many groups there are.
        """
        per_attribute = {}
        for j, (domain, numeric) in enumerate(zip(frequency.domains, _numeric(frequency), strict=True)):
            if not numeric:
                continue
            values = domain.places[frequency.codes[j]]
            present = ~np.isnan(values)
            values, records = values[present], frequency.weights[present]
            group, count = groups(j)
            group = group[present]
            # Deviations from the column's mean first: sums of squares of large numbers would cancel.
            values = values - (values @ records) / max(int(records.sum()), 1)
            sums = np.bincount(group, values * records, count)
            sizes = np.bincount(group, records, count)
            gaps = values - (sums / np.maximum(sizes, 1))[group]
            total = float((values**2) @ records)
            per_attribute[domain.name] = float((gaps**2) @ records) / total if total > 0 else 0.0
        return MetricResult(self.name, mean_of(per_attribute), per_attribute)


def _numeric(frequency: FrequencyTable) -> list[bool]:
    return [
        domain.kind != "category" and bool((~np.isnan(domain.numbers)).any()) for domain in frequency.domains
    ]


class AttributeSquaredError(_SquaredError, CellMetric):
    """SSE / SST per column of numbers, where a cell stands for the mean of all records with that cell.

    Suppressed records are one cell. A hierarchy does not matter, only the numbers that have the same cell.

    References
    ----------
    Domingo-Ferrer and Mateo-Sanz, Practical data-oriented microaggregation for statistical disclosure
    control, IEEE TKDE 14(1), 2002, section 2.2 (SSE / SST), column by column.
    """

    name: ClassVar[str] = "attribute-squared-error"
    summary: ClassVar[str] = "SSE/SST of numbers against the mean of the records with the same cell"
    paper: ClassVar[str] = "Domingo-Ferrer and Mateo-Sanz 2002"

    def measure(self, frequency: FrequencyTable, recoding: Recoding) -> MetricResult:
        """Return the mean over the attributes with numbers, in [0, 1], grouped by the cell of the column."""

        def groups(j: int) -> _Groups:
            positions, labels = recoding.cells[j].released
            return positions[recoding.cells[j].codes], len(labels)

        return self._errors(frequency, groups)


class RecordSquaredError(_SquaredError, ClassMetric):
    """SSE / SST of microaggregation, where a record stands for the mean of the class.

    Suppressed records are one class.

    References
    ----------
    Domingo-Ferrer and Mateo-Sanz, Practical data-oriented microaggregation for statistical disclosure
    control, IEEE TKDE 14(1), 2002, section 2.2.
    """

    name: ClassVar[str] = "record-squared-error"
    summary: ClassVar[str] = "SSE/SST of numbers against the mean of the record's class"
    paper: ClassVar[str] = "Domingo-Ferrer and Mateo-Sanz 2002"

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the mean over the attributes with numbers, in [0, 1], grouped by the class."""
        group = np.full(classes.frequency.keys, len(classes), np.int64)
        group[classes.members] = np.repeat(np.arange(len(classes)), np.diff(classes.indptr))
        return self._errors(classes.frequency, lambda _: (group, len(classes) + 1))
