"""The panel of count tables: a table is chosen, made, shown, and taken with the command that makes it again."""

from __future__ import annotations

import shlex
import subprocess
import sys
import zipfile

import pytest

from incrowd.works.samples import hospital


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
    command = visit.wait("[data-mark=tables-command]").text
    assert "HOLDS" in visit.wait("[data-mark=tables] [data-mark=verdict]").text
    # Suppressed cells are in sight, each with its kind.
    assert "primary" in visit.wait(".heat td.x").text + visit.wait(".heat td.x.primary").text
    archive = visit.take("get-tables", "tables.zip")
    policy = visit.take("get-tables-policy", "policy.toml")
    assert "threshold = 7" in policy.read_text()
    (tmp_path / "policy.toml").write_bytes(policy.read_bytes())
    subprocess.run([sys.executable, "-m", *shlex.split(command)], check=True, capture_output=True)
    with zipfile.ZipFile(archive) as packed:
        assert sorted(packed.namelist()) == ["tables/table.csv", "tables/tables.json"]
        assert all(packed.read(name) == (tmp_path / name).read_bytes() for name in packed.namelist())
    # Other choices are other tables: what was made goes.
    visit.fill("[data-mark=table-0] [data-field=threshold]", "8")
    visit.until(lambda: not visit.all("[data-mark=tables-command]"), "the end of the tables")
