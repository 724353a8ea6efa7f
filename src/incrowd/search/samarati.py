"""Samarati's binary search."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.search.full_domain import FullDomainAlgorithm

if TYPE_CHECKING:
    from incrowd.search.lattice import Explorer, Node


class Samarati(FullDomainAlgorithm):
    """Takes the best node at the least height of the lattice where the allowed suppression suffices.

    Binary search finds the height. At each height it asks only whether some node satisfies the models. Of the
    nodes that do at the height found, the one of least loss is taken.

    Notes
    -----
    The height is the least if the models are monotone under generalization. With other models a lower one may
    exist.

    References
    ----------
    Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001, section 5.
    """

    name: ClassVar[str] = "samarati"
    summary: ClassVar[str] = "the node of least loss at the least height that suffices, by binary search"
    paper: ClassVar[str] = "Samarati 2001"
    most_nodes: ClassVar[int | None] = 2**18

    def choose(self, explorer: Explorer) -> tuple[Node | None, bool]:
        """Search the heights by halves, and then compare the nodes of the height found."""
        from incrowd.search.lattice import least

        lattice = explorer.lattice
        low, high = 0, lattice.height
        while low < high:
            middle = (low + high) // 2
            if any(explorer.look(levels)[0].anonymous for levels in lattice.at_height(middle)):
                high = middle
            else:
                low = middle + 1
            explorer.problem.progress.advance(explorer.looked, lattice.size)
        good = [node for node in explorer.look(*lattice.at_height(low)) if node.anonymous]
        return least(good), False
