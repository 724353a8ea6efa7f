"""Intervals of a hierarchy, which must contain the numbers and dates below."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from incrowd.core.reading.cells import Span, read_span
from incrowd.core.reading.exact import moment_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from incrowd.core.hierarchy import Hierarchy

_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")


def outside_of(tree: Hierarchy) -> list[tuple[str, str]]:
    """Return each value or interval outside the interval above, with that interval.

    Labels are intervals if all values below them are numbers, or all are dates, or intervals of them; below
    the root there may be others. Labels without brackets are intervals only if some value lies within one:
    50100 may be in a group ``501-502`` of codes.

    Examples
    --------
    >>> from incrowd import Hierarchy
    >>> tree = Hierarchy.from_paths([("31", "[30, 40[", "*"), ("50", "[30, 40[", "*")])
    >>> outside_of(tree)
    [('50', '[30, 40[')]
    """
    return _outside_intervals(tree, "number") or _outside_intervals(tree, "date")


def _place_of(text: str, kind: str) -> Any:
    if kind == "date":
        return moment_of(text)
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _outside_intervals(tree: Hierarchy, kind: str) -> list[tuple[str, str]]:
    labels, parents = tree.labels, tree.parents.tolist()
    leaves = set(tree.leaves.tolist())

    def spans_of(nodes: Iterable[int]) -> dict[int, Span]:
        candidates = ((node, labels[node]) for node in nodes if re.search("[0-9]", labels[node]))
        return {node: span for node, label in candidates if (span := read_span(label, kind))}

    # Few nodes are above others, and mostly none of these is an interval.
    spans = spans_of(set(parents[1:]))
    if not spans:
        return []
    places = {leaf: place for leaf in leaves if (place := _place_of(labels[leaf], kind)) is not None}
    if not places:
        return []
    spans |= spans_of(leaves - places.keys())
    if kind == "number" and all(place == place.to_integral_value() for place in places.values()):
        spans = {node: span.of_whole_numbers() for node, span in spans.items()}
    # Parents come before their children.
    nearest = [-1] * len(labels)
    for node, parent in enumerate(parents[1:], 1):
        nearest[node] = parent if parent in spans else nearest[parent]
    if any(nearest[leaf] > 0 and leaf not in places and leaf not in spans for leaf in leaves):
        return []
    at = {leaf: Span(place, place) for leaf, place in places.items()} | spans
    lies = {node: at[node].within(spans[nearest[node]]) for node in sorted(at) if nearest[node] >= 0}
    bracketed = {node for node in spans if labels[node][0] in "[(]"}
    if not any(lies[leaf] for leaf in places if nearest[leaf] >= 0 and nearest[leaf] not in bracketed):
        lies = {node: within for node, within in lies.items() if nearest[node] in bracketed}
    return [(labels[node], labels[nearest[node]]) for node, within in lies.items() if not within]
