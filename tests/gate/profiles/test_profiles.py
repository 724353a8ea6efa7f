"""The built-in profiles, files of a user, and a policy's settings for a profile."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest

import incrowd as ic
from incrowd.core.errors import InputError, PolicyError
from incrowd_gate.profiles import PROFILES, Choice, Context, read_profile
from incrowd_verify.clause_checks import CHECKS

POLICY = """
version = 1
[columns.age]
role = "quasi"
[columns.diagnosis]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 5
"""


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_dated_and_each_clause_has_a_source_and_a_known_check(name):
    profile = read_profile(name)
    assert read_profile(profile.full_name) == profile
    assert len(profile.version) == len("2026-01")
    for clause in profile.clauses:
        assert clause.source
        assert clause.text.endswith(".")
        assert clause.check in (None, *CHECKS)
        assert (clause.question or "?").endswith("?")


def test_safe_harbor_has_the_eighteen_classes_and_the_knowledge():
    sources = {
        clause.source.removeprefix("45 CFR 164.514(b)(2)")
        for clause in read_profile("hipaa-safe-harbor").clauses
    }
    assert {f"(i)({letter})" for letter in "ABCDEFGHIJKLMNOPQR"} | {"(ii)"} == sources


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("hipaa-safe-harbour", "did you mean 'hipaa-safe-harbor'"),
        ("ema-0070@2020-01", "is of 2026-01 here, not of 2020-01"),
        ("none.toml", "cannot be read"),
    ],
)
def test_a_profile_that_is_not_there_is_refused(name, problem, tmp_path):
    with pytest.raises(PolicyError, match=problem):
        read_profile(name, tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = 1", "needs the texts"),
        ("names = 1", "there is no 'names'"),
        ("= 1", "not readable"),
        ('[[clauses]]\nid = "a"', "needs the texts"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(text, problem, tmp_path):
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(PolicyError, match=problem):
        read_profile("own.toml", tmp_path)


OWN = """
name = "house-rules"
version = "2026-02"
title = "Rules of this house"
source = "House rules, 2026"
[[clauses]]
id = "classes"
text = "Every class has at least 7 records."
source = "House rules, 3"
check = "risk"
least = 7
[[clauses]]
id = "officer"
text = "The officer agrees."
source = "House rules, 4"
question = "Does the officer agree?"
"""


def test_a_file_of_ones_own_is_a_profile(tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    profile = read_profile("own.toml", tmp_path)
    assert (profile.full_name, [each.id for each in profile.clauses]) == (
        "house-rules@2026-02",
        ["classes", "officer"],
    )
    for wrong, problem in (
        (OWN.replace('check = "risk"', ""), "either a check or a question"),
        (OWN.replace('"officer"', '"classes"'), "two clauses have one id"),
        (OWN.replace('id = "officer"', 'id = "The officer"'), "small letters"),
        (OWN.replace('"house-rules"', '"House"'), "small letters"),
        ("notes = 1\n" + OWN, "notes must be a text"),
    ):
        (tmp_path / "own.toml").write_text(wrong)
        with pytest.raises(PolicyError, match=problem):
            read_profile("own.toml", tmp_path)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "name it"),
        ({"name": "ema-0070", "input": {}}, "did you mean 'inputs'"),
        ({"name": "ema-0070", "inputs": []}, "must be a table"),
        ({"name": "ema-0070", "inputs": {"risk": 0.5}}, "there is no 'risk'"),
        ({"name": "ema-0070", "columns": {"contexts": []}}, "has no clause 'contexts'"),
        ({"name": "ema-0070", "cleared": {"context": "age"}}, "a list of names"),
        ({"name": "ema-0070", "attested": {}}, "must be a list of tables"),
        ({"name": "ema-0070", "attested": [{"clause": "context"}]}, "needs a clause, by, on and says"),
        (
            {"name": "ema-0070", "attested": [{"clause": "context", "by": "x", "on": "soon", "says": "y"}]},
            "must be a day",
        ),
        (
            {
                "name": "ema-0070",
                "attested": [{"clause": "context", "by": " ", "on": "2026-01-31", "says": "y"}],
            },
            "are texts",
        ),
        (
            {
                "name": "ema-0070",
                "attested": [{"clause": "largest-risk", "by": "x", "on": "2026-01-31", "says": "y"}],
            },
            "nobody can attest it",
        ),
    ],
)
def test_what_a_policy_says_wrongly_is_named(settings, problem):
    with pytest.raises(PolicyError, match=problem):
        Choice.of_settings(settings, Path())


def test_a_policy_with_a_profile_and_a_context_is_written_and_read_as_it_was(tmp_path):
    text = (
        POLICY
        + """
