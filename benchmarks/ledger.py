"""What a ledger takes to judge one more release, of twelve of 100,000 people, by what they have in common.

Run with ``make bench``, or ``python benchmarks/ledger.py --help``. The releases are digests as a ledger keeps
them. *Same* shows the same people in the same classes, *halves* in classes of one, two or four of these.
*Others* shows other people each time. *Turnover* replaces a share of the people in each release.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from incrowd.release.jobs.later.ledger.deduction import deduced_people
from incrowd.release.jobs.later.ledger.exposure import (
    ReleasePeople,
    exposed_by_intersection,
    exposed_together,
)

TURNOVERS = (0.001, 0.01, 0.05)
VALUES = 12
CLASS = 100
"""People of a class, about."""


def shown(people: Any, classes: Any, values: Any) -> ReleasePeople:
    """Return the digests of a release."""
    columns = {"person": people, "class": classes, "value": values}
    digests = pl.DataFrame(columns).select(pl.all().cast(pl.String).cast(pl.Binary))
    return ReleasePeople(digests.with_columns(records=pl.lit(1)), 5, {"value": 2})


def histories(people: int, releases: int) -> Iterator[tuple[str, list[ReleasePeople]]]:
    """Yield histories of releases, with their names."""
    random = np.random.default_rng(1)
    everybody = people * (releases + 1)
    values = np.minimum(random.geometric(0.3, everybody), VALUES)
    classes = random.integers(0, max(people // CLASS, 1), everybody)

    def of(some: Any, wide: int = 1) -> ReleasePeople:
        return shown(some, classes[some] // wide, values[some])

    first = np.arange(people)
    yield "same", [of(first)] * releases
    yield "halves", [of(first, 2 ** (number % 3)) for number in range(releases)]
    yield "others", [of(first + people * number) for number in range(releases)]
    for share in TURNOVERS:
        there, found, following = first, [], people
        for _ in range(releases):
            found.append(of(there))
            stay = there[random.random(len(there)) > share]
            there = np.append(stay, np.arange(following, following + len(there) - len(stay)))
            following += len(there) - len(stay)
        yield f"turnover {share:.1%}", found


def measure(people: int, releases: int) -> list[dict[str, Any]]:
    """Judge the last release of each history."""
    found = []
    for name, (*earlier, latest) in histories(people, releases):
        start = perf_counter()
        for each in earlier:
            exposed_together(each, latest)
        exposed_by_intersection([*earlier, latest])
        middle = perf_counter()
        exposed = len(deduced_people([*earlier, latest], latest=True))
        row = {"history": name, "intersection and difference, s": middle - start}
        found.append(row | {"deduction, s": perf_counter() - middle, "exposed by deduction": exposed})
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="few people")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = measure(2_000 if chosen.quick else chosen.people, chosen.releases)
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    table = Table(*found[0], title=f"{chosen.releases} releases of {chosen.people:,} people")
    for row in found:
        table.add_row(*(f"{each:.3g}" if isinstance(each, float) else str(each) for each in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
