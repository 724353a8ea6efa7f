"""Attribute-disclosure risk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from incrowd.measures.risk.base import RiskModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


class AttributeDisclosure(RiskModel):
    """Attacker's confidence in the most frequent sensitive value of a person's class.

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
    needs: ClassVar[str] = "sensitive"

    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return largest and mean confidence, the share in homogeneous classes, and the baseline."""
        figures = dict.fromkeys(("max", "mean", "homogeneous", "baseline"), 0.0)
        if not len(classes):
            return figures
        for j, attribute in enumerate(classes.frequency.sensitive):
            most = classes.most_frequent(j)
            confidence = most / classes.sizes
            # A class is homogeneous where its confidence is above the largest number below 1.
            mean, homogeneous = classes.mean_and_share(confidence, most, math.nextafter(1, 0))
            totals = attribute.totals if attribute.domain.parts is None else attribute.part_totals
            baseline = int(totals.max()) / max(attribute.everybody, 1)
            values = (float(confidence.max()), mean, homogeneous, baseline)
            figures = {name: max(figures[name], value) for name, value in zip(figures, values, strict=True)}
        return figures
