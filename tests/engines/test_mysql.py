"""MariaDB: types, texts, snapshots, private tables and errors that only such a server has."""

from __future__ import annotations

import datetime as dt
import threading
import time
from decimal import Decimal

import polars as pl
import pytest

import incrowd as ic
from database_tables import FRAME, MODELS, SCHEMA, fill_mysql, mysql_statement, mysql_url
from engine_tables import in_order_of_codes, same
from incrowd.engines import MemoryEngine, engine_for
from incrowd.engines.dialects import MySQL

TYPED = {
    "tiny": ("TINYINT", [1, 2, None]),
    "wide": ("BIGINT UNSIGNED", [2**64 - 1, 0, None]),
    "single": ("FLOAT", [0.1, -0.0, 0.0]),
    "exact": ("DECIMAL(12,3) UNSIGNED", [Decimal("1.100"), Decimal("2.000"), None]),
    "huge": ("DECIMAL(60,4)", [Decimal("1" + "0" * 40 + ".2500"), Decimal("7"), None]),
    "year": ("YEAR", [2024, 1999, None]),
    "bits": ("BIT(3)", [5, 1, None]),
    "day": ("DATE", [dt.date(1000, 1, 2), dt.date(2024, 2, 29), None]),
    "at": ("DATETIME(6)", [dt.datetime(2024, 1, 1, 10, 0, 0, 250_000), dt.datetime(2024, 1, 1), None]),
    "mood": ("ENUM('sad', 'ok') NOT NULL DEFAULT 'ok'", ["sad", "ok", "ok"]),
    "small": ("VARCHAR(9) CHARACTER SET latin1", ["ä", "Ä", "a"]),
    "blanks": ("VARCHAR(9) CHARACTER SET utf8mb4", ["a", "a ", "\\'\"%\0"]),
}


@pytest.fixture
def url():
    url = mysql_url()
    mysql_statement(url, "DROP TABLE IF EXISTS people, safe, other")
    return url


def in_memory(name):
    values = TYPED[name][1]
    if name == "single":
        return pl.Series(name, values, pl.Float32)
    if name == "huge":
        return pl.Series(name, ["1" + "0" * 40 + ".25", "7", None])
    return pl.Series(name, values, pl.UInt64 if name == "wide" else None)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TYPED)
def test_types_are_counted_as_in_memory_and_come_back(url, name):
    kind, values = TYPED[name]
    frame = pl.DataFrame({"g": [1, 1, 2]}).with_columns(in_memory(name))
    mysql_statement(url, f'CREATE TABLE people (g INT, "{name}" {kind})')
    with MySQL.connect(url) as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO people VALUES (%s, %s)", list(zip([1, 1, 2], values, strict=True)))
        connection.commit()
    schema = ic.Schema(quasi=[name], sensitive=["g"])
    with ic.Database(url) as database:
        frequency = engine_for(database.table("people")).count(schema).frequency
        same(in_order_of_codes(MemoryEngine(frame).count(schema).frequency), in_order_of_codes(frequency))
        ic.anonymize(
            database.table("people"), ic.Schema(quasi=["g"], unlisted="keep"), [ic.KAnonymity(1)]
        ).into("safe")
        rows = pl.concat(database.table("safe").rows())
    shown = {"huge": ["1" + "0" * 40 + ".2500", "7.0000", None], "single": [0.10000000149011612, 0.0, 0.0]}
    assert sorted(map(str, rows[name])) == sorted(map(str, shown.get(name, frame[name].to_list())))
    assert "DEFAULT 'ok'" not in mysql_statement(url, "SHOW CREATE TABLE safe")[0][1]


@pytest.mark.slow
def test_names_that_begin_with_blanks_stay_as_they_are(url):
    """In a query, the server takes such blanks away."""
    fill_mysql(url, FRAME.rename({"q": "  q", "s": " s"}))
    schema = ic.Schema(quasi=["  q"], sensitive=[" s"])
    with ic.Database(url) as database:
        release = ic.anonymize(database.table("people"), schema, MODELS)
        assert release.texts.fetch().columns == ["  q", " s"]
        release.into("safe")
    assert [row[0] for row in mysql_statement(url, "SHOW COLUMNS FROM safe")] == ["  q", " s"]
    assert sorted(mysql_statement(url, "SELECT * FROM safe")) == sorted(FRAME.rows())


def test_long_texts_are_told_apart_or_refused(url):
    long = "x" * 5000
    frame = pl.DataFrame(
        {"p": [f"{long}a", f"{long}b", f"{long}b", "c"], "q": [1, 1, 2, 1], "s": list("xyxy")}
    )
    fill_mysql(url, frame)
    schema = ic.Schema.of_attributes(
        [ic.Attribute("p", "person"), ic.Attribute("q", "quasi"), ic.Attribute("s", "sensitive")]
    )
    with ic.Database(url) as database:
        frequency = engine_for(database.table("people")).count(schema).frequency
    same(in_order_of_codes(MemoryEngine(frame).count(schema).frequency), in_order_of_codes(frequency))
    fill_mysql(url, frame.with_columns(p=pl.lit("x" * 70_000)))
    with (
        ic.Database(url) as database,
        pytest.raises(ic.SchemaError, match="'p' has texts of more than 65536 bytes"),
    ):
        ic.assess(database.table("people"), schema)


