"""A tree of values with the leaves in depth-first order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from incrowd.core.errors import HierarchyError
from incrowd.core.io.addresses import file_path
from incrowd.core.kernels.trees import shape_of
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.core.hierarchy.builders import Bands, Dates, Flat, Intervals, Order, Prefix


class TreeBuilder:
    """A builder that collects nodes, checks that the nodes form a tree, and makes the `Hierarchy`.

    Parameters
    ----------
    source
        What the nodes come from, for errors: a file's name, or a few words.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.children: list[list[int]] = []
        self._topmost: dict[str, int] = {}

    def fail(self, problem: str, line: int | None) -> HierarchyError:
        """Return an error with the source and the line."""
        return HierarchyError(f"{self.source}{'' if line is None else f', line {line}'}: {problem}")

    def add(self, label: str, parent: int, line: int | None = None) -> int:
        """Add a node under a parent (-1 for the root) and return the number of the node.

        Raises
        ------
        HierarchyError
            When the label is empty or names another node; only a node right above may have the same.
        """
        if not label:
            # The last label of a line is that of the root, which is added first.
            ending = "" if parent >= 0 else ", and write no sign at the end of a line"
            raise self.fail(f"a label is empty; name every node{ending}", line)
        if parent < 0 and self.labels:
            header = "; if line 1 is a header, delete it" if line == 2 else ""
            raise self.fail(
                f"{label!r} is a second root beside {self.labels[0]!r}; give both one parent{header}", line
            )
        same = self._topmost.get(label)
        if same is not None:
            if parent >= 0 and self.labels[parent] == label:
                if any(self.labels[child] == label for child in self.children[parent]):
                    raise self.fail(f"{label!r} stands twice under its parent; remove one", line)
            elif self._is_above(same, parent):
                raise self.fail(f"{label!r} is its own ancestor, which is a cycle; rename one of them", line)
            elif self.parents[same] == parent:
                raise self.fail(f"{label!r} stands twice under its parent; remove one", line)
            else:
                above = self.parents[same]
                first = "none (it is the root)" if above < 0 else repr(self.labels[above])
                raise self.fail(
                    f"{label!r} has two parents, {first} and {self.labels[parent]!r}; a label names one node",
                    line,
                )
        node = len(self.labels)
        self.labels.append(label)
        self.parents.append(parent)
        self.children.append([])
        if parent >= 0:
            self.children[parent].append(node)
        self._topmost.setdefault(label, node)
        return node

    def add_nested(self, below: object, parent: int) -> None:
        """Add the nodes of nested mappings and lists below a node; see `Hierarchy.from_nested`.

        Raises
        ------
        HierarchyError
        """
        if isinstance(below, Mapping):
            for label, further in below.items():
                self.add_nested(further, self.add(self._text_of_label(label), parent))
        elif isinstance(below, Sequence) and not isinstance(below, str):
            for item in below:
                if isinstance(item, Mapping):
                    self.add_nested(item, parent)
                elif isinstance(item, list | tuple):
                    raise self.fail("a list right inside a list has no label", None)
                else:
                    self.add(self._text_of_label(item), parent)
        elif below is not None:
            self.add(self._text_of_label(below), parent)

    def _text_of_label(self, label: object) -> str:
        # True or None would turn into labels that nobody wrote.
        if label is None or isinstance(label, bool):
            raise self.fail(f"a label must be a text, got {label!r}; put it in quotes", None)
        return str(label)

    def _is_above(self, node: int, below: int) -> bool:
        while below >= 0 and below != node:
            below = self.parents[below]
        return below == node

    def finish(self) -> Hierarchy:
        """Put the nodes in depth-first order.

        Raises
        ------
        HierarchyError
            When there is nothing below the root.
        """
        if len(self.labels) < 2:
            raise self.fail("the hierarchy has no values below its root", None)
        order: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(reversed(self.children[node]))
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        parents = [-1 if self.parents[node] < 0 else int(position[self.parents[node]]) for node in order]
        return Hierarchy([self.labels[node] for node in order], parents)


