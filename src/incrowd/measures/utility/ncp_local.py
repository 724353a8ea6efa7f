"""NCP of local recoding by means and modes, and by summaries."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import np
from incrowd.core.parameters import parameter
from incrowd.measures.utility.base import ClassMetric, MetricResult, mean_of

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


class _NCPOfClasses(ClassMetric):
    """NCP computed from the values in each class instead of released cells."""

    @abstractmethod
    def _of_categories(self, classes: EquivalenceClasses, j: int) -> float:
        """Return the loss of all classes (at least one) in a column of categories."""

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the mean over records and attributes, in [0, 1]."""
        frequency = classes.frequency
        per_attribute = {}
        for j, domain in enumerate(frequency.domains):
            lost = float(classes.suppressed)
            if len(classes) and domain.ordered:
                values = classes.quasi_values(j)
                lost += float(domain.span(values.lo, values.hi) @ classes.sizes)
            elif len(classes):
                lost += self._of_categories(classes, j)
            per_attribute[domain.name] = lost / max(frequency.rows, 1)
        return MetricResult(self.name, mean_of(per_attribute), per_attribute)


class NCPMeanMode(_NCPOfClasses):
    """NCP of classes that are released by the mean of numbers and the mode of categories.

    - A number costs the range of its class over the range of the column.
    - A category costs 0 if it is the most frequent value of its class, else 1. Of equally frequent ones the
      first counts.
    - A suppressed cell costs 1.

    The figure is the mean over records and attributes. It looks at the values in a class, whatever its cells
    are.

    References
    ----------
    Xu, Wang, Pei, Wang, Shi and Fu, Utility-based anonymization using local recoding, KDD 2006, as the class
    NCP of the Python package k-anonymization computes it for mean-mode groups.
    """

    name: ClassVar[str] = "ncp-mean-mode"
    summary: ClassVar[str] = "NCP of classes released by mean and mode"
    paper: ClassVar[str] = "after Xu et al. 2006"

    def _of_categories(self, classes: EquivalenceClasses, j: int) -> float:
        return classes.records - int(classes.quasi_values(j).most.sum())


@dataclass(frozen=True)
class NCPSummarization(_NCPOfClasses):
    """NCP of classes that are released by the range of numbers and the set of categories.

    - A number costs the range of its class over the range of the column.
    - A category costs the number of distinct values in its class over the number in the column, as the
      package computes. With ``form=inverse`` it costs 1 over the number in the class, as the package's text
      says. Then more values cost less.
    - A suppressed cell costs 1.

    The figure is the mean over records and attributes.

    Parameters
    ----------
    form
        ``share`` or ``inverse``.

    References
    ----------
    Xu, Wang, Pei, Wang, Shi and Fu, Utility-based anonymization using local recoding, KDD 2006, as the class
    NCP of the Python package k-anonymization computes and documents it for summarized groups.
    """

    form: str = parameter(
        "what a set of values costs", kind=str, default="share", choices=("share", "inverse")
    )

    name: ClassVar[str] = "ncp-summarization"
    summary: ClassVar[str] = "NCP of classes released by range and set"
    paper: ClassVar[str] = "after Xu et al. 2006"

    def _of_categories(self, classes: EquivalenceClasses, j: int) -> float:
        distinct = classes.quasi_values(j).distinct
        present = max(int(np.count_nonzero(classes.frequency.totals(j))), 1)
        costs = distinct / present if self.form == "share" else 1 / distinct
        return float(costs @ classes.sizes)
