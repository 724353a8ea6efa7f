"""Points of hierarchies: values that stand under an interval without the value."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from incrowd_gate import wording
from incrowd_gate.points import Point
from incrowd_gate.ranges import Bounds, bounds_of
from incrowd_gate.rules.columns import Release

_NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]+)?")
_EXACT_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?)?")


def points_of_labels(release: Release) -> Iterator[Point]:
    """Look at every hierarchy that is written down."""
    for name, labels, parents in release.trees():
        if outside := outside_intervals(labels, parents):
            yield wording.untrue_label(name, len(outside))


def outside_intervals(
    labels: Sequence[str | None], parents: Sequence[int]
) -> list[tuple[str | None, str | None]]:
    """Return each value or interval outside the interval above, with that interval.

    Labels are intervals if all values below them are numbers, or all are dates, or intervals of them; below
    the root there may be others. Labels without brackets are intervals only if some value lies within one:
    50100 may be in a group ``501-502`` of codes.

    - `labels`: the label of each node. Node 0 is the root, and nodes come after their parents.
    - `parents`: the parent of each node.

    Examples
    --------
    >>> outside_intervals(["*", "[30, 40[", "31", "50"], [-1, 0, 1, 1])
    [('50', '[30, 40[')]
    """
    return _outside(labels, parents, "number") or _outside(labels, parents, "date")


def _outside(
    labels: Sequence[str | None], parents: Sequence[int], kind: str
) -> list[tuple[str | None, str | None]]:
    texts = [label or "" for label in labels]
    inner = set(parents[1:])
    leaves = set(range(len(texts))) - inner
    # Few nodes are above others, and mostly none of these is an interval.
    bounds = _bounds(inner, texts, kind)
    if not bounds:
        return []
    places = {leaf: place for leaf in leaves if (place := _place(texts[leaf], kind)) is not None}
    if not places:
        return []
    bounds |= _bounds(leaves - places.keys(), texts, kind)
    if kind == "number" and all(place.denominator == 1 for place in places.values()):
        bounds = {node: span.of_whole_numbers() for node, span in bounds.items()}
    nearest = [-1] * len(texts)
    for node, parent in enumerate(parents[1:], 1):
        nearest[node] = parent if parent in bounds else nearest[parent]
    if any(nearest[leaf] > 0 and leaf not in places and leaf not in bounds for leaf in leaves):
        return []
    lies = {
        node: bounds[nearest[node]].holds(places[node])
        if node in places
        else bounds[node].within(bounds[nearest[node]])
        for node in sorted(places.keys() | bounds.keys())
        if nearest[node] >= 0
    }
    bracketed = {node for node in bounds if texts[node][0] in "[(]"}
    if not any(lies[leaf] for leaf in places if leaf in lies and nearest[leaf] not in bracketed):
        lies = {node: within for node, within in lies.items() if nearest[node] in bracketed}
    return [(labels[node], labels[nearest[node]]) for node, within in lies.items() if not within]


def _bounds(nodes: set[int], texts: Sequence[str], kind: str) -> dict[int, Bounds]:
    candidates = ((node, texts[node]) for node in nodes if re.search("[0-9]", texts[node]))
    return {node: span for node, text in candidates if (span := bounds_of(text, kind))}


def _place(text: str, kind: str) -> Fraction | None:
    """Read a number, or a moment as seconds."""
    if kind == "number":
        return Fraction(text) if _NUMBER.fullmatch(text) else None
    try:
        day = datetime.date.fromisoformat(text[:10]) if _EXACT_MOMENT.fullmatch(text) else None
    except ValueError:
        return None
    if day is None:
        return None
    hours, minutes, seconds = (*map(Fraction, text[11:].split(":")),) if text[11:] else (0, 0, 0)
    return Fraction(((day.toordinal() * 24 + hours) * 60 + minutes) * 60 + seconds)
