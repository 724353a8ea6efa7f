"""Cancelled jobs: every search, every count that waits for a database, and the files left behind."""

from __future__ import annotations

import gc
import sys
import threading
import types
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.io import streams
from incrowd.core.io.columns import passing
from incrowd.core.kernels import jit
from incrowd.core.kernels.grouping.grouping import group_codes
from incrowd.core.progress import (
    Cancellable,
    Cancelled,
    Silent,
    check,
    current,
    interrupting,
    running,
    with_bar,
)
from incrowd.engines import engine_for
from incrowd.samples import hospital, hospital_policy

ROOT = Path(__file__).parents[2]
ENDLESS = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT COUNT(*) FROM t WHERE n < 0"
ONE_PASS = ("random", "microaggregation")
"""Searches that are one pass over the records, and have nothing to say."""
LONG = 60.0
"""Seconds after which a job that should have been cancelled is taken for one that goes on."""


class Told(Cancellable):
    """Progress that is cancelled at a given word."""

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


def test_who_ends_the_process_waits_until_the_query_was_given_up():
    job, late, given_up = Cancellable(), threading.Event(), threading.Event()

    def interrupt() -> None:
        late.wait(0.2)  # the server takes its time to answer
        given_up.set()

    def end() -> None:
        job.cancel()
        job.wait_until_interrupted(LONG)
        assert given_up.is_set()

    with pytest.raises(Cancelled), interrupting(job, interrupt):
        end()
    # Nobody waits where nothing does.
    job.wait_until_interrupted(LONG)


def test_every_package_of_ours_removes_its_folders_at_the_end_of_grace():
    """Each package's folder belongs to a finalizer, which `interruption` knows by the package's name."""
    from incrowd.faces.cli.interruption import _REMOVERS

    ours = {
        path.name
        for root in ("src", "gate/src", "verify/src")
        for path in (ROOT / root).iterdir()
        if path.is_dir()
    }
    assert {"incrowd", "incrowd_gate", "incrowd_verify"} <= ours <= {*_REMOVERS}


def test_an_error_of_a_job_that_nobody_cancelled_gets_out():
    job = Cancellable()
    with pytest.raises(OSError, match="full"), interrupting(job, pytest.fail):
        raise OSError("full")
    with interrupting(job, pytest.fail):
        job.check()


@pytest.mark.few(7)
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


@pytest.mark.few(1)
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


@pytest.mark.slow
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
    # What was there before the test is not looked through after each word.
    gc.collect()
    gc.freeze()
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
    from incrowd.engines.fold import Values
    from incrowd.engines.spilling import SpilledRows

    job = Told(10**9)
    timer = threading.Timer(0.3, job.cancel)
    timer.start()
    with SpilledRows.opened(files, Values({}, ()), [], job) as rows, pytest.raises(Cancelled):
        rows._save("endless", ENDLESS)
    timer.join()


def test_a_thread_knows_the_job_that_it_works_for():
    job, other = Cancellable(), Cancellable()
    assert current() is None
    with running(job):
        with running(Silent()):
            # What is shown nowhere still belongs to the job.
            assert current() is job
        with running(other):
            assert current() is other
        check()
        job.cancel()
        with pytest.raises(Cancelled):
            check()
        result: list[object] = []
        stranger = threading.Thread(target=lambda: result.append(current()))
        stranger.start()
        stranger.join()
        assert result == [None]
    assert current() is None
    check()


def test_kernels_of_a_cancelled_job_do_not_begin_in_any_thread(monkeypatch):
    monkeypatch.setenv("INCROWD_THREADS", "2")
    job, begun = Cancellable(), []

    def work(start: int, stop: int) -> None:
        check()
        begun.append(start)
        job.cancel()

    items = np.arange(0, 10_000_001, 1_000_000, dtype=np.int64)
    with running(job), pytest.raises(Cancelled):
        jit.over_ranges(work, items)
    # Those that had begun on the two cores went on to their end, and no others.
    assert 1 <= len(begun) <= 2
    with running(job), pytest.raises(Cancelled):
        jit.each_on_a_core(lambda item: work(item, item), [1, 2, 3])
    assert len(begun) <= 2
    with running(job), pytest.raises(Cancelled):
        group_codes([np.zeros(9, np.int64)], 9)


