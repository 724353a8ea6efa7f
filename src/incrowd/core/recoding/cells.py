"""Released cells of a quasi-identifier: the cell of every key, and the values and text of every cell."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.documents import range_text
from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.cells import read_span
from incrowd.core.table.frequency import smallest_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    """Return whether a column has so many distinct values that a value identifies people."""
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
    return range_text(low, high, dated=dated)


def _without_zeros(number: str) -> str:
    """Write an integer such as ``20.0`` without the fraction."""
    text = number.partition(".")[0]
    return "0" if text == "-0" else text


def set_label(domain: Domain, present: NDArray[np.integer]) -> str | None:
    """Return the released text of a class's ranks: the only value, or the set of values."""
    if len(present) == 1:
        return domain.values[int(present[0])]
    return "{" + ", ".join(_escape(domain.values[rank]) for rank in present.tolist()) + "}"


def _escape(text: str | None) -> str:
    if text is None:
        return _MISSING_MEMBER
    if text == _MISSING_MEMBER:
        return "\\" + text
    for mark in "" if text.isalnum() else "\\,{}":
        text = text.replace(mark, "\\" + mark)
    return text


def read_set(label: str | None) -> list[str | None] | None:
    r"""Return the members of a set in order, with None for the missing value, or None for another label.

    Examples
    --------
    >>> read_set(r"{a, b\, c, <missing>}")
    ['a', 'b, c', None]
    >>> read_set("{a, }")
    ['a', '']
    """
    if label is None or not (label.startswith("{") and label.endswith("}")):
        return None
    if "\\" not in label:
        first, *others = label[1:-1].split(",")
        members = [first, *(other.removeprefix(" ") for other in others)]
        return [None if member == _MISSING_MEMBER else member for member in members]
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
    return [
        None if part == _MISSING_MEMBER and number not in escaped else part
        for number, part in enumerate(parts)
    ]


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


