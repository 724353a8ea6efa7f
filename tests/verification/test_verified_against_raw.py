"""A release beside the raw table, and the kinds of tables that verify reads."""

from __future__ import annotations

import datetime as dt
import random
import sqlite3

import duckdb
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.release.verification import verify

TREE = "*\n\tEurope\n\t\tFrance\n\t\tItaly\n\tAsia\n\t\tIndia\n"
POLICY = """version = 1
suppressed = "keep"
keep_order = true
unlisted = "drop"
[columns.name]
role = "identifying"
[columns.place]
role = "quasi"
hierarchy = "places.txt"
[columns.age]
role = "quasi"
[columns.disease]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 2
"""
RAW = "name,place,age,disease\nA,France,21,flu\nB,Italy,25,cold\nC,India,30,flu\nD,India,30,flu\n"
HEADER = "place,age,disease\n"
GOOD = ["Europe,[21-25],flu", "Europe,[21-25],cold", "India,30,flu", "India,30,flu"]
UNORDERED = POLICY.replace("keep_order = true\n", "")
MEAN = POLICY.replace(
    'age]\nrole = "quasi"', 'age]\nrole = "quasi"\nkind = "number"\noutput = "mean"\nends = "exact"'
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "places.txt").write_text(TREE)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "raw.csv").write_text(RAW)
    (tmp_path / "out.csv").write_text(HEADER + "\n".join(GOOD) + "\n")
    return tmp_path


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rows", "in_order", "as_a_whole"),
    [
        (GOOD, "", ""),
        (["Europe,[21-24],flu", "Europe,[21-24],cold", *GOOD[2:]], "'age': 1 records have a cell", "too few"),
        (["Asia,*,flu", "Asia,*,cold", *GOOD[2:]], "'place': 2 records have a cell", "too few records"),
        ([GOOD[1], GOOD[0], *GOOD[2:]], "'disease' differs from the raw table in 2", ""),
        ([*GOOD[2:], *GOOD[:2]], "'place': 4 records", ""),
        ([*GOOD[:3], "India,30,gout"], "'disease' differs from the raw table in 1", "'disease' differ"),
        ([*GOOD, GOOD[0]], "5 records and the raw table 4", "5 records and the raw table 4"),
        ([*GOOD[:2]], "2 records and the raw table 4", "2 records and the raw table 4"),
    ],
)
def test_each_cell_must_be_true_and_other_columns_unchanged(folder, rows, in_order, as_a_whole):
    for policy, expected in ((POLICY, in_order), (UNORDERED, as_a_whole)):
        (folder / "policy.toml").write_text(policy)
        (folder / "out.csv").write_text(HEADER + "\n".join(rows) + "\n")
        assert verify("out.csv", "policy.toml").keeps_limits, "nothing is wrong with the release alone"
        result = verify("out.csv", "policy.toml", against="raw.csv")
        assert result.keeps_limits is not bool(expected), result.problems
        assert expected in "; ".join(result.problems)
        assert result.unchecked == ()


@pytest.mark.few(1)
@pytest.mark.parametrize(("mean", "fine"), [("23", True), ("24", False), ("22.999", False)])
def test_a_mean_must_be_that_of_its_class(folder, mean, fine):
    (folder / "policy.toml").write_text(MEAN)
    rows = [f"Europe,{mean},flu", f"Europe,{mean},cold", *GOOD[2:]]
    (folder / "out.csv").write_text(HEADER + "\n".join(rows) + "\n")
    assert verify("out.csv", "policy.toml", against="raw.csv").keeps_limits is fine


@pytest.mark.slow
def test_columns_beside_the_raw_table(folder):
    (folder / "policy.toml").write_text(POLICY.replace('"drop"', '"keep"'))
    (folder / "out.csv").write_text("place,age,disease,x\n" + "".join(f"{row},1\n" for row in GOOD))
    result = verify("out.csv", "policy.toml", against="raw.csv")
    assert result.problems == ("the column 'x' is not in the raw table",)
    (folder / "raw.csv").write_text(RAW.replace("name", "ward"))
    (folder / "policy.toml").write_text(POLICY.replace('"drop"', '"keep"'))
    result = verify("out.csv", "policy.toml", against="raw.csv")
    assert "the column 'ward' of the raw table is missing" in result.problems


