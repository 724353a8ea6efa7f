"""Privacy models: one class in one file each, listed here."""

from __future__ import annotations

from incrowd.parameters import Registry
from incrowd.privacy.base import Measured, PrivacyModel
from incrowd.privacy.beta_likeness import BetaLikeness
from incrowd.privacy.delta_disclosure import DeltaDisclosure
from incrowd.privacy.k_anonymity import KAnonymity
from incrowd.privacy.l_diversity import LDiversity
from incrowd.privacy.t_closeness import TCloseness

__all__ = [
    "MODELS",
    "BetaLikeness",
    "DeltaDisclosure",
    "KAnonymity",
    "LDiversity",
    "Measured",
    "PrivacyModel",
    "TCloseness",
]

MODELS: Registry[PrivacyModel] = Registry(
    "privacy models", KAnonymity, LDiversity, TCloseness, BetaLikeness, DeltaDisclosure
)
