"""`incrowd tabulate`: from a CSV to tables that `incrowd verify` accepts, and each slip named with status 2."""

from __future__ import annotations

import hashlib
import json

import pytest

POLICY = """
version = 1
unlisted = "drop"
columns.age = { role = "quasi", hierarchy = { intervals = [20, 40] } }
columns.sex = { role = "quasi" }
columns.admission_type = { role = "sensitive" }
[[tables]]
name = "age-type"
rows = ["age:1"]
columns = ["admission_type"]
"""


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


def test_tables_are_made_shown_and_verified(run, hospital_csv, policy, tmp_path):
    result = run("tabulate", str(hospital_csv), "--policy", str(policy), "-o", str(tmp_path / "out"))
    assert result.status == 0, result.err
    assert "age-type: people" in result.out
    assert "HOLDS" in result.out
    assert {file.name for file in (tmp_path / "out").iterdir() if not file.name.startswith("_")} == {
        "age-type.csv",
        "tables.json",
    }
    checked = run("verify", str(tmp_path / "out"))
    assert checked.status == 0
    assert "HOLDS: the release satisfies its policy, and no point is open." in checked.out
    again = run("verify", str(tmp_path / "out" / "tables.json"), "--json")
    assert json.loads(again.out)["narrow"] == {"age-type": 0}


def test_json_has_the_verdict_and_each_table(run, hospital_csv, policy, tmp_path):
    call = ("tabulate", str(hospital_csv), "--policy", str(policy), "-o", str(tmp_path / "out"), "--json")
    document = json.loads(run(*call).out)
    assert document["format"] == "incrowd tables"
    assert document["verdict"]["state"] == "holds"
    assert [each["name"] for each in document["tables"]] == ["age-type"]


def test_a_report_names_the_folder_and_those_who_get_it(run, hospital_csv, policy, tmp_path):
    call = ("tabulate", str(hospital_csv), "--policy", str(policy), "-o", str(tmp_path / "out"))
    about = ("--recipient", "The press", "--purpose", "Yearly figures")
    result = run(*call, "--report", str(tmp_path / "report.html"), *about)
    assert result.status == 0, result.err
    page = (tmp_path / "report.html").read_text()
    digest = hashlib.sha256((tmp_path / "out/tables.json").read_bytes()).hexdigest()
    for text in ("out/tables.json", digest, "The press", "Yearly figures", "HOLDS"):
        assert text in page
    refused = run(*call, "--force", "--report", str(tmp_path / "report.pdf"))
    assert refused.status == 2
    assert "a report is written as .html" in refused.err
    assert "--purpose is for the report" in run(*call, "--force", *about).err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[[tables]]", "[[others]]"), "tables"),
        (('rows = ["age:1"]', 'rows = ["agee"]'), "there is no column 'agee'"),
        (('name = "age-type"', 'name = "a/b"'), "letters, digits"),
        (('name = "age-type"', 'nam = "x"'), "no setting 'nam'"),
        (('columns = ["admission_type"]', "threshold = 1"), "at least 2"),
        (('columns = ["admission_type"]', 'sum = "cost"'), "no column 'cost'"),
        (('columns = ["admission_type"]', 'rows2 = "x"'), "no setting 'rows2'"),
    ],
)
def test_a_slip_of_the_policy_is_named(run, hospital_csv, policy, tmp_path, change, message):
    policy.write_text(POLICY.replace(*change))
    refused = run("tabulate", str(hospital_csv), "--policy", str(policy), "-o", str(tmp_path / "out"))
    assert refused.status == 2
    assert message in refused.err
    assert not (tmp_path / "out").exists()


def test_an_existing_folder_and_an_unknown_kind_are_refused(run, hospital_csv, policy, tmp_path):
    out = tmp_path / "out"
    call = ("tabulate", str(hospital_csv), "--policy", str(policy), "-o", str(out))
    assert "xls" in run(*call, "--kinds", "csv,xls").err
    assert not out.exists()
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    assert run(*call).status == 2
    assert run(*call, "--force").status == 2
    assert (out / "mine.txt").read_text() == "mine"


def test_a_changed_file_is_told(run, hospital_csv, policy, tmp_path):
    run("tabulate", str(hospital_csv), "--policy", str(policy), "-o", str(tmp_path / "out"))
    file = tmp_path / "out/age-type.csv"
    file.write_text(file.read_text().replace("Total,Total,", "Total,Total,1"))
    result = run("verify", str(tmp_path / "out"))
    assert result.status == 2
    assert "was changed after it was made" in result.err


