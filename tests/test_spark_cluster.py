"""On a real cluster, of which a worker is killed in the middle, a job ends right or leaves nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


def driver(running, source: Path, target: Path, blocks: str, slow: float) -> subprocess.Popen[str]:
    log = (running.folder / f"driver-{target.parent.name}.log").open("w")
    process = subprocess.Popen(
        [
            sys.executable,
            str(Path(__file__).parent / "spark_driver.py"),
            running.master,
            str(source),
            str(target),
            blocks,
            str(slow),
        ],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env=os.environ
        | {"PYTHONPATH": SOURCES, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    log.close()
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    assert said == "ready", Path(log.name).read_text()[-3000:]
    return process


def outcome(process: subprocess.Popen[str]) -> dict:
    try:
        out, _ = process.communicate(timeout=240)
    finally:
        process.kill()
    return json.loads(out.strip().splitlines()[-1])


def settled(said: dict, target: Path) -> None:
    """The job ended right and the whole release is there, or it failed and nothing is."""
    left = [path.name for path in target.parent.iterdir() if path.name != target.name + ".begun"]
    if "error" in said:
        assert said["error"] == "TableError"
        assert left == []
        return
    assert left == [target.name]
    made = pl.read_parquet(target / "*.parquet")
    assert sorted(made["id"]) == list(range(ROWS))
    assert ic.assess(made, schema(), MODELS).holds


@pytest.mark.parametrize("blocks", ["", "4"])
def test_two_workers(running, source, tmp_path, blocks):
    target = tmp_path / "out"
    said = outcome(driver(running, source, target, blocks, 0))
    assert said["rows"] == ROWS
    settled(said, target)
    whole = pl.read_parquet(source / "*.parquet").sort("id")
    known = ic.Mondrian() if blocks else ic.Optimal()
    one = ic.anonymize(whole, schema(), MODELS, known, max_suppression=0.1)
    assert said["ncp"] == pytest.approx(one.utility["ncp"].value, rel=0.1 if blocks else 1e-12)
    if not blocks:
        assert pl.read_parquet(target / "*.parquet").sort("id").equals(one.table)


@pytest.mark.parametrize("moment", ["counting", "writing"])
def test_a_worker_is_killed(running, source, tmp_path, moment):
    target = tmp_path / "out"
    process = driver(running, source, target, "4" if moment == "counting" else "", 0.5)
    sign = "out.begun" if moment == "counting" else ".out.*.tmp/_temporary"
    until = time.monotonic() + 120
    while not list(tmp_path.glob(sign)) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    assert process.poll() is None
    assert list(tmp_path.glob(sign))
    time.sleep(0.3)
    running.kill_worker(0)
    settled(outcome(process), target)
    # The next job finds two workers again.
    lost = running.workers[0]
    lost.wait(30)
    running.workers[0] = running.start(
        "Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", running.master
    )
    running.said(running.workers[0], "Worker", r"(Successfully registered with master)")
