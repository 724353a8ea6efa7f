"""Which cells mean missing, in SQL: null values are texts, numbers, days and points of time."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal

from incrowd.verification.source import literal

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
# Null values that are numbers, days or points of time mean these however they are written.
_NULL_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?"
_NULL_MOMENT = _DAY + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"
_LONGEST = 400
"""Digits up to which a number is looked for without an exponent."""


def means_missing(text: str, null_values: Sequence[str]) -> str:
    """Write in SQL that a cell's text means missing: as it is, or as the same number or point of time."""
    ways = [f"{text} IN ({', '.join(map(literal, null_values))})"]
    patterns = [pattern for value in null_values for pattern in _other_ways(value)]
    ways += [f"regexp_full_match({text}, {literal(pattern)})" for pattern in patterns]
    return f"({' OR '.join(ways)})"


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
        found = [f"{minus}{text[0]}{fraction}[eE]{shifted}"]
        if abs(power) <= _LONGEST:
            whole = text[: power + 1].ljust(power + 1, "0") if power >= 0 else "0"
            rest = text[power + 1 :] if power >= 0 else "0" * (-power - 1) + text
            found.append(minus + whole + (rf"\.{rest}0*" if rest else r"(\.0+)?"))
        return found
    day = re.fullmatch(_NULL_MOMENT, value)
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
