"""Cells of sets: read into items of a tree, and written as texts or lists in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from incrowd.core.errors import ParameterError, SchemaError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.missing import null_values_of
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.table.attribute import Attribute
from incrowd.core.table.domain import Dictionary, Domain

if TYPE_CHECKING:
    from typing import Self

_MOST_NODES = 6_000
"""Items and groups of items that are searched: their pairs take a table of numbers."""
_EMPTY = '""'
"""The empty text in a list, as it is read."""


@dataclass(frozen=True, eq=False)
class Items:
    """The tree of the items of a column, without items and groups that no cell has.

    Attributes
    ----------
    labels
        The text of each node, the root first.
    parents
        int64[nodes]: the node above each, -1 for the root.
    share
        float64[nodes]: leaves of the whole hierarchy below a node over all leaves, 0 for a single leaf.
    """

    labels: Sequence[str]
    parents: NDArray[np.int64]
    share: NDArray[np.float64]

    def ways_up(self) -> NDArray[np.int64]:
        """Return the nodes from each node up to below the root: int64[nodes, height], -1 behind the last."""
        ways = [np.arange(len(self.parents))]
        while (ways[-1] > 0).any():
            ways.append(np.where(ways[-1] > 0, self.parents[ways[-1]], -1))
        ways[0] = np.where(ways[0] == 0, -1, ways[0])
        return np.stack([np.where(way == 0, -1, way) for way in ways], axis=1)


@dataclass(frozen=True, eq=False)
class Baskets:
    """The items of each row.

    Attributes
    ----------
    items
        The tree of the items.
    rows
        Number of rows.
    row, node
        int64[...] each: a row, and a node of the tree; ascending by row, then by node, and none twice.
    """

    items: Items
    rows: int
    row: NDArray[np.int64]
    node: NDArray[np.int64]

    @classmethod
    def of_cells(cls, series: pl.Series, attribute: Attribute, nulls: tuple[str, ...]) -> Self:
        """Read the cells of a column.

        Parameters
        ----------
        series
            Texts; lists are read as such.
        nulls
            Cells and items that mean missing.

        Raises
        ------
        SchemaError
            When no cell has an item, or an item is ``*``.
        HierarchyError
            When an item is no leaf of the hierarchy.
        """
        frame = listed(series, attribute, nulls)
        texts = frame["item"].unique().sort()
        where = f"column {attribute.name!r}"
        if texts.is_empty():
            raise SchemaError(f"{where}: no cell has an item; leave the column out")
        if (texts == SUPPRESSED).any():
            raise SchemaError(f"{where}: an item is '*', which marks a suppressed cell; take such items out")
        plain = Attribute(attribute.name, "quasi", kind="category", hierarchy=attribute.hierarchy)
        domain, ranks = Domain.build(plain, Dictionary(texts.to_list(), kind="category", in_order=True))
        tree = domain.hierarchy or Hierarchy([SUPPRESSED, *texts], [-1] + [0] * len(texts))
        if domain.hierarchy is None:
            ranks = np.arange(len(texts))
        items, number = _occurring(tree, tree.leaves[ranks[: len(texts)]].astype(np.int64))
        return cls.of_entries(items, len(series), frame, texts, number)

    @classmethod
    def of_entries(
        cls, items: Items, rows: int, entries: pl.DataFrame, texts: pl.Series, number: NDArray[np.int64]
    ) -> Self:
        """Return the baskets of entries as `listed` gives them, by the node of each text: int64[texts]."""
        node = entries["item"].replace_strict(texts, number, return_dtype=pl.Int64).to_numpy()
        row = entries["row"].cast(pl.Int64).to_numpy()
        order = np.lexsort((node, row))
        return cls(items, rows, row[order], node[order])

    def at(self, cut: NDArray[np.int64]) -> Self:
        """Return the baskets with each node replaced by the one that a cut has for it: int64[nodes]."""
        both = distinct(self.row * len(cut) + cut[self.node])
        return replace(self, row=both // len(cut), node=both % len(cut))

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Return the baskets with some of the entries."""
        return replace(self, row=self.row[kept], node=self.node[kept])

    def cells(self, suppressed: NDArray[np.bool_], separator: str | None) -> pl.Series:
        """Write the set of each row: items in order, ``*`` in a suppressed row, missing for the empty set.

        Parameters
        ----------
        suppressed
            bool[rows]
        separator
            The text between items; None for lists.
        """
        labels = pl.Series(self.items.labels, dtype=pl.String)
        frame = pl.DataFrame({"row": self.row, "item": labels.gather(self.node)})
        frame = frame.filter(~suppressed[self.row])
        stars = pl.DataFrame({"row": np.flatnonzero(suppressed)}).with_columns(item=pl.lit(SUPPRESSED))
        frame = pl.concat([frame, stars]).sort("row", "item")
        sets = frame.group_by("row", maintain_order=True).agg("item")
        every = pl.DataFrame({"row": np.arange(self.rows)})
        cells = every.join(sets, on="row", how="left", maintain_order="left")["item"]
        return cells if separator is None else cells.list.join(separator)


def distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct numbers, ascending: faster than `numpy.unique`, as most are in order."""
    ordered = np.sort(numbers)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) != 0])


def joined(each: Sequence[Baskets]) -> Baskets:
    """Join the baskets of several columns: all trees stand below one root, one after the other.

    Raises
    ------
    ParameterError
        When there are more items than are searched.
    """
    trees = [baskets.items for baskets in each]
    labels = [SUPPRESSED, *(label for tree in trees for label in tree.labels[1:])]
    if len(labels) > _MOST_NODES:
        raise ParameterError(
            f"columns of sets have {len(labels):,} items and groups of items, and {_MOST_NODES:,} are "
            "searched; shorten the codes, or leave rare ones out"
        )
    starts = _starts(each)
    parents = [
        np.where(tree.parents[1:] > 0, tree.parents[1:] + start, 0)
        for tree, start in zip(trees, starts, strict=True)
    ]
    share = np.concatenate([np.zeros(1), *(tree.share[1:] for tree in trees)])
    row = np.concatenate([baskets.row for baskets in each])
    node = np.concatenate([baskets.node + start for baskets, start in zip(each, starts, strict=True)])
    order = np.lexsort((node, row))
    items = Items(labels, np.concatenate([[-1], *parents]), share)
    return Baskets(items, each[0].rows, row[order], node[order])


def parted(baskets: Baskets, each: Sequence[Baskets]) -> list[tuple[Baskets, NDArray[np.bool_]]]:
    """Return the baskets of each column of joined ones, and say which of the entries are of the column."""
    columns = []
    for own, start in zip(each, _starts(each), strict=True):
        here = (baskets.node > start) & (baskets.node < start + len(own.items.labels))
        part = replace(own, row=baskets.row[here], node=baskets.node[here] - start)
        columns.append((part, here))
    return columns


def _starts(each: Sequence[Baskets]) -> list[int]:
    """Return the number that is added to the nodes of each column where trees are joined."""
    return [0, *accumulate(len(baskets.items.labels) - 1 for baskets in each)][:-1]


def separator_of(attribute: Attribute) -> str:
    """Return the text between the items of a cell: a list is a text with semicolons everywhere."""
    return attribute.parts or ";"


def listed(series: pl.Series, attribute: Attribute, nulls: tuple[str, ...] = ()) -> pl.DataFrame:
    """Return a row for each item of a cell, none twice: the number of the row, and the item as a text."""
    lists = null_values_of(nulls).without(series.cast(pl.String)).str.split(separator_of(attribute))
    frame = pl.DataFrame({"row": pl.int_range(len(lists), eager=True), "item": lists}).explode("item")
    frame = frame.with_columns(pl.col("item").str.strip_chars())
    return frame.filter(pl.col("item").is_not_null() & ~pl.col("item").is_in(["", _EMPTY, *nulls])).unique()


def _occurring(tree: Hierarchy, leaves: NDArray[np.int64]) -> tuple[Items, NDArray[np.int64]]:
    """Return the part of a tree above some leaves, and the number of each of these leaves in it."""
    occurs = np.zeros(tree.n_nodes, np.bool_)
    occurs[0], at = True, leaves
    while len(at):
        occurs[at] = True
        at = np.unique(tree.parents[at])
        at = at[at > 0]
    nodes, number = np.flatnonzero(occurs), np.cumsum(occurs) - 1
    below = (tree.hi - tree.lo)[nodes]
    share = np.where(below > 1, below / tree.n_leaves, 0.0)
    parents = np.append(-1, number[tree.parents[nodes[1:]]]).astype(np.int64)
    return Items([tree.labels[node] for node in nodes.tolist()], parents, share), number[leaves]
