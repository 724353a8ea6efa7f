"""Risk models: one class in one file each, listed here; estimates and searches for a table."""

from __future__ import annotations

from incrowd.parameters import Registry
from incrowd.risk.base import RiskModel as RiskModel
from incrowd.risk.discovery import Identifying as Identifying
from incrowd.risk.discovery import quasi_identifiers as quasi_identifiers
from incrowd.risk.household import HouseholdRisk as HouseholdRisk
from incrowd.risk.household import household_figures as household_figures
from incrowd.risk.household import household_risk as household_risk
from incrowd.risk.individual import individual_figures as individual_figures
from incrowd.risk.individual import individual_risk as individual_risk
from incrowd.risk.suda import Suda as Suda
from incrowd.risk.suda import suda2 as suda2
from incrowd.risk.uniqueness import Uniqueness as Uniqueness
from incrowd.risk.uniqueness import estimate_uniqueness as estimate_uniqueness
from incrowd.risk.uniqueness import population_uniqueness as population_uniqueness

# One line an entry, in the order in which they are listed everywhere.
# isort: off
# fmt: off
from incrowd.risk.prosecutor import Prosecutor as Prosecutor
from incrowd.risk.journalist import Journalist as Journalist
from incrowd.risk.marketer import Marketer as Marketer
from incrowd.risk.individual import Individual as Individual
from incrowd.risk.household import Household as Household
from incrowd.risk.attribute_disclosure import AttributeDisclosure as AttributeDisclosure
# fmt: on
# isort: on

RISKS: Registry[RiskModel] = Registry.of_imports("risk models", RiskModel, globals())
