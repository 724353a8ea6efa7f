"""Ends of ranges that a policy rounds outward: they lie on a grid, whatever the raw table holds."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Collection
from fractions import Fraction

from incrowd.verification.cells import ends_of, is_value
from incrowd.verification.policy import USUAL, Column
from incrowd.verification.recipes import day_of

_YEARS = Fraction(1800), Fraction(2199)
_WIDE = 22
"""Ends that are so far apart are of values that are 20 or more apart: each was moved by less than one."""
_LONGEST = {"day": 1, "month": 17, "year": 185}
"""Days from a date to the nearest beginning of a part of the calendar, and one more."""


def off_grid(column: Column, cells: Collection[str | None]) -> tuple[set[str], str]:
    """Find the ranges of a column that end beside its grid.

    Returns
    -------
    ranges
        Those that do; none where the column's ends may be anywhere.
    why
        Why they may be texts of a category, and no ranges; empty where the cells or the policy tell.
    """
    labels = column.hierarchy is not None and not column.is_by_number
    if column.grid is None or labels or column.style not in ("auto", "range"):
        return set(), ""
    read = {cell: ends_of(cell, column.measure) for cell in cells if cell is not None}
    known = {cell: ends for cell, ends in read.items() if ends is not None}
    texts = [end for ends in known.values() for end in ends if end is not None]
    numbers = [Fraction(end) for end in texts if day_of(end) is None]
    years = bool(numbers) and all(
        number.denominator == 1 and _YEARS[0] <= number <= _YEARS[1] for number in numbers
    )
    # Beyond 100 two digits are multiples of five, and are moved by more than one.
    small = numbers if years else [number for number in numbers if abs(number) <= 100]
    wide = bool(small) and max(small) - min(small) >= _WIDE
    wrong = {
        cell
        for cell, ends in known.items()
        if not all(
            end is None or _fits(end, column, last=bool(n), years=years, wide=wide)
            for n, end in enumerate(ends)
        )
    }
    typed = column.measure is not None or any(
        cell is not None and (is_value(cell) or None in known.get(cell, ())) for cell in cells
    )
    return wrong, "" if typed or not wrong else "the policy gives them no kind"


def _fits(end: str, column: Column, *, last: bool, years: bool, wide: bool) -> bool:
    grid = column.grid
    if day_of(end) is not None:
        return len(end) == 10 and _is_edge(
            datetime.date.fromisoformat(end), "month" if grid == USUAL else str(grid), last=last
        )
    number = Fraction(end)
    if isinstance(grid, Fraction):
        return (number / grid).denominator == 1
    return grid == USUAL and (years or len(_digits(end)) <= 2) and not (wide and number % 5)


def _digits(number: str) -> str:
    """Return the significant digits of a number."""
    mantissa = number.lstrip("-").partition("e")[0]
    digits = mantissa.replace(".", "").lstrip("0")
    return digits.rstrip("0")


def _is_edge(day: datetime.date, unit: str, *, last: bool) -> bool:
    """Say whether a day is the first or the last one of its month or year."""
    if unit == "day":
        return True
    months = (1, 12) if unit == "year" else (day.month, day.month)
    if last:
        return (day.month, day.day) == (months[1], calendar.monthrange(day.year, months[1])[1])
    return unit in ("month", "year") and (day.month, day.day) == (months[0], 1)


def mean_slack(column: Column, cell: str) -> tuple[str, int]:
    """Return how far a mean may be from its cell (SQL of a text), because it was rounded.

    Returns
    -------
    numbers
        SQL of how far a number may be.
    days
        How many days a date may be.
    """
    grid = column.grid
    if grid is None:
        return "0", 1
    days = _LONGEST["month" if grid == USUAL else grid] if isinstance(grid, str) else 1
    if isinstance(grid, Fraction):
        return f"{float(grid / 2) * (1 + 1e-9)!r}", days
    number, half = f"TRY_CAST({cell} AS DOUBLE)", 0.5 * (1 + 1e-9)
    digits = f"coalesce(pow(10, floor(log10(nullif(abs({number}), 0)) + 1e-12) - 1) * {half!r}, 0)"
    fives = f"CASE WHEN abs({number}) <= 100 AND {number} % 5 = 0 THEN {5 * half!r} ELSE 0 END"
    return f"greatest({digits}, {fives})", days