def test_databases(folder):
    base = sqlite3.connect("d.db")
    base.execute("CREATE TABLE safe(place text, age text, disease text)")
    base.execute("CREATE TABLE raw(name text, place text, age integer, disease text)")
    base.executemany("INSERT INTO safe VALUES (?, ?, ?)", [row.split(",") for row in GOOD])
    rows = [row.split(",") for row in RAW.splitlines()[1:]]
    base.executemany("INSERT INTO raw VALUES (?, ?, ?, ?)", rows)
    base.commit()
    base.close()
    with duckdb.connect("d.duckdb") as other:
        other.execute("CREATE TABLE safe AS SELECT * FROM 'out.csv'")
        other.execute("CREATE TABLE raw AS SELECT * FROM 'raw.csv'")
        other.execute("COPY safe TO 'out.parquet'")
    for address in ("sqlite:///d.db", "duckdb:///d.duckdb"):
        result = verify(address, "policy.toml", table="safe", against=address, against_table="raw")
        assert (result.keeps_limits, result.problems, result.file) == (True, (), address)
        with pytest.raises(TableError):
            verify(address, "policy.toml", table="none")
    assert verify("out.parquet", "policy.toml", against="raw.csv").keeps_limits


def test_folders_and_patterns(folder):
    for name, rows in (("f/1.csv", GOOD[:2]), ("f/2.csv", GOOD[2:])):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(HEADER + "\n".join(rows) + "\n")
    assert verify("f", "policy.toml", against="raw.csv").keeps_limits
    assert verify("f/*.csv", "policy.toml", against="raw.csv").records == 4
    for disease, rows in (("flu", [GOOD[0], *GOOD[2:]]), ("cold", GOOD[1:2])):
        part = folder / "g" / f"disease={disease}"
        part.mkdir(parents=True)
        lines = [row.rpartition(",")[0] for row in rows]
        (part / "a.csv").write_text("place,age\n" + "\n".join(lines) + "\n")
    assert verify("g", "policy.toml").records == 4
    (folder / "f" / "3.csv").write_text("place,disease,age\nEurope,flu,3\n")
    with pytest.raises(TableError, match=r"3\.csv: its columns are not those of"):
        verify("f", "policy.toml")


def test_means_of_times_are_true(tmp_path):
    draw = random.Random(1)
    moments = [
        dt.datetime(2019, 1, 1) + dt.timedelta(days=draw.randint(0, 900), minutes=draw.randint(0, 1439))
        for _ in range(400)
    ]
    pl.DataFrame({"seen": moments}).write_parquet(tmp_path / "raw.parquet")
    schema = ic.Schema.of_attributes([ic.Attribute("seen", "quasi", output="mean")])
    ic.anonymize(tmp_path / "raw.parquet", ic.Policy(schema, ["k-anonymity:3"]), unanswered="write").save(
        tmp_path / "out"
    )
    checked = ic.verify(
        tmp_path / "out/release.csv", tmp_path / "out/policy.toml", against=tmp_path / "raw.parquet"
    )
    assert checked.keeps_limits, checked.problems


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("raw", "cell", "true"),
    [
        (["a", None], "{a, <missing>}", True),
        (["a", None], "{a, }", False),
        (["a", None], r"{a, \<missing>}", False),
        (["a", "<missing>"], r"{a, \<missing>}", True),
        (["a", "<missing>"], "{a, <missing>}", False),
        (["a", ""], "{, a}", True),
        (["a", ""], "{a, <missing>}", False),
        (["", None], "{, }", False),
        (["", None], "{, <missing>}", True),
    ],
)
def test_a_set_that_names_the_missing_value(tmp_path, raw, cell, true):
    pl.DataFrame({"c": raw}).write_parquet(tmp_path / "raw.parquet")
    pl.DataFrame({"c": [cell] * 2}).write_parquet(tmp_path / "out.parquet")
    (tmp_path / "policy.toml").write_text(
        'version = 1\n[columns.c]\nrole = "quasi"\nkind = "category"\noutput = "set"\n'
        '[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    checked = ic.verify(tmp_path / "out.parquet", tmp_path / "policy.toml", against=tmp_path / "raw.parquet")
    assert checked.keeps_limits is true, checked.problems
