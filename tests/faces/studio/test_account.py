"""The account of a release as rows of pictures and tables."""

from __future__ import annotations

import pytest

import incrowd as ic
from incrowd.faces.studio import account
from incrowd.release.report.charts import risk_rows, size_rows
from incrowd.samples import hospital, hospital_policy


@pytest.fixture(scope="module")
def raw():
    return hospital(400)


@pytest.fixture(scope="module")
def release(raw):
    return ic.anonymize(raw, hospital_policy(), unanswered="write")


@pytest.fixture(scope="module")
def document(release):
    return release.document()


def test_records_are_told_by_the_size_of_their_class_and_small_sizes_come_first(document, release):
    result = account.pairs(size_rows(document["classes"]))
    assert [label for label, *_ in result][:2] == ["1", "5 to 9"]
    assert sum(before or 0 for _, before, _ in result) == 400
    assert sum(after or 0 for *_, after in result) == 400 - release.privacy.suppressed
    assert result[0] == ("1", 400, None)


def test_risks_are_told_before_and_after(document):
    result = {label: figures for label, *figures in account.pairs(risk_rows(document["risk"]))}
    assert result["prosecutor, highest"] == [1.0, document["risk"]["after"]["prosecutor"]["max"]]


def test_the_weakest_class_of_each_model_is_told_by_its_cells(document, release):
    names, rows = account.weakest(document)
    quasi = [each.name for each in release.policy.schema.quasi]
    assert names == ["model", *quasi, "records", "reached"]
    assert [row[0] for row in rows][:2] == ["k-anonymity", "l-diversity of diagnosis"]
    assert (rows[0][-2], rows[0][-1]) == ("5", "5")


def test_an_attacker_who_knows_some_columns_has_a_weakest_class_of_these():
    entry = {"model": "m", "attribute": None, "reached": 3.0, "weakest": {"cells": {"a": None}, "records": 3}}
    other = {
        "model": "n",
        "attribute": "s",
        "reached": 2.5,
        "weakest": {"cells": {"b": "x"}, "records": 1_000},
    }
    names, rows = account.weakest({"models": [entry, other, {"model": "p", "weakest": None}]})
    assert names == ["model", "a", "b", "records", "reached"]
    assert rows == [("m", "(missing)", "any", "3", "3"), ("n of s", "any", "x", "1,000", "2.5")]


def test_the_pairs_of_columns_that_changed_most_come_first(release):
    measures = ic.fidelity(release)
    rows = account.associations(measures)
    moved = [abs(before - after) for _, before, after in rows]
    assert len(rows) == 10
    assert moved == sorted(moved, reverse=True)


def test_an_attack_is_told_with_what_guessing_gives(raw, release):
    tried = ic.attack(raw, release.texts, release.policy.schema, attacks=10, kinds=["linkability"])
    ((name, guesses, right, without, told),) = account.attempts(tried)
    assert (name, guesses) == ("linkability", "10")
    assert right.startswith(f"{tried[0].main.value:.1%} (")
    assert without.startswith(f"{tried[0].baseline.value:.1%} (")
    assert told == ("helps" if tried[0].stronger_than_guessing else "no better than guessing")
