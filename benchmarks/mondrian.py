"""How fast Mondrian is, beside pandas: medians of several runs, both sides in one process.

Run with ``make bench``, or ``python benchmarks/mondrian.py --help``.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from rich.console import Console
from rich.table import Table

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.samples import hospital
from incrowd.search import SearchProblem

SIX = ("age", "sex", "zip", "marital_status", "admission_date", "admission_type")
FIVE_NUMBERS = ("age", "zip_number", "admission_date", "length_of_stay", "cost")


def median_of(repeat: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Run `work` several times: median of the wall seconds, and the last result."""
    seconds = []
    result = None
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def schema_of(columns: tuple[str, ...]) -> ic.Schema:
    """Return the columns as quasi-identifiers, zip codes by prefix."""
    quasi = {name: ic.Hierarchy.prefix() if name == "zip" else None for name in columns}
    return ic.Schema(quasi=quasi, unlisted="drop")


def stages(repeat: int, table: Any, columns: tuple[str, ...], k: int) -> dict[str, float]:
    """Median seconds of each stage of `anonymize`, and the mean NCP."""
    schema = schema_of(columns)
    releases = [
        ic.anonymize(table, schema, [ic.KAnonymity(k)], ends="exact", unanswered="write")
        for _ in range(repeat)
    ]
    seconds = {
        name: statistics.median(release.seconds[name] for release in releases)
        for name in ("count", "search", "apply", "check")
    }
    seconds["ncp"] = releases[-1].utility["ncp"].value
    return seconds


