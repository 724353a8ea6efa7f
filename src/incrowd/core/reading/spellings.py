"""Spellings of numbers and dates in texts other than `1234.5` and `2020-03-05`.

A column declares its spelling (`format`, or `decimal` and `thousands`). Its texts are then read once, where
the distinct values of a column are ranked, whatever engine met them. From there on a value has one text: the
plain number, the day, or the point of time. A column that declares nothing is read in `core.table.domain`:
there ``45.100`` becomes 45.1, or is refused where points are unclear.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from incrowd.core.documents import range_text
from incrowd.core.errors import ParameterError, SchemaError, null_values_setting, quoted
from incrowd.core.lazy import NDArray, np, pl

OPEN = "?"
"""A spelling that a draft asks about; no schema has it."""

_DIRECTIVES = frozenset("YymdHIMSfpbBjaAGVu%")
"""Letters of a pattern that are read, as `datetime.strptime` reads them."""
_NAMED = frozenset("bBaAp")
"""Those that stand for names, which are read in English."""
_TIMES = frozenset("HIMSfp")
DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'", "_")
_BLANKS = "[ \\u00a0\\u202f]"
_CODES = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NGN "
    "NOK NZD PEN PHP PLN RON RUB SAR SEK SGD THB TRY TWD UAH USD UYU VND ZAR"
)
_UNIT = rf"(?:[$€£¥₹₺₽₩₪₫฿₴₦₱]|R\$|(?:{_CODES.replace(' ', '|')}|TL|kr|zł|Kč|Ft|лв|руб|lei|Rp)\.?|%|‰)"
"""A sign of a currency, its code of ISO 4217, its short name, per cent or per mille."""
_THREES = r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$"
"""What may be a decimal number, or a whole one of more than a thousand."""
_DAY = 86_400
_LOOKED_AT = 100
"""Texts that are looked at before all are."""
QUESTIONS = ("format", "decimal", "thousands")
"""The settings of a spelling, each of which a draft may ask for."""
_LONGEST = 400
"""Characters of a number that is read."""


def _cells(sign: str, between: str) -> re.Pattern[str]:
    """Return the pattern of number cells: number, range, bin, open range, set and mask."""
    number = rf"-?[0-9]+(?:{sign}[0-9]+)?(?:e[+-][0-9]+)?"
    member = rf"(?:{number}|<missing>)"
    span = re.escape(range_text("0", "0")).replace("0", number)
    return re.compile(
        rf"{number}(?: or (?:more|less))?|{span}|\[{number}{between}{number}\)"
        rf"|\{{{member}(?:{between}{member})+\}}|'?-?[0-9]+{sign}[0-9]*\*+"
    )


_POINTS, _COMMAS = _cells(r"\.", ", "), _cells(",", "; ")


def with_comma(cell: str | None) -> str | None:
    """Write a released cell of numbers with decimal commas, and semicolons between numbers.

    Examples
    --------
    >>> with_comma("[46.5-65.4]"), with_comma("[1.8, 1.9)"), with_comma("{1, 2.5}")
    ('[46,5-65,4]', '[1,8; 1,9)', '{1; 2,5}')
    """
    if cell is None or not _POINTS.fullmatch(cell):
        return cell
    return cell.replace(", ", "; ").replace(".", ",")


def without_comma(cell: str) -> str:
    """Undo `with_comma`, leaving plain cells and other texts unchanged.

    Examples
    --------
    >>> without_comma("[1,8; 1,9)"), without_comma("[1.8, 1.9)")
    ('[1.8, 1.9)', '[1.8, 1.9)')
    """
    return cell.replace(",", ".").replace("; ", ", ") if _COMMAS.fullmatch(cell) else cell


@dataclass(frozen=True, slots=True)
class Spelling:
    """The spelling of a column's numbers or dates.

    Attributes
    ----------
    format
        A pattern for dates and times as `datetime.strptime` takes it, e.g. ``%d.%m.%Y``.
    decimal
        What stands before the decimals of numbers: ``.`` or ``,``.
    thousands
        What groups digits in threes: ``,``, ``.``, a blank, ``'`` or ``_``. Where it is ``.``, a comma
        stands before decimals.
    """

    format: str | None = None
    decimal: str | None = None
    thousands: str | None = None

    def __bool__(self) -> bool:
        return self.format is not None or self.decimal is not None or self.thousands is not None

    def settings(self) -> dict[str, str]:
        """Return the declared fields by the names in attributes and policy files."""
        fields = {"format": self.format, "decimal": self.decimal, "thousands": self.thousands}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def point(self) -> str:
        """The sign before the decimals of numbers, declared or not."""
        return self.decimal or ("," if self.thousands == "." else ".")

    @property
    def kind(self) -> str:
        """The kind of the texts: ``date`` or ``number``."""
        return "number" if self.format is None else "date"

    def read(self, text: str) -> str | None:
        """Return the plain text of a value, or None for another spelling.

        Examples
        --------
        >>> Spelling(format="%d.%m.%Y").read("5.3.2020")
        '2020-03-05'
        >>> Spelling(decimal=",", thousands=".").read("1.234,50")
        '1234.5'
        """
        if self.format is not None:
            moment = self.moment(text)
            if moment is None or not self.is_timed:
                return None if moment is None else moment.date().isoformat()
            seconds = moment.isoformat(timespec="seconds")
            return f"{seconds}.{moment.microsecond:06}".rstrip("0") if moment.microsecond else seconds
        return self.number(text)[0]

    @property
    def is_timed(self) -> bool:
        """Whether the pattern has a time of the day."""
        return bool(_TIMES & set(_letters(self.format or "")))

    def moment(self, text: str) -> dt.datetime | None:
        """Return a day or point of time, or None, where an ISO week without a day is the week's Monday."""
        text, pattern = text.strip(), self.format or ""
        no_day = "%V" in pattern and "%u" not in pattern
        try:
            moment = dt.datetime.strptime(*((f"{text} 1", f"{pattern} %u") if no_day else (text, pattern)))
        except ValueError:
            return None
        # Python takes week 53 of a year without such a week for the next year's first.
        return moment if "%V" not in pattern or moment.strftime(pattern) == text else None

    def number(self, text: str) -> tuple[str | None, str]:
        """Return a number, or None, and the unit beside the number: a sign of currency or percent."""
        match = _numbers(self.point, self.thousands).fullmatch(text.strip())
        if match is None or len(text) > _LONGEST or (match["before"] and match["after"]):
            return None, ""
        integer = re.sub(r"[^0-9]", "", match["whole"]).lstrip("0") or "0"
        part = (match["part"] or "").rstrip("0")
        plain = f"{integer}.{part}" if part else integer
        minus = match["sign"] in ("-", "−") and plain != "0"
        return ("-" if minus else "") + plain, match["before"] or match["after"] or ""


