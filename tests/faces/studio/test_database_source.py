"""A table of a database as the source of a window."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from threading import Timer

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.progress import Silent
from incrowd.engines.dialects.addresses import Address
from incrowd.faces.studio import export
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.exploring import compare_settings
from incrowd.faces.studio.tables import in_database, path_of
from incrowd.faces.studio.work import Work
from incrowd.samples import hospital
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
    work = Work()
    yield work
    work.close()


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
    tries, problems = compare_settings(window, ["mondrian"], [3], Watched())
    assert (len(tries), problems) == (1, {})
    # What a run would refuse is no point: rows of a database have no order that could be kept.
    window.choices.document["keep_order"] = True
    tries, (problem,) = compare_settings(window, ["mondrian"], [3], Watched())
    assert tries == []
    assert "order" in problem
    del window.choices.document["keep_order"]
    assert window.editor("zip").unknown() == {}
    release = window.anonymize(Watched())
    assert release.privacy.holds
    assert window.same_rows
    before, after, height = window.pairs(0, 400)
    assert height == 400
    # All of them are those that are written, whatever their order.
    assert after.sort(after.columns).equals(pl.concat(release.texts.batches()).sort(after.columns))
    assert before["diagnosis"].to_list() == after["diagnosis"].to_list()
    assert window.pairs(390, 20)[1].height == 10
    assert {"linkability", "inference"} <= {each.name for each in window.attack(Watched())}
    released, _ = export.release_file(window, Silent())
    words = shlex.split(export.command(window))
    assert words[:3] == ["incrowd", "anonymize", address]
    policy, _ = export.policy_file(window, window.release.policy)
    (tmp_path / "policy.toml").write_bytes(policy.read_bytes())
    (tmp_path / "release.py").write_text(export.script(window))
    for program in (["-m", *words], ["release.py"]):
        process = subprocess.run(
            [sys.executable, *program],
            cwd=tmp_path,
            env={"PYTHONPATH": SOURCES, "HOME": "/"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        assert rows_of(tmp_path / "release.csv") == rows_of(released)
        (tmp_path / "release.csv").unlink()


@pytest.mark.parametrize("treated", [False, True])
def test_rows_that_a_release_leaves_out_are_not_among_those_that_are_shown(window, address, treated):
    window.open(in_database(address, "all people", window.place("")))
    window.chosen.document.update(suppressed="drop", max_suppression=0.3, algorithm={"name": "datafly"})
    window.chosen.models[:] = [{"model": "k-anonymity", "k": 6}]
    if treated:
        window.chosen.columns["age"]["treat"] = {"round": 10}
    release = window.anonymize(Watched())
    written = pl.concat(release.texts.batches())
    assert 0 < release.left_out < 200
    before, after, height = window.pairs(0, 1_000)
    assert before.height == after.height == height == written.height == 400 - release.left_out
    assert after.sort(after.columns).equals(written.sort(after.columns))
    for start in (0, 37, height - 5):
        one, other, whole = window.pairs(start, 50)
        assert (one.height, whole) == (other.height, height)
        # Of treated columns nobody can find a row again, and each reading has an order of its own.
        if not treated:
            assert other.equals(after.slice(start, 50))
            assert one.equals(before.slice(start, 50))
    assert [each.height for each in window.pairs(height, 50)[:2]] == [0, 0]
    if not treated:
        assert before["diagnosis"].to_list() == after["diagnosis"].to_list()


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


PASSWORDS = (
    "postgresql://me:{}/x@host/db", "postgresql://me:{}#x@host/db", "postgresql://me:?{}@host/db",
    "postgresql://me:[{}@host/db", "postgresql://host/db?user=me&password={}", "postgres://h/d?%70assword={}",
    "postgresql://host/db?sslpassword={}", "postgresql://h/db?password%3D{}", "postgresql://me%3A{}@host/db",
    "postgresql://h:{}/db", "postgresql://h/db?options=-c%20my.password={}", "postgresql:///db?a=b&PASSWORD={}",
    "mysql://me:{}#@host/db", "mysql://host/db?password={}", "mariadb://me:1]{}@h/db",
    "snowflake://me@account/db?token={}", "sqlite://me:{}@h/x.db", "sqlite:///x.db?password={}",
    "duckdb://me:{}@/x.db",
)  # fmt: skip


@pytest.mark.parametrize("address", PASSWORDS)
def test_a_password_is_refused_in_every_spelling(window, address):
    written = address.format("S3CRET")
    with pytest.raises(ic.InputError, match="leave the password out") as refused:
        in_database(written, "people", window.place(""))
    assert "S3CRET" not in f"{refused.value} {Address(written)} {Address(written)!r}".replace(
        "sqlite:///x.db?password=S3CRET", ""
    )


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me@host/db", "postgresql://h1:5432,h2:5433/db?sslmode=require&passfile=/home/me/.pgpass",
        "postgresql://me@[::1]:5432/db?require_auth=password", "postgresql:///db?host=/var/run",
        "mysql://m%40e@host/db?ssl_ca=/ca.pem", "duckdb:////home/me/token.duckdb", "sqlite:///pass=word.db",
    ],
)  # fmt: skip
def test_an_address_without_a_password_is_taken_as_it_is_written(window, address):
    assert in_database(address, "people", window.place("")).name == address


@pytest.mark.parametrize("address", ["postgresql://me:S3CRET@host/db", "host=h password=S3CRET", "a\0b.csv"])
def test_a_field_for_a_path_repeats_no_address(address):
    with pytest.raises(ic.TableError) as refused:
        path_of(address)
    assert "S3CRET" not in str(refused.value)


@pytest.mark.slow
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


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT (n + 1) % 100 FROM r) SELECT n AS age FROM r"


@pytest.mark.slow
def test_a_view_without_an_end_is_stopped(window, tmp_path):
    with closing(sqlite3.connect(tmp_path / "endless.db")) as connection, connection:
        connection.execute(f"CREATE VIEW people AS {ENDLESS}")
    watched = Watched()
    stopping = Timer(0.5, watched.cancel)
    stopping.start()
    with pytest.raises(Cancelled):
        window.open(
            in_database(f"sqlite:///{tmp_path}/endless.db", "people", window.place("")), None, watched
        )
    stopping.join()
    assert window.source is None
