"""Rows in databases beside rows in memory: seconds per stage, on one table of made-up hospital discharges.

``python benchmarks/databases.py [ROWS]`` starts a PostgreSQL server of its own in a temporary folder, where
PostgreSQL is installed; SQLite and DuckDB are files.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import incrowd as ic
from incrowd.samples import hospital

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from database_tables import fill_duckdb, fill_postgres, fill_sqlite
from postgres_server import running_server

QUASI = ["age", "sex", "zip", "marital_status", "admission_type"]
MODELS = [ic.KAnonymity(10)]


def schema() -> ic.Schema:
    """Return the columns that are used: five quasi-identifiers, one sensitive attribute."""
    return ic.Schema(
        quasi={
            name: ic.Hierarchy.prefix()
            if name == "zip"
            else ic.Hierarchy.intervals(5, 10, 20, 40)
            if name == "age"
            else None
            for name in QUASI
        },
        sensitive=["diagnosis"],
        unlisted="drop",
    )


def timed(table: object, algorithm: ic.Algorithm, folder: Path, explain: bool = False) -> dict[str, float]:
    """Anonymize a table, write it to a file and, in a database, into a new table."""
    figures: dict[str, float] = {}
    release = ic.anonymize(table, schema(), MODELS, algorithm, max_suppression=0.02, unanswered="write")
    for stage in ("count", "search", "apply", "check"):
        figures[stage] = release.seconds[stage]
    start = time.perf_counter()
    release.write(folder / "out.parquet", force=True)
    figures["to a file"] = time.perf_counter() - start
    if hasattr(release.table, "into"):
        if explain:
            figures["hash joins"] = plan(release)
        start = time.perf_counter()
        release.into("safe", force=True)
        figures["into a table"] = time.perf_counter() - start
    figures["keys"] = release.frequency.keys
    figures["loss"] = release.utility["loss"].value
    return figures


def plan(release: ic.Release) -> float:
    """Return how many hash joins PostgreSQL's plan for the new table has, and print the plan."""
    table = release.table.rows.table
    uploads, query = release.table.join(table.dialect)

    def lines_of(dialect, sql):
        # EXPLAIN is no query that can be copied out, as the driver has rows sent.
        with dialect._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(sql)
            return [row[0] for row in cursor.fetchall()]

    def ask(dialect):
        for name, upload in uploads.items():
            dialect.upload(name, *upload)
        plain = lines_of(dialect, "EXPLAIN " + query)
        dialect.joining()
        asked = lines_of(dialect, "EXPLAIN " + query)
        for name in uploads:
            dialect.drop_uploaded(name)
        return plain, asked

    plain, lines = table.database.ask(ask)
    print(
        "the planner's choice: "
        + "; ".join(line.strip()[:70] for line in plain if "->" in line or "Join" in line)
    )
    return float(sum("Hash" in line and "Join" in line for line in lines))


@contextlib.contextmanager
def databases(frame: pl.DataFrame, folder: Path) -> Iterator[Iterator[tuple[str, float, object]]]:
    """Give the table in every database, with the seconds that loading it took."""

    def each(stack: contextlib.ExitStack) -> Iterator[tuple[str, float, object]]:
        import duckdb

        start = time.perf_counter()
        url = stack.enter_context(running_server())
        start = time.perf_counter()
        fill_postgres(url, frame)
        yield "PostgreSQL", time.perf_counter() - start, stack.enter_context(ic.Database(url)).table("people")
        start = time.perf_counter()
        fill_sqlite(folder / "sqlite.db", frame)
        address = f"sqlite:///{folder}/sqlite.db"
        yield "SQLite", time.perf_counter() - start, stack.enter_context(ic.Database(address)).table("people")
        start = time.perf_counter()
        with contextlib.closing(duckdb.connect(str(folder / "duck.db"))) as connection:
            fill_duckdb(connection, frame)
        address = f"duckdb:///{folder}/duck.db"
        yield "DuckDB", time.perf_counter() - start, stack.enter_context(ic.Database(address)).table("people")

    with contextlib.ExitStack() as stack:
        yield each(stack)


def main(rows: int) -> None:
    """Print the figures."""
    frame = hospital(rows, 1).select(*QUASI, "diagnosis")
    # What is compiled when it is first used is compiled before.
    ic.anonymize(frame[:1000], schema(), [ic.KAnonymity(2)], ic.Mondrian(), unanswered="write")
    ic.anonymize(
        frame[:1000], schema(), [ic.KAnonymity(2)], ic.Optimal(), max_suppression=0.02, unanswered="write"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns = {}
        for algorithm in (ic.Mondrian(), ic.Optimal()):
            columns[f"memory, {algorithm.name}"] = timed(frame, algorithm, folder)
        with databases(frame, folder) as each:
            for title, seconds, table in each:
                for algorithm in (ic.Mondrian(), ic.Optimal()):
                    figures = timed(table, algorithm, folder, explain=title == "PostgreSQL")
                    columns[f"{title}, {algorithm.name}"] = {"load (aside)": seconds, **figures}
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    print(f"{rows:,} rows".ljust(26) + "".join(f"{stage:>14}" for stage in names))
    for title, figures in columns.items():
        print(title.ljust(26) + "".join(f"{figures.get(stage, float('nan')):14,.3f}" for stage in names))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
