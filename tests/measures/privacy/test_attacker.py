"""Attackers with some of the quasi-identifiers, compared with groups of rows read from the cells."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from crossed import crossed
from people_readings import Reading, people_table

QUASI = ("age", "town", "cost")
TREES = {
    "age": ic.Hierarchy.intervals(2, 4, 8, 16, 32),
    "town": ic.Hierarchy.from_nested({"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}),
    "cost": ic.Hierarchy.intervals(2, 4, 8),
}
ALGORITHMS = ["mondrian", "optimal", "datafly", "samarati", "bottom-up", "k-member", "mdav", "cell-suppression", "optimal:recode_suppressed=true", "datafly:recode_suppressed=true,rounds=search"]  # fmt: skip


def schema(*, person: bool) -> ic.Schema:
    return ic.Schema(quasi=TREES, sensitive=["ill"], person="person" if person else (), unlisted="drop")


def groups(table: pl.DataFrame, whose: list, columns) -> Reading:
    """Group rows as an attacker with some columns does, where suppressed rows are in no group."""
    cells = [table[name].to_list() for name in QUASI]
    rows = [row for row in range(len(table)) if {column[row] for column in cells} != {"*"}]
    return Reading(
        [whose[row] for row in rows],
        [[cells[QUASI.index(name)][row] for row in rows] for name in columns],
        {"ill": [table["ill"][row] for row in rows]},
    )


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_an_attacker_sees_groups_of_what_is_known(seed, person):
    table = people_table(seed, people=25)
    whose = table["person"].to_list() if person else list(range(len(table)))
    asked = [
        ic.Attacker(
            "x", known, [ic.KAnonymity(2), ic.LDiversity(1), ic.AlphaKAnonymity(1.0, 1), ic.AverageRisk(1.0)]
        )
        for known in (["age"], ["town", "cost"], QUASI)
    ]
    plain = table.with_columns(pl.col("age", "cost").cast(pl.String))
    measures = ic.assess(plain, schema(person=person), asked).privacy
    for attacker, measured in zip(asked, [measures[i : i + 5] for i in range(0, 15, 5)], strict=True):
        reading = groups(plain, whose, attacker.knows)
        expected = [reading.k(), reading.distinct("ill"), reading.alpha("ill"), reading.k(), reading.average_risk()]  # fmt: skip
        assert [each.value for each in measured] == pytest.approx(expected, abs=1e-12)
        assert {each.attacker for each in measured} == {"x"}
        assert measured[0].weakest.cells.keys() == set(attacker.knows)
        small = {cell for cell, people in reading.classes.items() if len(people) < 2}
        assert measured[0].failing[0] == len(small)


@pytest.mark.few(1)
@pytest.mark.parametrize(("algorithm", "person"), crossed(ALGORITHMS, [False, True]))
def test_every_algorithm_keeps_every_attacker_out(algorithm, person):
    releases = 0
    for seed in range(3):
        table = people_table(seed, people=70)
        models = [
            ic.KAnonymity(2),
            ic.Attacker("neighbour", ["age", "town"], [ic.KAnonymity(4), ic.LDiversity(2)]),
            ic.Attacker("insurer", ["cost"], ic.KAnonymity(9)),
        ]
        try:
            release = ic.anonymize(table, schema(person=person), models, algorithm, max_suppression=0.2, suppressed="keep", keep_order=True, force=True)  # fmt: skip
        except ic.InfeasibleError:
            continue
        whose = table["person"].to_list() if person else list(range(len(table)))
        for known, k in ((QUASI, 2), (["age", "town"], 4), (["cost"], 9)):
            assert groups(release.table, whose, known).k() >= k, (algorithm, seed, known)
        assert groups(release.table, whose, ["age", "town"]).distinct("ill") >= 2
        releases += 1
    assert releases


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.0, 0.1])
def test_the_optimum_for_attackers_loses_least_of_all_nodes(limit):
    table = people_table(8, people=60)
    models = [
        ic.Attacker("a", ["age"], ic.KAnonymity(15)),
        ic.Attacker("b", ["town", "cost"], ic.KAnonymity(4)),
    ]
    keeping = {"max_suppression": limit, "suppressed": "keep", "keep_order": True, "force": True}
    best = ic.anonymize(table, schema(person=False), models, "optimal", **keeping)
    union = ic.anonymize(table, schema(person=False), "k-anonymity:15", "optimal", **keeping)
    assert best.utility["loss"].value < union.utility["loss"].value
    result = []
    for levels in product(range(7), range(3), range(5)):
        fixed = dict(zip(QUASI, levels, strict=True))
        try:
            node = ic.anonymize(table, schema(person=False), models, levels=fixed, **keeping)
        except ic.InfeasibleError:
            # Without suppression a node fails just where a group is too small.
            if limit == 0 and levels != (6, 2, 4):
                raw = ic.anonymize(table, schema(person=False), "k-anonymity:1", levels=fixed, **keeping)
                whose = list(range(len(table)))
                assert groups(raw.table, whose, ["age"]).k() < 15 or groups(raw.table, whose, ["town", "cost"]).k() < 4  # fmt: skip
            continue
        result.append(node.utility["loss"].value)
    assert best.utility["loss"].value == min(result)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_attackers_for_all_sets_of_columns_are_lkc(seed, known):
    table = people_table(seed, people=20).with_columns(pl.col("age", "cost").cast(pl.String))
    attackers = [
        ic.Attacker(str(columns), columns, ic.AlphaKAnonymity(1.0, 1))
        for columns in combinations(QUASI, known)
    ]
    lkc = ic.assess(table, schema(person=True), [ic.LKCPrivacy(known, 1, 1.0)]).privacy
    measures = ic.assess(table, schema(person=True), attackers).privacy[: 2 * len(attackers)]
    by = defaultdict(list)
    for measured in measures:
        by[measured.quantity].append(measured.value)
    limits = {measured.quantity: measured.value for measured in lkc[:2]}
    assert limits == {"C": pytest.approx(max(by["alpha"])), "K": min(by["k"])}


def test_a_policy_names_attackers(tmp_path):
    text = """version = 1
