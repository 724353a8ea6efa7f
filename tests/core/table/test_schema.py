"""Schema: a single role for every column, and columns that may leave."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.table.schema import KINDS, ROLES, STYLES

TREE = ic.Hierarchy.from_nested({"*": ["a", "b"]})


def test_every_way_to_name_a_column(tmp_path):
    TREE.write(tmp_path / "tree.json")
    whole = ic.Attribute("w", "quasi", "date", None, "set")
    schema = ic.Schema(
        quasi={
            "tree": TREE,
            "recipe": ic.Hierarchy.prefix(),
            "file": tmp_path / "tree.json",
            "name": str(tmp_path / "tree.json"),
            "kind": "number",
            "plain": None,
            "w": whole,
        },
        sensitive=["s"],
        identifying=("i",),
        insensitive={"n": "category"},
        null_values=["?", "NA", "?"],
    )
    assert [attribute.name for attribute in schema.quasi] == ["tree", "recipe", "file", "name", "kind", "plain", "w"]  # fmt: skip
    assert schema["tree"].hierarchy is TREE
    assert schema["recipe"].hierarchy == ic.Hierarchy.prefix()
    assert schema["file"].hierarchy == schema["name"].hierarchy == TREE
    assert (schema["kind"].kind, schema["kind"].hierarchy) == ("number", None)
    assert (schema["plain"].kind, schema["plain"].hierarchy) == ("auto", None)
    assert schema["w"] is whole
    assert [schema[name].role for name in ("s", "i", "n")] == ["sensitive", "identifying", "insensitive"]
    assert schema.sensitive == schema.having("sensitive") == (schema["s"],)
    assert schema.null_values == ("?", "NA")
    assert "s" in schema
    assert "z" not in schema
    assert repr(ic.Schema(quasi=["a", "b"])) == "Schema(identifying: -; quasi: a, b; sensitive: -; insensitive: -)"  # fmt: skip


@given(st.permutations(["i1", "p1", "p2", "h1", "h2", "w1", "q1", "q2", "s1", "n1"]))
def test_a_schema_of_its_attributes_is_the_same(order):
    roles = dict(zip("iphwqsn", ROLES, strict=True))
    attributes = [ic.Attribute(name, roles[name[0]]) for name in order]
    schema = ic.Schema.of_attributes(attributes, null_values=["?"], unlisted="keep")
    assert sorted(attribute.name for attribute in schema.attributes) == sorted(order)
    again = ic.Schema.of_attributes(
        schema.attributes, null_values=schema.null_values, unlisted=schema.unlisted
    )
    assert again.attributes == schema.attributes
    assert [a.name for a in schema.quasi] == [name for name in order if name.startswith("q")]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"quasi": ["a"], "sensitive": ["a"]}, "column 'a' is both quasi and sensitive; give it one role"),
        ({"identifying": ["a"], "insensitive": ["a"]}, "column 'a' is both identifying and insensitive"),
        ({"quasi": ["a", "a"]}, "column 'a' is twice among the quasi"),
        ({"quasi": "age"}, "quasi: give a list of column names, not one text"),
        ({"quasi": [1]}, "column names are texts; quasi names a int"),
        ({"quasi": {"a": "nmber"}}, "column 'a': 'nmber' is neither a kind .* nor a hierarchy file"),
        ({"quasi": {"a": 3}}, "column 'a': give a hierarchy, .* not a int"),
        (
            {"quasi": {"a": ic.Attribute("b", "quasi")}},
            "column 'a': its Attribute says 'b' as quasi",
        ),
        (
            {"quasi": {"a": ic.Attribute("a", "sensitive")}},
            "column 'a': its Attribute says 'a' as sensitive",
        ),
        ({"unlisted": "hide"}, "unlisted must be 'drop', 'keep' or None, got 'hide'"),
    ],
)
def test_what_does_not_fit_is_said(arguments, problem):
    with pytest.raises(ic.SchemaError, match=problem):
        ic.Schema(**arguments)


def test_a_name_given_twice_among_attributes():
    attributes = [ic.Attribute("a", "quasi"), ic.Attribute("a", "quasi")]
    with pytest.raises(ic.SchemaError, match="column 'a' is named twice"):
        ic.Schema.of_attributes(attributes)


@pytest.mark.parametrize(("field", "allowed"), [("role", ROLES), ("kind", KINDS), ("output", STYLES)])
def test_attributes_take_known_words_only(field, allowed):
    for value in allowed:
        needed = {"known": 2} if value == "set" and field == "kind" else {}
        assert getattr(ic.Attribute(**{"name": "a", "role": "quasi", field: value} | needed), field) == value
    with pytest.raises(
        ic.SchemaError, match=rf"column 'a': {field} must be one of {', '.join(allowed)}, got 'x'"
    ):
        ic.Attribute(**{"name": "a", "role": "quasi", field: "x"})


@pytest.mark.parametrize(
    "levels",
    [
        1.5,
        "1",
        True,
        (),
        (1,),
        (0, 1, 2),
        (1.5, None),
        (0, 1.5),
        (False, 1),
        (None, 1),
        (2, 1),
        (-1, None),
        "01",
    ],
)
def test_bounds_of_levels_are_two_whole_numbers(levels):
    with pytest.raises(
        ic.SchemaError, match=r"^column 'a': levels must be \[least, largest\], whole numbers from 0 up$"
    ):
        ic.Attribute("a", "quasi", levels=levels)


@pytest.mark.parametrize("level", [1.5, "1", True, None, (0, 1), float("nan")])
def test_a_fixed_level_is_a_whole_number(level):
    table = pl.DataFrame({"a": ["x", "x", "y"]})
    with pytest.raises(ic.SchemaError, match=r"column 'a': levels must be .*, whole numbers"):
        ic.anonymize(table, ic.Schema(quasi=["a"]), "k-anonymity:1", "optimal", levels={"a": level})


def test_a_level_may_be_a_number_of_numpy():
    assert ic.Attribute("a", "quasi", levels=(np.int8(0), np.int64(1))).levels == (0, 1)


def test_columns_that_may_leave_keep_the_tables_order():
    columns = ["x", "name", "b", "y", "a", "s"]
    named = {"quasi": ["a", "b"], "sensitive": ["s"], "identifying": ["name"]}
    assert ic.Schema(**named, unlisted="drop").released(columns) == ["b", "a", "s"]
    assert ic.Schema(**named, unlisted="keep").released(columns) == ["x", "b", "y", "a", "s"]
    with pytest.raises(ic.SchemaError, match="no role was given to column 'x', 'y'; name each"):
        ic.Schema(**named).released(columns)
    assert ic.Schema(**named, insensitive=["x", "y"]).released(columns) == ["x", "b", "y", "a", "s"]


def test_a_table_that_does_not_fit_is_refused():
    schema = ic.Schema(quasi=["a", "b"], identifying=["name"])
    with pytest.raises(ic.SchemaError, match="no column 'name', 'b'; it has 'a', 'c'"):
        schema.check_columns(["a", "c"])
    with pytest.raises(ic.SchemaError, match="several columns named 'a' "):
        schema.check_columns(["a", "a", "b", "name"])
    schema.check_columns(["name", "a", "b", "more"])
