"""Algorithms, a class and a file each, listed here."""

from __future__ import annotations

from incrowd.core.parameters import Registry
from incrowd.search.base import Algorithm as Algorithm
from incrowd.search.base import SearchProblem as SearchProblem
from incrowd.search.base import Solution as Solution
from incrowd.search.full_domain import FullDomainAlgorithm as FullDomainAlgorithm
from incrowd.search.local import LocalAlgorithm as LocalAlgorithm

# One line an entry, in the order in which they are listed everywhere.
# isort: off
# fmt: off
from incrowd.search.mondrian import Mondrian as Mondrian
from incrowd.search.optimal import Optimal as Optimal
from incrowd.search.bottom_up import BottomUp as BottomUp
from incrowd.search.samarati import Samarati as Samarati
from incrowd.search.incognito import Incognito as Incognito
from incrowd.search.datafly import Datafly as Datafly
from incrowd.search.ola import OLA as OLA
from incrowd.search.flash import Flash as Flash
from incrowd.search.agglomerative import Agglomerative as Agglomerative
from incrowd.search.clustering import Clustering as Clustering
from incrowd.search.k_member import KMember as KMember
from incrowd.search.oka import OKA as OKA
from incrowd.search.mdav import MDAV as MDAV
from incrowd.search.microaggregation import Microaggregation as Microaggregation
from incrowd.search.cell_suppression import CellSuppression as CellSuppression
from incrowd.search.top_down_specialization import TopDownSpecialization as TopDownSpecialization
from incrowd.search.bottom_up_generalization import BottomUpGeneralization as BottomUpGeneralization
from incrowd.search.random import Random as Random
# fmt: on
# isort: on

ALGORITHMS: Registry[Algorithm] = Registry.of_imports("algorithms", Algorithm, globals())
