"""Risk models: one class in one file each, listed here."""

from __future__ import annotations

from incrowd.parameters import Registry
from incrowd.risk.base import RiskModel
from incrowd.risk.prosecutor import Prosecutor

__all__ = ["RISKS", "Prosecutor", "RiskModel"]

RISKS: Registry[RiskModel] = Registry("risk models", Prosecutor)
