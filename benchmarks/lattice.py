"""How fast the optimal full-domain recoding is found: UCI Adult as ARX ships it, and a million made-up rows.

Run with ``make bench``, or ``python benchmarks/lattice.py --help``. ``--adult DIR`` names a folder with ARX's
``adult.csv`` and its nine hierarchies.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

import incrowd as ic
from incrowd.core.table.frequency import FrequencyTable
from incrowd.core.table.schema import Schema
from incrowd.engines import engine_for
from incrowd.samples import hospital
from incrowd.samples.policies import hospital_schema
from incrowd.search import SearchProblem
from incrowd.search.full_domain import FullDomainAlgorithm
from mondrian import median_of

ARX_SECONDS = {0.0: 0.04, 0.02: 0.8, 0.05: 0.8}
"""ARX 3.9 for k=5, warm, search and output, on a machine of two cores."""


def search(
    frequency: FrequencyTable,
    schema: Schema,
    models: list[ic.PrivacyModel],
    limit: float,
    algorithm: FullDomainAlgorithm,
) -> Any:
    """Search once."""
    return algorithm.search(SearchProblem(frequency, models, schema.quasi, limit))


def read_adult(folder: Path) -> tuple[pl.DataFrame, dict[str, ic.Hierarchy]]:
    """Read ARX's `adult.csv` and its nine hierarchies."""
    names = [
        "sex",
        "age",
        "race",
        "marital-status",
        "education",
        "native-country",
        "workclass",
        "occupation",
        "salary-class",
    ]
    trees = {name: ic.Hierarchy.read(folder / f"adult_hierarchy_{name}.csv") for name in names}
    path = next(folder.glob("adult.csv*"))
    return pl.read_csv(path, separator=";", infer_schema=False), trees


def adult(folder: Path, repeat: int) -> list[dict[str, Any]]:
    """Whole searches on Adult: k, suppression, threads."""
    table, trees = read_adult(folder)
    schema = ic.Schema(quasi=trees)
    frequency = engine_for(table).count(schema).frequency
    sensitive = ic.Schema(
        quasi={name: trees[name] for name in trees if name != "occupation"},
        sensitive={"occupation": trees["occupation"]},
    )
    counted = engine_for(table).count(sensitive).frequency
    cases: list[tuple[str, FrequencyTable, Schema, list[ic.PrivacyModel]]] = [
        (f"k={k}", frequency, schema, [ic.KAnonymity(k)]) for k in (2, 5, 10, 100)
    ]
    cases += [
        ("k=5, l=3", counted, sensitive, [ic.KAnonymity(5), ic.LDiversity(3)]),
        ("k=5, t=0.2", counted, sensitive, [ic.KAnonymity(5), ic.TCloseness(0.2)]),
    ]
    rows = []
    for label, counts, asked, models in cases:
        for limit in (0.0, 0.02, 0.05):
            for metric in ("loss", "discernibility", "average-class-size"):
                if metric != "loss" and label != "k=5":
                    continue
                row: dict[str, Any] = {"models": label, "suppression": limit, "metric": metric}
                for threads in ("1", "2"):
                    os.environ["INCROWD_THREADS"] = threads
                    algorithm = ic.Optimal(metric, "geometric-mean")
                    work = lambda c=counts, a=asked, m=models, s=limit, o=algorithm: search(c, a, m, s, o)  # noqa: E731
                    work()
                    row[f"{threads} threads"], found = median_of(repeat, work)
                space = found.lattice
                row |= {"nodes": len(space.nodes), "score": space.best.score, "proved": space.proved}
                row["nodes/s"] = len(space.nodes) / row["2 threads"]
                rows.append(row)
    os.environ.pop("INCROWD_THREADS")
    return rows


def million(rows: int, repeat: int) -> list[dict[str, Any]]:
    """Whole searches on made-up rows with eight quasi-identifiers, and the memory they take."""
    table = hospital(rows)
    schema = hospital_schema()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    frequency = engine_for(table).count(schema).frequency
    counted = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = []
    search(frequency, schema, [ic.KAnonymity(5)], 0.0, ic.Optimal())
    for k in (2, 5, 10, 100):
        for limit in (0.0, 0.02, 0.05):
            row: dict[str, Any] = {"k": k, "suppression": limit}
            for threads in ("1", "2"):
                os.environ["INCROWD_THREADS"] = threads
                work = lambda k=k, s=limit: search(frequency, schema, [ic.KAnonymity(k)], s, ic.Optimal())  # noqa: E731
                row[f"{threads} threads"], found = median_of(max(repeat // 2, 1), work)
            space = found.lattice
            row |= {
                "lattice": space.size,
                "keys": frequency.keys,
                "nodes": len(space.nodes),
                "nodes/s": len(space.nodes) / row["2 threads"],
                "score": space.best.score,
                "MiB to count": (counted - before) / 1024,
                "MiB to search": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - counted) / 1024,
            }
            results.append(row)
    os.environ.pop("INCROWD_THREADS")
    return results


def show(out: Console, title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    table = Table(title=title, box=None)
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            *(f"{value:,.4g}" if isinstance(value, float) else f"{value}" for value in row.values())
        )
    out.print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--adult", type=Path, help="folder with ARX's adult.csv and hierarchies")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    parser.add_argument("--quick", action="store_true", help="only try whether it runs")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeat = 3_000, 1
    out = Console(width=None if os.isatty(1) else 200)
    figures: dict[str, Any] = {"million": million(options.rows, options.repeat)}
    show(out, f"{options.rows:,} made-up rows, eight quasi-identifiers, loss", figures["million"])
    if options.adult is not None:
        figures["adult"] = adult(options.adult, options.repeat)
        figures["arx"] = ARX_SECONDS
        show(
            out,
            "UCI Adult, 30,162 rows, nine quasi-identifiers (eight with a sensitive one)",
            figures["adult"],
        )
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
