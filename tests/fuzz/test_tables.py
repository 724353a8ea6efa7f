"""The oracle of count tables tells known facts, and a few random tables tell nothing."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from fuzz import table_oracle, tables
from fuzz.table_oracle import Rules, World

FEW = [{"who": who, "h": h, "v": v} for who, h, v in
       [(1, "x", 50.0), (1, "y", 40.0), (2, "z", 60.0), (3, "z", 60.0), (4, "z", 60.0), (5, "w", 0.1)]]  # fmt: skip
BELOW = {"h": {"Total": ["w", "x", "y", "z"]}}


def world():
    rules = {"sum": "v", "count": "people", "threshold": 2, "width": 2, "zeros": "show"}
    return World(FEW, BELOW, [Rules(("h",), dominance=None, p_percent=20.0, **rules)])


def cell(code):
    return frozenset([("h", code)])


@pytest.mark.parametrize(
    ("hidden", "kinds"),
    [
        ("", {"shown"}),
        ("xw", {"shown", "union", "narrow", "narrow for one"}),
        # One person has x and y, and the total tells their sum.
        ("xyw", {"union", "narrow for one"}),
        ("wxyz", set()),
    ],
)
def test_the_oracle_tells_what_is_told(hidden, kinds):
    told = {each.kind for each in world().told({cell(code) for code in hidden}, Counter())}
    assert told == kinds


def test_the_oracle_imports_nothing_of_what_it_judges():
    tree = ast.parse(Path(table_oracle.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
    assert not [name for name in modules if "incrowd" in name or "fuzz" in name]


@pytest.mark.parametrize("seed", [5, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 30))])
def test_a_random_case_has_no_findings(seed, tmp_path):
    assert [*tables.try_case(tables.case_of(seed), tmp_path, Counter())] == []
