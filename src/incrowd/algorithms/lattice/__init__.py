"""The lattice of full-domain recodings, and the knowledge about its nodes."""

from __future__ import annotations

from incrowd.algorithms.lattice.explorer import Explorer
from incrowd.algorithms.lattice.lattice import Lattice
from incrowd.algorithms.lattice.limits import Budget, Deadline, Limits, SharedBudget
from incrowd.algorithms.lattice.node import Node, better, least, score_of_equals, score_to_beat
from incrowd.algorithms.lattice.space import SolutionSpace

__all__ = [
    "Budget",
    "Deadline",
    "Explorer",
    "Lattice",
    "Limits",
    "Node",
    "SharedBudget",
    "SolutionSpace",
    "better",
    "least",
    "score_of_equals",
    "score_to_beat",
]
