"""The figures of risk models, each measured when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.table.measured import Measured
from incrowd.measures.risk.base import RiskModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


class Risks(Measured[RiskModel, "EquivalenceClasses", dict[str, float]]):
    """Figures per risk model that applies to the table, of its classes; see `Measured`."""

    def _measure(self, entry: RiskModel, source: EquivalenceClasses) -> dict[str, float]:
        return entry.measure(source)

    def __repr__(self) -> str:
        return repr(dict(self))
