"""k-anonymity."""

from __future__ import annotations

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


@dataclass(frozen=True)
class KAnonymity(IdentityModel):
    """Every equivalence class has at least k records.

    Parameters
    ----------
    k
        Smallest class size allowed, >= 1.

    References
    ----------
    Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001.
    Sweeney, k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, definition 3.
    """

    k: int = parameter("smallest class size allowed", kind=int, low=1)

    name: ClassVar[str] = "k-anonymity"
    summary: ClassVar[str] = "every equivalence class has at least k records"
    paper: ClassVar[str] = "Samarati 2001; Sweeney 2002"
    shorthand: ClassVar[str] = "k"
    limit_name: ClassVar[str] = "k"
    size_only: ClassVar[bool] = True
    # Sizes add up when classes merge.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=True, absorbing=True)
    same_by_people: ClassVar[bool] = True

    @property
    def least_size(self) -> int:
        """Smallest class size allowed, k."""
        return self.k

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for a k above the number of records."""
        if self.k > frequency.records:
            raise ParameterError(
                f"k-anonymity: k={self.k} is more than the table's {frequency.records} {frequency.unit}; "
                "lower k"
            )

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        return classes.sizes


def k_anonymity(table: Any, quasi: Columns) -> int:
    """Return the largest k for which a table is k-anonymous; see `KAnonymity` and `reached`."""
    return int(reached(KAnonymity(1), table, quasi))
