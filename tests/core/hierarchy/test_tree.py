"""The tree type keeps all promises, for nodes of any origin."""

from __future__ import annotations

import numpy as np
import pytest

from incrowd.core.errors import HierarchyError
from incrowd.core.hierarchy import Hierarchy


@pytest.mark.parametrize(
    ("labels", "parents", "problem"),
    [
        # Accepted, the second one would cover the leaves of both.
        (["*", "A", "B", "a", "b"], [-1, 0, 0, 1, 2], "node 3 is not in depth-first order"),
        (["*", "A", "a", "B", "b"], [-1, 0, 1, 0, 1], "node 4 is not in depth-first order"),
        (["*", "A", "a", "B", "b"], [-1, 0, 1, 0, 2], "node 4 is not in depth-first order"),
        (["*", "a", "a"], [-1, 0, 0], "node 2 has the label of node 1"),
        (["*", "A", "x", "B", "x"], [-1, 0, 1, 0, 3], "node 4 has the label of node 2"),
        (["O", "O", "O"], [-1, 0, 0], "node 2 has the label of node 1"),
        (["*", ""], [-1, 0], "the label of node 1 is empty"),
        (["*", "a"], [-1], "the first of the nodes must be the root"),
        (["*", "a"], [-1, 1], "a parent that comes before it"),
    ],
)
def test_nodes_that_are_no_tree_in_depth_first_order(labels, parents, problem):
    with pytest.raises(HierarchyError, match=problem):
        Hierarchy(labels, parents)


def test_a_node_may_repeat_its_parents_label():
    tree = Hierarchy(["*", "O", "O", "O", "p", "q"], [-1, 0, 1, 2, 2, 1])
    assert tree.values == ("O", "p", "q")
    assert tree.find("O") == 1
    assert Hierarchy.from_nested(tree.to_nested()) == tree


@pytest.mark.parametrize(("lo", "hi"), [(0, 5), (1, 0), (-1, 1)])
def test_ancestors_of_ranks_that_are_none(lo, hi):
    with pytest.raises(HierarchyError, match="leaf ranks must be 0 <= lo <= hi < 2"):
        Hierarchy.from_nested({"*": ["a", "b"]}).lca(lo, hi)


def test_very_deep_trees_climb():
    tree = Hierarchy.prefix().build(["x" * 3000, "y" * 3000], "c")
    assert tree.height == 3000
    assert tree.climb(5000).tolist() == [0, 0]
    assert tree.parents[tree.climb(2999)].tolist() == [0, 0]


@pytest.mark.parametrize("paths", [[["*", "*"], ["a", "*"]], [["a", "*"], ["*", "*"]], [["*"], ["a", "*"]]])
def test_paths_of_the_root_alone_are_passed_over_wherever_they_stand(paths):
    assert Hierarchy.from_paths(paths).values == ("a",)


@pytest.mark.parametrize("paths", [[["b"], ["a", "*"]], [["a", "*"], ["b", "b"]], [["*"]], [[]]])
def test_paths_without_a_parent(paths):
    with pytest.raises(HierarchyError, match="a path needs a value and the root above it"):
        Hierarchy.from_paths(paths)


@pytest.mark.parametrize("data", [{"*": [True]}, {"*": [None]}, {"*": {None: ["a"]}}, {"*": {"A": False}}])
def test_nested_data_makes_no_label_of_what_is_no_text(data):
    with pytest.raises(HierarchyError, match="a label must be a text"):
        Hierarchy.from_nested(data)


def test_nested_data_with_numbers_and_without_children():
    assert Hierarchy.from_nested({"*": [1, 2.5, np.int64(3), {"A": None}]}).values == ("1", "2.5", "3", "A")


def test_nested_data_in_itself():
    data: dict[str, object] = {}
    data["A"] = [data]
    with pytest.raises(HierarchyError):
        Hierarchy.from_nested(data)
    deep: object = ["x"]
    for level in range(5000):
        deep = {f"n{level}": deep}
    with pytest.raises(HierarchyError, match="nested too deep"):
        Hierarchy.from_nested(deep)
