"""The same job on every engine: seconds and the most memory, each way in a process of its own.

``python benchmarks/engines.py`` makes folders of Parquet files, a million rows each, and anonymizes 1 and 20
million rows in memory, as a lazy Polars frame, as files out of core, and on Spark (where it is installed).
``--assess 200`` assesses 200 million rows out of core besides. ``--data DIR`` keeps the rows for next time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

import incrowd as ic
from incrowd.samples import hospital

QUASI = ["age", "sex", "region", "marital_status", "admission_type", "year", "quarter", "stay"]
SENSITIVE = "chapter"
WAYS = ("memory", "lazy", "files", "spark")
ALGORITHMS = {
    "mondrian": ic.Mondrian(),
    "optimal": ic.Optimal(),
}


def schema() -> ic.Schema:
    """Return eight quasi-identifiers, three of them with a hierarchy, and one sensitive attribute."""
    trees = {
        "age": ic.Hierarchy.intervals(5, 10, 20, 40),
        "region": ic.Hierarchy.prefix(),
        "stay": ic.Hierarchy.intervals(2, 4, 8),
    }
    return ic.Schema(quasi={name: trees.get(name) for name in QUASI}, sensitive=[SENSITIVE])


def make(folder: Path, millions: int) -> None:
    """Write files of a million rows each, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(millions):
        path = folder / f"{part:04}.parquet"
        if path.exists():
            continue
        date = pl.col("admission_date").dt
        hospital(1_000_000, part).select(
            "age",
            "sex",
            pl.col("zip").str.slice(0, 3).alias("region"),
            "marital_status",
            "admission_type",
            date.year().cast(pl.Int32).alias("year"),
            date.quarter().cast(pl.Int32).alias("quarter"),
            pl.min_horizontal("length_of_stay", 14).cast(pl.Int32).alias("stay"),
            pl.col("diagnosis").str.slice(0, 1).alias(SENSITIVE),
        ).write_parquet(path)


# --- one way, in a process of its own --------------------------------------------------------------


def job(folder: str, millions: str, how: str, algorithm: str, memory: str) -> None:
    """Assess, or anonymize and write, and print what it took as JSON."""
    paths = [f"{folder}/{part:04}.parquet" for part in range(int(millions))]
    with Peak() as peak, tempfile.TemporaryDirectory() as out:
        figures: dict[str, Any] = {}
        if how == "spark":
            start = time.perf_counter()
            session = spark_session()
            figures["session"] = time.perf_counter() - start
        start = time.perf_counter()
        if how == "memory":
            table: Any = pl.read_parquet(paths)
        elif how == "lazy":
            table = pl.scan_parquet(paths)
        elif how == "files":
            chosen = Path(out) / "in"
            chosen.mkdir()
            for path in paths:
                (chosen / Path(path).name).symlink_to(Path(path).resolve())
            table = ic.scan(chosen, memory=memory)
        else:
            table = session.read.parquet(*paths)
        figures["read"] = time.perf_counter() - start
        start = time.perf_counter()
        if algorithm == "assess":
            found = ic.assess(table, schema())
            figures |= {"assess": time.perf_counter() - start, "keys": found.classes, "rows": found.records}
        else:
            release = ic.anonymize(
                table,
                schema(),
                [ic.KAnonymity(10)],
                ALGORITHMS[algorithm],
                max_suppression=0.01,
                driver_keys=20_000_000,
                unanswered="write",
            )
            figures["anonymize"] = time.perf_counter() - start
            figures |= {f"- {stage}": seconds for stage, seconds in release.seconds.items()}
            start = time.perf_counter()
            release.write(Path(out) / ("safe" if how in ("files", "spark") else "safe.parquet"))
            figures["write and check"] = time.perf_counter() - start
            figures |= {
                "keys": release.frequency.keys,
                "classes": release.privacy.classes,
                "loss": release.utility["loss"].value,
                "sum of rows": _fingerprint(Path(out)),
            }
    figures["GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if how == "spark":
        figures["GiB with Java"] = peak.most / 2**30
    print(json.dumps(figures))


def _fingerprint(out: Path) -> int:
    """Add the rows up, whatever their order."""
    written = [str(path) for path in out.rglob("*.parquet") if "in" not in path.relative_to(out).parts[:1]]
    rows = pl.scan_parquet(written).select(pl.struct(pl.all()).hash().sum())
    return int(rows.collect(engine="streaming").item())


def spark_session() -> Any:
    """Start Spark on two cores."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "6g")
        .config("spark.driver.maxResultSize", "4g")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


class Peak:
    """The largest of a figure that is looked at again and again in a thread.

    Parameters
    ----------
    measure
        Returns the figure; by default the bytes of this process and its children.
    every
        Seconds between two looks.
    """

    def __init__(self, measure: Callable[[], float] = lambda: resident("self"), every: float = 0.1) -> None:
        self._measure, self._every = measure, every
        self.most = 0.0

    def __enter__(self) -> Peak:
        self.most = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(self._every):
            self.most = max(self.most, self._measure())


def resident(process: str) -> int:
    """Return the bytes of memory that a process and its children hold."""
    total = 0
    with suppress(OSError, ValueError, IndexError):
        status = Path(f"/proc/{process}/status").read_text()
        total = int(status.split("VmRSS:")[1].split()[0]) * 1024
        own = status.split("\nPid:")[1].split()[0]
        called = Path(f"/proc/{own}/cmdline").read_text()
        for child in Path(f"/proc/{own}/task").glob("*/children"):
            for number in child.read_text().split():
                # Before a child becomes another program it has its parent's memory, which is there once.
                if Path(f"/proc/{number}/cmdline").read_text() != called:
                    total += resident(number)
    return total


# --- all ways ---------------------------------------------------------------------------------------


def main() -> None:
    """Make the rows, and run every way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, nargs="*", default=[1, 20], help="rows to anonymize")
    parser.add_argument("--assess", type=int, default=0, help="millions of rows to assess out of core")
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--algorithms", nargs="*", default=["mondrian", "optimal"])
    parser.add_argument("--memory", default="4GiB", help="for files out of core")
    parser.add_argument("--data", help="where the rows are, or will be")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(asked.data or passing)
        make(folder, max([*asked.millions, asked.assess]))
        for millions in asked.millions:
            for algorithm in asked.algorithms:
                for how in asked.ways:
                    if how == "spark" and find_spec("pyspark") is None:
                        continue
                    _show(folder, millions, how, algorithm, asked.memory)
        if asked.assess:
            _show(folder, asked.assess, "files", "assess", asked.memory)


def _show(folder: Path, *job: object) -> None:
    millions, how, algorithm, _ = job
    command = [sys.executable, __file__, "--job", str(folder), *map(str, job)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    print(f"{millions} million rows, {algorithm}, {how}")
    for name, value in json.loads(found.stdout.splitlines()[-1]).items():
        print(f"  {name:20} {value:24,.3f}" if isinstance(value, float) else f"  {name:20} {value:24,}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        job(*sys.argv[2:])
    else:
        main()
