"""Average re-identification risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy.base import IdentityModel, Monotone

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class AverageRisk(IdentityModel):
    """The mean re-identification risk of the records is at most a threshold.

    A record's risk is 1 / size of its class. So the mean is the number of classes over the number of records.
    Example: 0.1 asks for an average class size of ten. Suppressed records do not count. The mean protects no
    single record, so ask for k-anonymity, too.

    Parameters
    ----------
    risk
        Largest mean risk allowed, in [0, 1].

    Notes
    -----
    This is a condition on the table. A search asks of every class what suffices: that it has 1 / risk
    records.

    References
    ----------
    El Emam, Guide to the de-identification of personal health information, CRC Press 2013, chapter 16
    (average risk, the marketer's).
    """

    risk: float = parameter("largest mean re-identification risk of the records", kind=float, low=0, high=1)

    name: ClassVar[str] = "average-risk"
    summary: ClassVar[str] = "the mean re-identification risk (classes / records) is at most a threshold"
    paper: ClassVar[str] = "El Emam 2013"
    limit_name: ClassVar[str] = "risk"
    more_is_safer: ClassVar[bool] = False
    of_table: ClassVar[bool] = True
    # Classes become fewer when they merge; leaving out large ones raises the mean.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=False)
    same_by_people: ClassVar[bool] = True

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        risks: NDArray[np.float64] = 1 / classes.sizes
        return risks

    def overall(self, classes: EquivalenceClasses, values: NDArray[Any]) -> float:
        """Return classes / records."""
        return classes.mean(values, np.ones(len(classes), np.int64))


def average_risk(table: Any, quasi: Columns) -> float:
    """Return the mean re-identification risk of the records; see `AverageRisk` and `reached`."""
    return reached(AverageRisk(1.0), table, quasi)
