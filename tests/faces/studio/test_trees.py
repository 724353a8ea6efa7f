"""A hierarchy that is edited step by step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.faces.studio.trees import TreeEditor

COUNTS = {"Paris": 4, "Rome": 1, "Tokyo": 2, "Oslo": 1, "Lima": 2, "Quito": 10}


@pytest.fixture
def editor():
    tree = {"*": [{"Europe": ["Paris", "Rome"]}, {"Asia": ["Tokyo", "Delhi"]}, "Oslo"]}
    return TreeEditor(ic.Hierarchy.from_nested(tree), COUNTS)


def node(editor, label) -> int:
    return editor.tree.find(label)


def test_each_node_says_what_share_of_the_records_is_below_it(editor):
    assert editor.root().share == 8 / 20
    assert [(line.label, line.leaf, line.share) for line in editor.below(0)] == [
        ("Europe", False, 0.25), ("Asia", False, 0.1), ("Oslo", True, 0.05),
    ]  # fmt: skip
    assert [(line.label, line.share) for line in editor.below(node(editor, "Asia"))] == [
        ("Tokyo", 0.1), ("Delhi", 0),
    ]  # fmt: skip
    assert editor.level(1) == [("Europe", 5), ("Asia", 2), ("*", 1)]
    assert TreeEditor(editor.tree, {}).root().share == 0


def test_groups_are_offered_and_of_many_the_highest(editor):
    assert list(editor.groups().values()) == ["*", "Europe", "Asia"]
    editor.merge([node(editor, "Paris"), node(editor, "Rome")], "near")
    assert list(editor.groups(most=3).values()) == ["*", "Europe", "Asia"]
    assert list(editor.groups().values()) == ["*", "Europe", "near", "Asia"]


def test_values_that_it_does_not_know_are_named_and_put_below_a_group(editor):
    assert editor.unknown() == {"Quito": 10, "Lima": 2}
    editor.add_unknown(0)
    assert editor.unknown() == {}
    assert editor.root().share == 1
    assert editor.tree.values == ("Paris", "Rome", "Tokyo", "Delhi", "Oslo", "Quito", "Lima")


def test_a_group_is_renamed_and_a_value_is_not(editor):
    editor.rename(node(editor, "Asia"), " the East ")
    assert editor.tree.path(2) == ("Tokyo", "the East", "*")
    editor.rename(node(editor, "the East"), "the East")
    for wrong, told in (("", "write a name"), ("Rome", "take another"), ("Europe", "take another")):
        with pytest.raises(ic.HierarchyError, match=told):
            editor.rename(node(editor, "the East"), wrong)
    with pytest.raises(ic.HierarchyError, match="a value keeps its name"):
        editor.rename(node(editor, "Rome"), "Roma")


def test_groups_become_one_and_values_a_group(editor):
    editor.merge([node(editor, "Asia"), node(editor, "Europe")], "Eurasia")
    assert editor.tree.to_nested() == {"*": [{"Eurasia": ["Paris", "Rome", "Tokyo", "Delhi"]}, "Oslo"]}
    editor.merge([node(editor, "Tokyo"), node(editor, "Delhi")], "Asia")
    assert editor.tree.to_nested() == {
        "*": [{"Eurasia": ["Paris", "Rome", {"Asia": ["Tokyo", "Delhi"]}]}, "Oslo"]
    }
    with pytest.raises(ic.HierarchyError, match="different groups above"):
        editor.merge([node(editor, "Oslo"), node(editor, "Rome")], "mixed")
    for nothing in ([], [0]):
        with pytest.raises(ic.HierarchyError, match="choose the values"):
            editor.merge(nothing, "x")


def test_a_group_is_split_in_one_step(editor):
    editor.split([node(editor, "Rome")], "the South")
    assert [(line.label, line.share) for line in editor.below(0)] == [
        ("Europe", 0.2), ("the South", 0.05), ("Asia", 0.1), ("Oslo", 0.05),
    ]  # fmt: skip
    assert editor.tree.path(editor.tree.ranks["Rome"]) == ("Rome", "the South", "*")
    tree = editor.tree
    for chosen, told in (
        ([], "choose some"),
        (["Paris", "Tokyo"], "below one group"),
        (["*"], "choose some"),
        (["Oslo", "Asia"], "nothing stands beside the root"),
        (["Paris"], "all of the group is chosen"),
    ):
        with pytest.raises(ic.HierarchyError, match=told):
            editor.split([node(editor, each) for each in chosen], "another")
    with pytest.raises(ic.HierarchyError, match="has this name"):
        editor.split([node(editor, "Tokyo")], "Rome")
    assert editor.tree is tree


def test_the_name_of_a_group_that_is_dissolved_into_the_new_one_may_be_used_again(editor):
    editor.merge([node(editor, "Asia"), node(editor, "Oslo")], "Asia")
    assert editor.tree.to_nested() == {
        "*": [{"Europe": ["Paris", "Rome"]}, {"Asia": ["Tokyo", "Delhi", "Oslo"]}]
    }


def test_values_are_moved_and_groups_that_are_left_empty_vanish(editor):
    editor.move([node(editor, "Tokyo"), node(editor, "Delhi"), node(editor, "Oslo")], node(editor, "Europe"))
    assert editor.tree.to_nested() == {"*": [{"Europe": ["Paris", "Rome", "Tokyo", "Delhi", "Oslo"]}]}
    with pytest.raises(ic.HierarchyError, match="nothing below it"):
        editor.move([node(editor, "Oslo")], node(editor, "Rome"))
    with pytest.raises(ic.HierarchyError, match="below itself"):
        editor.move([node(editor, "Europe")], node(editor, "Europe"))
    with pytest.raises(ic.HierarchyError, match="choose the values"):
        editor.move([], 0)


def test_a_value_goes_along_with_its_group(editor):
    editor.move([node(editor, "Asia"), node(editor, "Tokyo")], node(editor, "Europe"))
    assert editor.tree.to_nested() == {
        "*": [{"Europe": ["Paris", "Rome", {"Asia": ["Tokyo", "Delhi"]}]}, "Oslo"]
    }


def test_a_group_is_dissolved_where_it_stands(editor):
    editor.dissolve(node(editor, "Europe"))
    assert editor.tree.to_nested() == {"*": ["Paris", "Rome", {"Asia": ["Tokyo", "Delhi"]}, "Oslo"]}
    for wrong in (0, node(editor, "Rome")):
        with pytest.raises(ic.HierarchyError, match="below the root"):
            editor.dissolve(wrong)


@given(st.lists(st.tuples(st.sampled_from("mpd"), st.integers(0, 8), st.integers(0, 8)), max_size=8))
def test_no_step_loses_a_value(steps):
    tree = {"*": [{"a": ["1", "2", {"b": ["3", "4"]}]}, {"c": ["5"]}, "6"]}
    editor = TreeEditor(ic.Hierarchy.from_nested(tree), {})
    for number, (kind, *places) in enumerate(steps):
        one, other = (place % editor.tree.n_nodes for place in places)
        try:
            if kind == "m":
                editor.merge([one, other], f"group {number}")
            elif kind == "p":
                editor.move([one], other)
            else:
                editor.dissolve(one)
        except ic.HierarchyError:
            continue
        assert sorted(editor.tree.values) == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.slow
def test_half_of_very_many_values_are_grouped_and_moved():
    """Quadratic, this would take minutes."""
    values = [f"v{number}" for number in range(100_000)]
    tree = ic.Hierarchy.from_paths([value, f"g{number // 2}", "*"] for number, value in enumerate(values))
    editor = TreeEditor(tree, dict.fromkeys(values, 1))
    half = tree.leaves[:50_000].tolist()
    # Each group is left empty, and vanishes.
    editor.move(half, 0)
    assert (len(editor.below(0)), editor.tree.height) == (75_000, 2)
    editor.merge([line.node for line in editor.below(0) if line.leaf], "half")
    assert (len(editor.below(0)), len(editor.below(node(editor, "half")))) == (25_001, 50_000)
    assert set(editor.tree.values) == set(values)


def test_what_stands_below_something_that_is_moved_goes_along_however_deep():
    tree = {"*": [{"a": [{"b": [{"c": ["1", "2"]}, "3"]}, "4"]}, {"d": ["5"]}]}
    editor = TreeEditor(ic.Hierarchy.from_nested(tree), {})
    editor.move([node(editor, name) for name in ("b", "c", "1", "4")], node(editor, "d"))
    assert editor.tree == ic.Hierarchy.from_nested(
        {"*": [{"d": ["5", {"b": [{"c": ["1", "2"]}, "3"]}, "4"]}]}
    )


def test_every_record_is_counted_once_at_each_level_of_an_uneven_tree():
    editor = TreeEditor(
        ic.Hierarchy.flat().build(["a", "b", "c", "d"], "x"), {"a": 1, "b": 2, "c": 2, "d": 2}
    )
    nodes = [editor.tree.find("a"), editor.tree.find("b")]
    editor.merge(nodes, "ab")
    assert dict(editor.level(1)) == {"ab": 3, "*": 4}
    for level in range(editor.tree.height + 1):
        assert sum(records for _, records in editor.level(level)) == 7
