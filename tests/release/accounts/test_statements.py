"""Sentences with a risk name the attacker."""

from __future__ import annotations

import re

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.accounts.statements import model_sentence

MANY = ["a", "b", "c", "d", "e", "f", "g", "h"]
SETTINGS = {
    "plain": {},
    "weights": {"weights": "w"},
    "households": {"household": "home"},
    "people": {"person": "who"},
}


def table(rows: int = 120) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "who": [row // 2 for row in range(rows)],
            "home": [row // 3 for row in range(rows)],
            "w": [10.0 + row % 3 for row in range(rows)],
            "age": [20 + row % 12 for row in range(rows)],
            "BMI": [20 + row % 5 for row in range(rows)],
            "ill": [("flu", "HIV", "none")[row % 3] for row in range(rows)],
        }
    )


def says_a_risk(sentence: str) -> bool:
    return re.search(r"probability|is right for|found with|likelier|holds: ", sentence) is not None


@pytest.mark.few(1)
@pytest.mark.parametrize("roles", SETTINGS)
def test_each_sentence_with_a_risk_names_the_attacker(roles):
    schema = ic.Schema(quasi=["age", "BMI"], sensitive=["ill"], unlisted="drop", **SETTINGS[roles])
    release = ic.anonymize(table(), schema, ["k-anonymity:3", "l-diversity:2"], unanswered="write")
    assessed = ic.assess(table(), schema, ["k-anonymity:1"])
    for sentences in (release.sentences(), assessed.sentences()):
        risks = [each for each in sentences if says_a_risk(each)]
        assert len(risks) >= 2
        for each in risks:
            assert re.search("age and BMI, and nothing else|age and BMI, not even who took part", each), each


def test_of_many_quasi_identifiers_the_first_six_are_named():
    frame = pl.DataFrame({name: [row % 2 for row in range(40)] for name in MANY})
    release = ic.anonymize(frame, ic.Schema(quasi=MANY), "k-anonymity:4", unanswered="write")
    (sentence,) = (each for each in release.sentences() if "finds the right record" in each)
    assert sentence.startswith(
        "Whoever knows that a person is in the table, and the person's a, b, c, d, e, f and 2 more, and "
        "nothing else, finds the right record with a probability of at most"
    )


def test_an_attacker_of_the_policy_knows_its_own_columns():
    neighbour = ic.Attacker("neighbour", ["age"], [ic.KAnonymity(3)])
    release = ic.anonymize(
        table(), ic.Schema(quasi=["age", "BMI"], unlisted="drop"), [neighbour], unanswered="write"
    )
    (measured,) = (each for each in release.privacy.results.asked if each.attacker)
    said = model_sentence(measured, release.privacy.quasi)
    assert said.startswith("k-anonymity against neighbour holds: k is ")
    assert said.endswith(", against whoever knows age, and nothing else.")
