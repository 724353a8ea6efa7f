"""Releases in databases: transactions, rights and secrets."""

from __future__ import annotations

import contextlib
import os
import sqlite3

import duckdb
import polars as pl
import pytest

import incrowd as ic
from database_tables import (
    FRAME,
    MODELS,
    SCHEMA,
    STORES,
    fill_duckdb,
    fill_mysql,
    fill_postgres,
    fill_sqlite,
    holding,
    mysql_statement,
    mysql_url,
    statement,
)
from incrowd.core.progress import Cancellable, Cancelled
from incrowd.engines import engine_for
from incrowd.engines.fetched import Combinations
from incrowd.samples import hospital

# --- transactions -----------------------------------------------------------------------------------------


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    """A database with the table `people`: the URL, and a function for statements in another session."""
    kind = request.param
    if kind == "postgresql":
        url = request.getfixturevalue("postgres")
        fill_postgres(url, FRAME)
        statement(url, "DROP TABLE IF EXISTS safe")
        yield url, lambda sql: statement(url, sql)
    elif kind == "sqlite":
        fill_sqlite(tmp_path / "a.db", FRAME)
        with contextlib.closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
            # Else nobody could write while somebody reads.
            other.execute("PRAGMA journal_mode = WAL")
            yield f"sqlite:///{tmp_path}/a.db", lambda sql: _rows(other.execute(sql).fetchall())
    elif kind == "mysql":
        url = mysql_url()
        fill_mysql(url, FRAME)
        mysql_statement(url, "DROP TABLE IF EXISTS safe")
        yield url, lambda sql: _rows(mysql_statement(url, sql))
    else:
        with contextlib.closing(duckdb.connect(str(tmp_path / "a.db"))) as connection:
            fill_duckdb(connection, FRAME)
        # A second session of the same process; others are locked out of a file that is open for writing.
        held = []

        def run(sql):
            if not held:
                held.append(duckdb.connect(str(tmp_path / "a.db")))
            return _rows(held[0].execute(sql).fetchall())

        yield f"duckdb:///{tmp_path}/a.db", run
        for connection in held:
            connection.close()


def _home(url):
    """The schema that tables are in unless another is named."""
    return {"postgresql": "public", "mysql": "clinic"}.get(url.partition("://")[0], "main")


def _rows(rows):
    return [{"n": row[0]} for row in rows]


def _is_there(url, name):
    with ic.Database(url) as database:
        if database.ask(lambda dialect: dialect.kind((name,))) is None:
            with pytest.raises(ic.TableError, match="there is no table"):
                database.table(name)
            return None
        return ic.assess(database.table(name), SCHEMA).records


def _while_writing(monkeypatch, database, work):
    """Do something between the upload of the keys and the making of the table."""
    dialect = type(database.dialect)
    upload = dialect.upload

    def and_then(self, name, frame, types):
        upload(self, name, work(self, frame), types)

    monkeypatch.setattr(dialect, "upload", and_then)


@pytest.mark.few(1)
@pytest.mark.parametrize("by_column", [False, True])
def test_a_release_that_fails_its_check_leaves_nothing(store, monkeypatch, by_column):
    url, _ = store
    if not by_column:
        monkeypatch.setattr("incrowd.engines.sql.recoded.split_by_column", lambda *_: None)
    with ic.Database(url) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, [ic.KAnonymity(3)])

        def spoil(dialect, frame):
            # As if the join had gone wrong: everybody is released as he is.
            return frame.with_columns(pl.col("k0").alias("c0")) if "c0" in frame.columns else frame[:0]

        _while_writing(monkeypatch, database, spoil)
        with pytest.raises(ic.InfeasibleError, match="nothing was released: k-anonymity"):
            release.into("safe")
    assert _is_there(url, "safe") is None
    assert _is_there(url, "people") == 6


