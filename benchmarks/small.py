"""Small tables: how long the first call takes where nothing is compiled, and how long later ones take.

Each job runs in processes of its own, with an empty folder for compiled code and then with the same one. The
figures are seconds of processors inside the call, so starting Python is not in them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import incrowd as ic
from incrowd.measures.risk import suda2
from incrowd.samples import hospital

ROOT = Path(__file__).resolve().parents[1]
EIGHT = (
    "age", "sex", "marital_status", "admission_type", "length_of_stay", "diagnosis", "zip", "admission_date"
)  # fmt: skip
NUMBERS = ("age", "length_of_stay", "cost")
WAYS = ("first, empty cache", "first", "later")


def recoded(rows: int, quasi: tuple[str, ...], algorithm: ic.Algorithm) -> Callable[[], Any]:
    """Prepare a release by an algorithm."""
    table, schema = hospital(rows), ic.Schema(quasi=quasi, unlisted="drop")
    return lambda: ic.anonymize(table, schema, [ic.KAnonymity(3)], algorithm, force=True, unanswered="write")


def aggregated(rows: int) -> Callable[[], Any]:
    """Prepare a release with two columns of numbers that are microaggregated together."""
    costs = {
        "cost": ic.Microaggregate(3, together="length_of_stay"),
        "length_of_stay": ic.Microaggregate(3, together="cost"),
    }
    schema = ic.Schema(["sex"], insensitive=list(costs), treatments=costs, unlisted="drop")
    table = hospital(rows)
    return lambda: ic.anonymize(table, schema, [ic.KAnonymity(3)], force=True, unanswered="write")


def uniques(rows: int, columns: int) -> Callable[[], Any]:
    """Prepare a search for special uniques of at most three columns."""
    table = hospital(rows)
    return lambda: suda2(table, EIGHT[:columns])


JOBS: dict[str, Callable[[int], Callable[[], Any]]] = {
    "mdav, three numbers": lambda rows: recoded(rows, NUMBERS, ic.MDAV()),
    "mdav, six columns": lambda rows: recoded(rows, EIGHT[:6], ic.MDAV()),
    "microaggregation, one number": lambda rows: recoded(rows, ("cost",), ic.Microaggregation()),
    "microaggregate, two numbers together": aggregated,
    "suda2, six columns": lambda rows: uniques(rows, 6),
    "suda2, eight columns": lambda rows: uniques(rows, 8),
}


def in_this_process(job: str, rows: int, repeat: int) -> dict[str, float]:
    """Do a job several times; return the seconds of the first call, and the median of the others."""
    work, seconds = JOBS[job](rows), []
    for _ in range(repeat + 1):
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return {"first": seconds[0], "later": median(seconds[1:])}


def measured(job: str, rows: int, repeat: int, cache: Path) -> dict[str, float]:
    """Do a job in a process with nothing compiled, and in another one."""
    asked = [sys.executable, __file__, "--job", job, "--rows", str(rows), "--repeat", str(repeat)]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT / "src")}
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir()
    cold, warm = (
        json.loads(subprocess.run(asked, env=environment, check=True, stdout=subprocess.PIPE).stdout)
        for _ in range(2)
    )
    return dict(zip(WAYS, (cold["first"], warm["first"], warm["later"]), strict=True))


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--repeat", type=int, default=5, help="later calls")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    parser.add_argument("--job", choices=JOBS, help="only this, in this process")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rows, chosen.repeat = 200, 1
    if chosen.job:
        print(json.dumps(in_this_process(chosen.job, chosen.rows, chosen.repeat)))
        return
    with tempfile.TemporaryDirectory() as folder:
        found = {job: measured(job, chosen.rows, chosen.repeat, Path(folder) / "kernels") for job in JOBS}
    print(f"{chosen.rows:,} rows; processor seconds; load {os.getloadavg()[0]:.1f}")
    print(f"{'':38}" + "".join(f"{way:>20}" for way in WAYS))
    for job, seconds in found.items():
        print(f"{job:38}" + "".join(f"{seconds[way]:20.3f}" for way in WAYS))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
