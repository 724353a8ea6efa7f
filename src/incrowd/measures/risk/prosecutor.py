"""Prosecutor risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import np
from incrowd.measures.risk.base import THRESHOLD, RiskModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class Prosecutor(RiskModel):
    """The attacker knows that a person is in the table, so a record's risk is 1 / class size.

    Parameters
    ----------
    threshold
        Records with a larger risk are at risk.

    References
    ----------
    El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008; El Emam, Guide to the
    de-identification of personal health information, 2013, chapter 16 (share at risk).
    """

    threshold: float = THRESHOLD.field(0.2)

    name: ClassVar[str] = "prosecutor"
    summary: ClassVar[str] = "1 / class size for an attacker who knows that the person is in the table"
    paper: ClassVar[str] = "El Emam and Dankar 2008"

    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return the largest and least risk, the mean over records and classes, and the share at risk."""
        from incrowd.core.kernels.grouping.counting import tally

        sizes = classes.sizes
        if not len(sizes):
            return dict.fromkeys(("max", "mean", "mean_over_classes", "min", "at_risk"), 0.0)
        distinct, times = tally(sizes)
        # Each class adds size x 1/size = 1, so the mean over records is classes / records.
        mean, at_risk = classes.mean_and_share(1 / sizes, np.ones(len(sizes), np.int64), self.threshold)
        return {
            "max": 1 / int(distinct[0]),
            "mean": mean,
            "mean_over_classes": float((times / distinct).sum()) / len(sizes),
            "min": 1 / int(distinct[-1]),
            "at_risk": at_risk,
        }
