"""Ctrl-C and SIGTERM while compiled code, a query or a pool of threads computes for hours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

# What `incrowd assess` does in these runs: make a private folder, say so, and compute without an end.
BUSY = """
import sys, tempfile
import incrowd.assessment
from incrowd.cli import main
from incrowd.kernels.jit import compiled, over_ranges
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

incrowd.assessment.assess = assess
main()
"""


@pytest.mark.parametrize(
    ("work", "number", "word"),
    [
        ("kernel", signal.SIGINT, "interrupted"),
        ("threads", signal.SIGTERM, "terminated"),
        ("query", signal.SIGINT, "interrupted"),
        ("frame", signal.SIGTERM, "terminated"),
        ("swallowed", signal.SIGTERM, "terminated"),
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
