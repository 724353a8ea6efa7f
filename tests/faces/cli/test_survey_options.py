"""Households and sampling weights on the command line."""

from __future__ import annotations

import json

import polars as pl
import pytest

import incrowd as ic
from people_readings import people_table
from survey_readings import survey_table

TABLE = survey_table(3, 300)


def test_the_roles_on_the_command_line(run, tmp_path):
    TABLE.write_csv(tmp_path / "t.csv")
    arguments = (
        str(tmp_path / "t.csv"),
        "--qi",
        "age,town",
        "--household",
        "home",
        "--weights",
        "w",
        "--json",
    )
    expected = ic.assess(TABLE, ic.Schema(quasi=["age", "town"], household="home", weights="w"))
    for command in ("assess", "risk"):
        document = json.loads(run(command, *arguments).out)
        risk = document["risk"] if command == "assess" else document["risks"]
        assert risk["household"] == pytest.approx(expected.risk["household"])
        assert risk["individual"] == pytest.approx(expected.risk["individual"])
    TABLE.with_columns(w=pl.lit("?")).write_csv(tmp_path / "t.csv")
    for command in ("assess", "risk"):
        refused = run(command, *arguments)
        assert refused.status == 2
        assert "300 rows have no number above 0" in refused.err.replace("\n", " ")


def test_utility_by_weights_on_the_command_line(run, tmp_path):
    schema = ic.Schema(quasi=["age", "town"], weights="w", unlisted="drop")
    release = ic.anonymize(TABLE, schema, "k-anonymity:5", keep_order=True, force=True)
    TABLE.write_csv(tmp_path / "t.csv")
    release.write(tmp_path / "out.csv")
    arguments = (
        "utility",
        str(tmp_path / "t.csv"),
        str(tmp_path / "out.csv"),
        "--qi",
        "age,town",
        "--weights",
        "w",
    )
    output = run(*arguments).out
    assert "people, an estimate by the sampling weights; 0 of them are suppressed" in " ".join(output.split())
    assert "The same by sampling weights, an estimate" in " ".join(output.split())
    document = json.loads(run(*arguments, "--json").out)
    assert document["people"] == {"estimated_by": "w", "before": TABLE["w"].sum(), "suppressed": 0.0}
    loss = next(each for each in document["utility"] if each["metric"] == "loss")
    assert loss["weighted"] == pytest.approx(release.utility["loss"].weighted)
    assert len(document["statistics"]["weighted_marginals"]) == 2


def test_linked_rows_on_the_command_line(run, tmp_path):
    people_table(3, people=60).write_csv(tmp_path / "t.csv")
    arguments = (str(tmp_path / "t.csv"), "--qi", "age,town", "--person", "person", "--linked", "-k", "3")
    text = " ".join(run("assess", *arguments, "--full").out.split())
    assert "rows of a person can be joined: at least 1 people share a whole history" in text
    assert "km-anonymity (power=0)" in text
    document = json.loads(run("assess", *arguments, "--json").out)
    assert document["people"]["histories"]["fewest"] == 1
    refused = run("anonymize", *arguments, "--unlisted", "drop", "-o", str(tmp_path / "out.csv"))
    assert refused.status == 2
    assert "--linked: mondrian decides" in " ".join(refused.err.split())
    refused = run("assess", str(tmp_path / "t.csv"), "--qi", "age", "--linked")
    assert refused.status == 2
    assert "name it (--person)" in refused.err


def test_the_command_line_names_the_option_and_writes_nothing(run, tmp_path):
    pl.DataFrame({"age": [1, 1], "zip": ["a", "b"]}).write_csv(tmp_path / "t.csv")
    arguments = ["--qi", "age", "-k", "2", "--treat", "zip=household-swap:0.2", "--insensitive", "zip"]
    result = run("anonymize", str(tmp_path / "t.csv"), *arguments, "-o", str(tmp_path / "safe.csv"))
    assert result.status == 2
    assert "--household" in result.err
    assert not (tmp_path / "safe.csv").exists()
