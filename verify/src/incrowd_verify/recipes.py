"""Trees of hierarchies, and the recipes of trees over given values, followed a second time."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from incrowd_gate.errors import HierarchyError, PolicyError, named


class TreeError(Exception):
    """An error in a tree, at a place that the reader of the tree knows."""


@dataclass
class Tree:
    """A tree with node 0 as the root, where every node comes after the parent.

    - `labels`: label of each node; None for a node that has none, which no cell can name.
    - `parents`: parent of each node; -1 for the root.
    """

    labels: list[str | None] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    _children: dict[tuple[int, object], int] = field(default_factory=dict)
    _named: dict[str, int] = field(default_factory=dict)

    def add(self, label: str | None, parent: int, key: object = None) -> int:
        """Add a node below a parent (-1: the root), and return the node.

        - `key`: what tells it from its sisters, where its label does not.
        - Raises `TreeError`: the label is empty or stands elsewhere; only a node and its parent may share
          one.
        """
        if label == "":
            raise TreeError("an empty label")
        if parent < 0 and self.labels:
            raise TreeError(f"several roots, {self.labels[0]!r} and {label!r}")
        if (parent, key or label) in self._children:
            raise TreeError(f"{label!r} comes twice under its parent")
        if label is not None and label in self._named and self.labels[parent] != label:
            raise TreeError(f"{label!r} stands at two places of the tree")
        node = len(self.labels)
        self.labels.append(label)
        self.parents.append(parent)
        self._children[parent, key or label] = node
        if label is not None:
            self._named[label] = node
        return node

    def child(self, key: object, parent: int) -> int | None:
        """Return the node below a parent that has a key (a label where no key was given), or None."""
        return self._children.get((parent, key))

    @cached_property
    def leaves(self) -> dict[str, int]:
        """Node of each leaf by label, once the tree is whole."""
        inner = set(self.parents)
        return {
            label: node
            for node, label in enumerate(self.labels)
            if node not in inner and label is not None and node
        }

    @cached_property
    def nodes(self) -> dict[str, list[int]]:
        """The nodes of each label: a node, or a node and the parent."""
        groups: dict[str, list[int]] = {}
        for node, label in enumerate(self.labels):
            if label is not None:
                groups.setdefault(label, []).append(node)
        return groups

    def heights(self) -> list[int]:
        """Return per node the length of the longest path down to a leaf."""
        heights = [0] * len(self.parents)
        for node in range(len(self.parents) - 1, 0, -1):
            above = self.parents[node]
            heights[above] = max(heights[above], heights[node] + 1)
        return heights

    def way_up(self, leaf: str) -> Iterator[int]:
        """Yield the nodes from a leaf up to the last node below the root."""
        node = self.leaves[leaf]
        while node != 0:
            yield node
            node = self.parents[node]

    def covers(self, label: str, leaf: str) -> bool:
        """Say whether a leaf lies at or below a node with a label."""
        nodes = self.nodes.get(label, [])
        return leaf in self.leaves and (0 in nodes or any(node in nodes for node in self.way_up(leaf)))

    def levels(self, label: str) -> set[int]:
        """Return how many steps a leaf may have climbed to a label; steps above the root stay there."""
        steps: set[int] = set()
        for leaf in self.leaves:
            way = [*self.way_up(leaf), 0]
            steps |= {step for step, node in enumerate(way) if self.labels[node] == label}
        return steps


_ROOT = "*"
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LONGEST = 400
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DATE = re.compile(DAY + "([T ].+)?")
_DECIMAL = r"-?[0-9]+(?:\.[0-9]+)?"
_PART_OF_NUMBER = re.compile(r"-|-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?")
_PART_OF_DAY = re.compile(r"[0-9]+(?:-[0-9]*){0,2}(?:[T ][0-9:.]*)?")
_OPEN_BIN = re.compile(rf"\[({_DECIMAL}), ({_DECIMAL})\)")
_CALENDAR = {
    "day": re.compile(DAY),
    "month": re.compile(r"[0-9]{4}-[0-9]{2}"),
    "quarter": re.compile(r"[0-9]{4}-Q[1-4]"),
    "year": re.compile(r"[0-9]{4}"),
    "decade": re.compile(r"[0-9]{3}0s"),
}

_Group = tuple[Hashable, str | None]  # what tells a node from its sisters, and its label
_Paths = Iterator[tuple[str, Sequence[_Group]]]  # a leaf and the nodes above it, the root left out


def recipe_named(spec: dict[str, Any], column: str) -> str:
    """Return the name of a recipe.

    Raises `PolicyError`: it is no recipe that verify knows, or has a setting that it does not know.
    """
    names = [name for name in _RECIPES if name in spec]
    if len(names) != 1:
        raise PolicyError(f"column {column!r}: the hierarchy must name one builder of {', '.join(_RECIPES)}")
    unknown = sorted(set(spec) - {names[0], *_RECIPES[names[0]][1:]})
    if unknown:
        raise PolicyError(f"column {column!r}: verify does not know {named(unknown)} of {names[0]!r}")
    return names[0]


def tree_of(spec: dict[str, Any], values: Sequence[str], column: str) -> Tree:
    """Follow a recipe.

    Raises `HierarchyError`: a value does not suit it.
    """
    name = recipe_named(spec, column)
    build = _RECIPES[name][0]
    if name in ("flat", "prefix") and spec[name] is not True:
        raise PolicyError(f"column {column!r}: the builder must be written {name} = true")
    tree = Tree()
    tree.add(_ROOT, -1)
    try:
        for value, groups in build(spec, values, column):
            if value == _ROOT:
                raise TreeError("the root is no value")
            node = 0
            for key, label in reversed(groups):
                known = tree.child(key, node)
                node = tree.add(label, node, key) if known is None else known
            tree.add(value, node, ("leaf", value))
    except TreeError:
        raise HierarchyError(
            f"column {column!r}: a value is empty, '*' or the same text as a group that the recipe makes"
        ) from None
    return tree


def _order(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    texts, fanout = spec["order"], spec.get("fanout", 2)
    if not isinstance(texts, list) or not texts or not all(isinstance(item, str) for item in texts):
        raise PolicyError(f"column {column!r}: order must be a list of texts")
    if not isinstance(fanout, int) or isinstance(fanout, bool) or fanout < 2:
        raise PolicyError(f"column {column!r}: fanout must be a whole number from 2")
    if len(set(texts)) != len(texts):
        raise PolicyError(f"column {column!r}: order lists a value twice")
    for place, text in enumerate(texts):
        groups: list[_Group] = []
        size, inside = fanout, 1
        while size < len(texts):
            first = place // size * size
            last = min(first + size, len(texts))
            # A group of one subgroup is no node of its own.
            if last - first > inside:
                groups.append(((size, first), f"[{texts[first]} - {texts[last - 1]}]"))
            inside, size = size, size * fanout
        yield text, groups


def _intervals(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    widths, origin = _widths(spec, column)
    numbers = _numbers(values, column)
    whole = all(number.denominator == 1 for number in (*widths, origin, *numbers.values()))
    for value, number in numbers.items():
        groups: list[_Group] = []
        for width in widths:
            start = origin + (number - origin) // width * width
            groups.append(((width, start), _bin_label(start, start + width, whole=whole)))
        yield value, groups


def _numbers(values: Sequence[str], column: str) -> dict[str, Fraction]:
    wrong = sum(exact_number(value) is None for value in values)
    if wrong:
        raise HierarchyError(f"column {column!r}: {wrong} distinct value(s) are no numbers for its recipe")
    return {value: Fraction(value) for value in values}


def _bands(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    cuts = _cuts(spec, column)
    numbers = _numbers(values, column)
    whole = all(number.denominator == 1 for number in (*cuts, *numbers.values()))
    labels = _band_labels(cuts, whole=whole)
    for value, number in numbers.items():
        band = sum(cut <= number for cut in cuts)
        yield value, [(("band", band), labels[band])]


def _cuts(spec: dict[str, Any], column: str) -> list[Fraction]:
    listed = spec["bands"]
    if not isinstance(listed, list) or not listed:
        raise PolicyError(f"column {column!r}: bands must be a list of cuts")
    cuts = [_exact(cut, column) for cut in listed]
    if cuts != sorted(set(cuts)):
        raise PolicyError(f"column {column!r}: the cuts of bands must ascend")
    return cuts


def _band_labels(cuts: Sequence[Fraction], *, whole: bool) -> list[str]:
    inner = [_bin_label(low, high, whole=whole) for low, high in itertools.pairwise(cuts)]
    return [f"<{_decimal(cuts[0])}", *inner, f">={_decimal(cuts[-1])}"]


def _widths(spec: dict[str, Any], column: str) -> tuple[list[Fraction], Fraction]:
    listed = spec["intervals"]
    if not isinstance(listed, list) or not listed:
        raise PolicyError(f"column {column!r}: intervals must be a list of widths")
    widths = [_exact(width, column) for width in listed]
    if any(width <= 0 for width in widths) or any(
        narrow == wide or (wide / narrow).denominator != 1 for narrow, wide in itertools.pairwise(widths)
    ):
        raise PolicyError(f"column {column!r}: each width must be above 0 and a multiple of the one before")
    return widths, _exact(spec.get("origin", 0), column)


def range_text(low: object, high: object, *, dated: bool = False) -> str:
    """Spell a released range: ``[20-29]``, or of dates ``[2026-01-01 to 2026-01-31]``."""
    return f"[{low} to {high}]" if dated else f"[{low}-{high}]"


def range_pattern(end: str, *, dated: bool = False) -> str:
    """Return the pattern of released ranges, by the pattern of an end."""
    return re.escape(range_text("0", "0", dated=dated)).replace("0", end)


def _bin_label(start: Fraction, end: Fraction, *, whole: bool) -> str:
    if not whole:
        return f"[{_decimal(start)}, {_decimal(end)})"
    return f"[{start}]" if end - start == 1 else range_text(start, end - 1)


def _decimal(number: Fraction) -> str:
    """Write a fraction that is a finite decimal."""
    scale = 0
    while (number * 10**scale).denominator != 1:
        scale += 1
    digits = f"{abs(number * 10**scale)}".zfill(scale + 1)
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


def is_bin(cell: str, spec: dict[str, Any], column: str) -> bool:
    """Say whether a cell is a bin that a recipe of intervals or bands can make."""
    if "bands" in spec:
        cuts = _cuts(spec, column)
        forms = (True, False) if all(cut.denominator == 1 for cut in cuts) else (False,)
        return any(cell in _band_labels(cuts, whole=whole) for whole in forms)
    widths, origin = _widths(spec, column)
    if whole := re.fullmatch(range_pattern("(-?[0-9]+)") + r"|\[(-?[0-9]+)\]", cell):
        start = Fraction(whole[1] or whole[3])
        end = Fraction(whole[2] or whole[3]) + 1
    elif half_open := _OPEN_BIN.fullmatch(cell):
        start, end = Fraction(half_open[1]), Fraction(half_open[2])
    else:
        return False
    return end - start in widths and ((start - origin) / (end - start)).denominator == 1


def _prefix(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    longest = max(map(len, values), default=0)
    for value in values:
        padded = value.ljust(longest, "\0")
        lengths = range(longest - 1, 0, -1)
        yield value, [(padded[:kept], _as_text(value[:kept] + "*" * (longest - kept))) for kept in lengths]


def is_mask(cell: str, measure: str | None) -> bool:
    """Say whether a cell is the beginning of a number or date, masked as by a recipe of prefixes."""
    masked = cell[1:] if cell.startswith("'") and _as_text(cell[1:]) == cell else cell
    kept, form = masked.rstrip("*"), _PART_OF_DAY if measure == "date" else _PART_OF_NUMBER
    return len(kept) < len(masked) and form.fullmatch(kept) is not None


def _as_text(label: str) -> str:
    """Write a label that a spreadsheet would run as a formula the way of releases."""
    return "'" + label if label[:1] in "=+-@\t\r" and not _NUMBER.fullmatch(label) else label


def _dates(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    levels = _calendar_levels(spec, column)
    days = {value: day_of(value) for value in values}
    wrong = sum(day is None for day in days.values())
    if wrong:
        raise HierarchyError(f"column {column!r}: {wrong} distinct value(s) are no dates such as 2020-03-31")
    timed = any(len(value) > 10 for value in values)
    for value, day in days.items():
        if day is not None:
            year = f"{day.year:04}"
            parts = {
                "month": f"{year}-{day.month:02}",
                "quarter": f"{year}-Q{(day.month - 1) // 3 + 1}",
                "year": year,
                "decade": f"{year[:3]}0s",
            }
            groups = [f"{year}-{day.month:02}-{day.day:02}"] if timed else []
            groups += [parts[level] for level in levels]
            yield value, [((level, text), text) for level, text in enumerate(groups)]


_RECIPES: dict[str, tuple[Any, ...]] = {
    "flat": (lambda spec, values, column: ((value, ()) for value in values),),
    "order": (_order, "fanout"), "intervals": (_intervals, "origin"), "bands": (_bands,),
    "prefix": (_prefix,), "dates": (_dates,),
}  # fmt: skip
"""By the name of each recipe the function that follows it, and its further settings."""


def _calendar_levels(spec: dict[str, Any], column: str) -> list[str]:
    known = [level for level in _CALENDAR if level != "day"]
    levels = known if spec["dates"] is True else spec["dates"]
    if not isinstance(levels, list) or not levels or levels != [level for level in known if level in levels]:
        raise PolicyError(f"column {column!r}: dates must list some of {', '.join(known)}, in this order")
    return levels


def is_calendar(cell: str, spec: dict[str, Any], column: str) -> bool:
    """Say whether a cell is a part of the calendar that a recipe of dates can make."""
    levels = ["day", *_calendar_levels(spec, column)]
    return any(_CALENDAR[level].fullmatch(cell) for level in levels)


def day_of(text: str) -> datetime.date | None:
    """Read the day of a date written YYYY-MM-DD, with or without a time, or None where the text is none."""
    if _DATE.fullmatch(text) is None:
        return None
    try:
        if text[10:]:
            datetime.datetime.fromisoformat(text)
        return datetime.date.fromisoformat(text[:10])
    except ValueError:
        return None


def exact_number(text: str) -> Fraction | None:
    """Read a number exactly in any spelling, or return None for a text that is no number."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > _LONGEST or (match[3] and abs(int(match[3][1:])) > _LONGEST):
        return None
    return Fraction(text)


def _exact(number: object, column: str) -> Fraction:
    """Read a number of a policy just as written: 0.1 is a tenth."""
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise PolicyError(f"column {column!r}: widths, cuts and origin must be numbers")
    return Fraction(str(number))
