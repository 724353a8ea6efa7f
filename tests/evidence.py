"""Published figures beside ours: a test holds each, and docs/evidence.md has a list item for each.

A test asks for the fixture `evidence` and calls it once a figure. The call compares, and the item must stand on
the page. `make evidence` writes the page from the tests that can run here; items of tests that cannot are kept.
"""

from __future__ import annotations

import math
import os
import re
import textwrap
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

__all__ = ["HEAD", "PAGE", "SOURCES", "Evidence", "items_of", "speed_rows", "write_speed"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "evidence.md"
SOURCES = {
    "t-closeness": "Li, Li and Venkatasubramanian, t-closeness, ICDE 2007",
    "l-diversity": "Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, l-diversity, TKDD 2007",
    "alpha-k": "Wong, Li, Fu and Wang, (alpha, k)-anonymity, KDD 2006",
    "pycanon": "pyCANON 1.3.5, on its own example data",
    "petworks": "PETWorks, its documents and what it gives on its own data",
    "p29": "The P_29 notebook on 99,429 encounters of diabetes patients",
    "arx": "ARX 3.9, on UCI Adult",
    "notebook": "The teaching notebook of Mondrian, on UCI Adult",
    "comp430": "COMP 430/530, homework 1: its text in exact arithmetic, read by somebody else",
    "sdcmicro": "sdcMicro, the figures of its tests of individual risk",
    "mdav": "Domingo-Ferrer and Torra, MDAV, 2005, on the tables that sdcMicro ships",
    "synthpop": "Quintana, a primer of synthpop, what its `compare` prints of a regression",
    "survival": "R's package survival, its own validation, and what it prints of Miller's patients",
    "guide": "Benschop, Machingauta and Welch, Statistical disclosure control: a practice guide",
}
HEAD = """# Evidence

Example: the paper of t-closeness says that the salaries {3k, 4k, 5k} are 0.375 away from all nine.
A test computes it, and fails if we find anything else.

Each item below is such a figure, with what we find, and the test that holds it. The page is written
by these tests (`make evidence`). A test fails if its items here are not what it finds. A figure
that was published with d decimals must be met when ours is rounded to d decimals, or to 12 if d is
larger. Fractions and whole numbers must be met to 12 decimals. The page shows at most 6 of ours.

Where our figure differs on purpose from what a tool gives,
[what the figures mean](definitions.md#where-published-tools-differ) says why.
"""
BENCHMARKS = PAGE.parents[1] / "benchmarks" / "README.md"
BEGIN, END = "<!-- overview: begin -->", "<!-- overview: end -->"
"""What the table of all benchmarks stands between."""
TAIL = """
## Speed beside others

What somebody else's program takes, and ours: rows of the table on [benchmarks](benchmarks.md),
which says more of each. `python benchmarks/overview.py` measures them. † marks times of an earlier
run.

| ratio | job | other program | theirs | ours |
| ---: | --- | --- | ---: | ---: |
"""
UPDATE = "INCROWD_EVIDENCE"
_SHOWN = 6
"""Decimals on the page; all are compared."""


def _number(text: str) -> tuple[float, float]:
    """Return a published number and how far ours may be."""
    digits = len(text.partition(".")[2])
    return float(Fraction(text)), max(0.5 * 10**-digits, 1e-12) if digits else 1e-12


def _shown(ours: float, published: str) -> str:
    if isinstance(ours, int) or float(ours).is_integer():
        return f"{ours:.0f}"
    digits = len(published.partition(".")[2])
    return f"{ours:.{min(max(digits + 2, 6), _SHOWN)}f}"


def items_of(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the items of a page by their test, each in one line and with its source."""
    items: dict[str, list[tuple[str, str]]] = {}
    source = ""
    for line in text.replace("\n  ", " ").splitlines():
        if line.startswith("## "):
            source = line[3:]
        elif test := re.search(r"^- .* `(\S+::\S.*)`$", line):
            items.setdefault(test[1], []).append((source, line))
    return items


class Evidence:
    """The published figures of a single test."""

    def __init__(self, test: str) -> None:
        self.test = test
        self.items: list[tuple[str, str]] = []

    def __call__(
        self, source: str, what: str, published: str | Sequence[float], ours: float | Sequence[float]
    ) -> None:
        """Compare figures, where the published figures stand as printed, with commas in between."""
        printed = published.split(", ") if isinstance(published, str) else [repr(each) for each in published]
        result = [ours] if isinstance(ours, int | float) else list(ours)
        assert len(printed) == len(result), what
        for text, value in zip(printed, result, strict=True):
            number, tolerance = _number(text)
            assert math.isclose(value, number, rel_tol=0, abs_tol=tolerance), f"{what}: {value}, not {text}"
        mine = ", ".join(_shown(value, text) for text, value in zip(printed, result, strict=True))
        words = (
            published
            if isinstance(published, str)
            else ", ".join(_shown(float(each), each) for each in printed)
        )
        self.items.append((SOURCES[source], f"- {what}: published {words}; ours {mine}. `{self.test}`"))

    def finish(self) -> None:
        """Compare the items with those on the page, or write them there."""
        page = items_of(PAGE.read_text(encoding="utf-8"))
        if os.environ.get(UPDATE):
            page[self.test] = self.items
            PAGE.write_text(_page(page), encoding="utf-8")
        assert page.get(self.test) == self.items, "docs/evidence.md says something else: run `make evidence`"


def _page(items: dict[str, list[tuple[str, str]]]) -> str:
    lines = [HEAD.rstrip()]
    for source in SOURCES.values():
        of_source = [item for test in sorted(items) for place, item in items[test] if place == source]
        if of_source:
            lines += ["", f"## {source}", ""]
        for item in of_source:
            lines += textwrap.wrap(
                item, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
    speed = [f"| {' | '.join(row)} |" for row in speed_rows()]
    return "\n".join([*lines, TAIL.rstrip("\n"), *speed]) + "\n"


def speed_rows() -> list[list[str]]:
    """Return the rows of the benchmarks' table with another program as peer, cell by cell."""
    tables = BENCHMARKS.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    # The limits stand in a second table.
    lines = tables[tables.index("\n|") :].partition("\n\n")[0].splitlines()[3:]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    # A peer that begins so is another way of ours.
    return [row for row in cells if not row[2].startswith("the ")]


def write_speed() -> None:
    """Write the page anew with the speed that the benchmarks have."""
    PAGE.write_text(_page(items_of(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