def check_spelling(column: str, spelling: Spelling, kind: str) -> None:
    """Raise for an invalid spelling of a column.

    Raises
    ------
    SchemaError
    """
    if not spelling:
        return
    try:
        _check(spelling, kind)
    except ParameterError as error:
        raise SchemaError(f"column {column!r}: {error}") from None


def _check(spelling: Spelling, kind: str) -> None:
    if OPEN in (spelling.format, spelling.decimal, spelling.thousands):
        [setting, *_] = (each for each in QUESTIONS if getattr(spelling, each) == OPEN)
        raise ParameterError(open_spelling(setting))
    if spelling.format is not None:
        if spelling.decimal is not None or spelling.thousands is not None:
            raise ParameterError("format is for dates, decimal and thousands are for numbers: name one kind")
        _check_format(spelling.format)
    for name, value, allowed in (
        ("decimal", spelling.decimal, DECIMALS),
        ("thousands", spelling.thousands, THOUSANDS),
    ):
        if value is not None and value not in allowed:
            raise ParameterError(
                f"{name} must be one of {', '.join(map(repr, allowed))}, got {quoted(value)}"
            )
    if spelling.thousands is not None and spelling.thousands == spelling.point:
        raise ParameterError(
            "decimal and thousands are the same sign; say decimal = ',' or another thousands"
        )
    if kind not in ("auto", "category", spelling.kind):
        setting = "format" if spelling.format is not None else "decimal and thousands"
        raise ParameterError(f"{setting} makes it a {spelling.kind}, but kind says {kind}")


def open_spelling(what: str) -> str:
    """Return the message for an undecided spelling, with the ways to decide."""
    if what == "format":
        return (
            'the order of day and month is not known yet (format = "?"); write format = "%d/%m/%Y" if the '
            'day comes first, or "%m/%d/%Y" if the month does, with the signs that the column has'
        )
    if what == "thousands":
        return (
            'what a point means is not known yet (thousands = "?"); write thousands = "." if 12.345 is more '
            'than twelve thousand, or decimal = "." if it is a little more than twelve'
        )
    return (
        'the decimal sign is not known yet (decimal = "?"); write decimal = "," if 1,234 is a little more '
        'than one, or thousands = "," if it is more than a thousand'
    )


def has_unclear_points(texts: pl.Series) -> bool:
    """Return whether the points in the texts of numbers may stand before decimals or between thousands.

    So it is where three digits follow every point, and one to three without a leading zero come before it.

    Examples
    --------
    >>> import polars as pl
    >>> has_unclear_points(pl.Series(["27.500", "954"]))
    True
    >>> has_unclear_points(pl.Series(["27.500", "0.125"])), has_unclear_points(pl.Series(["27.5", "65.650"]))
    (False, False)
    """
    # Most columns of numbers settle it at once.
    for some in (texts.head(_LOOKED_AT), texts):
        unlike = some.str.contains(".", literal=True) & ~some.str.contains(_THREES)
        if unlike.any():
            return False
    return bool(texts.str.contains(".", literal=True).any())


def has_decimal_points(texts: pl.Series) -> bool:
    """Return whether the points in the texts of numbers stand before decimals.

    Examples
    --------
    >>> import polars as pl
    >>> has_decimal_points(pl.Series(["27.500", "0.125"])), has_decimal_points(pl.Series(["27"]))
    (True, False)
    """
    return bool(texts.str.contains(".", literal=True).any()) and not has_unclear_points(texts)


