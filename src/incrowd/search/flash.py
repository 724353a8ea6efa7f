"""Flash."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from incrowd.search.full_domain import FullDomainAlgorithm, Tags

if TYPE_CHECKING:
    from incrowd.search.lattice import Explorer, Node


class Flash(FullDomainAlgorithm):
    """Finds all minimal nodes by binary search along paths through the lattice, and takes the best.

    A minimal node is one that satisfies the models while every node below it fails. The search goes up level
    by level. From each node that has no verdict yet it builds a greedy path to the top, and searches the path
    by halves. Each verdict also settles nodes above and below. Nodes with little generalization come first.

    Notes
    -----
    Without suppression the best minimal node is the optimum. With suppression a node above may be better:
    `Optimal` finds it.

    References
    ----------
    Kohlmayer, Prasser, Eckert, Kemper and Kuhn, Flash: efficient, stable and optimal k-anonymity,
    PASSAT 2012.
    """

    name: ClassVar[str] = "flash"
    summary: ClassVar[str] = "finds all minimal nodes by binary search along paths, and takes the best"
    paper: ClassVar[str] = "Kohlmayer et al. 2012"
    most_nodes: ClassVar[int | None] = 2**22
    tags: ClassVar[bool] = True

    def choose(self, explorer: Explorer) -> tuple[Node | None, bool]:
        """Build paths from the bottom level up, and search each path by halves."""
        tags = Tags(explorer, self.name)
        lattice = explorer.lattice
        for height in range(lattice.height + 1):
            for start in sorted(lattice.at_height(height), key=self._order(explorer)):
                if tags.known(start):
                    continue
                waiting = [(self._order(explorer)(start), start)]
                while waiting:
                    _, levels = heapq.heappop(waiting)
                    if not tags.known(levels):
                        self._halve(explorer, tags, self._path(explorer, tags, levels), waiting)
            explorer.problem.progress.advance(int((tags.status != 0).sum()), lattice.size)
        return tags.best()

    def _order(self, explorer: Explorer) -> Callable[[tuple[int, ...]], tuple[float, ...]]:
        # Least relative generalization first, then the order of the levels.
        shape = explorer.lattice.shape

        def order(levels: tuple[int, ...]) -> tuple[float, ...]:
            share = math.fsum(level / max(count - 1, 1) for level, count in zip(levels, shape, strict=True))
            return (sum(levels), share, *levels)

        return order

    def _path(self, explorer: Explorer, tags: Tags, levels: tuple[int, ...]) -> list[tuple[int, ...]]:
        path = [levels]
        order = self._order(explorer)
        while True:
            further = [above for above in explorer.lattice.above(path[-1]) if not tags.known(above)]
            if not further:
                return path
            path.append(min(further, key=order))

    def _halve(
        self,
        explorer: Explorer,
        tags: Tags,
        path: list[tuple[int, ...]],
        waiting: list[tuple[tuple[float, ...], tuple[int, ...]]],
    ) -> None:
        order = self._order(explorer)
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            if tags.ask(path[middle]):
                high = middle - 1
            else:
                for above in explorer.lattice.above(path[middle]):
                    if not tags.known(above):
                        heapq.heappush(waiting, (order(above), above))
                low = middle + 1
