"""A table of a database as the source of a window."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing

import polars as pl
import pytest

import incrowd as ic
from incrowd.progress import Silent
from incrowd.samples import hospital
from incrowd.studio import export
from incrowd.studio.cancelling import Cancelled, Watched
from incrowd.studio.tables import in_database
from incrowd.studio.work import Work
from spark_session import SOURCES


@pytest.fixture
def address(tmp_path):
    path = tmp_path / "people.db"
    rows = hospital(400).select("age", "sex", "zip", "diagnosis").rows()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute('CREATE TABLE "all people" (age INTEGER, sex TEXT, zip TEXT, diagnosis TEXT)')
        connection.executemany('INSERT INTO "all people" VALUES (?, ?, ?, ?)', rows)
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture
def window():
    found = Work()
    yield found
    found.close()


def rows_of(path) -> list[str]:
    return sorted(path.read_text().splitlines())


@pytest.mark.slow
def test_a_table_of_a_database_is_looked_at_searched_in_place_and_made_again(window, address, tmp_path):
    source = in_database(address, "all people", window.place(""))
    window.open(source, None, Watched())
    assert window.height == 400
    assert [(column.name, column.missing) for column in window.columns] == [
        ("age", 0), ("sex", 0), ("zip", 0), ("diagnosis", 0),
    ]  # fmt: skip
    assert window.rows(0, 3).columns == ["age", "sex", "zip", "diagnosis"]
    assert window.assess(Watched()).records == 400
    assert [run.problem for run in window.compare(["mondrian"], [3], Watched())] == [None]
    # What a run would refuse is no point: rows of a database have no order that could be kept.
    window.choices.document["keep_order"] = True
    assert "order" in window.compare(["mondrian"], [3], Watched())[0].problem
    del window.choices.document["keep_order"]
    assert window.editor("zip").unknown() == {}
    release = window.anonymize(Watched())
    assert release.privacy.holds
    assert window.same_rows
    before, after = window.side_by_side(0, 400)
    # All of them are those that are written, whatever their order.
    assert after.sort(after.columns).equals(pl.concat(release.texts.batches()).sort(after.columns))
    assert before["diagnosis"].to_list() == after["diagnosis"].to_list()
    assert window.side_by_side(390, 20)[1].height == 10
    assert {"linkability", "inference"} <= {each.name for each in window.attack(Watched())}
    released, _ = export.release_file(window, Silent())
    words = shlex.split(export.command(window))
    assert words[:3] == ["incrowd", "anonymize", address]
    policy, _ = export.policy_file(window)
    (tmp_path / "policy.toml").write_bytes(policy.read_bytes())
    (tmp_path / "release.py").write_text(export.script(window))
    for program in (["-m", *words], ["release.py"]):
        done = subprocess.run(
            [sys.executable, *program],
            cwd=tmp_path,
            env={"PYTHONPATH": SOURCES, "HOME": "/"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert rows_of(tmp_path / "release.csv") == rows_of(released)
        (tmp_path / "release.csv").unlink()


def test_the_session_ends_with_the_choices_that_it_was_for(window, address):
    window.open(in_database(address, "all people", window.place("")))
    window.anonymize(Watched())
    window.changed()
    # Nobody else has to wait: the table can be written.
    with closing(sqlite3.connect(address.removeprefix("sqlite:///"), timeout=0.1)) as connection, connection:
        connection.execute('DELETE FROM "all people" WHERE age < 30')
    connection.close()


@pytest.mark.parametrize(
    ("address", "table", "told"),
    [
        ("people.db", "people", "begins with postgresql://"),
        ("postgresql://me:secret@host/db", "people", "leave the password out"),
        ("sqlite:////none.db", "", "write the name of a table"),
    ],
)
def test_what_is_no_address_or_tells_a_password_is_refused(window, address, table, told):
    with pytest.raises(ic.InputError, match=told) as refused:
        in_database(address, table, window.place(""))
    assert "secret" not in str(refused.value)


def test_a_table_that_is_not_there_leaves_what_was_before(window, address):
    window.open(window.sample())
    with pytest.raises(ic.TableError, match="there is no table"):
        window.open(in_database(address, "none", window.place("")))
    assert window.source.sample
    watched = Watched()
    watched.cancel()
    with pytest.raises(Cancelled):
        window.open(in_database(address, "all people", window.place("")), None, watched)
    assert window.source.sample
