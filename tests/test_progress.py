"""Jobs that are cancelled: every search, every count that waits for a database, and what they leave."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd.io import streams
from incrowd.progress import Cancellable, Cancelled, Silent, check, interrupting
from incrowd.samples import hospital, hospital_policy

ENDLESS = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT COUNT(*) FROM t WHERE n < 0"
ONE_PASS = ("random", "microaggregation")
"""Searches that are one pass over the records, and have nothing to say."""
LONG = 60.0
"""Seconds after which a job that should have been cancelled is taken for one that goes on."""


class Told(Cancellable):
    """Progress that is cancelled at one of its words."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words = words
        self.stages: list[str] = []

    def stage(self, name: str) -> None:
        self.stages.append(name)
        self.advance(0, 1)

    def advance(self, done: int, total: int) -> None:
        self.words -= 1
        if self.words < 0:
            self.cancel()
        self.check()


def test_what_cannot_be_cancelled_goes_on():
    check(Silent())
    with interrupting(Silent(), pytest.fail):
        pass


def test_what_is_waited_for_is_given_up_and_its_error_does_not_get_out():
    job, given_up, began = Cancellable(), threading.Event(), threading.Event()

    def wait() -> None:
        began.set()
        assert given_up.wait(LONG)
        raise OSError("the driver says that it was interrupted")

    def cancel() -> None:
        began.wait(LONG)
        job.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(Cancelled), interrupting(job, given_up.set):
        wait()
    canceller.join()
    # Whatever begins later is given up, too; and an end by another signal stays one.
    given_up.clear()
    with pytest.raises(Cancelled), interrupting(job, given_up.set):
        assert given_up.wait(LONG)
    with pytest.raises(SystemExit), interrupting(job, given_up.set):
        raise SystemExit(130)


def test_a_block_within_a_block_gives_up_its_own_alone():
    job, outer, inner = Cancellable(), threading.Event(), threading.Event()
    timer = threading.Timer(0.1, job.cancel)
    timer.start()

    def wait() -> None:
        with interrupting(job, inner.set):
            assert inner.wait(LONG)

    ended: list[bool] = []

    def run() -> None:
        with pytest.raises(Cancelled), interrupting(job, outer.set):
            wait()
        ended.append(True)

    running = threading.Thread(target=run, daemon=True)
    running.start()
    running.join(LONG)
    timer.join()
    assert ended == [True]


def test_an_error_of_a_job_that_nobody_cancelled_gets_out():
    job = Cancellable()
    with pytest.raises(OSError, match="full"), interrupting(job, pytest.fail):
        raise OSError("full")
    with interrupting(job, pytest.fail):
        job.check()


@pytest.mark.parametrize(
    "algorithm",
    [
        pytest.param(each, marks=[pytest.mark.slow] if each.name in ("oka", "clustering") else [])
        for each in ic.ALGORITHMS
        if each.name not in ONE_PASS
    ],
)
def test_every_search_is_cancelled_at_its_first_word(algorithm):
    table = hospital(1_000)
    settings = {"target": "diagnosis"} if "target" in algorithm.needed() else {}
    policy = ic.Policy(
        hospital_policy().schema, (ic.KAnonymity(5),), algorithm.from_settings(settings), max_suppression=0.2
    )

    class InSearch(Told):
        def advance(self, done: int, total: int) -> None:
            if self.stages[-1] == "search" and total != 1:
                self.words = 0
            super().advance(done, total)

    told = InSearch(10**9)
    with pytest.raises(Cancelled):
        ic.anonymize(table, policy, progress=told)
    assert told.stages[-1] == "search"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_question_to_a_database_is_given_up(tmp_path, kind):
    path = tmp_path / f"people.{kind}"
    make(kind, path)
    with ic.Database(f"{kind}:///{path}") as database:
        job = Cancellable()
        timer = threading.Timer(0.3, job.cancel)
        timer.start()
        with pytest.raises(Cancelled), interrupting(job, database.interrupt):
            database.ask(lambda dialect: dialect.fetch(ENDLESS))
        timer.join()
        # The session answers on.
        assert database.table("people").columns == ["age"]


@pytest.mark.slow
def test_a_question_to_a_server_is_given_up(postgres):
    with ic.Database(postgres) as database:
        job = Cancellable()
        timer = threading.Timer(0.3, job.cancel)
        timer.start()
        outcome = []

        def ask() -> None:
            # A page asks in a thread of its own.
            with pytest.raises(Cancelled), interrupting(job, database.interrupt):
                database.ask(lambda dialect: dialect.fetch("SELECT pg_sleep(600)"))
            outcome.append(database.ask(lambda dialect: dialect.fetch("SELECT 1 AS one")).item())

        asking = threading.Thread(target=ask)
        asking.start()
        asking.join(LONG)
        timer.join()
        assert outcome == [1]


def make(kind: str, path: Path) -> None:
    if kind == "sqlite":
        import sqlite3

        connection = sqlite3.connect(path)
    else:
        import duckdb

        connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE people (age INTEGER)")
    connection.execute("INSERT INTO people VALUES (30), (31)")
    if kind == "sqlite":
        connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("memory", marks=pytest.mark.slow),
        pytest.param("files", marks=pytest.mark.slow),
        "sqlite",
    ],
)
def test_a_job_is_cancelled_at_each_word_on_every_engine_and_leaves_nothing(tmp_path, monkeypatch, engine):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    table = hospital(300).select("age", "sex", "diagnosis")
    table.write_csv(tmp_path / "people.csv")
    if engine == "sqlite":
        import sqlite3

        connection = sqlite3.connect(tmp_path / "people.db")
        connection.execute("CREATE TABLE people (age INTEGER, sex TEXT, diagnosis TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", table.rows())
        connection.commit()
        connection.close()
    schema = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"])
    words, release = 0, None
    while release is None:
        raw = {
            "memory": lambda: table,
            "files": lambda: streams.scan(tmp_path / "people.csv"),
            "sqlite": lambda: ic.Database(f"sqlite:///{tmp_path / 'people.db'}").table("people"),
        }[engine]()
        told = Told(words)
        try:
            release = ic.anonymize(raw, schema, "k-anonymity:5", "mondrian", progress=told)
        except Cancelled:
            words += 1
        # What the exception held on its way goes with it.
        del raw
        gc.collect()
        assert release or [path for path in temporary.rglob("*") if path.is_file()] == []
    assert words > 4
    assert release.privacy.holds


def test_a_count_of_files_is_cancelled_while_the_query_runs(tmp_path):
    pl.DataFrame({"age": list(range(2000)), "sex": ["f", "m"] * 1000}).write_parquet(tmp_path / "t.parquet")
    files = ic.scan(tmp_path / "t.parquet", memory="1GiB")
    from incrowd.engines import engine_for

    job = Told(10**9)
    engine = engine_for(files, progress=job)
    timer = threading.Timer(0.3, job.cancel)
    timer.start()
    with engine._opened(), pytest.raises(Cancelled):
        engine._save("endless", ENDLESS)
    timer.join()
