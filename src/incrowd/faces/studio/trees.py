"""A hierarchy that is edited step by step over the values of a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from incrowd.core.errors import HierarchyError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.lazy import NDArray, np


class Line(NamedTuple):
    """A shown node, by number in the current tree: a value (leaf), or else a group.

    `share` is the share of the records below it, 0..1.
    """

    node: int
    label: str
    leaf: bool
    share: float


class TreeEditor:
    """A tree over the values of a column.

    Example: ``TreeEditor(tree, {"Paris": 3, "Rome": 1})``; then ``merge([1, 2], "Europe")`` puts the nodes 1
    and 2 into a group. Nodes are numbered anew by every step. A step that cannot be done raises
    `HierarchyError`, which says why and what to do, and changes nothing.

    Parameters
    ----------
    tree
        The tree to begin with. Another one, as of a file, may take its place.
    counts
        How many records have each value of the column.
    """

    def __init__(self, tree: Hierarchy, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)
        self._total = sum(self._counts.values())
        self.tree = tree
        self._held: tuple[Hierarchy, NDArray[np.int64]] | None = None

    # --- what is shown ----------------------------------------------------------------------------

    def unknown(self) -> dict[str, int]:
        """Return the values of the column that the tree does not know, the most frequent first."""
        ranks = self.tree.ranks
        new_values = {value: count for value, count in self._counts.items() if value not in ranks}
        return dict(sorted(new_values.items(), key=lambda each: (-each[1], each[0])))

    def below(self, node: int) -> list[Line]:
        """Return the children of a node."""
        tree = self.tree
        children = np.flatnonzero(tree.parents == node).tolist()
        return [self._line(child) for child in children]

    def root(self) -> Line:
        """Return the root."""
        return self._line(0)

    def groups(self, most: int = 500) -> dict[int, str]:
        """Return the nodes with children, the root first, or of very many the highest."""
        tree = self.tree
        inner = np.flatnonzero(tree.heights > 0)
        highest = inner[np.argsort(tree.depths[inner], kind="stable")][:most]
        return {node: tree.labels[node] for node in sorted(highest.tolist())}

    def most_frequent(self) -> tuple[str, ...] | None:
        """Return the most frequent known value, and the groups above up to the root."""
        ranks = self.tree.ranks
        counts = ((count, value) for value, count in self._counts.items() if value in ranks)
        best = max(counts, default=None)
        return None if best is None else self.tree.path(ranks[best[1]])

    def level(self, level: int) -> list[tuple[str, int]]:
        """Return the cells of a level in the order of the tree, each with a number of records.

        A value that stands higher than others reaches the root sooner. So a node may be the cell of some
        values below it alone, and each record is counted once:

            *                level 1:  * 4   (2 of c, 2 of d)
            |- ab: a b                 ab 3
            |- c, d
        """
        nodes = self.tree.climb(level)
        records = np.bincount(nodes, np.diff(self._cumulated()), self.tree.n_nodes).astype(np.int64)
        return [(self.tree.labels[node], int(records[node])) for node in dict.fromkeys(nodes.tolist())]

    def _line(self, node: int) -> Line:
        tree = self.tree
        records = self._cumulated()
        records_below = records[tree.hi[node]] - records[tree.lo[node]]
        share = float(records_below) / self._total if self._total else 0.0
        return Line(node, tree.labels[node], bool(tree.heights[node] == 0), share)

    def _cumulated(self) -> NDArray[np.int64]:
        """Return the records of the values before each rank: int64[leaves + 1]."""
        if self._held is None or self._held[0] is not self.tree:
            counts = [self._counts.get(value, 0) for value in self.tree.values]
            self._held = self.tree, np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        return self._held[1]

    # --- steps ------------------------------------------------------------------------------------

    def rename(self, node: int, label: str) -> None:
        """Give a group another name."""
        tree = self.tree
        if tree.heights[node] == 0:
            raise HierarchyError("a value keeps its name; rename the group above it")
        draft = _Draft(tree)
        draft.labels[node] = self._free(label, {node})
        self.tree = draft.finish()

    def merge(self, nodes: Iterable[int], label: str) -> None:
        """Put nodes with the same parent into a group, which replaces groups among the nodes."""
        chosen = sorted(set(nodes))
        tree = self.tree
        parents = {int(tree.parents[node]) for node in chosen}
        if not chosen or parents == {-1}:
            raise HierarchyError("choose the values or groups that go together")
        if len(parents) > 1:
            raise HierarchyError("these have different groups above them; move them below one first")
        inner = {node for node in chosen if tree.heights[node] > 0}
        draft = _Draft(tree)
        group = draft.add(self._free(label, inner), parents.pop(), before=chosen[0])
        members = [child for node in chosen for child in (draft.children[node] if node in inner else [node])]
        draft.put(members, group)
        draft.remove(inner)
        self.tree = draft.finish()

    def split(self, nodes: Iterable[int], label: str) -> None:
        """Part a group: some children get a new group beside the group, with the same parent."""
        chosen = sorted(set(nodes))
        tree = self.tree
        parents = {int(tree.parents[node]) for node in chosen}
        if len(parents) != 1 or parents == {-1}:
            raise HierarchyError("choose some of the values or groups below one group")
        [whole] = parents
        if whole == 0:
            raise HierarchyError("nothing stands beside the root; put these into one group below it")
        draft = _Draft(tree)
        if len(chosen) == len(draft.children[whole]):
            raise HierarchyError("all of the group is chosen; leave out what stays in it")
        above = int(tree.parents[whole])
        group = draft.add(self._free(label, set()), above, after=whole)
        draft.put(chosen, group)
        self.tree = draft.finish()

    def move(self, nodes: Iterable[int], target: int) -> None:
        """Put nodes below a group. Groups that this leaves empty vanish."""
        nodes, tree = set(nodes), self.tree
        if not nodes:
            raise HierarchyError("choose the values or groups that are moved")
        if tree.heights[target] == 0:
            raise HierarchyError("a value has nothing below it; choose a group to move to")
        above = target
        while above >= 0:
            if above in nodes:
                raise HierarchyError("a group cannot go below itself; choose another group to move to")
            above = int(tree.parents[above])
        draft = _Draft(tree)
        # What stands below something else that is moved goes along with it; parents come before children.
        along: set[int] = set()
        for node, parent in enumerate(tree.parents.tolist()):
            if parent in nodes or parent in along:
                along.add(node)
        draft.put(sorted(nodes - along), target)
        draft.remove_empty(tree)
        self.tree = draft.finish()

    def dissolve(self, node: int) -> None:
        """Take a group away, so that the members stand below the group above."""
        tree = self.tree
        if node == 0 or tree.heights[node] == 0:
            raise HierarchyError("choose a group below the root; only groups can be dissolved")
        draft = _Draft(tree)
        parent = int(tree.parents[node])
        place = draft.children[parent].index(node)
        draft.children[parent][place : place + 1] = draft.children[node]
        draft.children[node] = []
        self.tree = draft.finish()

    def add_unknown(self, target: int) -> None:
        """Put all values of the column that the tree does not know below a group."""
        if self.tree.heights[target] == 0:
            raise HierarchyError("a value has nothing below it; choose a group to put them below")
        draft = _Draft(self.tree)
        for value in self.unknown():
            draft.add(value, target)
        self.tree = draft.finish()

    def _free(self, label: str, but: set[int]) -> str:
        """Return a name for a group that no node has, but for some."""
        label = label.strip()
        if not label:
            raise HierarchyError("write a name for the group")
        if any(label == known and node not in but for node, known in enumerate(self.tree.labels)):
            raise HierarchyError("another group or value has this name; take another one")
        return label


class _Draft:
    """A tree as lists of children, which can be changed."""

    def __init__(self, tree: Hierarchy) -> None:
        self.labels = list(tree.labels)
        self.children: list[list[int]] = [[] for _ in tree.labels]
        for node, parent in enumerate(tree.parents.tolist()):
            if parent >= 0:
                self.children[parent].append(node)
        self._parents: list[int] = tree.parents.tolist()

    def add(self, label: str, parent: int, *, before: int | None = None, after: int | None = None) -> int:
        """Add a node as the last child, or before or after another node."""
        node = len(self.labels)
        self.labels.append(label)
        self.children.append([])
        self._parents.append(parent)
        siblings = self.children[parent]
        if after is not None:
            siblings.insert(siblings.index(after) + 1, node)
        else:
            siblings.insert(len(siblings) if before is None else siblings.index(before), node)
        return node

    def put(self, nodes: Sequence[int], parent: int) -> None:
        """Make nodes the last children of another node."""
        self.remove(set(nodes))
        self.children[parent] += nodes
        for node in nodes:
            self._parents[node] = parent

    def remove(self, nodes: Set[int]) -> None:
        """Take nodes out from below the parents."""
        for parent in {self._parents[node] for node in nodes}:
            self.children[parent] = [child for child in self.children[parent] if child not in nodes]

    def remove_empty(self, tree: Hierarchy) -> None:
        """Take out groups without children, from the deepest up."""
        left = [len(children) for children in self.children]
        empty = set()
        for node in range(tree.n_nodes - 1, 0, -1):
            if tree.heights[node] > 0 and not left[node]:
                empty.add(node)
                left[self._parents[node]] -= 1
        self.remove(empty)

    def finish(self) -> Hierarchy:
        """Make a tree, with nodes in depth-first order."""
        labels: list[str] = []
        parents: list[int] = []
        stack = [(0, -1)]
        while stack:
            node, parent = stack.pop()
            place = len(labels)
            labels.append(self.labels[node])
            parents.append(parent)
            stack.extend((child, place) for child in reversed(self.children[node]))
        return Hierarchy(labels, parents)
