"""Maximum re-identification risk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy.base import IdentityModel, Monotone

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


def size_for(risk: float) -> int:
    """Return the least class size n with 1 / n <= risk, at most 2**61."""
    if risk < 2.0**-61:
        return 2**61
    # Dividing back settles what rounding leaves open: 1 / 0.1 is ten records.
    size = math.ceil(1 / risk)
    return size - 1 if size > 1 and 1 / (size - 1) <= risk else size


@dataclass(frozen=True)
class MaximumRisk(IdentityModel):
    """No record's re-identification risk, 1 / class size, is above a threshold.

    Parameters
    ----------
    risk
        Largest risk allowed, in [0, 1]: 0.2 asks for classes of five.

    References
    ----------
    El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008; El Emam, Guide to the
    de-identification of personal health information, CRC Press 2013, chapter 16 (maximum risk).
    """

    risk: float = parameter("largest re-identification risk of a record", kind=float, low=0, high=1)

    name: ClassVar[str] = "maximum-risk"
    summary: ClassVar[str] = "no record's re-identification risk (1 / class size) is above a threshold"
    paper: ClassVar[str] = "El Emam and Dankar 2008; El Emam 2013"
    limit_name: ClassVar[str] = "risk"
    more_is_safer: ClassVar[bool] = False
    size_only: ClassVar[bool] = True
    # Sizes add up when classes merge.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=True, absorbing=True)
    same_by_people: ClassVar[bool] = True

    @property
    def least_size(self) -> int:
        """Smallest class size allowed, 1 / risk."""
        return size_for(self.risk)

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for a risk below that of a single class of all records."""
        if self.least_size > frequency.records:
            raise ParameterError(
                f"maximum-risk: risk={self.risk:g} is less than that of one class of all "
                f"{frequency.records} {frequency.unit}; raise it"
            )

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        risks: NDArray[np.float64] = 1 / classes.sizes
        return risks


def maximum_risk(table: Any, quasi: Columns) -> float:
    """Return the largest re-identification risk of a record; see `MaximumRisk` and `reached`."""
    return reached(MaximumRisk(1.0), table, quasi)
