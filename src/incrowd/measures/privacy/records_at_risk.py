"""Share of records at risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy.base import IdentityModel, Monotone, PrivacyModel
from incrowd.measures.privacy.maximum_risk import size_for

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class RecordsAtRisk(IdentityModel):
    """At most a share of the records has a re-identification risk above a threshold.

    Parameters
    ----------
    share
        Largest share of records at risk allowed, in [0, 1]; suppressed records do not count.
    threshold
        A record is at risk when 1 / size of its class is above it, in [0, 1].

    Notes
    -----
    This is a condition on the table. A search asks of every class what suffices: that its records are not at
    risk.

    References
    ----------
    El Emam, Guide to the de-identification of personal health information, CRC Press 2013, chapter 16
    (the proportion of records whose probability of re-identification is higher than a threshold).
    """

    share: float = parameter("largest share of records at risk", kind=float, low=0, high=1)
    threshold: float = parameter("risk above which a record is at risk", kind=float, low=0, high=1)

    name: ClassVar[str] = "records-at-risk"
    summary: ClassVar[str] = "at most a share of the records has a re-identification risk above a threshold"
    paper: ClassVar[str] = "El Emam 2013"
    limit_name: ClassVar[str] = "share"
    more_is_safer: ClassVar[bool] = False
    of_table: ClassVar[bool] = True
    # Classes grow when they merge; leaving out large ones raises the share of the others.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=False)
    same_by_people: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return the variant for the usual threshold of 0.2."""
        return (cls(1.0, 0.2),)

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        return (classes.sizes < size_for(self.threshold)).astype(np.float64)

    def overall(self, classes: EquivalenceClasses, values: NDArray[Any]) -> float:
        """Return the share of all records that are at risk."""
        return classes.within(values > 0) / classes.records


def records_at_risk(table: Any, quasi: Columns, *, threshold: float = 0.2) -> float:
    """Return the share of records with a risk above a threshold; see `RecordsAtRisk` and `reached`."""
    return reached(RecordsAtRisk(1.0, threshold), table, quasi)
