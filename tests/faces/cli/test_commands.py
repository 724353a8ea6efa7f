"""The commands anonymize, assess and verify on small and on real tables, as in a user's session."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter

import polars as pl
import pytest

from cli_tables import HOSPITAL, rows
from crossed import quick

ADULT = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income"
)


@pytest.mark.slow
def test_figures_of_enormous_numbers_come_without_warnings(run, tmp_path):
    """A warning of NumPy on the standard error is an error in this file."""
    raw, release = tmp_path / "raw.csv", tmp_path / "release.csv"
    raw.write_text(
        "x,y,s\n" + "".join(f"{row % 9 - 4}{'0' * 307},{row % 7},{row % 2}\n" for row in range(90))
    )
    roles = ("--qi", "x,y", "--sensitive", "s")
    assert run("anonymize", str(raw), "-o", str(release), *roles, "-k", "3").status == 0
    for command in ("utility", "attack"):
        result = run(command, str(raw), str(release), *roles, "--json")
        assert (result.status, result.err) == (0, "")
        figures = json.dumps(json.loads(result.out))
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
    classes = Counter(
        (row["age"], row["sex"], row["marital_status"], row["admission_date"]) for row in released
    )
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
    outcome = run(
        "anonymize", str(hospital_csv), "-o", str(target), *HOSPITAL, "-k", "5", "--save-policy", str(policy)
    )
    assert outcome.status == 0
    lines = target.read_text().splitlines()
    lines[1] = lines[1].replace(lines[1].split(",")[0], "57", 1)
    target.write_text("\n".join(lines) + "\n")
    result = run("verify", str(target), "--policy", str(policy))
    assert result.status == 1
    assert "FAILS" in result.out


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_formats_of_the_output(run, hospital_csv, tmp_path, suffix):
    target = tmp_path / f"out{suffix}"
    result = run("anonymize", str(hospital_csv), "-o", str(target), *HOSPITAL, "-k", "5")
    assert result.status == 0, result.err
    table = pl.read_parquet(target) if suffix == ".parquet" else pl.read_csv(target, infer_schema=False)
    assert table.height == 3000
    classes = table.group_by("age", "sex", "marital_status", "admission_date").len()["len"]
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
    """Shares of flu: 3/4 of the table, 2/3 of the first class, all of the other: 1/12 and 1/4 away."""
    path = tmp_path / "t.csv"
    path.write_text("zip,age,disease\n02139,30,flu\n02139,30,cold\n02139,[a],flu\n02139,30,flu\n")
    call = ("assess", str(path), "--qi", "zip,age", "--sensitive", "disease", "--by-class")
    result = run(*call, "-t", "0.3", "--json")
    assert result.status == 0, result.err
    classes = json.loads(result.out)["by_class"]
    assert classes["measures"][0] == {
        "model": "t-closeness", "quantity": "t", "settings": {"distance": "equal"}, "attribute": "disease",
    }  # fmt: skip
    assert [(row["cells"], row["records"], row["values"][0]) for row in classes["classes"]] == [
        ({"zip": "02139", "age": "30"}, 3, pytest.approx(1 / 12, abs=1e-15)),
        ({"zip": "02139", "age": "[a]"}, 1, 0.25),
    ]
    assert "by_class" not in json.loads(run(*call[:-1], "--json").out)
    output = run(*call).out
    assert "t-closeness t (distance=equal) of disease" in output
    assert "[a]" in output
    path.write_text("q\n" + "".join(f"{number}\n" for number in range(103)))
    assert "3 more classes: --json has all" in run("assess", str(path), "--qi", "q", "--by-class").out


def test_assess_judges_limits(run, hospital_csv):
    assert run("assess", str(hospital_csv), "--qi", "sex", "-k", "2").status == 0
    failed = run("assess", str(hospital_csv), "--qi", "age,zip", "-k", "2")
    assert failed.status == 1
    assert "limit: k-anonymity fails: k is 1, asked is 2." in failed.out


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
    number = ["", "", "21 or less", "21 or less", "30 or more", "30 or more"]
    assert [row["age"] for row in rows(target)] == number
    assert {row["note"] for row in rows(target)} == {"?"}


def test_names_that_look_like_markup_are_names(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a[b],[/red],:smile:\n" + "[bold]x,1,y\n" * 3)
    arguments = ("--qi", "a[b],[/red]", "--sensitive", ":smile:", "-k", "3")
    result = run("anonymize", str(path), "-o", str(tmp_path / "out.csv"), *arguments)
    assert result.status == 0, result.err
    for name in ("a[b]", "[/red]", ":smile:"):
        assert name in result.out
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_whole_adult_table_in_one_command(run, shared_data, tmp_path):
    target, policy = tmp_path / "out.csv", tmp_path / "policy.toml"
    result = run(
        "anonymize", str(shared_data / "adult" / "adult.all.txt.gz"), "-o", str(target), "--names", ADULT,
        "--delimiter", ", ", "--qi", "age,workclass,education,marital-status,occupation,race,sex,native-country",
        "--sensitive", "income", "--unlisted", "drop", "-k", "10", "-l", "2", "-t", "0.5", "--save-policy", str(policy), "--set-limit", "42",
    )  # fmt: skip
    assert result.status == 0, result.err
    assert len(rows(target)) == 48842
    assert run("verify", str(target), "--policy", str(policy)).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", quick([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_an_interrupted_run_leaves_no_file(hospital_csv, tmp_path, number):
    target = tmp_path / "out.csv"
    # Stop where it hurts most: the temporary file is written, the check of it has begun.
    code = (
        "import sys, time, incrowd.release.jobs.make.anonymize as release\n"
        "def wait(*a, **k):\n"
        "    print('now', flush=True)\n"
        "    time.sleep(600)\n"
        "from incrowd.core.io import files\n"
        "real = files.write_table\n"
        "def slow(*a, **k):\n"
        "    real(*a, **k)\n"
        "    wait()\n"
        "files.write_table = slow\n"
        "from incrowd.faces.cli import main\n"
        "main()\n"
    )
    arguments = ["anonymize", str(hospital_csv), "-o", str(target), *HOSPITAL, "-k", "5"]
    arguments += ["--unanswered", "write"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    assert [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]
    # Whether it sleeps already or is about to: it is past the writing, and goes no further by itself.
    process.send_signal(number)
    assert process.wait(300) != 0
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
    result = run("assess", data, *columns, "--full")
    assert result.status == 0
    assert "k-map" in result.out
    assert "delta-presence" in result.out
    assert "Weakest classes" in result.out
    outcome = run("assess", data, *columns, "--model", "k-map:6", "--json")
    assert outcome.status == 1
    [measured] = [m for m in json.loads(outcome.out)["privacy"] if m["model"] == "k-map"]
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
    """The weakest class before recoding is raw: an assessment shows the class, a release does not."""
    frame = pl.DataFrame({"age": [20, 21, 22, 77], "s": ["x", "y", "x", "y"]})
    frame.write_csv(tmp_path / "t.csv")
    result = run("assess", str(tmp_path / "t.csv"), "--qi", "age", "-k", "2", "--full")
    assert result.out.split("Weakest classes")[1].split()[:5] == ["records", "age", "#1", "1", "20"]
    result = run(
        "anonymize", str(tmp_path / "t.csv"), "--qi", "age", "--unlisted", "drop", "-k", "4",
        "--ends", "exact", "-o", str(tmp_path / "o.csv"), "--json",
    )  # fmt: skip
    document = json.loads(result.out)
    assert "weakest" not in json.dumps(document)
    assert '"cells"' not in json.dumps(document)
    failing = next(m for m in document["before"]["privacy"] if m["model"] == "k-anonymity")["failing"]
    assert failing == {"classes": 4, "records": 4}


def test_the_seed_is_that_of_the_command_line(run, hospital_csv, tmp_path):
    released = []
    for number, seed in enumerate(("3", "3", "4")):
        path = tmp_path / f"{number}.csv"
        arguments = ("--qi", "age,sex", "--sensitive", "diagnosis", "--unlisted", "drop", "-k", "5")
        result = run(
            "anonymize",
            str(hospital_csv),
            *arguments,
            "--algorithm",
            "random",
            "--seed",
            seed,
            "-o",
            str(path),
        )
        assert result.status == 0
        released.append(path.read_bytes())
    assert released[0] == released[1] != released[2]


def test_rows_in_the_order_of_a_quasi_identifier_are_told(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"minute": range(100, 300), "age": [20, 30, 40, 50] * 50, "s": ["a", "b"] * 100})
    frame.write_csv("calls.csv")
    roles = ("--qi", "minute,age", "--sensitive", "s", "-k", "5")
    refused = run("anonymize", "calls.csv", "-o", "out.csv", *roles, "--keep-order")
    assert refused.status == 2
    assert "in the order of 'minute'" in refused.err
    assert "leave --keep-order or keep_order = true out" in refused.err
    assert not (tmp_path / "out.csv").exists()
    result = run("anonymize", "calls.csv", "-o", "out.csv", *roles, "--keep-order", "--force")
    assert "in the order of 'minute'" in result.out
    assert "in the order of" not in run("anonymize", "calls.csv", "-o", "b.csv", *roles).out