def test_rows_of_a_plan_stop_coming(tmp_path):
    job = Cancellable()
    frame = pl.LazyFrame({"age": [30, 31]})
    assert passing(frame) is frame
    with running(job):
        plan = passing(frame)
    assert plan.collect().equals(frame.collect())
    job.cancel()
    with pytest.raises(Cancelled):
        plan.sink_csv(tmp_path / "people.csv")
    with running(job), pytest.raises(Cancelled):
        engine_for(frame).count(ic.Schema(["age"]))


class Watching(Cancellable):
    """A job that is cancelled at a given look."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    @property
    def cancelled(self) -> bool:
        self.left -= 1
        if self.left < 0:
            self.cancel()
        return super().cancelled


@pytest.mark.parametrize("engine", ["memory", "files"])
def test_writing_a_release_is_given_up_and_leaves_what_was_there(tmp_path, engine, hospital_release):
    release, target = hospital_release(engine), tmp_path / "release.csv"
    target.write_text("what was there\n")
    looks = 0
    while True:
        try:
            release.write(target, force=True, progress=Watching(looks))
        except Cancelled:
            assert [path.name for path in tmp_path.iterdir()] == ["release.csv"]
            assert target.read_text() == "what was there\n"
            looks = 2 * looks + 1
        else:
            break
    assert looks > 1
    assert len(pl.read_csv(target)) == 300


@pytest.fixture
def hospital_release(tmp_path_factory):
    def made(engine: str) -> ic.Release:
        table = hospital(300).select("age", "sex")
        if engine == "files":
            path = tmp_path_factory.mktemp("table") / "people.csv"
            table.write_csv(path)
            table = ic.scan(path)
        return ic.anonymize(table, ic.Schema(["age", "sex"]), "k-anonymity:5")

    return made


def test_attacks_and_comparisons_are_given_up():
    table = hospital(300).select("age", "sex", "diagnosis")
    schema = ic.Schema(["age", "sex"], sensitive=["diagnosis"])
    release = ic.anonymize(table, schema, "k-anonymity:5")
    for verb in (
        lambda job: ic.attack(table, release.table, schema, attacks=10, progress=job),
        lambda job: ic.compare(table, schema, ["mondrian"], k=[2, 3], progress=job),
    ):
        with pytest.raises(Cancelled):
            verb(StopsLate(1))


class StopsLate(Watching):
    """A job that is cancelled during a computation, and shows nothing."""

    def stage(self, name: str) -> None:
        """Ignore a stage."""

    def advance(self, done: int, total: int) -> None:
        """Ignore the progress."""


# --- a bar in a notebook -----------------------------------------------------------------------------------


@pytest.fixture
def notebook(monkeypatch):
    """Stand in for IPython with a kernel, and return the displayed texts, a text per change."""
    texts = []
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda text, display_id: (
        texts.append(text) or types.SimpleNamespace(update=texts.append)
    )
    ipython = types.ModuleType("IPython")
    ipython.shell = types.SimpleNamespace(kernel=object())
    ipython.get_ipython = lambda: ipython.shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return types.SimpleNamespace(shown=texts, ipython=ipython)


@with_bar
def counted(rows, progress=None):
    """A job that calls another job."""
    if rows and progress:
        progress.stage("<count>")
        for row in range(rows):
            progress.advance(row, rows)
        assert counted(0) is None
    return progress


def test_a_notebook_shows_a_bar_while_a_job_runs(notebook):
    counted(200)
    assert notebook.shown[:3] == [
        "",
        "<progress max=100></progress> &lt;count&gt;",
        "<progress max=100 value=0></progress> &lt;count&gt; 0 %",
    ]
    # One word a percent, none of the inner job, and nothing is left.
    assert len(notebook.shown) == 3 + 99 + 1
    assert notebook.shown[-1] == ""


def test_the_bar_goes_away_where_the_job_fails(notebook):
    with pytest.raises(TypeError):
        counted("no number")
    assert notebook.shown[-1] == ""
    assert counted(0) is not None


def test_no_bar_is_shown_without_a_notebook_or_beside_another_progress(notebook):
    mine = Silent()
    assert counted(3, progress=mine) is mine
    notebook.ipython.shell.kernel = None
    assert counted(3) is None
    notebook.ipython.shell = None
    assert counted(3) is None
    assert notebook.shown == []


def test_the_verbs_show_it(notebook):
    ic.anonymize(hospital(50), hospital_policy())
    assert any("search" in text for text in notebook.shown)
