"""One table: each piece of work beside a peer, and beside what the machine allows, measured in one run.

``python benchmarks/overview.py`` prints it as Markdown. ``--page benchmarks/README.md`` writes it between
the two marks of that page, and into the evidence. ``--only WORD`` takes the parts with that word. The peers
are not installed with incrowd: ``pip install anonypy microaggregation pycanon``. Where one is not there, its
time is that of an earlier run, and is marked.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import incrowd as ic
import interfaces
import local
import models
import people
import searches
import treatments
from first_run import timed
from incrowd.core.kernels.jit import thread_count
from incrowd.engines import engine_for
from incrowd.samples import hospital
from lattice import ARX_SECONDS, read_adult
from mondrian import SIX, against_pandas, median_of, schema_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import evidence
from evidence import BEGIN, END

ROOT = Path(__file__).resolve().parents[1]

DATA = ROOT.parent / "shared" / "data"
HEAD = ("ratio", "work", "peer", "peer's time", "ours")
LIMITS = ("work", "limit", "what sets it")
EARLIER = {"anonypy": 15.0, "microaggregation": 0.098, "pyCANON": 53.6, "ARX, local recoding": 2.9}
"""Seconds of programs that may not be at hand, on two quiet cores; ARX 3.9 in one warm Java machine."""
PACKAGES = {
    "Polars": "polars", "pandas": "pandas", "NumPy": "numpy", "anonypy": "anonypy",
    "microaggregation": "microaggregation", "pyCANON": "pycanon",
}  # fmt: skip
"""The package of each program that a peer names."""
FIVE = ("age", "sex", "marital_status", "admission_type", "length_of_stay")


@dataclass(frozen=True)
class Row:
    """One piece of work.

    Attributes
    ----------
    peer
        Another program, or another way of this one, which begins with "the".
    theirs, ours
        Seconds.
    limit, limited_by
        Seconds that no program can do without on this machine, and what takes them.
    earlier
        Whether the peer's seconds are of an earlier run.
    """

    work: str
    peer: str
    theirs: float
    ours: float
    limit: float | None = None
    limited_by: str = ""
    earlier: bool = False

    @property
    def ratio(self) -> float:
        """How many times as long the peer takes."""
        return self.theirs / self.ours

    def line(self) -> str:
        """Return the row in Markdown."""
        theirs = f"{seconds(self.theirs)}{' †' if self.earlier else ''}"
        cells = (times(self.ratio), self.work, with_version(self.peer), theirs, seconds(self.ours))
        return f"| {' | '.join(cells)} |"


def with_version(peer: str) -> str:
    """Add the version of the program that a peer names, where it is installed."""
    for program, package in PACKAGES.items():
        if program in peer:
            with suppress(PackageNotFoundError):
                return peer.replace(program, f"{program} {version(package)}", 1)
    return peer


def seconds(figure: float) -> str:
    """Write seconds with three digits at most."""
    return f"{_three(figure)} s"


def times(ratio: float) -> str:
    """Write a ratio with two digits, or whole."""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def _three(figure: float) -> str:
    places = 2 - math.floor(math.log10(figure)) if figure > 0 else 0
    return f"{figure:.{max(places, 0)}f}"


class Machine:
    """What this machine does without any program of ours."""

    @cached_property
    def bytes_per_second(self) -> float:
        """Bytes of memory that are read or written in a second, by a plain copy of 256 MiB on one core."""
        source = np.ones(1 << 25)
        target = np.empty_like(source)
        taken, _ = median_of(5, lambda: np.copyto(target, source))
        return 2 * source.nbytes / taken

    def reading(self, size: float) -> float:
        """Return the seconds that so many bytes of memory take."""
        return size / self.bytes_per_second

    def copying(self, file: Path) -> float:
        """Return the seconds in which the system copies a file."""
        return median_of(3, lambda: shutil.copyfile(file, file.with_suffix(".copy")))[0]


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes
    ----------
    million
        Rows of large tables.
    plain
        Rows that Mondrian in pandas gets.
    records
        Rows that clusterings get.
    adult
        The folder with ARX's Adult, where it is at hand.
    uci
        UCI Adult as pyCANON has it.
    arx
        Where ARX's classes are, if they are at hand.
    """

    million: int
    plain: int
    records: int
    repeat: int
    adult: Path | None
    uci: Path | None
    arx: str | None


