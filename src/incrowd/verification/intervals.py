"""Labels of a hierarchy file that are intervals, read a second time: they hold all that stands below them.

Where a value below an interval is no number (no date), labels of that kind are names, the root's aside.
Labels without brackets are names, too, unless one of them holds a value below it.
"""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from math import ceil, floor

from incrowd.verification.spans import Bounds, bounds_of
from incrowd.verification.trees import Tree

_DIGITS = re.compile(r"[+-]?[0-9]+([.][0-9]+)?")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?)?")


def count_outside(tree: Tree) -> int:
    """Count the values and intervals outside the interval above them."""
    return len(_outside(tree, "number") or _outside(tree, "date"))


def _place(text: str, kind: str) -> Fraction | None:
    if kind == "number":
        return Fraction(text) if _DIGITS.fullmatch(text) else None
    try:
        day = datetime.date.fromisoformat(text[:10]) if _MOMENT.fullmatch(text) else None
    except ValueError:
        return None
    if day is None:
        return None
    hours, minutes, seconds = (*map(Fraction, text[11:].split(":")),) if text[11:] else (0, 0, 0)
    return Fraction(((day.toordinal() * 24 + hours) * 60 + minutes) * 60 + seconds)


def _outside(tree: Tree, kind: str) -> list[tuple[int, int]]:
    """Pair each node that lies outside with the nearest interval above it."""
    texts = [label or "" for label in tree.labels]
    leaves = set(range(len(texts))) - set(tree.parents)
    places = {node: found for node in leaves if (found := _place(texts[node], kind)) is not None}
    if not places:
        return []
    whole = kind == "number" and all(place.denominator == 1 for place in places.values())
    bounds = {
        node: _of_whole(span) if whole else span
        for node, text in enumerate(texts)
        if node not in places and any(map(str.isdigit, text)) and (span := bounds_of(text, kind))
    }
    pairs: list[tuple[int, int]] = []
    for node in range(len(texts)):
        above = tree.parents[node]
        while above >= 0 and above not in bounds:
            above = tree.parents[above]
        if above > 0 and node in leaves and node not in places and node not in bounds:
            return []
        if above >= 0 and (node in places or node in bounds):
            pairs.append((node, above))
    held = {
        (node, above)
        for node, above in pairs
        if (bounds[above].holds(places[node]) if node in places else _holds(bounds[above], bounds[node]))
    }
    bare = {node for node in bounds if not texts[node].startswith(("[", "(", "]"))}
    if not any(node in places and above in bare for node, above in held):
        pairs = [(node, above) for node, above in pairs if above not in bare]
    return [pair for pair in pairs if pair not in held]


def _of_whole(found: Bounds) -> Bounds:
    """Return a range of whole numbers with ends that belong to it."""
    low = found.low if found.low is None or found.has_low else Fraction(floor(found.low) + 1)
    high = found.high if found.high is None or found.has_high else Fraction(ceil(found.high) - 1)
    return found._replace(low=low, high=high, has_low=True, has_high=True)


def _holds(outer: Bounds, inner: Bounds) -> bool:
    """Say whether all of a range lies in another."""
    starts = outer.low is None or (
        inner.low is not None and (outer.low, not outer.has_low) <= (inner.low, not inner.has_low)
    )
    ends = outer.high is None or (
        inner.high is not None and (inner.high, inner.has_high) <= (outer.high, outer.has_high)
    )
    return starts and ends
