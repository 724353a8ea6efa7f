"""Mistakes that do not depend on the table are refused before the table is read."""

from __future__ import annotations

import importlib.util

import pytest

import incrowd as ic
from incrowd.core import errors

ANONYMIZE = "anonymize nothing.csv --qi age -k 2 -o out.csv"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.toml").write_text('version = 1\n[columns.age]\nrol = "quasi"\n')
    ic.Policy(ic.Schema(quasi=["age"]), (ic.KAnonymity(2),)).write("policy.toml")
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (f"{ANONYMIZE} --algorithm mondrain", "did you mean 'mondrian'?"),
        (f"{ANONYMIZE} --max-suppression 2", "max_suppression must be a number between 0 and 1"),
        (f"{ANONYMIZE} --levels age", "--levels: write column=level"),
        (f"{ANONYMIZE} --style rnage", "did you mean 'range'?"),
        (f"{ANONYMIZE} --wildcards any", "wildcards must be one of"),
        (f"{ANONYMIZE} --model k-anonymity:0", "k must be a whole number of at least 1"),
        (f"{ANONYMIZE} --treat pay=rond:5", "did you mean 'round'?"),
        (f"{ANONYMIZE} --hierarchy age=interval:5", "did you mean 'intervals'?"),
        (f"{ANONYMIZE} --hierarchies nowhere", "nowhere: cannot read the folder of hierarchies"),
        (f"{ANONYMIZE} --unlisted maybe", "unlisted must be"),
        (f"{ANONYMIZE} --null-value *", "marks a suppressed cell"),
        (f"{ANONYMIZE} --encoding latin-99", "encoding 'latin-99'"),
        (f"{ANONYMIZE} --population people.csv", "people.csv: cannot be read (No such file or directory)"),
        (f"{ANONYMIZE}.txt", "out.csv.txt: no kind of table is named .txt; name the table .csv, .csv.gz"),
        (f"{ANONYMIZE} --report r.txt", "--report r.txt: a report is written as"),
        ("anonymize nothing.csv -o out.csv --policy wrong.toml", "did you mean 'role'?"),
        ("assess nothing.csv --policy wrong.toml", "did you mean 'role'?"),
        ("assess nothing.csv --qi age --population people.csv", "people.csv: cannot be read"),
        ("lattice nothing.csv --qi age -k 2 -o nodes.csv", "a lattice is written as .parquet or .json"),
        ("lattice nothing.csv --policy wrong.toml", "did you mean 'role'?"),
        ("compare nothing.csv --policy wrong.toml --algorithms mondrian", "did you mean 'role'?"),
        ("compare nothing.csv --qi age --algorithms mondrian --one-page x.html", "the one page is written as .pdf"),
        ("compare nothing.csv --qi age --algorithms mondrian,optimal,mdav,oka,ola,flash --one-page x.pdf",
         "one page has room for 5 algorithms, not for 6"),
        ("risk nothing.csv --policy wrong.toml", "did you mean 'role'?"),
        ("p29 nothing.csv --policy wrong.toml", "did you mean 'role'?"),
        ("attack nothing.csv nothing.csv --policy wrong.toml", "did you mean 'role'?"),
        ("utility nothing.csv nothing.csv --policy wrong.toml", "did you mean 'role'?"),
        ("anatomize nothing.csv -o out --policy wrong.toml", "did you mean 'role'?"),
        ("apply rec nothing.csv --policy policy.toml -o out.csv --rows rows.pdf", "the name is that of a PDF"),
        ("apply rec nothing.csv --policy policy.toml -o out.csv --previous-release old.csv", "old.csv: cannot be read"),
    ],
)  # fmt: skip
def test_a_slip_is_told_before_the_table_is_looked_at(run, folder, asked, told):
    result = run(*asked.split())
    assert result.status == 2
    assert told in result.err
    assert "nothing.csv" not in result.err
    assert sorted(path.name for path in folder.iterdir()) == ["policy.toml", "wrong.toml"]


@pytest.mark.parametrize(
    ("asked", "libraries", "extra"),
    [
        ("compare nothing.csv --qi age --algorithms mondrian --one-page x.pdf", {"typst"}, "report"),
        (
            "compare nothing.csv --qi age --algorithms mondrian --one-page x.pdf",
            {"typst", "vl_convert"},
            "report",
        ),
        (f"{ANONYMIZE} --report r.html", {"vl_convert"}, "report"),
        ("anonymize nothing.csv --qi age -k 2 -o out.sav", {"pyreadstat"}, "stats"),
        ("utility nothing.csv nothing.csv --qi age --target x", {"sklearn"}, "ml"),
        ("studio nothing.csv", {"nicegui"}, "studio"),
    ],
)
def test_an_extra_that_is_not_installed_is_told_first(run, folder, monkeypatch, asked, libraries, extra):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(errors, "find_spec", lambda name: None if name in libraries else find_spec(name))
    (folder / "nothing.csv").write_text("age\n") if asked.startswith("studio") else None
    result = run(*asked.split())
    assert result.status == 2
    assert f"{', '.join(sorted(libraries))}: {errors.INSTALL.format(extra=extra)}\n" in result.err


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ["o.txt", "o", "o.csv.txt", "o.gz", "o.txt.gz"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_table_is_written_under_a_name_that_says_how(run, folder, name, stream):
    (folder / "people.csv").write_text("age\n" + "1\n" * 9)
    more = ("--stream",) if stream else ()
    result = run("anonymize", "people.csv", "--qi", "age", "-k", "2", "-o", name, *more)
    if stream and name == "o":
        assert (result.status, (folder / "o").is_dir()) == (0, True), "a folder of files"
        return
    assert (result.status, (folder / name).exists()) == (2, False)
    assert (
        "name the table .csv, .csv.gz, .tsv or .parquet, or of another kind: .feather, .jsonl" in result.err
    )
    release = ic.anonymize(folder / "people.csv", ic.Schema(quasi=["age"]), [ic.KAnonymity(2)])
    with pytest.raises(ic.TableError, match="name the table"):
        release.write(name)


@pytest.mark.parametrize("name", ["o.CSV", "o.tsv", "o.csv.gz", "o.pq", "o.v2.csv"])
def test_other_names_are_taken(run, folder, name):
    (folder / "people.csv").write_text("age\n" + "1\n" * 9)
    assert run("anonymize", "people.csv", "--qi", "age", "-k", "2", "-o", name).status == 0