@pytest.mark.few(1)
@pytest.mark.parametrize("by_column", [False, True])
def test_postgresql_hashes_the_join(postgres, by_column):
    frame = pl.DataFrame({"q": ["a", None] * 500, "p": list(range(250)) * 4, "s": ["x"] * 1000})
    fill_postgres(postgres, frame)
    with ic.Database(postgres) as database:
        schema = ic.Schema(quasi=["q", "p"], sensitive=["s"])
        release = ic.anonymize(database.table("people"), schema, MODELS, ic.Datafly())
        uploads, query = release.table.join(database.dialect, by_column=by_column)

        def explain(dialect):
            for name, upload in uploads.items():
                dialect.upload(name, *upload)
            dialect.joining()
            with dialect._connection.cursor() as cursor:
                # EXPLAIN cannot be copied out, which is how the driver has rows sent.
                cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
                cursor.execute(f"EXPLAIN {query}")
                return "\n".join(line for (line,) in cursor.fetchall())

        plan = database.ask(explain)
        assert plan.count("Hash") >= 2 * len(uploads)
        assert "Nested Loop" not in plan
        assert "Merge" not in plan
        assert len(uploads) == (3 if by_column else 1)


@pytest.mark.few(1)
def test_rows_that_get_lost_are_missed(store, monkeypatch):
    url, _ = store
    with ic.Database(url) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
        # Keys that stand there twice double their rows.
        _while_writing(monkeypatch, database, lambda dialect, frame: pl.concat([frame, frame]))
        with pytest.raises(ic.TableError, match="has other rows than were counted"):
            release.into("safe")
    assert _is_there(url, "safe") is None


@pytest.mark.few(1)
def test_keys_that_get_lost_are_suppressed(store, monkeypatch):
    url, _ = store
    with ic.Database(url) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
        _while_writing(monkeypatch, database, lambda dialect, frame: frame[1:])
        with pytest.raises(ic.InfeasibleError, match="2 of 6 records are suppressed"):
            release.into("safe")
    assert _is_there(url, "safe") is None


@pytest.mark.few(3)
def test_a_table_that_somebody_else_makes_meanwhile(store, monkeypatch):
    url, other = store
    with ic.Database(url) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS)

        def rival(dialect, frame):
            other("CREATE TABLE safe AS SELECT * FROM people LIMIT 1")
            return frame

        _while_writing(monkeypatch, database, rival)
        with pytest.raises(ic.TableError, match="nothing was kept"):
            release.into("safe")
    # Theirs stays as they made it.
    assert other("SELECT COUNT(*) AS n FROM safe") == [{"n": 1}]


@pytest.mark.few(1)
def test_somebody_else_writes_meanwhile(store, monkeypatch, tmp_path):
    url, other = store
    counted = Combinations.of

    def counting(self, names):
        result = counted(self, names)
        other("INSERT INTO people VALUES ('d', 'late')")
        other("DELETE FROM people WHERE q = 'c'")
        return result

    monkeypatch.setattr(Combinations, "of", counting)
    with ic.Database(url) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
        expected = ic.anonymize(FRAME, SCHEMA, MODELS)
        assert release.privacy == expected.privacy
        release.write(tmp_path / "out.parquet")
        order = ["q", "s"]
        assert pl.read_parquet(tmp_path / "out.parquet").sort(order).equals(expected.table.sort(order))
        if url.startswith("sqlite"):
            # SQLite lets nobody write who has not read the latest.
            with pytest.raises(ic.TableError, match="another session wrote to the database meanwhile"):
                release.into("safe")
            return
        release.into("safe")
        assert (
            database.table("safe")
            .fetch("SELECT t.q, t.s FROM safe AS t")
            .sort(order)
            .equals(expected.table.sort(order))
        )


class Job(Cancellable):
    """A job that shows nothing."""

    def stage(self, name):
        pass

    def advance(self, done, total):
        pass


@pytest.mark.few(2)
def test_a_table_that_is_made_can_be_given_up(store, monkeypatch):
    """The database that fills the table is stopped, and a cancelled job's tables are removed."""
    url, _ = store
    job = Job()
    with ic.Database(url) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
        _while_writing(monkeypatch, database, lambda _, frame: (job.cancel(), frame)[1])
        with pytest.raises(Cancelled):
            release.into("safe", progress=job)
        told = []
        monkeypatch.setattr(database, "interrupt", lambda: told.append("stop"))
        engine_for(release.table).interrupt()
        assert told == ["stop"]
    assert _is_there(url, "safe") is None


