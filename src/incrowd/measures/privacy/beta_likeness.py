"""beta-likeness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy._parts import part_lifts
from incrowd.measures.privacy.base import ATTRIBUTE, JOINT, TOLERANCE, Monotone, PrivacyModel, SensitiveModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class BetaLikeness(SensitiveModel):
    """No sensitive value gains more than beta in a class, relative to the value's share of the table.

    A value has the share q in the table and the share p in the class. If p > q, its gain is (p - q) / q. If
    not, it does not count. Example: q = 0.1 and p = 0.3 give a gain of 2.

    Parameters
    ----------
    beta
        Largest relative gain allowed, >= 0.
    kind
        ``basic``: gain <= beta. ``enhanced``: gain <= min(beta, -ln q), which is stricter for frequent
        values; a class with a gain above -ln q satisfies no beta and measures infinity.
    attribute
        The sensitive attribute; None protects each of them on its own.
    joint
        Whether the other sensitive attributes count as quasi-identifiers.

    Notes
    -----
    Where cells are lists (`Attribute.parts`), the gain of each part counts as that of a value does: p and q
    are the shares of the records that have the part.

    References
    ----------
    Cao and Karras, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), 2012, definitions 2
    (basic) and 3 (enhanced).
    """

    beta: float = parameter("largest relative gain of a value in a class", kind=float, low=0)
    kind: str = parameter(
        "whether frequent values are held tighter", kind=str, default="basic", choices=("basic", "enhanced")
    )
    attribute: str | None = ATTRIBUTE.field(None)
    joint: bool = JOINT.field(default=False)

    name: ClassVar[str] = "beta-likeness"
    summary: ClassVar[str] = (
        "no sensitive value is relatively much more frequent in a class than in the table"
    )
    paper: ClassVar[str] = "Cao and Karras 2012"
    limit_name: ClassVar[str] = "beta"
    more_is_safer: ClassVar[bool] = False
    # A merged class's shares lie between those of its parts.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=True)

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return a variant per kind, with a limit that any finite gain meets."""
        return tuple(cls(float(2**62), kind) for kind in cls.parameters()["kind"].choices)

    def _lost(
        self, classes: EquivalenceClasses, attribute: int, failing: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Count the records above the largest share that each value may have."""
        from incrowd.core.kernels.diversity import beyond_shares

        _, shares = classes.lifts(attribute)
        gain = self.beta if self.kind == "basic" else np.minimum(self.beta, -np.log(shares))
        return beyond_shares(classes.counts(attribute), failing, np.minimum(shares * (1 + gain), 1.0))

    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64] | NDArray[np.int64]:
        return self._largest_gains(*classes.lifts(attribute), classes.counts(attribute).indptr)

    def _part_values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64]:
        return self._largest_gains(*part_lifts(classes, attribute), classes.part_counts(attribute).indptr)

    def _largest_gains(
        self, ratios: NDArray[np.float64], whole: NDArray[np.float64], indptr: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        gains = np.maximum(ratios - 1, 0)
        if self.kind == "enhanced":
            gains = np.where(gains > -np.log(whole) + TOLERANCE, np.inf, gains)
        largest: NDArray[np.float64] = np.maximum.reduceat(gains, indptr[:-1])
        return largest


def beta_likeness(
    table: Any,
    quasi: Columns,
    sensitive: Columns,
    *,
    kind: str = "basic",
    attribute: str | None = None,
    joint: bool = False,
) -> float:
    """Return the least beta that a table satisfies; see `BetaLikeness` and `reached`."""
    return reached(BetaLikeness(float(2**62), kind, attribute, joint), table, quasi, sensitive)