[columns.age]
role = "quasi"
[columns.town]
role = "quasi"
[[models]]
model = "k-anonymity"
k = 2
[[attackers]]
name = "insurer"
knows = ["age"]
k = 5
[[attackers]]
name = "neighbour"
knows = ["age", "town"]
models = [{ model = "l-diversity", l = 2, kind = "entropy" }]
"""
    (tmp_path / "p.toml").write_text(text)
    policy = ic.Policy.read(tmp_path / "p.toml")
    assert policy.models == (
        ic.KAnonymity(2),
        ic.Attacker("insurer", ["age"], ic.KAnonymity(5)),
        ic.Attacker("neighbour", ["age", "town"], ic.LDiversity(2, "entropy")),
    )
    (tmp_path / "again.toml").write_text(policy.to_toml())
    assert ic.Policy.read(tmp_path / "again.toml").models == policy.models
    assert str(policy.models[1]) == "insurer (age): k-anonymity(k=5)"
    for old, new, problem in (
        ("k = 5", "", "attacker 'insurer': give at least one model"),
        ("k = 5", "q = 5", "unknown setting 'q'"),
        ('knows = ["age"]', "knows = []", "attackers.0.knows"),
        ('model = "l-diversity", ', "", "attackers.1.models.0: name the model"),
    ):
        (tmp_path / "bad.toml").write_text(text.replace(old, new))
        with pytest.raises(ic.InputError, match=problem):
            ic.Policy.read(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ic.Attacker("", ["age"], ic.KAnonymity(2)), "give a name"),
        (lambda: ic.Attacker("x", [], ic.KAnonymity(2)), "knows no column"),
        (lambda: ic.Attacker("x", ["age"], []), "give at least one model"),
        (lambda: ic.Attacker("x", ["age"], ic.LKCPrivacy(1, 2, 0.5)), "says itself who knows what"),
        (lambda: ic.Attacker("x", ["age"], ic.KMap(2)), "says itself who knows what"),
        (
            lambda: ic.assess(people_table(1), schema(person=False), ic.Attacker("x", ["job"], ic.KAnonymity(2))),
            "attacker 'x' knows 'job', which is no quasi-identifier; those are 'age', 'town', 'cost'",
        ),
        (
            lambda: ic.anonymize(people_table(1), schema(person=False), ic.Attacker("x", ["job"], ic.KAnonymity(2))),
            "attacker 'x' knows 'job'",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_attacker_is_refused(make, problem):
    with pytest.raises(ic.InputError, match=problem):
        make()


@pytest.mark.slow
def test_reports_name_the_attacker(tmp_path):
    table = people_table(3, people=70)
    models = [ic.Attacker("insurer", ["cost"], ic.KAnonymity(9))]
    release = ic.anonymize(
        table, schema(person=True), models, "optimal", max_suppression=0.1, suppressed="keep"
    )
    text = " ".join(release.sentences())
    assert "k-anonymity against insurer holds: k is 28, asked was >= 9" in text
    assert "against whoever knows cost, and nothing else" in text
    release.report(tmp_path / "r.html")
    assert "insurer" in (tmp_path / "r.html").read_text()
    assert release.to_dict()["after"]["privacy"][0]["attacker"] == {"name": "insurer", "knows": ["cost"]}
