"""On a real cluster, of which a worker is killed in the middle, a job ends right or leaves nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd.samples import hospital
from spark_cluster import cluster
from spark_driver import MODELS, schema
from spark_session import SOURCES, require_spark

pytestmark = pytest.mark.slow

ROWS = 1200


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Rows in four files."""
    folder = tmp_path_factory.mktemp("rows")
    table = (
        hospital(ROWS, 5).select("age", "sex", "zip", "diagnosis").with_row_index("id").cast({"id": pl.Int64})
    )
    for part in range(4):
        table[part * 300 : part * 300 + 300].write_parquet(folder / f"{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    require_spark()
    with cluster(tmp_path_factory.mktemp("cluster")) as result:
        yield result


@pytest.fixture(scope="module")
def driver(running, source: Path):
    """A driver that takes jobs in sequence."""
    script = Path(__file__).parents[3] / "spark_driver.py"
    with (running.folder / "driver.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, str(script), running.master, str(source)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=os.environ
            | {"PYTHONPATH": SOURCES, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
    yield process
    process.kill()
    process.communicate()


def said(running, driver: subprocess.Popen[str]) -> dict:
    """The outcome of the next release."""
    line = driver.stdout.readline()
    assert line, (running.folder / "driver.log").read_text()[-3000:]
    return json.loads(line)


def settled(said: dict, target: Path) -> None:
    """The job ended right with the complete release, or failed with nothing."""
    left = [path.name for path in target.parent.iterdir() if target.name in path.name]
    if "error" in said:
        assert said["error"] == "TableError"
        assert left == []
        return
    assert left == [target.name]
    frame = pl.read_parquet(target / "*.parquet")
    assert sorted(frame["id"]) == list(range(ROWS))
    assert ic.assess(frame, schema(), MODELS).holds


@pytest.mark.parametrize(("blocks", "sign"), [(4, "flags/begun-*"), (None, ".incrowd-*.tmp/**/_temporary")])
def test_a_worker_is_killed(running, driver, source, tmp_path, blocks, sign):
    """While rows are counted for blocks, and while a full-domain release is written."""
    flags = tmp_path / "flags"
    flags.mkdir()
    # A cluster that gives no answer is a failure, too.
    patience = threading.Timer(400, driver.kill)
    patience.start()
    try:
        driver.stdin.write(json.dumps({"folder": str(tmp_path), "blocks": blocks}) + "\n")
        driver.stdin.flush()
        first = said(running, driver)
        # A worker is in the middle of a partition, and waits there.
        until = time.monotonic() + 100
        while not (begun := list(flags.iterdir())) and driver.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        assert list(tmp_path.glob(sign))
        killed = running.worker_of(int(begun[0].name.removeprefix("begun-")))
        running.kill_worker(killed)
        (flags / "killed").touch()
        second = said(running, driver)
    finally:
        patience.cancel()
    settled(first, tmp_path / "first")
    settled(second, tmp_path / "second")
    # A worker is enough to end the job, so that it has to; what is lost is made again.
    assert second == pytest.approx(first)
    whole = pl.read_parquet(source / "*.parquet").sort("id")
    known = ic.Mondrian() if blocks else ic.Optimal()
    one = ic.anonymize(
        whole, schema(), MODELS, known, max_suppression=0.1, suppressed="keep", unanswered="write"
    )
    assert first["ncp"] == pytest.approx(one.utility["ncp"].value, rel=0.1 if blocks else 1e-12)
    if not blocks:
        assert pl.read_parquet(tmp_path / "first" / "*.parquet").sort("id").equals(one.table)
    # The next job finds two workers again.
    running.workers[killed].wait(30)
    running.workers[killed] = running.add_worker()
