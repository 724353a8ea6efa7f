"""What treatments cost: a million rows of 400,000 people with a pseudonym, and one date shifted or two.

Run with ``make bench``, or ``python benchmarks/treatments.py --help``. A file is read, released and written
with treatments and without, in turn and in one process; and it is read and written by Polars alone.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic
from incrowd.core.io.files import read_table, write_file

KEY = "env:INCROWD_BENCHMARK_KEY"
SHIFT = {"shift-dates": 30, "key": KEY, "by": "patient_id"}
PSEUDONYM = {"pseudonym": "hmac", "key": KEY}
DATES = ("admitted", "discharged")


def rows_of(rows: int, people: int) -> pl.DataFrame:
    """Make up rows, as a file has them: texts."""
    rng = np.random.default_rng(1)
    admitted = rng.integers(18_000, 20_000, rows)
    return pl.DataFrame(
        {
            "patient_id": pl.Series(rng.integers(0, people, rows)).cast(pl.String).str.zfill(9),
            "age": rng.integers(0, 100, rows),
            "ward": rng.choice(["surgery", "medicine", "children"], rows),
            "diagnosis": rng.choice([f"I{n:02}.{n % 10}" for n in range(80)], rows),
            "cost": rng.lognormal(7, 1, rows).round(2),
            "admitted": pl.Series(admitted, dtype=pl.Int32).cast(pl.Date),
            "discharged": pl.Series(admitted + rng.integers(0, 20, rows), dtype=pl.Int32).cast(pl.Date),
        }
    )


def schema(dates: int | None) -> ic.Schema:
    """Let all columns leave but the age, which is generalized; treat people and so many dates, or nothing."""
    shifted = () if dates is None else DATES[:dates]
    return ic.Schema(
        quasi=["age"],
        sensitive=["diagnosis"],
        insensitive=["patient_id", "ward", "cost", "admitted", "discharged"],
        treatments={} if dates is None else {"patient_id": PSEUDONYM} | dict.fromkeys(shifted, SHIFT),
    )


def copied(source: Path, target: Path) -> float:
    """Read a file and write it; return the seconds."""
    start = perf_counter()
    table, csv_format = read_table(source)
    write_file(table, target, csv_format, force=True)
    return perf_counter() - start


def released(source: Path, target: Path, dates: int | None, *, stream: bool) -> float:
    """Anonymize a file into another; return the seconds."""
    start = perf_counter()
    table = ic.scan(source) if stream else source
    ic.anonymize(table, schema(dates), "k-anonymity:5", unanswered="write").write(target, force=True)
    return perf_counter() - start


def measure(rows: int, people: int, repeat: int, dates: int, *, stream: bool) -> dict[str, Any]:
    """Release a CSV with and without treatments in turn; medians of seconds."""
    os.environ["INCROWD_BENCHMARK_KEY"] = "3f9b17c0a2d84e65" * 3
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "raw.csv", Path(folder) / "out.csv"
        rows_of(rows, people).write_csv(source)
        for treated in (None, dates):
            released(source, target, treated, stream=stream)
        taken: dict[str, list[float]] = {"copied": [], "released": [], "treated": []}
        for _ in range(repeat):
            taken["copied"].append(copied(source, target))
            for name, treated in (("released", None), ("treated", dates)):
                taken[name].append(released(source, target, treated, stream=stream))
    found = {name: median(seconds) for name, seconds in taken.items()}
    return {
        "rows": rows,
        "people": people,
        "dates": dates,
        "stream": stream,
        **found,
        "ratio": found["treated"] / found["released"],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=400_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = [
        measure(chosen.rows, chosen.people, chosen.repeat, dates, stream=stream)
        for dates in (1, 2)
        for stream in (False, True)
    ]
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    for entry in found:
        where = "streaming" if entry["stream"] else "in memory"
        dates = "one shifted date" if entry["dates"] == 1 else "two shifted dates"
        print(
            f"{where}: released in {entry['released']:.2f} s, with a pseudonym and {dates} in "
            f"{entry['treated']:.2f} s ({entry['ratio']:.2f} times); read and written by Polars alone in "
            f"{entry['copied']:.2f} s"
        )


if __name__ == "__main__":
    main()
