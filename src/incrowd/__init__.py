"""Hide every record in a crowd, and prove it: anonymize tables about people."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd import privacy, risk
    from incrowd.algorithms import (
        ALGORITHMS,
        MDAV,
        OKA,
        OLA,
        Algorithm,
        BottomUp,
        BottomUpGeneralization,
        CellSuppression,
        Clustering,
        Datafly,
        Flash,
        Incognito,
        KMember,
        Microaggregation,
        Mondrian,
        Optimal,
        Random,
        Samarati,
        TopDownSpecialization,
    )
    from incrowd.anatomy import Anatomy, anatomize
    from incrowd.application import Applied, apply_recoding
    from incrowd.assessment import Assessment, assess
    from incrowd.attacks import Attack, attack
    from incrowd.comparison import Comparison, compare
    from incrowd.distributed import DistributedRelease
    from incrowd.distributions import Fidelity, fidelity
    from incrowd.errors import (
        HierarchyError,
        IncrowdError,
        InfeasibleError,
        InputError,
        MissingExtraError,
        ParameterError,
        PolicyError,
        SchemaError,
        TableError,
    )
    from incrowd.evaluation import Evaluation, evaluate
    from incrowd.hierarchy import Hierarchy
    from incrowd.io.files import CsvFormat
    from incrowd.io.streams import Files, scan
    from incrowd.learning import Learned, learn
    from incrowd.policy import Policy
    from incrowd.privacy import (
        MODELS,
        P29,
        AlphaKAnonymity,
        AverageRisk,
        BetaLikeness,
        DeltaDisclosure,
        DeltaPresence,
        KAnonymity,
        KMap,
        LDiversity,
        LKCPrivacy,
        MaximumRisk,
        NormalizedEntropy,
        PrivacyModel,
        Profitability,
        RecordsAtRisk,
        TCloseness,
    )
    from incrowd.processing import Processed, ensure_privacy
    from incrowd.randomization import Laplace, Randomized, RandomizedResponse, randomize
    from incrowd.recoding import (
        FullDomain,
        Local,
        Recoding,
        SingleDimensional,
    )
    from incrowd.release import Release, anonymize, explore
    from incrowd.risk import (
        RISKS,
    )
    from incrowd.schema import Attribute, Schema
    from incrowd.utility import METRICS
    from incrowd.verification import Verification, verify

# Names are looked up when they are first used, so that `import incrowd` costs nothing.
_HOMES = {
    "application": (
        "Applied",
        "apply_recoding",
    ),
    "processing": (
        "Processed",
        "ensure_privacy",
    ),
    "randomization": (
        "Laplace",
        "Randomized",
        "RandomizedResponse",
        "randomize",
    ),
    "attacks": (
        "Attack",
        "attack",
    ),
    "learning": (
        "Learned",
        "learn",
    ),
    "distributed": ("DistributedRelease",),
    "distributions": (
        "Fidelity",
        "fidelity",
    ),
    "evaluation": (
        "Evaluation",
        "evaluate",
    ),
    "anatomy": (
        "Anatomy",
        "anatomize",
    ),
    "comparison": (
        "Comparison",
        "compare",
    ),
    "algorithms": (
        "ALGORITHMS",
        "MDAV",
        "OKA",
        "OLA",
        "Algorithm",
        "BottomUp",
        "BottomUpGeneralization",
        "CellSuppression",
        "Clustering",
        "Datafly",
        "Flash",
        "Incognito",
        "KMember",
        "Microaggregation",
        "Mondrian",
        "Optimal",
        "Random",
        "Samarati",
        "TopDownSpecialization",
    ),
    "assessment": ("Assessment", "assess"),
    "errors": (
        "HierarchyError",
        "IncrowdError",
        "InfeasibleError",
        "InputError",
        "MissingExtraError",
        "ParameterError",
        "PolicyError",
        "SchemaError",
        "TableError",
    ),
    "hierarchy": ("Hierarchy",),
    "io.databases": ("Database",),
    "io.files": ("CsvFormat",),
    "io.streams": ("Files", "scan"),
    "policy": ("Policy",),
    "privacy": (
        "MODELS",
        "P29",
        "AlphaKAnonymity",
        "AverageRisk",
        "BetaLikeness",
        "DeltaDisclosure",
        "DeltaPresence",
        "KAnonymity",
        "KMap",
        "LDiversity",
        "LKCPrivacy",
        "MaximumRisk",
        "NormalizedEntropy",
        "PrivacyModel",
        "Profitability",
        "RecordsAtRisk",
        "TCloseness",
    ),
    "recoding": (
        "FullDomain",
        "Local",
        "Recoding",
        "SingleDimensional",
    ),
    "release": ("Release", "anonymize", "explore"),
    "risk": ("RISKS",),
    "schema": ("Attribute", "Schema"),
    "utility": ("METRICS",),
    "verification": ("Verification", "verify"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "ALGORITHMS",
    "MDAV",
    "METRICS",
    "MODELS",
    "OKA",
    "OLA",
    "P29",
    "RISKS",
    "Algorithm",
    "AlphaKAnonymity",
    "Anatomy",
    "Applied",
    "Assessment",
    "Attack",
    "Attribute",
    "AverageRisk",
    "BetaLikeness",
    "BottomUp",
    "BottomUpGeneralization",
    "CellSuppression",
    "Clustering",
    "Comparison",
    "CsvFormat",
    "Database",
    "Datafly",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistributedRelease",
    "Evaluation",
    "Fidelity",
    "Files",
    "Flash",
    "FullDomain",
    "Hierarchy",
    "HierarchyError",
    "Incognito",
    "IncrowdError",
    "InfeasibleError",
    "InputError",
    "KAnonymity",
    "KMap",
    "KMember",
    "LDiversity",
    "LKCPrivacy",
    "Laplace",
    "Learned",
    "Local",
    "MaximumRisk",
    "Microaggregation",
    "MissingExtraError",
    "Mondrian",
    "NormalizedEntropy",
    "Optimal",
    "ParameterError",
    "Policy",
    "PolicyError",
    "PrivacyModel",
    "Processed",
    "Profitability",
    "Random",
    "Randomized",
    "RandomizedResponse",
    "Recoding",
    "RecordsAtRisk",
    "Release",
    "Samarati",
    "Schema",
    "SchemaError",
    "SingleDimensional",
    "TCloseness",
    "TableError",
    "TopDownSpecialization",
    "Verification",
    "anatomize",
    "anonymize",
    "apply_recoding",
    "assess",
    "attack",
    "compare",
    "ensure_privacy",
    "evaluate",
    "explore",
    "fidelity",
    "learn",
    "privacy",
    "randomize",
    "risk",
    "scan",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in ("privacy", "risk"):
        # Their functions are called through them: ic.privacy.k_anonymity(...), ic.risk.suda2(...).
        return import_module(f"incrowd.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'incrowd' has no attribute {name!r}")
    return getattr(import_module(f"incrowd.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
