"""The text of a released cell: how it is written, and how a set is read."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from incrowd.table.domain import Domain
    from incrowd.table.schema import Style

__all__ = [
    "SUPPRESSED",
    "effective_style",
    "mean_labels",
    "node_labels",
    "parts_of_set",
    "range_label",
    "set_label",
]

SUPPRESSED = "*"
"""What a suppressed record has in every quasi-identifier."""

_MEAN_DECIMALS = 6


def effective_style(style: Style, domain: Domain) -> Style:
    """Say which style a column's cells really get.

    ``auto`` is the common ancestor where there is a hierarchy, a range for numbers and dates and a set
    for other categories; a style that a column cannot have falls back to that.
    """
    if style in ("set", "mean", "suppress"):
        return style
    if style == "range" and domain.ordered:
        return "range"
    if domain.hierarchy is not None:
        return "ancestor"
    return "range" if domain.ordered else "set"


def node_labels(domain: Domain, nodes: NDArray[np.integer]) -> list[str | None]:
    """Released texts of nodes of the domain's tree; a leaf shows its value."""
    tree = domain.tree
    return [
        domain.values[int(tree.lo[node])] if tree.leaves[tree.lo[node]] == node else tree.labels[node]
        for node in nodes
    ]


def range_label(domain: Domain, lo: int, hi: int) -> str | None:
    """Released text of an interval of ranks of numbers or dates."""
    low, high = domain.values[lo], domain.values[hi]
    if lo == hi:
        return low
    if low is None or high is None:
        return SUPPRESSED
    between = "-" if domain.kind == "number" else " to "
    return f"[{low}{between}{high}]"


def set_label(domain: Domain, present: NDArray[np.integer]) -> str | None:
    """Released text of the ranks of a class: its one value, or the set of its values."""
    if len(present) == 1:
        return domain.values[int(present[0])]
    return "{" + ", ".join(_escaped(domain.values[rank]) for rank in present) + "}"


def _escaped(text: str | None) -> str:
    if text is None:
        return ""
    for mark in "\\,{}":
        text = text.replace(mark, "\\" + mark)
    return text


def parts_of_set(text: str) -> list[str]:
    """Split the inside of a set at its commas, and take the escapes away."""
    parts = [""]
    marks = iter(text)
    for mark in marks:
        if mark == "\\":
            parts[-1] += next(marks, "")
        elif mark == ",":
            parts.append("")
            next(marks, None)  # the blank after the comma
        else:
            parts[-1] += mark
    return parts


def mean_labels(domain: Domain, counts: Any) -> list[str | None]:
    """Mean of numbers and dates (missing left out), mode of categories (ties to the lowest rank)."""
    labels: list[str | None] = []
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        codes, weights = counts.codes[start:stop], counts.counts[start:stop]
        if domain.kind == "category":
            labels.append(domain.values[int(codes[np.argmax(weights)])])
            continue
        known = codes != domain.missing
        if len(codes) == 1 or not known.any():
            labels.append(domain.values[int(codes[0])])
            continue
        numbers = domain.places[codes[known]]
        mean = float((numbers * weights[known]).sum() / weights[known].sum())
        labels.append(_number_text(mean, domain.exponent) if domain.kind == "number" else _date_text(mean))
    return labels


def _number_text(value: float, exponent: int) -> str:
    if exponent:
        # Without doubles, since there may be none as large.
        scaled = Fraction(value) * 2**exponent
        if abs(scaled) >= 2**53:
            return format(Decimal(int(scaled)), "f")
        value = float(scaled)
    text = f"{value:.{_MEAN_DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _date_text(day: float) -> str:
    return (dt.date(1970, 1, 1) + dt.timedelta(days=round(day))).isoformat()
