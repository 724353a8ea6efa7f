"""The grammar of released cells: ranges of numbers or dates as written by any tool.

``46+``, ``>= 46``, ``46 and over``, ``[46, inf)`` and ``46 or more`` are one cell. `SPELLINGS` has examples
of each form, and docs/values.md shows them. The verifier has a second reading of the same forms.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, NamedTuple

from incrowd.core.reading.exact import moment_of

_FIRST: dict[str, Any] = {"number": Decimal("-Infinity"), "date": ""}
_LAST: dict[str, Any] = {"number": Decimal("Infinity"), "date": "~"}
"""What lies before and behind all numbers, and all texts of moments."""


class Span(NamedTuple):
    """The numbers or moments that a range covers.

    Attributes
    ----------
    low, high
        Its ends: `Decimal` of numbers, and texts that sort by time. An end that it has not got lies before or
        behind everything. A day as the upper end counts to its end.
    above, below
        Whether the lower end itself, or the upper one, is left out.
    """

    low: Any
    high: Any
    above: bool = False
    below: bool = False

    def of_whole_numbers(self) -> Span:
        """Return a range of whole numbers with closed ends, such as 46 or more for over 45."""
        low = Decimal(math.floor(self.low) + 1) if self.above else self.low
        return Span(low, Decimal(math.ceil(self.high) - 1) if self.below else self.high)

    def within(self, outer: Span) -> bool:
        """Return whether the range lies in another range."""
        starts = outer.low < self.low or (outer.low == self.low and (self.above or not outer.above))
        ends = self.high < outer.high or (self.high == outer.high and (self.below or not outer.below))
        return starts and ends


SPELLINGS: dict[str, tuple[str, ...]] = {
    "from 20 to 29": (
        "[20-29]", "20-29", "20 - 29", "20–29", "20~29", "20..29", "20 to 29", "20 through 29", "20 bis 29",
        "20 à 29", "20 a 29", "[20, 29]", "[20;29]", "[20, 30)", "[20, 30[", "[20-30)", "(19, 29]",
        "]19, 29]", "(19, 30)", "between 20 and 29", "zwischen 20 und 29", "entre 20 et 29", "20 <= x < 30",
        "19 < x ≤ 29", "20 to 29 years",
    ),
    "46 or more": (
        "46 or more", "46+", "46 +", ">=46", ">= 46", "≥46", ">45", "> 45", "46 and over", "46 and above",
        "46 or older", "46 years and over", "[46, inf)", "[46, Inf]", "(45, Inf]", "[46, +∞[", "[46, )",
        "46..", "at least 46", "from 46", "over 45", "above 45", "more than 45", "older than 45",
        "46 und älter", "46 oder mehr", "ab 46", "über 45", "mindestens 46", "46 et plus", "46 ans et plus",
        "plus de 45", "46 y más", "más de 45", "46 e oltre", "46以上", "46岁及以上",
    ),
    "24 or less": (
        "24 or less", "<=24", "<= 24", "≤24", "<25", "< 25", "24 and under", "24 or younger",
        "24 and below", "(-inf, 25)", "[-Inf, 24]", "(, 24]", "..24", "at most 24", "up to 24", "under 25",
        "below 25", "less than 25", "younger than 25", "24 und jünger", "24 oder weniger", "bis 24",
        "unter 25", "höchstens 24", "24 et moins", "moins de 25", "24 y menos", "menos de 25", "24以下",
        "25未満", "25岁未满",
    ),
    "1,000 to 2,999": (
        "[1,000-2,999]", "1,000 - 2,999", "1 000 – 2 999", "1'000-2'999", "$1,000 to $2,999",
    ),
    "-5 to -1": ("[-5--1]", "−5 – −1", "-5 to -1", "[-5, -1]"),
    "from 2020-01-01 to 2020-12-31": (
        "[2020-01-01 to 2020-12-31]", "2020-01-01 - 2020-12-31", "2020-01-01/2020-12-31",
        "2020-01-01..2020-12-31", "[2020-01-01, 2020-12-31]", "[2020-01-01, 2021-01-01[",
        "[2020-01-01, 2021-01-01)", "(2019-12-31, 2020-12-31]", "2020-01 to 2020-12", "2020",
    ),
    "from 2020-03-01 to 2020-03-31": (
        "2020-03", "2020-03-01 bis 2020-03-31", "2020-03-01 00:00:00/2020-03-31",
    ),
    "from 2020-01-01 to 2020-03-31": ("2020Q1", "2020-Q1", "Q1 2020"),
    "2020-03-01 or later": (
        "2020-03-01 or later", ">=2020-03-01", "2020-03-01+", "since 2020-03-01", "after 2020-02-29",
        "from 2020-03-01", "[2020-03-01, )",
    ),
    "2020-01-31 or earlier": (
        "2020-01-31 or earlier", "<=2020-01-31", "<2020-02-01", "until 2020-01-31", "before 2020-02-01",
        "(, 2020-02-01)",
    ),
}  # fmt: skip
"""Ranges in words, each with its spellings: those of incrowd first, then those of other tools and people."""

_NUMBER = (
    r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,3}(?:[ '][0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:e[-+]?[0-9]{1,3})?"
)
_PLAIN = r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]{1,3})?"
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?"
_DATE = rf"(?:{_TIME}|[0-9]{{4}}-?q[1-4]|q[1-4][ /-]?[0-9]{{4}}|[0-9]{{4}}-[0-9]{{2}}|[0-9]{{4}})"
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3])(?::[0-5][0-9]){2}(?:\.[0-9]+)?")
_UNIT = r"(?: ?(?:years?|yrs?|jahren?|jahre|ans?|años|anni|岁|歲|歳)(?: old| of age| alt)?)?"
_TO = r"(?: ?(?:-|~|\.\.\.?|;| to | through | thru | bis | à | a | until ) ?)"

_AND = r"(?:or|and|&|und|oder|et|ou|y|o|e|及|或)"
_UPWARD = (
    "(?:more|over|above|older|higher|greater|up|upwards?|later|mehr|älter|darüber|später|plus|más|mayor|"
    "oltre)"
)
_DOWNWARD = (
    r"(?:less|fewer|under|below|younger|lower|earlier|weniger|jünger|darunter|früher|moins|menos|menor|meno)"
)

_FROM = r"at least|min(?:imum)?\.?|from|since|ab|seit|mindestens|desde|à partir de"
_OVER = "over|above|more than|greater than|older than|after|über|mehr als|älter als|nach|plus de|más de|oltre"
_UP_TO = r"at most|up to|max(?:imum)?\.?|until|bis|höchstens|hasta|jusqu'à"
_UNDER = (
    "under|below|less than|fewer than|younger than|before|unter|weniger als|jünger als|vor|moins de|menos de|"
    "meno di"
)


@cache
def _listed_forms(kind: str) -> list[str]:
    return list(_forms(kind))


# A form is compiled when no earlier one fits; the first forms fit the cells of incrowd.
_compiled = cache(re.compile)


def _forms(kind: str) -> Iterator[str]:
    """Yield a pattern per form of ranges, in which the groups ``above`` and ``below`` mark open ends."""
    number = kind == "number"
    unit = _UNIT if number else ""

    def end(name: str, token: str, *, bracketed: bool = False) -> str:
        money = r"[$€£¥]? ?" if number else ""
        sign = "-" if name == "low" else "[+]?"
        endless = rf"|{sign}(?:inf|infinity|∞)|" if bracketed else ""
        return rf"(?:{money}(?P<{name}>{token}){unit}{endless})"

    tokens = (_PLAIN, _NUMBER) if number else (_DATE,)
    for token in tokens:
        low, high = end("low", token), end("high", token)
        bracketed = end("low", token, bracketed=True), end("high", token, bracketed=True)
        dashes = (
            _TO if number else r"(?: ?(?: - |~|\.\.\.?|;|/| to | through | thru | bis | à | a | until ) ?)"
        )
        comma = r" ?, ?" if token != _NUMBER else r" ?, "
        left, right = r"(?:\[|(?P<above>[(\]]))", r"(?:\]|(?P<below>[)\[]))"
        yield rf"{low}{dashes}{high}"
        if not number:
            yield "(?P<low>[0-9]{4})-(?P<high>[0-9]{4})"
        yield rf"{left} ?{low}{dashes}{high} ?{right}"
        yield rf"{left} ?{bracketed[0]}(?:{comma}| ?; ?){bracketed[1]} ?{right}"
        yield rf"(?:between|zwischen|entre) {low} (?:and|und|et|y|e) {high}"
        yield rf"{low} ?(?:(?P<above><)|<=|≤) ?[a-z]* ?(?:(?P<below><)|<=|≤) ?{high}"
        yield rf"(?:(?:>=|≥) ?|(?:{_FROM}) ){low}"
        yield rf"(?P<above>> ?|(?:{_OVER}) ){low}"
        yield rf"{low} ?(?:\+|\.\.\.?| {_AND} {_UPWARD}|(?:及|或|及び)?以上)"
        yield rf"(?:(?:<=|≤|\.\.) ?|(?:{_UP_TO}) ){high}"
        yield rf"(?P<below>< ?|(?:{_UNDER}) ){high}"
        yield rf"{high} ?(?: {_AND} {_DOWNWARD}|(?:及|或|及び)?以下)"
        yield rf"{high} ?(?P<below>未満|未满|未滿)"


def plain(text: str) -> str:
    """Return a text in lower case, with a hyphen for every dash and a blank for every run of white space."""
    text = unicodedata.normalize("NFKC", text).translate(_DASHES)
    return re.sub(r"\s+", " ", text).strip().lower()


_OWN = re.compile(r"\[.*\]|.* or (?:more|less|later|earlier)")


def is_own(text: str) -> bool:
    """Return whether a text looks like a range written by incrowd, which few other texts do."""
    return _OWN.fullmatch(text) is not None


_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
_LONGEST = 2_000


@lru_cache(maxsize=1 << 16)
def read_span(text: str, kind: str) -> Span | None:
    """Read a range exactly, or return None for a text that is no range of this kind.

    Parameters
    ----------
    kind
        ``number`` or ``date``.

    Examples
    --------
    >>> read_span("[20-29.5]", "number")
    Span(low=Decimal('20'), high=Decimal('29.5'), above=False, below=False)
    >>> read_span("20 to 29", "number") == read_span("[20-29]", "number")
    True
    >>> read_span("> 45", "number")
    Span(low=Decimal('45'), high=Decimal('Infinity'), above=True, below=False)
    >>> read_span("2020-03", "date")
    Span(low='2020-03-01T00:00:00', high='2020-03-31T24', above=False, below=False)
    """
    if len(text) > _LONGEST:
        return None
    words = plain(text)
    if kind == "date" and re.fullmatch(_DATE, words):
        # A day or a moment is a value, and no range.
        return None if re.fullmatch(_TIME, words) else _of_dates(words, words, above=False, below=False)
    for form in _listed_forms(kind):
        if match := _compiled(form).fullmatch(words):
            ends = match.groupdict()
            low, high = ends.get("low"), ends.get("high")
            if low is None and high is None:
                continue
            above, below = bool(ends.get("above")), bool(ends.get("below"))
            read = _of_numbers if kind == "number" else _of_dates
            return read(low, high, above=above and low is not None, below=below and high is not None)
    return None


def _of_numbers(low: str | None, high: str | None, *, above: bool, below: bool) -> Span | None:
    ends = [None if end is None else Decimal(re.sub("[ ,']", "", end)) for end in (low, high)]
    least = _FIRST["number"] if ends[0] is None else ends[0]
    most = _LAST["number"] if ends[1] is None else ends[1]
    return None if least > most else Span(least, most, above, below)


def _of_dates(low: str | None, high: str | None, *, above: bool, below: bool) -> Span | None:
    """Return a range of dates, where an open end excludes the full month, quarter or year of that end."""
    first, last = (None if end is None else _calendar(end) for end in (low, high))
    if (low is not None and first is None) or (high is not None and last is None):
        return None
    least, most = _FIRST["date"], _LAST["date"]
    if first is not None:
        start, stop, exact = first
        least = start
        if above and not exact:
            day = dt.date.fromisoformat(stop[:10])
            if day == dt.date.max:
                return None
            least, above = f"{day + dt.timedelta(days=1)}T00:00:00", False
    if last is not None:
        start, stop, exact = last
        most = stop
        if below and not exact:
            day = dt.date.fromisoformat(start[:10])
            if day == dt.date.min:
                return None
            most, below = f"{day - dt.timedelta(days=1)}T24", False
    return None if least > most else Span(least, most, above, below)


def _calendar(text: str) -> tuple[str, str, bool] | None:
    """Return the first and last moment of a calendar period, and whether both are the same moment."""
    words = text.replace(" ", "T").replace("t", "T") if re.fullmatch(_TIME, text) else text
    if "T" in words:
        moment = moment_of(words if words.count(":") == 2 else f"{words}:00")
        if moment is None or not _CLOCK.fullmatch(moment[11:]):
            return None
        midnight = moment.endswith("T00:00:00")
        return (moment, f"{moment[:10]}T24", False) if midnight else (moment, moment, True)
    if quarter := re.search("q([1-4])", words):
        year, months = re.findall("[0-9]{4}", words)[0], (3 * int(quarter[1]) - 2, 3 * int(quarter[1]))
        day = None
    else:
        year, *rest = words.split("-")
        months = (int(rest[0]), int(rest[0])) if rest else (1, 12)
        day = int(rest[1]) if len(rest) > 1 else None
    try:
        start = dt.date(int(year), months[0], 1 if day is None else day)
        last = calendar.monthrange(int(year), months[1])[1] if day is None else day
        stop = dt.date(int(year), months[1], last)
    except ValueError:
        return None
    return f"{start}T00:00:00", f"{stop}T24", False
