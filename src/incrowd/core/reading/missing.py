"""Missing values: which values the `null_values` of a schema mean, in columns of every type.

A value is missing if its text in a CSV is one of the null values. Numbers, dates and points of time are also
compared by value. Example: ``99`` also means ``99.0`` and ``99.00``, and ``1900-01-01`` also means the
midnight of that day. So the type of a column changes nothing. Neither does writing it to a file and reading
it again.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from incrowd.core.lazy import np, pl
from incrowd.core.reading.exact import DAY

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
_DAY = re.compile(DAY)
_ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
_PLAIN_DIGITS = 400
"""Digits up to which a number is looked for in texts in all ways to write it."""


@dataclass(frozen=True)
class NullValues:
    """The null values of a schema, prepared for columns of every type.

    Attributes
    ----------
    texts
        Texts that are missing just as they are.
    pattern
        A regular expression of other ways to write the same numbers and days, anchored at both ends; None
        where there are none. Rust, RE2 and Python read it alike.
    numbers, moments
        Those that are numbers and those that are days or points of time, by value.
    """

    texts: tuple[str, ...]
    pattern: str | None
    numbers: tuple[Decimal, ...]
    moments: tuple[dt.datetime, ...]

    def __bool__(self) -> bool:
        return bool(self.texts)

    def mean(self, text: str | None) -> bool:
        """Return whether a text, or None, means missing."""
        if text is None or text in self.texts:
            return True
        return self.pattern is not None and re.fullmatch(self.pattern, text) is not None

    def of_type(self, kind: pl.DataType) -> list[Any]:
        """Return the null values of a column type other than text, as Python values.

        Points of time are those that a clock in the column's time zone shows.
        """
        if kind == pl.Boolean:
            return [text == "true" for text in self.texts if text in ("true", "false")]
        if kind.is_float():
            small = kind == pl.Float32
            infinite = [float(text) for text in self.texts if text in ("inf", "-inf")]
            floats = (_float(number, small=small) for number in self.numbers)
            return [*(value for value in floats if value is not None), *infinite]
        if kind.is_integer():
            integers = (int(number) for number in self.numbers if number == number.to_integral_value())
            return [value for value in integers if _fits(value, kind)]
        if isinstance(kind, pl.Decimal):
            return [number for number in self.numbers if _fits(number, kind)]
        if kind == pl.Date:
            return [moment.date() for moment in self.moments if moment.time() == dt.time()]
        if isinstance(kind, pl.Datetime):
            return [moment for moment in self.moments if _fits(moment, kind)]
        return []

    def cleaned(self, column: pl.Expr, kind: pl.DataType) -> pl.Expr:
        """Make the null values of a column of a type null."""
        if kind == pl.String:
            if not self.texts:
                return column
            gone = column.is_in(list(self.texts))
            if self.pattern is not None:
                gone |= column.str.contains(self.pattern)
        else:
            values = self.of_type(kind)
            if not values:
                return column
            read = column
            if isinstance(kind, pl.Datetime):
                read, kind = column.dt.replace_time_zone(None), pl.Datetime(kind.time_unit)
            gone = read.is_in(pl.Series(values, dtype=kind).implode())
        return pl.when(gone).then(None).otherwise(column)

    def without(self, series: pl.Series) -> pl.Series:
        """Return a column with null where a value means missing."""
        if series.dtype != pl.String:
            return pl.select(self.cleaned(pl.lit(series), series.dtype)).to_series().alias(series.name)
        if not self.texts:
            return series
        # The pattern is asked once for every distinct text.
        distinct = series.drop_nulls().unique()
        gone = distinct.is_in(pl.Series(self.texts, dtype=pl.String).implode())
        if self.pattern is not None:
            gone |= distinct.str.contains(self.pattern)
        is_null = series.is_in(distinct.filter(gone).implode())
        return series.zip_with(~is_null.fill_null(value=True), pl.Series([None], dtype=pl.String))


@lru_cache(maxsize=64)
def null_values_of(texts: tuple[str, ...]) -> NullValues:
    """Read the null values of a schema."""
    numbers = tuple(dict.fromkeys(Decimal(text) for text in texts if _NUMBER.fullmatch(text)))
    moments = tuple(dict.fromkeys(moment for text in texts if (moment := _moment(text)) is not None))
    ways = [*map(_number_ways, numbers), *map(_moment_ways, moments)]
    return NullValues(texts, f"^({'|'.join(ways)})$" if ways else None, numbers, moments)


def _moment(text: str) -> dt.datetime | None:
    """Return a day or point of time without a zone, or None for another text."""
    if not _DAY.match(text) or (len(text) > 10 and text[10] not in "T "):
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is None else None


def _float(number: Decimal, *, small: bool) -> float | None:
    """Return the float (of 32 bits if `small`) that a number denotes exactly, or None."""
    with np.errstate(over="ignore"):
        value: np.floating = (np.float32 if small else np.float64)(float(number))
    return float(value) if np.isfinite(value) and Decimal(str(value)) == number else None


def _number_ways(number: Decimal) -> str:
    """Return a pattern of all spellings of a number, with and without an exponent."""
    if number == 0:
        return r"-?0(\.0+)?"
    first, *rest = (str(digit) for digit in number.normalize().as_tuple().digits)
    minus, power = "-" if number < 0 else "", number.adjusted()
    shifted = rf"\+?0*{power}" if power >= 0 else f"-0*{-power}"
    way = f"{minus}{first}{_fraction(''.join(rest))}[eE]{shifted}"
    if abs(power) > _PLAIN_DIGITS:
        return way
    integer, _, rest_of = format(number, "f").partition(".")
    return f"{integer}{_fraction(rest_of.rstrip('0'))}|{way}"


def _fraction(digits: str) -> str:
    """Return a pattern of decimals, which may end in zeros."""
    return rf"\.{digits}0*" if digits else r"(\.0+)?"


def _moment_ways(moment: dt.datetime) -> str:
    """Return a pattern of all spellings of a point of time, including the day for midnight."""
    day = moment.date().isoformat()
    if moment.time() == dt.time():
        return rf"{day}([T ]00:00(:00(\.0+)?)?{_ZONE})?"
    fraction = f"{moment.microsecond:06}".rstrip("0")
    return f"{day}[T ]{moment:%H:%M:%S}{_fraction(fraction)}{_ZONE}"


def _fits(value: Any, kind: pl.DataType) -> bool:
    """Return whether a type can store a value exactly."""
    if isinstance(value, dt.datetime):
        kind = pl.Datetime(kind.time_unit)  # type: ignore[attr-defined]
    try:
        stored = pl.Series([value], dtype=kind)
    except (pl.exceptions.PolarsError, OverflowError, TypeError, ValueError, RuntimeError):
        # What is beyond 128 bits is a RuntimeError of its binding.
        return False
    return bool(stored[0] == value)
