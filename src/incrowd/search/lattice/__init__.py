"""The lattice of full-domain recodings, and the knowledge about nodes."""

from __future__ import annotations

from incrowd.search.lattice.explorer import Explorer, SharedBudget
from incrowd.search.lattice.lattice import Budget, Deadline, Lattice, Limits
from incrowd.search.lattice.node import Node, better, least, score_of_equals, score_to_beat
from incrowd.search.lattice.space import SolutionSpace

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
