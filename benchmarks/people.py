"""What it costs to count people in place of rows: a million encounters of 300,000 people, whole jobs.

Run with ``make bench``, or ``python benchmarks/people.py --help``. Jobs by rows and by people alternate in
one process, so their ratio stands for itself on a busy machine.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from statistics import median
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

import incrowd as ic

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


def measure(rows: int, people: int, repeat: int) -> list[dict[str, Any]]:
    """Run every job by rows and by people in turn."""
    table = ic.samples.encounters(rows, people, 1)
    found = []
    for label, algorithm, models in JOBS:
        seconds: dict[bool, list[float]] = {False: [], True: []}
        stages: Counter[tuple[bool, str]] = Counter()
        row: dict[str, Any] = {"job": label}
        # The first pair compiles and warms up.
        for turn in range(repeat + 1):
            for by_people in (False, True):
                start = perf_counter()
                release = ic.anonymize(
                    table, schema(people=by_people), models, algorithm, max_suppression=0.02,
                    keep_order=True, force=True,
                )  # fmt: skip
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=300_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
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