def pandas_mondrian(frame: pd.DataFrame, columns: list[str], k: int) -> list[pd.Index]:
    """Mondrian as it is taught with pandas: a queue of row indexes, spans and medians per partition.

    The column with the largest raw span goes first (numbers: largest - smallest, texts: distinct values); a
    number is cut below its median, texts halve their values in order of appearance.
    """
    finished = []
    queue = deque([frame.index])
    numeric = {name: pd.api.types.is_numeric_dtype(frame[name]) for name in columns}
    while queue:
        rows = queue.popleft()
        part = frame.loc[rows]
        spans = {
            name: part[name].max() - part[name].min() if numeric[name] else part[name].nunique()
            for name in columns
        }
        for name in sorted(columns, key=lambda name: -spans[name]):
            values = part[name]
            if numeric[name]:
                left = values < values.median()
            else:
                seen = values.unique()
                left = values.isin(seen[: len(seen) // 2])
            if left.sum() >= k and (~left).sum() >= k:
                queue += [rows[left.to_numpy()], rows[~left.to_numpy()]]
                break
        else:
            finished.append(rows)
    return finished


def ncp_of(frame: pd.DataFrame, columns: list[str], classes: list[pd.Index]) -> float:
    """Mean NCP of a partition of rows: relative range of numbers, share of distinct values of texts."""
    total = 0.0
    for name in columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            extent = column.max() - column.min()
            total += sum(len(rows) * (column[rows].max() - column[rows].min()) / extent for rows in classes)
        else:
            distinct = [(len(rows), column[rows].nunique()) for rows in classes]
            total += sum(size * n for size, n in distinct if n > 1) / column.nunique()
    return total / len(frame) / len(columns)


def against_pandas(repeat: int, table: pl.DataFrame, k: int) -> dict[str, Any]:
    """One table, both sides; dates as day numbers and no hierarchies, so that both cut the same things."""
    columns = list(SIX)
    frame = table.select(
        "age", "sex", "zip", "marital_status", "admission_type", pl.col("admission_date").to_physical()
    ).to_pandas()
    slow, partition = median_of(1, lambda: pandas_mondrian(frame, columns, k))
    schema = ic.Schema(quasi=columns)

    def ours() -> list[pd.Index]:
        frequency = engine_for(frame).count(schema).frequency
        recoding = ic.Mondrian().search(SearchProblem(frequency, [ic.KAnonymity(k)], schema.quasi)).recoding
        assert isinstance(recoding, ic.Local)
        assert frequency.row_keys is not None
        of_row = recoding.class_of_key[frequency.row_keys]
        order = np.argsort(of_row, kind="stable")
        return [pd.Index(part) for part in np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1)]

    fast, classes = median_of(repeat, ours)
    return {
        "rows": len(frame),
        "pandas": slow,
        "incrowd": fast,
        "ratio": slow / fast,
        "pandas_ncp": ncp_of(frame, columns, partition),
        "incrowd_ncp": ncp_of(frame, columns, classes),
    }


def teaching_figure() -> int | None:
    """Partitions of the UCI Adult table by age and education-num at k=3, where the table is at hand."""
    path = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult" / "adult.all.txt.gz"
    if not path.is_file():
        return None
    frame = pd.read_csv(path, sep=", ", header=None, engine="python")[[0, 4]]
    frame.columns = pd.Index(["age", "education-num"])
    return len(pandas_mondrian(frame, ["age", "education-num"], 3))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--pandas-rows", type=int, nargs="*", default=[5_000, 50_000, 200_000])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    asked = parser.parse_args()
    if asked.quick:
        asked.rows, asked.repeat, asked.pandas_rows = 20_000, 2, [1_000]
    console = Console()

    start = time.perf_counter()
    ic.anonymize(hospital(2_000), schema_of(SIX), [ic.KAnonymity(10)], unanswered="write")
    ic.anonymize(hospital(100_000), schema_of(SIX), [ic.KAnonymity(10)], unanswered="write")
    console.print(
        f"first use (compiling, or loading what was compiled before): {time.perf_counter() - start:.1f} s"
    )

    table = hospital(asked.rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    six = stages(asked.repeat, table, SIX, 10)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    frame = table.select(SIX).to_pandas()
    texts, _ = median_of(asked.repeat, lambda: [frame.groupby(name).size() for name in SIX])
    plain = frame.astype(object)
    objects, _ = median_of(asked.repeat, lambda: [plain.groupby(name).size() for name in SIX])
    coded = frame.astype("category")
    codes, _ = median_of(asked.repeat, lambda: [coded.groupby(name, observed=True).size() for name in SIX])

    wide = table.with_columns(zip_number=pl.col("zip").cast(pl.Int64))
    five = stages(asked.repeat, wide, FIVE_NUMBERS, 5)

    shown = Table(title=f"Mondrian, {asked.rows:,} rows, medians of {asked.repeat} (seconds)")
    for name in ("", "count", "search", "apply", "check", "sum", "mean NCP"):
        shown.add_column(name, justify="left" if not name else "right")
    for title, figures in (("6 QIs, k=10", six), ("5 numeric QIs, k=5", five)):
        parts = [figures[name] for name in ("count", "search", "apply", "check")]
        shown.add_row(title, *(f"{part:.3f}" for part in (*parts, sum(parts))), f"{figures['ncp']:.4f}")
    console.print(shown)
    for kind, seconds in (("Python objects", objects), ("Arrow texts", texts), ("categories", codes)):
        console.print(
            f"pandas groups the table once per attribute ({kind}) in {seconds:.3f} s, "
            f"{seconds / six['search']:.2f} times the search"
        )
    console.print(f"peak memory grew by {grown / 1024:,.0f} MiB over the table")

    compared = [against_pandas(asked.repeat, hospital(rows), 10) for rows in asked.pandas_rows]
    shown = Table(title="The same table by Mondrian in pandas, 6 QIs without hierarchies, k=10")
    for name in ("rows", "pandas s", "incrowd s", "ratio", "pandas NCP", "incrowd NCP"):
        shown.add_column(name, justify="right")
    for row in compared:
        shown.add_row(
            f"{row['rows']:,}", f"{row['pandas']:.2f}", f"{row['incrowd']:.4f}", f"{row['ratio']:,.0f}",
            f"{row['pandas_ncp']:.4f}", f"{row['incrowd_ncp']:.4f}",
        )  # fmt: skip
    console.print(shown)
    partitions = None if asked.quick else teaching_figure()
    if partitions is not None:
        console.print(f"self-check of the pandas side on UCI Adult: {partitions} partitions (published: 477)")
    if asked.json:
        figures = {
            "machine": platform.machine(),
            "six": six,
            "five": five,
            "pandas_groupby": {"objects": objects, "texts": texts, "categories": codes},
            "pandas_mondrian": compared,
            "peak_growth_kib": grown,
            "adult_partitions": partitions,
        }
        asked.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
