"""Databases: names, types, snapshots, transactions, rights and secrets."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from dataclasses import replace
from decimal import Decimal

import duckdb
import polars as pl
import pytest

import incrowd as ic
from database_tables import FRAME, MODELS, SCHEMA, STORES, fill_postgres, fill_sqlite, holding, statement
from engine_tables import in_order_of_codes, same
from incrowd.engines import MemoryEngine, RecodedTable, SqlEngine
from incrowd.engines.sql.databases import Address, parts

# --- names and addresses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("people", ("people",)),
        ("People", ("People",)),
        ("schema.people", ("schema", "people")),
        ('"odd.name"', ("odd.name",)),
        ('schema."a ""b"" c"', ("schema", 'a "b" c')),
        ("two words; --", ("two words; --",)),
    ],
)
def test_names_of_tables(text, name):
    assert parts(text) == name


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", '"', '"a', 'a"b', '""', 'a"b".c'])
def test_what_is_no_name(text):
    with pytest.raises(ic.TableError, match="is no name of a table"):
        parts(text)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:SECRET@host:5432/db?sslmode=require&password=SECRET", "postgresql://host:5432/db"),
        ("postgres://SECRET@host/db", "postgresql://host/db"),
        ("postgresql:///db?user=SECRET", "postgresql:///db"),
        ("postgresql://host/db", "postgresql://host/db"),
        # Where a password that was not percent-encoded may be anywhere, nothing is shown.
        ("postgresql://me:SECRET/x@host/db", "postgresql://..."),
        ("postgresql://me:12?SECRET@host/db", "postgresql://..."),
        ("postgresql://me:SEC@RET@host/db", "postgresql://..."),
        ("postgresql://host/db?user=a@b&password=SECRET", "postgresql://..."),
        ("postgresql://me:1#SECRET@host/db", "postgresql://..."),
        ("sqlite:///some/file.db", "sqlite:///some/file.db"),
        ("duckdb:////some/file.db", "duckdb:////some/file.db"),
    ],
)
def test_addresses_are_shown_without_secrets(url, shown):
    address = Address(url)
    for text in (str(address), repr(address), f"{address!r:>100}"):
        assert "SECRET" not in text
        assert "RET@" not in text
    assert str(address) == shown


@pytest.mark.parametrize("url", ["oracle://host/db", "people.csv", "sqlite:people.db", "host/db"])
def test_what_is_no_address(url):
    with pytest.raises(ic.TableError, match="a database's address begins with") as raised:
        ic.Database(url)
    assert url not in str(raised.value)
    with pytest.raises(ic.TableError, match="write sqlite:///path"):
        ic.Database("sqlite://")


# --- sessions -------------------------------------------------------------------------------------------


def test_what_is_not_there(postgres, tmp_path):
    (tmp_path / "text").write_text("no database, but long enough to be read as one" * 30)
    for url, words in (
        (f"sqlite:///{tmp_path}/none.db", "no such file"),
        (f"duckdb:///{tmp_path}/none.db", "no such file"),
        (f"sqlite:///{tmp_path}/text", "is no SQLite database"),
        (f"duckdb:///{tmp_path}/text", "DuckDB: "),
        (postgres.rpartition("/")[0] + "/none", "no such database"),
        ("postgresql://me@127.0.0.1:1/db", "no connection"),
        ("postgresql://me@127.0.0.1:port/db", "no connection"),
    ):
        with pytest.raises(ic.TableError, match=words):
            ic.Database(url)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]
    with ic.Database(postgres) as database, pytest.raises(ic.TableError, match="there is no table nowhere"):
        database.table("nowhere")


def test_a_file_that_is_no_database_is_not_held_open(tmp_path, monkeypatch):
    (tmp_path / "text").write_text("no database, but long enough to be read as one" * 30)
    opened = []

    def connect(*arguments, **options):
        opened.append(sqlite3.Connection(*arguments, **options))
        return opened[0]

    monkeypatch.setattr("incrowd.engines.dialects.sqlite.sqlite3.connect", connect)
    with pytest.raises(ic.TableError, match="is no SQLite database"):
        ic.Database(f"sqlite:///{tmp_path}/text")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")


def test_a_session_ends(postgres):
    fill_postgres(postgres, FRAME)
    with ic.Database(postgres) as database:
        table = database.table("people")
        release = ic.anonymize(table, SCHEMA, MODELS)
        assert ic.assess(table, SCHEMA).records == 6
        statement(postgres, "INSERT INTO people VALUES ('a', 'x')")
        assert ic.assess(table, SCHEMA).records == 6
        database.refresh()
        assert ic.assess(table, SCHEMA).records == 7
        for stale in (release.table.fetch, lambda: release.into("safe"), lambda: release.write("safe.csv")):
            with pytest.raises(ic.TableError, match="the snapshot that was counted has ended"):
                stale()
    with pytest.raises(ic.TableError, match="the session was closed"):
        ic.assess(table, SCHEMA)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", STORES)
def test_rows_that_nobody_fetches_to_the_end(kind, request, monkeypatch):
    monkeypatch.setattr("incrowd.engines.dialects.sqlite.BATCH", 100)
    monkeypatch.setattr("incrowd.engines.dialects.duckdb.BATCH", 100)
    monkeypatch.setattr("incrowd.engines.dialects.mysql.BATCH", 100)
    url = request.getfixturevalue("postgres") if kind == "postgresql" else None
    frame = pl.DataFrame({"q": list("ab") * 5000, "s": ["x"] * 10_000})
    with holding(kind, frame, url) as table:
        release = ic.anonymize(table, SCHEMA, MODELS)
        rows = release.table.batches()
        assert 0 < len(next(rows)) <= 10_000
        rows.close()
        assert len(release.table.fetch()) == 10_000
        rows = release.table.batches()
        next(rows)
        if kind in ("duckdb", "mysql"):
            with pytest.raises(ic.TableError, match="rows are still being fetched"):
                release.table.fetch()
            release = ic.anonymize(table, SCHEMA, MODELS)
        assert len(release.table.fetch()) == 10_000


def test_paths_that_are_addresses():
    for job in (lambda path: ic.assess(path, SCHEMA), lambda path: ic.anonymize(path, SCHEMA, MODELS)):
        with pytest.raises(ic.TableError, match="an address is no file") as raised:
            job("postgresql://me:SECRET@host/db")
        assert "SECRET" not in str(raised.value)


def test_without_the_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(ic.MissingExtraError, match=r"pip install '\.\[postgres\]'"):
        ic.Database("postgresql://host/db")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ic.MissingExtraError, match=r"pip install '\.\[arrow\]'"):
        ic.Database("duckdb:///people.db")


# --- types ----------------------------------------------------------------------------------------------


def _like(table, frame, names):
    """A table's counts equal those of a frame in memory, each column as quasi-identifier."""
    for name in names:
        schema = ic.Schema(quasi=[name], unlisted="keep")
        expected = in_order_of_codes(MemoryEngine(frame).count(schema).frequency)
        same(expected, in_order_of_codes(SqlEngine(table).count(schema).frequency))
    schema = ic.Schema(quasi=list(names), unlisted="keep")
    release = ic.anonymize(table, schema, [ic.KAnonymity(1)], ic.Datafly())
    expected = ic.anonymize(frame, schema, [ic.KAnonymity(1)], ic.Datafly())
    order = [pl.col(name).fill_null("") for name in names]
    assert release.table.fetch().select(names).sort(order).equals(expected.table.select(names).sort(order))
    if isinstance(release.table, RecodedTable):
        release.into("typed", force=True)
        assessment = ic.assess(table.database.table("typed"), schema, [ic.KAnonymity(1)])
        # Times are texts now, which an assessment points out and an account does not.
        assert replace(assessment, notes=()).to_dict(cells=False) == expected.privacy.to_dict(cells=False)


