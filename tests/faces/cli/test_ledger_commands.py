"""`incrowd ledger`, and `--ledger` of the commands that release: all or nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.io import placing
from incrowd.core.io.chain import _digested
from incrowd.release.jobs.later.ledger import Ledger

POLICY = """
version = 1
unlisted = "drop"
columns.ssn = { role = "person" }
columns.age = { role = "quasi", hierarchy = { intervals = [WIDTH] }, levels = [1] }
columns.disease = { role = "sensitive" }
algorithm.name = "optimal"
models = [{ model = "k-anonymity", k = 3 }]
ledger.epsilon = 2.5
"""
SPEC = """
columns.disease = { mechanism = "randomized-response", epsilon = 1.5, categories = ["a", "b", "c"] }
ledger.epsilon = 2.5
"""
TO = ("--ledger", "book", "--recipient", "hospital A")


@pytest.fixture
def folder(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame(
        {
            "ssn": [f"planted-{n}" for n in range(60)],
            "age": range(20, 80),
            "disease": ["abc"[n % 3] for n in range(60)],
        }
    )
    table.write_csv("people.csv")
    (tmp_path / "policy.toml").write_text(POLICY.replace("WIDTH", "10"))
    (tmp_path / "other.toml").write_text(POLICY.replace("WIDTH", "8"))
    (tmp_path / "spec.toml").write_text(SPEC)
    assert run("ledger", "init", "book").status == 0
    return tmp_path


def anonymize(run, name, policy="policy.toml", *more):
    return run("anonymize", "people.csv", "--policy", policy, "-o", name, *TO, *more)


def names(folder):
    return {path.name for path in folder.iterdir()} - {
        "people.csv", "policy.toml", "other.toml", "spec.toml", "book", "internal"
    }  # fmt: skip


def test_a_release_is_recorded_shown_and_verified(run, folder, monkeypatch):
    assert anonymize(run, "out.csv", "policy.toml", "--recoding", "recoding").status == 0
    monkeypatch.setenv("COLUMNS", "80")
    result = run("ledger", "show", "book")
    assert result.status == 0
    assert max(map(len, result.out.splitlines())) <= 80
    assert len(result.out.splitlines()) <= 24
    assert "anonymize  hospital A       60      60" in result.out
    document = json.loads(run("ledger", "show", "book", "--json").out)
    [entry] = document["entries"]
    assert entry["release"] == ic_digest(folder / "out.csv")
    assert entry["policy"] == ic_digest(folder / "policy.toml")
    assert entry["models"] == {"k-anonymity ": [3, 10]}
    outcome = run("ledger", "verify", "book")
    assert outcome.status == 0
    assert document["digest"] in outcome.out + outcome.err


def ic_digest(path):
    from incrowd.core.io.seals import digest_of

    return digest_of(path)


def test_a_harmful_release_is_refused_and_nothing_is_written(run, folder):
    assert anonymize(run, "out.csv").status == 0
    result = anonymize(
        run, "second.csv", "other.toml", "--recoding", "recoding", "--save-policy", "saved.toml"
    )
    assert result.status == 1
    assert "Together with release 1 of the ledger" in result.err
    assert "hospital A" in result.err
    assert "planted" not in result.err
    assert names(folder) == {"out.csv"}
    assert [path.name for path in (folder / "internal").iterdir()] == ["out.csv.rows.parquet"]
    assert anonymize(run, "second.csv").status == 0
    assert len(Ledger.open("book").entries) == 2


def test_apply_records_its_batch(run, folder):
    assert anonymize(run, "out.csv", "policy.toml", "--recoding", "recoding").status == 0
    pl.read_csv("people.csv").with_columns(ssn="new " + pl.col("ssn")).write_csv("next.csv")
    call = ("apply", "recoding", "next.csv", "--policy", "policy.toml", *TO)
    result = run(*call, "-o", "next-safe.csv")
    assert (result.status, "--ledger-new-people" in result.err) == (2, True)
    assert names(folder) == {"out.csv", "recoding", "next.csv"}
    assert run(*call, "--ledger-new-people", "-o", "next-safe.csv").status == 0
    pl.read_csv("people.csv").head(59).write_csv("next.csv")
    assert run(*call, "-o", "again.csv").status == 1
    assert names(folder) == {"out.csv", "recoding", "next.csv", "next-safe.csv"}
    assert [each["command"] for each in Ledger.open("book").entries] == ["anonymize", "apply"]


def test_randomize_spends_epsilon_up_to_the_limit(run, folder):
    call = ("randomize", "people.csv", "--spec", "spec.toml", *TO)
    assert run(*call, "-o", "noisy.csv").status == 0
    result = run(*call, "-o", "again.csv")
    assert result.status == 1
    assert "epsilon of the ledger to 3, and 2.5 is allowed" in result.err
    assert names(folder) == {"noisy.csv"}
    (folder / "spec.toml").write_text(SPEC.replace("ledger.epsilon", "ledger.limit"))
    assert run(*call, "-o", "again.csv").status == 2


def test_an_entry_that_cannot_be_written_keeps_the_release_back(run, folder, monkeypatch):
    real = os.fsync

    def full(number):
        if os.readlink(f"/proc/self/fd/{number}").endswith("ledger.jsonl"):
            raise OSError(28, "No space left on device")
        real(number)

    monkeypatch.setattr(os, "fsync", full)
    result = anonymize(run, "out.csv")
    assert result.status == 2
    assert "ledger.jsonl: cannot be read or written (No space left" in result.err
    monkeypatch.undo()
    os.chdir(folder)
    assert names(folder) == set()
    assert Ledger.open("book").entries == []
    assert Ledger.open("book").verify() is None


def test_a_release_that_cannot_be_placed_leaves_no_entry(run, folder, monkeypatch):
    def fails(made, target):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(placing, "_link", fails)
    assert anonymize(run, "out.csv").status == 2
    monkeypatch.undo()
    os.chdir(folder)
    assert names(folder) == set()
    assert Ledger.open("book").entries == []


KILLED = """
import os, sys
from incrowd.faces.cli import main
from incrowd.core.io import placing
placing._link = lambda *_: os._exit(9)
sys.argv = ["incrowd", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
def test_the_entry_of_a_run_that_was_killed_before_the_release_is_placed_is_taken_back(run, folder):
    call = (
        "anonymize",
        "people.csv",
        "--policy",
        "policy.toml",
        "-o",
        "out.csv",
        *TO,
        "--unanswered",
        "write",
    )
    process = subprocess.run([sys.executable, "-c", KILLED, *call], check=False, timeout=120)
    assert process.returncode == 9
    assert not (folder / "out.csv").exists()
    # Until then the ledger has an entry too many, and never one too few.
    assert len(Ledger.open("book").entries) == 1
    assert Ledger.open("book").verify() is None
    assert anonymize(run, "out.csv", "other.toml").status == 0
    assert len(Ledger.open("book").entries) == 1
    # The files of the run that was killed are gone: a release of rows has its people, and their cells.
    [entry] = Ledger.open("book").entries
    files = {entry[each]["name"] for each in ("file", "cells")}
    assert {each.name for each in (folder / "book" / "people").iterdir()} == files


def test_verify_ends_with_1_where_a_line_was_changed(run, folder):
    assert anonymize(run, "out.csv").status == 0
    path = folder / "book" / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b"hospital A", b"hospital B"))
    result = run("ledger", "verify", "book")
    assert result.status == 1
    assert "line 2 was changed" in result.err
    assert anonymize(run, "second.csv").status == 2
    assert names(folder) == {"out.csv"}


