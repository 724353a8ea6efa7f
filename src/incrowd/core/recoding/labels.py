"""Texts of cells: writing and reading."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from incrowd.core.table.domain import Domain
    from incrowd.core.table.schema import Style

SUPPRESSED = "*"
"""Cell of a suppressed record in every quasi-identifier."""

_MISSING_MEMBER = "<missing>"
"""Member of a set for the missing value. A value of the same text is written with a backslash."""

_MEAN_DECIMALS = 6
_FEWEST = 3
"""Known values that a mean on a grid needs at least: of two, each tells the other."""

_FEW = 20
"""Distinct values below which a column is not taken for nearly unique."""
_SHARED_BY = 4
"""Average records per value below which a column is nearly unique."""


def effective_style(style: Style, domain: Domain) -> Style:
    """Return the style that a column's cells really get.

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


def is_nearly_unique(values: int, records: int) -> bool:
    """Return whether so many distinct values identify people rather than describe them."""
    return values >= _FEW and values * _SHARED_BY > records


def node_labels(domain: Domain, nodes: NDArray[np.integer]) -> list[str | None]:
    """Return the released texts of tree nodes, which are the values for leaves."""
    tree = domain.tree
    return [
        domain.values[int(tree.lo[node])] if tree.leaves[tree.lo[node]] == node else tree.labels[node]
        for node in nodes
    ]


def starred_nodes(domain: Domain) -> NDArray[np.bool_]:
    """Return which tree nodes are released as ``*``, without making texts: bool[nodes]."""
    tree = domain.tree
    starred = np.zeros(tree.n_nodes, np.bool_)
    starred[_positions(SUPPRESSED, tree.labels)] = True
    if domain.hierarchy is None:
        starred[tree.leaves[_positions(SUPPRESSED, domain.values)]] = True
    return starred


def _positions(text: str, texts: tuple[str | None, ...]) -> list[int]:
    positions, start = [], 0
    for _ in range(texts.count(text)):
        positions.append(texts.index(text, start))
        start = positions[-1] + 1
    return positions


def range_label(domain: Domain, lo: int, hi: int) -> str | None:
    """Return the released text of an interval of ranks of numbers or dates.

    On a grid, its ends are rounded outward. An interval with the smallest value has no lower end, and one
    with the largest no upper end.
    """
    low, high = domain.values[lo], domain.values[hi]
    if lo == hi:
        return low
    if low is None or high is None:
        return SUPPRESSED
    dated = domain.kind != "number"
    if domain.grid is not None:
        first, last = lo == 0, hi == len(domain.texts) - 1
        if first and last:
            return SUPPRESSED
        if first:
            return f"{domain.grid.up(high)} or {'earlier' if dated else 'less'}"
        if last:
            return f"{domain.grid.down(low)} or {'later' if dated else 'more'}"
        low, high = domain.grid.down(low), domain.grid.up(high)
    elif domain.whole:
        low, high = _without_zeros(low), _without_zeros(high)
    return f"[{low} to {high}]" if dated else f"[{low}-{high}]"


def _without_zeros(number: str) -> str:
    """Write an integer such as ``20.0`` without the fraction."""
    text = number.partition(".")[0]
    return "0" if text == "-0" else text


def set_label(domain: Domain, present: NDArray[np.integer]) -> str | None:
    """Return the released text of a class's ranks: the only value, or the set of values."""
    if len(present) == 1:
        return domain.values[int(present[0])]
    return "{" + ", ".join(_escape(domain.values[rank]) for rank in present) + "}"


def _escape(text: str | None) -> str:
    if text is None:
        return _MISSING_MEMBER
    if text == _MISSING_MEMBER:
        return "\\" + text
    for mark in "\\,{}":
        text = text.replace(mark, "\\" + mark)
    return text


def read_set(label: str | None, values: Container[str | None] = ("",)) -> list[str | None] | None:
    r"""Return the members of a set in order, with None for the missing value, or None for another label.

    Parameters
    ----------
    label
    values
        The values of the column. Where no empty text is among them, an empty part is the missing value,
        too: earlier releases wrote it so.

    Examples
    --------
    >>> read_set(r"{a, b\, c, <missing>}")
    ['a', 'b, c', None]
    >>> read_set("{a, }"), read_set("{a, }", ["a", None])
    (['a', ''], ['a', None])
    """
    if label is None or not (label.startswith("{") and label.endswith("}")):
        return None
    parts, escaped = [""], set[int]()
    marks: Iterator[str] = iter(label[1:-1])
    while mark := next(marks, ""):
        if mark == "\\":
            parts[-1] += next(marks, "")
            escaped.add(len(parts) - 1)
        elif mark == ",":
            parts.append("")
            blank = next(marks, "")  # the blank after the comma; other tools leave it out
            if blank != " ":
                marks = chain(blank, marks)
        else:
            parts[-1] += mark
    missing = {_MISSING_MEMBER} if "" in values else {_MISSING_MEMBER, ""}
    return [None if part in missing and number not in escaped else part for number, part in enumerate(parts)]


def read_mask(label: str) -> re.Pattern[str] | None:
    """Return the pattern of a mask, in which a star hides a sign, or None for another label.

    Examples
    --------
    >>> bool(read_mask("021**").fullmatch("02139")), read_mask("*"), read_mask("02139")
    (True, None, None)
    """
    if "*" not in label or label == "*":
        return None
    return re.compile(re.escape(label).replace(r"\*", "."), re.DOTALL)


def mean_labels(domain: Domain, counts: Any) -> list[str | None]:
    """Return the mean of numbers and dates without missing values, or the (lowest) mode of categories.

    On a grid, a mean is rounded to it, and a mean of fewer than three known values is ``*``.
    """
    labels: list[str | None] = []
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        codes, weights = counts.codes[start:stop], counts.counts[start:stop]
        if domain.kind == "category":
            labels.append(domain.values[int(codes[np.argmax(weights)])])
            continue
        present = codes != domain.missing
        if len(codes) == 1 or not present.any():
            labels.append(domain.values[int(codes[0])])
            continue
        records = int(weights[present].sum())
        if domain.grid is not None and records < _FEWEST:
            labels.append(SUPPRESSED)
            continue
        mean = _exact_sum(domain.places[codes[present]], weights[present]) / records
        if domain.kind == "number":
            text = _number_text(mean, domain.exponent)
        else:
            text = (dt.date(1970, 1, 1) + dt.timedelta(days=round(mean))).isoformat()
        labels.append(text if domain.grid is None else domain.grid.near(text))
    return labels


def _exact_sum(numbers: NDArray[np.float64], weights: NDArray[np.int64]) -> float:
    """Add up numbers times weights, rounded once at the end: 1e300 + 0.1 - 1e300 is 0.1, not 0."""
    mantissas, exponents = np.frexp(numbers)
    # Products of 26 bits by a weight below 2^27 are exact.
    coarse = np.ldexp(np.rint(np.ldexp(mantissas, 26)), exponents - 26)
    return math.fsum(np.concatenate([coarse * weights, (numbers - coarse) * weights]).tolist())


def _number_text(value: float, exponent: int) -> str:
    if exponent:
        # Without doubles, since there may be none as large.
        scaled = Fraction(value) * 2**exponent
        if abs(scaled) >= 2**53:
            return format(Decimal(int(scaled)), "f")
        value = float(scaled)
    text = f"{value:.{_MEAN_DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
