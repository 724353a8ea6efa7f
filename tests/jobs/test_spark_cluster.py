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
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def driver(running, source: Path, folder: Path, blocks: str, slow: float) -> subprocess.Popen[str]:
    script = Path(__file__).parents[1] / "spark_driver.py"
    with (running.folder / f"driver{blocks}.log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, str(script), running.master, str(source), str(folder), blocks, str(slow)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=os.environ
            | {"PYTHONPATH": SOURCES, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        )


def settled(said: dict, target: Path) -> None:
    """The job ended right and the whole release is there, or it failed and nothing is."""
    left = [path.name for path in target.parent.iterdir() if target.name in path.name]
    left = [name for name in left if not name.endswith(".begun")]
    if "error" in said:
        assert said["error"] == "TableError"
        assert left == []
        return
    assert left == [target.name]
    made = pl.read_parquet(target / "*.parquet")
    assert sorted(made["id"]) == list(range(ROWS))
    assert ic.assess(made, schema(), MODELS).holds


@pytest.mark.parametrize(("blocks", "sign"), [("4", "second.begun"), ("", ".incrowd-*.tmp/**/_temporary")])
def test_a_worker_is_killed(running, source, tmp_path, blocks, sign):
    """While rows are counted for blocks, and while a full-domain release is written."""
    process = driver(running, source, tmp_path, blocks, 0.5)
    # A cluster that gives no answer is a failure, too.
    patience = threading.Timer(400, process.kill)
    patience.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (running.folder / f"driver{blocks}.log").read_text()[-3000:]
        first = json.loads(line)
        until = time.monotonic() + 120
        while not list(tmp_path.glob(sign)) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        assert list(tmp_path.glob(sign))
        assert process.poll() is None
        time.sleep(0.3)
        running.kill_worker(0)
        out, _ = process.communicate(timeout=240)
    finally:
        patience.cancel()
        process.kill()
        process.wait()
    second = json.loads(out.strip().splitlines()[-1])
    settled(first, tmp_path / "first")
    settled(second, tmp_path / "second")
    # A worker is enough to end the job, so that it has to; what is lost is made again.
    assert second == pytest.approx(first)
    whole = pl.read_parquet(source / "*.parquet").sort("id")
    known = ic.Mondrian() if blocks else ic.Optimal()
    one = ic.anonymize(whole, schema(), MODELS, known, max_suppression=0.1)
    assert first["ncp"] == pytest.approx(one.utility["ncp"].value, rel=0.1 if blocks else 1e-12)
    if not blocks:
        assert pl.read_parquet(tmp_path / "first" / "*.parquet").sort("id").equals(one.table)
    # The next job finds two workers again.
    running.workers[0].wait(30)
    running.workers[0] = running.add_worker()
