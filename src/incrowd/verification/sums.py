"""Controlled rounding: did the sum of the column stay, and did those of its groups?

Each number became one of the two multiples around it, so that the sum of the column moved by half a base at
most and the sum of each group by less than a base. `verify` adds decimals, and a script whole numbers of
units, the smallest decimal place that occurs.

Table made in a script
----------------------
worth_1, worth_2, ...
    value, units: what the texts of a column are worth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from incrowd.errors import ParameterError, setting
from incrowd.verification.checks import Checks, Script
from incrowd.verification.classes import count_rows, written
from incrowd.verification.forms import decimal_of
from incrowd.verification.loading import Tables
from incrowd.verification.policy import Column, Nulls, Policy
from incrowd.verification.source import Table
from incrowd.verification.treatments import Treatment

_MOST_PLACES = 40
_LARGEST = 10**27
"""A sum in units times the two billion that it is compared by must be below 2^127."""
_SLACK = Decimal("1e-9")
"""What a number may be off, as a share of the base and of the number: releases round doubles."""


def check_sums(con: Checks, column: Column, policy: Policy, tables: Tables) -> None:
    """Check that the sum of a column and those of its groups stayed, where they should.

    Raises
    ------
    ParameterError
        The numbers are too large, or too many differ, for a script.
    """
    treatment, released, raw = column.treatment, tables.released, tables.raw
    assert treatment is not None
    if treatment.name != "round" or treatment.settings.get("how") != "controlled":
        return
    what = f"whether the sum of column {column.name!r} stayed when it was rounded: "
    if raw is None:
        con.remarks.unchecked.append(f"{what}that takes the raw table ({setting('against', '--against')})")
        return
    if tables.missing:
        con.remarks.unchecked.append(f"{what}{tables.missing} records are not in the release")
        return
    within = treatment.settings.get("within")
    wanted = [column.name] if within is None else [column.name, str(within)]
    if why := _untold(treatment, wanted, released, raw):
        con.remarks.unchecked.append(what + why)
        return
    sides = [_rows(con, table, wanted, policy.null_values) for table in (released, raw)]
    texts = con.execute(f"SELECT DISTINCT v FROM ({' UNION ALL '.join(sides)}) AS both_sides").fetchall()
    numbers = {text: decimal_of(text, column.spelling) for (text,) in texts}
    worth = {text: number for text, number in numbers.items() if number is not None and number.is_finite()}
    if len(worth) < len(numbers):
        con.note(f"Not checked: whether the sum of {column.name} stayed. It has values that are no numbers.")
        con.remarks.unchecked.append(f"{what}it has values that are no numbers")
        return
    base = Decimal(str(treatment.first))
    if isinstance(con, Script):
        _check_units(con, column.name, sides, worth, base, count_rows(con, raw), grouped=within is not None)
        return
    (after, _), (before, size) = (_sums(con, side, worth) for side in sides)
    slack = _SLACK * (base + size)
    problems = con.remarks.problems
    if abs(sum(after.values(), Decimal(0)) - sum(before.values(), Decimal(0))) > base / 2 + slack:
        problems.append(f"the sum of column {column.name!r} moved by more than half of {base}, its base")
    wrong = sum(abs(after[group] - value) >= base for group, value in before.items())
    if within is not None and wrong:
        problems.append(
            f"the sum of column {column.name!r} moved by {base}, its base, or more in {wrong} groups of "
            f"{str(within)!r}"
        )


def _sums(con: Checks, rows: str, worth: Mapping[str, Decimal]) -> tuple[dict[str | None, Decimal], Decimal]:
    """Add the numbers of each group, and their sizes."""
    sums: dict[str | None, Decimal] = defaultdict(Decimal)
    size = Decimal(0)
    for text, group, records in con.execute(f"SELECT v, g, count(*) FROM ({rows}) GROUP BY v, g").fetchall():
        sums[group] += worth[text] * records
        size += abs(worth[text]) * records
    return sums, size


def _untold(treatment: Treatment, wanted: Sequence[str], released: Table, raw: Table) -> str:
    """Say why two tables do not tell whether sums stayed; nothing where they do."""
    if treatment.settings.keys() & {"top", "bottom"}:
        return "numbers beyond limits were replaced before"
    if any(name not in table.names for name in wanted for table in (released, raw)):
        return f"a table lacks one of {', '.join(map(repr, wanted))}"
    return ""


def _rows(con: Checks, table: Table, wanted: Sequence[str], null_values: Nulls) -> str:
    """Write the query of the texts of a column, v, and of the groups, g."""
    value, *others = (written(con, table, name, null_values) for name in wanted)
    group = others[0] if others else "NULL::VARCHAR"
    return f"SELECT v, g FROM (SELECT {value} AS v, {group} AS g FROM {table.name} AS t) WHERE v IS NOT NULL"


def _unit(number: Fraction) -> Fraction:
    """Return the last decimal place of a number that has an end."""
    places = 0
    while (number * 10**places).denominator > 1:
        places += 1
    return Fraction(1, 10**places)


def _check_units(
    con: Script,
    name: str,
    sides: Sequence[str],
    worth: Mapping[str, Decimal],
    base: Decimal,
    records: int,
    *,
    grouped: bool,
) -> None:
    """Write the checks of a script, in whole numbers of units."""
    unit, units = Fraction(1), []
    is_too_large = any(number and abs(number.adjusted()) > _MOST_PLACES for number in worth.values())
    if not is_too_large:
        exact = {text: Fraction(number) for text, number in sorted(worth.items())}
        unit = min([unit, *(_unit(number) for number in (Fraction(base), *exact.values()))])
        units = [(text, int(number / unit)) for text, number in exact.items()]
        largest = max((abs(number) for _, number in units), default=0)
        is_too_large = largest * records + Fraction(base) / unit > _LARGEST
    if is_too_large:
        raise ParameterError(
            f"column {name!r}: its sums are too large or too fine for a script; leave out the raw table, or "
            "use verify"
        )
    table = f"worth_{con.checks + 1}"
    con.note(f"Sums of {name} stayed when it was rounded. What each text is worth, in {unit}.")
    con.fill(table, "value VARCHAR, units HUGEINT", units)
    base_units = int(Fraction(base) / unit)
    mine, theirs = (
        f"SELECT g, sum(units)::HUGEINT AS total, sum(abs(units))::HUGEINT AS size, "
        f"count(*) FILTER (units IS NULL) AS others FROM ({side}) AS rows LEFT JOIN {table} ON v = value "
        "GROUP BY g"
        for side in sides
    )
    con.check(
        f"numbers whose worth is not told: {name}",
        f"SELECT (SELECT coalesce(sum(others), 0) FROM ({mine})) + (SELECT coalesce(sum(others), 0) "
        f"FROM ({theirs}))",
        column=name,
    )
    sums = (f"(SELECT coalesce(sum(total), 0) FROM ({side}))" for side in (mine, theirs))
    moved = f"abs({' - '.join(sums)})"
    # Half of a base, and a billionth of the base and of the numbers: releases round doubles.
    con.check(
        f"the sum moved by more than half of the base: {name}",
        f"SELECT ({moved} * 2000000000 > {base_units}::HUGEINT * 1000000002 + 2 * "
        f"(SELECT coalesce(sum(size), 0) FROM ({theirs})))::INTEGER",
        column=name,
    )
    if grouped:
        con.check(
            f"groups whose sum moved by the base or more: {name}",
            f"SELECT count(*) FROM ({theirs}) AS raw_sums LEFT JOIN ({mine}) AS sums "
            "ON sums.g IS NOT DISTINCT FROM raw_sums.g "
            f"WHERE abs(coalesce(sums.total, 0) - raw_sums.total) >= {base_units}",
            column=name,
        )