@pytest.mark.few(1)
def test_tables_that_exist(store):
    url, _ = store
    with ic.Database(url) as database:
        table = database.table("people")
        for force in (False, True):
            for name in ("people", f"{_home(url)}.people"):
                with pytest.raises(ic.TableError, match="is the table that is released"):
                    ic.anonymize(table, SCHEMA, MODELS).into(name, force=force)
        ic.anonymize(table, SCHEMA, MODELS).into("safe")
        with pytest.raises(
            ic.TableError, match=r"safe: exists already; choose another name or say force=True$"
        ):
            ic.anonymize(table, SCHEMA, MODELS).into("safe")
        ic.anonymize(table, SCHEMA, [ic.KAnonymity(3)]).into("safe", force=True)
        assert ic.assess(database.table("safe"), SCHEMA).smallest >= 3
        with pytest.raises(ic.TableError):
            ic.anonymize(table, SCHEMA, MODELS).into("no_such_schema.safe")
        assert ic.assess(table, SCHEMA).records == 6


@pytest.mark.few(1)
def test_views(store):
    url, other = store
    other("CREATE TABLE base AS SELECT * FROM people")
    other("CREATE VIEW shown AS SELECT * FROM base")
    try:
        with ic.Database(url) as database:
            release = ic.anonymize(database.table("shown"), SCHEMA, MODELS)
            with pytest.raises(ic.TableError, match=r"which may read it|depend on the table"):
                release.into("base", force=True)
            with pytest.raises(ic.TableError, match="shown: is a view"):
                ic.anonymize(database.table("people"), SCHEMA, MODELS).into("shown", force=True)
            ic.anonymize(database.table("shown"), SCHEMA, MODELS).into("safe")
        assert _is_there(url, "safe") == _is_there(url, "base") == 6
    finally:
        other("DROP VIEW shown")
        other("DROP TABLE base")


def test_partitions_are_the_table_that_they_are_of(postgres):
    statement(
        postgres,
        "DROP TABLE IF EXISTS parted",
        "CREATE TABLE parted (q text, s text) PARTITION BY LIST (s)",
        "CREATE TABLE parted_x PARTITION OF parted FOR VALUES IN ('x')",
        "CREATE TABLE parted_y PARTITION OF parted FOR VALUES IN ('y')",
        "INSERT INTO parted SELECT * FROM (VALUES ('a', 'x'), ('a', 'y'), ('b', 'x'), ('b', 'y')) AS v",
    )
    with ic.Database(postgres) as database:
        for name, target in (("parted", "parted_x"), ("parted_y", "parted")):
            release = ic.anonymize(database.table(name), SCHEMA, [ic.KAnonymity(1)])
            with pytest.raises(ic.TableError, match="is the table that is released, or a part of it"):
                release.into(target, force=True)


def test_long_names(postgres):
    fill_postgres(postgres, FRAME)
    with ic.Database(postgres) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
        with pytest.raises(ic.TableError, match="at most 63 bytes"):
            release.into("Ü" * 32)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["killed", "timeout"])
