"""Incognito."""

from __future__ import annotations

from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, ClassVar

from incrowd.search.full_domain import FullDomainAlgorithm, Tags

if TYPE_CHECKING:
    from incrowd.search.lattice import Explorer, Lattice, Node


class Incognito(FullDomainAlgorithm):
    """Finds all minimal nodes by subsets of the quasi-identifiers, and takes the best.

    A minimal node is one that satisfies the models while every node below it fails. The search looks at the
    small subsets of the quasi-identifiers first. The other quasi-identifiers are at their top level. Levels
    that fail for a subset fail for every larger set, whatever levels the other quasi-identifiers have.

    Notes
    -----
    Without suppression the best minimal node is the optimum. With suppression a node above may be better.

    References
    ----------
    LeFevre, DeWitt and Ramakrishnan, Incognito: efficient full-domain k-anonymity, SIGMOD 2005.
    """

    name: ClassVar[str] = "incognito"
    summary: ClassVar[str] = "finds all minimal nodes by subsets of the columns, and takes the best"
    paper: ClassVar[str] = "LeFevre, DeWitt and Ramakrishnan 2005"
    most_nodes: ClassVar[int | None] = 2**22
    tags: ClassVar[bool] = True

    def nodes_at_most(self, lattice: Lattice) -> int:
        """Count the nodes of the lattices of all subsets, where fixed attributes form no separate subset."""
        return prod(count + 1 for count in lattice.grid)

    def choose(self, explorer: Explorer) -> tuple[Node | None, bool]:
        """Search the subsets of quasi-identifiers, small subsets first."""
        tags = Tags(explorer, self.name)
        lattice = explorer.lattice
        places = range(len(lattice.shape))
        for size in range(1, len(lattice.free) + 1):
            for subset in combinations(lattice.free, size):
                ranges = [
                    range(int(lattice.lows[j]), int(lattice.highs[j]) + 1)
                    if j in subset
                    else (int(lattice.highs[j]),)
                    for j in places
                ]
                for levels in sorted(product(*ranges), key=lambda levels: (sum(levels), levels)):
                    tags.ask(levels)
                explorer.problem.progress.advance(int((tags.status != 0).sum()), lattice.size)
        return tags.best()
