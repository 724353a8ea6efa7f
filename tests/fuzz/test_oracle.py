"""The oracle recognizes a wrong release, and shares no code with the program."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from fuzz import checks, mutations, oracle, shrink
from fuzz.checks.again import into, written
from fuzz.checks.batches import applied
from fuzz.checks.errors import leaks
from fuzz.checks.made import read_release
from fuzz.checks.overlaps import deduced, overlaps
from fuzz.checks.released import types
from fuzz.checks.series import series
from fuzz.draw import FAR, Draw
from fuzz.sources import Placed, Services, frame_of, placed, read_csv
from incrowd_gate.rules.columns import Values
from people_readings import Reading, people_table

AGES = ["1", "2", "3", "4", "5", "6", "7", "8"]
CITIES = ["a", "a", "b", "b", "c", "c", "d", "d"]
ILL = ["flu", "cold", "flu", "cold", "flu", "cold", "flu", "cold"]
PATHS = [["a", "A", "*"], ["b", "A", "*"], ["c", "B", "*"], ["d", "B", "*"]]


def case(**changes):
    result = {
        "source": "polars",
        "columns": [
            {"name": "rid", "type": "text", "role": "insensitive", "rid": True, "cells": [f"r{n}" for n in range(8)]},
            {"name": "age", "type": "int", "role": "quasi", "cells": AGES},
            {"name": "city", "type": "text", "role": "quasi", "cells": CITIES, "paths": PATHS},
            {"name": "ill", "type": "text", "role": "sensitive", "cells": ILL},
            {"name": "who", "type": "text", "role": "identifying", "cells": [f"Person {n}" for n in range(8)]},
        ],
        "null_values": [], "others": None, "max_suppression": 0.0, "output": "auto", "keep_order": False, "seed": 0,
        "models": [{"model": "k-anonymity", "k": 2}, {"model": "l-diversity", "l": 2, "kind": "distinct"}],
        "algorithm": {"name": "mondrian"},
    }  # fmt: skip
    return result | changes


def made(tmp_path, tamper=lambda table: table, **changes):
    """Make a release, tamper with the release, and read the result as the checks do."""
    asked = case(**changes)
    policy = checks.policy_of(asked)
    frame = frame_of(asked["columns"])
    release = ic.anonymize(frame, policy)
    tampered = replace(release, table=tamper(release.texts), _texts=None)
    return read_release(asked, policy, tampered, Placed(frame, frame), Services(tmp_path))


def found(tmp_path, check, tamper=lambda table: table, **changes):
    read, problems = made(tmp_path, tamper, **changes)
    if read is None:
        return [finding.check for finding in problems]
    return [finding.check for finding in check(read, Services(tmp_path), checks.Outcome("released"))]


def cell(name, row, value):
    return lambda table: table.with_columns(
        pl.Series(name, [value if n == row else v for n, v in enumerate(table[name])])
    )


OPTIMAL = {"algorithm": {"name": "optimal"}, "max_suppression": 0.0}
WRONG = {
    "a range one rank too narrow": (checks.truth, cell("age", 0, "[2-3]"), {}, "truth"),
    "a range above the value": (checks.truth, cell("age", 0, "[2-5]"), {}, "truth"),
    "another group": (checks.truth, cell("city", 0, "B"), {}, "truth"),
    "a missing cell": (checks.truth, cell("city", 0, None), {}, "truth"),
    "a set without the value": (checks.truth, cell("age", 0, "{2, 3}"), {"output": "set"}, "truth"),
    "a NUL": (checks.truth, cell("age", 0, "\0missing"), {}, "nul"),
    "a range too wide": (checks.narrow, cell("age", 0, "[1-9]"), {}, "narrow"),
    "a wrong mean": (checks.narrow, cell("age", 0, "1.75"), {"output": "mean"}, "narrow"),
    "a wrong mode": (checks.narrow, cell("city", 0, "d"), {"output": "mean"}, "narrow"),
    "a cell off its level": (checks.levels, cell("city", 0, "Z"), OPTIMAL, "levels"),
    "more suppressed than may be": (
        checks.suppression,
        lambda table: cell("city", 0, "*")(cell("age", 0, "*")(table)),
        {},
        "suppression",
    ),
    "a class of one": (checks.models, cell("age", 0, "[1-7]"), {}, "model k-anonymity"),
    "a class of one illness": (
        checks.models,
        lambda table: table.with_columns(ill=pl.lit("flu")),
        {},
        None,
    ),
    "sensitive values changed": (checks.columns, cell("ill", 0, "gout"), {}, "others"),
    "an identifying column": (checks.columns, lambda table: table.with_columns(who=pl.lit("x")), {}, "columns"),
    "a column that is gone": (checks.columns, lambda table: table.drop("ill"), {}, "columns"),
    "a row that is gone": (checks.columns, lambda table: table[1:], {}, "rows"),
    "rows in another order": (checks.columns, lambda table: table[::-1], {}, "order"),
    "figures of another table": (checks.account, cell("age", 0, "[1-7]"), {}, "account"),
    "a measure of another table": (checks.account, cell("age", 0, "[1-7]"), {}, "measured k-anonymity"),
    "a loss of another table": (checks.loss, cell("age", 0, "[1-7]"), {}, "utility discernibility"),
    "a file of another table": (checks.engines, cell("age", 0, "[1-7]"), {"source": "pyarrow"}, "engines"),
    "another release by the policy": (checks.policy_back, cell("age", 0, "[1-7]"), {}, "policy"),
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_release_is_found(tmp_path, what):
    check, tamper, changes, expected = WRONG[what]
    assert found(tmp_path, check, **changes) == []
    if expected is None:
        # Sensitive values are read from the raw table, so that a change is told by the check of columns.
        assert "others" in found(tmp_path, checks.columns, tamper, **changes)
    else:
        assert expected in found(tmp_path, check, tamper, **changes)


PEOPLE = {
    "columns": [
        *case()["columns"],
        {"name": "visitor", "type": "text", "role": "person", "cells": [f"Planted-id-{n}" for n in (1, 2, 1, 2, 3, 4, 3, None)]},
    ],
    "attackers": [{"name": "x", "knows": ["city"], "models": [{"model": "k-anonymity", "k": 2}]}],
}  # fmt: skip
SHARED = PEOPLE | {
    "models": [{"model": "km-anonymity", "k": 2, "power": 2}],
    "algorithm": {"name": "optimal"},
}


@pytest.mark.parametrize("changes", [{"ill": "gout"}, {"age": "[1-9]"}, {"city": "a "}, None])
def test_a_wrong_table_in_a_database_is_found(tmp_path, changes):
    asked = case(**PEOPLE, source="sqlite") | {"models": case()["models"][:1]}
    stored = {"visitor": "caseless", "city": "caseless"}
    services = Services(tmp_path)
    with placed("sqlite", frame_of(asked["columns"]), services, stored) as place:
        policy = checks.policy_of(asked)
        release = ic.anonymize(place.table, policy)
        read, problems = read_release(asked, policy, release, place, services)
        assert problems == []
        back = place.back
        if changes is not None:
            place.back = lambda: [row | changes for row in back()]
        findings = list(into(read, services, checks.Outcome("released")))
    assert [finding.check for finding in findings] == [] if changes is None else ["into"]


def rows_of(name, cells):
    return lambda table: table.with_columns(pl.Series(name, cells))


PEOPLE_WRONG = {
    "a class of one person's two rows": (
        lambda table: rows_of("city", ["A", "Z", "A", "Z", "B", "B", "B", "B"])(
            rows_of("age", ["[1-3]", "[2-4]", "[1-3]", "[2-4]", "[5-8]", "[5-8]", "[5-8]", "[5-8]"])(table)
        ),
        PEOPLE, checks.models, "model k-anonymity",
    ),
    "a group of one person for an attacker": (
        rows_of("city", ["a", "A", "a", "A", "B", "B", "B", "B"]), PEOPLE, checks.models,
        "model k-anonymity against an attacker",
    ),
    "two classes that only one person is in both of": (
        lambda table: rows_of("city", ["A", "A", "B", "A", "B", "B", "B", "A"])(
            rows_of("age", ["*"] * 8)(table)
        ),
        SHARED, checks.models, "model km-anonymity",
    ),
    "figures of other people": (
        rows_of("city", ["a", "A", "a", "A", "B", "B", "B", "B"]), PEOPLE, checks.account, "account",
    ),
    "a column of people": (lambda table: table.with_columns(visitor=pl.lit("x")), PEOPLE, checks.columns, "columns"),
}  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("what", PEOPLE_WRONG)
def test_a_release_that_is_wrong_by_people_is_found(tmp_path, what):
    tamper, changes, check, expected = PEOPLE_WRONG[what]
    assert found(tmp_path, check, **changes) == []
    assert expected in found(tmp_path, check, tamper, **changes)


def test_an_id_of_a_person_is_found_wherever_it_stands(tmp_path):
    read, _ = made(tmp_path, **PEOPLE)
    services, outcome = Services(tmp_path), checks.Outcome("released")
    assert list(checks.nobody(read, services, outcome)) == []
    document = read.release.to_dict()
    read.release = SimpleNamespace(
        to_dict=lambda: document | {"note": "Planted-id-3 came twice"}, report=lambda path: path.write_text(""),
        recoding=read.release.recoding, write=read.release.write, write_row_map=read.release.write_row_map,
    )  # fmt: skip
    assert [each.check for each in checks.nobody(read, services, outcome)] == ["nobody"]


def test_a_release_that_changes_with_a_person_column_of_one_row_each_is_found(tmp_path):
    once = [
        column | {"cells": [f"Planted-id-{n}" for n in range(8)]} if column["role"] == "person" else column
        for column in PEOPLE["columns"]
    ]
    services, outcome = Services(tmp_path), checks.Outcome("released")
    for tamper, expected in ((lambda table: table, []), (cell("age", 0, "[1-7]"), ["one row each"])):
        read, _ = made(tmp_path, tamper, columns=once)
        assert [each.check for each in checks.one_row_each(read, services, outcome)] == expected
    assert ("person", "one row each") in outcome.met


@pytest.mark.parametrize("seed", range(4))
def test_people_are_counted_as_the_other_reading_counts_them(seed):
    """`people_readings` was written apart from the oracle."""
    table = people_table(seed)
    spec = {name: oracle.Spec(name, "sensitive") for name in ("ill", "cost")}
    everywhere = [True] * len(table)
    sensitive = {
        name: oracle.read_column(each, table[name].to_list(), (), everywhere) for name, each in spec.items()
    }
    cells = [table[name].to_list() for name in ("age", "town")]
    whose = oracle.read_people([table["person"].to_list()], ())
    here = oracle.group(cells, sensitive, whose)
    there = Reading(table["person"].to_list(), cells, {name: table[name].to_list() for name in spec})

    def value(model, quantity="", attribute=None, **settings):
        return oracle.measure(model, quantity or oracle.LIMITS[model][0], settings, attribute, here)

    near = pytest.approx
    assert (here.everyone, here.left) == (len(there.everybody), len(there.present()))
    assert value("k-anonymity") == there.k()
    assert value("average-risk") == near(there.average_risk())
    assert value("records-at-risk", threshold=0.3) == near(there.at_risk(0.3))
    for power in range(4):
        assert value("km-anonymity", power=power) == there.km(power)[0]
    for name in spec:
        assert value("l-diversity", attribute=name) == there.distinct(name)
        assert value("l-diversity", attribute=name, kind="entropy") == near(there.entropy(name))
        assert value("l-diversity", attribute=name, kind="recursive", c=3) == there.recursive(name, 3)
        assert value("l-diversity", attribute=name, joint=True) == there.joint_distinct(name)
        assert value("normalized-entropy", attribute=name) == near(there.normalized(name))
        assert value("t-closeness", attribute=name, distance="equal") == near(there.equal_distance(name))
        assert value("alpha-k-anonymity", attribute=name) == near(there.alpha(name))
        assert value("alpha-k-anonymity", attribute=name, joint=True) == near(there.joint_alpha(name))
        assert value("beta-likeness", attribute=name) == near(there.gain(name))
        assert value("delta-disclosure", attribute=name) == near(there.log_ratio(name))
        known = there.lkc(name, 1, 2)
        assert value("subset-k-anonymity", of=1) == known[0]
        assert value("lkc-privacy", "K", name, L=1) == known[0]
        assert value("lkc-privacy", "C", name, L=1) == near(known[1])
    assert value("t-closeness", attribute="cost", distance="ordered") == near(there.ordered_distance("cost"))


def classes(*counts, paths=None):
    """Classes with so many records of each sensitive value."""
    values = [str(value) for row in counts for value, n in enumerate(row) for _ in range(n)]
    cells = [f"c{number}" for number, row in enumerate(counts) for n in row for _ in range(n)]
    column = oracle.read_column(oracle.Spec("s", "sensitive", paths=paths), values, (), [True] * len(values))
    return oracle.group([cells], {"s": column})


JUST_MET = [
    ("t-closeness", {"t": 0.5}, classes([1, 0], [0, 1])),
    ("l-diversity", {"l": 2, "kind": "entropy"}, classes([2, 2], [3, 3])),
    ("l-diversity", {"l": 3, "kind": "distinct"}, classes([1, 1, 1], [2, 1, 3])),
    ("l-diversity", {"l": 2, "kind": "recursive", "c": 3}, classes([5, 1, 1], [1, 1, 1])),
    ("k-anonymity", {"k": 3}, classes([1, 2], [3, 1])),
    ("alpha-k-anonymity", {"alpha": 0.75, "k": 4}, classes([1, 3], [2, 2])),
    ("beta-likeness", {"beta": 0.5}, classes([3, 1], [1, 3])),
    ("delta-disclosure", {"delta": 0.6931471805599453}, classes([1, 3], [3, 1])),
    ("maximum-risk", {"risk": 0.5}, classes([1, 1], [2, 3])),
    ("average-risk", {"risk": 0.4}, classes([1, 1], [2, 1])),
    ("records-at-risk", {"share": 0.4, "threshold": 0.4}, classes([1, 1], [2, 1])),
    ("normalized-entropy", {"h": 1.0, "over": "minimum"}, classes([1, 1], [2, 2])),
    ("lkc-privacy", {"L": 1, "K": 2, "C": 0.5}, classes([1, 1], [2, 2])),
    ("p29", {"score": 0.75}, classes([1, 1], [1, 1])),
    ("profitability", {"attack": "none", "adversary_cost": 150.5}, classes([1, 1], [2, 2])),
]


@pytest.mark.parametrize(
    ("model", "settings", "table"), JUST_MET, ids=lambda value: value if isinstance(value, str) else ""
)
def test_limits_are_met_and_missed(model, settings, table):
    assert oracle.holds(model, settings, table) == []
    quantity = oracle.LIMITS[model][0]
    limit = settings.get(quantity, 0)
    tighter = limit * (1.01 if (model, quantity) in oracle.MORE_IS_SAFER else 0.99)
    if model == "profitability":
        assert oracle.holds(model, settings | {"adversary_cost": 149.0}, table) != []
    else:
        assert oracle.holds(model, settings | {quantity: tighter}, table) != []


def test_the_distance_of_the_paper():
    """Table 3 of Li et al.: salaries of 3k to 11k in classes of three, of which the worst is 0.375 away."""
    table = classes(*[[int(value in row) for value in range(9)] for row in ((0, 1, 2), (3, 5, 8), (4, 6, 7))])
    assert oracle.measure("t-closeness", "t", {}, "s", table) == Fraction(3, 8)
    tree = (("0", "low", "*"), ("1", "low", "*"), ("2", "high", "*"), ("3", "high", "*"))
    split = classes([1, 1, 0, 0], [0, 0, 1, 1], paths=tree)
    assert oracle.measure("t-closeness", "t", {}, "s", split) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("cell", "key", "true"),
    [
        ("[1-5]", 5, True), ("[1-5]", 6, False), ("{1, 5}", 3, False), ("{1, 5}", 5, True), ("*", 3, True), ("3.0", 3, True),
        (None, 3, False), (None, None, True), ("[-5--1]", -3, True), ("{5, <missing>}", None, True), (r"{5, \<missing>}", None, False), ("{, 5}", None, False), ("[1-5]", None, False),
    ],
)  # fmt: skip
def test_reading_cells(cell, key, true):
    column = oracle.read_column(oracle.Spec("n", "quasi"), [key], (), [True])
    column.kind = "number"
    assert oracle.covers(column, column.keys[0], cell) is true


def test_a_label_of_a_hierarchy_is_true_of_what_is_below_it_alone():
    """A label may look like anything: ``[0-9]`` is no range here."""
    paths = (("1.10", "[0-9]", "*"), ("2.25", "others", "*"), ("99.00", "[0-9]", "*"))
    spec = oracle.Spec("n", "quasi", paths=paths)
    column = oracle.read_column(spec, [Decimal("1.10"), Decimal("2.25"), Decimal("99.00")], (), [True] * 3)
    column.of_people = True
    assert [oracle.covers(column, key, "[0-9]") for key in column.keys] == [True, False, True]


@pytest.mark.parametrize(
    ("settings", "text", "plain"),
    [
        ({"format": "%d.%m.%Y"}, " 5.3.2020", "2020-03-05"), ({"format": "%d.%m.%Y"}, "30.2.2020", None),
        ({"format": "%Y-%m-%d %H:%M:%S.%f"}, "2020-03-05 01:02:03.500", "2020-03-05T01:02:03.5"),
        ({"decimal": ",", "thousands": "."}, "-1.234,50 €", "-1234.5"), ({"thousands": ","}, "$12,34", None),
        ({"thousands": ","}, "1234,567", None), ({"decimal": ","}, "1,", None), ({"thousands": " "}, "1\u202f234", "1234"),
        ({"decimal": "."}, "-0.00 %", "0"), ({"decimal": "."}, "$5 %", None), ({"decimal": "."}, "\u22127", "-7"),
    ],
)  # fmt: skip
def test_reading_spellings(settings, text, plain):
    assert oracle.Spelling(**settings).plain(text) == plain


def test_a_spelled_column_has_the_values_that_it_says():
    spec = oracle.Spec("d", "quasi", spelling=oracle.Spelling(format="%d.%m.%Y"))
    column = oracle.read_column(
        spec, ["5.3.2020", "05.03.2020", "01.01.1900", "?"], ["?", "1900-01-01"], [True] * 4
    )
    assert (column.kind, column.keys) == ("date", ["2020-03-05", "2020-03-05", None, None])
    spec = oracle.Spec("n", "quasi", spelling=oracle.Spelling(decimal=","))
    assert oracle.read_column(spec, ["1,50", "1,5"], [], [True] * 2).keys == [Fraction(3, 2)] * 2


@pytest.mark.parametrize(
    ("raw", "nulls", "missing"),
    [
        (99, ["99"], True), (99.0, ["99"], True), (-1, ["-1"], True), ("99", ["99"], True), ("99.0", ["99"], True), ("099", ["99"], False),
        (float("nan"), [], True), (0, ["?"], False), ("?", ["?"], True), ("", [""], True), (2**53 + 1, [str(2**53)], False),
    ],
)  # fmt: skip
def test_one_meaning_of_missing(raw, nulls, missing):
    assert oracle.is_missing(raw, nulls) is missing


def test_a_csv_tells_missing_from_empty():
    assert read_csv('a,b\n,""\n"x,""y\n",z\n') == [["a", "b"], [None, ""], ['x,"y\n', "z"]]


def test_a_failing_case_gets_small():
    big = case(source="sqlite", null_values=["?"], max_suppression=0.5)

    def fails(candidate):
        return any(c["name"] == "age" and "7" in c["cells"] for c in candidate["columns"])

    small = shrink.shrink(big, fails, seconds=20)
    assert small["source"] == "polars"
    assert [column["name"] for column in small["columns"] if not column.get("rid")] == ["age"]
    assert next(column["cells"] for column in small["columns"] if column["name"] == "age") == ["7"]
    assert small["null_values"] == []


def test_the_oracle_imports_nothing_of_what_it_judges():
    pages = [page.read_text() for page in Path(oracle.__file__).parent.glob("*.py")]
    assert len(pages) > 3
    names = {
        name
        for page in pages
        for node in ast.walk(ast.parse(page))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        )
    }
    foreign = {name for name in names if not name.startswith("fuzz.oracle.")}
    assert {name.partition(".")[0] for name in foreign} <= sys.stdlib_module_names


def test_a_value_that_the_policy_names_may_be_in_a_message_and_another_may_not():
    """A value of the policy may have any marks, such as a line break."""
    named, other = "line\nbreak, 1", "line\nbreak, 2"
    model = {"model": "alpha-k-anonymity", "alpha": 0.4, "k": 3, "value": named}
    columns = [{"name": "s", "type": "text", "role": "sensitive", "cells": [named, other]}]
    asked, place = case(columns=columns, models=[model]), Placed(None, pl.DataFrame())
    assert leaks(asked, place, f"value={named} fails") == []
    assert [each.check for each in leaks(asked, place, f"value={other} fails")] == ["leak"]


def test_numbers_that_are_not_those_of_the_texts_are_found(tmp_path):
    asked = case(output="mean", keep_order=True)
    frame = frame_of(asked["columns"])
    release = ic.anonymize(frame, checks.policy_of(asked), force=True)
    assert release.table["age"].dtype == pl.Float64
    place, services = Placed(frame, frame), Services(tmp_path)
    for shift, expected in ((0.0, []), (0.5, ["types"])):
        tampered = replace(
            release, table=release.table.with_columns(pl.col("age") + shift), _texts=release.texts
        )
        read, _ = read_release(asked, tampered.policy, tampered, place, services)
        assert [each.check for each in types(read, services, checks.Outcome("released"))] == expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(FAR))
def test_a_number_far_from_all_others_is_drawn_and_has_to_be_told_by_the_verifier(
    tmp_path, monkeypatch, kind
):
    columns = [each | {"cells": each["cells"] * 10} for each in case()["columns"]]
    columns[0]["cells"] = [f"r{n:02}" for n in range(80)]
    columns.append({"name": "pay", "type": kind, "role": "insensitive", "cells": ["0"] * 80})
    Draw(4, [], [], [], Counter()).outlier(columns)
    asked = case(columns=columns, models=[{"model": "k-anonymity", "k": 2}])
    frame = frame_of(asked["columns"])
    place, services = Placed(frame, frame), Services(tmp_path)
    release = checks.anonymized(asked, checks.policy_of(asked), place)
    read, _ = read_release(asked, release.policy, release, place, services)
    outcome = checks.Outcome("released")
    assert list(written(read, services, outcome)) == []
    assert ("point", "outlying-value") in outcome.met
    monkeypatch.setattr(
        "incrowd_verify.release_points.ReleasedRows.values", lambda *_: Values(pl.Series([0]), np.array([80]))
    )
    assert [each.check for each in written(read, services, outcome)] == ["verify points"]


def batches(**asked):
    """A case with two batches: a single row, and four equal rows."""
    rows = {"batch": (["b0"], [0]), "later": (["l0", "l1", "l2", "l3"], [0, 1, 0, 1])}
    columns = [
        column
        | {
            what: names if column.get("rid") else [column["cells"][row] for row in places]
            for what, (names, places) in rows.items()
        }
        for column in case()["columns"]
    ]
    told = {"beside": False, "as_one": False, "hold": False} | asked
    return {"columns": columns, "batches": told, "algorithm": {"name": "optimal"}, "max_suppression": 0.5}


BATCHES = {
    "a batch that is judged only together": (
        "later rows are judged only together with the earlier release", {"beside": True}, "apply model k-anonymity",
    ),
    "held rows that are lost": ("rows that were held are lost", {"hold": True}, "apply rows"),
    "waiting rows that leave": ("rows that wait leave, too", {"hold": True}, None),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("what", BATCHES)
def test_a_wrong_batch_is_found(tmp_path, what):
    name, settings, expected = BATCHES[what]
    changes = batches(**settings)
    assert found(tmp_path, applied, **changes) == []
    with mutations.broken(name):
        problems = found(tmp_path, applied, **changes)
    assert expected in problems if expected else problems
    one = batches(beside=True, as_one=True)
    assert found(tmp_path, applied, **one) == []


@pytest.mark.slow
def test_values_that_follow_from_overlapping_releases_are_found(tmp_path):
    """People leave a class: a person with a rare value who leaves among few is exposed by that."""
    rows = {"rid": [f"r{n}" for n in range(12)], "age": ["1"] * 12, "city": ["a"] * 12, "who": ["p"] * 12}
    rows["ill"] = ["flu"] * 7 + ["cold"] * 3 + ["HIV"] * 2
    columns = [each | {"cells": rows[each["name"]]} for each in case()["columns"]]
    told = 0
    for seed in range(12):
        assert found(tmp_path, overlaps, columns=columns, seed=seed) == []
        with mutations.broken("what several releases tell together is not asked"):
            told += "overlaps" in found(tmp_path, overlaps, columns=columns, seed=seed)
    assert told > 1


def test_bounds_find_the_value_of_who_left():
    january = (
        dict.fromkeys("abcdef", ("x", "flu")) | dict.fromkeys("ghi", ("x", "cold")) | {"j": ("x", "HIV")}
    )
    february = {who: cell for who, cell in january.items() if who != "j"} | {"n": ("x", "flu")}
    assert deduced([january, february], 2) == {"j", "n"}
    assert deduced([january, january], 2) == deduced([january], 2) == set()


SERIES = {
    "earlier signatures of a series are forgotten": "series refused",
    "counterfeit records are not counted": "series counterfeits",
}


@pytest.mark.few(1)
@pytest.mark.parametrize("what", SERIES)
def test_a_wrong_series_is_found(tmp_path, what):
    """Twelve people with four illnesses, of whom some leave and come back."""
    rows = {
        "rid": [f"r{n}" for n in range(12)],
        "age": AGES,
        "city": CITIES,
        "who": [str(n) for n in range(12)],
    }
    rows["ill"] = ["flu", "flu", "flu", "cold", "gout", "HIV"]
    columns = [each | {"cells": (rows[each["name"]] * 3)[:12]} for each in case()["columns"]]
    assert found(tmp_path, series, columns=columns) == []
    with mutations.broken(what):
        assert SERIES[what] in found(tmp_path, series, columns=columns)
