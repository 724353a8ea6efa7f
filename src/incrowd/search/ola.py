"""OLA, the optimal lattice anonymization."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.search.full_domain import FullDomainAlgorithm, Tags

if TYPE_CHECKING:
    from incrowd.search.lattice import Explorer, Node


class OLA(FullDomainAlgorithm):
    """Finds all minimal nodes by halving sub-lattices, and takes the best.

    A minimal node is one that satisfies the models while every node below it fails. The search judges the
    nodes at the middle height of a sub-lattice. Below each node that satisfies the models lies a smaller
    sub-lattice. So does one above each node that fails. The search goes on in these.

    The paper takes the minimal node of least non-uniform entropy (``metric="non-uniform-entropy"``). A node
    is judged with the suppression that is allowed.

    Notes
    -----
    Without suppression the best minimal node is the optimum. With suppression a node above may be better.

    References
    ----------
    El Emam et al., A globally optimal k-anonymity method for the de-identification of health data,
    JAMIA 16(5), 2009.
    """

    name: ClassVar[str] = "ola"
    summary: ClassVar[str] = "finds all minimal nodes by halving sub-lattices, and takes the best"
    paper: ClassVar[str] = "El Emam et al. 2009"
    most_nodes: ClassVar[int | None] = 2**22
    tags: ClassVar[bool] = True

    def choose(self, explorer: Explorer) -> tuple[Node | None, bool]:
        """Halve the lattice, and then the parts."""
        from incrowd.search.lattice import Lattice

        tags = Tags(explorer, self.name)
        lattice = explorer.lattice
        waiting = [(lattice.bottom, lattice.top)]
        while waiting:
            bottom, top = waiting.pop()
            if tags.status[lattice.between(bottom, top)].all():
                continue
            inner = Lattice(lattice.names, bottom, top)
            if inner.height <= 1:
                tags.ask(bottom)
                tags.ask(top)
                continue
            waiting.extend(
                (bottom, levels) if tags.ask(levels) else (levels, top)
                for levels in inner.at_height(inner.height // 2)
            )
            explorer.problem.progress.advance(int((tags.status != 0).sum()), lattice.size)
        return tags.best()
