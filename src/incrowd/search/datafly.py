"""Datafly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.parameters import parameter
from incrowd.search.full_domain import FullDomainAlgorithm

if TYPE_CHECKING:
    from incrowd.search.base import SearchProblem
    from incrowd.search.lattice import Explorer, Limits, Node


@dataclass(frozen=True)
class Datafly(FullDomainAlgorithm):
    """Generalizes, step by step, the quasi-identifier that has the most distinct values left.

    Each step climbs one level. Of quasi-identifiers with equally many values, the first in the schema's order
    climbs. The search stops at the first node where the allowed suppression suffices. It is fast, and its
    result is rarely the best.

    Parameters
    ----------
    suppress_k
        Whether no more than k records may be suppressed, the rule of the paper, on top of
        `max_suppression`.

    References
    ----------
    Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5),
    2002, section 4 (core Datafly).
    """

    suppress_k: bool = parameter(
        "whether no more than k records may be suppressed, as in the paper", kind=bool, default=False
    )

    name: ClassVar[str] = "datafly"
    summary: ClassVar[str] = "generalizes the column of most distinct values until suppression suffices"
    paper: ClassVar[str] = "Sweeney 2002"

    def limits(self, problem: SearchProblem) -> Limits:
        """Allow the suppression of k records where the paper's rule is asked for."""
        limits = super().limits(problem)
        return limits.at_most(limits.before + problem.least) if self.suppress_k else limits

    def choose(self, explorer: Explorer) -> tuple[Node | None, bool]:
        """Climb until the node is anonymous."""
        lattice = explorer.lattice
        levels = lattice.bottom
        while True:
            [node] = explorer.look(levels)
            explorer.problem.progress.advance(sum(levels), sum(lattice.top))
            if node.anonymous:
                return node, False
            climbing = [j for j, level in enumerate(levels) if level < lattice.highs[j]]
            if not climbing:
                return None, False
            values = explorer.distinct_cells(levels)
            # max() keeps the first of equal ones.
            j = max(climbing, key=lambda j: values[j])
            levels = (*levels[:j], levels[j] + 1, *levels[j + 1 :])

    def finds(self, problem: SearchProblem, levels: tuple[int, ...]) -> bool:
        """Say whether the only path of the search meets an anonymous node."""
        return self.choose(self.explorer(problem))[0] is not None
