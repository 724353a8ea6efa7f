"""delta-disclosure privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.parameters import parameter
from incrowd.privacy.base import PrivacyModel, attribute_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.classes import EquivalenceClasses

__all__ = ["DeltaDisclosure"]


@dataclass(frozen=True)
class DeltaDisclosure(PrivacyModel):
    """The share of every sensitive value in a class is within a factor of exp(delta) of the table's.

    A class measures the largest abs(ln(p / q)) over the values of the table, p being the value's share of
    the class and q of the table. The paper asks for less than delta; here, as everywhere, the limit is met
    with equality.

    Parameters
    ----------
    delta
        Largest absolute log ratio allowed, >= 0.
    absent
        ``infinite``: a value that the class lacks gives infinity, as the definition has it. ``skip``: such
        values are passed over, as pyCANON does; that is not monotone and much weaker.
    attribute
        The sensitive attribute; None protects each of them on its own.

    Notes
    -----
    Not declared monotone under generalization: under ``skip`` a merged class can fail where its parts hold.

    References
    ----------
    Brickell and Shmatikov, The cost of privacy: destruction of data-mining utility in anonymized data
    publishing, KDD 2008, definition 2.
    """

    delta: float = parameter("largest absolute log ratio of shares", kind=float, low=0)
    absent: str = parameter(
        "what a value gives that a class lacks", kind=str, default="infinite", choices=("infinite", "skip")
    )
    attribute: str | None = attribute_parameter()

    name: ClassVar[str] = "delta-disclosure"
    summary: ClassVar[str] = "every sensitive value is about as frequent in each class as in the table"
    paper: ClassVar[str] = "Brickell and Shmatikov 2008"
    limit_name: ClassVar[str] = "delta"
    more_is_safer: ClassVar[bool] = False
    monotone_generalization: ClassVar[bool] = False
    monotone_suppression: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return one variant per treatment of absent values, with a limit that any finite ratio meets."""
        return tuple(cls(float(2**62), absent) for absent in cls.parameters()["absent"].choices)

    def values(self, classes: EquivalenceClasses, attribute: int | None) -> NDArray[np.float64 | np.int64]:
        """Return the largest absolute log ratio in each class."""
        import numpy as np

        if not len(classes):
            return np.zeros(0)
        ratios, _ = classes.lifts(attribute or 0)
        indptr = classes.counts(attribute or 0).indptr
        largest = np.maximum.reduceat(np.abs(np.log(ratios)), indptr[:-1])
        if self.absent == "infinite":
            present = classes.frequency.sensitive[attribute or 0].present
            largest = np.where(np.diff(indptr) < present, np.inf, largest)
        return largest
