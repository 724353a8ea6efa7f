"""`init` drafts a policy for whatever `anonymize` takes."""

from __future__ import annotations

import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from incrowd.samples import hospital

COLUMNS = ["name", "age", "sex", "zip", "diagnosis"]


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return hospital(600, 1).select(COLUMNS).with_columns(pl.all().cast(str))


def folder(table: pl.DataFrame) -> list[str]:
    Path("many").mkdir()
    for number in range(3):
        table.slice(number * 200, 200).write_csv(f"many/{number}.csv")
    return ["many"]


def pattern(table: pl.DataFrame) -> list[str]:
    folder(table)
    return ["many/*.csv"]


def database(table: pl.DataFrame) -> list[str]:
    with closing(sqlite3.connect("clinic.db")) as connection, connection:
        connection.execute(f"CREATE TABLE people ({', '.join(f'{name} TEXT' for name in COLUMNS)})")
        connection.executemany(f"INSERT INTO people VALUES ({','.join('?' * len(COLUMNS))})", table.rows())
    connection.close()
    return ["sqlite:///clinic.db", "--table", "people"]


def duck(table: pl.DataFrame) -> list[str]:
    import duckdb

    with duckdb.connect("clinic.duckdb") as connection:
        connection.register("given", table.to_arrow())
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return ["duckdb:///clinic.duckdb", "--table", "people"]


def workbook(table: pl.DataFrame) -> list[str]:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["notes"])
    sheet = book.create_sheet("people of 2024")
    for row in (COLUMNS, *table.rows()):
        sheet.append(row)
    book.save("clinic.xlsx")
    return ["clinic.xlsx", "--sheet", "people of 2024"]


@pytest.mark.slow
@pytest.mark.parametrize("source", [folder, pattern, database, duck, workbook])
def test_a_draft_is_made_of_what_anonymize_takes(run, people, source):
    arguments = source(people)
    drafted = run("init", *arguments, "--no-questions", "-o", "policy.toml")
    assert drafted.status == 0, drafted.err
    people.write_csv("people.csv")
    assert run("init", "people.csv", "--no-questions", "-o", "plain.toml").status == 0
    texts = [Path(name).read_text().splitlines()[1:] for name in ("policy.toml", "plain.toml")]
    assert texts[0] == texts[1], "the source makes no difference but in the first line"
    assert not any(name in "\n".join(texts[0]) for name in people["name"])
    step = next(line for line in drafted.out.splitlines() if line.startswith("2. "))
    assert run(*shlex.split(step)[2:]).status in (0, 1), "what it says to do next can be done"


def test_of_very_many_rows_the_first_are_looked_at(run, people, monkeypatch):
    monkeypatch.setattr(sys.modules["incrowd.faces.cli.commands.init"], "_MOST", 250)
    for source in (folder, database):
        result = run("init", *source(people), "--no-questions", "-o", "policy.toml", "--force")
        assert result.out.startswith("the first 250 rows of "), result.err
        assert "# A draft for 'the first 250 rows of " in Path("policy.toml").read_text()


def test_a_row_is_no_header_of_streamed_files_either(run, people):
    Path("many").mkdir()
    rows = people.write_csv(include_header=False)
    Path("many/0.csv").write_text(rows)
    refused = run("init", "many", "-o", "policy.toml")
    assert (refused.status, Path("policy.toml").exists()) == (2, False)
    assert "the first line looks like a row and not like a header" in refused.err
    names = ",".join(people.columns)
    assert run("init", "many", "--names", names, "-o", "policy.toml").status == 0


def test_an_empty_table_has_no_draft(run, people):
    result = run("init", *database(people.clear()), "-o", "policy.toml")
    assert (result.status, Path("policy.toml").exists()) == (2, False)
    assert "people: the table has no rows" in result.err


def test_a_database_needs_its_table(run, people):
    assert "name a table of the database with --table" in run("init", database(people)[0]).err


def test_a_damaged_file_of_a_folder_is_named(run, people):
    Path("many").mkdir()
    people.write_parquet("many/0.parquet")
    people.write_parquet("many/1.parquet", compression="uncompressed", statistics=False)
    content = bytearray(Path("many/1.parquet").read_bytes())
    start = content.index(people["zip"][3].encode())
    content[start - 40 : start + 80] = b"\xff" * 120
    Path("many/1.parquet").write_bytes(content)
    result = run("init", "many", "-o", "policy.toml")
    assert (result.status, Path("policy.toml").exists()) == (2, False)
    assert result.err.endswith("1.parquet: the file is damaged; its rows cannot be read\n")
