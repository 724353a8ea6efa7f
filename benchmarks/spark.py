"""Mondrian on Spark beside Mondrian in memory: seconds, mean NCP, what the driver fetches and holds.

``python benchmarks/spark.py [--rows N] [--blocks 1 4 8 16]``; starting Spark is not counted, the first run of
each way, in which workers start and load what was compiled, is shown apart.

``python benchmarks/spark.py --first 5000 100000 1000000`` measures the first job of a session with Spark's
own settings instead, as a nightly job is: a fresh process for each number of rows. It prints jobs and tasks.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

import incrowd as ic
from engines import Peak
from incrowd.engines import spark as engine
from incrowd.samples import hospital
from mondrian import FIVE_NUMBERS, schema_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from spark_jobs import jobs_of

FETCHED = {"bytes": 0, "rows": 0}


def watch_fetching() -> None:
    """Add up what comes to the driver, as it lies in memory."""
    from incrowd.engines.spark import fetching
    from incrowd.release.jobs.make.distributed import blocks, check

    def counting(fetch: Callable[[Any], pl.DataFrame]) -> Callable[[Any], pl.DataFrame]:
        def counted(frame: Any) -> pl.DataFrame:
            found = fetch(frame)
            FETCHED["bytes"] += int(found.estimated_size())
            FETCHED["rows"] += len(found)
            return found

        return counted

    engine.fetch_compact = counting(engine.fetch_compact)
    fetching.to_polars = counting(fetching.to_polars)
    blocks.to_polars = counting(blocks.to_polars)
    check.to_polars = counting(check.to_polars)


def held() -> float:
    """Return the memory that this process, the Python side of the driver, holds, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(name: str, repeat: int, work: Callable[[], Any]) -> dict[str, Any]:
    """Run once and then several times: seconds, what was fetched in one run, and the release's figures."""
    seconds, stages = [], []
    peak = Peak(held, 0.02)
    for number in range(repeat + 1):
        FETCHED.update(bytes=0, rows=0)
        gc.collect()
        start = time.perf_counter()
        with peak:
            release = work()
        seconds.append(time.perf_counter() - start)
        stages.append(release.seconds)
        if number < repeat and hasattr(release, "unpersist"):
            release.unpersist()
    figures = {
        "way": name,
        "first": seconds[0],
        "seconds": statistics.median(seconds[1:]),
        "stages": {stage: statistics.median(run[stage] for run in stages[1:]) for stage in stages[-1]},
        "ncp": release.utility["ncp"].value,
        "classes": release.privacy.classes,
        "smallest": release.privacy.smallest,
        "fetched_mib": FETCHED["bytes"] / 2**20,
        "fetched_rows": FETCHED["rows"],
        "driver_mib": peak.most,
    }
    if hasattr(release, "unpersist"):
        figures["blocks"] = release.blocks
        figures["largest_block"] = release.sizes[0]
        release.unpersist()
    print(json.dumps(figures), file=sys.stderr, flush=True)
    return figures


