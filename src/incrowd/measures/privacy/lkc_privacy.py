"""LKC-privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy._parts import VALUE, check_value, largest_part_shares, largest_shares
from incrowd.measures.privacy.base import ATTRIBUTE, IdentityModel, Monotone, PrivacyModel, SensitiveModel
from incrowd.measures.privacy.subset_k_anonymity import check_subsets, groups_of, smallest_groups

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


@dataclass(frozen=True)
class LKCPrivacy(SensitiveModel):
    """Any L quasi-identifiers fit at least K records, among which no sensitive value has a share above C.

    The model looks at every set of at most L quasi-identifiers. At least K records must have the same cells
    in them. At most a share C of these records may have the same sensitive value. If L is at least the number
    of quasi-identifiers, this is (alpha, k)-anonymity.

    Parameters
    ----------
    L
        How many quasi-identifiers the attacker knows at most, >= 1.
    K
        Smallest number of records allowed, >= 1.
    C
        Largest share of a sensitive value allowed, in [0, 1].
    value
        The one sensitive value to protect; None protects every value.
    attribute
        The sensitive attribute; None protects each of them on its own.

    Notes
    -----
    Sets of exactly L quasi-identifiers suffice. With fewer known cells groups merge. This makes them larger,
    and their shares no higher. While a search has not decided the cells yet, each class counts as a group of
    its own. This is stricter.

    Where cells are lists (`Attribute.parts`), the share of the records that have a part counts as that of a
    value does, and `value` may name a part.

    References
    ----------
    Mohammed, Fung, Hung and Lee, Anonymizing healthcare data: a case study on the blood transfusion
    service, KDD 2009, definition 3.1.
    """

    L: int = parameter("how many quasi-identifiers the attacker knows at most", kind=int, low=1)
    K: int = parameter("smallest number of records with the same known cells", kind=int, low=1)
    C: float = parameter("largest share of a sensitive value among them", kind=float, low=0, high=1)
    value: str | None = VALUE.field(None)
    attribute: str | None = ATTRIBUTE.field(None)

    name: ClassVar[str] = "lkc-privacy"
    summary: ClassVar[str] = (
        "k-anonymity and bounded confidence against who knows at most L quasi-identifiers"
    )
    paper: ClassVar[str] = "Mohammed, Fung, Hung and Lee 2009"
    limit_name: ClassVar[str] = "C"
    more_is_safer: ClassVar[bool] = False
    needs_cells: ClassVar[bool] = True
    unasked: ClassVar[bool] = False
    # `least_size` is 1: a class may be smaller than K, since its records are found with fewer cells only.
    # Full-domain generalization merges groups; suppression makes other classes' groups smaller.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=False)

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return attackers with knowledge of 1 and 2 quasi-identifiers."""
        return (cls(1, 1, 1.0), cls(2, 1, 1.0))

    def parts(self) -> Sequence[PrivacyModel]:
        """Return the conditions on shares and on sizes."""
        return (self, _Size(self.K, self.L))

    def check_values(self, frequency: FrequencyTable) -> None:
        """Refuse a value that does not occur."""
        check_value(frequency, self.positions(frequency), self.value)

    def check_table(self, frequency: FrequencyTable) -> None:
        """Refuse a K above the number of records, a value that does not occur, and too many subsets."""
        if frequency.records < self.K:
            raise ParameterError(
                f"lkc-privacy: K={self.K} is more than the table's {frequency.records} {frequency.unit}; "
                "lower K"
            )
        self.check_values(frequency)
        check_subsets(self.name, "L", self.L, frequency)

    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64] | NDArray[np.int64]:
        """Return for each class the largest share over all groups that contain the class's records."""
        largest = np.zeros(len(classes))
        for group, merged in groups_of(classes, self.L):
            shares = self.with_singles(merged, attribute, self._shares(merged, attribute), self._shares)
            largest = np.maximum(largest, shares[group])
        return largest

    def _part_values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64]:
        """Return the largest share of a part in each class; `_values` passes groups."""
        return largest_part_shares(classes, attribute, self.value)

    def _shares(self, classes: EquivalenceClasses, attribute: int) -> NDArray[Any]:
        shares = largest_shares(classes, attribute, self.value)
        if classes.frequency.sensitive[attribute].domain.parts is None:
            return shares
        return np.maximum(shares, self._part_values(classes, attribute))


@dataclass(frozen=True)
class _Size(IdentityModel):
    K: int = parameter("smallest number of records with the same known cells", kind=int, low=1)
    L: int = parameter("how many quasi-identifiers the attacker knows at most", kind=int, low=1)

    name: ClassVar[str] = LKCPrivacy.name
    limit_name: ClassVar[str] = "K"
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=False)

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        return smallest_groups(classes, self.L)


def lkc_privacy(
    table: Any,
    quasi: Columns,
    sensitive: Columns,
    *,
    L: int,  # noqa: N803
    value: str | None = None,
    attribute: str | None = None,
) -> tuple[int, float]:
    """Return the largest K and the least C of a table for an L; see `LKCPrivacy` and `reached`."""
    model = LKCPrivacy(L, 1, 1.0, value, attribute)
    return int(reached(_Size(1, L), table, quasi)), reached(model, table, quasi, sensitive)
