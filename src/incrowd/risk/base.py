"""The base class of risk models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.parameters import Configured

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses


@dataclass(frozen=True)
class RiskModel(Configured, ABC):
    """The probability that an attacker links a released record to a person, or learns its sensitive value."""

    def applies(self, classes: EquivalenceClasses) -> bool:
        """Say whether the table has the inputs of the model."""
        return True

    @abstractmethod
    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return the figures by name, each a probability in [0, 1]; 0 without classes."""
