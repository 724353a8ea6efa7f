"""Hierarchies as the verifier needs them: labels, parents, leaves and heights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property


class TreeError(Exception):
    """An error in a tree; whoever reads it knows the place."""


@dataclass
class Tree:
    """A tree whose node 0 is the root and whose nodes come after their parents.

    Attributes
    ----------
    labels
        Label of each node; None for a node that has none, which no cell can name.
    parents
        Parent of each node; -1 for the root.
    """

    labels: list[str | None] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    _children: dict[tuple[int, object], int] = field(default_factory=dict)
    _named: dict[str, int] = field(default_factory=dict)

    def add(self, label: str | None, parent: int, key: object = None) -> int:
        """Add a node below a parent (-1: the root) and return it.

        Parameters
        ----------
        key
            What tells it from its sisters, where its label does not.

        Raises
        ------
        TreeError
            When the label is empty or stands elsewhere; only a node and its parent may share one.
        """
        if label == "":
            raise TreeError("an empty label")
        if parent < 0 and self.labels:
            raise TreeError(f"several roots, {self.labels[0]!r} and {label!r}")
        if (parent, key or label) in self._children:
            raise TreeError(f"{label!r} comes twice under its parent")
        if label is not None and label in self._named and self.labels[parent] != label:
            raise TreeError(f"{label!r} stands at two places of the tree")
        node = len(self.labels)
        self.labels.append(label)
        self.parents.append(parent)
        self._children[parent, key or label] = node
        if label is not None:
            self._named[label] = node
        return node

    def child(self, key: object, parent: int) -> int | None:
        """Return the node below a parent that has a key (a label where no key was given), or None."""
        return self._children.get((parent, key))

    @cached_property
    def leaves(self) -> dict[str, int]:
        """Node of each leaf by its label; the tree must be whole."""
        inner = set(self.parents)
        return {
            label: node
            for node, label in enumerate(self.labels)
            if node not in inner and label is not None and node
        }

    @cached_property
    def nodes(self) -> dict[str, list[int]]:
        """The nodes of each label: one, or a node and its parent."""
        found: dict[str, list[int]] = {}
        for node, label in enumerate(self.labels):
            if label is not None:
                found.setdefault(label, []).append(node)
        return found

    def heights(self) -> list[int]:
        """Return per node the length of the longest path down to a leaf below it."""
        heights = [0] * len(self.parents)
        for node in range(len(self.parents) - 1, 0, -1):
            above = self.parents[node]
            heights[above] = max(heights[above], heights[node] + 1)
        return heights

    def way_up(self, leaf: str) -> Iterator[int]:
        """Yield the nodes from a leaf up to the last one below the root."""
        node = self.leaves[leaf]
        while node != 0:
            yield node
            node = self.parents[node]

    def covers(self, label: str, leaf: str) -> bool:
        """Say whether a leaf lies at or below a node with a label."""
        nodes = self.nodes.get(label, [])
        return leaf in self.leaves and (0 in nodes or any(node in nodes for node in self.way_up(leaf)))

    def levels(self, label: str) -> set[int]:
        """Return how many steps a leaf may have climbed to a label; above the root one stays there."""
        steps: set[int] = set()
        for leaf in self.leaves:
            way = [*self.way_up(leaf), 0]
            steps |= {step for step, node in enumerate(way) if self.labels[node] == label}
        return steps
