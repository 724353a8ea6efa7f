"""(alpha, k)-anonymity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy._parts import (
    VALUE,
    check_value,
    largest_part_shares,
    largest_shares,
    value_code,
)
from incrowd.measures.privacy.base import ATTRIBUTE, JOINT, Monotone, PrivacyModel, SensitiveModel
from incrowd.measures.privacy.k_anonymity import KAnonymity, k_anonymity

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


@dataclass(frozen=True)
class AlphaKAnonymity(SensitiveModel):
    """Every class has at least k records, of which at most a share alpha has the same sensitive value.

    Parameters
    ----------
    alpha
        Largest share allowed, in [0, 1].
    k
        Smallest class size allowed, >= 1.
    value
        The one sensitive value to protect, as the paper's simple model has it; None protects every value
        (its general model).
    attribute
        The sensitive attribute; None protects each of them on its own.
    joint
        Whether the other sensitive attributes count as quasi-identifiers.

    Notes
    -----
    Where cells are lists (`Attribute.parts`), the share of the records that have a part counts as that of a
    value does, and `value` may name a part.

    References
    ----------
    Wong, Li, Fu and Wang, (alpha, k)-anonymity: an enhanced k-anonymity model for privacy-preserving data
    publishing, KDD 2006, definitions 2 (alpha-deassociation) and 3; section 5 (general model).
    """

    alpha: float = parameter("largest share of a sensitive value in a class", kind=float, low=0, high=1)
    k: int = parameter("smallest class size allowed", kind=int, low=1)
    value: str | None = VALUE.field(None)
    attribute: str | None = ATTRIBUTE.field(None)
    joint: bool = JOINT.field(default=False)

    name: ClassVar[str] = "alpha-k-anonymity"
    summary: ClassVar[str] = "k-anonymity, and no sensitive value has more than a share alpha of a class"
    paper: ClassVar[str] = "Wong, Li, Fu and Wang 2006"
    limit_name: ClassVar[str] = "alpha"
    more_is_safer: ClassVar[bool] = False
    # Sizes add up and shares lie between those of the parts.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=True)

    @property
    def least_size(self) -> int:
        """Smallest class size allowed, k."""
        return self.k

    def parts(self) -> Sequence[PrivacyModel]:
        """Return the conditions on shares and on sizes."""
        return (self, KAnonymity(self.k))

    def check_values(self, frequency: FrequencyTable) -> None:
        """Raise for a value that does not occur."""
        check_value(frequency, self.positions(frequency), self.value)

    def check_table(self, frequency: FrequencyTable) -> None:
        """Refuse a k above the number of records and a value that does not occur."""
        KAnonymity(self.k).check_table(frequency)
        self.check_values(frequency)

    def _lost(
        self, classes: EquivalenceClasses, attribute: int, failing: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Count the records above the allowed share of each value."""
        from incrowd.core.kernels.diversity import beyond_shares

        counts = classes.counts(attribute)
        limits = np.full(len(counts.codes), self.alpha)
        if self.value is not None:
            code = value_code(classes.frequency, attribute, self.value)
            limits[counts.codes != (-1 if code is None else code)] = 1
        return beyond_shares(counts, failing, limits)

    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64] | NDArray[np.int64]:
        return largest_shares(classes, attribute, self.value)

    def _part_values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64]:
        return largest_part_shares(classes, attribute, self.value)


def alpha_k_anonymity(
    table: Any,
    quasi: Columns,
    sensitive: Columns,
    *,
    value: str | None = None,
    attribute: str | None = None,
    joint: bool = False,
) -> tuple[float, int]:
    """Return the least alpha and the largest k of a table; see `AlphaKAnonymity` and `reached`."""
    model = AlphaKAnonymity(1.0, 1, value, attribute, joint)
    return reached(model, table, quasi, sensitive), k_anonymity(table, quasi)
