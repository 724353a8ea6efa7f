"""Attribute-disclosure risk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from incrowd.lazy import NDArray, np
from incrowd.risk.base import RiskModel

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses
    from incrowd.table.sensitive import SensitiveCounts


class AttributeDisclosure(RiskModel):
    """The share of the most frequent sensitive value in a person's class: the attacker's confidence in it.

    Example: 4 of 5 records of a class have the flu. Whoever knows that a person is in this class is 80 % sure
    of the flu.

    Where cells are lists (`Attribute.parts`), it is the share of the most frequent part: of four records with
    F32;E11, F32, I10;F32 and E11, three have F32.

    It is measured for every sensitive attribute, and the largest figure is reported. The *baseline* is the
    share of the most frequent value in the whole table. It can be known without the release.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, l-Diversity, TKDD 1(1), 2007, section 2.1
    (homogeneity attack); the confidence is that of (alpha, k)-anonymity, Wong et al., KDD 2006.
    """

    name: ClassVar[str] = "attribute-disclosure"
    summary: ClassVar[str] = "confidence in the most frequent sensitive value of a person's class"
    paper: ClassVar[str] = "Machanavajjhala et al. 2007"

    def applies(self, classes: EquivalenceClasses) -> bool:
        """Say whether there is a sensitive attribute."""
        return bool(classes.frequency.sensitive)

    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return the largest and mean confidence, the share in classes of one value, and the baseline."""
        figures = dict.fromkeys(("max", "mean", "homogeneous", "baseline"), 0.0)
        if not len(classes):
            return figures
        for j, attribute in enumerate(classes.frequency.sensitive):
            most = classes.most_frequent(j)
            confidence = most / classes.sizes
            # All have the value where nothing less than 1 is above it.
            mean, homogeneous = classes.mean_and_share(confidence, most, math.nextafter(1, 0))
            here = {
                "max": float(confidence.max()),
                "mean": mean,
                "homogeneous": homogeneous,
                "baseline": int(_totals(attribute).max()) / max(attribute.everybody, 1),
            }
            figures = {name: max(value, here[name]) for name, value in figures.items()}
        return figures


def _totals(counted: SensitiveCounts) -> NDArray[np.int64]:
    """Return how often each value, or each part of lists, occurs in the whole table."""
    return counted.totals if counted.domain.parts is None else counted.part_totals