class Hierarchy:
    """A value generalization hierarchy.

    Leaves are ranked in depth-first order, so every node covers an interval of leaf ranks, and the
    lowest common ancestor of a set of values depends on its smallest and largest rank alone. The tree may
    be unbalanced: generalizing n levels climbs n steps and stops at the root.

    A label names one node; only a node and its parent may share one (as in rows ``White;White;*``).

    Parameters
    ----------
    labels
        Label of each node in depth-first order, the root first.
    parents
        Parent of each node, -1 for the root.

    Attributes
    ----------
    labels, parents
        tuple[str] and int32[nodes], as above.
    lo, hi
        int32[nodes]: a node covers the leaf ranks ``lo .. hi - 1``.
    depths
        int32[nodes]: steps below the root.
    heights
        int32[nodes]: steps to the deepest leaf below.
    leaves
        int32[leaves]: node of each leaf rank.
    height
        Largest depth; there are height + 1 levels.

    Raises
    ------
    HierarchyError
        When the nodes are not in depth-first order, or a label is empty or names two nodes; the message
        numbers the node and does not repeat its label.
    """

    def __init__(self, labels: Iterable[str], parents: Sequence[int] | NDArray[np.integer]) -> None:
        self.labels: tuple[str, ...] = tuple(labels)
        self.parents: NDArray[np.int32] = np.asarray(parents, np.int32)
        nodes = len(self.labels)
        if nodes != len(self.parents) or not nodes or self.parents[0] != -1:
            raise HierarchyError("the first of the nodes must be the root, with parent -1")
        if (self.parents[1:] < 0).any() or (self.parents >= np.arange(nodes)).any():
            raise HierarchyError("every node but the root needs a parent that comes before it")
        is_leaf = np.ones(nodes, np.bool_)
        is_leaf[self.parents[1:]] = False
        self.depths: NDArray[np.int32]
        self.heights: NDArray[np.int32]
        self.hi: NDArray[np.int32]
        self.depths, self.heights, self.hi, wrong = shape_of(self.parents, is_leaf)
        if wrong >= 0:
            raise HierarchyError(f"node {wrong} is not in depth-first order; put it below its parent")
        if "" in self.labels:
            raise HierarchyError(f"the label of node {self.labels.index('')} is empty; name every node")
        if len(set(self.labels)) < nodes:
            above: list[int] = self.parents.tolist()
            last: dict[str, int] = {}
            for node, label in enumerate(self.labels):
                if last.get(label, above[node]) != above[node]:
                    raise HierarchyError(f"node {node} has the label of node {last[label]}; rename one")
                last[label] = node
        self.leaves: NDArray[np.int32] = np.flatnonzero(is_leaf).astype(np.int32)
        before: NDArray[np.int64] = np.cumsum(is_leaf) - is_leaf
        self.lo: NDArray[np.int32] = before.astype(np.int32)
        self.height: int = int(self.heights[0])
        self._climbed: dict[int, NDArray[np.int32]] = {}

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaves)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.labels)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The leaf labels by rank."""
        return tuple(self.labels[node] for node in self.leaves)

    @cached_property
    def ranks(self) -> dict[str, int]:
        """The rank of each leaf label."""
        return {value: rank for rank, value in enumerate(self.values)}

    @cached_property
    def _topmost(self) -> dict[str, int]:
        return {self.labels[node]: node for node in range(self.n_nodes - 1, -1, -1)}

    def __repr__(self) -> str:
        return f"Hierarchy({self.n_leaves} leaves, height {self.height})"

    def _repr_html_(self) -> str:
        import html

        # Leaves are values of somebody's table; `draw` shows them to whoever asks.
        return f"<p>{html.escape(repr(self))}: draw() shows its labels</p>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.labels == other.labels and bool(np.array_equal(self.parents, other.parents))

    def __hash__(self) -> int:
        return hash(self.labels)

    def rank(self, value: str) -> int:
        """Return the rank of a leaf.

        Raises
        ------
        HierarchyError
            When no leaf has this label; the message does not repeat it.
        """
        try:
            return self.ranks[value]
        except KeyError:
            raise HierarchyError(f"a value is none of the hierarchy's {self.n_leaves} leaves") from None

    def find(self, label: str) -> int:
        """Return the node with a label, the upper node if a node and the parent share the label.

        Raises
        ------
        HierarchyError
            When there is none; the message does not repeat the label.
        """
        try:
            return self._topmost[label]
        except KeyError:
            raise HierarchyError(f"a label is none of the hierarchy's {self.n_nodes} nodes") from None

    def lca(self, lo: int, hi: int) -> int:
        """Return the lowest common ancestor of the leaf ranks ``lo .. hi``, ends included.

        Raises
        ------
        HierarchyError
            Unless 0 <= lo <= hi < n_leaves.
        """
        if not 0 <= lo <= hi < self.n_leaves:
            raise HierarchyError(f"leaf ranks must be 0 <= lo <= hi < {self.n_leaves}, got {lo} and {hi}")
        node = int(self.leaves[lo])
        while self.hi[node] <= hi:
            node = int(self.parents[node])
        return node

    def climb(self, levels: int) -> NDArray[np.int32]:
        """Return the node of each leaf rank after climbing `levels` steps, stopping at the root."""
        levels = min(levels, self.height)
        if levels < 1:
            return self.leaves
        cached = levels
        while cached and cached not in self._climbed:
            cached -= 1
        for level in range(cached + 1, levels + 1):
            nodes = self.leaves if level == 1 else self._climbed[level - 1]
            above = self.parents[nodes]
            self._climbed[level] = np.where(above < 0, nodes, above).astype(np.int32)
        return self._climbed[levels]

    def leaves_at(self, levels: int) -> NDArray[np.int32]:
        """Return how many leaves each leaf rank's node has after climbing `levels` steps."""
        nodes = self.climb(levels)
        return self.hi[nodes] - self.lo[nodes]

    def path(self, rank: int) -> tuple[str, ...]:
        """Return the labels from a leaf to the root."""
        labels = []
        node = int(self.leaves[rank])
        while node >= 0:
            labels.append(self.labels[node])
            node = int(self.parents[node])
        return tuple(labels)

    def with_leaf(self, label: str) -> Hierarchy:
        """Return the tree with a further leaf right under the root, which gets the last rank."""
        if label in self._topmost:
            raise HierarchyError("the hierarchy has a node of that name already")
        return Hierarchy([*self.labels, label], [*self.parents.tolist(), 0])

    def restricted(self, values: Iterable[str]) -> Hierarchy:
        """Return the tree of some values alone, with every node at the same height as before.

        The hierarchical distance looks at heights. If the deepest leaf below a node is left out, nodes called
        ``(not released 1)``, ... stand for the way to it.

        Raises
        ------
        HierarchyError
            When a value is no leaf, or there is none.
        """
        nodes = set()
        for value in values:
            node = int(self.leaves[self.rank(value)])
            while node >= 0 and node not in nodes:
                nodes.add(node)
                node = int(self.parents[node])
        builder = TreeBuilder("hierarchy")
        new_number: dict[int, int] = {}
        # Depth first, parents come before their children: from the end, what is below is settled.
        deepest = dict.fromkeys(nodes, 0)
        spares: dict[int, int] = {}
        for node in sorted(nodes, reverse=True):
            if deepest[node] < self.heights[node]:
                spares[node] = int(self.heights[node])
            parent = int(self.parents[node])
            if parent >= 0:
                deepest[parent] = max(deepest[parent], int(self.heights[node]) + 1)
        names = (name for number in count(1) if (name := f"(not released {number})") not in self._topmost)
        for node in sorted(nodes):
            parent = int(self.parents[node])
            new_number[node] = builder.add(self.labels[node], new_number[parent] if parent >= 0 else -1)
        for node, steps in spares.items():
            above = new_number[node]
            for _ in range(steps):
                above = builder.add(next(names), above)
        return builder.finish()

    def draw(self, max_lines: int | None = None) -> str:
        """Draw the tree with a node per line, and the number of leaves of inner nodes.

        Parameters
        ----------
        max_lines
            Draw at most so many nodes and say how many are left out.
        """
        inner = self.heights > 0
        lines = [f"{self.labels[0]}  ({self.n_leaves})"]
        # The way down to the last child decides which bars go on.
        last_child = np.zeros(self.n_nodes, np.int64)
        last_child[self.parents[1:]] = np.arange(1, self.n_nodes)
        prefixes = [""] * self.n_nodes
        for node in range(1, self.n_nodes):
            if max_lines is not None and len(lines) >= max_lines:
                lines.append(f"... {self.n_nodes - node} more nodes")
                break
            parent = int(self.parents[node])
            is_last = int(last_child[parent]) == node
            prefixes[node] = prefixes[parent] + ("    " if is_last else "│   ")
            count = f"  ({self.hi[node] - self.lo[node]})" if inner[node] else ""
            lines.append(f"{prefixes[parent]}{'└── ' if is_last else '├── '}{self.labels[node]}{count}")
        return "\n".join(lines)

    @classmethod
    def from_paths(
        cls,
        paths: Iterable[Sequence[str]],
        source: str = "hierarchy",
        lines: Iterable[int] | None = None,
    ) -> Hierarchy:
        """Build a tree from a path per leaf, from the leaf to the root.

        A root that is repeated at the end of a path counts once (rows padded to one length). A path of
        nothing but the root is passed over (ARX writes one for a suppressed value).

        Parameters
        ----------
        paths
            The labels of each path.
        source
            What the paths come from, for errors.
        lines
            Where each path stands in it; 1, 2, 3, ... when not given.

        Raises
        ------
        HierarchyError
            When the paths do not form one tree; the message names the line.
        """
        builder = TreeBuilder(source)
        children: dict[tuple[int, str], int] = {}
        leaves: set[int] = set()
        alone: list[tuple[int, str]] = []  # paths that should be the root's, which may not be known yet
        for line, path in enumerate(paths, 1) if lines is None else zip(lines, paths, strict=True):
            labels = list(path)
            while len(labels) > 1 and labels[-1] == labels[-2]:
                labels.pop()
            if len(labels) < 2:
                if not labels:
                    raise builder.fail("a path needs a value and the root above it", line)
                alone.append((line, labels[0]))
                continue
            labels.reverse()
            node = -1
            for step, label in enumerate(labels):
                child = children.get((node, label))
                is_last = step == len(labels) - 1
                # A row may stand twice, as in hierarchies cut out of a table.
                if child is not None and (child in leaves) != is_last:
                    raise builder.fail(f"{label!r} is a value and a group of others; rename one", line)
                if child is None:
                    child = children[node, label] = builder.add(label, node, line)
                node = child
            leaves.add(node)
        for line, label in alone:
            if not builder.labels or label != builder.labels[0]:
                tabs = "; write semicolons in place of tabs" if "\t" in label else ""
                raise builder.fail(f"a path needs a value and the root above it{tabs}", line)
        return builder.finish()

    @classmethod
    def from_nested(cls, data: object, source: str = "hierarchy") -> Hierarchy:
        """Make a tree from nested mappings and lists, e.g. ``{"*": {"Europe": ["France", "Italy"]}}``.

        A mapping holds children by label, a list holds leaves or further mappings. A number counts as its
        text; None is allowed only as "no children".

        Raises
        ------
        HierarchyError
            When the data is no such nest or no tree.
        """
        if not isinstance(data, Mapping) or len(data) != 1:
            raise HierarchyError(f"{source}: the outermost mapping needs one key, the root")
        builder = TreeBuilder(source)
        try:
            builder.add_nested(data, -1)
        except RecursionError:
            remedy = "write it as .csv or .txt"
            raise HierarchyError(f"{source}: nested too deep, or in itself; {remedy}") from None
        return builder.finish()

    def to_nested(self) -> dict[str, object]:
        """Return the tree as nested mappings and lists, in the form that `from_nested` reads."""
        below: list[list[object]] = [[] for _ in self.labels]
        parents = self.parents.tolist()
        for node in range(self.n_nodes - 1, 0, -1):
            label = self.labels[node]
            below[parents[node]].append({label: below[node][::-1]} if below[node] else label)
        return {self.labels[0]: below[0][::-1]}

    @classmethod
    def read(cls, path: str | os.PathLike[str], encoding: str = "utf-8") -> Hierarchy:
        """Read a hierarchy file in the format of the suffix.

        ``.txt``: one node a line, depth by tabs. ``.csv``: ARX, one leaf a line with the labels above it,
        ``;`` or ``,``. ``.json``, ``.yaml``, ``.yml``: nested.

        Raises
        ------
        HierarchyError
            When the file cannot be read or is no tree; the message names the line.
        """
        from incrowd.core.hierarchy.formats import read

        return read(file_path(path), encoding)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a hierarchy file in the format of the suffix, as in `read`.

        Raises
        ------
        HierarchyError
            When the suffix is not known, the format cannot hold a label or the tree, or the file cannot be
            written.
        """
        from incrowd.core.hierarchy.formats import write

        write(self, path)

    @staticmethod
    def intervals(*widths: float, origin: float = 0) -> Intervals:
        """Return the recipe for nested bins of numbers; see `builders.Intervals`."""
        from incrowd.core.hierarchy.builders import Intervals

        return Intervals(widths, origin)

    @staticmethod
    def bands(*cuts: float) -> Bands:
        """Return the recipe for bands of numbers between cuts; see `builders.Bands`."""
        from incrowd.core.hierarchy.builders import Bands

        return Bands(cuts)

    @staticmethod
    def prefix() -> Prefix:
        """Return the recipe for texts masked from the right; see `builders.Prefix`."""
        from incrowd.core.hierarchy.builders import Prefix

        return Prefix()

    @staticmethod
    def dates(*levels: str) -> Dates:
        """Return the recipe for calendar levels of dates; see `builders.Dates`."""
        from incrowd.core.hierarchy.builders import DATE_LEVELS, Dates

        return Dates(levels or DATE_LEVELS)

    @staticmethod
    def order(values: Iterable[str], fanout: int = 2) -> Order:
        """Return the recipe for groups of neighbours in an order; see `builders.Order`."""
        from incrowd.core.hierarchy.builders import Order

        return Order(tuple(values), fanout)

    @staticmethod
    def flat() -> Flat:
        """Return the recipe of the two levels value and ``*``."""
        from incrowd.core.hierarchy.builders import Flat

        return Flat()
