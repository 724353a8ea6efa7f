"""Rows that stream beside rows in memory: seconds and the most memory, each in a process of its own.

``python benchmarks/streaming.py [MILLIONS]`` makes a folder of Parquet files of a million rows each.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import incrowd as ic
from incrowd.samples import hospital

QUASI = ["age", "sex", "zip", "marital_status", "admission_type"]


def schema() -> ic.Schema:
    """Return the columns that are used: five quasi-identifiers, one sensitive attribute."""
    return ic.Schema(
        quasi={name: ic.Hierarchy.prefix() if name == "zip" else None for name in QUASI},
        sensitive=["diagnosis"],
        others="drop",
    )


def job(folder: str, how: str, target: str) -> None:
    """Assess, anonymize and write, and print what it took as JSON."""
    import polars as pl

    start = time.perf_counter()
    table = folder if how == "stream" else pl.read_parquet(f"{folder}/*.parquet")
    read = time.perf_counter()
    release = ic.anonymize(table, schema(), [ic.KAnonymity(10)])
    made = time.perf_counter()
    release.write(target, force=True)
    done = time.perf_counter()
    print(
        json.dumps(
            {
                "read": read - start,
                "anonymize": made - read,
                **{f"- {stage}": seconds for stage, seconds in release.seconds.items()},
                "write and check": done - made,
                "keys": release.frequency.keys,
                "classes": release.privacy.classes,
                "loss": release.utility["loss"].value,
                "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            }
        )
    )


def main(millions: int) -> None:
    """Make the files, and run both ways."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        for part in range(millions):
            hospital(1_000_000, part).select(*QUASI, "diagnosis").write_parquet(data / f"{part:04}.parquet")
        for how in ("memory", "stream"):
            found = subprocess.run(
                [sys.executable, __file__, "--job", str(data), how, str(Path(folder) / f"{how}.parquet")],
                check=True,
                capture_output=True,
                text=True,
            )
            figures = json.loads(found.stdout)
            print(f"{millions} million rows, {how}")
            for name, value in figures.items():
                print(f"  {name:20} {value:14,.3f}")
        same = (Path(folder) / "memory.parquet").stat().st_size and _same(Path(folder))
        print("the same release" if same else "DIFFERENT RELEASES")


def _same(folder: Path) -> bool:
    import polars as pl

    one, other = (pl.scan_parquet(folder / f"{how}.parquet") for how in ("memory", "stream"))
    sums = [frame.select(pl.all().hash().sum()).collect(engine="streaming") for frame in (one, other)]
    return sums[0].equals(sums[1])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        job(*sys.argv[2:])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
