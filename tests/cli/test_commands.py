"""The commands on small and on real tables, as a user runs them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from pypdf import PdfReader
from rich.console import Console

from incrowd.samples import hospital

ADULT = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income"
)


@pytest.fixture(scope="module")
def hospital_csv(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("hospital") / "hospital.csv"
    hospital(3000, 1).write_csv(path)
    return path


HOSPITAL = (
    "--qi", "age,sex,zip,admission_date", "--sensitive", "diagnosis,cost", "--identifying",
    "patient_id,name,birth_date", "--insensitive", "marital_status,admission_type,length_of_stay",
)  # fmt: skip


def rows(path: Path) -> list[dict[str, str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_figures_of_enormous_numbers_come_without_warnings(run, tmp_path):
    """A warning of NumPy on the standard error is an error in these tests."""
    raw, release = tmp_path / "raw.csv", tmp_path / "release.csv"
    raw.write_text(
        "x,y,s\n" + "".join(f"{row % 9 - 4}{'0' * 307},{row % 7},{row % 2}\n" for row in range(90))
    )
    roles = ("--qi", "x,y", "--sensitive", "s")
    assert run("anonymize", str(raw), "-o", str(release), *roles, "-k", "3").status == 0
    for command in ("utility", "attack"):
        told = run(command, str(raw), str(release), *roles, "--json")
        assert (told.status, told.err) == (0, "")
        figures = json.dumps(json.loads(told.out))
        assert not {"NaN", "Infinity"} & set(figures.replace(",", " ").replace("}", " ").split())


def test_anonymize_writes_what_it_says(run, hospital_csv, tmp_path):
    target, policy = tmp_path / "out.csv", tmp_path / "policy.toml"
    result = run(
        "anonymize", str(hospital_csv), "-o", str(target), *HOSPITAL, "-k", "7", "-l", "3",
        "--save-policy", str(policy), "--recoding", str(tmp_path / "recoding"), "--json",
    )  # fmt: skip
    assert result.status == 0, result.err
    account = json.loads(result.out)
    released, source = rows(target), rows(hospital_csv)
    assert list(released[0]) == [
        name for name in source[0] if name not in ("patient_id", "name", "birth_date")
    ]
    assert [row["cost"] for row in released] == [row["cost"] for row in source]
    classes = Counter((row["age"], row["sex"], row["zip"], row["admission_date"]) for row in released)
    assert min(classes.values()) >= 7
    assert account["after"]["classes"]["count"] == len(classes)
    assert account["after"]["classes"]["smallest"] == min(classes.values())
    assert account["before"]["unique"] > 2000
    assert 0 < next(lost["value"] for lost in account["utility"] if lost["metric"] == "loss") < 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "policy.toml", "recoding"]
    assert (tmp_path / "recoding" / "recoding.json").stat().st_mode & 0o077 == 0

    verified = run("verify", str(target), "--policy", str(policy), "--json")
    assert verified.status == 0, verified.out
    findings = {(f["model"], f["attribute"]): f["reached"] for f in json.loads(verified.out)["findings"]}
    for measured in account["after"]["privacy"]:
        key = (measured["model"], measured.get("attribute"))
        if "limit" in measured:
            assert findings[key] == pytest.approx(measured["value"], abs=1e-12)

    again = run("anonymize", str(hospital_csv), "-o", str(tmp_path / "again.csv"), "--policy", str(policy))
    assert again.status == 0, again.err
    assert (tmp_path / "again.csv").read_bytes() == target.read_bytes()
    assert "every model holds" in again.out


def test_verify_catches_what_was_changed_afterwards(run, hospital_csv, tmp_path):
    target, policy = tmp_path / "out.csv", tmp_path / "policy.toml"
    made = run(
        "anonymize", str(hospital_csv), "-o", str(target), *HOSPITAL, "-k", "5", "--save-policy", str(policy)
    )
    assert made.status == 0
    lines = target.read_text().splitlines()
    lines[1] = lines[1].replace(lines[1].split(",")[0], "57", 1)
    target.write_text("\n".join(lines) + "\n")
    result = run("verify", str(target), "--policy", str(policy))
    assert result.status == 1
    assert "FAILS" in result.out


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_formats_of_the_output(run, hospital_csv, tmp_path, suffix):
    target = tmp_path / f"out{suffix}"
    result = run("anonymize", str(hospital_csv), "-o", str(target), *HOSPITAL, "-k", "5")
    assert result.status == 0, result.err
    table = pl.read_parquet(target) if suffix == ".parquet" else pl.read_csv(target, infer_schema=False)
    assert table.height == 3000
    classes = table.group_by("age", "sex", "zip", "admission_date").len()["len"]
    assert classes.min() >= 5


def test_assess_counts_the_table_as_it_stands(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zip,age,disease\n02139,30,flu\n02139,30,cold\n02139,31,flu\n*,*,flu\n02139,30,flu\n")
    result = run("assess", str(path), "--qi", "zip,age", "--sensitive", "disease", "--json")
    assert result.status == 0, result.err
    measured = json.loads(result.out)
    assert measured["records"] == 5
    assert measured["suppressed"] == 1
    assert measured["classes"]["count"] == 2
    assert measured["classes"]["distribution"] == [
        {"least": 1, "most": 1, "classes": 1, "records": 1},
        {"least": 3, "most": 3, "classes": 1, "records": 3},
    ]
    assert measured["unique"] == 1
    assert measured["risk"]["prosecutor"] == {
        "max": 1.0, "mean": 0.5, "mean_over_classes": pytest.approx(2 / 3, abs=1e-15),
        "min": pytest.approx(1 / 3), "at_risk": 1.0,
    }  # fmt: skip
    named = ("k-anonymity", "l-diversity", "t-closeness")
    values = {
        entry["model"]: entry["value"] for entry in reversed(measured["privacy"]) if entry["model"] in named
    }
    # The whole table is 4/5 flu; the class of one is all flu, the other 2/3.
    assert values == {"k-anonymity": 1, "l-diversity": 1, "t-closeness": pytest.approx(1 / 5, abs=1e-15)}


def test_assess_shows_every_class(run, tmp_path):
    """Shares of flu: 3/4 of the table, 2/3 of one class, all of the other: 1/12 and 1/4 away."""
    path = tmp_path / "t.csv"
    path.write_text("zip,age,disease\n02139,30,flu\n02139,30,cold\n02139,[a],flu\n02139,30,flu\n")
    call = ("assess", str(path), "--qi", "zip,age", "--sensitive", "disease", "--by-class")
    result = run(*call, "-t", "0.3", "--json")
    assert result.status == 0, result.err
    found = json.loads(result.out)["by_class"]
    assert found["measures"][0] == {
        "model": "t-closeness", "quantity": "t", "settings": {"distance": "equal"}, "attribute": "disease",
    }  # fmt: skip
    assert [(row["cells"], row["records"], row["values"][0]) for row in found["classes"]] == [
        ({"zip": "02139", "age": "30"}, 3, pytest.approx(1 / 12, abs=1e-15)),
        ({"zip": "02139", "age": "[a]"}, 1, 0.25),
    ]
    assert "by_class" not in json.loads(run(*call[:-1], "--json").out)
    shown = run(*call).out
    assert "t-closeness t (distance=equal) of disease" in shown
    assert "[a]" in shown
    path.write_text("q\n" + "".join(f"{number}\n" for number in range(103)))
    assert "3 more classes: --json has all" in run("assess", str(path), "--qi", "q", "--by-class").out


def test_assess_judges_limits(run, hospital_csv):
    assert run("assess", str(hospital_csv), "--qi", "sex", "-k", "2").status == 0
    failed = run("assess", str(hospital_csv), "--qi", "age,zip", "-k", "2")
    assert failed.status == 1
    assert "FAILS" in failed.out


def test_leading_zeros_null_words_and_line_breaks_survive(run, tmp_path):
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\r\n")
        writer.writerow(["zip", "note", "mark"])
        for i in range(6):
            writer.writerow(["00123", ["None", "NA", "?", "a\nb", 'q"q', "x;y"][i], i % 2])
    result = run(
        "anonymize",
        str(path),
        "-o",
        str(tmp_path / "out.csv"),
        "--qi",
        "zip",
        "--insensitive",
        "note,mark",
        "-k",
        "6",
    )
    assert result.status == 0, result.err
    with (tmp_path / "out.csv").open(newline="") as file:
        released = list(csv.DictReader(file, delimiter=";"))
    assert [row["zip"] for row in released] == ["00123"] * 6
    assert [row["note"] for row in released] == ["None", "NA", "?", "a\nb", 'q"q', "x;y"]


def test_null_value_makes_ages_numbers(run, tmp_path):
    path, target = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_text("age,note\n" + "".join(f"{age},?\n" for age in ("?", "?", "20", "21", "30", "31")))
    arguments = ("anonymize", str(path), "-o", str(target), "--qi", "age", "--insensitive", "note", "-k", "2")
    assert run(*arguments).status == 0
    # Without a word about "?" the ages are six texts, cut in their order.
    text = ["{31, ?}", "{31, ?}", "{20, 21, 30}", "{20, 21, 30}", "{20, 21, 30}", "{31, ?}"]
    assert [row["age"] for row in rows(target)] == text
    assert run(*arguments, "--null-value", "?", "--force").status == 0
    number = ["", "", "[20-21]", "[20-21]", "[30-31]", "[30-31]"]
    assert [row["age"] for row in rows(target)] == number
    assert {row["note"] for row in rows(target)} == {"?"}


def test_names_that_look_like_markup_are_names(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a[b],[/red],:smile:\n" + "[bold]x,1,y\n" * 3)
    arguments = ("--qi", "a[b],[/red]", "--sensitive", ":smile:", "-k", "3")
    shown = run("anonymize", str(path), "-o", str(tmp_path / "out.csv"), *arguments)
    assert shown.status == 0, shown.err
    for name in ("a[b]", "[/red]", ":smile:"):
        assert name in shown.out
    assert run("assess", str(tmp_path / "out.csv"), *arguments).status == 0


def test_encoding_comes_back(run, tmp_path):
    path, target = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_bytes("stadt;wert\nKöln;1\nKöln;2\n".encode("latin-1"))
    result = run(
        "anonymize", str(path), "-o", str(target), "--qi", "stadt", "--insensitive", "wert", "-k", "2",
        "--encoding", "latin-1",
    )  # fmt: skip
    assert result.status == 0, result.err
    assert target.read_bytes() == "stadt;wert\nKöln;1\nKöln;2\n".encode("latin-1")


def test_demo_from_end_to_end(run, tmp_path, monkeypatch):
    target = tmp_path / "demo"
    result = run("demo", "--rows", "2000", "-o", str(target))
    assert result.status == 0, result.err
    assert result.out.startswith("The release satisfies all 4 conditions asked for.\n")
    assert "agrees" in result.out
    seal, *names = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    assert seal.startswith("_incrowd-files-")
    assert names == [
        "hierarchies/09-diagnosis.json",
        "people.csv",
        "policy.toml",
        *(
            f"release/{name}"
            for name in (
                "hierarchies/09-diagnosis.json",
                "internal/DO-NOT-PUBLISH.txt",
                "internal/hierarchies/09-diagnosis.json",
                "internal/policy.toml",
                "internal/recoding/keys.parquet",
                "internal/recoding/recoding.json",
                "policy.toml",
                "release.csv",
                "release.json",
                "report.html",
            )
        ),
    ]
    source = hospital(2000, 0)
    for name in ("release.csv", "release.json", "policy.toml"):
        text = (target / "release" / name).read_text()
        assert not any(person in text for person in source["name"])
        assert not any(person in text for person in source["patient_id"])
    classes = Counter(
        tuple(row[name] for name in ("age", "sex", "zip", "marital_status", "admission_date"))
        for row in rows(target / "release" / "release.csv")
    )
    assert min(classes.values()) >= 5
    refused = run("demo", "--rows", "2000", "-o", str(target))
    assert refused.status == 2
    assert "--force" in refused.err
    assert run("demo", "--rows", "2000", "-o", str(target), "--force").status == 0
    # What it says to try next works as printed; the raw table does not meet the limits.
    monkeypatch.chdir(target)
    commands = [line.split()[1:] for line in result.out.splitlines() if line.startswith("  incrowd ")]
    assert [run(*command).status for command in commands] == [1, 0, 0]


def test_the_verdict_comes_first_and_fits_a_screen(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "incrowd.cli.tables.console", lambda: Console(width=80, highlight=False, markup=False)
    )
    first = run("demo", "--rows", "2000")
    assert first.out.splitlines()[0] == "The release satisfies all 4 conditions asked for."
    assert len(first.out.splitlines()) <= 24
    monkeypatch.chdir("incrowd-demo")
    roles = ("--policy", "policy.toml")
    raw = run("assess", "people.csv", *roles)
    assert raw.out.startswith("The table does not satisfy what was asked for: k-anonymity, l-diversity.\n")
    written = run("anonymize", "people.csv", *roles, "-o", "mine.csv")
    for told in (raw, written):
        assert len(told.out.splitlines()) <= 23, "one line is the prompt's"
        assert "weakest class for k-anonymity" in told.out
    for command, table in ((("assess", "people.csv"), "Class sizes"), (("demo", "-o", "again"), "Lost")):
        assert table not in run(*command, *(roles if command[0] == "assess" else ("--rows", "2000"))).out
    assert "Class sizes" in run("assess", "people.csv", *roles, "--full").out
    assert "Before and after" in run("anonymize", "people.csv", *roles, "-o", "full.csv", "--full").out


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


def test_init_tells_on_one_screen_what_it_found_and_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wide = hospital(500, 1)
    for number in range(60):
        wide = wide.with_columns(pl.lit("?").alias(f"a_rather_long_name_of_a_column_{number}"))
    wide = wide.with_columns(subject=pl.Series([f"S{row // 2}" for row in range(500)]))
    wide.write_csv("people.csv")
    told = run("init", "people.csv", "-o", "policy.toml")
    lines = told.out.splitlines()
    assert len(lines) <= 22
    assert max(map(len, lines)) < 80
    for part in (
        "people.csv: 500 rows, 73 columns",
        "left out (3): patient_id, name, subject",
        "sensitive (3): diagnosis, length_of_stay, cost",
        "QUESTIONS (61):",
        "! people may have several rows, and figures count rows; ids: subject",
        "! probably missing values, see null_values: '?'",
        '1. Answer all 61 questions ("?") in policy.toml',
        "2. incrowd assess people.csv --policy policy.toml",
    ):
        assert part in told.out
    piped = run("init", "people.csv")
    assert piped.out == Path("policy.toml").read_text(), "the draft alone, for a pipe"
    assert "QUESTIONS (61)" in piped.err


@pytest.mark.parametrize("what", ["models", "algorithms", "metrics", "risks"])
def test_list(run, what):
    shown = run("list", what)
    assert shown.status == 0
    entries = json.loads(run("list", what, "--json").out)
    assert entries
    for entry in entries:
        assert entry["name"] in shown.out
        assert entry["summary"]
        assert entry["paper"]
    assert run("list", "nothing").status == 2


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
    shown = run("hierarchy", "show", str(good))
    assert shown.out == "Any  (3)\n├── Europe  (2)\n│   ├── France\n│   └── Italy\n└── Peru\n"
    assert run("hierarchy", "convert", str(good), str(tmp_path / "good.csv")).status == 0
    assert (tmp_path / "good.csv").read_text() == "France;Europe;Any\nItaly;Europe;Any\nPeru;Any;Any\n"


def test_adult_of_the_assignment_in_one_command(run, shared_data, tmp_path):
    folder = shared_data / "adult-hw1"
    target, policy = tmp_path / "out.csv", tmp_path / "policy.toml"
    result = run(
        "anonymize", str(folder / "adult-hw1.csv"), "-o", str(target), "--hierarchies", str(folder / "DGHs"),
        "--sensitive", "income", "-k", "10", "-l", "3", "--save-policy", str(policy),
    )  # fmt: skip
    assert result.status == 0, result.err
    assert len(rows(target)) == 9999
    assert run("verify", str(target), "--policy", str(policy)).status == 0


def test_the_whole_adult_table_in_one_command(run, shared_data, tmp_path):
    target, policy = tmp_path / "out.csv", tmp_path / "policy.toml"
    result = run(
        "anonymize", str(shared_data / "adult" / "adult.all.txt.gz"), "-o", str(target), "--names", ADULT,
        "--delimiter", ", ", "--qi", "age,workclass,education,marital-status,occupation,race,sex,native-country",
        "--sensitive", "income", "--unlisted", "drop", "-k", "10", "-l", "2", "-t", "0.5", "--save-policy", str(policy),
    )  # fmt: skip
    assert result.status == 0, result.err
    assert len(rows(target)) == 48842
    assert run("verify", str(target), "--policy", str(policy)).status == 0


def test_help_and_import_stay_light():
    """Neither the help nor the bare import may load what compiles, plots or queries."""
    code = (
        "import sys, incrowd, incrowd.cli\n"
        "heavy = {'numba', 'polars', 'pandas', 'pyarrow', 'duckdb', 'pydantic', 'narwhals', 'yaml', 'numpy'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_file(hospital_csv, tmp_path, number):
    target = tmp_path / "out.csv"
    # Stop where it hurts most: the temporary file is written, the check of it has begun.
    code = (
        "import sys, time, incrowd.jobs.anonymize as release\n"
        "def wait(*a, **k):\n"
        "    print('now', flush=True)\n"
        "    time.sleep(60)\n"
        "from incrowd.io import files\n"
        "real = files.write_table\n"
        "def slow(*a, **k):\n"
        "    real(*a, **k)\n"
        "    wait()\n"
        "files.write_table = slow\n"
        "from incrowd.cli import main\n"
        "main()\n"
    )
    arguments = ["anonymize", str(hospital_csv), "-o", str(target), *HOSPITAL, "-k", "5"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    assert [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]
    time.sleep(0.1)
    process.send_signal(number)
    assert process.wait(30) != 0
    process.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_models_with_a_population_on_the_command_line(run, tmp_path):
    """k-map and delta-presence through --population, in assess and anonymize, from files."""
    people = pl.DataFrame({"age": [20, 21, 22, 40, 41, 42] * 5, "zip": ["02139", "02138", "10001"] * 10})
    sample = people.head(12).with_columns(s=pl.Series(["x", "y", "z"] * 4))
    people.write_csv(tmp_path / "people.csv")
    sample.write_csv(tmp_path / "sample.csv")
    data = str(tmp_path / "sample.csv")
    columns = ["--qi", "age,zip", "--sensitive", "s", "--population", str(tmp_path / "people.csv")]
    shown = run("assess", data, *columns, "--full")
    assert shown.status == 0
    assert "k-map" in shown.out
    assert "delta-presence" in shown.out
    assert "Weakest classes" in shown.out
    asked = run("assess", data, *columns, "--model", "k-map:6", "--json")
    assert asked.status == 1
    [measured] = [m for m in json.loads(asked.out)["privacy"] if m["model"] == "k-map"]
    assert (measured["value"], measured["limit"], measured["holds"]) == (5, 6, False)
    assert measured["failing"]["classes"] == 6
    assert len(measured["failing"]["examples"]) == 6
    assert set(measured["weakest"]) == {"cells", "records", "ties"}
    out = tmp_path / "out.csv"
    made = run(
        "anonymize", data, *columns, "--model", "k-map:10", "--model", "delta-presence:0.5", "-o", str(out)
    )
    assert made.status == 0, made.err
    assert out.exists()
    refused = run("assess", data, *columns[:4], "--model", "k-map:6")
    assert refused.status == 2
    assert "--population" in refused.err
    clobber = run("anonymize", data, *columns, "-k", "2", "-o", str(tmp_path / "people.csv"), "--force")
    assert clobber.status == 2


def test_the_account_of_a_release_has_no_cells(run, tmp_path):
    """What was weakest before recoding is raw: an assessment shows it, a release does not."""
    frame = pl.DataFrame({"age": [20, 21, 22, 77], "s": ["x", "y", "x", "y"]})
    frame.write_csv(tmp_path / "t.csv")
    shown = run("assess", str(tmp_path / "t.csv"), "--qi", "age", "-k", "2", "--full")
    assert shown.out.split("Weakest classes")[1].split()[:5] == ["records", "age", "#1", "1", "20"]
    shown = run(
        "anonymize", str(tmp_path / "t.csv"), "--qi", "age", "--unlisted", "drop", "-k", "4",
        "-o", str(tmp_path / "o.csv"), "--json",
    )  # fmt: skip
    document = json.loads(shown.out)
    assert "weakest" not in json.dumps(document)
    assert "cells" not in json.dumps(document)
    failing = next(m for m in document["before"]["privacy"] if m["model"] == "k-anonymity")["failing"]
    assert failing == {"classes": 4, "records": 4}


def test_list_models_says_what_is_monotone(run):
    entries = {entry["name"]: entry for entry in json.loads(run("list", "models", "--json").out)}
    assert entries["k-anonymity"]["monotone"] == {"generalization": "yes", "suppression": "yes"}
    assert entries["t-closeness"]["monotone"]["generalization"] == "depends on the settings"
    assert all(entry["paper"] and entry["parameters"] for entry in entries.values())


@pytest.fixture
def lattice_files(tmp_path):
    """A table, and hierarchies of it in a folder."""
    frame = pl.DataFrame(
        {
            "age": [str(age) for age in range(20, 60)],
            "zip": ["02139", "02138", "10001", "10002"] * 10,
            "s": ["x", "y"] * 20,
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    folder = tmp_path / "trees"
    folder.mkdir()
    lines = [f"{age};{age // 10 * 10}s;*" for age in range(20, 60)]
    (folder / "age.csv").write_text("\n".join(lines) + "\n")
    zips = ["02139;0213*;0****;*", "02138;0213*;0****;*", "10001;1000*;1****;*", "10002;1000*;1****;*"]
    (folder / "zip.csv").write_text("\n".join(zips) + "\n")
    return str(tmp_path / "t.csv"), str(folder)


def test_the_lattice_is_shown_and_written(run, lattice_files, tmp_path):
    data, folder = lattice_files
    shown = run("lattice", data, "--hierarchies", folder, "-k", "3", "--max-suppression", "0.1")
    assert shown.status == 0, shown.err
    assert shown.out.startswith("12 nodes, ")
    assert "the best is proved" in shown.out
    assert "mean risk" in shown.out
    for name in ("l.parquet", "l.json"):
        written = run("lattice", data, "--hierarchies", folder, "-k", "3", "-o", str(tmp_path / name))
        assert written.status == 0, written.err
        assert f"written: {tmp_path / name}" in written.out
        again = run("lattice", data, "--hierarchies", folder, "-k", "3", "-o", str(tmp_path / name))
        assert again.status == 2
    as_json = run("lattice", data, "--hierarchies", folder, "-k", "3", "--json")
    document = json.loads(as_json.out)
    assert document == json.loads((tmp_path / "l.json").read_text())
    assert document["levels"] == {"age": 1, "zip": 2}
    assert (document["lattice"], document["proved"]) == (12, True)
    infeasible = run("lattice", data, "--hierarchies", folder, "-k", "3", "--levels", "age=0")
    assert infeasible.status == 1
    assert "no full-domain recoding among 4 satisfies" in infeasible.err
    assert run("lattice", data, "--hierarchies", folder, "-k", "3", "-o", "l.txt").status == 2


def test_a_node_is_taken_on_the_command_line(run, lattice_files, tmp_path):
    data, folder = lattice_files
    common = ("anonymize", data, "--hierarchies", folder, "--unlisted", "drop", "-k", "3")
    out = tmp_path / "o.csv"
    made = run(*common, "--levels", "age=1,zip=3", "-o", str(out))
    assert made.status == 0, made.err
    assert "levels: age=1, zip=3; 1 of 1 nodes looked at, proved optimal" in made.out
    released = pl.read_csv(out, infer_schema=False)
    assert set(released["zip"]) == {"*"}
    assert set(released["age"]) == {"20s", "30s", "40s", "50s"}
    policy = tmp_path / "p.toml"
    optimal = run(
        *common, "--algorithm", "optimal:metric=discernibility", "-o", str(tmp_path / "p.csv"),
        "--save-policy", str(policy),
    )  # fmt: skip
    assert optimal.status == 0, optimal.err
    assert 'metric = "discernibility"' in policy.read_text()
    checked = run("verify", str(tmp_path / "p.csv"), "--policy", str(policy))
    assert checked.status == 0, checked.out + checked.err
    for wrong in ("age", "age=x", "age=-1"):
        refused = run(*common, "--levels", wrong, "-o", str(tmp_path / "q.csv"))
        assert refused.status == 2
        assert "write column=level" in refused.err
    budget = run(*common, "--algorithm", "optimal:budget=soon", "-o", str(tmp_path / "q.csv"))
    assert budget.status == 2


def test_weights_and_levels_of_a_policy_file(run, lattice_files, tmp_path):
    import incrowd as ic

    data, folder = lattice_files
    policy = tmp_path / "p.toml"
    policy.write_text(
        'version = 1\nothers = "drop"\n'
        f'[columns.age]\nrole = "quasi"\nhierarchy = "{folder}/age.csv"\nlevels = [0, 1]\n'
        f'[columns.zip]\nrole = "quasi"\nhierarchy = "{folder}/zip.csv"\nweight = 3\nlevels = [1]\n'
        '[[models]]\nmodel = "k-anonymity"\nk = 3\n[algorithm]\nname = "optimal"\n'
    )
    loaded = ic.Policy.read(policy)
    assert [attribute.levels for attribute in loaded.schema.quasi] == [(0, 1), (1, None)]
    assert [attribute.weight for attribute in loaded.schema.quasi] == [1, 3]
    loaded.write(tmp_path / "again.toml")
    again = ic.Policy.read(tmp_path / "again.toml")
    assert [(a.levels, a.weight) for a in again.schema.quasi] == [((0, 1), 1), ((1, None), 3)]
    made = run("anonymize", data, "--policy", str(policy), "-o", str(tmp_path / "o.csv"))
    assert made.status == 0, made.err
    assert "levels: age=1, zip=2" in made.out
    for wrong in ("levels = []", "levels = [1, 2, 3]", "levels = [2, 1]", "weight = -1", "levels = 1"):
        policy.write_text(policy.read_text().replace("levels = [1]", wrong, 1))
        assert run("anonymize", data, "--policy", str(policy), "-o", str(tmp_path / "x.csv")).status == 2
        policy.write_text(policy.read_text().replace(wrong, "levels = [1]", 1))


def test_compare_shows_a_line_per_setting(run, hospital_csv):
    asked = (
        "compare", str(hospital_csv), "--qi", "age,length_of_stay", "--sensitive", "diagnosis",
        "--algorithms", "mondrian:choose=span,median=below,random,microaggregation", "-k", "4,16",
        "--seeds", "1,2",
    )  # fmt: skip
    result = run(*asked)
    assert result.status == 1  # microaggregation takes one number
    lines = result.out.splitlines()
    assert lines[1].split() == [
        "algorithm", "k", "seconds", "LM", "MD", "NCP", "discernibility", "class", "size", "suppressed"
    ]  # fmt: skip
    assert [line.split()[0] for line in lines[2:8]] == [
        "mondrian(choose=span,", "mondrian(choose=span,", "random", "random", "microaggregation",
        "microaggregation",
    ]  # fmt: skip
    assert "±" in lines[4]
    assert "nothing released" in lines[6]
    assert "  microaggregation k=4: microaggregation works on one number" in result.out
    table = run(*asked, "--csv")
    rows = list(csv.DictReader(io.StringIO(table.out)))
    assert [(row["algorithm"].partition("(")[0], row["k"], row["seed"]) for row in rows] == [
        ("mondrian", "4", ""), ("mondrian", "16", ""), ("random", "4", "1"), ("random", "4", "2"),
        ("random", "16", "1"), ("random", "16", "2"), ("microaggregation", "4", ""),
        ("microaggregation", "16", ""),
    ]  # fmt: skip
    document = json.loads(run(*asked, "--json").out)
    assert [str(entry["utility"]["loss"]) for entry in document["runs"][:6]] == [
        row["loss"] for row in rows[:6]
    ]
    assert all(float(row["seconds"]) > 0 for row in rows[:6])
    for wrong, words in (
        (("--json", "--csv"), "say one of them"),
        (("-l", "two"), "-l: write whole numbers"),
        (("-t", "1.5"), "t must be a number between 0 and 1"),
    ):
        result = run(*asked, *wrong)
        assert result.status == 2
        assert words in result.err


def test_anatomize_writes_two_tables(run, hospital_csv, tmp_path):
    asked = (
        "anatomize", str(hospital_csv), "--qi", "age,sex,zip", "--sensitive", "diagnosis", "--unlisted", "drop",
        "-l", "4",
    )  # fmt: skip
    result = run(*asked, "-o", str(tmp_path / "out"))
    assert result.status == 0
    assert "3,000 records in 750 groups of 4 to 4, each with 4 different values or more" in result.out
    quasi = pl.read_csv(tmp_path / "out" / "quasi.csv", infer_schema=False)
    sensitive = pl.read_csv(tmp_path / "out" / "sensitive.csv", infer_schema=False)
    assert quasi.columns == ["age", "sex", "zip", "group"]
    original = pl.read_csv(str(hospital_csv), infer_schema=False)
    assert quasi.drop("group").equals(original.select("age", "sex", "zip"))
    assert Counter(sensitive["diagnosis"]) == Counter(original["diagnosis"])
    assert sensitive.group_by("group").agg(pl.col("diagnosis").n_unique())["diagnosis"].min() == 4
    again = run(*asked, "-o", str(tmp_path / "out"))
    assert again.status == 2
    assert "exists already" in again.err
    told = json.loads(run(*asked, "-o", str(tmp_path / "out"), "--force", "--json").out)
    assert (told["groups"], told["l"]) == (750, 4)
    result = run(*asked, "-o", str(tmp_path / "other"), "--model", "k-anonymity:3")
    assert result.status == 2
    assert "so k-anonymity cannot hold" in result.err
    result = run(*asked, "-l", "400", "-o", str(tmp_path / "other"))
    assert result.status != 0
    assert not (tmp_path / "other").exists()


def test_the_seed_is_that_of_the_command_line(run, hospital_csv, tmp_path):
    released = []
    for number, seed in enumerate(("3", "3", "4")):
        path = tmp_path / f"{number}.csv"
        asked = ("--qi", "age,sex", "--sensitive", "diagnosis", "--unlisted", "drop", "-k", "5")
        result = run(
            "anonymize", str(hospital_csv), *asked, "--algorithm", "random", "--seed", seed, "-o", str(path)
        )
        assert result.status == 0
        released.append(path.read_bytes())
    assert released[0] == released[1] != released[2]


def test_utility_reads_two_files(run, hospital_csv, tmp_path):
    released = tmp_path / "out.csv"
    columns = ("--qi", "age,sex,zip", "--sensitive", "diagnosis")
    result = run(
        "anonymize", str(hospital_csv), *columns, "--unlisted", "drop", "-k", "5", "-o", str(released), "--json"
    )  # fmt: skip
    known = {lost["metric"]: lost for lost in json.loads(result.out)["utility"]}
    told = json.loads(run("utility", str(hospital_csv), str(released), *columns, "--json").out)
    assert {lost["metric"]: lost["value"] for lost in told["utility"]} == pytest.approx(
        {name: lost["value"] for name, lost in known.items()}
    )
    shown = run("utility", str(hospital_csv), str(released), *columns)
    assert shown.status == 0
    assert "3,000 records in" in shown.out
    assert [line.split()[0] for line in shown.out.splitlines() if line.startswith(("loss", "aecs"))] == [
        "loss", "aecs"
    ]  # fmt: skip
    assert "Distributions, before and after" in shown.out
    assert "100 random counts over 2 columns" in shown.out
    assert len(told["statistics"]["marginals"]) == 3
    learned = run("utility", str(hospital_csv), str(released), *columns, "--target", "admission_type")
    assert "learning 'admission_type', accuracy:" in learned.out
    short = tmp_path / "short.csv"
    short.write_text("".join(released.read_text().splitlines(keepends=True)[:-1]))
    result = run("utility", str(hospital_csv), str(short), *columns)
    assert result.status == 2
    assert "row N of one has to be row N of the other" in result.err


def test_risk_on_the_command_line(run, hospital_csv, tmp_path):
    asked = ("risk", str(hospital_csv), "--qi", "age,sex,zip", "--sensitive", "diagnosis")
    shown = run(*asked, "--population-size", "100000")
    assert shown.status == 0
    assert "records have minimal sample uniques" in shown.out
    assert "unique in the population, estimated" in shown.out
    told = json.loads(run(*asked, "--json", "--max-size", "2", "--distinction", "0.5").out)
    assert set(told["risks"]) == {"prosecutor", "marketer", "attribute-disclosure"}
    assert len(told["quasi_identifiers"]) == 6
    assert [entry["columns"] for entry in told["quasi_identifiers"] if entry["minimal"]] == [["age", "zip"]]
    assert "population_uniqueness" not in told
    assert "individual_risk" not in told
    weighted = tmp_path / "weighted.csv"
    pl.read_csv(hospital_csv).with_columns(weight=pl.lit(12.5)).write_csv(weighted)
    survey = ("risk", str(weighted), "--qi", "age,sex,zip", "--weights", "weight")
    individual = json.loads(run(*survey, "--json").out)["individual_risk"]
    assert 0 < individual["mean"] <= individual["max"] < 1
    assert individual["expected"] == pytest.approx(3000 * individual["mean"])
    assert "individual risk by sampling weights" in run(*survey).out
    assert "the table has no column 'w'" in run(*survey[:-1], "w").err
    wrong = run(*asked, "--population-size", "10")
    assert wrong.status == 2
    assert "is fewer than the table's 3000 records" in wrong.err


def test_attack_on_the_command_line(run, hospital_csv, tmp_path):
    released, control = tmp_path / "out.csv", tmp_path / "control.csv"
    columns = ("--qi", "age,sex,zip", "--sensitive", "diagnosis")
    hospital(500, 9).write_csv(control)
    run("anonymize", str(hospital_csv), *columns, "--unlisted", "drop", "-k", "20", "-o", str(released))
    asked = (
        "attack", str(hospital_csv), str(released), *columns, "--control", str(control), "--attacks", "50",
        "--aligned", "--known", "age,sex",
    )  # fmt: skip
    shown = run(*asked)
    assert shown.status == 0, shown.err
    lines = shown.out.splitlines()
    assert [line.split()[0] for line in lines[2:9]] == [
        "singling-out-univariate", "singling-out-multivariate", "linkability", "inference", "membership", "linkage",
        "order",
    ]  # fmt: skip
    told = json.loads(run(*asked, "--json").out)
    assert [entry["name"] for entry in told["attacks"]] == [line.split()[0] for line in lines[2:9]]
    assert all(0 <= entry["risk"]["value"] <= 1 for entry in told["attacks"][:5])


def test_p29_on_the_command_line(run, hospital_csv, tmp_path):
    asked = ("p29", str(hospital_csv), "--qi", "sex,age", "--sensitive", "diagnosis")
    shown = run(*asked)
    assert "P29 score: 0\n" in shown.out
    assert shown.status == 1
    target = tmp_path / "left.csv"
    made = run(*asked, "--unlisted", "drop", "-o", str(target), "-t", "0.9", "--json")
    assert made.status == 0, made.err
    told = json.loads(made.out)
    assert told["clean"]
    left = pl.read_csv(target)
    assert left.height == told["records"] - told["deleted"]
    assert set(left.columns) == {"age", "sex", "diagnosis"}
    assert left.group_by("sex", "age").len()["len"].min() > 1
    short = tmp_path / "short.csv"
    (tmp_path / "two.csv").write_text(
        "p,s\n"
        + "".join(f"{p},{s}\n" for p, s in zip("a" * 7 + "b" * 5 + "c" * 3, "122221211112112", strict=True))
    )
    twice = (
        "p29",
        str(tmp_path / "two.csv"),
        "--qi",
        "p",
        "--sensitive",
        "s",
        "-t",
        "0.25",
        "-o",
        str(short),
    )
    once = run(*twice, "--max-rounds", "1")
    assert (once.status, short.exists()) == (1, False)
    assert "classes are left that fail" in once.out
    assert (run(*twice).status, short.exists()) == (0, True)
    short.unlink()
    assert run(*asked, "--unlisted", "drop", "-o", str(target)).status == 2  # exists
    nothing = run(*asked, "--unlisted", "drop", "-o", str(short), "-k", "100000")
    assert (nothing.status, "no class is left" in nothing.err) == (1, True)


def test_randomize_on_the_command_line(run, hospital_csv, tmp_path):
    spec, target = tmp_path / "dp.toml", tmp_path / "out.csv"
    spec.write_text(
        "budget = 3\n[columns.age]\nmechanism = 'laplace'\nepsilon = 1\nlow = 0\nhigh = 110\n"
        "[columns.sex]\nmechanism = 'randomized-response'\nepsilon = 2\ncategories = ['female', 'male', 'other']\n"
    )
    raw = pl.read_csv(hospital_csv)
    spec.write_text(
        spec.read_text().replace("['female', 'male', 'other']", json.dumps(raw["sex"].unique().to_list()))
    )
    shown = run("randomize", str(hospital_csv), "--spec", str(spec), "-o", str(target))
    assert shown.status == 0, shown.err
    assert "budget 3, 0 left" in shown.out
    made = pl.read_csv(target)
    assert made.columns == raw.columns
    assert not made["age"].equals(raw["age"])
    assert made["diagnosis"].equals(raw["diagnosis"])
    told = json.loads(
        run("randomize", str(hospital_csv), "--spec", str(spec), "-o", str(target), "--force", "--json").out
    )
    assert told["epsilon"] == 3
    spec.write_text("budget = 1\n" + spec.read_text().replace("budget = 3\n", ""))
    assert run("randomize", str(hospital_csv), "--spec", str(spec), "-o", str(target), "--force").status == 2


def test_the_one_page_on_the_command_line(run, hospital_csv, tmp_path):
    target = tmp_path / "page.pdf"
    asked = (
        "compare", str(hospital_csv), "--qi", "age,sex", "--sensitive", "diagnosis", "--algorithms", "random,datafly",
        "-k", "4,16", "-l", "1,2", "--seeds", "1,2", "--at-k", "8", "--max-suppression", "1", "--one-page", str(target),
    )  # fmt: skip
    shown = run(*asked)
    assert shown.status == 0, shown.err
    text = PdfReader(target).pages[0].extract_text()
    assert "Impact of l in l-diversity at k = 8" in " ".join(text.split())
    assert run(*asked).status == 2  # exists
    told = json.loads(run(*asked, "--force", "--json").out)
    assert {entry["k"] for entry in told["runs"]} == {4, 16}
    # Only full-domain algorithms are varied in l.
    assert {(entry["algorithm"], entry["l"]) for entry in told["against_l"]["runs"]} == {
        ("datafly", 1),
        ("datafly", 2),
    }
    assert "leave -t out" in run(*asked[:-2], "-t", "0.3", "--one-page", str(tmp_path / "other.pdf")).err


def test_reports_on_the_command_line(run, hospital_csv, tmp_path):
    columns = ("--qi", "age,sex", "--sensitive", "diagnosis")
    page, told, pdf = tmp_path / "a.html", tmp_path / "b.json", tmp_path / "c.pdf"
    assessed = run("assess", str(hospital_csv), *columns, "-k", "5", "--report", str(page))
    assert assessed.status == 1  # and the report says why
    assert "does not satisfy" in page.read_text()
    released = run(
        "anonymize", str(hospital_csv), *columns, "--unlisted", "drop", "-k", "5", "-o", str(tmp_path / "out.csv"),
        "--report", str(told),
    )  # fmt: skip
    assert released.status == 0, released.err
    assert json.loads(told.read_text())["verdict"]["holds"]
    compared = run(
        "compare", str(hospital_csv), *columns, "--algorithms", "mondrian", "-k", "4,8", "--report", str(pdf)
    )
    assert compared.status == 0, compared.err
    assert pdf.read_bytes().startswith(b"%PDF")
    for wrong, words in (
        (str(tmp_path / "x.docx"), "a report is written as"),
        (str(page), "exists already"),
        (str(hospital_csv), "a report is written as"),
        (str(tmp_path / "no" / "x.pdf"), "does not exist"),
    ):
        refused = run("assess", str(hospital_csv), *columns, "--report", wrong)
        assert (refused.status, words in refused.err) == (2, True), refused.err


def test_folders_stream_on_the_command_line(run, hospital_csv, tmp_path):
    folder, target = tmp_path / "big", tmp_path / "out.parquet"
    folder.mkdir()
    table = pl.read_csv(hospital_csv, infer_schema=False)
    for part in range(2):
        table[part * 1500 : part * 1500 + 1500].write_parquet(folder / f"{part}.parquet")
    columns = ("--qi", "age,sex", "--sensitive", "diagnosis")
    asked = ("-k", "5", "--unlisted", "drop")
    shown = run("anonymize", str(folder), *columns, *asked, "-o", str(target))
    assert shown.status == 0, shown.err
    whole = tmp_path / "memory.parquet"
    assert run("anonymize", str(hospital_csv), *columns, *asked, "-o", str(whole)).status == 0
    assert pl.read_parquet(target).equals(pl.read_parquet(whole))
    table.write_parquet(tmp_path / "one.parquet")
    measured = [
        run("assess", str(file), *columns, *more, "--json").out
        for file, more in (
            (hospital_csv, ()),
            (folder / "*.parquet", ()),
            (tmp_path / "one.parquet", ("--stream",)),
        )
    ]
    told = [json.loads(text) | {"file": ""} for text in measured]
    assert told[0] == told[1] == told[2]


def test_apply_on_the_command_line(run, hospital_csv, tmp_path):
    first, second, policy = tmp_path / "first.csv", tmp_path / "second.csv", tmp_path / "policy.toml"
    table = pl.read_csv(hospital_csv, infer_schema=False)
    table[:2500].write_csv(first)
    table[2500:].write_csv(second)
    made = run(
        "anonymize", str(first), "--qi", "age,sex", "--sensitive", "diagnosis", "--unlisted", "drop", "-k", "5",
        "-o", str(tmp_path / "one.csv"), "--recoding", str(tmp_path / "recoding"), "--save-policy", str(policy),
    )  # fmt: skip
    assert made.status == 0, made.err
    asked = (
        "apply",
        str(tmp_path / "recoding"),
        str(second),
        "--policy",
        str(policy),
        "-o",
        str(tmp_path / "two.csv"),
    )
    refused = run(*asked)
    assert (refused.status, (tmp_path / "two.csv").exists()) == (1, False)
    assert "rows would be suppressed" in refused.err
    shown = run(*asked, "--beside", str(tmp_path / "one.csv"), "--max-suppression", "0.2")
    assert shown.status == 0, shown.err
    assert "500 rows:" in shown.out
    both = pl.concat([pl.read_csv(tmp_path / name, infer_schema=False) for name in ("one.csv", "two.csv")])
    sizes = both.filter(pl.col("age") != "*").group_by("age", "sex").len()["len"]
    assert sizes.min() >= 5
    told = json.loads(run(*asked, "--max-suppression", "1", "--force", "--json").out)
    assert told["records"] == 500
    alone = (*asked, "--max-suppression", "1", "--force", "--rows", str(tmp_path / "rows.csv"))
    shown = run(*alone)
    assert shown.status == 0, shown.err
    rows = pl.read_csv(tmp_path / "rows.csv")
    released = pl.read_csv(tmp_path / "two.csv", infer_schema=False)
    starred = released.with_row_index(offset=1).filter(pl.col("age") == "*", pl.col("sex") == "*")["index"]
    assert rows["row"].to_list() == starred.to_list()
    assert set(rows["reason"]) <= {"outside", "too small"}
    before = (tmp_path / "two.csv").read_bytes()
    streamed = run(*asked, "--max-suppression", "1", "--force", "--stream", "--memory", "500MB")
    assert streamed.status == 0, streamed.err
    assert (tmp_path / "two.csv").read_bytes() == before
    no_rows = run(*alone, "--force", "--stream")
    assert no_rows.status == 2
    assert "not in memory, so they have no numbers" in no_rows.err


def test_folders_on_the_command_line(run, hospital_csv, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    table = pl.read_csv(hospital_csv, infer_schema=False)
    table[:1000].write_csv(folder / "a.csv")
    table[1000:].write_csv(folder / "b.csv")
    asked = ("--qi", "age,sex", "--sensitive", "diagnosis", "--unlisted", "drop", "-k", "5")
    one = run("anonymize", str(hospital_csv), *asked, "-o", str(tmp_path / "one.csv"))
    assert one.status == 0, one.err
    many = run("anonymize", str(folder), *asked, "-o", str(tmp_path / "out"), "--memory", "1GiB")
    assert many.status == 0, many.err
    written = sorted((tmp_path / "out").glob("*.csv"))
    assert [path.name for path in written] == ["part-00000.csv", "part-00001.csv"]
    expected = pl.read_csv(tmp_path / "one.csv", infer_schema=False)
    parts = [pl.read_csv(path, infer_schema=False) for path in written]
    assert [len(part) for part in parts] == [1000, len(table) - 1000]
    assert pl.concat(parts).equals(expected)
    for call, message in (
        (("-o", str(tmp_path / "out")), "exists already"),
        (("-o", str(folder / "out.csv")), "lies inside the input's folder"),
        (("-o", str(tmp_path / "x.csv"), "--memory", "much"), "memory must be an amount"),
    ):
        refused = run("anonymize", str(folder), *asked, *call)
        assert (refused.status, message in refused.err) == (2, True), refused.err
    nodes = [
        json.loads(run("lattice", str(path), "--qi", "age,sex", "-k", "5", "--json").out)
        for path in (hospital_csv, folder)
    ]
    assert nodes[0] == nodes[1]
    no_stream = run("assess", str(hospital_csv), "--qi", "age", "--memory", "1GiB")
    assert (no_stream.status, "--memory is for rows that stream" in no_stream.err) == (2, True)


def test_rows_in_the_order_of_a_quasi_identifier_are_told(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"minute": range(100, 300), "age": [20, 30, 40, 50] * 50, "s": ["a", "b"] * 100})
    frame.write_csv("calls.csv")
    roles = ("--qi", "minute,age", "--sensitive", "s", "-k", "5")
    shown = run("anonymize", "calls.csv", "-o", "out.csv", *roles)
    assert "in the order of 'minute'" in shown.out
    assert "(--shuffle)" in shown.out
    assert "in the order of" not in run("anonymize", "calls.csv", "-o", "b.csv", *roles, "--shuffle").out
