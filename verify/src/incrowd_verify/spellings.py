"""Numbers and dates in a spelling that a policy declares, read a second time.

A column's distinct texts are read one by one, with other means than those of the code that made the release:
numbers by taking signs away, dates by the standard library. Cells of a release are plain but for decimal
commas; raw values, values of a population, and sensitive values are not. Null values are texts, numbers, days
and points of time, however these are written.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from incrowd_gate.errors import PolicyError, SchemaError
from incrowd_gate.lazy import pl
from incrowd_verify.checks import Checks
from incrowd_verify.recipes import DAY, range_pattern
from incrowd_verify.source import literal

_SIGNS = ("$", "€", "£", "¥", "₹", "₺", "₽", "₩", "₪", "₫", "฿", "₴", "₦", "₱", "R$", "%", "‰")
_NAMES = (
    "TL kr zł Kč Ft лв руб lei Rp "
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NGN "
    "NOK NZD PEN PHP PLN RON RUB SAR SEK SGD THB TRY TWD UAH USD UYU VND ZAR"
)
_BLANKS = " \u00a0\u202f"
# Null values that are numbers, days or points of time mean these however they are written.
_NULL_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?"
MOMENT = DAY + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"
_LONGEST = 400
"""Digits up to which a number is looked for without an exponent."""


@dataclass(frozen=True)
class Spelling:
    """How a column writes numbers or dates; settings that the policy lacks are None."""

    format: str | None
    decimal: str | None
    thousands: str | None

    @property
    def point(self) -> str:
        """The sign before decimals: a point, unless the policy or the sign of thousands asks for another."""
        return self.decimal or ("," if self.thousands == "." else ".")

    def plain(self, text: str) -> str | None:
        """Return a text in the spelling of a release, or None where the column's spelling does not fit."""
        return self._numeral(text.strip()) if self.format is None else self._day(text.strip(), self.format)

    def _day(self, text: str, pattern: str) -> str | None:
        week = "%G" in pattern
        first = week and "%u" not in pattern  # of a week without a day its first day
        try:
            read = datetime.datetime.strptime(f"1 {text}" if first else text, "%u " * first + pattern)
            if week and read.strftime(pattern) != text:
                return None
        except ValueError:
            return None
        if not re.search("%[HIMSfp]", pattern.replace("%%", "")):
            return f"{read.date()}"
        part = f".{read.microsecond:06}".rstrip("0") if read.microsecond else ""
        return f"{read.date()}T{read:%H:%M:%S}{part}"

    def _numeral(self, text: str) -> str | None:
        names = _NAMES.split()
        for unit in (*_SIGNS, *(f"{each}." for each in names), *names):
            signed = text[:1] if text[:1] in "+-−" else ""
            if text.startswith(unit, len(signed)):
                rest = text[len(signed) + len(unit) :]
                text = signed + (rest[1:] if rest[:1] in tuple(_BLANKS) else rest)
                if not rest or not text[len(signed) :][:1].isdigit():
                    return None
                break
            if text.endswith(unit):
                rest = text[: -len(unit)]
                text = rest[:-1] if rest[-1:] in tuple(_BLANKS) else rest
                break
        text = text.replace("−", "-")
        whole, point, part = text.partition(self.point)
        if self.thousands is not None:
            marks = {" ": _BLANKS, "'": "'’"}.get(self.thousands, self.thousands)
            first, *others = re.split(f"[{re.escape(marks)}]", whole)
            if others and (not 1 <= len(first.lstrip("+-")) <= 3 or any(len(each) != 3 for each in others)):
                return None
            whole = first + "".join(others)
        if not re.fullmatch("[+-]?[0-9]+", whole) or (point and not re.fullmatch("[0-9]+", part)):
            return None
        try:
            number = Decimal(f"{whole}.{part or 0}")
        except InvalidOperation:
            return None
        digits = format(number, "f")
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        return "0" if digits in ("-0", "") else digits


def spelling_of(entry: dict[str, Any], where: str) -> Spelling | None:
    """Read the policy's spelling of a column.

    Raises `PolicyError`: it contradicts itself, or is still a question.
    """
    given = {name: entry.get(name) for name in ("format", "decimal", "thousands")}
    if all(value is None for value in given.values()):
        return None
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise PolicyError(f"{name} of {where} must be a text")
        if value == "?":
            raise PolicyError(
                f'{name} of {where} is still a question ("?"): write how the values are spelled'
            )
    for name, known in (("decimal", (".", ",")), ("thousands", (",", ".", " ", "'", "_"))):
        if given[name] is not None and given[name] not in known:
            raise PolicyError(f"{name} of {where} must be one of {', '.join(map(repr, known))}")
    if given["format"] is not None and not re.search("%[YyG]", given["format"]):
        raise PolicyError(f"format of {where} must have the year, %Y or %y")
    if given["format"] is not None and (given["decimal"] or given["thousands"]):
        raise PolicyError(f"{where}: format is for dates, decimal and thousands are for numbers")
    spelling = Spelling(**given)
    if spelling.format is None and spelling.thousands == spelling.point:
        raise PolicyError(f"{where}: decimal and thousands are the same sign")
    return spelling


