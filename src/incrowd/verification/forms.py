"""Treated columns of a release: do their values have the form that the policy's treatment gives them?

What a key, a threshold from a quantile or chance decided cannot be told from outside. What can be told is the
form: characters of a token, marks of a mask, multiples of a base, limits that are given as values. With the
raw table it can be told besides that no raw value is left where none may be.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from incrowd.errors import named
from incrowd.verification.checks import Checks, Script
from incrowd.verification.classes import written
from incrowd.verification.policy import NO_NULLS, Column, Policy
from incrowd.verification.source import Table
from incrowd.verification.spellings import Spelling
from incrowd.verification.treatments import LINKED, Treatment

Form = Callable[[str, int], bool]
"""Says whether a value that so many records have is one that the treatment gives."""
_FOLLOWED = frozenset({"age-at", "keep-first", "keep-last", "mask", "email-domain", "other", "round"})
"""Treatments of which each value goes with one value of a linked column."""


def check_form(con: Checks, column: Column, policy: Policy, released: Table) -> None:
    """Check that the values of a treated column are of the form that its treatment gives."""
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
    """Check that a linked column has one value for each of its lead, unless it may have several."""
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
    """Return the form that a treatment gives; None where nothing can be told, as of linked columns."""
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
        found = re.compile(pattern)
    except re.error:
        return None
    return lambda text, _: mark in text and not found.search(text)


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
    """Read a number as its column writes it; None where it is none."""
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
