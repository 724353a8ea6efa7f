"""The base class of risk models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import Configured, Measured, Parameter

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses

THRESHOLD = Parameter(float, "risk above which a record is at risk", low=0, high=1)
FRACTION = Parameter(float, "share of the population that the table is", low=0, high=1, optional=True)


class RiskModel(Configured, ABC):
    """The probability that an attacker identifies a released record or learns a sensitive value.

    Attributes
    ----------
    needs
        What a table must have: ``sensitive`` attributes, ``households``, sampling ``weights``, or a
        ``population`` (or the parameter `fraction` in its place). Nothing by default.
    """

    needs: ClassVar[str] = ""

    def applies(self, classes: EquivalenceClasses) -> bool:
        """Return whether the table has the inputs of the model."""
        match self.needs:
            case "sensitive":
                return bool(classes.frequency.sensitive)
            case "households":
                return classes.frequency.survey.households is not None
            case "weights":
                return classes.represented is not None
            case "population":
                return people_of(classes, getattr(self, "fraction", None)) is not None
        return True

    @abstractmethod
    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return named figures, each a probability in [0, 1] and 0 without classes."""


def people_of(classes: EquivalenceClasses, fraction: float | None) -> NDArray[np.float64] | None:
    """Return the people covered by each class, no fewer than records: float64[classes]; None if unknown."""
    if classes.frequency.population is not None:
        return np.maximum(classes.population, classes.sizes).astype(np.float64)
    if fraction:
        return np.asarray(classes.sizes / fraction, np.float64)
    return None


class Risks(Measured[RiskModel, "EquivalenceClasses", dict[str, float]]):
    """Figures of the classes per risk model that applies to the table; see `Measured`."""

    def _measure(self, entry: RiskModel, source: EquivalenceClasses) -> dict[str, float]:
        return entry.measure(source)

    def __repr__(self) -> str:
        return repr(dict(self))
