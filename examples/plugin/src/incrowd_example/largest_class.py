"""The largest class."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.measures.utility.base import ClassMetric, MetricResult

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


class LargestClass(ClassMetric):
    """Share of the records that stand in the largest equivalence class."""

    name: ClassVar[str] = "largest-class"
    summary: ClassVar[str] = "share of the records in the largest class"
    paper: ClassVar[str] = "an example"

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the share, in [0, 1]; 1 where every record is suppressed."""
        largest = int(classes.sizes.max()) if len(classes) else classes.frequency.rows
        return MetricResult(self.name, largest / max(classes.frequency.rows, 1))
