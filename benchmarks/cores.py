"""Which stages of a job use a second core: seconds on one and on two, and the share that runs on both.

``python benchmarks/cores.py --millions 10 --data DIR`` anonymizes the table of `billion.py` in memory and
as files, by Mondrian and by the optimal search, pinned to one core and to two. The share is Amdahl's: a
stage that takes t1 seconds on one core and t2 on two has a share of 2 (1 - t2 / t1) that runs on both. A
stage is marked that takes over a tenth of its job and has less than a quarter.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import incrowd as ic
from billion import make, schema

WAYS = ("memory", "files")
LARGE, SMALL = 0.1, 0.25


def job(way: str, algorithm: str, *paths: str) -> None:
    """Anonymize and write some files in this process, and print the seconds of each stage as JSON."""
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        table = pl.read_parquet(list(paths)) if way == "memory" else ic.scan(Path(paths[0]).parent)
        seconds = {"read": time.perf_counter() - start}
        release = ic.anonymize(
            table, schema(), [ic.KAnonymity(10)], algorithm, max_suppression=0.01, unanswered="write"
        )
        seconds |= release.seconds
        start = time.perf_counter()
        release.write(Path(out) / ("safe" if way == "files" else "safe.parquet"))
        seconds["write"] = time.perf_counter() - start
    print(json.dumps(seconds))


def pinned(cores: int, repeat: int, *words: str) -> dict[str, float]:
    """Return the median seconds of each stage in processes that have some cores."""
    command = [sys.executable, __file__, "--job", *words]
    runs = [
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, set(range(cores))),
        )
        for _ in range(repeat)
    ]
    found = [json.loads(each.stdout.splitlines()[-1]) for each in runs]
    return {stage: statistics.median(each[stage] for each in found) for stage in found[0]}


def show(name: str, one: dict[str, float], two: dict[str, float]) -> None:
    """Print the stages of a job."""
    whole = sum(two.values())
    print(f"{name}: {sum(one.values()):.2f} s on one core, {whole:.2f} s on two")
    for stage, alone in one.items():
        share = min(max(2 * (1 - two[stage] / alone), 0), 1) if alone else 0.0
        mark = "  one core" if two[stage] > LARGE * whole and share < SMALL else ""
        print(f"  {stage:10} {alone:8.2f} {two[stage]:8.2f}   on both {share:4.0%}{mark}", flush=True)


def main() -> None:
    """Run every job on one core and on two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, default=10)
    parser.add_argument("--table", default="tail", choices=("sample", "tail"))
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--algorithms", nargs="*", default=["mondrian", "optimal"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--data", required=True, help="where the rows are, or will be")
    asked = parser.parse_args()
    paths = make(Path(asked.data) / "cores", asked.table, asked.millions)
    for algorithm in asked.algorithms:
        for way in asked.ways:
            words = (way, algorithm, *map(str, paths))
            one, two = (pinned(cores, asked.repeat, *words) for cores in (1, 2))
            show(f"{asked.millions} million rows of {asked.table}, {algorithm}, {way}", one, two)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        job(*sys.argv[2:])
    else:
        main()
