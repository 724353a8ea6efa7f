"""beta-likeness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.parameters import parameter
from incrowd.privacy.base import TOLERANCE, PrivacyModel, attribute_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.classes import EquivalenceClasses

__all__ = ["BetaLikeness"]


@dataclass(frozen=True)
class BetaLikeness(PrivacyModel):
    """No sensitive value gains more than beta, relative to its share of the whole table, in a class.

    The gain of a value with share q in the table and p > q in the class is (p - q) / q; values that lose do
    not count.

    Parameters
    ----------
    beta
        Largest relative gain allowed, >= 0.
    kind
        ``basic``: gain <= beta. ``enhanced``: gain <= min(beta, -ln q), which is stricter for frequent
        values; a class with a gain above -ln q satisfies no beta and measures infinity.
    attribute
        The sensitive attribute; None protects each of them on its own.

    References
    ----------
    Cao and Karras, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), 2012, definitions 2
    (basic) and 3 (enhanced).
    """

    beta: float = parameter("largest relative gain of a value in a class", kind=float, low=0)
    kind: str = parameter(
        "whether frequent values are held tighter", kind=str, default="basic", choices=("basic", "enhanced")
    )
    attribute: str | None = attribute_parameter()

    name: ClassVar[str] = "beta-likeness"
    summary: ClassVar[str] = (
        "no sensitive value is relatively much more frequent in a class than in the table"
    )
    paper: ClassVar[str] = "Cao and Karras 2012"
    limit_name: ClassVar[str] = "beta"
    more_is_safer: ClassVar[bool] = False
    monotone_generalization: ClassVar[bool] = True
    monotone_suppression: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return one variant per kind, with a limit that any finite gain meets."""
        return tuple(cls(float(2**62), kind) for kind in cls.parameters()["kind"].choices)

    def values(self, classes: EquivalenceClasses, attribute: int | None) -> NDArray[np.float64 | np.int64]:
        """Return the largest gain in each class."""
        import numpy as np

        if not len(classes):
            return np.zeros(0)
        ratios, whole = classes.lifts(attribute or 0)
        gains = np.maximum(ratios - 1, 0)
        if self.kind == "enhanced":
            gains = np.where(gains > -np.log(whole) + TOLERANCE, np.inf, gains)
        return np.maximum.reduceat(gains, classes.counts(attribute or 0).indptr[:-1])
