"""Privacy models, each in a file with a function that measures a table at once, listed here."""

from __future__ import annotations

from incrowd.core.parameters import Registry
from incrowd.measures.privacy.base import IdentityModel as IdentityModel
from incrowd.measures.privacy.base import Monotone as Monotone
from incrowd.measures.privacy.base import PrivacyModel as PrivacyModel
from incrowd.measures.privacy.base import SensitiveModel as SensitiveModel
from incrowd.measures.privacy.results import EquivalenceClass as EquivalenceClass
from incrowd.measures.privacy.results import ModelResult as ModelResult

# One line an entry, in the order in which they are listed everywhere.
# isort: off
# fmt: off
from incrowd.measures.privacy.k_anonymity import KAnonymity as KAnonymity, k_anonymity as k_anonymity
from incrowd.measures.privacy.subset_k_anonymity import SubsetKAnonymity as SubsetKAnonymity, subset_k_anonymity as subset_k_anonymity
from incrowd.measures.privacy.km_anonymity import KMAnonymity as KMAnonymity, km_anonymity as km_anonymity
from incrowd.measures.privacy.k_map import KMap as KMap, k_map as k_map
from incrowd.measures.privacy.l_diversity import LDiversity as LDiversity, l_diversity as l_diversity
from incrowd.measures.privacy.normalized_entropy import NormalizedEntropy as NormalizedEntropy, normalized_entropy as normalized_entropy
from incrowd.measures.privacy.t_closeness import TCloseness as TCloseness, t_closeness as t_closeness
from incrowd.measures.privacy.alpha_k_anonymity import AlphaKAnonymity as AlphaKAnonymity, alpha_k_anonymity as alpha_k_anonymity
from incrowd.measures.privacy.lkc_privacy import LKCPrivacy as LKCPrivacy, lkc_privacy as lkc_privacy
from incrowd.measures.privacy.beta_likeness import BetaLikeness as BetaLikeness, beta_likeness as beta_likeness
from incrowd.measures.privacy.delta_disclosure import DeltaDisclosure as DeltaDisclosure, delta_disclosure as delta_disclosure
from incrowd.measures.privacy.delta_presence import DeltaPresence as DeltaPresence, delta_presence as delta_presence
from incrowd.measures.privacy.p29 import P29 as P29, P29Score as P29Score, p29 as p29
from incrowd.measures.privacy.maximum_risk import MaximumRisk as MaximumRisk, maximum_risk as maximum_risk
from incrowd.measures.privacy.average_risk import AverageRisk as AverageRisk, average_risk as average_risk
from incrowd.measures.privacy.records_at_risk import RecordsAtRisk as RecordsAtRisk, records_at_risk as records_at_risk
from incrowd.measures.privacy.profitability import Profitability as Profitability, profitability as profitability
# fmt: on
# isort: on

MODELS: Registry[PrivacyModel] = Registry.of_imports(
    "privacy models", PrivacyModel, globals(), group="incrowd.models"
)
