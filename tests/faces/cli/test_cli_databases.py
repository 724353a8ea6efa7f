"""Databases on the command line."""

from __future__ import annotations

import contextlib

import duckdb
import polars as pl
import pytest

from database_tables import fill_duckdb, fill_postgres, statement
from linked_readings import draw

FRAME = pl.DataFrame({"q": ["a", "a", "b", "b", "c", "c"], "s": list("xyxyxy")})


@pytest.mark.slow
def test_assess_and_anonymize(run, postgres, tmp_path):
    fill_postgres(postgres, FRAME)
    statement(postgres, "DROP TABLE IF EXISTS safe")
    data = (postgres, "--table", "people", "--qi", "q", "--sensitive", "s", "-k", "2")
    assert run("assess", *data).status == 0
    assert run("assess", *data, "-l", "3").status == 1
    result = run(
        "anonymize", *data, "--into", "safe", "--report", str(tmp_path / "r.json"), "--recoding", str(tmp_path / "rec"),
        "--save-policy", str(tmp_path / "p.toml"),
    )  # fmt: skip
    assert result.status == 0, result.err
    assert "written: safe (6 rows), every model holds" in result.out
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
        outcome = run(*wrong)
        assert outcome.status == 2, outcome.out
        assert "internal error" not in outcome.err
    secret = "pass%20word"
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    # The address names the user owner; a report also asks whose data they are.
    assert b"owner" not in written.replace(b"Data set and owner", b"")
    assert secret.encode() not in written


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("pg_temp.safe", "tables of pg_temp are temporary"),
        ("people", "is the table that is released"),
        ("kept", "exists already"),
        ("x" * 64, "names are at most 63 bytes long"),
        ("", "is no name of a table"),
    ],
)
def test_a_table_that_cannot_be_made_is_refused_before_the_search(run, postgres, target, words):
    fill_postgres(postgres, FRAME)
    fill_postgres(postgres, FRAME, "kept")
    data = (postgres, "--table", "people", "--qi", "q", "--sensitive", "s")
    assert "k=999 is more than" in run("anonymize", *data, "-k", "999", "--into", "free").err
    result = run("anonymize", *data, "-k", "999", "--into", target)
    assert (result.status, words in result.err) == (2, True), result.err


def test_secrets_are_never_printed(run, postgres, tmp_path, monkeypatch):
    fill_postgres(postgres, FRAME)
    marked = f"postgresql://owner:MARKER-1@{postgres.rpartition('@')[2]}?application_name=MARKER-2"
    words = ("--qi", "q", "--sensitive", "s", "-k", "2")
    for arguments in (
        ("assess", marked, "--table", "people", *words, "--json"),
        ("anonymize", marked, "--table", "people", *words, "--into", "safe"),
        (
            "anonymize",
            "postgresql://owner:MARKER-1@127.0.0.1:1/db",
            "--table",
            "people",
            *words,
            "--into",
            "safe",
        ),
        ("risk", marked, "--qi", "q"),
        ("assess", str(tmp_path / "none.csv"), "--population", marked, *words),
        ("anonymize", marked, "--table", "people", *words, "-o", marked),
    ):
        for debug in ("", "1"):
            monkeypatch.setenv("INCROWD_DEBUG", debug)
            result = run(*arguments)
            assert result.status == 2
            assert "MARKER" not in result.out + result.err


# --- verify ---------------------------------------------------------------------------------------


RAW = pl.DataFrame(
    {"age": [21, 25, 30, 30], "ward": ["a", "a", "b", None], "illness": ["flu", "flu", "cold", "cold"]}
)
POLICY = """version = 1
[columns.age]
role = "quasi"
[columns.ward]
role = "insensitive"
[columns.illness]
role = "sensitive"
[[models]]
model = "k-map"
k = 3
"""


