"""Hierarchy files of other tools: code lists of tau- and mu-ARGUS (`.hrc`), and hierarchies of Amnesia."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from incrowd.core.documents import range_text
from incrowd.core.errors import HierarchyError
from incrowd.core.hierarchy.tree import Hierarchy, TreeBuilder

_LEAD = "@"
_ROOT = "*"


def read_hrc(text: str, source: str, lead: str = _LEAD) -> Hierarchy:
    """Read a hierarchical code list: a code per line, after an ``@`` for each level.

    Parameters
    ----------
    lead
        What stands there in place of ``@``.

    Notes
    -----
    The list does not name the total, which is the root: ``*`` here. A list with one code at the top has its
    root already.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    codes = [
        (number, len(line) - len(line.lstrip(lead)), line.lstrip(lead).strip()) for number, line in lines
    ]
    builder = TreeBuilder(source)
    above = [builder.add(_ROOT, -1)] if sum(depth == 0 for _, depth, _ in codes) > 1 else []
    top = len(above)
    for number, depth, label in codes:
        if depth + top > len(above):
            raise builder.fail(f"the code is {depth} levels deep under one of {len(above) - 1 - top}", number)
        del above[depth + top :]
        above.append(builder.add(label, above[-1] if above else -1, number))
    return builder.finish()


def is_amnesia(text: str) -> bool:
    """Return whether a text file is an Amnesia hierarchy, which starts with ``distinct`` or ``range``."""
    lines = [line.rstrip() for line in text.split("\n", 2)[:2]]
    return len(lines) > 1 and lines[0] in ("distinct", "range") and lines[1].startswith("name")


def read_amnesia(text: str, source: str) -> Hierarchy:
    """Read lines such as ``Europe has France Italy``, or ``0,9 has 0,4 5,9``, below a short head."""
    builder = TreeBuilder(source)
    lines = [line.strip() for line in text.splitlines()]
    below, root = _families(lines, builder)
    if lines[0] == "range":
        return _ranges(lines, below, root, builder)
    waiting = [(root, -1, 1)]
    while waiting:
        label, above, number = waiting.pop()
        node = builder.add(label, above, number)
        waiting += [(child, node, line) for child, line in reversed(below.get(label, []))]
    return builder.finish()


_Families = dict[str, list[tuple[str, int]]]


def _families(lines: Sequence[str], builder: TreeBuilder) -> tuple[_Families, str]:
    """Return the children of each label with the lines, and the root."""
    below: dict[str, list[tuple[str, int]]] = {}
    parents: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        parent, has, rest = line.partition(" has ")
        if not has:
            continue
        if parent in below:
            raise builder.fail(f"{parent!r} stands twice; write its children in one line", number)
        below[parent] = [(label, number) for label in rest.split()]
        for label, _ in below[parent]:
            if label in parents:
                raise builder.fail(f"{label!r} has two parents, {parents[label]!r} and {parent!r}", number)
            parents[label] = parent
    roots = [label for label in below if label not in parents]
    if len(roots) != 1:
        raise HierarchyError(
            f"{builder.source}: {len(roots)} labels have no parent; a hierarchy has one root"
        )
    return below, roots[0]


# --- ranges of Amnesia ----------------------------------------------------------------------------------

_MOST_NUMBERS = 1_000_000
_RANGE = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?),(-?[0-9]+(?:\.[0-9]+)?)")


@dataclass(frozen=True)
class _Range:
    """Whole numbers from `low` up to `high`, both included."""

    low: int
    high: int

    @property
    def label(self) -> str:
        return range_text(self.low, self.high)


def _ranges(
    lines: Sequence[str], below: Mapping[str, Sequence[tuple[str, int]]], root: str, builder: TreeBuilder
) -> Hierarchy:
    """Build a tree of ranges of whole numbers, with the numbers as leaves."""
    kind = next((line.partition(" ")[2].strip() for line in lines if line.startswith("type ")), "")
    if kind not in ("int", "integer"):
        raise HierarchyError(
            f"{builder.source}: ranges of type {kind[:20]!r}, of which not every value can be listed; write "
            f"{_recipe(below, root)} for the column in the policy"
        )
    least, most = _bounds(root, builder, 1)
    waiting = [(root, _Range(least, most), -1, 1)]
    while waiting:
        label, covered, above, number = waiting.pop()
        node = builder.add(covered.label, above, number)
        children = below.get(label)
        if children is None:
            if len(builder.labels) + covered.high - covered.low > _MOST_NUMBERS:
                raise builder.fail(f"has more than {_MOST_NUMBERS:,} numbers; write intervals", 1)
            for value in range(covered.low, covered.high + 1):
                builder.add(str(value), node, number)
            continue
        parts = _read_parts(children, covered, builder)
        waiting += [
            (child, part, node, line)
            for (child, line), part in reversed([*zip(children, parts, strict=True)])
        ]
    return builder.finish()


def _read_parts(children: Sequence[tuple[str, int]], parent: _Range, builder: TreeBuilder) -> list[_Range]:
    """Read touching child ranges as half-open: a shared end belongs to the upper range."""
    bounds = [_bounds(label, builder, line) for label, line in children]
    parts: list[_Range] = []
    for position, (low, high) in enumerate(bounds):
        line = children[position][1]
        last = position == len(bounds) - 1
        shared = not last and bounds[position + 1][0] == high
        top = parent.high if last and high == parent.high + 1 else high - shared
        first = parent.low if not parts else parts[-1].high + 1
        if low != first or top < low or (last and top != parent.high):
            raise builder.fail("the ranges below another do not part it in order, without gaps", line)
        parts.append(_Range(low, top))
    return parts


def _bounds(label: str, builder: TreeBuilder, line: int) -> tuple[int, int]:
    match = _RANGE.fullmatch(label)
    low, high = (float(match[1]), float(match[2])) if match else (0.5, 0.5)
    if not (low.is_integer() and high.is_integer()):
        raise builder.fail("is no range of whole numbers, such as 0,9", line)
    return int(low), int(high)


def _recipe(below: Mapping[str, Sequence[tuple[str, int]]], root: str) -> str:
    """Return a recipe for ranges of a single width per level."""
    widths, level = [], [root]
    while level := [child for label in level for child, _ in below.get(label, ())]:
        ranges = [_RANGE.fullmatch(label) for label in level]
        widths.append({float(ends[2]) - float(ends[1]) for ends in ranges if ends})
    first = _RANGE.fullmatch(root)
    if first is None or any(len(of_level) != 1 for of_level in widths):
        return "hierarchy = { intervals = [...] } with its widths, or dates = true,"
    listed = ", ".join(f"{next(iter(of_level)):g}" for of_level in reversed(widths))
    return f"hierarchy = {{ intervals = [{listed}], origin = {float(first[1]):g} }}"
