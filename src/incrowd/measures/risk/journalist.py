"""Journalist risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.measures.risk.base import FRACTION, THRESHOLD, RiskModel, people_of

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class Journalist(RiskModel):
    """The attacker cannot tell if a person is in the table: risk is 1 / (people covered by the class).

    The people come from a population table. Without one, a sampling fraction gives an estimate: a class of f
    records stands for f / fraction people. A class may cover fewer people than it has records, if the
    population does not hold the table. Then its records count.

    Parameters
    ----------
    fraction
        Share of the population that the table is, where there is no population table.
    threshold
        Records with a larger risk are at risk.

    References
    ----------
    El Emam, Guide to the de-identification of personal health information, 2013, chapter 16 (jRa, jRb, jRc).
    """

    fraction: float | None = FRACTION.field(None)
    threshold: float = THRESHOLD.field(0.2)

    name: ClassVar[str] = "journalist"
    summary: ClassVar[str] = "1 / number of people in the population who look like the record"
    paper: ClassVar[str] = "El Emam 2013"
    needs: ClassVar[str] = "population"

    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return the largest, average (jRc) and least risk, and the share of records at risk.

        The average is the larger of two: an attacker who picks a record of the table, or a person of the
        population.
        """
        people = people_of(classes, self.fraction)
        if people is None or not len(classes):
            return dict.fromkeys(("max", "mean", "min", "at_risk"), 0.0)
        risks, sizes = 1 / people, classes.sizes
        from_table, at_risk = classes.mean_and_share(risks, sizes / people, self.threshold)
        mean = min(max(from_table, len(sizes) / float(people.sum())), 1.0)
        return {"max": float(risks.max()), "mean": mean, "min": float(risks.min()), "at_risk": at_risk}
