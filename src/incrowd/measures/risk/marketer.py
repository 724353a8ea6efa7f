"""Marketer risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.measures.risk.base import FRACTION, RiskModel, people_of

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class Marketer(RiskModel):
    """The attacker links every record to a person: the expected share of right links.

    It is the mean over records of 1 / (people whom the class covers). If neither a population nor a fraction
    is known, the table is the population.

    Parameters
    ----------
    fraction
        Share of the population that the table is, where there is no population table.

    References
    ----------
    Dankar and El Emam, A method for evaluating marketer re-identification risk, PAIS 2010.
    """

    fraction: float | None = FRACTION.field(None)

    name: ClassVar[str] = "marketer"
    summary: ClassVar[str] = "share of records linked rightly by an attacker who links all of them"
    paper: ClassVar[str] = "Dankar and El Emam 2010"

    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return the expected share."""
        if not len(classes):
            return {"expected": 0.0}
        people, sizes = people_of(classes, self.fraction), classes.own.sizes
        right = float((sizes / (classes.sizes if people is None else people)).sum())
        return {"expected": right / int(sizes.sum())}
