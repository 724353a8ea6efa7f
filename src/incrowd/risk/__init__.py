"""Risk models: one class in one file each, listed here; and what is estimated or searched for a table."""

from __future__ import annotations

from incrowd.parameters import Registry
from incrowd.risk.attribute_disclosure import AttributeDisclosure
from incrowd.risk.base import RiskModel
from incrowd.risk.discovery import Identifying, quasi_identifiers
from incrowd.risk.individual import individual_risk
from incrowd.risk.journalist import Journalist
from incrowd.risk.marketer import Marketer
from incrowd.risk.prosecutor import Prosecutor
from incrowd.risk.suda import Suda, suda2
from incrowd.risk.uniqueness import Uniqueness, estimate_uniqueness, population_uniqueness

__all__ = [
    "RISKS",
    "AttributeDisclosure",
    "Identifying",
    "Journalist",
    "Marketer",
    "Prosecutor",
    "RiskModel",
    "Suda",
    "Uniqueness",
    "estimate_uniqueness",
    "individual_risk",
    "population_uniqueness",
    "quasi_identifiers",
    "suda2",
]

RISKS: Registry[RiskModel] = Registry("risk models", Prosecutor, Journalist, Marketer, AttributeDisclosure)
