"""The meaning of a released cell: the raw values in the cell, and whether a column can have the cell."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

from incrowd_gate.ranges import Bounds, bounds_of
from incrowd_verify.policy import SUPPRESSED, Column
from incrowd_verify.recipes import Tree, day_of, exact_number, is_bin, is_calendar, is_mask, range_pattern
from incrowd_verify.tree_files import read_tree, tree_in

_PLAIN = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
# Bounds of floats may have an exponent, of three digits at most.
_BOUND = rf"{_PLAIN}(?:e[+-][0-9]{{1,3}})?"
_MOMENT_TEXT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+)?"
_OWN = {
    "number": re.compile(rf"{range_pattern(_BOUND)}|{_BOUND} or (?:more|less)"),
    "date": re.compile(rf"{range_pattern(_MOMENT_TEXT, dated=True)}|{_MOMENT_TEXT} or (?:later|earlier)"),
}
_MISSING_MEMBER = "<missing>"
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.([0-9]+))?(.*)")


@cache
def _plain_number(text: str) -> Fraction | None:
    return Fraction(text) if len(text) <= 4000 and re.fullmatch(_PLAIN, text) else None


@cache
def moment_of(text: str) -> tuple[str, ...] | None:
    """Read a date with a time, whether a blank or a T stands between the two, without zeros at the end."""
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
    """Read a range of a kind in any spelling, or without a kind in the spellings of a release alone."""
    for each in ("number", "date") if kind is None else (kind,):
        bounds = bounds_of(cell, each) if kind is not None or _OWN[each].fullmatch(cell) else None
        if bounds is not None:
            return each, bounds
    return None


def ends_of(cell: str, kind: str | None) -> tuple[str | None, str | None] | None:
    """Return the two ends of a range as written, None for an end that the range lacks."""
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
    r"""Read the parts of a set ``{a, b}``; ``\`` escapes a sign within a part. None for any other cell.

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
    """Return how many values a cell lists, or 1 where the cell is no set."""
    members = None if cell is None else _members(cell)
    return 1 if members is None else len(members)


class CellReader:
    """Reader of the cells of a quasi-identifier over given raw values.

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
            return part is value
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
