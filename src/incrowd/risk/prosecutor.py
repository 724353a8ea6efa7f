"""Prosecutor risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.risk.base import RiskModel

if TYPE_CHECKING:
    from incrowd.classes import EquivalenceClasses

__all__ = ["Prosecutor"]


@dataclass(frozen=True)
class Prosecutor(RiskModel):
    """The attacker knows that a person is in the table: a record's risk is 1 / (size of its class).

    References
    ----------
    El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008.
    """

    name: ClassVar[str] = "prosecutor"
    summary: ClassVar[str] = "1 / class size for an attacker who knows that the person is in the table"
    paper: ClassVar[str] = "El Emam and Dankar 2008"

    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return the largest risk, and its mean over records and over classes; 0 without classes."""
        import numpy as np

        sizes = classes.sizes
        if not len(sizes):
            return {"max": 0.0, "mean": 0.0, "mean_over_classes": 0.0}
        distinct, times = np.unique(sizes, return_counts=True)
        return {
            "max": 1 / int(distinct[0]),
            # Each class adds size x 1/size = 1.
            "mean": len(sizes) / classes.records,
            "mean_over_classes": float((times / distinct).sum()) / len(sizes),
        }