def counting(sizes: Sizes, machine: Machine) -> Iterator[Row]:
    """Count the combinations of six columns."""
    table = hospital(sizes.million).select(SIX)
    schema = schema_of(SIX)
    engine_for(table).count(schema)
    ours, _ = median_of(sizes.repeat, lambda: engine_for(table).count(schema).frequency)
    theirs, _ = median_of(sizes.repeat, lambda: table.group_by(*SIX).len())
    yield Row(
        f"count {sizes.million:,} rows by six columns",
        "Polars, group-by",
        theirs,
        ours,
        machine.reading(table.estimated_size()),
        "reading the columns once",
    )


def mondrian(sizes: Sizes, machine: Machine) -> Iterator[Row]:
    """Cut a table by Mondrian."""
    table = hospital(sizes.plain)
    found = against_pandas(sizes.repeat, table, 10)
    # Each level reads and writes codes of 2 bytes, weights and numbers of 8; classes have 10 rows at least.
    level = 2 * sizes.plain * (2 * len(SIX) + 16)
    yield Row(
        f"Mondrian, {sizes.plain:,} rows, six quasi-identifiers, k=10",
        "Mondrian in pandas",
        found["pandas"],
        found["incrowd"],
        machine.reading(level * math.ceil(math.log2(sizes.plain / 20))),
        "moving the keys once a level",
    )
    found = local.against_anonypy(sizes.plain, 10, sizes.repeat)
    theirs, earlier = _or_earlier("anonypy", found["anonypy"])
    yield Row(
        f"Mondrian, {sizes.plain:,} rows, five quasi-identifiers, whole job",
        "anonypy",
        theirs,
        found["incrowd"],
        earlier=earlier,
    )


def clusterings(sizes: Sizes, machine: Machine) -> Iterator[Row]:
    """Put records into classes by distance."""
    algorithms = (ic.Clustering(), ic.KMember(), ic.Agglomerative())
    for found in local.against_numpy(sizes.records, 10, sizes.repeat, algorithms):
        yield Row(
            f"{found['algorithm']}, {sizes.records:,} rows, k=10",
            "clustering in NumPy",
            found["numpy"],
            found["incrowd"],
        )
    found = local.against_microaggregation(sizes.million, 3, sizes.repeat)
    theirs, earlier = _or_earlier("microaggregation", found["microaggregation"])
    yield Row(
        f"optimal groups of {sizes.million:,} numbers, k=3",
        "microaggregation (C++)",
        theirs,
        found["incrowd"],
        machine.reading(8 * sizes.million),
        "reading the numbers once",
        earlier=earlier,
    )


def optimal(sizes: Sizes, machine: Machine) -> Iterator[Row]:
    """Search Adult for the optimal full-domain recoding, and for a local one."""
    if sizes.adult is None:
        return
    table, trees = read_adult(sizes.adult)
    schema = ic.Schema(quasi=trees)
    counted = engine_for(table).count(schema).frequency
    cases = [
        searches.Case("Adult", table, counted, schema, [ic.KAnonymity(5)], limit, "loss")
        for limit in searches.LIMITS
    ]
    arx = searches.by_arx(cases, sizes.arx, sizes.repeat) if sizes.arx else {}
    for case in cases:
        found = searches.measured(case, sizes.repeat, most=120.0)
        yield Row(
            f"optimal recoding of Adult, k=5, {case.limit:.0%} suppressed",
            "ARX 3.9",
            arx[case.title]["search"] if arx else ARX_SECONDS[case.limit],
            found["seconds"],
            earlier=not arx,
        )
    found = local.searched(ic.Agglomerative(), table, schema, 5, sizes.repeat)
    theirs, earlier = _or_earlier("ARX, local recoding", None)
    yield Row(
        f"agglomerative recoding of Adult, k=5: loss {found['loss']:.4f}, ARX's 0.0589",
        "ARX 3.9, local recoding",
        theirs,
        found["search"],
        earlier=earlier,
    )


