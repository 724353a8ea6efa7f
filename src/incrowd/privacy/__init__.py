"""Privacy models: one class in one file each, listed here; each with a function that measures it at once."""

from __future__ import annotations

from incrowd.parameters import Registry
from incrowd.privacy.alpha_k_anonymity import AlphaKAnonymity, alpha_k_anonymity
from incrowd.privacy.average_risk import AverageRisk, average_risk
from incrowd.privacy.base import (
    EquivalenceClass,
    IdentityModel,
    ModelResult,
    Monotone,
    PrivacyModel,
    SensitiveModel,
)
from incrowd.privacy.beta_likeness import BetaLikeness, beta_likeness
from incrowd.privacy.delta_disclosure import DeltaDisclosure, delta_disclosure
from incrowd.privacy.delta_presence import DeltaPresence, delta_presence
from incrowd.privacy.k_anonymity import KAnonymity, k_anonymity
from incrowd.privacy.k_map import KMap, k_map
from incrowd.privacy.l_diversity import LDiversity, l_diversity
from incrowd.privacy.lkc_privacy import LKCPrivacy, lkc_privacy
from incrowd.privacy.maximum_risk import MaximumRisk, maximum_risk
from incrowd.privacy.normalized_entropy import NormalizedEntropy, normalized_entropy
from incrowd.privacy.p29 import P29, P29Score, p29
from incrowd.privacy.profitability import Profitability, profitability
from incrowd.privacy.records_at_risk import RecordsAtRisk, records_at_risk
from incrowd.privacy.t_closeness import TCloseness, t_closeness

__all__ = [
    "MODELS",
    "P29",
    "AlphaKAnonymity",
    "AverageRisk",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "EquivalenceClass",
    "IdentityModel",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "LKCPrivacy",
    "MaximumRisk",
    "ModelResult",
    "Monotone",
    "NormalizedEntropy",
    "P29Score",
    "PrivacyModel",
    "Profitability",
    "RecordsAtRisk",
    "SensitiveModel",
    "TCloseness",
    "alpha_k_anonymity",
    "average_risk",
    "beta_likeness",
    "delta_disclosure",
    "delta_presence",
    "k_anonymity",
    "k_map",
    "l_diversity",
    "lkc_privacy",
    "maximum_risk",
    "normalized_entropy",
    "p29",
    "profitability",
    "records_at_risk",
    "t_closeness",
]

MODELS: Registry[PrivacyModel] = Registry(
    "privacy models",
    KAnonymity,
    KMap,
    LDiversity,
    NormalizedEntropy,
    TCloseness,
    AlphaKAnonymity,
    LKCPrivacy,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    P29,
    MaximumRisk,
    AverageRisk,
    RecordsAtRisk,
    Profitability,
)
