"""The meaning of a released cell: the raw values that it covers, and whether a column can have it at all.

Spellings of ranges are read a second time: their skeletons, without numbers and dates, are looked up. That
of ``46 years and over`` is ``# and over``, that of ``[46, inf)`` is ``[#,∞)``. docs/values.md shows them all.
"""

from __future__ import annotations

import calendar
import datetime
import re
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from incrowd_verify.policy import SUPPRESSED, Column
from incrowd_verify.recipes import Tree, day_of, exact_number, is_bin, is_calendar, is_mask
from incrowd_verify.tree_files import read_tree, tree_in

_PLAIN = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
# Bounds of floats may have an exponent, of three digits at most.
_BOUND = rf"{_PLAIN}(?:e[+-][0-9]{{1,3}})?"
_MOMENT_TEXT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+)?"
_OWN = {
    "number": re.compile(rf"\[{_BOUND}-{_BOUND}\]|{_BOUND} or (?:more|less)"),
    "date": re.compile(rf"\[{_MOMENT_TEXT} to {_MOMENT_TEXT}\]|{_MOMENT_TEXT} or (?:later|earlier)"),
}
_MISSING_MEMBER = "<missing>"
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.([0-9]+))?(.*)")


@cache
def _plain_number(text: str) -> Fraction | None:
    return Fraction(text) if len(text) <= 4000 and re.fullmatch(_PLAIN, text) else None


