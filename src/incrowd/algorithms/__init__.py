"""Algorithms: one class in one file each, listed here."""

from __future__ import annotations

from incrowd.algorithms.base import Algorithm, SearchProblem, Solution
from incrowd.algorithms.bottom_up import BottomUp
from incrowd.algorithms.bottom_up_generalization import BottomUpGeneralization
from incrowd.algorithms.cell_suppression import CellSuppression
from incrowd.algorithms.clustering import Clustering
from incrowd.algorithms.datafly import Datafly
from incrowd.algorithms.flash import Flash
from incrowd.algorithms.full_domain import FullDomainAlgorithm
from incrowd.algorithms.incognito import Incognito
from incrowd.algorithms.k_member import KMember
from incrowd.algorithms.local import LocalAlgorithm
from incrowd.algorithms.mdav import MDAV
from incrowd.algorithms.microaggregation import Microaggregation
from incrowd.algorithms.mondrian import Mondrian
from incrowd.algorithms.oka import OKA
from incrowd.algorithms.ola import OLA
from incrowd.algorithms.optimal import Optimal
from incrowd.algorithms.random import Random
from incrowd.algorithms.samarati import Samarati
from incrowd.algorithms.top_down_specialization import TopDownSpecialization
from incrowd.parameters import Registry

__all__ = [
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
    "FullDomainAlgorithm",
    "Incognito",
    "KMember",
    "LocalAlgorithm",
    "Microaggregation",
    "Mondrian",
    "Optimal",
    "Random",
    "Samarati",
    "SearchProblem",
    "Solution",
    "TopDownSpecialization",
]

ALGORITHMS: Registry[Algorithm] = Registry(
    "algorithms",
    Mondrian,
    Optimal,
    BottomUp,
    Samarati,
    Incognito,
    Datafly,
    OLA,
    Flash,
    Clustering,
    KMember,
    OKA,
    MDAV,
    Microaggregation,
    CellSuppression,
    TopDownSpecialization,
    BottomUpGeneralization,
    Random,
)
