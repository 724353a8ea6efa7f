"""anonymize --dry-run: the plan of a release, and nothing written anywhere."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile

import pytest

import incrowd as ic
from cli_tables import HOSPITAL
from incrowd.release.jobs.make.plan import plan


def planned(run, *arguments):
    result = run("anonymize", *map(str, arguments), "--dry-run", "--json")
    assert result.status == 0, result.err
    return json.loads(result.out)


def everything(folder):
    return {path: None if path.is_dir() else path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Where temporary files go: empty before, so empty afterwards."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.mark.few(1)
@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_it_says_what_anonymize_then_does_and_writes_nothing(run, hospital_csv, tmp_path, elsewhere, stream):
    out = tmp_path / "out.csv"
    call = [hospital_csv, *HOSPITAL, "-k", "5", "-o", out, *stream]
    before = everything(tmp_path), everything(hospital_csv.parent)
    answer = planned(run, *call, "--save-policy", tmp_path / "p.toml", "--recoding", tmp_path / "r")
    assert (everything(tmp_path), everything(hospital_csv.parent)) == before
    assert answer["would_write"] == [str(out), str(tmp_path / "p.toml"), str(tmp_path / "r")]
    document = json.loads(run("anonymize", *map(str, call), "--json").out)
    assert answer["records"] == document["before"]["records"]
    assert answer["keys"] == document["before"]["classes"]["count"]
    assert (answer["models"], answer["algorithm"]) == (document["models"], document["algorithm"])
    released = out.read_text().splitlines()[0].split(",")
    assert [each["name"] for each in answer["columns"] if each["becomes"] != "left out"] == released
    assert os.listdir(elsewhere) == []


def test_it_tells_roles_kinds_values_hierarchies_and_the_lattice():
    table = ic.samples.hospital(500, 3)
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(5, 10), "sex": None},
        sensitive=["diagnosis"],
        identifying=["name"],
        insensitive=["cost"],
        unlisted="drop",
        treatments={"cost": ic.Round(500)},
    )
    result = plan(table, ic.Policy(schema, (ic.KAnonymity(5),), ic.Optimal()))
    columns = {each.name: each for each in result.columns}
    age = columns["age"]
    assert (age.becomes, age.kind, age.values) == ("recoded", "number", table["age"].n_unique())
    assert age.height == 3
    assert columns["sex"].height is None
    assert columns["name"].becomes == columns["zip"].becomes == "left out"
    assert columns["zip"].role == "unlisted"
    assert (columns["cost"].becomes, dict(columns["cost"].treatment)) == ("treated", {"round": 500})
    assert result.nodes == 4 * 2
    assert plan(table, ic.Policy(schema, (ic.KAnonymity(5),), ic.Mondrian())).nodes is None


def test_it_shows_no_value_of_the_table(run, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("who,town,note\n" + "".join(f"Zaphod{i},Zaphod{i % 3},Zaphod\n" for i in range(12)))
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "town.csv").write_text("".join(f"Zaphod{i};ZaphodLand;*\n" for i in range(3)))
    roles = ("--identifying", "who", "--sensitive", "note", "--hierarchies", str(tmp_path / "h"))
    for more in ((), ("--json",)):
        result = run("anonymize", str(table), *roles, "-k", "2", "--dry-run", *more)
        assert result.status == 0, result.err
        assert "town" in result.out
        assert "Zaphod" not in result.out + result.err


def test_what_anonymize_refuses_before_it_searches_is_refused(run, hospital_csv, tmp_path):
    def status(*more):
        return run("anonymize", str(hospital_csv), *HOSPITAL, *more, "--dry-run").status

    there = tmp_path / "there.csv"
    there.write_text("kept")
    assert status("-k", "5", "-o", str(there)) == 2
    assert status("-k", "5", "--into", "t") == 2
    assert status("-k", "5", "--levels", "height=1") == 2
    assert status() == 2
    assert status("-k", "3001") == 2
    assert status("-k", "5") == 0


def test_a_table_of_a_database_is_planned_and_nothing_is_made(run, tmp_path):
    path = tmp_path / "clinic.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE people (age, ill)")
    database.executemany("INSERT INTO people VALUES (?, ?)", [(20 + i % 4, "flu") for i in range(40)])
    database.commit()
    address = ("--table", "people", "--qi", "age", "--sensitive", "ill", "-k", "2", "--into", "safe")
    answer = planned(run, f"sqlite:///{path}", *address)
    assert (answer["records"], answer["keys"], answer["would_write"]) == (40, 4, ["safe"])
    assert [row[0] for row in database.execute("SELECT name FROM sqlite_master")] == ["people"]
    database.close()
