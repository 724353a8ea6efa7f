"""Checks of treated columns: values have the form of the policy's treatment, and rounding keeps sums.

What a key, a threshold from a quantile or chance decided cannot be told from outside. What can be told is the
form: characters of a token, marks of a mask, multiples of a base, limits that are given as values. With the
raw table it can be told besides that no raw value is left where none may be.

Controlled rounding makes each number one of the two multiples around it. The sum of the column moves by half
a base at most, the sum of each group by less than a base. `verify` adds decimals, and a script whole numbers
of units, the smallest decimal place that occurs.

Table made in a script
----------------------
worth_1, worth_2, ...
    value, units: what the texts of a column are worth.
"""

from __future__ import annotations

import datetime
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from unicodedata import normalize

from incrowd_gate.errors import ParameterError, named, setting
from incrowd_verify.checks import Checks, Script
from incrowd_verify.classes import count_rows
from incrowd_verify.policy import LINKED, NO_NULLS, Column, Nulls, Policy, Treatment
from incrowd_verify.source import Table
from incrowd_verify.spellings import Spelling
from incrowd_verify.tables import Tables
from incrowd_verify.values import written

Form = Callable[[str, int], bool]
"""Says whether a value that so many records have is one that the treatment gives."""
_FOLLOWED = frozenset({"age-at", "keep-first", "keep-last", "mask", "email-domain", "other", "round"})
"""Treatments of which each value goes with one value of a linked column."""


def check_form(con: Checks, column: Column, policy: Policy, released: Table) -> None:
    """Check that the values of a treated column are of the form that the treatment gives."""
    name, treatment, problems = column.name, column.treatment, con.remarks.problems
    assert treatment is not None
    if name not in released.names:
        con.never(f"the treated column {named([name])} was in the file")
        problems.append(f"the treated column {name!r} is not in the file")
        return
    _check_follower(con, name, treatment, policy, released)
    form = form_of(treatment, column.spelling)
    if form is None:
        return
    is_constant = treatment.name == "constant"
    text = written(con, released, name, NO_NULLS if is_constant else policy.null_values)
    counted = f"(SELECT {text} AS v, count(*) AS n FROM {released.name} AS t GROUP BY ALL)"
    may_lack = not is_constant or treatment.first == ""
    fits, odd = [], []
    for value, records in con.execute(f"FROM {counted}").fetchall():
        if not may_lack if value is None else not form(value, int(records)):
            odd.append(int(records))
        elif value is not None:
            fits.append(value)
    if isinstance(con, Script):
        good: list[tuple[str | None, int]] = [
            (value, 1 if form(value, 1) else int(treatment.first) if treatment.first is not True else 5)
            for value in fits
        ]
        good += [(None, 1)] if may_lack else []
        what = f"values that the treatment {treatment.name} does not give: {name}"
        con.check_listed(what, name, "v", counted, "n", good)
    elif odd:
        problems.append(
            f"the column {name!r}: {sum(odd)} records have a value ({len(odd)} distinct) that its treatment "
            f"{treatment.name} does not give"
        )


def _check_follower(con: Checks, name: str, treatment: Treatment, policy: Policy, released: Table) -> None:
    """Check that a linked column has one value for each value of the lead, unless several are allowed."""
    lead = str(treatment.first)
    if treatment.name != LINKED or treatment.of not in _FOLLOWED or lead not in released.names:
        return
    value, own = (written(con, released, column, policy.null_values) for column in (lead, name))
    con.check(
        f"values that go along with one of {lead}",
        f"SELECT count(*) FROM (SELECT {value} AS v FROM {released.name} AS t GROUP BY v "
        f"HAVING count(DISTINCT {own}) > 1)",
        column=name,
        problem=lambda several: (
            f"the column {name!r} goes along with {lead!r}, but {several} values of that one have several "
            "here"
        ),
    )


