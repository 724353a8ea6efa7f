"""Two models of the notebook alone: a limit on shares in plain floats, and alternatives of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import NDArray, np
from incrowd.measures.privacy import TCloseness
from incrowd.measures.privacy.base import Monotone, PrivacyModel
from incrowd.search.base import all_hold

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable

__all__ = ["AnyOf", "SharesApart"]


@dataclass(frozen=True)
class SharesApart(TCloseness):
    """The maximal frequency difference without a tolerance, so that 0.8 and 0.6 are more than 0.2 apart."""

    def accepts(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Compare measured values with the limit, without a tolerance."""
        return values <= self.t

    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64]:
        counts, totals = classes.counts(attribute), classes.frequency.sensitive[attribute].totals
        shares = totals / totals.sum()
        sizes = np.repeat(classes.occurrences(attribute), np.diff(counts.indptr))
        apart = np.abs(counts.counts / sizes - shares[counts.codes])
        return np.asarray(np.maximum.reduceat(apart, counts.indptr[:-1]))


class AnyOf(PrivacyModel):
    """A class satisfies all models of some set."""

    monotone = Monotone(generalization=False, suppression=True)
    limit = 1.0

    def __init__(self, sets: Sequence[Sequence[PrivacyModel]]) -> None:
        self.sets = sets

    def attributes(self, frequency: FrequencyTable) -> Sequence[int | None]:
        """Return None once: the model looks at no single attribute."""
        return (None,)

    def values(self, classes: EquivalenceClasses, attribute: int | None) -> NDArray[np.int64]:
        """Count the sets that each class satisfies."""
        return np.asarray(np.sum([all_hold(models, classes) for models in self.sets], axis=0))
