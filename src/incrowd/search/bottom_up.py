"""Bottom-up search of the lattice, level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.search.full_domain import FullDomainAlgorithm

if TYPE_CHECKING:
    from incrowd.search.base import SearchProblem
    from incrowd.search.lattice import Explorer, Limits, Node


class BottomUp(FullDomainAlgorithm):
    """Takes the best node on the lowest level of the lattice that needs no suppression.

    The search goes up level by level. It stops at the first level that has a node whose equivalence classes
    all satisfy the models. It takes the node of least loss on this level. Ties go to the first node in the
    order of levels, with the quasi-identifiers in the schema's order. Nothing is suppressed, whatever
    `max_suppression` allows.

    References
    ----------
    Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001 (the lattice and
    its heights); LeFevre, DeWitt and Ramakrishnan, Incognito: efficient full-domain k-anonymity, SIGMOD 2005,
    section 2.2 (bottom-up search).
    """

    name: ClassVar[str] = "bottom-up"
    summary: ClassVar[str] = "the node of least loss on the lowest level that needs no suppression"
    paper: ClassVar[str] = "Samarati 2001; LeFevre, DeWitt and Ramakrishnan 2005"
    most_nodes: ClassVar[int | None] = 2**18

    def limits(self, problem: SearchProblem) -> Limits:
        """Allow no suppression."""
        return super().limits(problem).at_most(problem.frequency.suppressed)

    def choose(self, explorer: Explorer) -> tuple[Node | None, bool]:
        """Go up level by level."""
        from incrowd.search.lattice import least

        lattice = explorer.lattice
        for height in range(lattice.height + 1):
            nodes = explorer.look(*lattice.at_height(height))
            good = [node for node in nodes if node.anonymous]
            explorer.problem.progress.advance(explorer.looked, lattice.size)
            if good:
                return least(good), False
        return None, True
