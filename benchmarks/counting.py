"""Counting rows by columns of many distinct values, beside a group-by of the same columns.

Rows are counted by age, sex and one more column, beside Polars. With ``--seven``, rows of the table `tail` of
`billion.py` are counted by its seven columns, beside Polars and DuckDB. The figures are seconds of
processors, the least of some runs: those of all sides take turns.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import incrowd as ic
from billion import TABLES, rows_of, schema
from incrowd.engines import engine_for

LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789", np.uint8)


def words(random: np.random.Generator, count: int, shortest: int, longest: int) -> pl.Series:
    """Make up texts of letters and digits; hardly any is there twice."""
    lengths = random.integers(shortest, longest + 1, count)
    letters = LETTERS[random.integers(0, len(LETTERS), lengths.sum())].tobytes().decode()
    ends = np.cumsum(lengths).tolist()
    return pl.Series(
        [letters[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]
    )


def drawn(random: np.random.Generator, rows: int, values: pl.Series) -> pl.Series:
    """Draw each row's value."""
    return values.gather(random.integers(0, len(values), rows))


def some(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw from texts that are a twentieth of the rows."""
    return drawn(random, rows, words(random, rows // 20, 8, 40))


def many(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw from texts that are a third as many as the rows."""
    return drawn(random, rows, words(random, rows * 3 // 10, 8, 40))


def short(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw from texts that Polars holds beside their lengths."""
    return drawn(random, rows, words(random, rows * 3 // 10, 8, 12))


def some_missing(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw as `many` does, and leave out a tenth."""
    missing = pl.Series(random.random(rows) < 0.1)
    return many(random, rows).to_frame("x").select(pl.when(~missing).then("x")).to_series()


def categories(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw as `many` does, and store it as categories."""
    return many(random, rows).cast(pl.Categorical)


def said_missing(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw as `many` does, where some texts mean missing."""
    told = pl.Series(random.choice(["n/a", "?", ""], rows, p=[0.05, 0.05, 0.9]))
    missing = pl.Series(told != "")
    return many(random, rows).to_frame("x").select(pl.when(~missing).then("x").otherwise(told)).to_series()


def each_another(random: np.random.Generator, rows: int) -> pl.Series:
    """Give each row another text."""
    return words(random, rows, 8, 40)


def long_alike(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw from long texts many of which begin alike."""
    streets = words(random, 200, 12, 20)
    begins = drawn(random, rows * 3 // 10, streets)
    return drawn(random, rows, "Street of " + begins + " " + words(random, rows * 3 // 10, 3, 6))


def written_numbers(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw whole numbers that are texts."""
    return pl.Series(random.integers(0, rows * 3 // 10, rows)).cast(pl.String)


def days(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw days of 55 years."""
    return pl.Series(random.integers(0, 20_000, rows).astype(np.int32)).cast(pl.Date)


def moments(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw points of time to the second."""
    pool = random.integers(10**9, 2 * 10**9, rows * 3 // 10) * 10**6
    return drawn(random, rows, pl.Series(pool)).cast(pl.Datetime("us"))


def decimals(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw numbers with two decimals."""
    return drawn(random, rows, pl.Series(np.round(random.random(rows * 3 // 10) * 1e6, 2)))


def wide_integers(random: np.random.Generator, rows: int) -> pl.Series:
    """Draw whole numbers that lie far apart."""
    return drawn(random, rows, pl.Series(random.integers(-(2**62), 2**62, rows * 3 // 10)))


COLUMNS: dict[str, Callable[[np.random.Generator, int], pl.Series]] = {
    "50,000 texts": some,
    "300,000 texts": many,
    "300,000 texts of 8 to 12 characters": short,
    "300,000 texts, and a tenth is missing": some_missing,
    "300,000 texts, categories": categories,
    "300,000 texts, two null values": said_missing,
    "300,000 long texts that begin alike": long_alike,
    "1,000,000 texts": each_another,
    "300,000 numbers as texts": written_numbers,
    "20,000 days": days,
    "300,000 points of time": moments,
    "300,000 numbers with two decimals": decimals,
    "300,000 whole numbers that lie far apart": wide_integers,
}


def table_of(name: str, rows: int) -> pl.DataFrame:
    """Make up a table whose third column has a name of `COLUMNS`."""
    random = np.random.default_rng(1)
    age: NDArray[np.int64] = random.integers(0, 100, rows)
    sex = random.choice(["F", "M"], rows)
    return pl.DataFrame({"age": age, "sex": sex, "x": COLUMNS[name](random, rows)})


def least(repeat: int, *works: Callable[[], Any]) -> list[float]:
    """Return the least processor seconds of each work; they take turns."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(repeat + 1):
        for work, seconds in zip(works, taken, strict=True):
            gc.collect()
            start = process_time()
            work()
            seconds.append(process_time() - start)
    # The first run loads what was compiled.
    return [min(seconds[1:]) for seconds in taken]


def measure(name: str, rows: int, repeat: int) -> dict[str, Any]:
    """Count a table by both."""
    table = table_of(name, rows)
    null_values = ("n/a", "?") if "null values" in name else ()
    schema = ic.Schema(quasi=list(table.columns), null_values=null_values)
    peer = partial(table.group_by(table.columns).agg, pl.len())
    theirs, ours = least(repeat, peer, lambda: engine_for(table).count(schema).frequency)
    return {"column": name, "Polars": theirs, "ours": ours, "ratio": ours / theirs}


def seven(millions: int, repeat: int) -> dict[str, Any]:
    """Count a table of people by seven columns, the last of them sensitive."""
    import duckdb

    table = pl.concat([rows_of(seed, TABLES["tail"]) for seed in range(millions)], rechunk=True)
    connection = duckdb.connect().register("rows", table.to_arrow())
    listed = f"SELECT {', '.join(table.columns)}, count(*) FROM rows GROUP BY ALL"
    works = {
        "Polars": partial(table.group_by(table.columns).agg, pl.len()),
        "DuckDB": lambda: connection.sql(listed).to_arrow_table(),
        "ours": lambda: engine_for(table).count(schema()).frequency,
    }
    return dict(zip(works, least(repeat, *works.values()), strict=True))


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--seven", type=int, metavar="MILLIONS", help="count so many rows by seven columns")
    parser.add_argument("--only", default="", help="only columns with this in their name")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rows, chosen.repeat = 60_000, 1
    if chosen.seven:
        for name, seconds in seven(chosen.seven, chosen.repeat).items():
            print(f"{name:10}{seconds:8.3f}")
        return
    print(f"{chosen.rows:,} rows; processor seconds; load {os.getloadavg()[0]:.1f}")
    print(f"{'':42}{'Polars':>10}{'ours':>10}{'ratio':>10}")
    found = []
    for name in COLUMNS:
        if chosen.only not in name:
            continue
        row = measure(name, chosen.rows, chosen.repeat)
        print(f"{name:42}{row['Polars']:10.3f}{row['ours']:10.3f}{row['ratio']:10.2f}")
        found.append(row)
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