def test_a_failure_in_the_middle(postgres, monkeypatch, end):
    frame = hospital(20_000, 1).select("age", "zip", "diagnosis")
    fill_postgres(postgres, frame, "many")
    statement(postgres, "DROP TABLE IF EXISTS safe")
    schema = ic.Schema(quasi=["age", "zip"], sensitive=["diagnosis"])
    with ic.Database(postgres) as database:
        release = ic.anonymize(database.table("many"), schema, MODELS)

        def fail(dialect, keys):
            if end == "killed":
                pid = dialect.fetch("SELECT pg_backend_pid() AS pid").item()
                statement(postgres, f"SELECT pg_terminate_backend({pid})::text AS done")
            else:
                dialect.execute("SET LOCAL statement_timeout = 20")
                dialect.fetch("SELECT pg_sleep(1)::text AS slept")
            return keys

        _while_writing(monkeypatch, database, fail)
        words = "ended the session|connection" if end == "killed" else "cancelled, by a timeout"
        with pytest.raises(ic.TableError, match=words):
            release.into("safe")
        monkeypatch.undo()
        if end == "timeout":
            # The session can go on, with a new snapshot.
            ic.anonymize(database.table("many"), schema, MODELS).into("safe")
    assert len(statement(postgres, "SELECT 1 FROM pg_class WHERE relname = 'safe'")) == (end == "timeout")
    assert not statement(postgres, "SELECT 1 FROM pg_class WHERE relname = 'incrowd keys'")


# --- rights and secrets -----------------------------------------------------------------------------------


def test_reading_needs_no_rights_to_write(postgres, tmp_path, monkeypatch):
    fill_postgres(postgres, FRAME)
    statement(
        postgres,
        "DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'reader') THEN DROP OWNED BY reader; "
        "DROP ROLE reader; END IF; END $$",
        "CREATE ROLE reader LOGIN PASSWORD 'only reads'",
        "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC",
        "GRANT SELECT ON people TO reader",
        "DROP TABLE IF EXISTS safe",
        "CREATE TABLE IF NOT EXISTS hidden AS SELECT * FROM people",
    )
    monkeypatch.setenv("PGPASSWORD", "only reads")
    host = postgres.rpartition("@")[2]
    with ic.Database(
        f"postgresql://reader@{host}?options=-c%20default_transaction_read_only%3Don"
    ) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
        release.write(tmp_path / "out.csv")
        assert len(pl.read_csv(tmp_path / "out.csv")) == 6
        with pytest.raises(ic.TableError, match=r"lacks the rights|may only read"):
            release.into("safe")
        with pytest.raises(ic.TableError, match="lacks the rights"):
            ic.assess(database.table("hidden"), SCHEMA)


def test_files_that_may_only_be_read(tmp_path):
    for kind in ("sqlite", "duckdb"):
        path = tmp_path / f"{kind}.db"
        if kind == "sqlite":
            fill_sqlite(path, FRAME)
        else:
            with contextlib.closing(duckdb.connect(str(path))) as connection:
                fill_duckdb(connection, FRAME)
        path.chmod(0o400)
        if os.access(path, os.W_OK):
            pytest.skip("this user may write every file")
        with ic.Database(f"{kind}:///{path}") as database:
            release = ic.anonymize(database.table("people"), SCHEMA, MODELS)
            with pytest.raises(ic.TableError):
                release.into("safe")


def test_secrets_are_never_printed(postgres):
    fill_postgres(postgres, FRAME)
    host = postgres.rpartition("@")[2]
    marked = f"postgresql://owner:MARKER-1@{host}?application_name=MARKER-2"
    with pytest.raises(ic.TableError) as raised:
        ic.Database(marked)
    assert "MARKER" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_a_saved_release(postgres, tmp_path):
    fill_postgres(postgres, FRAME)
    with ic.Database(postgres) as database:
        release = ic.anonymize(database.table("people"), SCHEMA, MODELS, population=database.table("people"))
        release.save(tmp_path / "out")
        assert postgres.rpartition("@")[2] not in repr(release.table)
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            assert b"127.0.0.1" not in path.read_bytes()


def test_relations(tmp_path):
    with holding("relation", FRAME) as relation:
        release = ic.anonymize(relation, SCHEMA, MODELS)
        assert isinstance(release.table, duckdb.DuckDBPyRelation)
        release.write(tmp_path / "out.csv")
        assert len(pl.read_csv(tmp_path / "out.csv")) == 6
        with pytest.raises(ic.TableError, match="not in a database"):
            release.into("safe")
        release.table.create("safe")
        result = release.table.query("made", "SELECT * FROM safe")
        assert ic.assess(result, SCHEMA, MODELS) == release.privacy
