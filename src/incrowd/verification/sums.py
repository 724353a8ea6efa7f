"""Controlled rounding: did the sum of the column stay, and did those of its groups?

Each number became one of the two multiples around it, so that the sum of the column moved by half a base at
most and the sum of each group by less than a base. Sums are exact: `verify` adds decimals, and a script whole
numbers of units, the smallest decimal place that occurs.

Table made in a script
----------------------
worth_1, worth_2, ...
    value, units: what the texts of a column are worth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from incrowd.errors import ParameterError, setting
from incrowd.verification.classes import count_rows, written
from incrowd.verification.forms import decimal_of
from incrowd.verification.policy import Column, Policy
from incrowd.verification.script import Script
from incrowd.verification.source import Table
from incrowd.verification.treatments import Treatment

if TYPE_CHECKING:
    import duckdb

_MOST_PLACES = 40
_LARGEST = 10**27
"""A sum in units times the two billion that it is compared by must be below 2^127."""
_SLACK = Decimal("1e-9")
"""What a number may be off, as a share of the base and of the number: releases round doubles."""
_Sums = dict[str | None, Decimal]


def sums_moved(
    con: duckdb.DuckDBPyConnection, column: Column, policy: Policy, released: Table, raw: Table | None
) -> tuple[list[str], list[str]]:
    """Say which sums of a column moved though they should stay, and which cannot be checked."""
    treatment = _controlled(column)
    if treatment is None:
        return [], []
    what = f"whether the sum of column {column.name!r} stayed when it was rounded: "
    if raw is None:
        return [], [f"{what}that takes the raw table ({setting('against', '--against')})"]
    within = treatment.settings.get("within")
    wanted = [column.name] if within is None else [column.name, str(within)]
    if why := _untold(treatment, wanted, released, raw):
        return [], [what + why]
    new, old = (
        _sums(con, column, _rows(con, table, wanted, policy.null_values)) for table in (released, raw)
    )
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


def _sums(con: duckdb.DuckDBPyConnection, column: Column, rows: str) -> tuple[_Sums, Decimal] | None:
    """Add the numbers of each group, and their sizes; None where a value is no number."""
    sums: _Sums = defaultdict(Decimal)
    size = Decimal(0)
    found = con.execute(f"SELECT v, g, count(*) FROM ({rows}) GROUP BY v, g").fetchall()
    for text, name, records in found:
        value = decimal_of(text, column.spelling)
        if value is None:
            return None
        sums[name] += value * records
        size += abs(value) * records
    return sums, size


def check_sums(script: Script, column: Column, policy: Policy, released: Table, raw: Table) -> None:
    """Write checks that the sum of a column and those of its groups stayed, where they should.

    Raises
    ------
    ParameterError
        The numbers are too large, or too many differ.
    """
    treatment = _controlled(column)
    if treatment is None:
        return
    within = treatment.settings.get("within")
    wanted = [column.name] if within is None else [column.name, str(within)]
    if _untold(treatment, wanted, released, raw):
        return
    sides = [_rows(script.con, table, wanted, policy.null_values) for table in (released, raw)]
    worth = _worth(script, column, sides)
    if worth is None:
        script.note(
            f"Not checked: whether the sum of {column.name} stayed. It has values that are no numbers."
        )
        return
    base = Fraction(str(treatment.first))
    unit = min([Fraction(1), *(_unit(number) for number in (base, *worth.values()))])
    units = [(text, int(number / unit)) for text, number in sorted(worth.items())]
    largest = max((abs(number) for _, number in units), default=0)
    if largest * count_rows(script.con, raw) + base / unit > _LARGEST:
        raise _too_large(column)
    table = f"worth_{script.checks + 1}"
    script.note(f"Sums of {column.name} stayed when it was rounded. What each text is worth, in {unit}.")
    script.fill(table, "value VARCHAR, units HUGEINT", units)
    _compare(script, column.name, table, sides, int(base / unit), grouped=within is not None)


def _controlled(column: Column) -> Treatment | None:
    """Return the treatment of a column if it is controlled rounding."""
    treatment = column.treatment
    assert treatment is not None
    is_one = treatment.name == "round" and treatment.settings.get("how") == "controlled"
    return treatment if is_one else None


def _untold(treatment: Treatment, wanted: Sequence[str], released: Table, raw: Table) -> str:
    """Say why two tables do not tell whether sums stayed; nothing where they do."""
    if treatment.settings.keys() & {"top", "bottom"}:
        return "numbers beyond limits were replaced before"
    if any(name not in table.names for name in wanted for table in (released, raw)):
        return f"a table lacks one of {', '.join(map(repr, wanted))}"
    return ""


def _rows(
    con: duckdb.DuckDBPyConnection, table: Table, wanted: Sequence[str], null_values: Sequence[str]
) -> str:
    """Write the query of the texts of a column, v, and of the groups, g."""
    value, *others = (written(con, table, name, null_values) for name in wanted)
    group = others[0] if others else "NULL::VARCHAR"
    return f"SELECT v, g FROM (SELECT {value} AS v, {group} AS g FROM {table.name} AS t) WHERE v IS NOT NULL"


def _worth(script: Script, column: Column, sides: Sequence[str]) -> dict[str, Fraction] | None:
    """Read the numbers of both tables; None where a value is none."""
    texts = [
        text
        for (text,) in script.con.execute(
            f"SELECT DISTINCT v FROM ({' UNION ALL '.join(sides)}) AS both_sides"
        ).fetchall()
    ]
    numbers = {text: decimal_of(text, column.spelling) for text in texts}
    if any(number is None or not number.is_finite() for number in numbers.values()):
        return None
    if any(number and abs(number.adjusted()) > _MOST_PLACES for number in numbers.values()):
        raise _too_large(column)
    return {text: Fraction(number) for text, number in numbers.items() if number is not None}


def _too_large(column: Column) -> ParameterError:
    return ParameterError(
        f"column {column.name!r}: its sums are too large or too fine for a script; leave out the raw table, "
        "or use verify"
    )


def _unit(number: Fraction) -> Fraction:
    """Return the last decimal place of a number that has an end."""
    places = 0
    while (number * 10**places).denominator > 1:
        places += 1
    return Fraction(1, 10**places)


def _compare(
    script: Script, name: str, worth: str, sides: Sequence[str], base: int, *, grouped: bool
) -> None:
    """Write the checks, with `base` in units."""
    mine, theirs = (
        f"SELECT g, sum(units)::HUGEINT AS total, sum(abs(units))::HUGEINT AS size, "
        f"count(*) FILTER (units IS NULL) AS others FROM ({side}) AS rows LEFT JOIN {worth} ON v = value "
        "GROUP BY g"
        for side in sides
    )
    script.check(
        f"numbers whose worth is not told: {name}",
        name,
        f"SELECT (SELECT coalesce(sum(others), 0) FROM ({mine})) + (SELECT coalesce(sum(others), 0) "
        f"FROM ({theirs}))",
    )
    sums = (f"(SELECT coalesce(sum(total), 0) FROM ({side}))" for side in (mine, theirs))
    moved = f"abs({' - '.join(sums)})"
    # Half of a base, and a billionth of the base and of the numbers: releases round doubles.
    script.check(
        f"the sum moved by more than half of the base: {name}",
        name,
        f"SELECT ({moved} * 2000000000 > {base}::HUGEINT * 1000000002 + 2 * (SELECT coalesce(sum(size), 0) "
        f"FROM ({theirs})))::INTEGER",
    )
    if grouped:
        script.check(
            f"groups whose sum moved by the base or more: {name}",
            name,
            f"SELECT count(*) FROM ({theirs}) AS raw_sums LEFT JOIN ({mine}) AS sums "
            "ON sums.g IS NOT DISTINCT FROM raw_sums.g "
            f"WHERE abs(coalesce(sums.total, 0) - raw_sums.total) >= {base}",
        )