def check_raw_left(con: Checks, column: Column, policy: Policy, released: Table, raw: Table) -> None:
    """Check that no raw value is left in a treated column where none may be."""
    name, treatment = column.name, column.treatment
    assert treatment is not None
    if not treatment.hides or name not in released.names or name not in raw.names:
        return
    mine, theirs = (written(con, table, name, policy.null_values) for table in (released, raw))
    con.check(
        f"raw values that should be hidden: {name}",
        f"SELECT count(*) FROM {released.name} AS t WHERE {mine} IN "
        f"(SELECT {theirs} FROM {raw.name} AS t WHERE {theirs} IS NOT NULL)",
        column=name,
        problem=lambda left: (
            f"the column {name!r}: {left} records have a value of the raw column, which should be hidden"
        ),
    )


def form_of(treatment: Treatment, spelling: Spelling | None) -> Form | None:
    """Return the form that a treatment gives, or None where nothing can be told, as of linked columns."""
    return (
        _form_of_texts(treatment)
        or _form_of_dates(treatment, spelling)
        or _form_of_numbers(treatment, spelling)
    )


def _form_of_texts(treatment: Treatment) -> Form | None:
    first, settings = treatment.first, treatment.settings
    match treatment.name:
        case "pseudonym":
            letters = {"base32": "A-Z2-7", "digits": "0-9"}.get(settings.get("form", "hex"), "0-9a-f")
            return _like(f"[{letters}]{{{int(settings.get('length', 16))}}}")
        case "random-numbers":
            return _like(f"[0-9]{{{8 if first is True else int(first)}}}")
        case "format-preserving":
            letters = "0-9A-Za-z" if first == "alphanumeric" else "0-9"
            return _like(rf"[{letters} \-./+()_:#]+")
        case "keep-first" | "keep-last":
            return _masked(int(first), settings.get("keep_length", True), last=treatment.name == "keep-last")
        case "mask":
            return _without(str(first), str(settings.get("mark", "*")))
        case "email-domain":
            least = 5 if first is True else int(first)
            return lambda text, records: text == "other" or ("@" not in text and records >= least)
        case "fold":
            return lambda text, _: text == " ".join(normalize("NFKC", text).lower().split())
        case "redact":
            return lambda text, _: text == "[redacted]"
        case "constant":
            return lambda text, _: text == first
    return None


def _form_of_dates(treatment: Treatment, spelling: Spelling | None) -> Form | None:
    match treatment.name:
        case "shift-dates":
            return lambda text, _: _day(text, spelling) is not None
        case "truncate-dates":
            return _first_days("month" if treatment.first is True else str(treatment.first), spelling)
        case "age-at":
            oldest = int(treatment.settings.get("over", 89)) + 1
            return lambda text, _: text.isdecimal() and int(text) <= oldest
    return None


def _form_of_numbers(treatment: Treatment, spelling: Spelling | None) -> Form | None:
    match treatment.name:
        case "microaggregate" if "within" not in treatment.settings:
            # At least k records have each mean; two groups may have one.
            return lambda text, records: records >= int(treatment.first)
        case "noise" | "rank-swap":
            return lambda text, _: decimal_of(text, spelling) is not None
        case "round":
            return _multiples(Decimal(str(treatment.first)), spelling)
        case "top" | "bottom":
            return _within(treatment, spelling)
    return None


def _like(pattern: str) -> Form:
    compiled = re.compile(pattern)
    return lambda text, _: compiled.fullmatch(text) is not None


def _masked(kept: int, keep_length: bool, *, last: bool) -> Form:
    def fits(text: str, _: int) -> bool:
        rest = text[: max(len(text) - kept, 0)] if last else text[kept:]
        marked = set(rest) <= {"*"} and (keep_length or rest in ("***", ""))
        return marked and (len(rest) > 0 or set(text) <= {"*"})

    return fits


def _without(pattern: str, mark: str) -> Form | None:
    try:
        regex = re.compile(pattern)
    except re.error:
        return None
    return lambda text, _: mark in text and not regex.search(text)


def _day(text: str, spelling: Spelling | None) -> datetime.date | None:
    plain = text if spelling is None else spelling.plain(text) or text
    try:
        return datetime.date.fromisoformat(plain[:10])
    except ValueError:
        return None


