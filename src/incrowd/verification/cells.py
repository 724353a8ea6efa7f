"""The meaning of a released cell: the raw values that it covers, and whether a column can have it at all."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

from incrowd.verification.policy import SUPPRESSED, Column
from incrowd.verification.recipes import day_of, exact_number, is_bin, is_calendar, is_mask
from incrowd.verification.tree_files import read_tree, tree_in
from incrowd.verification.trees import Tree

_PLAIN = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
# Bounds of floats may have an exponent, of three digits at most.
_BOUND = rf"{_PLAIN}(?:e[+-][0-9]{{1,3}})?"
_NUMBERS = re.compile(rf"\[({_BOUND})-({_BOUND})\]")
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DAYS = re.compile(rf"\[({_DAY}) to ({_DAY})\]")
_TIMES = re.compile(rf"\[({_DAY}T[0-9:.]+) to ({_DAY}T[0-9:.]+)\]")
_OPEN = re.compile(rf"({_BOUND}) or (?:(more)|less)")
_OPEN_DAYS = re.compile(rf"({_DAY}) or (?:(later)|earlier)")
_MISSING_MEMBER = "<missing>"
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.([0-9]+))?(.*)")


@cache
def _plain_number(text: str) -> Fraction | None:
    return Fraction(text) if len(text) <= 4000 and re.fullmatch(_PLAIN, text) else None


@cache
def moment_of(text: str) -> tuple[str, ...] | None:
    """Read a date with a time, so that a blank and a T between them, and zeros at the end, do not matter."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    clock = found[2] if len(found[2]) > 5 else found[2] + ":00"
    return found[1], clock, (found[3] or "").rstrip("0"), found[4]


def _are_ordered(texts: Sequence[str]) -> bool:
    """Say whether texts are all numbers or all days; times in a text are a category."""
    known = [text for text in texts if text != SUPPRESSED]
    return all(_plain_number(text) is not None for text in known) or all(
        len(text) == 10 and day_of(text) is not None for text in known
    )


@cache
def _bounds(
    cell: str,
) -> tuple[Fraction | float, Fraction | float] | tuple[datetime.date, datetime.date] | None:
    """Read a range of numbers, days or points of time; an end that it has not got is as far as can be."""
    if numbers := _NUMBERS.fullmatch(cell):
        return Fraction(numbers[1]), Fraction(numbers[2])
    if days := _DAYS.fullmatch(cell):
        low, high = day_of(days[1]), day_of(days[2])
        return None if low is None or high is None else (low, high)
    if times := _TIMES.fullmatch(cell):
        start, end = _time(times[1]), _time(times[2])
        return None if start is None or end is None else (start, end)
    if one := _OPEN.fullmatch(cell):
        return (Fraction(one[1]), math.inf) if one[2] else (-math.inf, Fraction(one[1]))
    if (one := _OPEN_DAYS.fullmatch(cell)) and (day := day_of(one[1])):
        return (day, datetime.date.max) if one[2] else (datetime.date.min, day)
    return None


def ends_of(cell: str) -> tuple[str | None, str | None] | None:
    """Return the two ends of a range as they are written, None for one that it has not got."""
    if _bounds(cell) is None:
        return None
    closed = _NUMBERS.fullmatch(cell) or _DAYS.fullmatch(cell) or _TIMES.fullmatch(cell)
    if closed:
        return closed[1], closed[2]
    one = _OPEN.fullmatch(cell) or _OPEN_DAYS.fullmatch(cell)
    return None if one is None else ((one[1], None) if one[2] else (None, one[1]))


def is_value(cell: str) -> bool:
    """Say whether a cell is a single number or a single day."""
    return _plain_number(cell) is not None or day_of(cell) is not None


@cache
def _time(text: str) -> datetime.datetime | None:
    """Read a date, with or without a time but without a zone."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is None else None


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

    Parameters
    ----------
    column
        The column of the policy.
    values
        The distinct raw values; None is the missing one. Recipes of hierarchies are followed over them.
    stored
        What the raw column is stored as; see `group_of`. Every spelling of a number is one in a column of
        numbers. Categories, and the leaves of a hierarchy, are told apart by their letters.

    of_people
        Whether the values are those of a population. A value that looks like a set covers only itself there,
        so that nobody counts for too many. In a release it may also be the set.

    Raises
    ------
    HierarchyError
        A value is no leaf of the hierarchy.
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
        bounds = _bounds(cell)
        if bounds is None or value is None:
            return False
        low, high = bounds
        if isinstance(low, datetime.datetime):
            time = _time(value)
            return time is not None and low <= time <= high  # type: ignore[operator]
        if isinstance(low, datetime.date):
            day = day_of(value)
            return day is not None and low <= day <= high  # type: ignore[operator]
        number = self._number(value)
        return number is not None and low <= number <= high  # type: ignore[operator]


class Shapes:
    """The possible cells of a quasi-identifier, as far as the policy tells without the raw table.

    Parameters
    ----------
    column
        The column of the policy.

    Attributes
    ----------
    unknown
        Why not every cell can be judged; empty where it can.
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
        self.unknown = self._reason()

    def _reason(self) -> str:
        if self._tree is not None or self._column.measure is not None:
            return ""
        if self._spec:
            return f"a value of the recipe {next(iter(self._spec))!r} may be any text"
        return "the policy gives them no hierarchy and no kind"

    def possible(self, cell: str | None) -> bool:
        """Say whether a column can have a cell; True where that cannot be told."""
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
        if "intervals" in self._spec and is_bin(cell, self._spec, self._column.name):
            return True
        if "dates" in self._spec and is_calendar(cell, self._spec, self._column.name):
            return True
        if "prefix" in self._spec and is_mask(cell, self._column.measure):
            return True
        if self._spec and not self._column.is_by_number:
            return False
        bounds, ends = _bounds(cell), ends_of(cell)
        return (
            bounds is not None
            and ends is not None
            and (None not in ends or self._column.grid is not None)
            and isinstance(bounds[0], datetime.date) == (self._column.measure == "date")
            and bounds[0] <= bounds[1]  # type: ignore[operator]
        )

    def level_fits(self, cell: str | None, least: int, largest: int | None) -> bool | None:
        """Say whether a cell can stand on a level within bounds; None where that cannot be told."""
        if self._tree is None or cell is None:
            return None
        if 0 in self._tree.nodes.get(cell, []):
            # A missing value hangs under the root, and who has reached the root stays there.
            return largest is None or largest >= 1
        steps = self._tree.levels(cell)
        return any(least <= step and (largest is None or step <= largest) for step in steps)

    def _value(self, text: str) -> bool:
        """Say whether a text can be a single value of the column."""
        if self._column.measure == "date":
            return day_of(text) is not None or moment_of(text) is not None
        return exact_number(text) is not None
