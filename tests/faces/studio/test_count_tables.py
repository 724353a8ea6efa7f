"""The panel of count tables: a table is chosen, made, shown, and taken with the command."""

from __future__ import annotations

import shlex
import subprocess
import sys
import zipfile

import polars as pl
import pytest

from incrowd.samples import hospital


def the_command_makes_the_same(visit, folder):
    """Take tables and policy, and check that the command writes the same; return the policy."""
    command = visit.wait("[data-mark=tables-command]").text
    archive = visit.take("get-tables", "tables.zip")
    policy = visit.take("get-tables-policy", "policy.toml")
    (folder / "policy.toml").write_bytes(policy.read_bytes())
    subprocess.run([sys.executable, "-m", *shlex.split(command)], check=True, capture_output=True)
    with zipfile.ZipFile(archive) as packed:
        assert sorted(packed.namelist()) == ["tables/table.csv", "tables/tables.json"]
        assert all(packed.read(name) == (folder / name).read_bytes() for name in packed.namelist())
    return policy


@pytest.mark.slow
def test_a_table_is_made_and_the_command_makes_the_same_files(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv("people.csv")
    visit.drop(tmp_path / "people.csv")
    visit.reads("400 rows, 4 columns")
    visit.judged()
    visit.go("Tables")
    visit.mark("tabulate")
    visit.reads("the policy has no table")
    visit.choose_several("[data-mark=table-0] [data-field=rows]", "age, as ")
    visit.choose_several("[data-mark=table-0] [data-field=columns]", "sex")
    visit.fill("[data-mark=table-0] [data-field=threshold]", "7")
    visit.judged()
    visit.mark("tabulate")
    verdict = visit.wait("[data-mark=tables] [data-mark=verdict]").text
    assert verdict.startswith("HOLDS")
    assert verdict.endswith("of the cells are suppressed.")
    # It is the only verdict on the page.
    assert not visit.all("[data-mark=status-verdict]")
    # Suppressed cells are in sight, each with its kind.
    assert "primary" in visit.wait(".heat td.x").text + visit.wait(".heat td.x.primary").text
    policy = the_command_makes_the_same(visit, tmp_path)
    assert "threshold = 7" in policy.read_text()
    # Other choices are other tables: what was made goes.
    visit.fill("[data-mark=table-0] [data-field=threshold]", "8")
    visit.until(lambda: not visit.all("[data-mark=tables-command]"), "the end of the tables")


def with_desks(visit, folder):
    """Make a table by desks with addresses as names, where the verdict waits for an answer."""
    desks = ["desk.north@clinic.example", "desk.south@clinic.example"]
    table = hospital(400).select("age", "sex", desk=pl.Series(desks * 200))
    table.write_csv(folder / "people.csv")
    visit.drop(folder / "people.csv")
    visit.reads("400 rows, 3 columns")
    visit.give(2, "quasi")
    visit.judged()
    visit.go("Tables")
    visit.choose_several("[data-mark=table-0] [data-field=columns]", "age, as ")
    visit.choose_several("[data-mark=table-0] [data-field=rows]", "desk")
    visit.judged()
    visit.mark("tabulate")
    visit.reads("texts that look like mail addresses")
    assert visit.wait("[data-mark=tables] [data-mark=verdict]").text.startswith("OPEN")
    assert not visit.all('[data-mark^="get-tables"]')


@pytest.mark.slow
def test_a_point_of_tables_is_accepted_and_the_command_makes_the_same(visit, tmp_path, monkeypatch, studio):
    monkeypatch.chdir(tmp_path)
    with_desks(visit, tmp_path)
    points = len(visit.all('[data-mark^="point-"]'))
    visit.mark("accept")
    visit.reads(f"{points} point{'s' * (points > 1)} without an answer")
    visit.answer("a desk, and nobody's own")
    visit.until(lambda: visit.wait("[data-mark=verdict]").text.startswith("HOLDS"), "the tables")
    visit.reads("Accepted: a desk, and nobody's own")
    policy = the_command_makes_the_same(visit, tmp_path)
    assert policy.read_text().count("a desk, and nobody's own") == points
    # The release of rows has the same policy, which repeats the answer.
    visit.go("Verdict")
    visit.judged()
    visit.reads("a desk, and nobody's own")
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_a_change_of_tables_removes_a_point_and_they_are_made_anew(visit, tmp_path, studio):
    with_desks(visit, tmp_path)
    assert not visit.all("[data-mark=take-coarser]")
    visit.mark("take-leave-out")
    visit.until(lambda: visit.wait("[data-mark=verdict]").text.startswith("HOLDS"), "the tables")
    assert "desk" not in visit.wait("[data-mark=tables]").text
    assert "desk" not in visit.wait("[data-mark=table-0] [data-field=rows]").text
    visit.wait("[data-mark=get-tables]")
    assert studio.errors.read_text() == ""