def _first_days(to: str, spelling: Spelling | None) -> Form:
    def fits(text: str, _: int) -> bool:
        day = _day(text, spelling)
        if day is None:
            return False
        if to == "week":
            return day.weekday() == 0
        months = {"month": range(1, 13), "quarter": (1, 4, 7, 10)}.get(to, (1,))
        return day.day == 1 and day.month in months

    return fits


def decimal_of(text: str, spelling: Spelling | None) -> Decimal | None:
    """Read a number as the column writes numbers, or return None for any other text."""
    plain = text if spelling is None else spelling.plain(text) or text
    try:
        return Decimal(plain)
    except InvalidOperation:
        return None


def _multiples(base: Decimal, spelling: Spelling | None) -> Form:
    def fits(text: str, _: int) -> bool:
        number = decimal_of(text, spelling)
        if number is None:
            return False
        parts = number / base
        return abs(parts - parts.to_integral_value()) <= Decimal("1e-9") * max(Decimal(1), abs(parts))

    return fits


def _within(treatment: Treatment, spelling: Spelling | None) -> Form | None:
    limits = {treatment.name: treatment.first, **treatment.settings}
    if limits.get("instead", "threshold") != "threshold":
        return None
    kind = limits.get("limits", "auto")
    known = {
        name: Decimal(str(limits[name]))
        for name in ("top", "bottom")
        if name in limits and kind != "quantile" and (kind == "value" or not 0 < limits[name] < 1)
    }
    top, bottom = known.get("top"), known.get("bottom")

    def fits(text: str, _: int) -> bool:
        number = decimal_of(text, spelling)
        return number is not None and not (
            (top is not None and number > top) or (bottom is not None and number < bottom)
        )

    return fits


_MOST_PLACES = 40
_LARGEST = 10**27
"""A sum in units times the two billion that it is compared by must be below 2^127."""
_SLACK = Decimal("1e-9")
"""What a number may be off, as a share of the base and of the number: releases round doubles."""


def check_sums(con: Checks, column: Column, policy: Policy, tables: Tables) -> None:
    """Check that the sum of a column and the sums of groups stayed, where the treatment keeps sums.

    Raises `ParameterError`: the numbers are too large, or too many differ, for a script.
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
    sides = [_texts_in_groups(con, table, wanted, policy.null_values) for table in (released, raw)]
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
    """Add the numbers of each group, and the absolute values of all numbers."""
    sums: dict[str | None, Decimal] = defaultdict(Decimal)
    size = Decimal(0)
    for text, group, records in con.execute(f"SELECT v, g, count(*) FROM ({rows}) GROUP BY v, g").fetchall():
        sums[group] += worth[text] * records
        size += abs(worth[text]) * records
    return sums, size


def _untold(treatment: Treatment, wanted: Sequence[str], released: Table, raw: Table) -> str:
    if treatment.settings.keys() & {"top", "bottom"}:
        return "numbers beyond limits were replaced before"
    if any(name not in table.names for name in wanted for table in (released, raw)):
        return f"a table lacks one of {', '.join(map(repr, wanted))}"
    return ""


def _texts_in_groups(con: Checks, table: Table, wanted: Sequence[str], null_values: Nulls) -> str:
    """Write the query of the texts of a column, v, and of the groups, g."""
    value, *others = (written(con, table, name, null_values) for name in wanted)
    group = others[0] if others else "NULL::VARCHAR"
    return f"SELECT v, g FROM (SELECT {value} AS v, {group} AS g FROM {table.name} AS t) WHERE v IS NOT NULL"


def _unit(number: Fraction) -> Fraction:
    places = 0
    while (number * 10**places).denominator > 1:
        places += 1
    return Fraction(1, 10**places)


def _check_units(
    con: Script, name: str, sides: Sequence[str], worth: Mapping[str, Decimal], base: Decimal, records: int,
    *, grouped: bool,
) -> None:  # fmt: skip
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