def assessment(sizes: Sizes, machine: Machine) -> Iterator[Row]:
    """Measure privacy models."""
    found = models.one_table(sizes.million, sizes.repeat)["released, k=10"]
    yield Row(
        f"{found['figures']} figures, {sizes.million:,} rows, three sensitive columns",
        "Polars, a group-by with each",
        found["group-bys with each attribute"],
        found["count"] + found["models"],
        found["group-by"],
        "Polars' group-by without them",
    )
    if sizes.uci is not None:
        measured = models.beside_pycanon(sizes.uci, sizes.repeat)
        theirs, earlier = _or_earlier("pyCANON", measured["pyCANON"])
        yield Row(
            "nine measures of UCI Adult",
            "pyCANON",
            theirs,
            measured["incrowd"],
            earlier=earlier,
        )


def by_people(sizes: Sizes, machine: Machine) -> Iterator[Row]:
    """Count people in place of rows."""
    for found in people.measure(sizes.million, sizes.million * 3 // 10, sizes.repeat, 2):
        yield Row(
            f"{found['job']}, by people, {sizes.million:,} rows",
            "the same job by rows",
            found["rows, s"],
            found["people, s"],
        )


def treated(sizes: Sizes, machine: Machine) -> Iterator[Row]:
    """Release with a pseudonym and shifted dates."""
    people_of = sizes.million * 2 // 5
    kinds = [(dates, stream) for dates in (1, 2) for stream in (False, True)]
    for dates, stream in kinds:
        found = treatments.measure(sizes.million, people_of, sizes.repeat, dates, stream=stream)
        yield Row(
            f"pseudonym and {'one shifted date' if dates == 1 else 'two shifted dates'}, "
            f"{sizes.million:,} rows, {'streaming' if stream else 'in memory'}",
            "the same job without",
            found["released"],
            found["treated"],
            found["copied"],
            "Polars reads and writes the file",
        )


def commands(sizes: Sizes, machine: Machine) -> Iterator[Row]:
    """Run the command line from CSV to CSV, and check what it wrote."""
    policy = ic.Policy(ic.Schema(quasi=list(FIVE), sensitive=["diagnosis"], unlisted="drop"), "k-anonymity:5")
    with TemporaryDirectory() as name:
        folder = Path(name)
        raw = folder / "raw.csv"
        hospital(sizes.million).select(*FIVE, "diagnosis").write_csv(raw)
        policy.write(folder / "policy.toml")
        said = ["--policy", "policy.toml"]
        program = [sys.executable, "-m", "incrowd"]
        copy = "import polars; polars.read_csv('raw.csv', infer_schema=False).write_csv('copy.csv')"
        way = {
            "anonymize": [
                *program,
                "anonymize",
                "raw.csv",
                *said,
                "-o",
                "out.csv",
                "--force",
                "--unanswered",
                "write",
            ],
            "verify": [*program, "verify", "out.csv", *said],
            "Polars": [sys.executable, "-c", copy],
        }
        taken: dict[str, list[float]] = {each: [] for each in way}
        # The first round compiles.
        for turn in range(sizes.repeat + 1):
            for each, command in way.items():
                wall, _ = timed(command, folder, PYTHONPATH=str(ROOT / "src"))
                taken[each] += [wall] if turn else []
        figures = {each: median(times) for each, times in taken.items()}
        limit = machine.copying(raw)
    yield Row(
        f"`incrowd anonymize`, {sizes.million:,} rows, CSV to CSV",
        "Polars reads and writes it",
        figures["Polars"],
        figures["anonymize"],
        limit,
        "copying the file",
    )
    yield Row(
        f"`incrowd verify`, {sizes.million:,} rows",
        "the job that wrote it",
        figures["anonymize"],
        figures["verify"],
    )


def published(sizes: Sizes, machine: Machine) -> Iterator[Row]:
    """Call the published interfaces."""
    small = sizes.million < 100_000
    lines = (
        *interfaces.notebook(2_000 if small else 48_842),
        *interfaces.homework(100 if small else 400),
        *interfaces.p29(2_000 if small else 100_000),
    )
    for each in lines:
        yield Row(each.what, "plain Python", each.plain, each.ours)


PARTS: dict[str, Callable[[Sizes, Machine], Iterator[Row]]] = {
    "count": counting,
    "Mondrian": mondrian,
    "clusterings": clusterings,
    "optimal": optimal,
    "models": assessment,
    "people": by_people,
    "treatments": treated,
    "commands": commands,
    "interfaces": published,
}


def _or_earlier(peer: str, measured: float | None) -> tuple[float, bool]:
    """Return a peer's seconds, and whether they are of an earlier run."""
    return (EARLIER[peer], True) if measured is None else (measured, False)


def tables_of(rows: list[Row]) -> str:
    """Return the rows and their limits in Markdown."""
    limits = [
        f"| {row.work} | {seconds(row.limit)} | {row.limited_by} |" for row in rows if row.limit is not None
    ]
    return "\n".join(
        [
            f"| {' | '.join(HEAD)} |",
            "| ---: | --- | --- | ---: | ---: |",
            *(row.line() for row in rows),
            "",
            "No program can do without these seconds on this machine:",
            "",
            f"| {' | '.join(LIMITS)} |",
            "| --- | ---: | --- |",
            *limits,
        ]
    )


def put(page: Path, caption: str, rows: list[Row]) -> None:
    """Write the tables between the marks of a page, and into the evidence."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{page} lacks {BEGIN} and {END}; put both where the tables belong")
    made = f"{before}{BEGIN}\n\n{caption}\n\n{tables_of(rows)}\n\n{END}{after}"
    page.write_text(made, encoding="utf-8")
    evidence.write_speed()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--adult", type=Path, default=DATA / "arx-adult", help="folder with ARX's Adult")
    parser.add_argument(
        "--uci", type=Path, default=DATA / "pycanon" / "raw" / "adult.csv.gz", help="UCI Adult"
    )
    parser.add_argument("--arx", metavar="CLASSPATH", help="where ARX's classes are, to run it, too")
    parser.add_argument("--only", default="", help=f"only these rows: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    parser.add_argument("--page", type=Path, help="also write the table into this page, between its marks")
    asked = parser.parse_args()
    if asked.page is not None and (asked.quick or asked.only):
        parser.error("--page takes the whole table; leave --quick and --only out")
    adult = asked.adult if asked.adult.is_dir() else None
    uci = asked.uci if asked.uci.is_file() else None
    sizes = Sizes(1_000_000, 50_000, 30_000, asked.repeat, adult, uci, asked.arx)
    if asked.quick:
        sizes = Sizes(20_000, 1_000, 1_000, 1, adult, uci, asked.arx)
    machine, rows, start = Machine(), [], perf_counter()
    for name, part in PARTS.items():
        if asked.only in name:
            for row in part(sizes, machine):
                print(f"{perf_counter() - start:6.0f} s  {row.line()}", file=sys.stderr, flush=True)
                rows.append(row)
    caption = (
        f"One run on {thread_count()} cores, medians of {sizes.repeat}. Memory is copied at "
        f"{machine.bytes_per_second / 1e9:.1f} GB/s."
    )
    print(f"{caption}\n\n{tables_of(rows)}")
    print(f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    if asked.json is not None:
        figures: list[dict[str, Any]] = [asdict(row) | {"ratio": row.ratio} for row in rows]
        asked.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if asked.page is not None:
        put(asked.page, caption, rows)


if __name__ == "__main__":
    main()
