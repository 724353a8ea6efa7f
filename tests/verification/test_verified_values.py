"""The verifier's reading of values, hierarchies and policies."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from incrowd.core.errors import (
    HierarchyError,
    PolicyError,
    SchemaError,
)
from incrowd.release.verification import verify
from incrowd_verify.tree_files import read_tree
from policy_texts import K2, SIMPLE, WORKED, WORKED_TREE, entry, only, t, worked_columns

# --- missing values, numbers, dates --------------------------------------------------------------------


def test_missing_values_are_one_value_and_a_quoted_empty_text_is_another(check):
    text = 'zip,x\n,a\n,b\n?,a\n?,b\n"?",b\n'
    assert only(check(text, SIMPLE, [K2], 'null_values = ["?"]')).reached == 5
    assert only(check(text, SIMPLE, [K2])).reached == 2
    assert only(check('zip,x\n,a\n"",a\n', SIMPLE, [K2])).reached == 1
    assert only(check("zip,x\nNone,a\nNA,b\nnull,b\n", SIMPLE, [K2])).reached == 1


def test_missing_sensitive_value_counts_as_a_value(check):
    models = ['model = "l-diversity"\nl = 2', t(distance="equal"), t(distance="ordered")]
    result = check("zip,x\n1*,1\n1*,\n2*,?\n2*,3\n", SIMPLE, models, 'null_values = ["?"]')
    # values 1, 3, missing (last) with shares 1/4, 1/4, 1/2
    assert [finding.reached for finding in result.findings] == [2, 0.25, 0.125]


def test_missing_is_a_leaf_under_the_root(check, tmp_path):
    (tmp_path / "tree.txt").write_text(WORKED_TREE)
    columns = [entry("zip", "quasi"), entry("x", "sensitive", "hierarchy = 'tree.txt'")]
    result = check("zip,x\n1*,flu\n1*,flu\n2*,\n2*,flu\n", columns, [t()])
    # a quarter of the table has to cross the root: distance 1 times 1/4
    assert only(result).reached == 0.25
    assert only(check("zip,x\n1*,\n1*,\n", columns, [t(0)])).reached == 0


@pytest.mark.slow
def test_numbers_compare_by_value_however_long(check):
    big = "zip,x\n1*,9007199254740993\n1*,9007199254740992\n"
    assert only(check(big, SIMPLE, ['model = "l-diversity"\nl = 2'])).reached == 2
    same = "zip,x\n1*,1.0\n1*,1\n1*,1.000\n"
    assert only(check(same, SIMPLE, ['model = "l-diversity"\nl = 2'])).reached == 1
    assert only(check("zip,x\n1*,-0\n1*,0.0\n", SIMPLE, ['model = "l-diversity"\nl = 1'])).reached == 1


@pytest.mark.slow
def test_order_of_numbers_is_exact(check):
    # all but one suppressed: the distance of that one to the table is its mean distance in ranks
    values = ["-100.5", "-100.25", "-9", "-0.5", "0", "0.05", "0.5", "3", "20", "100", "1" + "0" * 40]
    for place in (0, 3, 5, 10):
        lines = [f"{'a' if i == place else '*'},{value}" for i, value in enumerate(values)]
        result = check("zip,x\n" + "\n".join(sorted(lines)) + "\n", SIMPLE, [t()], "max_suppression = 1")
        expected = Fraction(sum(abs(place - i) for i in range(11)), 11 * 10)
        assert only(result).distance == "ordered"
        assert only(result).reached == pytest.approx(float(expected), abs=1e-15)


def test_declared_numbers_may_be_written_freely(check):
    columns = [entry("zip", "quasi"), entry("x", "sensitive", "kind = 'number'")]
    text = "zip,x\n1*,1e3\n1*,+1000\n1*,01000.\n1*,.1e4\n1*,1E+03\n1*,-0e9\n"
    assert only(check(text, columns, ['model = "l-diversity"\nl = 2'])).reached == 2
    with pytest.raises(SchemaError, match=r"'x'.* 1 distinct value") as caught:
        check("zip,x\n1*,secret\n1*,3\n", columns, [t()])
    assert "secret" not in str(caught.value)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("values", "distance"),
    [
        ("1 2.50 -3", "ordered"),
        ("2020-02-29 1999-01-01", "ordered"),
        ("2020-02-30 1999-01-01", "equal"),
        ("007 1", "equal"),
        ("+1 2", "equal"),
        ("1. 2", "equal"),
        ("1e3 2", "equal"),
        ("1 a", "equal"),
        ("1 2020-01-01", "equal"),
    ],
)
def test_kind_of_texts(check, values, distance):
    text = "zip,x\n" + "".join(f"1*,{value}\n" for value in values.split())
    assert only(check(text, SIMPLE, [t()])).distance == distance


def test_distances_must_suit_the_column(check):
    text = "zip,x\n1*,a\n1*,b\n"
    with pytest.raises(PolicyError, match=r"'x'.*needs a hierarchy"):
        check(text, SIMPLE, [t(distance="hierarchical")])
    with pytest.raises(PolicyError, match=r"'x'.*needs numbers or dates"):
        check(text, SIMPLE, [t(distance="ordered")])
    category = [entry("zip", "quasi"), entry("x", "sensitive", "kind = 'category'")]
    assert only(check("zip,x\n1*,1\n1*,2\n", category, [t()])).distance == "equal"


# --- hierarchies ---------------------------------------------------------------------------------------

TREES = {
    "t.txt": WORKED_TREE,
    "crlf.txt": WORKED_TREE.replace("\n", "\r\n"),
    "t.csv": "flu;respiratory infection;disease\nstomach cancer;stomach disease;disease\n"
    "gastritis;stomach disease;disease\ndisease;disease;disease\n",
    "comma.csv": '"flu",respiratory infection,disease\nstomach cancer,stomach disease,disease\n'
    "gastritis,stomach disease,disease,disease\n",
    "t.json": '{"disease": {"respiratory infection": ["flu"], "stomach disease": '
    '{"stomach cancer": null, "gastritis": []}}}',
    "t.yaml": "disease:\n  respiratory infection: [flu]\n  stomach disease:\n  - stomach cancer\n"
    "  - gastritis\n",
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TREES)
def test_hierarchy_files(check, tmp_path, name):
    (tmp_path / name).write_bytes(TREES[name].encode())
    result = check(WORKED, worked_columns(f"hierarchy = '{name}'"), [t(attribute="disease")])
    assert only(result).reached == pytest.approx(0.15, abs=1e-15)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "Any\n\tA\nB\n", "line 3: several roots"),
        ("a.txt", "Any\n\t\tA\n", "line 2: indented too deep"),
        ("a.txt", "Any\n\tA\n\t\tx\n\tB\n\t\tx\n", "'x' stands at two places"),
        ("a.txt", "Any\n\tA\n\t\tx\n\t\tx\n", "'x' comes twice"),
        ("a.txt", "", "no leaves"),
        ("a.txt", "Any\n", "no leaves"),
        ("a.csv", "x;A;*\ny;A;+\n", "line 2: several roots"),
        ("a.csv", "x;;*\n", "line 1: an empty label"),
        ("a.csv", "x;A;*\nA;*\n", "'A' is a leaf and has values"),
        ("a.csv", 'x;"A"b;*\n', "line 1"),
        ("a.json", "{", "line 1"),
        ("a.json", '{"a": [], "b": []}', "one key, the root"),
        ("a.json", '{"a": ["x"], "a": ["y"]}', "one key, the root"),
        ("a.json", '{"a": [true]}', "below 'a'"),
        ("a.yaml", "a: [", "line"),
        ("a.yaml", "a: &x [*x]", r"line 1: an alias \(\*x\)"),
        ("a.pdf", "", "ending in"),
    ],
)
def test_broken_hierarchy_files(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(HierarchyError, match=message):
        read_tree(tmp_path / name, [], "x")


def test_hierarchy_file_must_be_there_and_know_every_value(check, tmp_path):
    columns = worked_columns("hierarchy = 'absent.txt'")
    with pytest.raises(HierarchyError, match=r"absent\.txt.*cannot be read"):
        check(WORKED, columns, [t(attribute="disease")])
    (tmp_path / "absent.txt").write_text("Any\n\tflu\n")
    with pytest.raises(HierarchyError, match="'disease': 2 distinct") as caught:
        check(WORKED, columns, [t(attribute="disease")])
    assert "gastritis" not in str(caught.value)


def levels_apart(spec: dict[str, Any], values: list[str]) -> tuple[int, dict[tuple[str, str], int]]:
    """Height of the tree, and for each pair the height of the lowest common ancestor."""
    tree = read_tree(spec, values, "x")
    heights = tree.heights()
    ways = {value: [*tree.way_up(value), 0] for value in values}
    pairs = {
        (a, b): heights[next(node for node in ways[a] if node in ways[b])]
        for a in values
        for b in values
        if a < b
    }
    return heights[0], pairs


@pytest.mark.parametrize(
    ("spec", "values", "height", "pairs"),
    [
        ({"flat": True}, "a b", 1, {"a b": 1}),
        ({"order": list("abcde"), "fanout": 2}, "a b c e", 3, {"a b": 1, "a c": 2, "c e": 3, "a e": 3}),
        ({"order": list("abc")}, "a b c", 2, {"a b": 1, "a c": 2, "b c": 2}),
        ({"order": list("ab"), "fanout": 5}, "a b", 1, {"a b": 1}),
        ({"intervals": [5, 10]}, "-1 0 4 5 9 10", 3, {"-1 0": 3, "0 4": 1, "4 5": 2, "5 9": 1, "10 9": 3}),
        ({"intervals": [0.1], "origin": 0.2}, "0.2 0.29 0.3", 2, {"0.2 0.29": 1, "0.29 0.3": 2}),
        ({"intervals": [1], "origin": 0}, "1 1.0", 2, {"1 1.0": 1}),
        ({"prefix": True}, "47677 47602 48 4", 5, {"47602 47677": 2, "47602 48": 4, "4 48": 4}),
        (
            {"dates": ["month", "year"]},
            "2020-01-01 2020-01-31 2020-02-01 2021-01-01",
            3,
            {"2020-01-01 2020-01-31": 1, "2020-01-01 2020-02-01": 2, "2020-01-01 2021-01-01": 3},
        ),
        ({"dates": ["quarter"]}, "2020-01-01T10:00:00 2020-01-01", 3, {"2020-01-01 2020-01-01T10:00:00": 1}),
        ({"dates": True}, "2020-01-01 2029-01-01 2030-01-01", 5, {"2020-01-01 2029-01-01": 4}),
    ],
)
def test_builders(spec, values, height, pairs):
    found_height, result = levels_apart(spec, values.split())
    assert found_height == height
    assert {tuple(pair.split()): levels for pair, levels in pairs.items()}.items() <= result.items()


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ({}, PolicyError, "one builder"),
        ({"flat": True, "prefix": True}, PolicyError, "one builder"),
        ({"topcoding": 5}, PolicyError, "flat, order, intervals, bands, prefix, dates"),
        ({"flat": True, "depth": 3}, PolicyError, "'depth'"),
        ({"flat": 1}, PolicyError, "flat = true"),
        ({"intervals": [5, 12]}, PolicyError, "multiple"),
        ({"bands": [5, 5]}, PolicyError, "ascend"),
        ({"bands": ["5"]}, PolicyError, "numbers"),
        ({"bands": []}, PolicyError, "list of cuts"),
        ({"bands": [5]}, HierarchyError, "1 distinct"),
        ({"intervals": [0]}, PolicyError, "above 0"),
        ({"intervals": ["5"]}, PolicyError, "numbers"),
        ({"intervals": [5]}, HierarchyError, "1 distinct"),
        ({"dates": ["year", "month"]}, PolicyError, "in this order"),
        ({"dates": ["year"]}, HierarchyError, "1 distinct"),
        ({"order": ["a", "a"]}, PolicyError, "twice"),
        ({"order": [1, 2]}, PolicyError, "list of texts"),
        ({"order": ["a"], "fanout": 1}, PolicyError, "fanout"),
        ({"order": ["a"]}, HierarchyError, "1 distinct"),
    ],
)
def test_broken_builders(spec, error, message):
    with pytest.raises(error, match=message) as caught:
        read_tree(spec, ["secret"], "salary")
    assert "'salary'" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_order_hierarchy_in_a_policy(check):
    tree = "hierarchy = { order = ['none', 'some', 'much', 'all'] }"
    columns = [entry("zip", "quasi"), entry("x", "sensitive", tree)]
    result = only(check("zip,x\n1*,none\n1*,some\n2*,much\n2*,all\n", columns, [t()]))
    # half of the table has to cross the root from either class
    assert (result.distance, result.reached) == ("hierarchical", 0.5)


# --- the policy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "models", "head", "message"),
    [
        (SIMPLE, [], "", "no models"),
        (
            SIMPLE,
            ['model = "m-invariance"\nm = 3'],
            "",
            "verify knows k-anonymity, subset-k-anonymity, k-map",
        ),
        (SIMPLE, ["k = 3"], "", "model 1 is None"),
        (SIMPLE, [K2, 'model = "k-anonymity"'], "", "model 2"),
        (SIMPLE, ['model = "k-anonymity"\nk = 0'], "", "whole number from 1"),
        (SIMPLE, ['model = "k-anonymity"\nk = true'], "", "whole number from 1"),
        (SIMPLE, ['model = "k-anonymity"\nk = 2.5'], "", "whole number from 1"),
        (SIMPLE, [K2 + "\nl = 3"], "", "does not know 'l'"),
        (SIMPLE, ['model = "l-diversity"\nl = 2\nkind = "recursive"'], "", "c must be given"),
        (SIMPLE, ['model = "l-diversity"\nl = 2\nattribute = "zip"'], "", "'zip' is no column"),
        (SIMPLE, [t(1.5)], "", "from 0 to 1"),
        (SIMPLE, [t(math.nan)], "", "from 0 to 1"),
        (SIMPLE, [t(distance="far")], "", "ordered, hierarchical, equal"),
        (SIMPLE[:1], [t()], "", "role 'sensitive'"),
        (SIMPLE[1:], [K2], "", "role 'quasi'"),
        ([], [K2], "", "no columns"),
        ([entry("zip", "qi")], [K2], "", "role of column 'zip'"),
        ([entry("zip", "quasi", "kind = 'int'")], [K2], "", "kind of column 'zip'"),
        (SIMPLE, [K2], "max_suppression = 2", "max_suppression"),
        (SIMPLE, [K2], "max_suppression = 'a'", "max_suppression"),
        (SIMPLE, [K2], "null_values = '?'", "list of texts"),
        (SIMPLE, [K2], "null_values = ['*']", "suppressed cell"),
        (SIMPLE, [K2], "x = ", "no readable TOML"),
    ],
)
def test_policy_errors(check, columns, models, head, message):
    with pytest.raises(PolicyError, match=message) as caught:
        check("zip,x\n1*,a\n1*,b\n", columns, models, head)
    assert "policy.toml" in str(caught.value)


def test_policy_must_be_there_and_of_a_known_version(tmp_path):
    with pytest.raises(PolicyError, match=r"none\.toml.*cannot be read"):
        verify(tmp_path / "data.csv", tmp_path / "none.toml")
    for version in ("", "version = 2", "version = true"):
        (tmp_path / "p.toml").write_text(version)
        with pytest.raises(PolicyError, match="version = 1"):
            verify(tmp_path / "data.csv", tmp_path / "p.toml")
