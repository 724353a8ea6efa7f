"""What every risk model has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.parameters import Configured

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses

__all__ = ["RiskModel"]


@dataclass(frozen=True)
class RiskModel(Configured, ABC):
    """How likely an attacker links a released record to a person, or learns what it says."""

    def applies(self, classes: EquivalenceClasses) -> bool:
        """Say whether the table has what the model looks at."""
        return True

    @abstractmethod
    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return the figures by name, each a probability in [0, 1]; 0 without classes."""
