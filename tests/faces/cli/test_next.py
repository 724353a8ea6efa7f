"""`incrowd next`: a series of releases, all or nothing."""

from __future__ import annotations

import json

import polars as pl
import pytest

from incrowd.release.jobs.later.ledger import Ledger

POLICY = """
version = 1
unlisted = "drop"
max_suppression = 1.0
columns.ssn = { role = "person" }
columns.age = { role = "quasi", kind = "number" }
columns.disease = { role = "sensitive" }
models = [{ model = "k-anonymity", k = 2 }]
ledger.m = 2
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    people = pl.DataFrame(
        {
            "ssn": [f"planted-{n}" for n in range(60)],
            "age": range(20, 80),
            "disease": ["abc"[n % 3] if n < 40 else "d" if n == 40 else "a" for n in range(60)],
        }
    )
    people[:41].write_csv("one.csv")
    people.filter(pl.col("disease") != "d").write_csv("two.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    assert run("ledger", "init", "book").status == 0
    return tmp_path


def next_(run, number, *more):
    return run(
        "next", f"{number}.csv", "--policy", "policy.toml", "-o", f"{number}-out.csv",
        "--counterfeits", f"{number}-counts.csv", "--ledger", "book", "--recipient", "A", *more,
    )  # fmt: skip


def test_two_releases_keep_signatures_and_publish_counterfeits(folder, run):
    first = next_(run, "one")
    assert first.status == 0
    assert "m-invariance holds: each of the" in first.out
    needed = next_(run, "two")
    assert needed.status == 2
    assert "--earlier-release" in needed.err
    many = next_(run, "two", "--earlier-release", "one-out.csv")
    assert many.status == 1
    assert "--max-counterfeits" in many.err
    assert not (folder / "two-out.csv").exists()
    assert len(Ledger.open("book").entries) == 1
    second = next_(
        run, "two", "--earlier-release", "one-out.csv", "--max-counterfeits", "0.5", "--save-policy", "p.toml",
        "--json",
    )  # fmt: skip
    assert second.status == 0
    fakes = json.loads(second.out)["series"]["counterfeits"]
    counts = pl.read_csv("two-counts.csv")
    released = pl.read_csv("two-out.csv")
    assert fakes == counts["count"].sum() > 0
    assert len(released) == 59 + fakes
    assert "d" in set(released["disease"])
    assert run("verify", "two-out.csv", "--policy", "p.toml").status == 0
    for name in ("two-out.csv", "two-counts.csv", "p.toml"):
        assert "planted" not in (folder / name).read_text()
    assert "exposed 0" in run("attack", "--ledger", "book").out
    assert [entry["command"] for entry in Ledger.open("book").entries] == ["next", "next"]


def test_a_changed_value_is_refused_or_left_out(folder, run):
    assert next_(run, "one").status == 0
    changed = pl.read_csv("one.csv").with_columns(
        disease=pl.when(pl.col("ssn") == "planted-40").then(pl.lit("zz")).otherwise("disease")
    )
    changed.write_csv("two.csv")
    refused = next_(run, "two", "--earlier-release", "one-out.csv", "--max-counterfeits", "1")
    assert refused.status == 1
    assert "1 people have another value" in refused.err
    assert "--leave-out-changed" in refused.err
    left = next_(
        run, "two", "--earlier-release", "one-out.csv", "--max-counterfeits", "1", "--leave-out-changed"
    )
    assert left.status == 0
    assert "1 people are left out" in left.out


def test_a_ledger_has_to_be_named(folder, run):
    refused = run(
        "next", "one.csv", "--policy", "policy.toml", "-o", "out.csv", "--counterfeits", "counts.csv"
    )
    assert refused.status == 2
    assert "--ledger" in refused.err


def test_no_output_takes_the_place_of_an_input(folder, run):
    refused = next_(run, "one", "--counterfeits", "one.csv", "--force")
    assert refused.status == 2
    assert (folder / "one.csv").read_text().startswith("ssn,")
