"""The homework's algorithms for records whose values may be inner nodes of their hierarchy.

The engine takes values from the ends of a hierarchy. Here a value is a node: what covers two values is the
lowest node above both or one of them, and a value climbs from where it stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from incrowd.core.errors import InfeasibleError, ParameterError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.kernels.grouping.grouping import group_columns
from incrowd.core.lazy import NDArray, np
from incrowd.search import BottomUp

__all__ = ["Column", "Records", "nodes_of"]

_BITS = 62


def nodes_of(tree: Hierarchy) -> dict[str, int]:
    """Return the node of each value: of nodes with the same label the leaf, or else the topmost."""
    nodes = {label: node for node, label in reversed(list(enumerate(tree.labels)))}
    return nodes | dict(zip(tree.values, tree.leaves.tolist(), strict=True))


class Column:
    """The nodes of a column's distinct values, and the value of each record."""

    def __init__(self, tree: Hierarchy, values: Sequence[str]) -> None:
        node_of = nodes_of(tree)
        self.tree = tree
        self.parents = np.maximum(tree.parents, 0)
        self.depths = np.asarray(tree.depths, np.int64)
        self.leaves = np.asarray(tree.hi - tree.lo, np.int64)
        self.most = max(tree.n_leaves - 1, 1)
        self.nodes, self.codes = np.unique([node_of[value] for value in values], return_inverse=True)

    def lowest(self, one: NDArray[np.integer], other: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the lowest nodes that cover both given nodes."""
        one, other = (np.array(nodes) for nodes in np.broadcast_arrays(one, other))
        while (apart := one != other).any():
            first = apart & (self.depths[one] >= self.depths[other])
            second = apart & (self.depths[other] >= self.depths[one])
            one[first], other[second] = self.parents[one[first]], self.parents[other[second]]
        return one

    def climbed(self, levels: int) -> NDArray[np.integer]:
        """Return the ancestors of the distinct values some levels up, at most the root."""
        nodes = self.nodes
        for _ in range(levels):
            nodes = self.parents[nodes]
        return nodes

    def shown(self, nodes: NDArray[np.integer]) -> list[str]:
        """Return the labels of nodes."""
        return [self.tree.labels[node] for node in nodes.tolist()]


class Records:
    """The records of a table, whose values are nodes of the columns' hierarchies."""

    def __init__(self, trees: dict[str, Hierarchy], columns: dict[str, list[str]], sensitive: str) -> None:
        self.columns = {name: Column(tree, columns[name]) for name, tree in trees.items()}
        self.count = len(columns[sensitive])
        _, self.secrets = np.unique(columns[sensitive], return_inverse=True)
        climbed = 2 * sum(tree.height for tree in trees.values())
        weights = [column.most * len(self.columns) for column in self.columns.values()]
        # Distances are whole multiples of this unit, so that ties are ties.
        self.unit = math.lcm(*weights, climbed or 1)
        self.level = self.unit // climbed if climbed else 0
        self.kind = np.int64 if self.unit * 4 * max(self.count, 1) < 1 << _BITS else np.object_

    def at_random(self, k: int, seed: int) -> dict[str, list[str]]:
        """Split a random order into classes of k; see `incrowd.search.Random`."""
        self._check(k)
        order = np.arange(self.count)
        np.random.RandomState(seed % 2**32).shuffle(order)
        class_of_row = np.empty(self.count, np.int64)
        class_of_row[order] = np.minimum(np.arange(self.count) // k, self.count // k - 1)
        return self._generalize(class_of_row)

    def clustered(self, k: int) -> dict[str, list[str]]:
        """Gather k - 1 records around centroids; see `incrowd.search.Clustering`."""
        self._check(k)
        class_of_row = np.full(self.count, -1)
        total: NDArray[Any] = np.zeros(self.count, self.kind)
        centroids: list[int] = []
        here = 0
        while (rest := np.flatnonzero(class_of_row < 0)).size >= k:
            distance = self._distances(here)
            others = rest[rest != here]
            near = others[np.argsort(distance[others], kind="stable")[: k - 1]]
            class_of_row[[here, *near.tolist()]] = len(centroids)
            total = total + distance
            centroids.append(here)
            rest = np.flatnonzero(class_of_row < 0)
            here = int(rest[np.argmax(total[rest])]) if rest.size else here
        for row in rest.tolist():
            class_of_row[row] = np.argmin(self._distances(row)[centroids])
        return self._generalize(class_of_row)

    def bottom_up(self, k: int, least: int) -> dict[str, list[str]]:
        """Return the cells of the suitable lattice node of lowest level, and at equal levels of least LM."""
        columns = list(self.columns.values())
        heights = [column.tree.height for column in columns]
        size = math.prod(height + 1 for height in heights)
        if BottomUp.most_nodes is not None and size > BottomUp.most_nodes:
            raise ParameterError(
                f"bottom-up: the columns have {size:,} combinations of levels, and it looks at "
                f"{BottomUp.most_nodes:,} at most; name fewer columns"
            )
        lost = [
            [self._loss(column, column.climbed(level)) for level in range(height + 1)]
            for column, height in zip(columns, heights, strict=True)
        ]
        nodes_by_level = [
            (sum(node), sum(lost[j][level] for j, level in enumerate(node)), node)
            for node in product(*(range(height + 1) for height in heights))
        ]
        for _, _, node in sorted(nodes_by_level):
            cells = [column.climbed(level) for column, level in zip(columns, node, strict=True)]
            if self._suits(cells, k, least):
                return {
                    name: column.shown(nodes[column.codes])
                    for (name, column), nodes in zip(self.columns.items(), cells, strict=True)
                }
        raise InfeasibleError(
            f"bottom-up: no node of the lattice is {k}-anonymous with {least} sensitive values in each "
            "class; lower k or l"
        )

    def _check(self, k: int) -> None:
        if k > self.count:
            raise InfeasibleError(f"k is {k:,}, and the table has {self.count:,} records; lower k")

    def _loss(self, column: Column, nodes: NDArray[np.integer]) -> Fraction:
        return Fraction(int((column.leaves[nodes] - 1)[column.codes].sum()), column.most)

    def _suits(self, cells: Sequence[NDArray[np.integer]], k: int, least: int) -> bool:
        """Return whether every class of equal cells has k records and enough sensitive values."""
        texts = [
            np.unique(column.shown(nodes), return_inverse=True)[1][column.codes]
            for column, nodes in zip(self.columns.values(), cells, strict=True)
        ]
        sizes = [int(codes.max()) + 1 for codes in texts]
        class_of_row, first = group_columns(texts, sizes, self.count)
        if np.bincount(class_of_row).min() < k:
            return False
        width = int(self.secrets.max()) + 1
        pairs = np.unique(class_of_row.astype(np.int64) * width + self.secrets)
        return bool(np.bincount(pairs // width, minlength=len(first)).min() >= least)

    def _distances(self, row: int) -> NDArray[Any]:
        """Return the cost of a common class of each record with this record: LM and MD, in units."""
        total: NDArray[Any] = np.zeros(self.count, self.kind)
        for column in self.columns.values():
            center = column.nodes[column.codes[row]]
            node = column.lowest(center, column.nodes)
            climbed = column.depths[center] + column.depths[column.nodes] - 2 * column.depths[node]
            scale = self.unit // (column.most * len(self.columns))
            cost = (column.leaves[node] - 1).astype(self.kind) * scale
            cost = cost + climbed.astype(self.kind) * self.level
            total = total + cost[column.codes]
        return total

    def _generalize(self, class_of_row: NDArray[np.integer]) -> dict[str, list[str]]:
        """Give every class the lowest nodes that cover all records of the class."""
        order = np.argsort(class_of_row, kind="stable")
        out = {}
        for name, column in self.columns.items():
            of_class: dict[int, int] = {}
            for row in order.tolist():
                number, node = int(class_of_row[row]), column.nodes[column.codes[row]]
                before = of_class.get(number, node)
                of_class[number] = int(column.lowest(np.asarray(before), np.asarray(node)))
            out[name] = column.shown(np.array([of_class[number] for number in class_of_row.tolist()]))
        return out