[profile]
name = "hipaa-safe-harbor@2026-01"
[profile.inputs]
year = 2026
[profile.columns]
places = ["plz"]
[profile.cleared]
names = ["drug_name"]
[[profile.attested]]
clause = "actual-knowledge"
by = "A. Officer"
on = 2026-01-31
says = "No \\"knowledge\\" of that."
[context]
recipient = "known"
controls = "high"
motives = "low"
breaches = 0.1
threshold = 0.05
"""
    )
    (tmp_path / "policy.toml").write_text(text)
    policy = ic.Policy.read(tmp_path / "policy.toml")
    policy.write(tmp_path / "again.toml")
    again = ic.Policy.read(tmp_path / "again.toml")
    assert again.to_toml() == policy.to_toml()
    assert again.profile.attested["actual-knowledge"].says == 'No "knowledge" of that.'
    assert again.context.needed == 2


# --- the context ------------------------------------------------------------------------------------

KNOWN = {"recipient": "known", "controls": "medium", "motives": "low", "breaches": 0.27, "threshold": 0.05}


@pytest.mark.parametrize(
    ("settings", "attempt"),
    [
        ({"recipient": "public", "threshold": 0.09}, "1"),
        (KNOWN, "0.27"),
        (KNOWN | {"breaches": 0.1}, "0.2"),
        (KNOWN | {"controls": "low", "motives": "high"}, "0.6"),
        (KNOWN | {"controls": "high", "breaches": 0.01}, "0.05"),
    ],
)
def test_the_class_size_is_the_smallest_that_keeps_the_risk_at_the_threshold(settings, attempt):
    context = Context.of_settings(settings)
    assert context.attempt == Fraction(attempt)
    # A second reading: try sizes from 1.
    limit = Fraction(str(settings["threshold"]))
    assert context.needed == next(k for k in range(1, 1000) if Fraction(attempt) / k <= limit)
    assert f"a class needs {context.needed} records" in context.arithmetic()


def test_an_acquaintance_counts_by_how_many_people_somebody_knows():
    context = Context.of_settings(KNOWN | {"prevalence": 0.01})
    chance = 1.0
    for _ in range(150):
        chance *= 0.99
    assert float(context.attempt) == pytest.approx(1 - chance, abs=1e-12)
    assert context.needed == ceil((1 - chance) / 0.05)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ([], "must be a table"),
        ({"recipients": "public"}, "did you mean 'recipient'"),
        ({"recipient": "friend"}, "must be one of public, known"),
        ({"recipient": "public"}, "say threshold"),
        ({"recipient": "public", "threshold": 0}, "above 0"),
        (KNOWN | {"controls": "some"}, "controls must be one of"),
        (KNOWN | {"breaches": 2}, "from 0 to 1"),
        (KNOWN | {"acquaintances": -1}, "whole number"),
        ({key: value for key, value in KNOWN.items() if key != "breaches"}, "say breaches"),
    ],
)
def test_an_answer_that_is_wrong_is_named(settings, problem):
    with pytest.raises(PolicyError, match=problem):
        Context.of_settings(settings)


def test_a_class_size_below_that_of_the_context_is_refused_by_both_readers(tmp_path):
    from incrowd.release.verification import verify

    (tmp_path / "policy.toml").write_text(POLICY + "\n[context]\nrecipient = 'public'\nthreshold = 0.09\n")
    with pytest.raises(InputError, match="needs classes of 12 records, and the models ask for 5: raise k"):
        ic.Policy.read(tmp_path / "policy.toml")
    (tmp_path / "safe.csv").write_text("age,diagnosis\n" + "3*,a\n" * 5 + "4*,b\n" * 12)
    verification = verify(tmp_path / "safe.csv", tmp_path / "policy.toml")
    (context,) = verification.clauses
    assert (context.state, verification.ok) == ("not met", False)
    assert context.detail.startswith(
        "classes of fewer than 12: 1; the smallest class has 5, at least 12 needed; "
    )
    assert "1 / 12 = 0.08333, at most the threshold 0.09" in context.detail
