"""The clauses of a profile in a release: sentences, account and report."""

from __future__ import annotations

import json

import polars as pl
import pytest

import incrowd as ic

POLICY = """
version = 1
[columns.age]
role = "quasi"
kind = "number"
[columns.seen]
role = "insensitive"
[[models]]
model = "k-anonymity"
k = 12
[profile]
name = "ema-0070"
[[profile.attested]]
clause = "report"
by = "A. Officer"
on = 2026-01-31
says = "It is part of the package."
"""


@pytest.fixture
def release(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    table = pl.DataFrame({"age": range(20, 80), "seen": ["2024"] * 60})
    return ic.anonymize(table, ic.Policy.read(tmp_path / "policy.toml"), unanswered="write")


@pytest.mark.slow
def test_the_clauses_of_a_release_are_judged_by_the_verifier(release, tmp_path):
    states = {each.id: each.state for each in release.clauses}
    assert states == {"largest-risk": "checked", "report": "attested", "context": "not met"}
    said = "ema-0070@2026-01: 3 clauses, 1 checked, 1 attested, 1 not met ('context')."
    assert said in release.sentences()
    assert [each["state"] for each in release.to_dict()["clauses"]] == list(states.values())
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Clauses of the profile" in page
    assert "A. Officer, 2026-01-31: It is part of the package." in page
    release.report(tmp_path / "report.json")
    assert len(json.loads((tmp_path / "report.json").read_text())["clauses"]) == 3
    # What is written is judged alike.
    release.write(tmp_path / "safe.csv")
    release.policy.write(tmp_path / "written.toml")
    verified = ic.verify(tmp_path / "safe.csv", tmp_path / "written.toml")
    assert verified.clauses == release.clauses
    assert not verified.ok
    assert "context: not met" in verified._repr_html_()


def test_an_input_lies_beside_the_policy_that_names_it(tmp_path):
    text = POLICY.replace('"ema-0070"', '"own.toml"').partition("[[profile.attested]]")[0]
    (tmp_path / "policy.toml").write_text(text)
    (tmp_path / "own.toml").write_text("""
name = "own"
version = "2026"
title = "Own"
source = "Own"
[inputs]
populous = "a table"
[[clauses]]
id = "zip"
text = "No ZIP codes of few people."
source = "Own"
check = "zip3"
columns = ["seen"]
least = 1
""")
    (tmp_path / "people.csv").write_text("zip3,population\n202,7\n")
    (tmp_path / "policy.toml").write_text(text + '[profile.inputs]\npopulous = "people.csv"\n')
    table = pl.DataFrame({"age": range(20, 80), "seen": ["202**"] * 60})
    release = ic.anonymize(table, ic.Policy.read(tmp_path / "policy.toml"))
    assert [each.state for each in release.clauses] == ["checked"]


def test_a_policy_that_is_published_does_not_tell_where_files_are(tmp_path):
    folder = tmp_path / "secret place"
    folder.mkdir()
    (folder / "attacks.json").write_text("{}")
    text = POLICY.replace('"ema-0070"', '"wp216"').partition("[[profile.attested]]")[0]
    text += f"[profile.inputs]\nattacks = {str(folder / 'attacks.json')!r}\nrate = 0.05\n"
    (tmp_path / "policy.toml").write_text(text)
    release = ic.anonymize(
        pl.DataFrame({"age": range(20, 80), "seen": ["x"] * 60}),
        ic.Policy.read(tmp_path / "policy.toml"),
        unanswered="write",
    )
    release.save(tmp_path / "out")
    for path in (tmp_path / "out").rglob("*.*"):
        if "internal" not in path.parts:
            assert b"secret place" not in path.read_bytes()
    assert ic.Policy.read(tmp_path / "out" / "policy.toml").profile.settings["inputs"] == {
        "attacks": "attacks.json",
        "rate": 0.05,
    }


def test_a_release_without_a_profile_has_no_clauses(tmp_path):
    table = pl.DataFrame({"age": range(20, 80)})
    release = ic.anonymize(table, ic.Schema(quasi=["age"]), "k-anonymity:5")
    assert release.clauses == ()
    assert "clauses" not in release.to_dict()
