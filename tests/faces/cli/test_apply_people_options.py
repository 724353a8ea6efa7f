"""`incrowd apply` beside an earlier release with counts of people."""

from __future__ import annotations

import polars as pl

import incrowd as ic
from people_readings import people_table
from survey_readings import survey_table


def test_people_over_both_on_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, batch = people_table(1, people=90), people_table(2, people=70)
    first.write_csv("first.csv")
    batch.write_csv("batch.csv")
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None},
        sensitive=["ill"],
        person="person",
        unlisted="drop",
    )
    policy = ic.Policy(schema, (ic.KAnonymity(4),), ic.Optimal(), max_suppression=0.9)
    saved = ic.anonymize("first.csv", policy)
    saved.save("out")
    saved.recoding.save("recoding")
    arguments = ["apply", "recoding", "batch.csv", "--policy", "out/policy.toml", "-o", "new.csv", "--max-suppression", "0.9"]  # fmt: skip
    earlier = ["--previous-release", "out/release.csv"]
    result = run(*arguments, *earlier)
    assert result.status == 2
    assert "(--previous-table) and its row map (--previous-row-map)" in " ".join(result.err.split())
    raw = ["--previous-table", "first.csv", "--previous-row-map", "out/internal/rows.parquet"]
    assert run(*arguments, *earlier, *raw).status == 0
    assert len(pl.read_csv("new.csv")) == len(batch)
    # Nothing that is read is replaced.
    refused = run(*arguments[:-4], "-o", "first.csv", *earlier, *raw, "--force")
    assert refused.status == 2
    assert pl.read_csv("first.csv").columns == first.columns


def test_households_over_both_on_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    survey_table(1, 150).write_csv("first.csv")
    survey_table(2, 90).write_csv("batch.csv")
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None}, household="home", unlisted="drop"
    )
    saved = ic.anonymize(
        "first.csv", ic.Policy(schema, (ic.KAnonymity(3),), ic.Optimal(), max_suppression=0.9)
    )
    saved.save("out")
    arguments = [
        "apply",
        "out/internal/recoding",
        "batch.csv",
        "--policy",
        "out/policy.toml",
        "-o",
        "new.csv",
    ]
    result = run(*arguments, "--previous-release", "out/release.csv")
    assert result.status == 0
    said = " ".join(result.out.split())
    assert "Nothing is measured by column 'home': an earlier release does not say" in said
    assert "(--previous-table) and its row map (--previous-row-map)" in said
    raw = ["--previous-table", "first.csv", "--previous-row-map", "out/internal/rows.parquet", "--force"]
    result = run(*arguments, "--previous-release", "out/release.csv", *raw)
    assert "a household is found with a probability of up to" in " ".join(result.out.split())
