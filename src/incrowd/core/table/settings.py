"""Settings of a table's judgement, and grids: the ends and means that may be released.

A table tells nothing about a `*` or a missing cell. So what it matches is a matter of definition.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Literal, get_args

from incrowd.core.errors import SchemaError
from incrowd.core.parameters import Parameter
from incrowd.core.reading.exact import number_of

Wildcards = Literal["value", "matches-any", "conservative"]

WILDCARDS: tuple[Wildcards, ...] = get_args(Wildcards)
"""Values that a `*` or a missing cell matches: only itself, any, or none."""

WILDCARD = Parameter(
    str,
    "what a * or a missing cell matches: value (itself), matches-any or conservative (nothing)",
    choices=WILDCARDS,
)

Judge = Literal["released", "original"]
JUDGE = Parameter(
    str,
    "perturbed values that models judge: before and as released (released), or before (original)",
    choices=get_args(Judge),
)

SuppressedRecords = Literal["judged", "drop", "keep"]
SUPPRESSED_SETTING = Parameter(
    str,
    "whether suppressed records leave: if they satisfy the models as a class (judged), never (drop), or "
    "always (keep)",
    choices=get_args(SuppressedRecords),
)


Ends = Literal["outward", "exact"]
ENDS = Parameter(
    str,
    "ends of ranges, and means: outward (rounded, open at the tails) or exact (values of people)",
    choices=get_args(Ends),
)
DEFAULT_ENDS: Ends = "outward"
"""Default for the ends of ranges, the same for every way to make a release."""
Calendar = Literal["day", "month", "year"]
CALENDAR = get_args(Calendar)
"""Grids of dates."""
_DIGITS = "digits"
_FIVES = "fives"
_WIDE = 20
"""Numbers that are at least so far apart get ends that are multiples of five.

Two digits would leave the ages of people as they are, and most ages at an end are those of one person.
"""
_YEARS = Decimal(1800), Decimal(2199)
"""Bounds of a column of integers that holds years, whose two leading digits say nothing."""
_WIDEST = 10**9
_ROUNDINGS = {"down": ROUND_FLOOR, "up": ROUND_CEILING, "near": ROUND_HALF_EVEN}


@dataclass(frozen=True)
class Grid:
    """Allowed ends of the ranges of a column.

    Attributes
    ----------
    spec
        ``digits`` (two significant digits of each end), ``fives`` (but multiples of five up to 100),
        a number whose multiples they are, or ``day``, ``month`` or ``year``.
    """

    spec: str

    def down(self, text: str) -> str:
        """Return the next grid point at or below a number or day."""
        return _day(text, self.spec, last=False) if self.spec in CALENDAR else self._round(text, "down")

    def up(self, text: str) -> str:
        """Return the next grid point at or above a number or the end of a day."""
        return _day(text, self.spec, last=True) if self.spec in CALENDAR else self._round(text, "up")

    def near(self, text: str) -> str:
        """Return the nearest grid number, or the nearest first day of a month or year."""
        if self.spec not in CALENDAR:
            return self._round(text, "near")
        day = dt.date.fromisoformat(text[:10])
        first = dt.date.fromisoformat(_day(text, self.spec, last=False))
        last = dt.date.fromisoformat(_day(text, self.spec, last=True))
        later = self.spec != "day" and day - first > last - day and last < dt.date.max
        return (last + dt.timedelta(days=1) if later else first).isoformat()

    def fits(self, kind: str) -> bool:
        """Say whether the spec is a valid grid for a kind, numbers or dates."""
        if self.spec in CALENDAR:
            return kind == "date"
        number = number_of(self.spec)
        return kind == "number" and (self.spec in (_DIGITS, _FIVES) or (number is not None and number > 0))

    def _round(self, text: str, way: str) -> str:
        number = Decimal(text)
        fives = self.spec == _FIVES
        if self.spec == _DIGITS or (fives and abs(number) > 100):
            return _written(Context(2, _ROUNDINGS[way], Emin=-_WIDEST, Emax=_WIDEST).create_decimal(number))
        step = Decimal(5 if fives else self.spec)
        (share, whole), (width, unit) = number.as_integer_ratio(), step.as_integer_ratio()
        steps, rest = divmod(share * unit, width * whole)
        past_half = 2 * rest - width * whole
        steps += rest > 0 and (way == "up" or (way == "near" and past_half + steps % 2 > 0))
        exact = Context(steps.bit_length() + len(step.as_tuple().digits) + 1)
        return _written(exact.multiply(Decimal(steps), step))


def grid_of(declared: float | str | None, kind: str, values: Sequence[str], column: str) -> Grid:
    """Return the grid of a column of numbers or dates.

    Parameters
    ----------
    declared
        What its `Attribute` says; None for the usual one: two significant digits of numbers, or of their
        spread where all have the same leading digits, whole numbers where all values are years, multiples of
        five besides where the values are 20 or more apart, and months of dates.
    kind
        ``number`` or ``date``.
    values
        Its values in order, without the missing one.

    Raises
    ------
    SchemaError
        When a grid of dates was declared for numbers, or one of numbers for dates.
    """
    if declared is not None:
        grid = Grid(declared if isinstance(declared, str) else _written(Decimal(str(declared))))
        if not grid.fits(kind):
            fitting = "one of " + ", ".join(CALENDAR) if kind == "date" else "a number"
            raise SchemaError(f"column {column!r} holds {kind}s, so its grid must be {fitting}")
        return grid
    if kind == "date":
        return Grid("month")
    ends = [number_of(value) or Decimal(0) for value in (*values[:1], *values[-1:])]
    years = bool(ends) and _YEARS[0] <= ends[0] and ends[-1] <= _YEARS[1]
    years = years and all(Decimal(value) % 1 == 0 for value in values)
    spread = ends[-1] - ends[0] if ends else Decimal(0)
    wide = spread >= _WIDE
    largest = max(map(abs, ends), default=Decimal(0))
    if not years and spread and spread < 2 * Decimal(10) ** (largest.adjusted() - 1):
        # Of 1,000,000 to 1,001,000 the leading digits say nothing, so that every end would be one number.
        step = Decimal(10) ** (spread.adjusted() - 1)
        return Grid(_written(max(step, Decimal(5)) if wide else step))
    return Grid(("5" if wide else "1") if years else _FIVES if wide else _DIGITS)


def check_grid(column: str, grid: Any) -> None:
    """Raise for a grid that is neither a width above 0 nor a part of the calendar.

    Raises
    ------
    SchemaError
    """
    plain = isinstance(grid, int | float) and not isinstance(grid, bool)
    if grid in CALENDAR or (plain and math.isfinite(grid) and grid > 0):
        return
    raise SchemaError(f"column {column!r}: grid must be a number above 0, or one of {', '.join(CALENDAR)}")


def _written(number: Decimal) -> str:
    """Write a number without exponent, trailing zeros of a fraction, and ``-0``."""
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _day(text: str, unit: str, *, last: bool) -> str:
    """Return the first or the last day of the month or year of a day or moment."""
    year, month, day = text[:4], text[5:7], text[8:10]
    if unit == "year":
        month, day = ("12", "31") if last else ("01", "01")
    elif unit == "month":
        day = f"{calendar.monthrange(int(year), int(month))[1]:02}" if last else "01"
    return f"{year}-{month}-{day}"
