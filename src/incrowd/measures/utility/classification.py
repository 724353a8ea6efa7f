"""The classification metric CM."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import np
from incrowd.measures.utility.base import ClassMetric, MetricResult, mean_of

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


class Classification(ClassMetric):
    """CM: share of records that are suppressed or lack the most frequent value of the class.

    It is measured for every sensitive attribute, and averaged over them. If several values are most frequent,
    one of them is taken. Records with the same raw quasi-identifiers may already have different sensitive
    values. So the figure of the raw table need not be 0.

    References
    ----------
    Iyengar, Transforming data to satisfy privacy constraints, KDD 2002, section 3.2.
    """

    name: ClassVar[str] = "classification"
    summary: ClassVar[str] = "CM: records without the most frequent sensitive value of their class"
    paper: ClassVar[str] = "Iyengar 2002"
    needs: ClassVar[str] = "sensitive"

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the share per sensitive attribute and the mean of the shares, in [0, 1]."""
        frequency = classes.frequency
        per_attribute = {}
        for j, attribute in enumerate(frequency.sensitive):
            counts = classes.counts(j)
            most = int(np.maximum.reduceat(counts.counts, counts.indptr[:-1]).sum()) if len(classes) else 0
            lost = classes.records - most + classes.suppressed
            per_attribute[attribute.name] = lost / max(frequency.rows, 1)
        return MetricResult(self.name, mean_of(per_attribute), per_attribute)