@pytest.mark.slow
def test_types_of_postgresql(postgres):
    extensions = statement(postgres, "SELECT name FROM pg_available_extensions WHERE name = 'citext'")
    citext = "citext" if extensions else "text"
    statement(
        postgres,
        *(["CREATE EXTENSION IF NOT EXISTS citext"] if extensions else []),
        "DROP TABLE IF EXISTS typed, kinds",
        "DROP TYPE IF EXISTS mood CASCADE",
        "CREATE TYPE mood AS ENUM ('sad', 'Glad', 'SECRET')",
        "DROP DOMAIN IF EXISTS code CASCADE",
        "CREATE DOMAIN code AS varchar(5) CHECK (VALUE <> 'SECRET')",
        "DROP DOMAIN IF EXISTS money2 CASCADE",
        "CREATE DOMAIN money2 AS numeric(7,2)",
        "DROP COLLATION IF EXISTS loose",
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        f"CREATE TABLE kinds (ci {citext}, loose text COLLATE loose, fixed char(4), short varchar(9), mood mood, "
        "id uuid, code code, money money2, f4 float4, any_number numeric, wide numeric(60,3), i2 int2, i4 int4, "
        "stamp timestamp, zoned timestamptz, day date, yes bool)",
        "INSERT INTO kinds VALUES "
        "('A', 'a', 'x', 'y', 'sad', '00000000-0000-0000-0000-00000000000a', 'c', 1.50, 0.1, 1.500, 2, 1, 2, "
        "'2020-01-01 10:00', '2020-01-01 10:00+02', '1900-02-28', true), "
        "('a', 'A', 'x ', 'Y', 'Glad', '00000000-0000-0000-0000-00000000000A', 'C', 'NaN', 'NaN', 1.5, 2.000, -1, -2, "
        "'2020-01-01 08:00', '2020-01-01 08:00+00', '0009-01-01', false), "
        "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '-0', 'NaN', 'NaN', NULL, NULL, NULL, NULL, NULL, NULL)",
    )  # fmt: skip
    import datetime as dt

    moment = dt.datetime(2020, 1, 1, 8)
    frame = pl.DataFrame(
        {
            "ci": ["A", "a", None], "loose": ["a", "A", None], "fixed": ["x", "x", None], "short": ["y", "Y", None],
            "mood": ["sad", "Glad", None], "id": ["00000000-0000-0000-0000-00000000000a"] * 2 + [None],
            "code": ["c", "C", None], "money": pl.Series([Decimal("1.50"), None, None], dtype=pl.Decimal(7, 2)),
            "f4": pl.Series([0.1, float("nan"), -0.0], dtype=pl.Float32), "any_number": ["1.5", "1.5", None],
            "wide": ["2", "2", None], "i2": [1, -1, None], "i4": [2, -2, None],
            "stamp": [dt.datetime(2020, 1, 1, 10), moment, None],
            "zoned": pl.Series([moment, moment, None]).dt.replace_time_zone("UTC"),
            "day": [dt.date(1900, 2, 28), dt.date(9, 1, 1), None], "yes": [True, False, None],
        }
    )  # fmt: skip
    with ic.Database(postgres) as database:
        _like(database.table("kinds"), frame, frame.columns)
    # The new table knows neither the enumeration nor the domain.
    with ic.Database(postgres) as database:
        schema = ic.Schema(quasi=["i2"], unlisted="keep")
        ic.anonymize(database.table("kinds"), schema, [ic.KAnonymity(1)]).into("typed", force=True)
    result = statement(
        postgres,
        "SELECT attname::text AS name, atttypid::regtype::text AS type FROM pg_attribute "
        "WHERE attrelid = 'typed'::regclass AND attnum > 0",
    )
    types = {row["name"]: row["type"] for row in result}
    assert types["mood"] == "text"
    assert types["code"] == "character varying"
    assert types["money"] == "numeric"
    assert types["zoned"] == "timestamp with time zone"


