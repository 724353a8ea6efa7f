"""The notebook's limit on shares as a privacy model, in the notebook's own floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import NDArray, np
from incrowd.measures.privacy import TCloseness

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses

__all__ = ["SharesApart"]


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
