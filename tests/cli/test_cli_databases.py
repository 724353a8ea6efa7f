"""Databases on the command line."""

from __future__ import annotations

import polars as pl

from database_tables import fill_postgres, statement

FRAME = pl.DataFrame({"q": ["a", "a", "b", "b", "c", "c"], "s": list("xyxyxy")})


def test_assess_and_anonymize(run, postgres, tmp_path):
    fill_postgres(postgres, FRAME)
    statement(postgres, "DROP TABLE IF EXISTS safe")
    data = (postgres, "--table", "people", "--qi", "q", "--sensitive", "s", "-k", "2")
    assert run("assess", *data).status == 0
    assert run("assess", *data, "-l", "3").status == 1
    made = run(
        "anonymize", *data, "--into", "safe", "--report", str(tmp_path / "r.json"), "--recoding", str(tmp_path / "rec"),
        "--save-policy", str(tmp_path / "p.toml"),
    )  # fmt: skip
    assert made.status == 0, made.err
    assert "written: safe (6 rows), every model holds" in made.out
    assert run("anonymize", *data, "--into", "safe").status == 2
    assert run("anonymize", *data, "--into", "safe", "--force").status == 0
    assert run("anonymize", *data, "-l", "3", "--into", "never").status == 2
    assert run("anonymize", *data, "-o", str(tmp_path / "safe.parquet")).status == 0
    assert len(pl.read_parquet(tmp_path / "safe.parquet")) == 6
    for wrong in (
        ("anonymize", *data),
        ("anonymize", *data, "--into", "a", "-o", "b.csv"),
        ("anonymize", "people.csv", "--qi", "q", "-k", "2", "--into", "safe"),
        ("assess", postgres, "--qi", "q"),
        ("assess", "people.csv", "--table", "people", "--qi", "q"),
        ("assess", *data, "--stream"),
    ):
        found = run(*wrong)
        assert found.status == 2, found.out
        assert "internal error" not in found.err
    secret = "pass%20word"
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"owner" not in written
    assert secret.encode() not in written


def test_secrets_are_never_printed(run, postgres, tmp_path, monkeypatch):
    fill_postgres(postgres, FRAME)
    marked = f"postgresql://owner:MARKER-1@{postgres.rpartition('@')[2]}?application_name=MARKER-2"
    asked = ("--qi", "q", "--sensitive", "s", "-k", "2")
    for arguments in (
        ("assess", marked, "--table", "people", *asked, "--json"),
        ("anonymize", marked, "--table", "people", *asked, "--into", "safe"),
        (
            "anonymize",
            "postgresql://owner:MARKER-1@127.0.0.1:1/db",
            "--table",
            "people",
            *asked,
            "--into",
            "safe",
        ),
        ("risk", marked, "--qi", "q"),
        ("assess", str(tmp_path / "none.csv"), "--population", marked, *asked),
        ("anonymize", marked, "--table", "people", *asked, "-o", marked),
    ):
        for debug in ("", "1"):
            monkeypatch.setenv("INCROWD_DEBUG", debug)
            found = run(*arguments)
            assert found.status == 2
            assert "MARKER" not in found.out + found.err
