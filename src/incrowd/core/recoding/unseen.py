"""Values that a recoding has not seen, grouped by the recipes of the hierarchies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from incrowd.core.errors import HierarchyError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding.base import Recoding
from incrowd.core.recoding.cells import Cells
from incrowd.core.table.domain import MISSING, Domain

R = TypeVar("R", bound=Recoding)


def with_unseen(recoding: R, domains: Sequence[Domain]) -> tuple[R, list[NDArray[np.bool_]]]:
    """Return the recoding with the values of new rows in hierarchies made by recipes.

    Example: the widths 5 and 10 put the age 23 into ``[20-24]``, whether or not an earlier row had this age.
    Every earlier value keeps its groups. A new value of another hierarchy stays unknown.

    Parameters
    ----------
    recoding
    domains
        The values of the new rows, per quasi-identifier.

    Returns
    -------
    recoding
        No key has one of the values that were added.
    added
        bool[size] per quasi-identifier: which ranks were added.
    """
    wide, keys, cells, added = [], [], [], []
    columns = zip(recoding.domains, recoding.keys, recoding.cells, domains, strict=True)
    for domain, codes, column, new in columns:
        texts = [text for text in new.values if text is not None]
        tree = None if domain.hierarchy is None else _wider(domain, texts)
        grown = None if tree is None else _Grown(domain, tree)
        ranks = np.arange(domain.size) if grown is None else grown.ranks
        wide.append(domain if grown is None else grown.domain)
        keys.append(codes if grown is None else ranks[codes])
        cells.append(column if grown is None else grown.cells(column))
        added.append(np.isin(np.arange(wide[-1].size), ranks, invert=True))
    return replace(recoding, domains=tuple(wide), keys=tuple(keys), cells=tuple(cells)), added


def _wider(domain: Domain, texts: Iterable[str]) -> Hierarchy | None:
    """Return the domain's hierarchy with the texts that the recipe accepts, or None without any."""
    if domain.recipe is None:
        return None
    present = set(domain.texts)
    fresh = domain.recipe.taken(domain.texts, [text for text in texts if text not in present])
    if not fresh:
        return None
    try:
        tree = domain.recipe.build([*domain.texts, *fresh], domain.name)
    except HierarchyError:
        # A new text is that of a group.
        return None
    return tree if domain.missing < 0 else tree.with_leaf(MISSING)


class _Grown:
    """A domain whose hierarchy has more leaves than before.

    Attributes
    ----------
    domain
        The domain with all leaves.
    ranks
        int64[size]: the new rank of each earlier one.
    """

    def __init__(self, domain: Domain, tree: Hierarchy) -> None:
        old = domain.tree
        texts = (MISSING if text is None else text for text in domain.values)
        self.ranks = np.array([tree.ranks[text] for text in texts], np.int64)
        self._old, self._tree, self._node = old, tree, _images(old, tree, self.ranks)
        values = tree.values if domain.missing < 0 else tree.values[:-1]
        numbers = np.full(tree.n_leaves, np.nan)
        numbers[self.ranks] = domain.numbers
        missing = -1 if domain.missing < 0 else tree.n_leaves - 1
        self.domain = replace(domain, texts=values, hierarchy=tree, numbers=numbers, missing=missing)

    def cells(self, cells: Cells) -> Cells:
        """Return the cells with new ranks, where a cell of a group covers the new members, too."""
        lo, hi = self.ranks[cells.lo], self.ranks[cells.hi]
        old, tree = self._old, self._tree
        nodes = old.leaves[cells.lo]
        while (lower := old.depths[nodes] > cells.depth).any():
            nodes = np.where(lower, old.parents[nodes], nodes)
        shows_group = (old.lo[nodes] == cells.lo) & (old.hi[nodes] == cells.hi + 1)
        shows_group &= np.array([old.labels[node] for node in nodes.tolist()]) == np.array(
            [label or "" for label in cells.labels]
        )
        images = self._node[nodes]
        lo, hi = np.where(shows_group, tree.lo[images], lo), np.where(shows_group, tree.hi[images] - 1, hi)
        return replace(cells, lo=lo.astype(np.int32), hi=hi.astype(np.int32))


def _images(old: Hierarchy, tree: Hierarchy, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the node of a wider tree for each node of the old tree: int64[nodes].

    Raises
    ------
    HierarchyError
        When an earlier value would get other groups than it had.
    """
    images = np.full(old.n_nodes, -1, np.int64)
    images[old.leaves] = tree.leaves[places]
    for height in range(old.height):
        nodes = np.flatnonzero(old.heights == height)
        nodes = nodes[nodes > 0]
        images[old.parents[nodes]] = tree.parents[images[nodes]]
    same = (tree.parents[images[1:]] == images[old.parents[1:]]).all()
    if not same or [tree.labels[image] for image in images.tolist()] != list(old.labels):
        raise HierarchyError("the recipe of a hierarchy gives other groups than when the recoding was made")
    return images