@dataclass(frozen=True, eq=False)
class Cells:
    """The released cells of a quasi-identifier.

    Attributes
    ----------
    codes
        uint[keys]: the entry of each key.
    labels
        Released text per entry; None is the missing value.
    lo, hi
        int32[entries]: the interval of ranks that the entry stands for, ends included.
    loss
        float64[entries] in [0, 1]: share of the attribute's certainty that is lost (see `Domain.span`).
    depth
        int32[entries]: steps below the root of the node that the entry stands for, or of the lowest one that
        covers it; without a hierarchy 1 for a value and 0 for anything wider.
    """

    codes: NDArray[np.unsignedinteger]
    labels: tuple[str | None, ...]
    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    loss: NDArray[np.float64]
    depth: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"Cells({len(self.labels):,} labels)"

    def climbed(self, domain: Domain, codes: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
        """Return the hierarchy steps from each key's value to the key's cell: int64[keys].

        Parameters
        ----------
        codes
            uint[keys]: the rank of each key's value.
        """
        tree = domain.hierarchy
        depths = 1 if tree is None else tree.depths[tree.leaves[codes]]
        return np.asarray(depths - self.depth[self.codes], np.int64)

    def without(self, gone: NDArray[np.bool_], size: int) -> Cells:
        """Return the cells with ``*``, which covers all `size` ranks, for some keys: bool[keys]."""
        entry = np.arange(len(self.labels))
        cells = ValueCells(entry, list(self.labels), self.lo, self.hi, self.loss, self.depth)
        return with_suppressed(np.where(gone, -1, self.codes.astype(np.int64)), cells, size)

    def only(self, mask: NDArray[np.bool_]) -> Cells:
        """Return the cells of some keys: bool[keys]."""
        return replace(self, codes=self.codes[mask])

    @property
    def starred(self) -> NDArray[np.bool_]:
        """Which keys have ``*``: bool[keys]."""
        return np.asarray(self._are_stars[self.codes])

    @cached_property
    def _are_stars(self) -> NDArray[np.bool_]:
        return np.array([label == SUPPRESSED for label in self.labels], np.bool_)

    @cached_property
    def released(self) -> tuple[NDArray[np.int64], list[str | None]]:
        """Position of each entry among the distinct labels, and the distinct labels."""
        distinct = list(dict.fromkeys(self.labels))
        position = {label: number for number, label in enumerate(distinct)}
        return np.fromiter(map(position.__getitem__, self.labels), np.int64, len(self.labels)), distinct


class ValueCells(NamedTuple):
    """A cell for every rank of an attribute.

    ``entry[rank]`` is the rank's cell; the others are those of `Cells`.
    """

    entry: NDArray[np.integer]
    labels: list[str | None]
    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    loss: NDArray[np.float64]
    depth: NDArray[np.int32]


def level_cells(domain: Domain, level: int) -> ValueCells:
    """Let every value climb so many levels.

    Raises
    ------
    ParameterError
        When the hierarchy has no such level.
    """
    tree = domain.tree
    if not 0 <= level <= tree.height:
        raise ParameterError(f"column {domain.name!r}: level {level} is outside 0 .. {tree.height}")
    return node_cells(domain, tree.climb(level))


def node_cells(domain: Domain, node_of_rank: NDArray[np.integer]) -> ValueCells:
    """Let a node of the tree stand for every rank: int[size]."""
    tree = domain.tree
    nodes, entry = np.unique(node_of_rank, return_inverse=True)
    lo = tree.lo[nodes].astype(np.int32)
    hi = (tree.hi[nodes] - 1).astype(np.int32)
    loss = np.asarray((hi - lo) / max(domain.size - 1, 1), np.float64)
    return ValueCells(entry, node_labels(domain, nodes), lo, hi, loss, tree.depths[nodes])


def interval_cells(domain: Domain, starts: NDArray[np.integer]) -> ValueCells:
    """Cut the ranks of an attribute into intervals: ranges of numbers and dates, else nodes of the tree.

    Parameters
    ----------
    starts
        int[cells]: the first rank of each cell, ascending from 0; of a hierarchy's ranks each must be all
        those below a node.
    """
    lo = np.asarray(starts, np.int32)
    hi = np.append(lo[1:], domain.size).astype(np.int32) - 1
    entry = np.repeat(np.arange(len(lo)), hi - lo + 1)
    if not domain.ordered:
        return node_cells(domain, domain.ancestors(lo, hi)[entry])
    labels, lo, hi, loss = range_cells(domain, lo, hi)
    return ValueCells(entry, labels, lo, hi, loss, depths_of(domain, lo, hi))


def range_cells(
    domain: Domain, lo: NDArray[np.int32], hi: NDArray[np.int32]
) -> tuple[list[str | None], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return the labels of intervals of numbers, the ranks covered by each label, and the losses.

    Joined with the missing value, an interval stands for everything. On a grid, it stands for what its text
    covers, and loses as much.
    """
    entry = np.arange(len(lo))
    if domain.grid is not None:
        # Many intervals share a text on a grid.
        lows, highs = _ends(domain, lo, domain.grid.down), _ends(domain, hi, domain.grid.up)
        lows[lo == 0], highs[hi == len(domain.texts) - 1] = -1, -1
        both = np.where(lo == hi, -1 - lo, (lows + 1) * (highs.max(initial=0) + 2) + highs + 1)
        _, first, entry = np.unique(both, return_index=True, return_inverse=True)
        lo, hi = lo[first], hi[first]
    texts = [range_label(domain, a, b) for a, b in zip(lo.tolist(), hi.tolist(), strict=True)]
    starred = np.array([text == SUPPRESSED for text in texts], np.bool_)
    loss = domain.span(lo, hi)
    lo, hi = np.where(starred, 0, lo), np.where(starred, domain.size - 1, hi)
    for number in np.flatnonzero((lo < hi) & ~starred).tolist() if domain.grid is not None else ():
        span = read_span(texts[number] or "", domain.kind)
        written = None if span is None else domain.covered(span)
        assert written is not None  # it covers the values that it was made of
        lo[number], hi[number], loss[number] = written
    return [texts[number] for number in entry.tolist()], lo[entry], hi[entry], loss[entry]


def _ends(domain: Domain, ranks: NDArray[np.int32], rounded: Callable[[str], str]) -> NDArray[np.int64]:
    """Return a number for the end that each rank's value is rounded to, once: int64[ranks]."""
    distinct, place = np.unique(ranks, return_inverse=True)
    values = (domain.values[rank] for rank in distinct.tolist())
    _, number = np.unique(["" if value is None else rounded(value) for value in values], return_inverse=True)
    return number[place]


def depths_of(domain: Domain, lo: NDArray[np.int32], hi: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the depth of the lowest node over each interval (see `Cells`)."""
    if domain.hierarchy is None:
        return np.asarray(lo == hi, np.int32)
    return np.asarray(domain.hierarchy.depths[domain.ancestors(lo, hi)], np.int32)


def starred(cells: Sequence[Cells]) -> NDArray[np.bool_]:
    """Return which keys have ``*`` in every quasi-identifier: bool[keys]."""
    everywhere = np.ones(len(cells[0].codes) if cells else 0, np.bool_)
    for column in cells:
        everywhere &= column.starred
    return everywhere


def with_suppressed(number_of_key: NDArray[np.integer], cells: ValueCells, size: int) -> Cells:
    """Return the entry of each key, where negative numbers get ``*``, which covers all `size` ranks."""
    entry, labels, lo, hi, loss, depth = cells
    if number_of_key.size and number_of_key.min() < 0:
        entry = np.append(entry, len(labels))  # index -1
        labels = [*labels, SUPPRESSED]
        lo, hi = np.append(lo, np.int32(0)), np.append(hi, np.int32(size - 1))
        loss, depth = np.append(loss, 1.0), np.append(depth, np.int32(0))
    return Cells(smallest_codes(entry, len(labels))[number_of_key], tuple(labels), lo, hi, loss, depth)