def refuse_unclear_points(texts: pl.Series, column: str) -> None:
    """Raise for numbers with points that may stand before decimals or between thousands.

    Raises
    ------
    SchemaError
        See `has_unclear_points`.
    """
    if texts.dtype == pl.String and has_unclear_points(texts):
        raise SchemaError(
            f"column {column!r}: three digits follow every point in its numbers, so nobody can tell what a "
            'point means; write thousands = "." if 12.345 is more than twelve thousand, or decimal = "." if '
            "it is a little more than twelve"
        )


def _check_format(pattern: str) -> None:
    if not isinstance(pattern, str):
        raise ParameterError(f"format must be a text such as '%d.%m.%Y', got {quoted(pattern)}")
    letters = _letters(pattern)
    wrong = [letter for letter in letters if letter not in _DIRECTIVES]
    if wrong or re.search(r"(^|[^%])(%%)*%$", pattern):
        directives = " ".join(f"%{letter}" for letter in sorted(_DIRECTIVES - {"%"}))
        raise ParameterError(
            f"format {pattern!r}: {'%' + wrong[0] if wrong else '%'} is not read; {directives} are"
        )
    week = {"G", "V", "u"} & set(letters)
    if week and (not {"G", "V"} <= week or not set(letters) <= week | _TIMES):
        raise ParameterError(
            f"format {pattern!r}: an ISO week is %G (its year) and %V, with %u for the day or without one"
        )
    if not {"Y", "y", "G"} & set(letters) or len(set(letters)) < len(letters):
        raise ParameterError(f"format {pattern!r}: give the year (%Y or %y), and each part once")


def _letters(pattern: str) -> list[str]:
    return [letter for letter in re.findall(r"%(.)", pattern) if letter != "%"]


@lru_cache(maxsize=64)
def _numbers(decimal: str, thousands: str | None) -> re.Pattern[str]:
    mark = {None: None, " ": _BLANKS, "'": "['’]"}.get(thousands, re.escape(thousands or ""))
    grouped = "" if mark is None else f"[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+|"
    blank = f"{_BLANKS}?"
    return re.compile(
        rf"(?P<sign>[+\-−]?)(?:(?P<before>{_UNIT}){blank})?"
        rf"(?P<whole>{grouped}[0-9]+)(?:{re.escape(decimal)}(?P<part>[0-9]+))?(?:{blank}(?P<after>{_UNIT}))?"
    )


def read_spelled(
    texts: Sequence[str], spelling: Spelling, column: str
) -> tuple[list[str], NDArray[np.float64], NDArray[np.int64]]:
    """Read the distinct texts of a column by the column's spelling.

    Returns
    -------
    values
        The plain texts, distinct and in order.
    numbers
        float64[values]: their numbers, or days since 1970.
    places
        int64[texts]: the place of each text among the values.

    Raises
    ------
    SchemaError
        When texts are not written so, or have different units; they are counted, not repeated.
    """
    if spelling.format is None:
        numbered = [spelling.number(text) for text in texts]
        plain = [number for number, _ in numbered]
        units = {unit for _, unit in numbered}
        if len(units) > 1:
            raise SchemaError(
                f"column {column!r}: its numbers have {len(units)} different units (signs of currencies, "
                "percent, or none); give them one unit first, or declare the column a category"
            )
    else:
        plain = [spelling.read(text) for text in texts]
        if spelling.is_timed and all(text is None or text.endswith("T00:00:00") for text in plain):
            # As of columns that are stored as points of time.
            plain = [None if text is None else text[:10] for text in plain]
    wrong = sum(text is None for text in plain)
    if wrong:
        raise SchemaError(_misspelled(column, spelling, wrong, len(plain)))
    read = [text for text in plain if text is not None]
    measured = {text: _measure(text, spelling) for text in read}
    values = sorted(measured, key=measured.__getitem__)
    rank_of = {text: rank for rank, text in enumerate(values)}
    numbers = np.array([_double(measured[text]) for text in values], np.float64)
    return values, numbers, np.array([rank_of[text] for text in read], np.int64)


def _double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _measure(text: str, spelling: Spelling) -> Fraction:
    if spelling.format is None:
        return Fraction(text)
    moment = dt.datetime.fromisoformat(text)
    days = moment.toordinal() - dt.date(1970, 1, 1).toordinal()
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return days + Fraction(seconds * 1_000_000 + moment.microsecond, _DAY * 1_000_000)


def _misspelled(column: str, spelling: Spelling, wrong: int, total: int) -> str:
    if spelling.format is not None:
        names = sorted(_NAMED & set(_letters(spelling.format)))
        english = f" ({' and '.join(f'%{letter}' for letter in names)} in English)" if names else ""
        what = f"dates written {spelling.format!r}{english}"
    else:
        marks = f"decimal {spelling.point!r}"
        marks += f", thousands {spelling.thousands!r}" if spelling.thousands is not None else ""
        what = f"numbers with {marks}"
    return (
        f"column {column!r}: {wrong} of {total} distinct values are no {what}; name those that mean missing "
        f"with {null_values_setting()}, or correct the spelling"
    )
