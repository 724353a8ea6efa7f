"""Which stages of a job use more cores: seconds on 1, 2, 4, ... of them, and how long only one was busy.

``python benchmarks/cores.py --cores 1,2,4,8,16 --millions 10 --data DIR`` anonymizes the table of
`billion.py` in memory and as files, by Mondrian and by the optimal search, pinned to so many cores. For each
stage it prints the seconds, the share that runs on all cores, and for how long one core alone was busy:

- The share is Amdahl's. If a stage takes t1 seconds on one core and tn on n cores, it is
  (1 - tn / t1) / (1 - 1 / n).
- The time of one core is sampled on the largest number of cores: every 10 ms, was more than one core and a
  quarter busy?

A stage is marked that takes over a tenth of its job and has a share of less than a quarter.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import polars as pl

import incrowd as ic
from billion import make, schema

WAYS = ("memory", "files")
LARGE, SMALL = 0.1, 0.25
STEP, BUSY = 0.01, 1.25
Figures = dict[str, list[float]]
"""Seconds of each stage, and for how many of these one core at most was busy."""


class Busy(threading.Thread):
    """Samples the time of all processors of this process while it works."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.samples: list[tuple[float, float]] = []

    def run(self) -> None:
        """Sample until the process ends."""
        while True:
            self.samples.append((time.perf_counter(), time.process_time()))
            time.sleep(STEP)

    def alone(self, start: float, stop: float) -> float:
        """Return for how many seconds between two times one core at most was busy."""
        within = [each for each in self.samples if start <= each[0] <= stop]
        pairs = zip(within, within[1:], strict=False)
        return sum(after[0] - before[0] for before, after in pairs if _rate(before, after) < BUSY)


def _rate(before: tuple[float, float], after: tuple[float, float]) -> float:
    return (after[1] - before[1]) / max(after[0] - before[0], 1e-9)


def job(way: str, algorithm: str, *paths: str) -> None:
    """Anonymize and write some files in this process, and print the figures of each stage as JSON."""
    busy, found = Busy(), {}
    busy.start()

    def add(stage: str, start: float, stop: float) -> None:
        found[stage] = [stop - start, busy.alone(start, stop)]

    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        table = pl.read_parquet(list(paths)) if way == "memory" else ic.scan(Path(paths[0]).parent)
        add("read", start, time.perf_counter())
        begun = time.perf_counter()
        release = ic.anonymize(
            table, schema(), [ic.KAnonymity(10)], algorithm, max_suppression=0.01, unanswered="write"
        )
        # Stages follow each other.
        for stage, seconds in release.seconds.items():
            add(stage, begun, begun + seconds)
            begun += seconds
        start = time.perf_counter()
        release.write(Path(out) / ("safe" if way == "files" else "safe.parquet"))
        add("write", start, time.perf_counter())
    print(json.dumps(found))


def pinned(cores: int, repeat: int, *words: str) -> Figures:
    """Return the median figures of each stage in processes that have some cores."""
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
    return {
        stage: [statistics.median(each[stage][place] for each in found) for place in (0, 1)]
        for stage in found[0]
    }


def show(name: str, figures: dict[int, Figures]) -> None:
    """Print the stages of a job."""
    least, most = min(figures), max(figures)
    whole = {cores: sum(seconds for seconds, _ in stages.values()) for cores, stages in figures.items()}
    print(f"{name}: {whole[least] / whole[most]:.1f} times as fast on {most} as on {least}")
    print(f"  {'cores':10}" + "".join(f"{cores:8}" for cores in figures) + "   on all  one core, s")
    for stage, (alone, _) in figures[least].items():
        seconds, single = figures[most][stage]
        spare = 1 - least / most
        share = min(max((1 - seconds / alone) / spare, 0), 1) if alone and spare else 0.0
        mark = "  one core" if spare and seconds > LARGE * whole[most] and share < SMALL else ""
        row = "".join(f"{stages[stage][0]:8.2f}" for stages in figures.values())
        print(f"  {stage:10}{row}   {share:5.0%} {single:11.2f}{mark}")
    print(f"  {'whole':10}" + "".join(f"{seconds:8.2f}" for seconds in whole.values()), flush=True)


def main() -> None:
    """Run every job on each number of cores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", default="1,2", help="numbers of cores, as 1,2,4")
    parser.add_argument("--millions", type=int, default=10)
    parser.add_argument("--table", default="tail", choices=("sample", "tail"))
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--algorithms", nargs="*", default=["mondrian", "optimal"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--data", required=True, help="where the rows are, or will be")
    asked = parser.parse_args()
    there = len(os.sched_getaffinity(0))
    cores = sorted({int(each) for each in asked.cores.split(",")})
    if cores[-1] > there:
        print(f"this machine has {there} cores, so larger numbers are left out")
        cores = [each for each in cores if each <= there]
    paths = make(Path(asked.data) / "cores", asked.table, asked.millions)
    for algorithm in asked.algorithms:
        for way in asked.ways:
            words = (way, algorithm, *map(str, paths))
            figures = {each: pinned(each, asked.repeat, *words) for each in cores}
            show(f"{asked.millions} million rows of {asked.table}, {algorithm}, {way}", figures)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        job(*sys.argv[2:])
    else:
        main()
