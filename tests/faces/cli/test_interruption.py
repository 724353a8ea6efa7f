"""Ctrl-C and SIGTERM while compiled code, a query or a pool of threads computes for hours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

import incrowd as ic
from database_tables import statement

# What `incrowd assess` does in these runs: make a private folder, say so, and compute without an end.
BUSY = """
import sys, tempfile
import incrowd.release.jobs.measure.assess
from incrowd.faces.cli import main
from incrowd.core.kernels.jit import compiled, over_ranges
import numpy as np

@compiled
def spin(start, stop):
    total = 0
    while stop > total - 1:
        total = (total + start) % 7
    return total

def kernel():
    return spin(0, 10)

def threads():
    return over_ranges(spin, np.arange(0, 1_000_000, 10_000, dtype=np.int64))

def query():
    import duckdb
    return duckdb.connect().execute("SELECT max(hash(a.range, b.range)) FROM range(10**9) a, range(10**9) b").fetchall()

def frame():
    import polars as pl
    # From every A to the end and back: the time grows with the square of the length.
    return pl.Series(["A" * 10_000_000] * 4).str.count_matches(".*[^A-Z]|[A-Z]")

def swallowed():
    while True:
        try:
            kernel()
        except BaseException:
            pass

def assess(*arguments, **settings):
    with tempfile.TemporaryDirectory(prefix="incrowd-"):
        spin(0, -1)
        print("now", flush=True)
        WORK()

