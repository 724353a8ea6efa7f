"""The base class of treatments that give equal values different ones."""

from __future__ import annotations

from dataclasses import dataclass

from incrowd.treatments.base import Treatment


@dataclass(frozen=True)
class Perturbing(Treatment):
    """Base of treatments that draw the new value at random, in the groups of a column `within`."""

    @property
    def perturbs(self) -> bool:
        """Equal values become different ones."""
        return True

    @property
    def is_random(self) -> bool:
        """The new value of a row is drawn."""
        return True

    @property
    def strata(self) -> str | None:
        """Groups within which it works."""
        return getattr(self, "within", None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of the groups."""
        return () if self.strata is None else (self.strata,)
