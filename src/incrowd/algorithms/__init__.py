"""Algorithms: one class in one file each, listed here."""

from __future__ import annotations

from incrowd.algorithms.base import Algorithm as Algorithm
from incrowd.algorithms.base import SearchProblem as SearchProblem
from incrowd.algorithms.base import Solution as Solution
from incrowd.algorithms.full_domain import FullDomainAlgorithm as FullDomainAlgorithm
from incrowd.algorithms.local import LocalAlgorithm as LocalAlgorithm
from incrowd.parameters import Registry

# One line an entry, in the order in which they are listed everywhere.
# isort: off
# fmt: off
from incrowd.algorithms.mondrian import Mondrian as Mondrian
from incrowd.algorithms.optimal import Optimal as Optimal
from incrowd.algorithms.bottom_up import BottomUp as BottomUp
from incrowd.algorithms.samarati import Samarati as Samarati
from incrowd.algorithms.incognito import Incognito as Incognito
from incrowd.algorithms.datafly import Datafly as Datafly
from incrowd.algorithms.ola import OLA as OLA
from incrowd.algorithms.flash import Flash as Flash
from incrowd.algorithms.agglomerative import Agglomerative as Agglomerative
from incrowd.algorithms.clustering import Clustering as Clustering
from incrowd.algorithms.k_member import KMember as KMember
from incrowd.algorithms.oka import OKA as OKA
from incrowd.algorithms.mdav import MDAV as MDAV
from incrowd.algorithms.microaggregation import Microaggregation as Microaggregation
from incrowd.algorithms.cell_suppression import CellSuppression as CellSuppression
from incrowd.algorithms.top_down_specialization import TopDownSpecialization as TopDownSpecialization
from incrowd.algorithms.bottom_up_generalization import BottomUpGeneralization as BottomUpGeneralization
from incrowd.algorithms.random import Random as Random
# fmt: on
# isort: on

ALGORITHMS: Registry[Algorithm] = Registry.of_imports("algorithms", Algorithm, globals())
