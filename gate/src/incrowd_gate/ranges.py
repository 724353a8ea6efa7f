"""Ranges of numbers and dates in any spelling, as in cells and labels.

Spellings are read a second time: their skeletons, without numbers and dates, are looked up. That of
``46 years and over`` is ``# and over``, that of ``[46, inf)`` is ``[#,∞)``. docs/values.md shows them all.
"""

from __future__ import annotations

import calendar
import datetime
import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, floor
from typing import NamedTuple

_LONGEST = 2_000
_SECONDS = 86400
_DIGITS = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?"
_GROUPED = r"[0-9]{1,3}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+|(?:'[0-9]{3})+)(?:\.[0-9]+)?"
# A sign belongs to a number where no number stands before it: 20-29 is not 20 and -29.
_SIGNED = r"(?:(?<![0-9)])(?<![0-9) ] )(?<![0-9)] )[+-])?"
_PLAIN_NUMBER = re.compile(_SIGNED + _DIGITS)
_ANY_NUMBER = re.compile(f"{_SIGNED}(?:{_GROUPED}|{_DIGITS})")
_PART = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)(?:[t ](?P<clock>\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?"
    r"|(?P<year>\d{4})-?q(?P<quarter>[1-4])|q(?P<first>[1-4])[ /-]?(?P<of>\d{4})"
    r"|(?P<month>\d{4}-\d\d)(?![\d-])|(?P<whole>\d{4})(?!\d)",
    re.ASCII,
)
_YEARS = r" ?(?:years?|yrs?|jahren|jahre?|ans?|años|anni|岁|歲|歳)(?: (?:old|of age|alt))?(?![a-z])"
_JOINS = ("or", "and", "&", "und", "oder", "et", "ou", "y", "o", "e")
_MORE = (
    "more over above older higher greater up upward upwards later mehr älter darüber später plus más mayor "
    "oltre"
)
_LESS = "less fewer under below younger lower earlier weniger jünger darunter früher moins menos menor meno"
_LEAST = (
    ">=", "≥", "at least ", "min ", "min. ", "minimum ", "from ", "since ", "ab ", "seit ", "mindestens ",
    "desde ", "à partir de ",
)  # fmt: skip
_BEYOND = (
    ">", "over ", "above ", "more than ", "greater than ", "older than ", "after ", "über ", "mehr als ",
    "älter als ", "nach ", "plus de ", "más de ", "oltre ",
)  # fmt: skip
_MOST = (
    "<=", "≤", "..", "at most ", "up to ", "max ", "max. ", "maximum ", "until ", "bis ", "höchstens ",
    "hasta ", "jusqu'à ",
)  # fmt: skip
_SHORT_OF = (
    "<", "under ", "below ", "less than ", "fewer than ", "younger than ", "before ", "unter ",
    "weniger als ", "jünger als ", "vor ", "moins de ", "menos de ", "meno di ",
)  # fmt: skip


class Bounds(NamedTuple):
    """A range: the ends as places (None: no end), whether each end is included, and the ends as written."""

    low: Fraction | None
    high: Fraction | None
    has_low: bool
    has_high: bool
    texts: tuple[str | None, str | None]

    def holds(self, place: Fraction) -> bool:
        """Say whether a number, or the seconds of a moment, is within the range."""
        after = self.low is None or self.low < place or (self.has_low and self.low == place)
        return after and (self.high is None or place < self.high or (self.has_high and place == self.high))

    def within(self, outer: Bounds) -> bool:
        """Say whether all of the range lies in another range."""
        starts = outer.low is None or (
            self.low is not None and (outer.low, not outer.has_low) <= (self.low, not self.has_low)
        )
        ends = outer.high is None or (
            self.high is not None and (self.high, self.has_high) <= (outer.high, outer.has_high)
        )
        return starts and ends

    def of_whole_numbers(self) -> Bounds:
        """Return a range of whole numbers with both ends included."""
        low = self.low if self.low is None or self.has_low else Fraction(floor(self.low) + 1)
        high = self.high if self.high is None or self.has_high else Fraction(ceil(self.high) - 1)
        return self._replace(low=low, high=high, has_low=True, has_high=True)


_DASHES = ("-", "~", "..", "...", ";", " to ", " through ", " thru ", " bis ", " à ", " a ", " until ", "/")


def _closed() -> Iterator[tuple[str, tuple[bool, bool, bool, bool]]]:
    """List the skeletons of ranges with two ends (see `_skeletons`)."""
    for dash in _DASHES:
        yield f"#{dash}#", (True, True, True, True)
    for word, join in product(("between", "zwischen", "entre"), ("and", "und", "et", "y", "e")):
        yield f"{word} # {join} #", (True, True, True, True)
    for left, right, dash in product("[(]", "])[", (*_DASHES, ",")):
        yield f"{left}#{dash}#{right}", (True, True, left == "[", right == "]")
    for first, second in product(("<", "<=", "≤"), repeat=2):
        for name in ("", "x"):
            yield f"#{first}{name}{second}#", (True, True, first != "<", second != "<")


def _endless() -> Iterator[tuple[str, tuple[bool, bool, bool, bool]]]:
    """List the skeletons of ranges with a single end (see `_skeletons`)."""
    least, most = (True, False, True, False), (False, True, False, True)
    over, under = (True, False, False, False), (False, True, False, False)
    for left, right, dash in product("[(]", "])[", ",;"):
        for nothing in ("", "∞", "+∞"):
            yield f"{left}#{dash}{nothing}{right}", least if left == "[" else over
        for nothing in ("", "-∞"):
            yield f"{left}{nothing}{dash}#{right}", most if right == "]" else under
    for words, meaning in ((_LEAST, least), (_BEYOND, over), (_MOST, most), (_SHORT_OF, under)):
        for word in words:
            yield f"{word}#", meaning
    for directions, meaning in ((_MORE, least), (_LESS, most)):
        for join, word in product(_JOINS, directions.split()):
            yield f"# {join} {word}", meaning
    for join in ("", "及", "或", "及び"):
        yield f"#{join}以上", least
        yield f"#{join}以下", most
    for word in ("未満", "未满", "未滿"):
        yield f"#{word}", under
    for mark in ("+", "..", "..."):
        yield f"#{mark}", least


@cache
def _skeletons() -> dict[str, tuple[bool, bool, bool, bool]]:
    """List the skeleton of each spelling: whether a low and a high end exist, and are included."""
    return {**dict(_closed()), **dict(_endless())}


@cache
def bounds_of(cell: str, kind: str) -> Bounds | None:
    """Read a range of a kind, ``number`` or ``date``, in any spelling, or None where a cell is none."""
    if len(cell) > _LONGEST:
        return None
    text = unicodedata.normalize("NFKC", cell).lower()
    text = " ".join(re.sub("[‐‑‒–—―−]", "-", text).split())
    if kind == "date":
        return _of_dates(text)
    return _of_numbers(text, _PLAIN_NUMBER) or _of_numbers(text, _ANY_NUMBER)


def _left(text: str, *, dated: bool = False) -> str:
    """Return the skeleton of a text with marked ends: no units and currencies, no loose blanks."""
    text = re.sub(r"[+-]?(?:infinity|inf)(?![a-z])", lambda sign: sign[0][: sign[0][0] in "+-"] + "∞", text)
    if dated:
        # A hyphen between dates has blanks around it, or stands between two years.
        text = text.replace(" - ", " to ")
    else:
        text = re.sub(f"#{_YEARS}", "#", re.sub(r"[$€£¥] ?#", "#", text)).replace("/", "|")
    return re.sub(r" ?(\.{2,3}|[-~;,\[\]()<>=≤≥+/]+) ?", r"\1", text)


def _shape(text: str, ends: int) -> tuple[bool, bool, bool, bool] | None:
    if text.count("#") != ends:
        return None
    shape = _skeletons().get(text) or _skeletons().get(re.sub("(<=?|≤)[a-z]+(<=?|≤)", r"\1x\2", text))
    return shape if shape is not None and shape[:2].count(True) == ends else None


def _of_numbers(text: str, number: re.Pattern[str]) -> Bounds | None:
    numbers = number.findall(text)
    if "#" in text or not 1 <= len(numbers) <= 2:
        return None
    shape = _shape(_left(number.sub("#", text)), len(numbers))
    if shape is None:
        return None
    plain = [re.sub("[ ,']", "", each) for each in numbers]
    low = plain[0] if shape[0] else None
    high = plain[-1] if shape[1] else None
    places = [None if end is None else Fraction(end) for end in (low, high)]
    if None not in places and places[0] > places[1]:  # type: ignore[operator]
        return None
    return Bounds(places[0], places[1], *shape[2:], (low, high))


def _of_dates(text: str) -> Bounds | None:
    parts = [_calendar(each) for each in _PART.finditer(text)]
    left = _left(_PART.sub("#", text), dated=True) if "#" not in text else ""
    if "-" in left.replace("-∞", "") and not re.fullmatch(r"\d{4}-\d{4}", text):
        return None
    alone = left == "#" and parts[0] is not None and parts[0][2] > 10
    shape = (True, True, True, True) if alone else _shape(left, len(parts))
    if shape is None or None in parts:
        return None
    known = [part for part in parts if part is not None]
    low, high = (known[0] if shape[0] else None), (known[-1] if shape[1] else None)
    # What is left out is left out to its end, what belongs to a range does so to its end.
    first = None if low is None else low[0] if shape[2] else low[1]
    last = None if high is None else high[1] if shape[3] else high[0]
    if first is not None and last is not None and first >= last and not (first == last and low == high):
        return None
    moment = high is not None and high[0] == high[1]
    holds_low = shape[2] or (low is not None and low[0] != low[1])
    texts = (None if low is None else low[3], None if high is None else high[4])
    return Bounds(first, last, holds_low, moment and shape[3], texts)


def _calendar(found: re.Match[str]) -> tuple[Fraction, Fraction, int, str, str] | None:
    """Return the start and the end of a part of the calendar in seconds, the form, and the days as texts.

    A moment with a time starts where it ends. A form above 10 is a month or more, which is a range by itself.
    """
    try:
        if found["day"]:
            day = datetime.date.fromisoformat(found["day"])
            start = Fraction(day.toordinal() * _SECONDS)
            hours, minutes, seconds, *_ = [*map(Fraction, (found["clock"] or "0").split(":")), 0, 0]
            if hours > 23 or minutes > 59 or seconds >= 60:
                return None
            moment = start + (hours * 60 + minutes) * 60 + seconds
            if moment == start:
                return start, start + _SECONDS, 10, found["day"], found["day"]
            return moment, moment, 9, found[0].upper(), found[0].upper()
        quarter = found["quarter"] or found["first"]
        year = int(found["year"] or found["of"] or found["whole"] or found["month"][:4])
        months = (3 * int(quarter) - 2, 3 * int(quarter)) if quarter else (1, 12)
        if found["month"]:
            months = (int(found["month"][5:]),) * 2
        first = datetime.date(year, months[0], 1)
        last = datetime.date(year, months[1], calendar.monthrange(year, months[1])[1])
    except ValueError:
        return None
    return (
        Fraction(first.toordinal() * _SECONDS), Fraction((last.toordinal() + 1) * _SECONDS), 11,
        first.isoformat(), last.isoformat(),
    )  # fmt: skip
