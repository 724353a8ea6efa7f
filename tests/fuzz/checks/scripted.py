"""The script of `verify --emit-sql`: DuckDB alone gives verify's verdict, also on changed files."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

import incrowd as ic
from emitted_sql import failed, verdict
from fuzz.checks.made import Finding, Made, Outcome, skeleton
from incrowd.release.verification import checks_as_sql

Given = dict[str, Any]
"""What verify is given, by its parameters."""


def scripted(
    made: Made, given: Given, holds: bool, beside: Callable[[pl.DataFrame], Path], outcome: Outcome
) -> Iterator[Finding]:
    """The script of a release, and those of changed copies, give the verdict of verify.

    A script that was written for the release, and reads a changed copy, may be stricter: it lists the cells
    that were there.

    Parameters
    ----------
    holds
        What verify says of the release.
    beside
        Writes a table as the release is written.
    """
    script = _script(given, outcome)
    if script is not None and verdict(script) != holds:
        yield Finding("script", f"DuckDB says {not holds}: {_why(script)}")
    for what, table in _changed(made):
        path = beside(table)
        other = given | {"path": path}
        expected = _verified(other)
        own = _script(other, outcome)
        if own is not None and verdict(own) != expected:
            yield Finding(f"script of {what}", f"DuckDB says {not expected}: {_why(own)}")
        same_kind = path.suffix == given["path"].suffix
        if script is not None and same_kind and not expected and verdict(script, path):
            yield Finding(f"script that reads {what}", "DuckDB says that the policy is satisfied")
        outcome.met.append(("script", f"{what}, {'fine' if expected else 'found'}"))


def _script(given: Given, outcome: Outcome) -> str | None:
    """Write the script, and count the script or the reason for none."""
    try:
        script = checks_as_sql(**given)
    except ic.IncrowdError as why:
        outcome.met.append(("script", "refused"))
        folder = str(given["path"].parent)
        outcome.skipped.append(f"script: {skeleton(str(why).replace(folder, ''))}")
        return None
    outcome.met.append(("script", "written"))
    return script


def _verified(given: Given) -> bool:
    try:
        return ic.verify(**given).keeps_limits
    except ic.IncrowdError:
        return False


def _why(script: str) -> str:
    try:
        return f"{failed(script)}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]


def _changed(made: Made) -> Iterator[tuple[str, pl.DataFrame]]:
    """Change a good release: a record less in a smallest class, or a cell of another record."""
    table, chance = made.out, random.Random(made.out.height)
    names = [name for name in (*made.quasi, *made.sensitive) if table.get_column(name).n_unique() > 1]
    if names and chance.random() < 0.5:
        column = table.get_column(chance.choice(names))
        place = chance.randrange(table.height)
        rows = list(range(table.height))
        rows[place] = chance.choice(
            [row for row in rows if not column[row : row + 1].equals(column[place : place + 1])]
        )
        yield "another cell", table.with_columns(column[rows])
    elif table.height > 1:
        keys = list(zip(*(table.get_column(name).to_list() for name in made.quasi), strict=True))
        sizes = Counter(keys)
        place = min(range(table.height), key=lambda row: sizes[keys[row]])
        yield "a record less", pl.concat([table[:place], table[place + 1 :]])