def test_the_attack_counts_whom_the_releases_expose(run, folder):
    assert run("attack", "--ledger", "book").status == 2
    assert anonymize(run, "out.csv").status == 0
    # Without the ledger's gate, as if it had been released before there was one.
    book, table = Ledger.open("book"), pl.read_csv("people.csv")
    other = ic.anonymize(table, ic.Policy.read("other.toml"))
    Ledger._refuse, original = (lambda *_: None), Ledger._refuse
    try:
        book.add(other, table, recipient="B")
    finally:
        Ledger._refuse = original
    [attempt] = json.loads(run("attack", "--ledger", "book", "--json").out)["attacks"]
    joint = table.group_by(pl.col("age") // 10, (pl.col("age") // 8).alias("eight")).len()
    exposed = joint.filter(pl.col("len") < 3)["len"].sum()
    assert attempt["figures"] == {"exposed": exposed, "people": 60, "releases": 2}
    assert exposed > 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--ledger", "book"), "--recipient, who gets it"),
        (("--recipient", "A"), "give --ledger"),
        (("--ledger-keys", "ssn"), "give --ledger"),
        (("--ledger", "none", "--recipient", "A"), "none: is no ledger"),
        (("--ledger", "empty", "--recipient", "A"), "is no ledger"),
        ((*TO, "--ledger-keys", "name"), "name"),
        ((*TO, "--ledger-keys", "ssn,ssn"), "--ledger-keys: column 'ssn' is named twice; name it once"),
        ((*TO, "--ledger-keys", "a,a"), "'a' is named twice"),
        ((*TO, "--ledger-keys", ","), "--ledger-keys names no column"),
        *(
            (
                ("--ledger", place, "--recipient", "A"),
                f"{place or '.'}: is no ledger, ledger.jsonl is missing",
            )
            for place in (
                "/proc",
                "/proc/1/root",
                "/",
                "/dev/null",
                "/dev/stdin",
                "people.csv",
                "",
                "people.csv/x",
            )
        ),
        (("--ledger", "x" * 300, "--recipient", "A"), "is no ledger"),
    ],
)
def test_wrong_calls_write_nothing(run, folder, more, told):
    (folder / "empty").mkdir()
    result = run("anonymize", "people.csv", "--policy", "policy.toml", "-o", "out.csv", *more)
    assert result.status == 2
    assert told in result.err
    assert names(folder) == {"empty"}
    assert Ledger.open("book").entries == []


