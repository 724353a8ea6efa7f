"""Snowflake without a server: SQL compared with a text, parsed by SQLGlot, and run by DuckDB."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import duckdb
import polars as pl
import pytest

import incrowd as ic
from incrowd.engines.dialects import Snowflake

sqlglot = pytest.importorskip("sqlglot")

GOLDEN = Path(__file__).parent / "snowflake.sql"
PEOPLE = pl.DataFrame(
    {
        "Age": [30, 31, 32, 33, 40, 41, None, 43],
        "town": ["a", "a ", "A", "it's", None, "*", "\\d", "b"],
        "weight": [1.5, 2.5, None, 0.1, -0.0, 0.0, 5.0, 9.0],
        "name": ["p", "p", "q", "r", "s", "t", "n/a", "u"],
        "disease": list("xyxyxyxy"),
    }
)
TYPES = {"BIGINT": ("NUMBER", 18, 0), "DOUBLE": ("FLOAT", None, None)}
NOW = "2026-01-01 10:00:00.000000000 +0000"


class Cursor:
    """A cursor that notes each query, and has DuckDB answer."""

    def __init__(self, connection):
        self.base, self.asked, self.found = connection.base, connection.asked, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def execute(self, sql, parameters=None):
        self.asked.append(sql)
        if "information_schema.tables" in sql:
            there = self.base.execute("SELECT table_name FROM duckdb_tables()").fetchall()
            self.found = [("BASE TABLE",)] if (parameters[0],) in there else []
        elif "information_schema.columns" in sql:
            listed = self.base.execute(f'DESCRIBE "{parameters[0]}"').fetchall()
            self.found = [(name, *TYPES.get(kind, ("TEXT", None, None))) for name, kind, *_ in listed]
        elif "TO_VARCHAR(CURRENT" in sql or "CURRENT_SCHEMA" in sql:
            self.found = [(NOW if "TO_VARCHAR" in sql else "main",)]
        else:
            plain = re.sub(r" AT\(TIMESTAMP => CAST\('[^']*' AS TIMESTAMP_TZ\)\)", "", sql)
            plain = re.sub(r"COLLATE\(([^,]*), 'utf8'\)", r"\1", plain)
            plain = re.sub(r"(CREATE OR REPLACE TABLE .*) CLONE (.*)", r"\1 AS SELECT * FROM \2", plain)
            for each in sqlglot.transpile(plain, read="snowflake", write="duckdb"):
                self.result = self.base.sql(each)

    def executemany(self, sql, rows):
        self.asked.append(sql)
        self.base.executemany(sql.replace("%s", "?"), rows)

    def fetchall(self):
        return self.found

    def fetch_arrow_all(self, force_return_table):
        return self.result.to_arrow_table()

    def fetch_arrow_batches(self):
        yield self.fetch_arrow_all(force_return_table=True)


class Connection:
    def __init__(self, base):
        self.base, self.asked = base, []

    def cursor(self):
        return Cursor(self)

    def close(self):
        pass


@pytest.fixture
def session(monkeypatch):
    with contextlib.closing(duckdb.connect()) as base:
        base.register("incoming", PEOPLE.to_arrow())
        base.execute("CREATE TABLE people AS SELECT * FROM incoming")
        connection = Connection(base)
        monkeypatch.setattr(Snowflake, "connect", classmethod(lambda cls, where: connection))
        monkeypatch.setattr(
            "incrowd.engines.dialects.snowflake.secrets.token_hex", lambda _: "0123456789abcdef"
        )
        yield connection


@pytest.mark.few(1)
@pytest.mark.parametrize("replace", [False, True])
def test_the_sql_is_that_of_the_text_and_its_release_that_of_memory(session, replace):
    models = [ic.KAnonymity(2), ic.LDiversity(1)]
    schema = ic.Schema.of_attributes(
        [
            *(ic.Attribute(name, "quasi") for name in ("Age", "town", "weight")),
            ic.Attribute("name", "person"),
            ic.Attribute("disease", "sensitive"),
        ],
        null_values=["n/a"],
    )
    expected = ic.anonymize(PEOPLE, schema, models)
    if replace:
        session.base.execute("CREATE TABLE safe (q INTEGER)")
    with ic.Database("snowflake://me@account/clinic") as database:
        release = ic.anonymize(database.table("people"), schema, models)
        assert sorted(map(str, release.table.fetch().rows())) == sorted(map(str, expected.table.rows()))
        release.into("safe", force=replace)
    frame = pl.DataFrame(session.base.sql("FROM safe").to_arrow_table())
    assert sorted(map(str, frame.rows())) == sorted(map(str, expected.table.rows()))
    assert [
        name for (name,) in session.base.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    ] == [
        "people",
        "safe",
    ]
    for sql in session.asked:
        [_] = sqlglot.parse(sql.replace("%s", "?"), read="snowflake", error_level=sqlglot.ErrorLevel.RAISE)
        # Rows before recoding are read as of the snapshot, whatever asks.
        assert ('"people"' in sql) == (f"\"people\" AT(TIMESTAMP => CAST('{NOW}' AS TIMESTAMP_TZ))" in sql)
    if not replace:
        text = "".join(f"{sql};\n" for sql in dict.fromkeys(session.asked))
        if os.environ.get("INCROWD_WRITE_GOLDEN"):
            GOLDEN.write_text(text)
        assert text == GOLDEN.read_text(), "look at each change, then write it with INCROWD_WRITE_GOLDEN=1"


def test_a_release_that_fails_leaves_nothing(session, monkeypatch):
    with ic.Database("snowflake://me@account/clinic") as database:
        release = ic.anonymize(
            database.table("people"), ic.Schema(["Age"], unlisted="keep"), [ic.KAnonymity(1)]
        )
        monkeypatch.setattr(type(release), "_assessment", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            release.into("safe")
    assert session.base.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("people",)]


def test_without_the_driver(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "snowflake.connector", None)
    with pytest.raises(ic.MissingExtraError, match=r"pip install '\.\[snowflake\]'"):
        ic.Database("snowflake://me@account/clinic")
