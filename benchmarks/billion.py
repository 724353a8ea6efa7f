"""A billion rows on one machine: seconds per stage, memory, disk, and a model of the cost.

``python benchmarks/billion.py --data DIR`` makes Parquet files of 20 million rows each, up to a billion
rows. It anonymizes them as files out of core and on Spark (``--ways``), each job in a process of its own.
There are two tables (``--tables``): `sample` repeats combinations as people do. In `tail` one row of fifty
has an exact ZIP code and day, so that its combination is nearly unique. ``--hours`` ends a job that takes
longer.

Every figure is added to ``DIR/billion.jsonl``. ``--model`` fits the cost per row, key and class to the jobs
of at most 100 million rows there, and holds the larger ones against it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic
from engines import Peak, spark_session
from incrowd.samples import hospital

QUASI = ["age", "sex", "zip", "marital_status", "admission_type", "day"]
SENSITIVE = "chapter"
PART, MILLION = 20, 1_000_000
TABLES = {"sample": 0, "tail": 50}
"""Of how many rows one is exact; 0 for none."""
STAGES = ("anonymize", "write and check")


def schema() -> ic.Schema:
    """Return six quasi-identifiers and one sensitive attribute."""
    trees = {"age": ic.Hierarchy.intervals(5, 10, 20, 40)}
    return ic.Schema(quasi={name: trees.get(name) for name in QUASI}, sensitive=[SENSITIVE])


def rows_of(seed: int, exact: int) -> pl.DataFrame:
    """Make a million rows: ZIP codes of three digits and quarters, but exact ones in one row of `exact`."""
    date = pl.col("admission_date").dt
    whole = pl.lit(value=False) if exact == 0 else pl.int_range(pl.len()) % exact == 0
    zip_code = pl.col("zip").cast(pl.Int32)
    day = date.year().cast(pl.Int32) * 10_000 + date.month().cast(pl.Int32) * 100 + date.day().cast(pl.Int32)
    return hospital(MILLION, seed).select(
        "age",
        "sex",
        pl.when(whole).then(zip_code).otherwise(zip_code // 100 * 100).alias("zip"),
        "marital_status",
        "admission_type",
        pl.when(whole).then(day).otherwise(date.year().cast(pl.Int32) * 10_000 + date.quarter()).alias("day"),
        pl.col("diagnosis").str.slice(0, 1).alias(SENSITIVE),
    )


def make(folder: Path, table: str, millions: int) -> list[Path]:
    """Write the files of a table, of 20 million rows each or one of all, unless they are there."""
    place = folder / table
    place.mkdir(parents=True, exist_ok=True)
    size = millions if millions % PART else PART
    paths = []
    for first in range(0, millions, size):
        path = place / f"{first:06}-{size}.parquet"
        if not path.exists():
            made = [rows_of(seed, TABLES[table]) for seed in range(first, first + size)]
            pl.concat(made).write_parquet(path.with_suffix(".new"))
            path.with_suffix(".new").rename(path)
        paths.append(path)
    return paths


def bytes_below(folder: Path) -> int:
    """Return the bytes of the files below a folder."""
    found = 0
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            # A file may go while this looks.
            with suppress(OSError):
                found += 0 if path.is_symlink() else path.stat().st_size
    return found


def job(way: str, algorithm: str, memory: str, *paths: str) -> None:
    """Anonymize and write some files in this process, and print its figures as JSON."""
    with (
        tempfile.TemporaryDirectory() as out,
        Peak() as peak,
        Peak(partial(bytes_below, Path(out)), 1.0) as disk,
    ):
        os.environ["TMPDIR"] = tempfile.tempdir = out
        start = time.perf_counter()
        if way == "spark":
            table = spark_session().read.parquet(*paths)
        else:
            chosen = Path(out) / "in"
            chosen.mkdir()
            for path in paths:
                (chosen / Path(path).name).symlink_to(Path(path).resolve())
            table = ic.scan(chosen, memory=memory)
        figures: dict[str, Any] = {"open": time.perf_counter() - start}
        start = time.perf_counter()
        release = ic.anonymize(
            table,
            schema(),
            [ic.KAnonymity(10)],
            algorithm,
            max_suppression=0.01,
            driver_keys=100 * MILLION,
            unanswered="write",
        )
        figures["anonymize"] = time.perf_counter() - start
        figures |= {f"- {stage}": seconds for stage, seconds in release.seconds.items()}
        start = time.perf_counter()
        release.write(Path(out) / "safe")
        figures["write and check"] = time.perf_counter() - start
        figures |= {
            "rows": release.privacy.records,
            "keys": release.frequency.keys,
            "classes": release.privacy.classes,
            "loss": release.utility["loss"].value,
        }
    figures["GiB of Python"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    figures |= {"GiB of all processes": peak.most / 2**30, "GB on disk": disk.most / 1e9}
    print(json.dumps(figures))


def run(asked: argparse.Namespace, table: str, millions: int, way: str) -> dict[str, Any]:
    """Run a job in a process of its own, and return its figures, or why it has none."""
    paths = make(Path(asked.data), table, millions)
    what = {"table": table, "millions": millions, "way": way, "algorithm": asked.algorithm}
    what["GB read"] = sum(path.stat().st_size for path in paths) / 1e9
    command = [sys.executable, __file__, "--job", way, asked.algorithm, asked.memory, *map(str, paths)]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=asked.hours * 3600
        )
    except subprocess.TimeoutExpired:
        return what | {"failed": f"took more than {asked.hours:g} hours"}
    what["seconds"] = time.perf_counter() - start
    if done.returncode < 0:
        # It says nothing then; mostly the system had no memory left.
        return what | {"failed": f"was ended by signal {-done.returncode}"}
    if done.returncode:
        return what | {"failed": done.stderr.strip().splitlines()[-1]}
    return what | json.loads(done.stdout.splitlines()[-1])


def show(found: dict[str, Any]) -> None:
    """Print the figures of a job."""
    print(f"{found['millions']:,} million rows of {found['table']}, {found['algorithm']}, {found['way']}")
    for name, value in found.items():
        if isinstance(value, float | int) and name != "millions":
            print(f"  {name:22} {value:18,.3f}" if isinstance(value, float) else f"  {name:22} {value:18,}")
    print(f"  {found['failed']}" if "failed" in found else "", flush=True)


def model(found: list[dict[str, Any]]) -> None:
    """Fit seconds and memory per row, key and class to jobs of up to 100 million rows; show all beside it."""
    done = [each for each in found if "failed" not in each]
    for way in sorted({each["way"] for each in done}):
        jobs = [each for each in done if each["way"] == way]
        small = [each for each in jobs if each["millions"] <= 100]
        for figure in (*STAGES, "GiB of all processes"):
            measured = np.array([each[figure] for each in small])
            scale = 1 / np.maximum(measured, 1e-9)
            factors = _not_negative(_terms(small) * scale[:, None], measured * scale)
            words = zip(
                ("start", "a million rows", "a million keys", "a million classes"), factors, strict=True
            )
            print(f"{way}, {figure}: " + ", ".join(f"{value:.3g} for {word}" for word, value in words))
            for each, expected in zip(jobs, _terms(jobs) @ factors, strict=True):
                print(
                    f"  {each['table']:8} {each['millions']:6,} million: "
                    f"{each[figure]:9.1f} measured, {expected:9.1f} by the model"
                )


def _terms(jobs: list[dict[str, Any]]) -> Any:
    return np.array([[1, each["rows"] / 1e6, each["keys"] / 1e6, each["classes"] / 1e6] for each in jobs])


def _not_negative(terms: Any, values: Any) -> Any:
    """Return the least squares without negative factors."""
    from scipy.optimize import nnls

    return nnls(terms, values)[0]


def main() -> None:
    """Make the tables, and run every job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, nargs="*", default=[1, 3, 10, 30, 100, 1000])
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=TABLES)
    parser.add_argument("--ways", nargs="*", default=["files", "spark"], choices=["files", "spark"])
    parser.add_argument("--algorithm", default="mondrian")
    parser.add_argument("--memory", default="12GiB", help="for files out of core")
    parser.add_argument("--hours", type=float, default=1.0, help="after which a job is given up")
    parser.add_argument("--data", required=True, help="where the rows are, or will be")
    parser.add_argument("--model", action="store_true", help="only fit the model to what was measured")
    asked = parser.parse_args()
    book = Path(asked.data) / "billion.jsonl"
    if not asked.model:
        for millions in asked.millions:
            for table in asked.tables:
                for way in asked.ways:
                    found = run(asked, table, millions, way)
                    show(found)
                    with book.open("a") as lines:
                        lines.write(json.dumps(found) + "\n")
    model([json.loads(line) for line in book.read_text().splitlines()])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        job(*sys.argv[2:])
    else:
        main()
