"""The commands that a user begins with: demo, init, list, hierarchy."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import incrowd as ic
from cli_tables import rows
from incrowd.samples import hospital

ROOT = Path(__file__).parents[3]


def test_demo_from_end_to_end(run, tmp_path, monkeypatch):
    target = tmp_path / "demo"
    result = run("demo", "--rows", "600", "-o", str(target))
    assert result.status == 0, result.err
    # Few of so few patients are alike, and the policy says why that does no harm here.
    first, point = result.out.splitlines()[:2]
    assert first.startswith("HOLDS: the release satisfies its policy, and each point has an answer")
    assert point.endswith("Accepted: The patients are made up, so nobody can be found.")
    assert "agrees" in result.out
    seal, *names = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    assert seal.startswith("_incrowd-files-")
    page = ROOT / "docs" / "files.md"
    assert "`_incrowd-files-" in page.read_text(encoding="utf-8"), "a page says what the empty file is for"
    assert names == [
        "hierarchies/09-diagnosis.json",
        "people.csv",
        "policy.toml",
        *(
            f"release/{name}"
            for name in (
                "hierarchies/09-diagnosis.json",
                "internal/DO-NOT-PUBLISH.txt",
                "internal/digests.json",
                "internal/hierarchies/09-diagnosis.json",
                "internal/policy.toml",
                "internal/recoding/keys.parquet",
                "internal/recoding/recoding.json",
                "internal/rows.parquet",
                "policy.toml",
                "release.csv",
                "release.json",
                "report.html",
            )
        ),
    ]
    source = hospital(600, 0)
    for name in ("release.csv", "release.json", "policy.toml"):
        text = (target / "release" / name).read_text()
        assert not any(person in text for person in source["name"])
        assert not any(person in text for person in source["patient_id"])
    classes = Counter(
        tuple(row[name] for name in ("age", "sex", "zip", "marital_status", "admission_date"))
        for row in rows(target / "release" / "release.csv")
    )
    assert min(classes.values()) >= 5
    refused = run("demo", "--rows", "600", "-o", str(target))
    assert refused.status == 2
    assert "--force" in refused.err
    assert run("demo", "--rows", "600", "-o", str(target), "--force").status == 0
    # What it says to try next works as printed; the raw table does not meet the limits.
    there = result.out.partition("go on there:\n")[2]
    commands = [shlex.split(line) for line in there.splitlines()]
    assert commands[0][:3] == ["cd", str(target), "&&"]
    monkeypatch.chdir(commands[0][1])
    commands[0] = commands[0][3:]
    assert [command[0] for command in commands] == ["incrowd"] * 3
    assert [run(*command[1:]).status for command in commands] == [1, 0, 0]


@pytest.mark.slow
def test_the_verdict_comes_first_and_fits_a_screen(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "incrowd.faces.cli.tables.console", lambda: Console(width=80, highlight=False, markup=False)
    )
    first = run("demo", "--rows", "10000")
    assert first.out.startswith("HOLDS: the release satisfies its policy, ")
    # The prompt takes the last line of 24.
    assert len(first.out.splitlines()) <= 23
    monkeypatch.chdir("incrowd-demo")
    roles = ("--policy", "policy.toml")
    raw = run("assess", "people.csv", *roles)
    assert raw.out.startswith("BROKEN: the table does not satisfy its policy (limit; ")
    written = run("anonymize", "people.csv", *roles, "-o", "mine.csv")
    for told in (raw, written):
        assert len(told.out.splitlines()) <= 23
        assert "weakest class for k-anonymity" in told.out
    for command, table in ((("assess", "people.csv"), "Class sizes"), (("demo", "-o", "again"), "Lost")):
        assert table not in run(*command, *(roles if command[0] == "assess" else ("--rows", "10000"))).out
    assert "Class sizes" in run("assess", "people.csv", *roles, "--full").out
    assert "Before and after" in run("anonymize", "people.csv", *roles, "-o", "full.csv", "--full").out


@pytest.mark.slow
def test_init_drafts_a_policy_that_runs(run, hospital_csv, tmp_path):
    policy, target = tmp_path / "policy.toml", tmp_path / "out.csv"
    assert run("init", str(hospital_csv), "-o", str(policy)).status == 0
    text = policy.read_text()
    for column, role in {
        "patient_id": "identifying",
        "name": "identifying",
        "birth_date": "quasi",
        "zip": "quasi",
        "sex": "quasi",
        "diagnosis": "sensitive",
        "cost": "sensitive",
    }.items():
        assert f'[columns.{column}]\nrole = "{role}"  # ' in text
    for values in (hospital(3000, 1)["name"], hospital(3000, 1)["diagnosis"]):
        assert not any(value in text for value in values)
    assert '[columns.admission_type]\nrole = "?"  # ' in text
    refused = run("anonymize", str(hospital_csv), "--policy", str(policy), "-o", str(target))
    assert (refused.status, target.exists()) == (2, False)
    assert "'admission_type'; answer each with" in refused.err
    policy.write_text(text.replace('role = "?"', 'role = "insensitive"'))
    result = run("anonymize", str(hospital_csv), "--policy", str(policy), "-o", str(target))
    assert result.status == 0, result.err
    assert run("verify", str(target), "--policy", str(policy)).status == 0


@pytest.mark.slow
def test_init_tells_on_one_screen_what_it_found_and_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wide = hospital(500, 1)
    for number in range(60):
        wide = wide.with_columns(pl.lit("?").alias(f"a_rather_long_name_of_a_column_{number}"))
    wide = wide.with_columns(subject=pl.Series([f"S{row // 2}" for row in range(500)]))
    wide.write_csv("people.csv")
    result = run("init", "people.csv", "-o", "policy.toml")
    lines = result.out.splitlines()
    assert len(lines) <= 22
    assert max(map(len, lines)) < 80
    for part in (
        "people.csv: 500 rows, 73 columns",
        # Each patient has one row, so that nothing else says whose row it is.
        "left out (3): patient_id, name, subject",
        "sensitive (3): diagnosis, length_of_stay, cost",
        "QUESTIONS (2):",
        "  ?1 60 columns of nearly one value such as ...",
        "! probably missing values, see null_values: '?'",
        '1. Answer all 2 questions ("?") in policy.toml',
        "2. incrowd assess people.csv --policy policy.toml",
    ):
        assert part in result.out
    piped = run("init", "people.csv")
    assert piped.out == Path("policy.toml").read_text(), "the draft alone, for a pipe"
    assert "QUESTIONS (2)" in piped.err


@pytest.mark.parametrize("what", ["models", "algorithms", "metrics", "risks"])
def test_list(run, what):
    result = run("list", what)
    assert result.status == 0
    entries = json.loads(run("list", what, "--json").out)
    assert entries
    for entry in entries:
        assert entry["name"] in result.out
        assert entry["summary"]
        assert entry["paper"]
    assert run("list", "nothing").status == 2


def test_the_interfaces_of_other_works_are_listed(run):
    text = " ".join(run("list", "interfaces").out.split())
    entries = json.loads(run("list", "interfaces", "--json").out)
    modules = {path.stem.strip("_") for path in Path(ic.compat.__path__[0]).iterdir() if path.stem[0] != "_"}
    assert {entry["name"].rpartition(".")[2] for entry in entries} == set(dir(ic.compat)) == modules
    for entry in entries:
        module = import_module(entry["name"])
        assert getattr(ic.compat, entry["name"].rpartition(".")[2]) is module
        assert entry["names"].split(", ") == module.__all__
        assert (ROOT / entry["page"]).is_file()
        for part in entry.values():
            assert part in text
    for word in ("COMP 430", "PETWorks", "P_29", "k-anonymization", "teaching notebook"):
        assert word in text


def test_the_files_of_an_interface_s_example(run, tmp_path):
    for name in ("k-anonymization", "k_anonymization"):
        written = run("list", "interfaces", "--example", name, str(tmp_path / name))
        assert written.out.splitlines() == [
            f"written: {tmp_path / name / file}" for file in ("raw.csv", "released.csv")
        ]
        assert (tmp_path / name / "raw.csv").read_bytes() == b"age,sex\n20,M\n30,M\n40,M\n60,F\n"
    (tmp_path / "k_anonymization" / "released.csv").write_text("mine")
    (tmp_path / "k_anonymization" / "raw.csv").unlink()
    again = ("list", "interfaces", "--example", "k_anonymization", str(tmp_path / "k_anonymization"))
    assert "released.csv: exists already" in run(*again).err
    assert not (tmp_path / "k_anonymization" / "raw.csv").exists()
    assert run(*again, "--force").status == 0
    for wrong, words in (
        (("interfaces", "--example", "petwork"), "there are comp430, .*; did you mean 'petworks'"),
        (("interfaces", "--example", "notebook"), "notebook.md reads Adult, which comes with"),
        (("interfaces", "--example", "p29"), "UCI's diabetes data"),
        (("models", "--example", "comp430"), "--example goes with interfaces"),
        (("interfaces", "--example", "comp430", "--json"), "without --json"),
        (("models", str(tmp_path)), "are for --example"),
    ):
        refused = run("list", *wrong)
        assert refused.status == 2
        assert re.search(words, " ".join(refused.err.split()))


def test_hierarchy_commands(run, tmp_path):
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("Any\n\tEurope\n\t\tFrance\n\t\tItaly\n\tPeru\n")
    bad.write_text("Any\n\tA\n\tA\n")
    checked = run("hierarchy", "check", str(good))
    assert checked.status == 0
    assert "3 leaves, 3 levels, unbalanced (1 leaves end early), root 'Any'" in checked.out
    failed = run("hierarchy", "check", str(good), str(bad))
    assert failed.status == 2
    assert "bad.txt, line 3: 'A' stands twice" in failed.err
    result = run("hierarchy", "show", str(good))
    assert result.out == "Any  (3)\n├── Europe  (2)\n│   ├── France\n│   └── Italy\n└── Peru\n"
    assert run("hierarchy", "convert", str(good), str(tmp_path / "good.csv")).status == 0
    assert (tmp_path / "good.csv").read_text() == "France;Europe;Any\nItaly;Europe;Any\nPeru;Any;Any\n"


def test_help_and_import_stay_light():
    """Neither the help nor the bare import may load a compiler, a plotting or a query library."""
    code = (
        "import sys, incrowd, incrowd.faces.cli\n"
        "heavy = {'numba', 'polars', 'pandas', 'pyarrow', 'duckdb', 'pydantic', 'narwhals', 'yaml', 'numpy'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
def test_a_command_hardly_collects_garbage():
    """Loading the modules of a job would set the collector off hundreds of times."""
    code = (
        "import gc, sys; from incrowd.faces.cli import main\n"
        "before = sum(each['collections'] for each in gc.get_stats())\n"
        "sys.argv = ['incrowd', 'list', 'models', '--json']\n"
        "try: main()\n"
        "finally: print(sum(each['collections'] for each in gc.get_stats()) - before, file=sys.stderr)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert int(process.stderr) <= 1


def test_nothing_is_said_at_the_end_of_a_command_that_queried():
    """The module of DuckDB lists all objects that are left at exit."""
    code = (
        "import duckdb, sys; from incrowd.faces.cli import main; sys.argv = ['incrowd', '--version']; main()"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stderr == ""


def test_list_models_says_what_is_monotone(run):
    entries = {entry["name"]: entry for entry in json.loads(run("list", "models", "--json").out)}
    assert entries["k-anonymity"]["monotone"] == {"generalization": "yes", "suppression": "yes"}
    assert entries["t-closeness"]["monotone"]["generalization"] == "depends on the settings"
    assert all(entry["paper"] and entry["parameters"] for entry in entries.values())
