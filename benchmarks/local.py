"""How fast local recoding is: Mondrian on large tables, clusterings, and peers where they are installed.

Run with ``make bench``, or ``python benchmarks/local.py --help``. ``--adult DIR`` names a folder with ARX's
``adult.csv`` and its nine hierarchies; the losses of that table are then compared, too.

The peers are not installed with incrowd:
``pip install anonypy microaggregation``.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import incrowd as ic
from incrowd.samples import encounters, hospital
from incrowd.search import Algorithm
from lattice import read_adult
from mondrian import SIX, median_of, schema_of

NUMBERS = ("age", "length_of_stay", "cost")


def searched(
    algorithm: Algorithm, table: pl.DataFrame, schema: ic.Schema, k: int, repeat: int
) -> dict[str, Any]:
    """Median seconds of the search, with the loss and class size that it gives."""
    seconds = []
    for _ in range(repeat):
        release = ic.anonymize(
            table,
            schema,
            [ic.KAnonymity(k)],
            algorithm,
            max_suppression=1.0,
            ends="exact",
            suppressed="keep",
            unanswered="write",
        )
        seconds.append(release.seconds["search"])
    return {
        "algorithm": algorithm.brief(),
        "rows": len(table),
        "k": k,
        "search": float(np.median(seconds)),
        "loss": release.utility["loss"].value,
        "class size": release.utility["average-class-size"].value,
    }


def losses(table: pl.DataFrame, schema: ic.Schema, limits: tuple[int, ...]) -> list[dict[str, Any]]:
    """Loss and seconds of local algorithms on one table, nothing suppressed, and the lower bound."""
    rounds = ic.Optimal(recode_suppressed=True)
    algorithms = (ic.Mondrian(), ic.KMember(), ic.Clustering(), rounds, ic.Agglomerative())
    found = []
    for k in limits:
        bound = ic.loss_bound(table, schema, k).value
        for algorithm in algorithms:
            line = searched(algorithm, table, schema, k, 1)
            kept = {name: line[name] for name in ("algorithm", "rows", "k", "search", "loss")}
            found.append(kept | {"no recoding below": bound})
    return found


def shapes(rows: int) -> dict[str, tuple[pl.DataFrame, ic.Schema]]:
    """Tables of different shapes: rows nearly all distinct, few keys, and several rows of a person."""
    patients = hospital(rows)
    zips = ic.Hierarchy.prefix()
    few = ("age", "sex", "marital_status", "admission_type")
    visits = ("age", "sex", "zip", "marital_status", "length_of_stay")
    return {
        "hospital, six columns": (patients.select(SIX), schema_of(SIX)),
        "hospital, few keys": (patients.select(few), ic.Schema(quasi=few)),
        "encounters, with prefixes": (
            encounters(rows).select(visits),
            ic.Schema(quasi={name: zips if name == "zip" else None for name in visits}),
        ),
    }


def large(rows: int, repeat: int) -> dict[str, Any]:
    """Stages of `anonymize` with Mondrian, k=10."""
    table = hospital(rows).select(SIX)
    stages = []
    for _ in range(repeat):
        release = ic.anonymize(table, schema_of(SIX), [ic.KAnonymity(10)], unanswered="write")
        stages.append([release.seconds[name] for name in ("count", "search", "apply", "check")])
    count, search, apply, check = np.median(stages, axis=0).tolist()
    return {
        "rows": rows,
        "count": count,
        "search": search,
        "apply": apply,
        "check": check,
        "classes": release.recoding.decisions()["classes"],
        "ncp": release.utility["ncp"].value,
    }


def plain_clustering(table: pl.DataFrame, schema: ic.Schema, k: int) -> list[np.ndarray]:
    """Clustering as a careful student writes it: NumPy over all records, costs of value pairs in matrices."""
    from incrowd.engines import engine_for

    frequency = engine_for(table).count(schema).frequency.by_record()
    heights = 2 * sum(domain.tree.height for domain in frequency.domains)
    pairs = []
    for domain in frequency.domains:
        size = domain.size
        lo, hi = (np.array(side).ravel() for side in np.meshgrid(range(size), range(size)))
        low, high = np.minimum(lo, hi), np.maximum(lo, hi)
        loss = domain.span(low, high) / len(frequency.domains)
        if domain.ordered:
            levels = 2.0 * (low != high)
        else:
            deep = domain.tree.depths
            levels = deep[domain.tree.leaves[low]] + deep[domain.tree.leaves[high]]
            levels = levels - 2 * deep[domain.ancestors(low, high)]
        pairs.append((loss + levels / heights).reshape(size, size))
    codes = [column.astype(np.int64) for column in frequency.codes]
    records = frequency.keys
    unused = np.ones(records, bool)
    total = np.zeros(records)
    classes: list[np.ndarray] = []
    centroid = 0
    while unused.sum() >= k:
        distance = sum(pair[column[centroid], column] for pair, column in zip(pairs, codes, strict=True))
        distance = np.asarray(distance)
        total += distance
        unused[centroid] = False
        left = np.flatnonzero(unused)
        chosen = left[np.argsort(distance[left], kind="stable")[: k - 1]]
        unused[chosen] = False
        classes.append(np.append(chosen, centroid))
        left = np.flatnonzero(unused)
        if len(left):
            centroid = int(left[np.argmax(total[left])])
    return classes


def against_numpy(
    rows: int, k: int, repeat: int, algorithms: tuple[Algorithm, ...] = (ic.Clustering(),)
) -> list[dict[str, Any]]:
    """Time the clustering, and others of its kind, beside its plain form."""
    table = hospital(rows).select("age", "sex", "zip", "marital_status", "admission_type")
    names = table.columns
    schema = schema_of(tuple(names))
    slow, _ = median_of(1, lambda: plain_clustering(table, schema, k))
    found = []
    for algorithm in algorithms:
        fast = searched(algorithm, table, schema, k, repeat)["search"]
        line = {"algorithm": algorithm.brief(), "rows": rows, "k": k, "numpy": slow, "incrowd": fast}
        found.append(line | {"ratio": slow / fast})
    return found


def against_anonypy(rows: int, k: int, repeat: int) -> dict[str, Any]:
    """Mondrian of the package anonypy where it is installed, and the same rules here on the same frame."""
    table = hospital(rows).select(
        "age", "sex", "marital_status", "admission_type", "length_of_stay", "diagnosis"
    )
    frame = table.to_pandas()
    names = table.columns[:-1]
    for name in ("sex", "marital_status", "admission_type", "diagnosis"):
        frame[name] = frame[name].astype("category")
    slow, released = None, None
    if find_spec("anonypy") is not None:
        import anonypy

        slow, released = median_of(
            1, lambda: anonypy.Preserver(frame.copy(), names, "diagnosis").anonymize_k_anonymity(k=k)
        )
    rules = ic.Mondrian(choose="range", median="below", categories="appearance")
    schema = ic.Schema(quasi=names, sensitive=["diagnosis"])
    fast, release = median_of(
        repeat,
        lambda: ic.anonymize(
            frame, schema, [ic.KAnonymity(k)], rules, output="set", set_limit=rows, unanswered="write"
        ),
    )
    return {
        "rows": rows,
        "anonypy": slow,
        "incrowd": fast,
        "ratio": None if slow is None else slow / fast,
        "rows of anonypy's table": None if released is None else len(released),
        "rows of ours": len(release.class_table("diagnosis")),
    }


def against_microaggregation(rows: int, k: int, repeat: int) -> dict[str, Any]:
    """Optimal groups of one number; the package microaggregation, if it is there, gives their error alone."""
    from incrowd.core.kernels.clusters.groups import least_squares_groups

    values = np.sort(np.random.default_rng(0).lognormal(8, 1, rows))
    slow, error = None, None
    if find_spec("microaggregation") is not None:
        from microaggregation import calculate_sse_dynamic

        slow, error = median_of(repeat, lambda: calculate_sse_dynamic(values[:, None], k))
    fast, starts = median_of(repeat, lambda: least_squares_groups(values, k))
    groups = np.split(values, starts[1:])
    ours = float(sum(((group - group.mean()) ** 2).sum() for group in groups))
    return {
        "rows": rows,
        "k": k,
        "microaggregation": slow,
        "incrowd": fast,
        "ratio": None if slow is None else slow / fast,
        "error of theirs over ours": None if error is None else error / ours,
    }


def shown(console: Console, title: str, lines: list[dict[str, Any]]) -> None:
    """Print lines of figures as a table; what could not be measured is left empty."""
    table = Table(title=title, title_justify="left")
    for name in lines[0]:
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(*map(_written, line.values()))
    console.print(table)


def _written(figure: str | int | float | None) -> str:
    if figure is None or isinstance(figure, str):
        return figure or ""
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.4g}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--adult", type=Path, help="folder with ARX's adult.csv and hierarchies")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    asked = parser.parse_args()
    tens = [10_000, 30_000, 100_000]
    small, peer, many = 10_000, [5_000, 50_000], 1_000_000
    if asked.quick:
        asked.rows, asked.repeat, tens, small, peer, many = [20_000], 1, [1_000], 1_000, [500], 10_000
    console = Console()
    schema = schema_of(SIX)
    clusterings = (ic.Clustering(), ic.MDAV(), ic.KMember(), ic.OKA())
    others = (
        ic.Agglomerative(),
        ic.Random(),
        ic.Mondrian(),
        ic.Mondrian(mode="relaxed"),
        ic.CellSuppression(),
    )
    start = time.perf_counter()
    for algorithm in (*clusterings, *others, ic.Microaggregation()):
        few = schema_of(("age",)) if isinstance(algorithm, ic.Microaggregation) else schema
        ic.anonymize(
            hospital(400), few, [ic.KAnonymity(5)], algorithm, max_suppression=1.0, unanswered="write"
        )
    console.print(f"first use of every kernel: {time.perf_counter() - start:.1f} s")

    figures: dict[str, list[Any]] = {}
    figures["Mondrian, six quasi-identifiers, k=10, seconds"] = [
        large(rows, asked.repeat if rows < 5_000_000 else 1) for rows in asked.rows
    ]
    figures["Clusterings, k=10, seconds"] = [
        searched(algorithm, hospital(rows), schema, 10, asked.repeat if rows < 50_000 else 1)
        for rows in tens
        for algorithm in (clusterings if rows < 50_000 else clusterings[:2])
    ]
    figures["Clustering, k=4, seconds"] = [
        searched(ic.Clustering(), hospital(rows), schema, 4, asked.repeat) for rows in tens[:2]
    ]
    figures["Others, one million rows, k=10, seconds"] = [
        searched(algorithm, hospital(many), schema, 10, 1) for algorithm in others
    ]
    limits = (2, 5, 10, 50)
    tables = shapes(tens[0])
    if asked.adult is not None:
        table, trees = read_adult(asked.adult)
        tables["Adult, ARX's hierarchies"] = table, ic.Schema(quasi=trees)
    for name, (table, columns) in tables.items():
        figures[f"Loss of local recoding, seconds and LM: {name}"] = losses(table, columns, limits)
    figures["Clustering beside NumPy, seconds"] = [
        line for rows in (small, 3 * small) for line in against_numpy(rows, 10, asked.repeat)
    ]
    figures["Mondrian beside anonypy, five quasi-identifiers, k=10, seconds"] = [
        against_anonypy(rows, 10, asked.repeat) for rows in peer
    ]
    figures["Optimal univariate microaggregation beside microaggregation, seconds"] = [
        against_microaggregation(many, k, asked.repeat) for k in (3, 10)
    ]
    for title, lines in figures.items():
        shown(console, title, lines)
    if asked.json is not None:
        asked.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
