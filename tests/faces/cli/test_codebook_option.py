"""Codebooks of releases on the command line."""

from __future__ import annotations

import hashlib
import json

import polars as pl
import pytest

ROWS = 400
TABLE = pl.DataFrame(
    {
        "age": [20 + n % 50 for n in range(ROWS)],
        "q7": ["north", "south"] * (ROWS // 2),
        "v3": [f"{n % 97}.5" for n in range(ROWS)],
        "email": [f"p{n}@example.org" for n in range(ROWS)],
        "diagnosis": [f"d{n % 7}" for n in range(ROWS)],
    }
)


@pytest.mark.parametrize("ending", ["csv", "xml", "json"])
def test_the_codebook_of_a_release_has_nothing_of_the_raw_table(ending, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    secret = TABLE.with_columns(
        diagnosis=pl.when(pl.int_range(ROWS) < 8).then(pl.lit("rare-thing")).otherwise("diagnosis"),
        Jane_Doe=pl.lit("jane"),
    )
    secret.write_csv("raw-people.csv")
    call = (
        *("anonymize", "raw-people.csv", "-o", "safe.csv", "--codebook", f"book.{ending}"),
        *("--qi", "age,q7", "--sensitive", "diagnosis", "--unlisted", "drop", "-k", "5", "-l", "2"),
        *("--hierarchy", "age=intervals:10,20,40"),
    )
    assert run(*call).status == 0
    text = (tmp_path / f"book.{ending}").read_text()
    for word in ("raw-people", "Jane_Doe", "jane", "email", "v3", "rare-thing", "d3"):
        assert word not in text
    assert {"age", "q7", "diagnosis"} <= set(text.replace('"', " ").replace(",", " ").split())
    if ending == "json":
        (file,) = json.loads(text)["distribution"]
        digest = hashlib.sha256((tmp_path / "safe.csv").read_bytes()).hexdigest()
        assert (file["name"], file["sha256"], file["encodingFormat"]) == ("safe.csv", digest, "text/csv")
    again = run(*call)
    assert (again.status, "exists" in again.err) == (2, True)
    assert (tmp_path / f"book.{ending}").read_text() == text
    assert run(*call, "--force").status == 0


@pytest.mark.gated
def test_a_release_that_does_not_hold_has_no_codebook(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.write_csv("people.csv")
    call = ("anonymize", "people.csv", "-o", "safe.csv", "--codebook", "book.xml", "--qi", "age",
            "--sensitive", "diagnosis", "--unlisted", "keep", "-k", "5")  # fmt: skip
    assert run(*call).status == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["people.csv"]
    assert run(*call[:5], "book.doc", *call[6:]).status == 2
