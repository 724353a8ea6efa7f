"""Remembering: the results about nodes, and groups that save work above."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.search.lattice.node import Node
    from incrowd.search.lattice.rollup import Groups

_REFUSED = 64
"""Nodes that are remembered because they join too few groups."""

_KEPT_BYTES = 256 * 2**20
"""What kept groups may take, all together."""


class Memory:
    """The results about the nodes that were looked at, and the groups of some of them.

    Parameters
    ----------
    whole
        Every key as a group of its own.
    attributes
        Number of quasi-identifiers.

    Attributes
    ----------
    nodes
        What is known, in the order in which the nodes were looked at.
    whole
        As given.
    rare, failing
        Where nothing may be suppressed: a key in the smallest class of nodes at which one is too small; and
        one in the largest class that fails other models, of nodes at which no class is.
    """

    def __init__(self, whole: Groups, attributes: int) -> None:
        self.nodes: dict[tuple[int, ...], Node] = {}
        self.whole = whole
        self.rare: dict[tuple[int, ...], int] = {}
        self.failing: dict[tuple[int, ...], int] = {}
        self._kept = [whole]
        self._refused = np.full((_REFUSED, attributes), -1, np.int64)
        self._refusals = 0
        self._bytes = 0
        self._levels = np.zeros((1024, attributes), np.int64)
        self._sizes = np.zeros(1024, np.int64)
        self._sizes[0] = len(whole.keys)

    def below(self, levels: tuple[int, ...]) -> Groups:
        """Return the fewest groups that were kept of a node below."""
        kept = len(self._kept)
        fits = (self._levels[:kept] <= np.array(levels)).all(axis=1)
        return self._kept[int(np.where(fits, self._sizes[:kept], np.iinfo(np.int64).max).argmin())]

    def wants(self, groups: Groups, below: Groups) -> bool:
        """Say whether a node's groups would save work above, given the groups that they were made from."""
        return self._bytes < _KEPT_BYTES and len(groups.keys) <= 0.8 * len(below.keys)

    def keep(self, levels: tuple[int, ...], groups: Groups) -> None:
        """Keep a node's groups for the nodes above, where there is room."""
        kept = len(self._kept)
        if self._bytes + groups.size > _KEPT_BYTES:
            return
        self._bytes += groups.size
        if kept == len(self._sizes):
            self._sizes = np.concatenate((self._sizes, np.zeros(kept, np.int64)))
            self._levels = np.vstack((self._levels, np.zeros_like(self._levels)))
        self._kept.append(groups)
        self._levels[kept] = levels
        self._sizes[kept] = len(groups.keys)

    def refuse(self, levels: Sequence[int] | NDArray[np.int64]) -> None:
        """Remember a node that joins too few groups to be worth keeping."""
        self._refused[self._refusals % _REFUSED] = levels
        self._refusals += 1

    def is_refused(self, levels: Sequence[int] | NDArray[np.int64]) -> bool:
        """Say whether a node lies below one that joins too few groups, and so joins even fewer."""
        return bool((self._refused >= np.array(levels)).all(axis=1).any())