incrowd.release.jobs.measure.assess.assess = assess
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "number", "word"),
    [
        pytest.param("kernel", signal.SIGINT, "interrupted", marks=pytest.mark.slow),
        pytest.param("threads", signal.SIGTERM, "terminated", marks=pytest.mark.slow),
        ("query", signal.SIGINT, "interrupted"),
        pytest.param("frame", signal.SIGTERM, "terminated", marks=pytest.mark.slow),
        pytest.param("swallowed", signal.SIGTERM, "terminated", marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_any_run_and_leaves_nothing_behind(tmp_path, work, number, word):
    script = tmp_path / "busy.py"  # a file, so that its kernel can be kept beside it
    script.write_text(BUSY.replace("WORK", work))
    table = tmp_path / "people.csv"
    table.write_text("age\n" + "30\n" * 9)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), "assess", str(table), "--qi", "age"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(scratch), "INCROWD_THREADS": "2"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    assert any(scratch.iterdir())
    process.send_signal(number)
    began = time.monotonic()
    _, errors = process.communicate(timeout=60)
    # One second of grace, and what a busy machine needs on top.
    assert time.monotonic() - began < 20
    assert process.returncode == 128 + number
    assert errors == f"incrowd: {word} before it was done\n"
    assert list(scratch.iterdir()) == []


def sleeping(url, wanted: int, seconds: float) -> int:
    """Count the queries that sleep on the server, once the count is as high as wanted."""
    end = time.monotonic() + seconds
    while True:
        (row,) = statement(url, "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
        if row["n"] == wanted or time.monotonic() > end:
            return row["n"]
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "numbers", "word"),
    [
        ("assess", [signal.SIGINT], "interrupted"),
        ("assess", [signal.SIGTERM], "terminated"),
        ("assess", [signal.SIGTERM, signal.SIGTERM], "terminated"),
        ("anonymize", [signal.SIGTERM], "terminated"),
        ("verify", [signal.SIGINT], "interrupted"),
        ("verify", [signal.SIGTERM, signal.SIGTERM], "terminated"),
    ],
)
def test_a_signal_cancels_what_a_server_computes(postgres, tmp_path, command, numbers, word):
    statement(
        postgres, "DROP VIEW IF EXISTS slow",
        "CREATE VIEW slow AS SELECT n::text AS q FROM pg_sleep(300), generate_series(1, 9) AS n",
    )  # fmt: skip
    scratch, policy = tmp_path / "scratch", tmp_path / "policy.toml"
    scratch.mkdir()
    policy.write_text("version = 1\n[columns.q]\nrole = 'quasi'\n[[models]]\nmodel = 'k-anonymity'\nk = 2\n")
    target = ["-o", str(scratch / "safe.csv")] if command == "anonymize" else []
    process = subprocess.Popen(
        [sys.executable, "-m", "incrowd", command, postgres, "--table", "slow", "--policy", str(policy), *target],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    try:
        assert sleeping(postgres, 1, 60) == 1
        for number in numbers:
            process.send_signal(number)
        began = time.monotonic()
        _, errors = process.communicate(timeout=60)
        assert time.monotonic() - began < 20
        assert (process.returncode, errors) == (128 + numbers[0], f"incrowd: {word} before it was done\n")
        assert sleeping(postgres, 0, 10) == 0
        assert list(scratch.iterdir()) == []
    finally:
        process.kill()
        statement(
            postgres,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
        )


@pytest.mark.slow
def test_a_second_signal_at_the_very_end_changes_nothing(tmp_path):
    """The second signal comes after the run's end, and a called process has no handlers."""
    (tmp_path / "people.csv").write_text("age\n30\n30\n")
    code = (
        "import os, signal, sys, time\n"
        "import incrowd.release.jobs.measure.assess as job\n"
        "from incrowd.faces.cli.interruption import Interruption\n"
        "real = Interruption.stop\n"
        "def stop(self):\n"
        "    real(self)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "Interruption.stop = stop\n"
        "def slow(*a, **k):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(30)\n"
        "job.assess = slow\n"
        "from incrowd.faces.cli import main\n"
        "main()\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, "assess", "people.csv", "--qi", "age"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stderr) == (143, "incrowd: terminated before it was done\n")


def test_ctrl_c_in_python_gives_up_the_question_and_frees_the_session(postgres, request):
    # A shell that starts a run in the background has it ignore the signal.
    request.addfinalizer(partial(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT)))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    slow = ("DROP VIEW IF EXISTS slow", "CREATE VIEW slow AS SELECT 'a' AS q FROM pg_sleep(300)")
    statement(postgres, *slow, "DROP TABLE IF EXISTS quick", "CREATE TABLE quick AS SELECT 'b' AS q")

    def interrupt() -> None:
        if sleeping(postgres, 1, 60) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with ic.Database(postgres) as database:
        other = threading.Thread(target=interrupt)
        other.start()
        with pytest.raises(KeyboardInterrupt):
            ic.assess(database.table("slow"), ic.Schema(["q"]))
        other.join()
        assert sleeping(postgres, 0, 10) == 0
        assert ic.assess(database.table("quick"), ic.Schema(["q"])).records == 1


SLOW = """
import os, signal, sys, threading, time
from incrowd.faces.cli import interruption, main
from incrowd.core.io.placing import Step
from incrowd.core.io.targets import Outputs

interruption._GRACE = 0.05
put, leave = Step.put, Outputs.__exit__

def slow(step):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.5)
    put(step)

def elsewhere(outputs, *error):
    thread = threading.Thread(target=leave, args=(outputs, *error), daemon=True)
    thread.start()
    thread.join()

Step.put = slow
if sys.argv.pop(1) == "elsewhere":
    Outputs.__exit__ = elsewhere
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["main", "elsewhere"])
def test_the_end_of_grace_waits_until_files_and_entry_are_there(tmp_path, where):
    (tmp_path / "people.csv").write_text("age\n" + "30\n" * 9)
    (tmp_path / "policy.toml").write_text(
        "version = 1\ncolumns.age = { role = 'quasi' }\nmodels = [{ model = 'k-anonymity', k = 2 }]\n"
    )
    book = ic.Ledger.init(tmp_path / "book")
    call = "anonymize people.csv --policy policy.toml -o out.csv --save-policy p.toml --unanswered write"
    process = subprocess.run(
        [sys.executable, "-c", SLOW, where, *call.split(), "--ledger", "book", "--recipient", "A"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 143
    # The thread that ends the process and the one that says what is private may print in either order.
    assert "incrowd: terminated when its files were written" in process.stderr.splitlines()
    assert {path.name for path in tmp_path.iterdir()} == {
        "people.csv", "policy.toml", "book", "out.csv", "p.toml"
    }  # fmt: skip
    assert len(book.entries) == 1
