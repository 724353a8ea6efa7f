"""Columns of a table before and after a release, read as numbers and categories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import TableError
from incrowd.core.lazy import NDArray, np, pd
from incrowd.core.reading.cells import read_span
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.recoding.observed import ranks_of, read_intervals
from incrowd.core.table.schema import Attribute, Schema

if TYPE_CHECKING:
    from incrowd.core.table.domain import Domain
    from incrowd.engines import Engine
    from incrowd.release.analyses.analysis import Analysis

MOST_ROWS = 20_000_000
"""Rows that are analysed of a table outside memory, whose values are fetched and kept for each row."""
_ROUNDS = 200
"""Rounds in which the distribution of categories is estimated from groups of them."""


class Column(NamedTuple):
    """The cells of a column, each with the numbers or categories that it stands for.

    Attributes
    ----------
    name
        The column.
    cells
        int64[rows]: the number of each row's cell; -1 for a missing one.
    low, high
        float64[cells]: the ends of the numbers that a cell stands for; None for categories. An open end is
        infinite.
    levels
        The texts of all categories; empty for numbers.
    members
        Per cell the categories that it stands for, as numbers of `levels`.
    own
        Per cell its level where a group is a level of its own.
    whole
        Whether the numbers are whole.
    """

    name: str
    cells: NDArray[np.int64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None
    levels: tuple[str, ...]
    members: tuple[NDArray[np.int64], ...]
    own: NDArray[np.int64]
    whole: bool

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each cell."""
        return np.bincount(self.cells[self.cells >= 0], minlength=len(self.own))

    def closed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of each cell, where an open range is as wide as the median closed one.

        Returns
        -------
        Two arrays float64[cells].
        """
        assert self.low is not None
        assert self.high is not None
        low, high = self.low.copy(), self.high.copy()
        wide = np.flatnonzero((high > low) & np.isfinite(low) & np.isfinite(high) & (self.counts > 0))
        width = float(np.median(np.repeat((high - low)[wide], self.counts[wide]))) if len(wide) else 0.0
        low = np.where(np.isfinite(low), low, high - width)
        return low, np.where(np.isfinite(high), high, low + width)

    def distribution(self) -> NDArray[np.float64]:
        """Return the share of each category that makes the released cells most likely: float64[levels]."""
        counts = self.counts
        shares = np.zeros(len(self.levels))
        groups = [(members, count) for members, count in zip(self.members, counts, strict=True) if count]
        for members, count in groups:
            shares[members] += count / max(len(members), 1)
        for _ in range(_ROUNDS if any(len(members) > 1 for members, _ in groups) else 0):
            before, shares = shares, np.zeros(len(shares))
            for members, count in groups:
                part = before[members]
                shares[members] += count * part / part.sum() if part.sum() else count / len(members)
            if np.abs(shares - before).max() < 1e-9 * counts.sum():
                break
        return np.asarray(shares / max(shares.sum(), 1.0))


@dataclass(frozen=True, eq=False)
class Sheet:
    """The columns of a table that analyses read.

    Attributes
    ----------
    columns
        By name; columns that the table has not got are absent.
    raw
        The sheet of the raw table, where this one is of a release.
    """

    columns: dict[str, Column]
    raw: Sheet | None = None

    def complete(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows without a missing value in some columns; a suppressed cell is missing."""
        return np.flatnonzero(np.logical_and.reduce([self.columns[name].cells >= 0 for name in names]))

    def numbers(self, name: str, rows: NDArray[np.int64], ranges: str) -> NDArray[np.float64]:
        """Return one number for each row of a column: float64[rows], by the middle or the raw mean."""
        column = self.columns[name]
        low, high = column.closed()
        number = (low + high) / 2
        if ranges == "mean" and self.raw is not None and column.low is not None and column.high is not None:
            before = self.raw.columns[name]
            values = np.sort(before.closed()[0][before.cells[before.cells >= 0]])
            total = np.concatenate(([0.0], np.cumsum(values)))
            first = np.searchsorted(values, column.low, "left")
            last = np.searchsorted(values, column.high, "right")
            some = last > first
            number[some] = (total[last] - total[first])[some] / (last - first)[some]
        return np.asarray(number[column.cells[rows]])

    def ends(self, name: str, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of the released ranges of a column, infinite where open: two float64[rows]."""
        column = self.columns[name]
        if column.low is None or column.high is None:
            return np.zeros(len(rows)), np.zeros(len(rows))
        # A whole number stands for all that rounds to it, as far as a range of them goes.
        half = np.where(column.high > column.low, 0.5 * column.whole, 0.0)[column.cells[rows]]
        return column.low[column.cells[rows]] - half, column.high[column.cells[rows]] + half

    def frames(self, analysis: Analysis, rows: NDArray[np.int64]) -> Iterator[Any]:
        """Yield rows as frames of pandas: one, or as many as draws where a cell leaves a choice."""
        names = analysis.columns
        random = np.random.default_rng(analysis.seed)
        open_columns = [name for name in names if self._leaves_choice(name, rows, analysis)]
        draws = analysis.draws if open_columns else 1
        # The draws of a record are spread evenly, so that few of them show what a cell leaves open.
        order = {
            name: random.permuted(np.tile(np.arange(draws), (len(rows), 1)), axis=1) for name in open_columns
        }
        fixed = {name: self._values(name, rows, analysis, None) for name in names if name not in open_columns}
        for draw in range(draws):
            parts = {name: (order[name][:, draw] + random.random(len(rows))) / draws for name in open_columns}
            drawn = {name: self._values(name, rows, analysis, part) for name, part in parts.items()}
            yield pd.DataFrame({name: (fixed | drawn)[name] for name in names})

    def _leaves_choice(self, name: str, rows: NDArray[np.int64], analysis: Analysis) -> bool:
        column = self.columns[name]
        used = np.unique(column.cells[rows])
        if column.low is not None and column.high is not None:
            return analysis.ranges == "draws" and bool((column.high > column.low)[used].any())
        return analysis.categories == "fractions" and any(len(column.members[cell]) > 1 for cell in used)

    def _values(
        self, name: str, rows: NDArray[np.int64], analysis: Analysis, part: NDArray[np.float64] | None
    ) -> Any:
        """Return the values of some rows, where `part` says how far into its cell each draw is."""
        column = self.columns[name]
        cells = column.cells[rows]
        if column.low is not None:
            if part is None:
                return self.numbers(name, rows, analysis.ranges)
            low, high = (ends[cells] for ends in column.closed())
            return np.floor(low + part * (high - low + 1)) if column.whole else low + part * (high - low)
        if part is None and analysis.categories == "level":
            return pd.Categorical.from_codes(column.own[cells], categories=pd.Index(column.levels))
        chosen = np.array([members[0] if len(members) else -1 for members in column.members], np.int64)[cells]
        if part is not None:
            shares = column.distribution()
            for cell in np.unique(cells):
                members = column.members[cell]
                if len(members) > 1:
                    share = shares[members] if shares[members].sum() else np.ones(len(members))
                    here = cells == cell
                    place = np.searchsorted(np.cumsum(share / share.sum()), part[here], "right")
                    chosen[here] = members[np.minimum(place, len(members) - 1)]
        return pd.Categorical.from_codes(chosen, categories=pd.Index(column.levels))


@dataclass(frozen=True, eq=False)
class RawSheet(Sheet):
    """The columns of a raw table, with which those of its release are read.

    Attributes
    ----------
    domains
        The values of each column.
    attributes
        How each column is read.
    schema
        The roles of the columns, with their hierarchies and spellings.
    """

    domains: dict[str, Domain] = field(kw_only=True)
    attributes: dict[str, Attribute] = field(kw_only=True)
    schema: Schema = field(kw_only=True)

    @classmethod
    def of_table(cls, table: Engine, schema: Schema, names: Sequence[str]) -> RawSheet:
        """Read some columns of a table.

        Raises
        ------
        InputError
            When the table cannot be read, or has more than `MOST_ROWS` outside memory.
        """
        attributes = _attributes(schema, names)
        domains, cells = _count(table, attributes, schema, released=False)
        columns = {name: _column(domain, domain.values, cells[name]) for name, domain in domains.items()}
        return cls(columns, domains=domains, attributes=attributes, schema=schema)

    def of_release(self, table: Engine) -> Sheet:
        """Read the same columns of a release; those that the release has not got are absent.

        Raises
        ------
        InputError
            As `of_table`.
        """
        there = {name: each for name, each in self.attributes.items() if name in table.columns}
        domains, cells = _count(table, there, self.schema, released=True)
        columns = {
            name: _column(self.domains[name], domain.values, cells[name]) for name, domain in domains.items()
        }
        return Sheet(columns, self)


def _attributes(schema: Schema, names: Sequence[str]) -> dict[str, Attribute]:
    """Return how each column is read: as a quasi-identifier, so that its values are counted."""
    return {
        name: Attribute(name, "quasi")
        if name not in schema
        else replace(
            schema[name].as_counted(),
            role="quasi",
            key_of=(),
            levels=None,
            treatment=None,
            grid=None,
            ends=None,
            output=None,
        )
        for name in names
    }


def _count(
    engine: Engine, attributes: dict[str, Attribute], schema: Schema, *, released: bool
) -> tuple[dict[str, Domain], dict[str, NDArray[np.int64]]]:
    """Return the domain of each column, and its rank in each row, in any order: int64[rows]."""
    if not attributes:
        return {}, {}
    counted = Schema.of_attributes(attributes.values(), null_values=schema.null_values)
    frequency = engine.count(counted.measured() if released else counted).frequency
    key = frequency.row_keys
    if key is None:
        # Where rows stay elsewhere, as often as each key occurs: an analysis asks for no order.
        if frequency.rows > MOST_ROWS:
            raise TableError(
                f"analyses take at most {MOST_ROWS:,} rows of a table outside memory; leave [[analyses]] out "
                "of the policy, or give a frame"
            )
        counts = np.append(frequency.weights, frequency.suppressed)
        key = np.repeat(np.append(np.arange(frequency.keys), -1), counts)
    ranks = [np.append(codes.astype(np.int64), -1)[key] for codes in frequency.codes]
    names = [domain.name for domain in frequency.domains]
    return dict(zip(names, frequency.domains, strict=True)), dict(zip(names, ranks, strict=True))


def _column(domain: Domain, labels: Sequence[str | None], cells: NDArray[np.int64]) -> Column:
    """Read the cells of a column, given the values that the raw table has."""
    missing = [label is None or label == SUPPRESSED for label in labels]
    members: list[NDArray[np.int64]] = []
    low = high = None
    levels = [text for text in domain.values if text is not None]
    own = np.zeros(len(labels), np.int64)
    if domain.kind == "category":
        rank = {text: at for at, text in enumerate(levels)}
        for at, ranks in enumerate(ranks_of(domain, labels)):
            inside = ranks[ranks < len(levels)]
            text = str(labels[at])
            if not missing[at] and text not in rank:
                rank[text] = len(levels)
                levels.append(text)
            own[at] = rank.get(text, -1)
            members.append(inside if len(inside) or missing[at] else own[at : at + 1])
    else:
        levels = []
        ends, _ = read_intervals(domain, labels)
        low, high = ends[:, 0].copy(), ends[:, 1].copy()
        kind = "date" if domain.kind == "date" else "number"
        for at, label in enumerate(labels):
            span = None if label is None or domain.hierarchy is not None else read_span(label, kind)
            if span is not None:
                low[at] = -math.inf if _is_open(span.low) else low[at]
                high[at] = math.inf if _is_open(span.high) else high[at]
            missing[at] = missing[at] or math.isnan(low[at])
    lost = np.append(np.array(missing, np.bool_), True)
    cells = np.where(lost[cells], -1, cells)
    return Column(domain.name, cells, low, high, tuple(levels), tuple(members), own, domain.whole)


def _is_open(end: Any) -> bool:
    """Say whether a range has no such end."""
    return end in ("", "~") if isinstance(end, str) else not end.is_finite()