def in_files(rows: int, folder: str) -> None:
    """Write the rows as four Parquet files."""
    made = hospital(rows).with_columns(zip_number=pl.col("zip").cast(pl.Int64)).select(list(FIVE_NUMBERS))
    parts = 4
    size = -(-len(made) // parts)
    for part in range(parts):
        made[part * size : (part + 1) * size].write_parquet(f"{folder}/{part}.parquet")


def session_of(cores: int, **settings: str) -> Any:
    """Start Spark on some cores, with its own settings but for those that are given."""
    from pyspark.sql import SparkSession

    warnings.simplefilter("ignore")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def processor_seconds(process: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_job(rows: int, cores: int) -> dict[str, Any]:
    """Anonymize and write some rows in this process, the first that its session is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rows").mkdir()
        in_files(rows, f"{folder}/rows")
        session = session_of(cores)
        table = session.read.parquet(f"{folder}/rows")
        java = session.sparkContext._gateway.proc.pid
        figures: dict[str, Any] = {"rows": rows}
        made: list[Any] = []
        for name, work in (
            (
                "anonymize",
                lambda: ic.anonymize(table, schema_of(FIVE_NUMBERS), [ic.KAnonymity(5)], unanswered="write"),
            ),
            ("write", lambda: made[0].write(f"{folder}/made")),
        ):
            start, before = time.perf_counter(), processor_seconds(java) + time.process_time()
            with jobs_of(session) as asked:
                made.append(work())
                seconds = time.perf_counter() - start
                busy = processor_seconds(java) + time.process_time() - before
            figures[name] = {"seconds": seconds, "busy": busy, "jobs": asked.jobs, "tasks": asked.tasks}
        session.stop()
    return figures


def show_first_jobs(sizes: list[int], cores: int) -> list[dict[str, Any]]:
    """Measure first jobs, each in a process of its own, and print them."""
    figures = []
    shown = Table(title=f"the first job of a stock session, 5 numeric QIs, k=5, on {cores} cores")
    for name in ("rows", "", "seconds", "processor s", "jobs", "tasks"):
        shown.add_column(name, justify="right")
    for rows in sizes:
        command = [sys.executable, __file__, "--alone", str(rows), "--cores", str(cores)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        figures.append(found)
        for name in ("anonymize", "write"):
            part = found[name]
            shown.add_row(
                f"{rows:,}", name, f"{part['seconds']:.1f}", f"{part['busy']:.1f}", str(part["jobs"]),
                str(part["tasks"]),
            )  # fmt: skip
    Console(width=120).print(shown)
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--blocks", type=int, nargs="*", default=[1, 2, 4, 8, 16, 64])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--without", nargs="*", default=[], choices=["memory", "keys"])
    parser.add_argument("--first", type=int, nargs="*", help="measure first jobs of so many rows instead")
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, help="also write the figures there")
    asked = parser.parse_args()
    if asked.alone:
        print(json.dumps(first_job(asked.alone, asked.cores)))
        return
    if asked.first:
        first = show_first_jobs(asked.first, asked.cores)
        if asked.json:
            asked.json.write_text(json.dumps(first, indent=1) + "\n")
        return
    session = session_of(
        asked.cores, spark_ui_enabled="false", spark_ui_showConsoleProgress="false", spark_driver_memory="2g"
    )
    watch_fetching()
    schema, models = schema_of(FIVE_NUMBERS), [ic.KAnonymity(5)]
    with tempfile.TemporaryDirectory() as folder:
        in_files(asked.rows, folder)
        table = session.read.parquet(folder)
        ways: list[tuple[str, Callable[[], Any]]] = []
        if "memory" not in asked.without:
            ways.append(
                (
                    "in memory",
                    lambda: ic.anonymize(
                        pl.read_parquet(f"{folder}/*.parquet"), schema, models, unanswered="write"
                    ),
                )
            )
        if "keys" not in asked.without:
            ways.append(
                ("Spark, keys on the driver", lambda: ic.anonymize(table, schema, models, unanswered="write"))
            )
        ways += [
            (
                f"Spark, blocks={blocks}",
                lambda blocks=blocks: ic.anonymize(table, schema, models, blocks=blocks, unanswered="write"),
            )
            for blocks in asked.blocks
        ]
        figures = [measure(name, asked.repeat, work) for name, work in ways]
    session.stop()
    shown = Table(
        title=f"{asked.rows:,} rows, 5 numeric QIs, k=5; medians of {asked.repeat} on {asked.cores} cores"
    )
    for name in ("", "first s", "seconds", "mean NCP", "classes", "fetched MiB", "driver MiB", "stages"):
        shown.add_column(name, justify="left" if name in ("", "stages") else "right")
    for row in figures:
        shown.add_row(
            row["way"], f"{row['first']:.2f}", f"{row['seconds']:.2f}", f"{row['ncp']:.5f}",
            f"{row['classes']:,}", f"{row['fetched_mib']:.1f}", f"{row['driver_mib']:.0f}",
            " ".join(f"{stage} {seconds:.2f}" for stage, seconds in row["stages"].items()),
        )  # fmt: skip
    Console(width=200).print(shown)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"the most memory of the driver's Python process: {most:,.0f} MiB")
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
