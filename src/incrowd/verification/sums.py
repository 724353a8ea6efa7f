"""Controlled rounding: did the sum of the column stay, and did those of its groups?

Each number became one of the two multiples around it, so that the sum of the column moved by half a base at
most and the sum of each group by less than a base. Sums are taken of decimals here, so they are exact.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING

from incrowd.errors import setting
from incrowd.verification.classes import written
from incrowd.verification.forms import decimal_of
from incrowd.verification.policy import Column, Policy
from incrowd.verification.source import Table

if TYPE_CHECKING:
    import duckdb

_SLACK = Decimal("1e-9")
"""What a number may be off, as a share of the base and of the number: releases round doubles."""
_Sums = dict[str | None, Decimal]


def sums_moved(
    con: duckdb.DuckDBPyConnection, column: Column, policy: Policy, released: Table, raw: Table | None
) -> tuple[list[str], list[str]]:
    """Say which sums of a column moved though they should stay, and which cannot be checked."""
    treatment = column.treatment
    assert treatment is not None
    if treatment.name != "round" or treatment.settings.get("how") != "controlled":
        return [], []
    what = f"whether the sum of column {column.name!r} stayed when it was rounded: "
    within = treatment.settings.get("within")
    wanted = [column.name] if within is None else [column.name, str(within)]
    if raw is None:
        return [], [f"{what}that takes the raw table ({setting('against', '--against')})"]
    if treatment.settings.keys() & {"top", "bottom"}:
        return [], [f"{what}numbers beyond limits were replaced before"]
    if any(name not in table.names for name in wanted for table in (released, raw)):
        return [], [f"{what}a table lacks one of {', '.join(map(repr, wanted))}"]
    new = _sums(con, released, column, wanted[1:], policy)
    old = _sums(con, raw, column, wanted[1:], policy)
    if new is None or old is None:
        return [], [f"{what}it has values that are no numbers"]
    (after, _), (before, size) = new, old
    base = Decimal(str(treatment.first))
    slack = _SLACK * (base + size)
    problems = []
    if abs(sum(after.values(), Decimal(0)) - sum(before.values(), Decimal(0))) > base / 2 + slack:
        problems.append(f"the sum of column {column.name!r} moved by more than half of {base}, its base")
    wrong = sum(abs(after.get(group, Decimal(0)) - value) >= base for group, value in before.items())
    if within is not None and wrong:
        problems.append(
            f"the sum of column {column.name!r} moved by {base}, its base, or more in {wrong} groups of "
            f"{str(within)!r}"
        )
    return problems, []


def _sums(
    con: duckdb.DuckDBPyConnection, table: Table, column: Column, groups: list[str], policy: Policy
) -> tuple[_Sums, Decimal] | None:
    """Add the numbers of each group, and their sizes; None where a value is no number."""
    number, *others = (written(con, table, name, policy.null_values) for name in (column.name, *groups))
    group = others[0] if others else "NULL"
    rows = con.execute(
        f"SELECT v, g, count(*) FROM (SELECT {number} AS v, {group} AS g FROM {table.name} AS t) "
        "WHERE v IS NOT NULL GROUP BY v, g"
    ).fetchall()
    sums: _Sums = defaultdict(Decimal)
    size = Decimal(0)
    for text, name, records in rows:
        value = decimal_of(text, column.spelling)
        if value is None:
            return None
        sums[name] += value * records
        size += abs(value) * records
    return sums, size
