"""Information gain and privacy loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.measures.utility.base import ClassMetric, MetricResult, mean_of

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.sensitive import SensitiveCounts


class InformationGain(ClassMetric):
    """Information on the sensitive values that the release loses, in bits per record.

    The figure is H(S | class) - H(S | raw combination) for the sensitive attribute S, averaged over the
    sensitive attributes. Suppressed records are one class.

    `MetricResult.details` has the other side, compared with a table of one class:

    - `gain` is H(S) - H(S | class) in bits per record.
    - `privacy_loss` is the number of records by which the smallest class is smaller than the table.
    - `score` is gain / (privacy_loss + 1), the trade-off by which top-down specialization chooses.

    References
    ----------
    Fung, Wang and Yu, Top-down specialization for information and privacy preservation, ICDE 2005,
    section 3.2.
    """

    name: ClassVar[str] = "information-gain"
    summary: ClassVar[str] = "information on the sensitive values that the release loses, in bits"
    paper: ClassVar[str] = "Fung et al. 2005"
    needs: ClassVar[str] = "sensitive"
    scale: ClassVar[str] = "0 (nothing lost) to the bits that the raw quasi-identifiers tell"

    def of_classes(self, classes: EquivalenceClasses) -> MetricResult:
        """Return the lost bits per sensitive attribute, at least 0, and the mean over the attributes."""
        frequency = classes.frequency
        raw = _raw(frequency)
        per_attribute, gain = {}, 0.0
        for j, attribute in enumerate(frequency.sensitive):
            entropy = _conditional_entropy(classes, j)
            per_attribute[attribute.name] = max(entropy - _conditional_entropy(raw, j), 0.0)
            gain += (_entropy(attribute) - entropy) / len(frequency.sensitive)
        loss = frequency.rows - (int(classes.sizes.min()) if len(classes) else frequency.rows)
        details = {"gain": gain, "privacy_loss": float(loss), "score": gain / (loss + 1)}
        return MetricResult(self.name, mean_of(per_attribute), per_attribute, details=details)

    def normalized(self, lost: MetricResult, frequency: FrequencyTable) -> float:
        """Return the share of the information gain of the raw quasi-identifiers."""
        raw = _raw(frequency)
        gains = {
            counted.name: _entropy(counted) - _conditional_entropy(raw, j)
            for j, counted in enumerate(frequency.sensitive)
        }
        most = mean_of(gains)
        return min(lost.value / most, 1.0) if most > 1e-12 else 0.0


def _raw(frequency: FrequencyTable) -> EquivalenceClasses:
    from incrowd.core.table.classes import EquivalenceClasses

    ids, records = frequency.combinations
    return EquivalenceClasses.from_assignment(frequency, ids, len(records))


def _conditional_entropy(classes: EquivalenceClasses, position: int) -> float:
    """Entropy of a sensitive attribute where the class is known, in bits per record."""
    counts = classes.counts(position)
    totals = classes.frequency.sensitive[position].totals
    apart = totals - np.bincount(counts.codes, counts.counts, len(totals)).astype(np.int64)
    within = _sum(classes.sizes) - _sum(counts.counts) + _sum(apart.sum()) - _sum(apart)
    return within / max(int(totals.sum()), 1)


def _entropy(attribute: SensitiveCounts) -> float:
    """Entropy of a sensitive attribute in bits per record."""
    rows = attribute.totals.sum()
    return (_sum(rows) - _sum(attribute.totals)) / max(int(rows), 1)


def _sum(counts: NDArray[np.integer] | np.integer) -> float:
    """Sum of n log2 n."""
    occurring = np.atleast_1d(counts)
    occurring = occurring[occurring > 0].astype(np.float64)
    return float(occurring @ np.log2(occurring))