@pytest.mark.parametrize("day", ["0000-00-00", "2024-00-00"])
def test_days_of_no_calendar_are_refused(url, day):
    mysql_statement(
        url, "CREATE TABLE people (q DATE, s INT)", f"INSERT INTO people VALUES ('{day}', 1)", "COMMIT"
    )
    with (
        ic.Database(url) as database,
        pytest.raises(ic.SchemaError, match="'q' has days that are in no calendar"),
    ):
        ic.assess(database.table("people"), SCHEMA)


def test_a_table_without_snapshots_is_refused(url):
    mysql_statement(url, "CREATE TABLE people (q INT, s INT) ENGINE = MyISAM")
    with (
        ic.Database(url) as database,
        pytest.raises(ic.TableError, match="kept by MyISAM, which has no snapshots"),
    ):
        database.table("people")


def test_rows_that_come_meanwhile_are_in_no_release(url):
    """A statement that fills a table would read later rows; see `MySQL.make`."""
    fill_mysql(url, FRAME)
    with ic.Database(url) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
        mysql_statement(
            url, "UPDATE people SET s = 'new'", "INSERT INTO people VALUES ('a', 'new')", "COMMIT"
        )
        release.into("safe")
    assert {row[0] for row in mysql_statement(url, "SELECT s FROM safe")} == {"x", "y"}
    assert mysql_statement(url, "SELECT COUNT(*) FROM safe") == ((6,),)


def test_nothing_private_stays(url, monkeypatch):
    """No private table stays after a renaming, under a taken name, or after a failed check."""
    fill_mysql(url, FRAME)
    mysql_statement(url, "CREATE TABLE safe (q INT)")
    with ic.Database(url) as database:
        before = set(mysql_statement(url, "SHOW TABLES"))
        ic.anonymize(database.table("people"), SCHEMA, MODELS).into("safe", force=True)
        assert set(mysql_statement(url, "SHOW TABLES")) == before
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
        measured = type(release)._assessment

        def meanwhile(self, made):
            mysql_statement(url, "CREATE TABLE other (q INT)")
            return measured(self, made)

        monkeypatch.setattr(type(release), "_assessment", meanwhile)
        with pytest.raises(ic.TableError, match="was made by another session meanwhile"):
            release.into("other")
        assert set(mysql_statement(url, "SHOW TABLES")) == before | {("other",)}
        assert mysql_statement(url, "SELECT COUNT(*) FROM other") == ((0,),)
        # The session goes on.
        assert ic.assess(database.table("people"), SCHEMA).records == 6


def test_tables_of_a_run_that_was_killed_are_dropped_by_the_next(url):
    """That of a run which goes on is not, and neither is a table that is called alike."""
    fill_mysql(url, FRAME)
    left, used, alike = f"incrowd_{'0a' * 8}", f"incrowd_{'1b' * 8}", "incrowd_tables"
    replaced = f"{left}_old"
    names = (left, replaced, used, alike)
    mysql_statement(url, *(f"CREATE TABLE {name} (q INT)" for name in names))
    try:
        with MySQL.connect(url) as running, running.cursor() as cursor, ic.Database(url) as database:
            cursor.execute(f"SELECT GET_LOCK('{used}', 0)")
            release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
            with pytest.warns(UserWarning, match="dropped the table incrowd_0a.*was killed") as warned:
                release.into("safe")
        assert len([each for each in warned if "was killed" in str(each.message)]) == 2
        assert {(used,), (alike,), ("safe",)} < set(mysql_statement(url, "SHOW TABLES"))
        assert not {(left,), (replaced,)} & set(mysql_statement(url, "SHOW TABLES"))
    finally:
        mysql_statement(url, *(f"DROP TABLE IF EXISTS {name}" for name in names))


def test_a_query_is_killed(url):
    fill_mysql(url, FRAME)
    with ic.Database(url) as database:
        threading.Timer(0.5, database.interrupt).start()
        began = time.monotonic()
        with pytest.raises(ic.TableError, match="MySQL: the statement was cancelled"):
            database.ask(lambda dialect: dialect.fetch("SELECT COUNT(*) AS n FROM people WHERE SLEEP(20)"))
        assert time.monotonic() - began < 15
        assert ic.assess(database.table("people"), SCHEMA).records == 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("owner", "nobody"), "the user or the password was refused"),
        (("pass%20word", "S3CRET"), "the user or the password was refused"),
        (("/clinic", "/none"), "there is no such database"),
        (("/clinic", ""), "name the database in the address"),
        (("/clinic", "/clinic?odd=S3CRET"), "of an address's options, unix_socket"),
    ],
)
def test_errors_have_no_secrets(url, change, words):
    with pytest.raises(ic.TableError, match=words) as raised:
        ic.Database(url.replace(*change))
    assert "pass" not in str(raised.value).replace("the password", "")
    assert "S3CRET" not in str(raised.value)


def test_errors_have_no_values(url):
    fill_mysql(url, FRAME)
    with ic.Database(url) as database, pytest.raises(ic.TableError, match=r"MySQL: .*") as raised:
        database.ask(lambda dialect: dialect.execute("SELECT S3CRET FROM people"))
    assert "S3CRET" not in str(raised.value)
    assert raised.value.__context__ is None


def test_without_the_driver(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pymysql", None)
    with pytest.raises(ic.MissingExtraError, match=r"pip install '\.\[mysql\]'"):
        ic.Database("mysql://host/db")
