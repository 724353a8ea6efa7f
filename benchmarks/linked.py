"""How long linked tables take: people, visits and drugs in three tables, counted as whole views.

Run: python benchmarks/linked.py [--people 1000000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import polars as pl

import incrowd as ic


def tables(people: int) -> dict[str, pl.DataFrame]:
    """Return tables with about ten facts a person, of which many people have the same."""
    rng = np.random.default_rng(1)
    visits, drugs = 4 * people, 5 * people
    return {
        "person": pl.DataFrame({"id": np.arange(people), "sex": rng.integers(0, 2, people)}),
        "visit": pl.DataFrame({"of": np.repeat(np.arange(people), 4), "ward": rng.integers(0, 3, visits)}),
        "drug": pl.DataFrame({"of": np.repeat(np.arange(people), 5), "atc": rng.integers(0, 3, drugs)}),
    }


def main() -> None:
    """Print the seconds of each stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    people = parser.parse_args().people
    linked = [
        ic.LinkedTable("person"),
        ic.LinkedTable("visit", join={"of": "person.id"}),
        ic.LinkedTable("drug", join={"of": "person.id"}),
    ]
    schema = ic.Schema(["person.sex", "visit.ward", "drug.atc"], insensitive=["person.id"])
    policy = ic.LinkedPolicy(linked, ic.Policy(schema, "k-anonymity:5", max_suppression=0.05))
    made = tables(people)
    began = time.perf_counter()
    view = ic.assess_linked(made, policy)
    print(f"assess_linked: {time.perf_counter() - began:.1f} s, {view.smallest} share a view")
    release = ic.anonymize_linked(made, policy, unanswered="write")
    rows = sum(release.view.records.values())
    print(f"anonymize_linked: {sum(release.seconds.values()):.1f} s for {rows:,} rows, {release!r}")
    for stage, seconds in release.seconds.items():
        print(f"  {stage}: {seconds:.1f} s")


if __name__ == "__main__":
    main()