@cache
def moment_of(text: str) -> tuple[str, ...] | None:
    """Read a date with a time, so that a blank and a T between them, and zeros at the end, do not matter."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    clock = match[2] if len(match[2]) > 5 else match[2] + ":00"
    return match[1], clock, (match[3] or "").rstrip("0"), match[4]


def _are_ordered(texts: Sequence[str]) -> bool:
    """Say whether texts are all numbers or all days; times in a text are a category."""
    known = [text for text in texts if text != SUPPRESSED]
    return all(_plain_number(text) is not None for text in known) or all(
        len(text) == 10 and day_of(text) is not None for text in known
    )


def _range_of(cell: str, kind: str | None) -> tuple[str, Bounds] | None:
    """Read a range of a kind, in any spelling; without one, in the spellings of a release alone."""
    for each in ("number", "date") if kind is None else (kind,):
        bounds = bounds_of(cell, each) if kind is not None or _OWN[each].fullmatch(cell) else None
        if bounds is not None:
            return each, bounds
    return None


def ends_of(cell: str, kind: str | None) -> tuple[str | None, str | None] | None:
    """Return the two ends of a range as they are written, None for one that it has not got."""
    span = _range_of(cell, kind)
    return None if span is None else span[1].texts


def is_value(cell: str) -> bool:
    """Say whether a cell is a single number or a single day."""
    return _plain_number(cell) is not None or day_of(cell) is not None


@cache
def _seconds(text: str) -> Fraction | None:
    """Read a day or a moment without a zone as seconds."""
    moment = moment_of(text) or moment_of(f"{text} 00:00")
    if moment is None or moment[3] or day_of(text) is None:
        return None
    hours, minutes, seconds = moment[1].split(":")
    day = datetime.date.fromisoformat(moment[0]).toordinal()
    return ((day * 24 + int(hours)) * 60 + int(minutes)) * 60 + Fraction(f"{seconds}.{moment[2] or 0}")


@cache
def _members(cell: str) -> tuple[str | None, ...] | None:
    r"""Read the parts of a set ``{a, b}``; ``\`` escapes a sign within a part. None where it is no set.

    The part ``<missing>`` is the missing value, and ``\<missing>`` is that text.
    """
    if not (cell.startswith("{") and cell.endswith("}")):
        return None
    parts: list[str | None] = []
    part, start, place, inside = "", 0, 0, cell[1:-1]

    def whole(stop: int) -> str | None:
        return None if inside[start:stop] == _MISSING_MEMBER else part

    while place < len(inside):
        if inside[place] == "\\":
            part += inside[place + 1 : place + 2]
            place += 2
        elif inside.startswith(", ", place):
            parts.append(whole(place))
            part, start, place = "", place + 2, place + 2
        elif inside[place] in ",{}":
            return None
        else:
            part += inside[place]
            place += 1
    return (*parts, whole(place))


def listed(cell: str | None) -> int:
    """Return how many values a cell lists; 1 where it is no set."""
    members = None if cell is None else _members(cell)
    return 1 if members is None else len(members)


class CellReader:
    """Reads the cells of one quasi-identifier over given raw values.

    - `values`: the distinct raw values; None is the missing one. Recipes of hierarchies are followed over
      them.
    - `stored`: what the raw column is stored as; see `group_of`. Every spelling of a number is one in a
      column of numbers. Categories, and the leaves of a hierarchy, are told apart by their letters.
    - `of_people`: whether the values are those of a population. A value that looks like a set covers only
      itself there, so that nobody counts for too many. In a release it may also be the set.
    - Raises `HierarchyError`: a value is no leaf of the hierarchy.
    """

    def __init__(
        self, column: Column, values: Sequence[str | None], *, stored: str = "text", of_people: bool = False
    ) -> None:
        self._of_people = of_people
        self._tree: Tree | None = None
        texts = [value for value in values if value is not None]
        source = column.tree_over(ordered=stored != "text" or _are_ordered(texts))
        if source is not None and texts:
            self._tree = read_tree(source, texts, column.name)
        elif isinstance(source, Path):
            self._tree = tree_in(source)
        self._texts = frozenset(texts)
        is_number = stored in ("number", "float")
        self._number = exact_number if is_number else _plain_number
        by_letters = source is not None or column.kind == "category"
        self._by_number = not by_letters and (is_number or None not in map(_plain_number, texts))
        self._by_moment = not by_letters and stored == "date"
        dated = self._by_moment or (not by_letters and bool(texts) and None not in map(_seconds, texts))
        # In a column of other texts, what only looks like a range may be one of them.
        self._kind = "number" if self._by_number and texts else "date" if dated else column.measure

    def covers(self, cell: str | None, value: str | None) -> bool:
        """Say whether a cell is true of a record that has a value."""
        if cell in (value, SUPPRESSED):
            return True
        if cell is None:
            return False
        tree = self._tree
        if tree is not None and cell in tree.nodes:
            if value is None:  # a missing value hangs under the root
                return 0 in tree.nodes[cell]
            return tree.covers(cell, value)
        if cell in self._texts and self._of_people:
            return self._same(cell, value)
        members = _members(cell)
        if members is not None:
            return any(self._names(part, value) for part in members)
        return self._same(cell, value) or (cell not in self._texts and self._within(cell, value))

    def _names(self, part: str | None, value: str | None) -> bool:
        if part is None or value is None:
            # Earlier releases wrote the missing value as an empty part.
            return part is value or (part == "" and "" not in self._texts)
        return self._same(part, value)

    def _same(self, one: str, other: str | None) -> bool:
        if other is None or one == other:
            return other is not None
        if self._by_number:
            number = self._number(one)
            return number is not None and number == self._number(other)
        moment = moment_of(one) if self._by_moment else None
        return moment is not None and moment == moment_of(other)

    def _within(self, cell: str, value: str | None) -> bool:
        if value is None:
            return False
        if self._kind is None and "*" in cell and len(cell) == len(value):
            # A mask has a star for each sign that is hidden.
            return all(mark in ("*", sign) for mark, sign in zip(cell, value, strict=True))
        span = _range_of(cell, self._kind)
        if span is None:
            return False
        place = self._number(value) if span[0] == "number" else _seconds(value)
        return place is not None and span[1].holds(place)


class Shapes:
    """The possible cells of a quasi-identifier, as far as the policy tells without the raw table.

    `unknown`: why not every cell can be judged; empty where it can.
    """

    def __init__(self, column: Column) -> None:
        self._column = column
        # A recipe for numbers or dates counts even where cells are ranges: over other values they are labels.
        source = column.hierarchy if column.kind == "auto" else column.tree_over(ordered=False)
        self._spec = source if isinstance(source, dict) else {}
        self._tree: Tree | None = None
        if isinstance(source, Path):
            self._tree = tree_in(source)
        elif "order" in self._spec:
            self._tree = read_tree(self._spec, [], column.name)
        self.unknown = "the policy gives them no hierarchy and no kind"
        if self._tree is not None or column.measure is not None:
            self.unknown = ""
        elif self._spec:
            self.unknown = f"a value of the recipe {next(iter(self._spec))!r} may be any text"

    def possible(self, cell: str | None) -> bool:
        """Say whether a column can have a cell, or True where that cannot be told."""
        if cell is None or cell == SUPPRESSED or self.unknown:
            return True
        members = _members(cell)
        if self._tree is not None:
            if cell in self._tree.nodes:
                return True
            leaves = self._tree.leaves
            return members is not None and all(part in leaves or not part for part in members)
        if self._value(cell) or (members is not None and all(not p or self._value(p) for p in members)):
            return True
        if {"intervals", "bands"} & self._spec.keys() and is_bin(cell, self._spec, self._column.name):
            return True
        if "dates" in self._spec and is_calendar(cell, self._spec, self._column.name):
            return True
        if "prefix" in self._spec and is_mask(cell, self._column.measure):
            return True
        if self._spec and not self._column.is_by_number:
            return False
        ends = ends_of(cell, self._column.measure)
        return ends is not None and (None not in ends or self._column.grid is not None)

    def level_fits(self, cell: str | None, least: int, largest: int | None) -> bool | None:
        """Say whether a cell can stand on a level within bounds, or None where that cannot be told."""
        if self._tree is None or cell is None:
            return None
        if 0 in self._tree.nodes.get(cell, []):
            # A missing value hangs under the root, and who has reached the root stays there.
            return largest is None or largest >= 1
        steps = self._tree.levels(cell)
        return any(least <= step and (largest is None or step <= largest) for step in steps)

    def _value(self, text: str) -> bool:
        if self._column.measure == "date":
            return day_of(text) is not None or moment_of(text) is not None
        return exact_number(text) is not None


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
    """A range: its ends as places, whether they belong to it, and as they are written; None has no end."""

    low: Fraction | None
    high: Fraction | None
    has_low: bool
    has_high: bool
    texts: tuple[str | None, str | None]

    def holds(self, place: Fraction) -> bool:
        """Say whether a number, or the seconds of a moment, is within the range."""
        after = self.low is None or self.low < place or (self.has_low and self.low == place)
        return after and (self.high is None or place < self.high or (self.has_high and place == self.high))


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
    """List the skeletons of ranges with one end (see `_skeletons`)."""
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
    """List the skeleton of each spelling: whether it has a low end, a high one, and holds each."""
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
    """Return the skeleton of a text whose ends are marked: no units and currencies, no loose blanks."""
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
    """Return the start and the end of a part of the calendar in seconds, its form, and its days as texts.

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
