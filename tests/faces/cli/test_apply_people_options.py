"""`incrowd apply` beside an earlier release whose people are counted, too."""

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
    given = ["apply", "recoding", "batch.csv", "--policy", "out/policy.toml", "-o", "new.csv", "--max-suppression", "0.9"]  # fmt: skip
    earlier = ["--previous-release", "out/release.csv"]
    found = run(*given, *earlier)
    assert found.status == 2
    assert "(--previous-table) and its row map (--previous-row-map)" in " ".join(found.err.split())
    raw = ["--previous-table", "first.csv", "--previous-row-map", "out/internal/rows.parquet"]
    assert run(*given, *earlier, *raw).status == 0
    assert len(pl.read_csv("new.csv")) == len(batch)
    # Nothing that is read is replaced.
    refused = run(*given[:-4], "-o", "first.csv", *earlier, *raw, "--force")
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
    given = ["apply", "out/internal/recoding", "batch.csv", "--policy", "out/policy.toml", "-o", "new.csv"]
    found = run(*given, "--previous-release", "out/release.csv")
    assert found.status == 0
    said = " ".join(found.out.split())
    assert "Nothing is measured by column 'home': an earlier release does not say" in said
    assert "(--previous-table) and its row map (--previous-row-map)" in said
    raw = ["--previous-table", "first.csv", "--previous-row-map", "out/internal/rows.parquet", "--force"]
    found = run(*given, "--previous-release", "out/release.csv", *raw)
    assert "a household is found with a probability of up to" in " ".join(found.out.split())