@pytest.mark.slow
def test_a_population_beside_a_table_of_the_server(run, postgres, tmp_path):
    fill_postgres(postgres, RAW.with_columns(age=pl.Series(["[21-25]", "[21-25]", "30", "30"])), "v_safe")
    (tmp_path / "policy.toml").write_text(POLICY)
    call = ("verify", postgres, "--table", "v_safe", "--policy", str(tmp_path / "policy.toml"))
    for last, status in ((30, 0), (31, 1)):
        (tmp_path / "people.csv").write_text(
            "age\n" + "".join(f"{age}\n" for age in (21, 23, 25, 30, 30, last))
        )
        result = run(*call, "--population", str(tmp_path / "people.csv"))
        assert result.status == status, result.out + result.err
    fill_postgres(postgres, RAW, "v_raw")
    people = ("--population", str(tmp_path / "people.csv"), "--against", postgres, "--against-table", "v_raw")
    (tmp_path / "people.csv").write_text("age\n21\n23\n25\n30\n30\n30\n")
    assert run(*call, *people).status == 0
    statement(postgres, "UPDATE v_safe SET ward = 'b' WHERE ward IS NULL")
    result = run(*call, *people)
    assert (result.status, "'ward', 'illness' differ from the raw table in 1 records" in result.out) == (
        1,
        True,
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda url: url, "there is no table none"),
        (
            lambda url: url.replace("owner:", "owner:MARKER"),
            "no connection; look at host, port, database, user and",
        ),
        (
            lambda url: url.replace("/postgres", "/MARKER") + "?application_name=MARKER",
            "no connection; look at",
        ),
        (lambda _: "postgresql://MARKER:MARKER@127.0.0.1:1/x", "no connection; look at"),
    ],
)
def test_what_cannot_be_reached_is_told_without_secrets(run, postgres, tmp_path, change, words):
    (tmp_path / "policy.toml").write_text(POLICY)
    result = run("verify", change(postgres), "--table", "none", "--policy", str(tmp_path / "policy.toml"))
    assert (result.status, words in result.err) == (2, True), result.err
    assert "pass%20word" not in result.err
    assert "MARKER" not in result.err.replace("/MARKER:", "")


def test_columns_that_the_user_may_not_read_are_told(run, postgres, tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    fill_postgres(postgres, RAW, "v_safe")
    statement(postgres, "DROP ROLE IF EXISTS v_guest", "CREATE ROLE v_guest LOGIN PASSWORD 'guest'")
    address = f"postgresql://v_guest:guest@{postgres.rpartition('@')[2]}"
    result = run("verify", address, "--table", "v_safe", "--policy", str(tmp_path / "policy.toml"))
    assert (result.status, result.err.endswith("the table v_safe cannot be read\n")) == (2, True), result.err


# --- linked tables --------------------------------------------------------------------------------


@pytest.mark.slow
def test_linked_tables_of_a_file_go_to_a_schema_and_a_new_file(run, tmp_path):
    tables, terms = draw(0, k=2, people=20, max_suppression=0.9)
    for name, frame in tables.items():
        with contextlib.closing(duckdb.connect(str(tmp_path / "clinic.db"))) as connection:
            fill_duckdb(connection, frame, name)
            connection.execute("CREATE SCHEMA IF NOT EXISTS safe")
    terms.write(tmp_path / "policy.toml")
    data = (f"duckdb:///{tmp_path}/clinic.db", "--policy", str(tmp_path / "policy.toml"))
    assert "whoever joins the tables" in run("assess", *data).out
    call = ("anonymize", *data, "--unanswered", "write")
    for place in (("--into", "safe"), ("-o", f"sqlite:///{tmp_path}/safe.db")):
        result = run(*call, *place)
        assert (result.status, "written: " in result.out) == (0, True), result.err
        result = run(*call, *place)
        assert (result.status, "exists already" in result.err) == (2, True), result.err
    for wrong, words in (
        ((), "say where the tables go"),
        (("-o", str(tmp_path / "new"), "--into", "safe"), "--into is for databases"),
        (("-o", data[0]), "person: exists already"),
        (("-o", data[0], "--force"), "no release of linked tables made it"),
    ):
        result = run(*call, *wrong)
        assert (result.status, words in result.err) == (2, True), result.err
    # An address is no file for a release of one table.
    one = (data[0], "--table", "person", "--qi", "sex", "-k", "2")
    result = run("anonymize", *one, "-o", f"duckdb:///{tmp_path}/new.db")
    assert (result.status, "-o is an address" in result.err) == (2, True), result.err