@pytest.mark.parametrize("name", ["records", "date", "l", "file"])
def test_a_forged_entry_is_refused_by_every_command(run, folder, name):
    assert anonymize(run, "out.csv").status == 0
    path = folder / "book" / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    entry = json.loads(lines[-1])
    del entry["digest"]
    entry["record"][name] = "x"
    digest, line = _digested(json.dumps(entry).encode())
    path.write_bytes(b"".join([*lines[:-1], line, b"\n"]))
    path.with_suffix(".head").write_text(f"{len(lines)} {digest}\n")
    text = (
        f"book: '{name}' of entry 1 is not what incrowd writes; put all files of the ledger back from a copy"
    )
    for status, call in (
        (2, ("anonymize", "people.csv", "--policy", "policy.toml", "-o", "second.csv", *TO)),
        (2, ("randomize", "people.csv", "--spec", "spec.toml", "-o", "second.csv", *TO)),
        (2, ("ledger", "show", "book")),
        (2, ("attack", "--ledger", "book")),
        (1, ("ledger", "verify", "book")),
    ):
        result = run(*call)
        assert (result.status, result.err) == (status, f"incrowd: {text}\n"), call
    assert names(folder) == {"out.csv"}


@pytest.mark.slow
def test_rows_that_stream_and_a_table_of_a_database_get_the_same_people(run, folder):
    with sqlite3.connect("people.db") as database:
        database.execute("CREATE TABLE people (ssn, age INTEGER, disease)")
        database.executemany("INSERT INTO people VALUES (?, ?, ?)", pl.read_csv("people.csv").rows())
    (folder / "parts").mkdir()
    pl.read_csv("people.csv")[:20].write_csv("parts/a.csv")
    pl.read_csv("people.csv")[20:].write_csv("parts/b.csv")
    rest = ("--policy", "policy.toml", *TO, "--ledger-keys", "ssn")
    for call in (
        ("people.csv", "-o", "whole.csv"),
        ("people.csv", "-o", "stream.csv", "--stream"),
        ("parts", "-o", "folder.csv"),
        ("parts/*.csv", "-o", "pattern.csv"),
        ("sqlite:///people.db", "--table", "people", "--into", "safe"),
    ):
        result = run("anonymize", *call, *rest)
        assert result.status == 0, result.err
    book = Ledger.open("book")
    first, *others = [book.people(each) for each in book.entries]
    assert len(others) == 4
    assert all(each.equals(first) for each in others)
    with sqlite3.connect("people.db") as database:
        assert database.execute("SELECT count(*) FROM safe").fetchone() == (60,)


