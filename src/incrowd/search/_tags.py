"""Verdicts on the nodes of a lattice, spread to the nodes above and below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.search.lattice import Explorer, Node


class Tags:
    """Tags of nodes, where all nodes above an anonymous node are anonymous, and below a failing node fail.

    Parameters
    ----------
    explorer
        What looks at nodes.
    name
        The algorithm, for errors.

    Attributes
    ----------
    status
        int8 over the lattice's grid: 1 anonymous, -1 not, 0 not known.

    Raises
    ------
    ParameterError
        When the models do not allow tagging.
    """

    def __init__(self, explorer: Explorer, name: str) -> None:
        if not explorer.settles:
            raise ParameterError(
                f"{name} needs models under which generalizing never hurts (with suppression: under which a "
                "class that holds absorbs any other); use optimal for these"
            )
        self.explorer = explorer
        self.lattice = explorer.lattice
        self.status: NDArray[np.int8] = np.zeros(self.lattice.grid, np.int8)

    def known(self, levels: tuple[int, ...]) -> int:
        """Return the status of a node."""
        return self.status[self.lattice.between(levels, levels)].item()

    def ask(self, levels: tuple[int, ...]) -> bool:
        """Say whether a node is anonymous, and look at the node if unknown."""
        if not self.known(levels):
            self.mark(self.explorer.look(levels)[0])
        return self.known(levels) > 0

    def mark(self, node: Node) -> None:
        """Tag a node and all nodes above or below."""
        lattice = self.lattice
        if node.anonymous:
            above = self.status[lattice.between(node.levels, lattice.top)]
            above[above == 0] = 1
        elif node.fails_below:
            self.status[lattice.between(lattice.bottom, node.levels)] = -1
        self.status[lattice.between(node.levels, node.levels)] = 1 if node.anonymous else -1

    def minimal(self) -> list[tuple[int, ...]]:
        """Return the anonymous nodes without an anonymous node below, in the order of the levels."""
        good = self.status > 0
        lowest = good.copy()
        for axis in range(good.ndim):
            below = np.moveaxis(good, axis, 0)
            np.moveaxis(lowest, axis, 0)[1:] &= ~below[:-1]
        nodes = np.repeat(self.lattice.lows[None, :], int(lowest.sum()), axis=0)
        nodes[:, self.lattice.free] += np.argwhere(lowest)
        return [tuple(levels) for levels in nodes.tolist()]

    def best(self) -> tuple[Node | None, bool]:
        """Choose the minimal node of least score, proved best where nothing is suppressed."""
        from incrowd.search.lattice import least

        nodes = [node for node in self.explorer.look(*self.minimal()) if node.anonymous]
        best = least(nodes)
        return best, best is None or not self.explorer.limits.suppresses