def test_types_of_postgresql_that_are_refused(postgres, tmp_path):
    statement(
        postgres,
        "DROP TABLE IF EXISTS kinds",
        "CREATE TABLE kinds (q text, j json, span interval, list int[], raw bytea, day date, stamp timestamptz, n "
        "numeric, f float8, net inet)",
        "INSERT INTO kinds VALUES ('a', '{}', '1 day', '{1}', 'x', 'infinity', '-infinity', 'Infinity', 'Infinity', "
        "'::1')",
    )
    with ic.Database(postgres) as database:
        table = database.table("kinds")
        for name in ("j", "span", "list", "raw", "net"):
            with pytest.raises(
                ic.SchemaError, match="which is neither text, number nor date; convert it first"
            ):
                ic.assess(table, ic.Schema(quasi=[name]))
        for name in ("day", "stamp", "n", "f"):
            with pytest.raises(ic.SchemaError, match=f"column '{name}' has infinite values"):
                ic.assess(table, ic.Schema(quasi=[name]))
        schema = ic.Schema(quasi=["q"], insensitive=["j", "span", "list", "raw", "net"], unlisted="drop")
        release = ic.anonymize(table, schema, [ic.KAnonymity(1)])
        release.write(tmp_path / "out.parquet")
        row = pl.read_parquet(tmp_path / "out.parquet").row(0, named=True)
        assert row == {"q": "a", "j": "{}", "span": "1 day", "list": "{1}", "raw": b"x", "net": "::1/128"}
        schema = ic.Schema(quasi=["q"], insensitive=["day"], unlisted="drop")
        release = ic.anonymize(table, schema, [ic.KAnonymity(1)])
        with pytest.raises(ic.SchemaError, match="column 'day' has infinite values"):
            release.write(tmp_path / "never.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_types_of_sqlite(tmp_path):
    frame = pl.DataFrame(
        {
            "loose": ["A", "a", None], "price": [1.5, 2.0, None], "day": ["2020-01-01", "2019-01-01", None],
            "yes": [1, 0, None], "code": ["01", "1", None], "big": [2**62, -(2**63), None],
        }
    )  # fmt: skip
    types = {
        "loose": "TEXT COLLATE NOCASE",
        "price": "DECIMAL(5,2)",
        "day": "DATE",
        "yes": "BOOLEAN",
        "code": "TEXT",
    }
    fill_sqlite(tmp_path / "a.db", frame, types=types)
    with ic.Database(f"sqlite:///{tmp_path}/a.db") as database:
        _like(database.table("people"), frame, frame.columns)
        _like(database.table("main.PEOPLE"), frame, frame.columns)
    with contextlib.closing(sqlite3.connect(tmp_path / "b.db")) as connection:
        connection.execute("CREATE TABLE people (q, mixed, raw, wide, broken)")
        connection.execute("INSERT INTO people VALUES ('a', 1, x'00', 9007199254740993, CAST(x'ff' AS TEXT))")
        connection.execute("INSERT INTO people VALUES ('a', 'x', x'00', 1.5, 'SECRET')")
        connection.commit()
    with ic.Database(f"sqlite:///{tmp_path}/b.db") as database:
        table = database.table("people")
        for name, words in (
            ("mixed", r"mixes values of several types \(integer, text\)"),
            ("wide", r"mixes values of several types \(integer, real\)"),
            ("raw", "is of type blob, which is neither text, number nor date"),
            ("broken", "a text is not written in UTF-8"),
        ):
            with pytest.raises(ic.InputError, match=words) as raised:
                ic.assess(table, ic.Schema(quasi=[name]))
            assert "SECRET" not in str(raised.value)


@pytest.mark.slow
def test_types_of_duckdb(tmp_path):
    with contextlib.closing(duckdb.connect(str(tmp_path / "a.db"))) as connection:
        connection.execute(
            "CREATE TABLE people (loose VARCHAR COLLATE NOCASE, mood ENUM('u', 'SECRET', 'v'), id UUID, huge HUGEINT, "
            "zoned TIMESTAMPTZ, f FLOAT, ns TIMESTAMP_NS)"
        )
        connection.execute(
            "INSERT INTO people VALUES ('A', 'u', '00000000-0000-0000-0000-00000000000A', "
            "170141183460469231731687303715884105727, '2020-01-01 10:00+02', 0.1, '2020-01-01 00:00:00.000000001'), "
            "('a', 'v', '00000000-0000-0000-0000-00000000000a', 1, '2020-01-01 08:00+00', 'NaN', '2020-01-01'), "
            "(NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
        )
        connection.execute("CREATE TABLE odd (day DATE, list INTEGER[])")
        connection.execute("INSERT INTO odd VALUES ('infinity', [1])")
    import datetime as dt

    moment = dt.datetime(2020, 1, 1, 8)
    frame = pl.DataFrame(
        {
            "loose": ["A", "a", None], "mood": ["u", "v", None],
            "id": ["00000000-0000-0000-0000-00000000000a"] * 2 + [None],
            "huge": pl.Series([2**127 - 1, 1, None], dtype=pl.Int128),
            "zoned": pl.Series([moment, moment, None]).dt.replace_time_zone("UTC"),
            "f": pl.Series([0.1, float("nan"), None], dtype=pl.Float32),
        }
    )  # fmt: skip
    with ic.Database(f"duckdb:///{tmp_path}/a.db") as database:
        _like(database.table("people"), frame, frame.columns)
        with pytest.raises(ic.SchemaError, match="column 'day' has infinite values"):
            ic.assess(database.table("odd"), ic.Schema(quasi=["day"]))
        with pytest.raises(ic.SchemaError, match=r"is of type INTEGER\[\], which is neither"):
            ic.assess(database.table("odd"), ic.Schema(quasi=["list"]))