def test_an_attack_without_tables_or_ledger_is_refused(run, folder):
    for call in (
        ("attack",),
        ("attack", "people.csv"),
        ("attack", "people.csv", "people.csv", "--ledger", "book"),
    ):
        result = run(*call)
        assert result.status == 2
        assert "name DATA and RELEASE, or --ledger alone" in result.err


def test_the_verifier_reads_the_limit_of_the_ledger(run, folder):
    assert anonymize(run, "out.csv", "policy.toml", "--row-map", "rows.parquet").status == 0
    call = ("--against", "people.csv", "--row-map", "rows.parquet")
    assert run("verify", "out.csv", "--policy", "policy.toml", *call).status == 0
    for wrong in (
        "ledger.epsilon = 0",
        "ledger.limit = 1",
        "ledger.m = 1",
        'ledger = "x"',
        "ledger.epsilon = true",
    ):
        (folder / "wrong.toml").write_text(
            POLICY.replace("ledger.epsilon = 2.5", wrong).replace("WIDTH", "10")
        )
        result = run("verify", "out.csv", "--policy", "wrong.toml", *call)
        assert (result.status, "ledger" in result.err) == (2, True)
        with pytest.raises(ic.PolicyError, match="ledger"):
            ic.Policy.read("wrong.toml")
    policy = ic.Policy.read("policy.toml")
    policy.write("again.toml")
    assert ic.Policy.read("again.toml").ledger_epsilon == policy.ledger_epsilon == 2.5


def test_linked_tables_are_recorded_and_refused_beside_others(run, tmp_path):
    ids = list("abcdefgh")
    (tmp_path / "in").mkdir()
    schema = ic.Schema(["person.sex", "visit.ward"], insensitive=["person.id"])
    shape = [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"})]
    ic.LinkedPolicy(shape, ic.Policy(schema, "k-anonymity:4")).write(tmp_path / "policy.toml")
    assert run("ledger", "init", str(tmp_path / "ledger")).status == 0

    def anonymize(sex, ward, output, *more):
        pl.DataFrame({"id": ids, "sex": list(sex)}).write_csv(tmp_path / "in" / "person.csv")
        pl.DataFrame({"of": ids, "ward": list(ward)}).write_csv(tmp_path / "in" / "visit.csv")
        return run(
            "anonymize", str(tmp_path / "in"), "--policy", str(tmp_path / "policy.toml"), "--unanswered", "write", "-o",
            output, "--ledger", str(tmp_path / "ledger"), *more,
        )  # fmt: skip

    who = ("--recipient", "r")
    assert anonymize("x" * 8, "AAABBBBA", str(tmp_path / "one"), *who).status == 0
    for output in (str(tmp_path / "two"), f"sqlite:///{tmp_path}/two.db"):
        result = anonymize("ffffmmmm", "x" * 8, output, *who)
        assert (result.status, "exposes 8 people" in result.err) == (1, True), result.err
    assert not [*tmp_path.glob("two*")]
    assert anonymize("x" * 8, "AAABBBBA", f"sqlite:///{tmp_path}/again.db", *who).status == 0
    assert len(ic.Ledger.open(tmp_path / "ledger").entries) == 2
    assert run("ledger", "verify", str(tmp_path / "ledger")).status == 0
    for more, words in (
        ((), "--recipient, who gets it"),
        ((*who, "--ledger-keys", "id"), "is for one table"),
    ):
        result = anonymize("x" * 8, "AAABBBBA", str(tmp_path / "new"), *more)
        assert (result.status, words in result.err) == (2, True), result.err
