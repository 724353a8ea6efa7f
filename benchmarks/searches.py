"""What whole searches of the lattice cost: nodes looked at, and the time of each.

Run with ``python benchmarks/searches.py --adult DIR``, where DIR has ARX's ``adult.csv`` and its hierarchies.
``--json FILE`` keeps the figures. ``--against FILE`` prints the ratio to figures that an earlier commit kept.
``--arx CLASSPATH`` lets ARX do the same searches in the same run, warm and in one Java machine, and begins
each line with the ratio of its seconds to ours. CLASSPATH names ARX's classes and libraries; a JDK is needed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
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
from lattice import read_adult

ARX = Path(__file__).with_name("ArxSearches.java")
METRICS = ("loss", "precision", "non-uniform-entropy", "discernibility", "average-class-size")
LIMITS = (0.0, 0.02, 0.05)


class Case(NamedTuple):
    """One search."""

    name: str
    table: pl.DataFrame
    frequency: FrequencyTable
    schema: Schema
    models: list[ic.PrivacyModel]
    limit: float
    metric: str

    @property
    def title(self) -> str:
        """The case in one line; figures of two commits are matched by it."""
        return (
            f"{self.name}, {', '.join(str(model) for model in self.models)}, {self.limit:.0%}, {self.metric}"
        )


def adult_cases(folder: Path) -> Iterator[Case]:
    """Search UCI Adult, 30,162 rows: sizes by every metric, then sensitive models by loss."""
    table, trees = read_adult(folder)
    schema = ic.Schema(quasi=trees)
    counted = engine_for(table).count(schema).frequency
    for metric in METRICS:
        for k in (2, 5, 10, 100):
            for limit in LIMITS:
                yield Case("Adult", table, counted, schema, [ic.KAnonymity(k)], limit, metric)
    sensitive = ic.Schema(
        quasi={name: trees[name] for name in trees if name != "occupation"},
        sensitive={"occupation": trees["occupation"]},
    )
    counted = engine_for(table).count(sensitive).frequency
    for model in (ic.LDiversity(3), ic.TCloseness(0.2, "equal"), ic.TCloseness(0.2, "hierarchical")):
        for limit in LIMITS:
            yield Case("Adult", table, counted, sensitive, [ic.KAnonymity(5), model], limit, "loss")


def hospital_cases(rows: int) -> Iterator[Case]:
    """Search a made-up table with eight quasi-identifiers, nearly every record apart."""
    table = hospital(rows)
    schema = hospital_schema()
    counted = engine_for(table).count(schema).frequency
    for metric in METRICS:
        for limit in LIMITS:
            yield Case(f"hospital {rows:,}", table, counted, schema, [ic.KAnonymity(5)], limit, metric)


def banded(leaves: int, widths: Sequence[int] = ()) -> ic.Hierarchy:
    """Put the numbers below a limit into bands of such widths, each a multiple of the one before."""
    return ic.Hierarchy.from_paths(
        [f"{n}", *(f"{n // width * width} and {width - 1} more" for width in widths), "*"]
        for n in range(leaves)
    )


def donors(rows: int = 63_441) -> tuple[pl.DataFrame, Schema]:
    """Make up donors as those of KDD Cup 1998: nearly all apart, hierarchies of far more leaves than values.

    The lattice has 45,000 nodes, the leaves of all hierarchies take 66 bits, and the values that occur 58.
    """
    rng = np.random.default_rng(0)
    state = np.minimum(rng.geometric(0.06, rows) - 1, 49)
    gifts = np.minimum(1 + rng.geometric(0.11, rows), 236)
    mean = rng.lognormal(2.3, 0.7, rows)
    usual = np.where(rng.random(rows) < 0.8, mean * rng.uniform(0.2, 1, rows), 5)
    age = np.where(rng.random(rows) < 0.02, 0, np.clip(rng.normal(61, 17, rows), 1, 98))
    columns = {
        "zip": state * 2_000 + np.minimum(rng.exponential(250, rows).astype(np.int64), 999),
        "age": age,
        "gender": rng.choice(3, rows, p=[0.54, 0.43, 0.03]),
        "income": rng.integers(0, 8, rows),
        "state": state,
        "least gift": np.clip(usual, 1, 999),
        "all gifts": np.minimum(gifts * mean, 9_999),
        "gifts": gifts,
    }
    zips = [f"{n:05}" for n in range(100_000) if n % 2_000 < 1_000]
    trees = {
        "zip": ic.Hierarchy.from_paths(
            [code[:n].ljust(5, "#") for n in (5, 4, 3, 2, 1)] + ["*"] for code in zips
        ),
        "age": banded(100, (5, 10, 20)),
        "gender": banded(3),
        "income": banded(8, (2,)),
        "state": banded(50),
        "least gift": banded(1_000, (5, 20, 100)),
        "all gifts": banded(10_000, (50, 200, 1_000)),
        "gifts": banded(240, (5, 10, 40)),
    }
    table = pl.DataFrame({name: values.astype(np.int64) for name, values in columns.items()})
    texts = table.select(pl.col("zip").cast(pl.String).str.zfill(5), pl.exclude("zip").cast(pl.String))
    return texts, ic.Schema(quasi=trees)


def donor_cases(rows: int) -> Iterator[Case]:
    """Search made-up donors by loss and by average class size."""
    table, schema = donors(rows)
    counted = engine_for(table).count(schema).frequency
    for metric in ("loss", "average-class-size"):
        for k in (2, 5):
            for limit in LIMITS:
                yield Case(f"donors {rows:,}", table, counted, schema, [ic.KAnonymity(k)], limit, metric)


def measured(case: Case, repeat: int, most: float) -> dict[str, Any]:
    """Search once to warm up, then as often as asked, but not beyond so many seconds."""
    problem = SearchProblem(case.frequency, case.models, case.schema.quasi, case.limit)
    seconds, busy = [], []
    space: Any = None
    for run in range(repeat + 1):
        start, work = time.perf_counter(), time.process_time()
        space = ic.Optimal(case.metric, "geometric-mean").search(problem).lattice
        taken = time.perf_counter() - start
        if run or taken > most:
            seconds.append(taken)
            busy.append(time.process_time() - work)
        if sum(seconds) > most:
            break
    looked = len(space.nodes)
    return {
        "search": case.title,
        "nodes": looked,
        "ms a node": 1000 * median(busy) / looked,
        "seconds": median(seconds),
        "CPU seconds": median(busy),
        "score": space.best.score,
        "proved": space.proved,
    }


def whole_call(case: Case, repeat: int) -> float:
    """Return the seconds of counting, searching and recoding a table, in the middle of some calls."""
    algorithm = ic.Optimal(case.metric, "geometric-mean")
    taken = []
    for _ in range(repeat + 1):
        release = ic.anonymize(
            case.table, case.schema, case.models, algorithm, max_suppression=case.limit, keep_order=True,
            suppressed="keep", force=True, unanswered="write")  # fmt: skip
        taken.append(math.fsum(release.seconds[stage] for stage in ("count", "search", "apply")))
    return median(taken[1:])


def by_arx(cases: Sequence[Case], classpath: str, repeat: int) -> dict[str, dict[str, Any]]:
    """Return the figures of ARX for the searches that it knows, by their titles."""
    found = {}
    for name in dict.fromkeys(case.name for case in cases):
        known = {case.title: _for_arx(case) for case in cases if case.name == name}
        known = {title: line for title, line in known.items() if line is not None}
        with TemporaryDirectory() as folder:
            for case in cases:
                if case.title in known:
                    _export(case, Path(folder))
            program = ["java", "-Xmx8g", "-cp", classpath, str(ARX), folder, str(repeat)]
            done = subprocess.run(
                program, input="\n".join(known.values()), text=True, capture_output=True, check=False
            )
        if done.returncode:
            raise SystemExit(done.stderr)
        found |= dict(zip(known, map(json.loads, done.stdout.splitlines()), strict=True))
    return found


def _for_arx(case: Case) -> str | None:
    """Return a search as `ArxSearches.java` reads it; None where it has another model."""
    sizes, others = case.models[0], case.models[1:]
    if any(not isinstance(model, ic.TCloseness) for model in others) or case.name.startswith("hospital"):
        return None
    sensitive = case.schema.sensitive[0].name if others else "-"
    names = ",".join(attribute.name for attribute in case.schema.quasi)
    kind = others[0].distance if others else "-"
    return "|".join([names, sensitive, case.metric, f"{sizes.k}", f"{case.limit}", kind])


def _export(case: Case, folder: Path) -> None:
    """Write a table and its hierarchies as ARX reads them."""
    case.table.write_csv(folder / "data.csv", separator=";")
    for attribute in (*case.schema.quasi, *case.schema.sensitive):
        assert isinstance(attribute.hierarchy, ic.Hierarchy)
        attribute.hierarchy.write(folder / f"{attribute.name}.csv")


def beside(row: dict[str, Any], case: Case, theirs: dict[str, Any], repeat: int) -> dict[str, Any]:
    """Return ratios and figures of a search by both."""
    call = whole_call(case, repeat)
    return {
        "ARX / ours": theirs["search"] / row["seconds"],
        "search": row["search"],
        "ARX's s": theirs["search"],
        "our s": row["seconds"],
        "ARX's nodes": theirs["nodes"],
        "our nodes": row["nodes"],
        "calls: ARX / ours": theirs["call"] / call,
        "ARX's call": theirs["call"],
        "our call": call,
    }


def compared(row: dict[str, Any], before: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Add how many times fewer nodes and less time it took than before."""
    known = before.get(row["search"])
    if known is None:
        return row
    if abs(known["score"] - row["score"]) > 1e-9 * max(1.0, abs(row["score"])):
        raise SystemExit(f"{row['search']}: score {row['score']}, before {known['score']}")
    return row | {
        "fewer nodes": known["nodes"] / row["nodes"],
        "less time": known["CPU seconds"] / row["CPU seconds"],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path, help="folder with ARX's adult.csv and hierarchies")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the made-up table; 0 for none")
    parser.add_argument("--donors", type=int, default=63_441, help="rows of the made-up donors; 0 for none")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="only searches with this in their name")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    parser.add_argument("--against", type=Path, help="figures of an earlier commit, written by --json")
    parser.add_argument("--arx", metavar="CLASSPATH", help="compare with ARX, whose classes are there")
    parser.add_argument("--quick", action="store_true", help="only try whether it runs")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.donors, options.repeat = 2_000, 2_000, 1
    os.environ.setdefault("INCROWD_THREADS", "1")
    before = json.loads(options.against.read_text()) if options.against else []
    cases = list(adult_cases(options.adult)) if options.adult else []
    cases += list(hospital_cases(options.rows)) if options.rows else []
    cases += list(donor_cases(options.donors)) if options.donors else []
    cases = [case for case in cases if options.only in case.title]
    theirs = by_arx(cases, options.arx, options.repeat) if options.arx else {}
    rows = []
    for case in cases:
        row = measured(case, options.repeat, most=5.0)
        if case.title in theirs:
            rows.append(beside(row, case, theirs[case.title], options.repeat))
        elif not theirs:
            rows.append(compared(row, {each["search"]: each for each in before}))
    out = Console(width=None if os.isatty(1) else 200)
    shown = Table(title="Searches of the lattice", box=None)
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        shown.add_column(name, justify="left" if name == "search" else "right")
    for row in rows:
        values = [row.get(name, "") for name in names]
        shown.add_row(*(f"{value:,.4g}" if isinstance(value, float) else f"{value}" for value in values))
    out.print(shown)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
