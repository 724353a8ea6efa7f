"""What it costs to count people in place of rows: a million encounters of 300,000 people, whole jobs.

Run with ``make bench``, or ``python benchmarks/people.py --help``. Jobs by rows and by people alternate in
one process, so their ratio stands for itself on a busy machine. With ``--file`` it counts a file of so many
rows in processes of their own, by rows and by people, and tells how much memory each took at most.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

import incrowd as ic
from incrowd.engines import engine_for

QUASI = {
    "age": ic.Hierarchy.intervals(5, 10, 20, 40),
    "sex": ic.Hierarchy.flat(),
    "zip": ic.Hierarchy.prefix(),
    "marital_status": ic.Hierarchy.flat(),
    "admission_type": ic.Hierarchy.flat(),
}
JOBS: list[tuple[str, str, list[ic.PrivacyModel]]] = [
    ("Mondrian, k=5", "mondrian", [ic.KAnonymity(5)]),
    ("optimal, k=5, 2 % suppressed", "optimal", [ic.KAnonymity(5)]),
    ("Mondrian, k=5, t=0.5", "mondrian", [ic.KAnonymity(5), ic.TCloseness(0.5, "equal")]),
    ("optimal, k=5, t=0.5", "optimal", [ic.KAnonymity(5), ic.TCloseness(0.5, "equal")]),
]


def schema(*, people: bool) -> ic.Schema:
    """Name the person, or nobody."""
    person = "patient_id" if people else ()
    return ic.Schema(quasi=QUASI, sensitive=["diagnosis"], person=person, unlisted="drop")


def too_few(table: Any, release: ic.Release, k: int) -> int:
    """Count the classes of a release with fewer than k people; rows are in the order of the table."""
    cells = release.table.select(list(QUASI)).with_columns(table["patient_id"])
    people = cells.group_by(list(QUASI)).n_unique()["patient_id"]
    return int((people < k).sum())


def measure(rows: int, people: int, repeat: int, jobs: int | None = None) -> list[dict[str, Any]]:
    """Run the first jobs, or all, by rows and by people in turn."""
    table = ic.samples.encounters(rows, people, 1)
    found = []
    for label, algorithm, models in JOBS[:jobs]:
        seconds: dict[bool, list[float]] = {False: [], True: []}
        stages: Counter[tuple[bool, str]] = Counter()
        row: dict[str, Any] = {"job": label}
        # The first pair compiles and warms up.
        for turn in range(repeat + 1):
            for by_people in (False, True):
                start = perf_counter()
                release = ic.anonymize(
                    table, schema(people=by_people), models, algorithm, max_suppression=0.02,
                    keep_order=True, force=True, unanswered="write")  # fmt: skip
                if turn:
                    seconds[by_people].append(perf_counter() - start)
                    for stage, took in release.seconds.items():
                        stages[by_people, stage] += took / repeat
                what = "people" if by_people else "rows"
                row[f"loss by {what}"] = release.utility["loss"].value
                row[f"classes below 5 people, by {what}"] = too_few(table, release, 5)
        row |= {"rows, s": median(seconds[False]), "people, s": median(seconds[True])}
        row["ratio"] = row["people, s"] / row["rows, s"]
        row["stages"] = {
            f"{stage} by {'people' if by else 'rows'}": took for (by, stage), took in stages.items()
        }
        found.append(row)
    return found


def count_file(path: str, memory: str, *, people: bool) -> dict[str, Any]:
    """Count one file within a limit: seconds, and the most memory of this process."""
    files = ic.scan(path, memory=memory)
    start = perf_counter()
    frequency = engine_for(files).count(schema(people=people)).frequency
    took = perf_counter() - start
    table = frequency.people.table
    listed = None if table is None else table.people.listed
    return {
        "by": "people" if people else "rows",
        "keys": frequency.keys,
        "people with unlike rows": 0 if listed is None else listed.people,
        "their pairs": 0 if listed is None else len(listed.entry),
        "s": took,
        "MiB at most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure_file(rows: int, people: int, memory: str) -> list[dict[str, Any]]:
    """Count a file by rows and by people, each in a process of its own."""
    found = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "encounters.parquet"
        sizes = ["--rows", str(rows), "--people", str(people), "--memory", memory]
        # Also the file is made elsewhere: a process begins with the most memory of who started it.
        for by in ("nobody", "rows", "people"):
            command = [sys.executable, str(Path(__file__).resolve()), "--count", str(path), "--by", by]
            told = subprocess.run([*command, *sizes], check=True, capture_output=True, text=True)
            found += [json.loads(told.stdout)] if told.stdout else []
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=300_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--file", action="store_true", help="count a file instead")
    parser.add_argument("--memory", default="1GB", help="limit for counting a file")
    parser.add_argument("--count", help=argparse.SUPPRESS)
    parser.add_argument("--by", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.by == "nobody":
        ic.samples.encounters(chosen.rows, chosen.people, 1).write_parquet(chosen.count)
        return
    if chosen.count:
        print(json.dumps(count_file(chosen.count, chosen.memory, people=chosen.by == "people")))
        return
    if chosen.file:
        found = measure_file(chosen.rows, chosen.people, chosen.memory)
    else:
        found = measure(chosen.rows, chosen.people, chosen.repeat)
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    names = [name for name in found[0] if name != "stages"]
    shown = Table(*names, title=f"{chosen.rows:,} rows of {chosen.people:,} people")
    for row in found:
        shown.add_row(
            *(f"{row[name]:.4g}" if isinstance(row[name], float) else str(row[name]) for name in names)
        )
    Console().print(shown)


if __name__ == "__main__":
    main()