def refuse_unclear_points(con: Checks, table: str, text: str, column: str, nulls: Sequence[str]) -> None:
    """Refuse a column of numbers in texts if nobody can tell whether the points stand before decimals.

    So it is where every point has one to three digits before it, the first of them no zero, and three behind.
    """
    kept = f"NOT {means_missing(text, nulls)}" if nulls else "true"
    number = r"[+-]?[0-9]+([.][0-9]+)?"
    numbers, points, threes = con.row(
        f"SELECT coalesce(bool_and(regexp_full_match({text}, {literal(number)})), false), "
        f"count(*) FILTER (contains({text}, '.')), "
        f"count(*) FILTER (regexp_full_match({text}, '[+-]?[1-9][0-9]?[0-9]?[.][0-9][0-9][0-9]')) "
        f"FROM {table} WHERE {text} IS NOT NULL AND {text} <> '*' AND {kept}"
    )
    if numbers and points and points == threes:
        raise SchemaError(
            f"column {column!r}: three digits follow every point in its numbers, so nobody can tell what a "
            'point means; write thousands = "." or decimal = "." in the policy'
        )


def is_spelled(spelling: Spelling | None, stored: str) -> bool:
    """Say whether a column's values are written in the declared spelling.

    `stored`: what it is stored as, see `group_of`: texts, or whole numbers for days written ``20200305``.
    """
    return spelling is not None and (
        stored == "text" or (spelling.format is not None and stored in ("number", "float"))
    )


def point_cells(con: Checks, table: str, cell: str) -> None:
    """Write decimal points into the released cells of a column with commas; other cells stay the same."""
    number = "-?[0-9]+(,[0-9]+)?(e[+-][0-9]+)?"
    value = f"({number}|<missing>)"
    forms = (
        f"{number}( or more| or less)?",
        range_pattern(number),
        f"[[]{number}; {number}[)]",
        f"[{{]{value}(; {value})+[}}]",
        "[0-9'-]+,[0-9]*[*]+",
    )
    con.execute(
        f"UPDATE {table} SET {cell} = replace(replace({cell}, ',', '.'), ';', ',') "
        f"WHERE regexp_full_match({cell}, {literal('|'.join(forms))})"
    )


def means_missing(text: str, null_values: Sequence[str]) -> str:
    """Write in SQL that a cell's text means missing: literally, or as the same number or point of time."""
    ways = [f"{text} IN ({', '.join(map(literal, null_values))})"]
    patterns = [pattern for value in null_values for pattern in _other_ways(value)]
    ways += [f"regexp_full_match({text}, {literal(pattern)})" for pattern in patterns]
    return f"({' OR '.join(ways)})"


def missing_in(values: pl.Series, null_values: Sequence[str]) -> pl.Series:
    """Find the missing values: null, not-a-number, and values that `means_missing` describes."""
    texts = values.cast(pl.String, strict=False) if not values.dtype.is_nested() else None
    missing = values.is_null() | (values.is_nan() if values.dtype.is_float() else False)
    if texts is None or not null_values:
        return missing
    patterns = "|".join(pattern for value in null_values for pattern in _other_ways(value))
    missing |= texts.is_in(list(null_values)).fill_null(False)
    return missing | texts.str.contains(f"^({patterns})$").fill_null(False) if patterns else missing


def _other_ways(value: str) -> list[str]:
    """Return patterns of the other ways to write a null value that is a number, a day or a point of time."""
    if re.fullmatch(_NULL_NUMBER, value):
        sign, digits, exponent = Decimal(value).normalize().as_tuple()
        assert isinstance(exponent, int)
        minus = "-" if sign else ""
        if digits == (0,):
            return [r"-?0(\.0+)?"]
        text = "".join(map(str, digits))
        power = len(text) - 1 + exponent
        shifted = rf"-0*{-power}" if power < 0 else rf"\+?0*{power}"
        fraction = rf"\.{text[1:]}0*" if text[1:] else r"(\.0+)?"
        patterns = [f"{minus}{text[0]}{fraction}[eE]{shifted}"]
        if abs(power) <= _LONGEST:
            whole = text[: power + 1].ljust(power + 1, "0") if power >= 0 else "0"
            rest = text[power + 1 :] if power >= 0 else "0" * (-power - 1) + text
            patterns.append(minus + whole + (rf"\.{rest}0*" if rest else r"(\.0+)?"))
        return patterns
    day = re.fullmatch(MOMENT, value)
    if day is None:
        return []
    try:
        at = datetime.datetime.fromisoformat(value)
    except ValueError:
        return []
    zone = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
    if at.time() == datetime.time():
        return [rf"{value[:10]}([T ]00:00(:00(\.0+)?)?{zone})?"]
    fraction = f"{at.microsecond:06}".rstrip("0")
    ending = rf"\.{fraction}0*" if fraction else r"(\.0+)?"
    return [f"{value[:10]}[T ]{at.time().isoformat('seconds')}{ending}{zone}"]
