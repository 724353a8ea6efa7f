"""The nightly job that releases from a database, with a ledger."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import polars as pl

from database_tables import fill_sqlite
from incrowd.release.jobs.later.ledger import Ledger


def people(seed: int, rows: int) -> pl.DataFrame:
    draw = random.Random(seed)
    columns = {"person": [f"P{seed}-{n}" for n in range(rows)]}
    columns["age"] = [str(draw.randrange(20, 60)) for _ in range(rows)]
    return pl.DataFrame(columns | {"illness": [draw.choice("abc") for _ in range(rows)]})


def test_the_nightly_job_keeps_a_ledger_and_leaves_the_table_of_yesterday(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = people(3, 300)
    fill_sqlite("clinic.db", table)
    assert run("ledger", "init", "book").status == 0
    job = [
        "anonymize",
        "sqlite:///clinic.db",
        "--table",
        "people",
        "--into",
        "safe",
        "--force",
        "-k",
        "5",
        "--algorithm",
        "optimal",
        "--qi",
        "age",
        "--sensitive",
        "illness",
        "--unlisted",
        "drop",
        "--hierarchy",
        "age=intervals:5,10,20,40",
        "--unanswered",
        "write",
        "--ledger",
        "book",
        "--recipient",
        "research",
        "--ledger-keys",
        "person",
        "--codebook",
        "safe.json",
    ]

    def safe() -> list[tuple[str, ...]]:
        with closing(sqlite3.connect("clinic.db")) as connection:
            return sorted(map(str, connection.execute("SELECT * FROM safe")))

    assert run(*job).status == 0
    yesterday, codebook = safe(), (tmp_path / "safe.json").read_bytes()
    assert run(*job).status == 0
    assert len(Ledger.open("book").entries) == 2
    fill_sqlite("clinic.db", pl.concat([table[1:], people(4, 1)]))
    refused = run(*job)
    assert refused.status == 1
    assert "of the ledger the release exposes" in refused.err
    assert safe() == yesterday
    assert (tmp_path / "safe.json").read_bytes() == codebook
    assert len(Ledger.open("book").entries) == 2
    assert run("ledger", "verify", "book").status == 0
