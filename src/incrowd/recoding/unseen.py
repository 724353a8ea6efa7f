"""Values that a recoding has not seen, under the groups where the recipe of their hierarchy puts them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from incrowd.errors import HierarchyError
from incrowd.hierarchy import Hierarchy
from incrowd.lazy import NDArray, np
from incrowd.recoding.base import Recoding
from incrowd.recoding.cells import Cells
from incrowd.table.domain import MISSING, Domain

R = TypeVar("R", bound=Recoding)


def with_unseen(recoding: R, domains: Sequence[Domain]) -> tuple[R, list[NDArray[np.bool_]]]:
    """Return the recoding with the values of new rows in its hierarchies, where recipes made these.

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
    for domain, codes, column, new in zip(
        recoding.domains, recoding.keys, recoding.cells, domains, strict=True
    ):
        texts = [text for text in new.values if text is not None]
        tree = None if domain.hierarchy is None else _wider(domain, texts)
        if tree is None:
            wide.append(domain)
            keys.append(codes)
            cells.append(column)
            added.append(np.zeros(domain.size, np.bool_))
            continue
        grown = _Grown(domain, tree)
        wide.append(grown.domain)
        keys.append(grown.places[codes])
        cells.append(grown.cells(column))
        added.append(np.isin(np.arange(grown.domain.size), grown.places, invert=True))
    made = replace(recoding, domains=tuple(wide), keys=tuple(keys), cells=tuple(cells))
    return made, added


def _wider(domain: Domain, texts: Iterable[str]) -> Hierarchy | None:
    """Return the domain's hierarchy with the texts that its recipe takes; None where it takes none."""
    if domain.recipe is None:
        return None
    known = set(domain.texts)
    fresh = domain.recipe.taken(domain.texts, [text for text in texts if text not in known])
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
    places
        int64[size]: the new rank of each earlier one.
    """

    def __init__(self, domain: Domain, tree: Hierarchy) -> None:
        old = domain.tree
        ranks = tree.ranks
        self.places = np.array([ranks[MISSING if text is None else text] for text in domain.values], np.int64)
        self._old, self._tree, self._node = old, tree, _images(old, tree, self.places)
        texts = tree.values if domain.missing < 0 else tree.values[:-1]
        numbers = np.full(tree.n_leaves, np.nan)
        numbers[self.places] = domain.numbers
        missing = -1 if domain.missing < 0 else tree.n_leaves - 1
        self.domain = replace(domain, texts=texts, hierarchy=tree, numbers=numbers, missing=missing)

    def cells(self, cells: Cells) -> Cells:
        """Return the cells with their new ranks; a cell that shows a group stands for all of it."""
        lo, hi = self.places[cells.lo], self.places[cells.hi]
        old, tree = self._old, self._tree
        nodes = old.leaves[cells.lo]
        while (lower := old.depths[nodes] > cells.depth).any():
            nodes = np.where(lower, old.parents[nodes], nodes)
        whole = (old.lo[nodes] == cells.lo) & (old.hi[nodes] == cells.hi + 1)
        whole &= np.array([old.labels[node] for node in nodes.tolist()]) == np.array(
            [label or "" for label in cells.labels]
        )
        images = self._node[nodes]
        lo, hi = np.where(whole, tree.lo[images], lo), np.where(whole, tree.hi[images] - 1, hi)
        return replace(cells, lo=lo.astype(np.int32), hi=hi.astype(np.int32))


def _images(old: Hierarchy, tree: Hierarchy, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the node of a wider tree that is each of the old ones: int64[nodes].

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
