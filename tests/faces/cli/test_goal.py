"""anonymize --goal: the setting that keeps an analysis best, or a refusal before any work."""

from __future__ import annotations

import json
import sqlite3

import pytest

import incrowd as ic

POLICY = ic.Policy(
    ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(5, 20, 40), "sex": ic.Hierarchy.flat()},
        insensitive=["length_of_stay"],
        unlisted="drop",
    ),
    ("k-anonymity:5",),
    max_suppression=0.1,
    analyses=(ic.Analysis("stay", "length_of_stay ~ age"),),
)


@pytest.fixture
def call(run, tmp_path):
    table = ic.samples.hospital(300).select("age", "sex", "length_of_stay")
    table.write_csv(tmp_path / "t.csv")
    POLICY.write(tmp_path / "policy.toml")
    with sqlite3.connect(tmp_path / "t.sqlite") as database:
        database.execute("create table t (age int, sex text, length_of_stay int)")
        database.executemany("insert into t values (?, ?, ?)", table.rows())

    def of(*arguments, data="t.csv", goal="analysis:stay"):
        policy = ("--policy", str(tmp_path / "policy.toml"), "--goal", goal)
        return run("anonymize", data.replace("t.", f"{tmp_path}/t."), *policy, *arguments)

    return of


@pytest.mark.slow
def test_fixed_levels_are_those_of_each_setting(call, tmp_path):
    """They were put on the chosen setting afterwards, which was another one then."""
    result = call("--levels", "age=2", "-o", str(tmp_path / "out.csv"), "--json")
    assert result.status == 0, result.err
    document = json.loads(result.out)
    assert document["recoding"]["levels"]["age"] == 2
    assert document["verdict"]["text"].startswith("HOLDS")
    assert "how well each keeps the analysis 'stay'" in document["verdict"]["text"]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"goal": "analysis:stays"}, "there is no analysis 'stays'; those are 'stay'; did you mean 'stay'?"),
        ({"goal": "stay"}, "goal: write analysis:NAME"),
        ({"goal": "analysis:stays", "dry_run": True}, "there is no analysis 'stays'"),
        ({"data": "sqlite:///t.sqlite", "table": "t"}, "fetch the rows of a database or of Spark first"),
    ],
)
def test_what_cannot_be_tuned_is_refused(call, tmp_path, settings, problem):
    plain = {name: settings[name] for name in ("goal", "data") if name in settings}
    arguments = ["--dry-run"] if "dry_run" in settings else []
    arguments += ["--table", settings["table"]] if "table" in settings else []
    result = call("-o", str(tmp_path / "out.csv"), *arguments, **plain)
    assert result.status == 2
    assert problem in " ".join(result.err.split())
    assert not (tmp_path / "out.csv").exists()


def test_linked_tables_refuse_a_goal(run, tmp_path):
    (tmp_path / "linked.toml").write_text('[[linked]]\nname = "people"\n')
    result = run(
        "anonymize", str(tmp_path), "--policy", str(tmp_path / "linked.toml"), "--goal", "analysis:a"
    )
    assert result.status == 2
    assert "--goal is for one table" in " ".join(result.err.split())
