"""Risk models, each in a file, listed here; estimates and searches for a table."""

from __future__ import annotations

from incrowd.core.parameters import Registry
from incrowd.measures.risk.base import RiskModel as RiskModel
from incrowd.measures.risk.discovery import Identifying as Identifying
from incrowd.measures.risk.discovery import quasi_identifiers as quasi_identifiers
from incrowd.measures.risk.household import HouseholdRisk as HouseholdRisk
from incrowd.measures.risk.household import household_figures as household_figures
from incrowd.measures.risk.household import household_risk as household_risk
from incrowd.measures.risk.individual import individual_figures as individual_figures
from incrowd.measures.risk.individual import individual_risk as individual_risk
from incrowd.measures.risk.suda import Suda as Suda
from incrowd.measures.risk.suda import suda2 as suda2
from incrowd.measures.risk.uniqueness import Uniqueness as Uniqueness
from incrowd.measures.risk.uniqueness import estimate_uniqueness as estimate_uniqueness
from incrowd.measures.risk.uniqueness import population_uniqueness as population_uniqueness

# One line an entry, in the order in which they are listed everywhere.
# isort: off
# fmt: off
from incrowd.measures.risk.prosecutor import Prosecutor as Prosecutor
from incrowd.measures.risk.journalist import Journalist as Journalist
from incrowd.measures.risk.marketer import Marketer as Marketer
from incrowd.measures.risk.individual import Individual as Individual
from incrowd.measures.risk.household import Household as Household
from incrowd.measures.risk.attribute_disclosure import AttributeDisclosure as AttributeDisclosure
# fmt: on
# isort: on

RISKS: Registry[RiskModel] = Registry.of_imports("risk models", RiskModel, globals())
