"""The base class of treatments that give equal values different ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.treatments.base import Treatment


@dataclass(frozen=True)
class Perturbing(Treatment):
    """Base of treatments that draw the new value at random, in the groups of a column `within`."""

    perturbs: ClassVar[bool] = True
    is_random: ClassVar[bool] = True

    @property
    def strata(self) -> str | None:
        """Groups within which it works."""
        return getattr(self, "within", None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of the groups."""
        return () if self.strata is None else (self.strata,)
