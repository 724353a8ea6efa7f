"""Slips in calls: understood with a single meaning, and otherwise named with the way out."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic

TABLE = pl.DataFrame({"age": [30, 30, 31, 31, 40, 41], "zip": list("AABBCC"), "ill": ["flu", "cold"] * 3})
SCHEMA = ic.Schema(quasi=["age", "zip"], sensitive=["ill"])
MODELS = [ic.KAnonymity(2)]


@pytest.mark.few(11)
@pytest.mark.parametrize(
    "models", [ic.KAnonymity(2), "k-anonymity:2", ["k-anonymity:2"], MODELS, tuple(MODELS)]
)
@pytest.mark.parametrize("algorithm", [None, ic.Mondrian(), ic.Mondrian, "mondrian", "mondrian:mode=strict"])
def test_one_model_or_several_and_algorithms_by_name_or_class(models, algorithm):
    expected = ic.anonymize(TABLE, SCHEMA, MODELS, ic.Mondrian())
    release = ic.anonymize(TABLE, SCHEMA, models, algorithm)
    assert release.table.equals(expected.table)
    assert release.policy == expected.policy


def test_every_job_takes_them_alike():
    assert ic.assess(TABLE, SCHEMA, "k-anonymity:9").holds is False
    assert ic.Policy(SCHEMA, "k-anonymity:2", "optimal").algorithm == ic.Optimal()
    one = ic.compare(TABLE, SCHEMA, "mondrian", k=2)
    assert [run.algorithm for run in one.runs] == ["mondrian"]
    both = ic.compare(TABLE, SCHEMA, [ic.Mondrian, "datafly"], k=[2], seeds=0)
    assert [run.algorithm for run in both.runs] == ["mondrian", "datafly"]
    assert ic.anatomize(TABLE, SCHEMA, "l-diversity:2").l == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: ic.anonymize(TABLE, SCHEMA, [ic.KAnonymity]),
            r"KAnonymity is a class; .* ic.KAnonymity\(k=...\)",
        ),
        (lambda: ic.anonymize(TABLE, SCHEMA, [5]), "int is no privacy model; use ic.KAnonymity"),
        (lambda: ic.assess(TABLE, SCHEMA, ic.KAnonymity), "KAnonymity is a class"),
        (lambda: ic.anonymize(TABLE, SCHEMA, MODELS, 3), "int is no algorithm; use ic.Mondrian"),
        (lambda: ic.anonymize(TABLE, SCHEMA, MODELS, ic.KAnonymity(2)), "KAnonymity is no algorithm"),
        (
            lambda: ic.anonymize(TABLE, SCHEMA, MODELS, ic.TopDownSpecialization),
            r"TopDownSpecialization is a class; give it its parameters, .*\(target=...\)",
        ),
        (
            lambda: ic.anonymize(TABLE, {"quasi": ["age"]}, MODELS),
            "schema must be a Schema or a Policy.*is a dict",
        ),
        (lambda: ic.anonymize(TABLE, ["age"], MODELS), "schema must be a Schema or a Policy.*is a list"),
        (lambda: ic.anonymize(TABLE, "policy.toml"), r"read a policy file with ic.Policy.read\(path\)"),
        (lambda: ic.assess(TABLE, ["age"]), "schema must be a Schema, .*is a list"),
        (lambda: ic.compare(TABLE, ["age"], "mondrian", k=2), "schema must be a Schema or a Policy"),
        (lambda: ic.anatomize(TABLE, ["age"], "l-diversity:2"), "schema must be a Schema or a Policy"),
    ],
)
def test_what_has_no_one_meaning_is_named(call, words):
    with pytest.raises(ic.InputError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ic.assess(TABLE, ic.Schema(quasi=["agee", "zip"])), "age"),
        (lambda: ic.anonymize(TABLE, SCHEMA, "k-anonimity:2"), "k-anonymity"),
        (lambda: ic.anonymize(TABLE, SCHEMA, MODELS, "mondrain"), "mondrian"),
        (lambda: ic.anonymize(TABLE, SCHEMA, MODELS, "optimal:metrik=ncp"), "metric"),
        (lambda: ic.Optimal(metric="los"), "loss"),
        (lambda: ic.anonymize(TABLE, SCHEMA, MODELS, output="rnge"), "range"),
        (lambda: ic.anonymize(TABLE, SCHEMA, MODELS, levels={"agee": 1}), "age"),
        (lambda: ic.attack(TABLE, TABLE, SCHEMA, kinds=["linkag"]), "linkage"),
    ],
)
def test_a_name_that_is_nearly_known_is_asked_about(call, name):
    with pytest.raises(ic.InputError, match=f"did you mean '{name}'"):
        call()


def test_nothing_is_suggested_where_nothing_is_near():
    with pytest.raises(ic.PolicyError) as error:
        ic.anonymize(TABLE, SCHEMA, "security:2")
    assert "did you mean" not in str(error.value)
