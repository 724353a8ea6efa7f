"""Secondary suppression of a table of 100 x 100 with two hierarchies, beside τ-ARGUS's modular search.

Run with ``python benchmarks/tables.py --help``. Both protect the same counts: the same cells are small, and
the cost of a table is what its secondary cells count. τ-ARGUS is `pytauargus` from PyPI; without it only
incrowd runs. Its intervals are not audited over the whole table, so ours are computed of its choice, too.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import chdir
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.release.tables.audit import intervals
from incrowd.release.tables.cells import Linked
from incrowd.release.tables.counting import Cells, count_cells
from incrowd.release.tables.primary import cost_of, need_of, primary_cells
from incrowd.release.tables.suppress import suppress


def rows(codes: int, mean: float) -> pl.DataFrame:
    """Rows of a table of codes x codes cells: many cells have few rows."""
    draw = np.random.default_rng(0)
    counts = draw.poisson(draw.gamma(0.7, mean, (codes, codes)))
    first, second = np.indices(counts.shape)
    names = np.array([f"c{number:03d}" for number in range(codes)])
    return pl.DataFrame(
        {
            "row": names[np.repeat(first.ravel(), counts.ravel())],
            "column": names[np.repeat(second.ravel(), counts.ravel())],
        }
    ).with_columns(n=pl.lit(1))


def groups(codes: int) -> dict[str, list[str]]:
    """Ten codes a group."""
    return {
        f"g{start // 10:02d}": [f"c{n:03d}" for n in range(start, start + 10)]
        for start in range(0, codes, 10)
    }


def by_tau_argus(table: pl.DataFrame, tree: dict[str, list[str]], cells: Cells) -> np.ndarray | None:
    """Return bool[cells]: the cells that τ-ARGUS suppresses; None where it is not installed."""
    try:
        from pytauargus import protect
    except ImportError:
        return None
    # It writes its logs where it is started.
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        file = Path(folder, "codes.hrc")
        file.write_text(
            "".join(f"{group}\n" + "".join(f"@{code}\n" for code in codes) for group, codes in tree.items())
        )
        result = protect(
            table.to_dict(as_series=False), ["row", "column"], "n", "FREQ(5,50)", "MOD(1)",
            hrc={"row": str(file), "column": str(file)}, hierleadstring="@", totcode="Total", workdir=folder,
        )  # fmt: skip
        status = result.tables[0].dataframe()
        columns = {name: list(status[name]) for name in ("row", "column", "status")}
    # U is unsafe by the rule, M is secondary; S is safe, and E has nobody and is shown as 0.
    hidden = {
        (row, column)
        for row, column, each in zip(columns["row"], columns["column"], columns["status"], strict=True)
        if str(each) in ("U", "M")
    }
    names = [
        (row or "Total", column or "Total") for row in cells.axes[0].codes for column in cells.axes[1].codes
    ]
    return np.array([name in hidden for name in names])


def main() -> None:
    """Run both, and print cost, time and what the audit finds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--codes", type=int, default=100, help="codes of each side")
    parser.add_argument("--mean", type=float, default=30.0, help="mean count of a cell, about")
    parser.add_argument("--seconds", type=float, default=25.0, help="time for the search")
    given = parser.parse_args()
    table, tree = rows(given.codes, given.mean), groups(given.codes)
    hierarchy = ic.Hierarchy.from_nested({"*": tree})
    schema = ic.Schema(quasi={"row": hierarchy, "column": hierarchy}, unlisted="drop")
    begin = perf_counter()
    cells = count_cells(engine_for(table), schema, ic.CountTable("t", rows=["row"], columns=["column"]))
    counted = perf_counter() - begin
    linked = Linked.of_tables([cells.axes])
    primary, cost = primary_cells(cells), cost_of(cells)
    need = need_of(cells, primary)
    print(
        f"{table.height:,} rows counted in {counted:.2f} s; {len(primary):,} cells, {primary.sum():,} small"
    )
    shown = Table(
        "by", "seconds", "suppressed", "people in secondary cells", "told too closely", "told exactly"
    )

    def line(name: str, seconds: float, hidden: np.ndarray) -> None:
        asked = np.flatnonzero(hidden)
        ends = intervals(linked, *need.bounds(hidden), asked, enough=need.width[asked])
        close = int((need.shortfall(asked, ends) > 1e-6).sum())
        exact = int((ends.upper - ends.lower < 0.5).sum())
        people = cells.people[hidden & ~primary].sum()
        shown.add_row(name, f"{seconds:.1f}", f"{hidden.sum():,}", f"{people:,}", f"{close:,}", f"{exact:,}")

    begin = perf_counter()
    chosen = suppress(linked, need, primary, cost, cells.values > 0, seconds=given.seconds)
    line(f"incrowd (gap {chosen.gap:.1%})", perf_counter() - begin, chosen.hidden)
    begin = perf_counter()
    theirs = by_tau_argus(table, tree, cells)
    if theirs is not None:
        line("τ-ARGUS, modular", perf_counter() - begin, theirs)
    Console().print(shown)


if __name__ == "__main__":
    main()