@pytest.mark.slow
def test_tables_are_verified_beside_the_raw_table(run, hospital_csv, policy, tmp_path):
    out, raw = str(tmp_path / "out"), str(hospital_csv)
    run("tabulate", raw, "--policy", str(policy), "-o", out)
    checked = run("verify", out, "--against", raw, "--policy", str(policy))
    assert checked.status == 0, checked.err
    assert "published cells were counted anew from the raw table" in checked.out
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("".join(hospital_csv.read_text().splitlines(keepends=True)[:-1]))
    result = run("verify", out, "--against", str(fewer), "--policy", str(policy))
    assert result.status == 1
    assert "BROKEN" in result.out
    assert "Table age-type: " in result.out
    assert "cells are not the count of the raw table: age = Total and admission_type = Total" in result.out
    document = json.loads(run("verify", out, "--against", raw, "--json").out)
    assert document["compared"] == document["cells"] - document["hidden"]


@pytest.mark.parametrize("option", ["--row-map", "--population", "--profile"])
def test_an_option_of_rows_is_refused_for_tables(run, hospital_csv, policy, tmp_path, option):
    run("tabulate", str(hospital_csv), "--policy", str(policy), "-o", str(tmp_path / "out"))
    refused = run("verify", str(tmp_path / "out"), option, str(hospital_csv))
    assert refused.status == 2
    assert f"{option} is for releases of rows" in refused.err


def test_verify_without_a_policy_asks_for_one(run, hospital_csv):
    assert "--policy FILE" in run("verify", str(hospital_csv)).err


def test_a_ledger_remembers_tables(run, hospital_csv, policy, tmp_path):
    book = str(tmp_path / "book")
    run("ledger", "init", book)
    call = ("tabulate", str(hospital_csv), "--policy", str(policy), "--ledger", book, "--recipient", "press")
    assert run(*call, "-o", str(tmp_path / "one")).status == 0
    assert "tabulate" in run("ledger", "show", book).out
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("".join(hospital_csv.read_text().splitlines(keepends=True)[:-2]))
    refused = run(call[0], str(fewer), *call[2:], "-o", str(tmp_path / "two"))
    assert refused.status == 1
    assert "of fewer than 5 of the people who came or left" in refused.err
    assert not (tmp_path / "two").exists()
    assert run("ledger", "verify", book).status == 0


def test_a_draft_has_tables(run, tmp_path):
    raw, draft = tmp_path / "raw.csv", tmp_path / "draft.toml"
    rows = [f"{30 + n % 7},{'fm'[n % 3 // 2]},{'ab'[n % 2]}" for n in range(300)]
    raw.write_text("\n".join(["age,sex,ward", *rows]))
    call = ("init", str(raw), "--no-questions", "-o", str(draft), "--tables", "age,sex")
    result = run(*call, "--tables", "sex")
    assert result.status == 0, result.err
    assert '[[tables]]\nname = "age-by-sex"\nrows = ["age"]\ncolumns = ["sex"]\n' in draft.read_text()
    tabulated = run(
        "tabulate", str(raw), "--policy", str(draft), "-o", str(tmp_path / "out"), "--seconds", "0.2"
    )
    assert tabulated.status == 0, tabulated.err
    assert {"age-by-sex.csv", "sex.csv"} <= {file.name for file in (tmp_path / "out").iterdir()}


@pytest.mark.few(1)
@pytest.mark.parametrize(("tables", "message"), [("age,sexx", "no column 'sexx'"), ("", "no column ''")])
def test_a_table_of_a_missing_column_is_refused(run, hospital_csv, tables, message):
    refused = run("init", str(hospital_csv), "--tables", tables)
    assert refused.status == 2
    assert message in refused.err


def test_tables_of_groups_that_differ_by_one_person_are_subtracted(run, hospital_csv, policy, tmp_path):
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("".join(hospital_csv.read_text().splitlines(keepends=True)[:-1]))
    for name, table in (("one", hospital_csv), ("two", fewer)):
        run("tabulate", str(table), "--policy", str(policy), "-o", str(tmp_path / name))
    call = ("attack", "--tables", str(tmp_path / "one"), "--tables", str(tmp_path / "two"))
    printed = run(*call)
    assert printed.status == 0, printed.err
    assert "differencing" in printed.out
    assert "Use a ledger, which refuses groups that differ by few people" in printed.out
    [result] = json.loads(run(*call, "--json").out)["attacks"]
    assert result["figures"]["between_groups"] > 0
    assert f"between groups {result['figures']['between_groups']}" in printed.out
    [alone] = json.loads(run(*call[:3], "--json").out)["attacks"]
    assert alone["figures"]["disclosed"] == alone["figures"]["between_groups"] == 0
    refused = run(*call, "--ledger", str(tmp_path))
    assert refused.status == 2
    assert "or --tables, and DATA" in refused.err
    insider = run("attack", str(hospital_csv), *call[1:3], "--policy", str(policy), "--json")
    assert json.loads(insider.out)["attacks"][0]["figures"]["told_to_insiders"] == 0, insider.err
