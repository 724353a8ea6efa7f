"""The content of messages: no cell of the table, and true statements."""

from __future__ import annotations

import re

from fuzz import oracle
from fuzz.checks.made import Finding, applied_to, raw_columns, whose
from fuzz.draw import TOO_HIGH, Case, needs_population
from fuzz.oracle import Classes
from fuzz.sources import Placed


def leaks(case: Case, place: Placed, message: str) -> list[Finding]:
    """No cell of the table is in a message, apart from texts of the policy."""
    said = repr(
        [case["null_values"], case["models"], case["algorithm"], case.get("attackers")]
        + [
            {key: value for key, value in column.items() if key not in ("cells", "people", "batch", "later")}
            for column in case["columns"]
        ]
    )
    bare = re.sub(r"'[^']*'", "", message) if "several columns" in message else message
    for column in case["columns"]:
        names = ("batch", "later", "people")
        for cell in {*column["cells"], *(cell for name in names for cell in column.get(name, ()))}:
            # A common word may stand in a message by itself.
            if (
                cell is None
                or len(cell) < 5
                or repr(cell)[1:-1] in said
                or (cell.isascii() and cell.isalpha())
            ):
                continue
            if cell in bare:
                return [Finding("leak", f"{cell!r} of {column['name']!r} is in: {message[:200]}")]
    return []


def needless(case: Case, place: Placed, message: str) -> list[Finding]:
    """A message of a failing class of all rows is true."""
    if "fails even when all" not in message:
        return []
    quasi, sensitive, before = raw_columns(case, place.seen)
    rows = [row for row, gone in enumerate(before) if not gone]
    classes = Classes(
        [rows],
        [tuple("?" for _ in quasi)],
        sensitive,
        len(before),
        sum(before),
        whose=whose(case, place.seen),
    )
    for name, settings, groups in applied_to(case, classes):
        unread = name not in oracle.LIMITS or name in (
            "k-map",
            "delta-presence",
            "lkc-privacy",
            "subset-k-anonymity",
            "p29",
        )
        if unread or needs_population(settings | {"model": name}):
            return []
        if oracle.holds(name, settings, groups):
            return []
    return [Finding("needless", message[:300])]


def too_high(case: Case) -> list[Finding]:
    """A level that no hierarchy has is refused, before anything is searched."""
    bounds = [level for column in case["columns"] for level in column.get("levels") or ()]
    if max((level for level in bounds if level is not None), default=0) >= TOO_HIGH:
        return [Finding("levels", "a level above every height was not refused")]
    return []
