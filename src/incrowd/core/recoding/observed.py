"""The recoding of a table, inferred from the raw and the released table alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from incrowd.core.errors import TableError
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.cells import Span, read_span
from incrowd.core.reading.exact import moment_of, number_of
from incrowd.core.reading.recognition import shape_of
from incrowd.core.recoding import SUPPRESSED, Cells, Recoding, read_mask, read_set
from incrowd.core.recoding.cells import depths_of
from incrowd.core.table.domain import Domain
from incrowd.core.table.frequency import FrequencyTable, smallest_codes
from incrowd.core.table.sensitive import SensitiveCounts

if TYPE_CHECKING:
    from incrowd.core.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Recoding):
    """A recoding by any tool, as far as visible in the two tables.

    Attributes
    ----------
    summarized
        Per quasi-identifier the records of classes whose cell does not cover every value of the class. Means
        and most frequent values are such cells. They count as covering the values of the class.
    unread
        The quasi-identifiers with cells that nobody can read. Only classes can be measured then.
    """

    summarized: dict[str, int]
    unread: dict[str, Unread]
    kind: ClassVar[str] = "observed"

    def decisions(self) -> dict[str, Any]:
        """Return how many distinct cells each quasi-identifier has."""
        names = (domain.name for domain in self.domains)
        return {
            "cells": {name: len(set(cells.labels)) for name, cells in zip(names, self.cells, strict=True)}
        }


class Unread(NamedTuple):
    """Released cells of a column that are no known value, range, mask, set or label.

    Attributes
    ----------
    records
        Those with such a cell.
    shapes
        The shapes of the most frequent ones, at most three; see `shape_of`.
    """

    records: int
    shapes: tuple[str, ...]

    @classmethod
    def of_labels(
        cls, domain: Domain, labels: Sequence[str | None], records: NDArray[np.integer | np.floating]
    ) -> Unread | None:
        """Return the cells that cannot be read, or None if all can.

        Parameters
        ----------
        labels, records
            The cells, and how many records have each: [labels].
        """
        reader = _Reader(domain)
        cells = [at for at, label in enumerate(labels) if records[at] and not reader.reads(label)]
        frequent = sorted(cells, key=lambda at: -records[at])
        shapes = dict.fromkeys(shape_of(labels[at] or "") or "signs" for at in frequent)
        return cls(int(records[cells].sum()), tuple(shapes)[:3]) if cells else None

    def text(self, column: str) -> str:
        """Describe the cells that cannot be read."""
        return (
            f"column {column!r}: the cells of {self.records:,} records are no value, range, mask, set "
            f"or label of a hierarchy that is known (they look like {', '.join(map(repr, self.shapes))})"
        )


class _Meaning(NamedTuple):
    """The meaning of a label: ranks ``lo .. hi`` (-1 if unknown), loss and depth."""

    lo: int
    hi: int
    loss: float
    depth: int


def observe(raw: FrequencyTable, released: FrequencyTable) -> tuple[FrequencyTable, Observed]:
    """Compare two tables row by row.

    Parameters
    ----------
    raw
        The table before, counted with the hierarchies of its quasi-identifiers.
    released
        The table after, its quasi-identifiers as they are written and in the same order. Cells may be
        values, labels of the hierarchy, ranges of numbers or days (see `reading.cells`), masks, sets
        ``{a, b}``, ``*``, and anything else, which counts as a summary of its class.

    Returns
    -------
    frequency
        A key for every pair of a raw and a released key.
    recoding
        What became of the keys.

    Raises
    ------
    TableError
        When the tables have different numbers of rows.
    """
    from incrowd.core.kernels.grouping.grouping import group_columns, group_members

    before, after = (table.key_of_row("comparing two tables") for table in (raw, released))
    if len(before) != len(after):
        raise TableError(
            f"the released table has {len(after)} rows and the raw one {len(before)}; "
            "row N of one has to be row N of the other"
        )
    live = np.flatnonzero(before >= 0)
    mine, theirs = before[live], after[live]
    ids, first = group_columns([mine, theirs + 1], [raw.keys, released.keys + 1], len(live))
    row_keys = np.full(len(before), -1, np.int32)
    row_keys[live] = ids
    grouped = group_members(row_keys, len(first))
    frequency = FrequencyTable(
        domains=raw.domains,
        codes=tuple(codes[mine[first]] for codes in raw.codes),
        weights=np.bincount(ids, minlength=len(first)).astype(np.int64),
        sensitive=tuple(
            SensitiveCounts.of_rows(grouped, counts.domain, counts.rows)
            for counts in raw.sensitive
            if counts.rows is not None
        ),
        suppressed=raw.suppressed,
        row_keys=row_keys,
    )
    class_of_key = theirs[first]
    suppressed = class_of_key < 0
    labels_of_key = []
    for domain, written, ranks, labels in zip(
        raw.domains, released.domains, frequency.codes, released.codes, strict=True
    ):
        of_key = np.full(len(first), written.size, np.int64)
        of_key[~suppressed] = labels[class_of_key[~suppressed]]
        labels_of_key.append(_starred(domain, written.values, ranks, of_key))
    if labels_of_key:
        suppressed = np.logical_and.reduce([starred for _, starred in labels_of_key])
    indptr, members = group_members(class_of_key, released.keys)
    present = np.flatnonzero(np.diff(indptr))
    cells, summarized, unread = [], {}, {}
    for domain, written, ranks, (labels_or_stars, _) in zip(
        raw.domains, released.domains, frequency.codes, labels_of_key, strict=True
    ):
        of_key = np.where(suppressed, written.size, labels_or_stars)
        column, missed = _cells(domain, written.values, ranks, of_key, suppressed)
        records = np.bincount(of_key, np.where(suppressed, 0, frequency.weights), written.size + 1)
        if strange := Unread.of_labels(domain, written.values, records):
            unread[domain.name] = strange
        if missed.any():
            # A summary may be the value of some of its records by chance.
            affected = np.zeros(released.keys, np.bool_)
            affected[class_of_key[missed]] = True
            missed = ~suppressed & affected[class_of_key]
            column = _summaries(domain, column, ranks, missed, class_of_key, indptr, members, present)
        cells.append(column)
        summarized[domain.name] = int(frequency.weights[missed].sum())
    recoding = Observed(raw.domains, frequency.codes, tuple(cells), suppressed, summarized, unread)
    return frequency, recoding


def _starred(
    domain: Domain,
    labels: Sequence[str | None],
    ranks: NDArray[np.unsignedinteger],
    of_key: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Read a cell that is missing without a missing value as ``*``, and return the starred cells.

    Returns
    -------
    of_key
        int64[keys]: the number of each key's label; that of `SUPPRESSED` follows those of the labels.
    starred
        bool[keys]
    """
    star = labels.index(SUPPRESSED) if SUPPRESSED in labels else len(labels)
    lost = np.zeros(len(of_key), np.bool_)
    if None in labels:
        lost = (of_key == labels.index(None)) & (ranks != domain.missing)
    of_key = np.where(lost, star, of_key)
    return of_key, (of_key == star) | (of_key == len(labels))


def _cells(
    domain: Domain,
    labels: Sequence[str | None],
    ranks: NDArray[np.unsignedinteger],
    of_key: NDArray[np.int64],
    suppressed: NDArray[np.bool_],
) -> tuple[Cells, NDArray[np.bool_]]:
    """Return the cells of all labels, and the keys with a cell that does not cover the value."""
    read = _Reader(domain)
    meanings = [*map(read, labels), read(SUPPRESSED)._replace(loss=1.0)]
    lo = np.array([meaning.lo for meaning in meanings], np.int32)
    hi = np.array([meaning.hi for meaning in meanings], np.int32)
    covered = Literal(lo, hi, read.sets(labels)).covers(of_key, ranks.astype(np.int64))
    cells = Cells(
        smallest_codes(of_key, len(meanings)),
        (*labels, SUPPRESSED),
        lo,
        hi,
        np.array([meaning.loss for meaning in meanings]),
        np.array([meaning.depth for meaning in meanings], np.int32),
    )
    return cells, ~suppressed & ~covered


def _summaries(
    domain: Domain,
    cells: Cells,
    ranks: NDArray[np.unsignedinteger],
    missed: NDArray[np.bool_],
    class_of_key: NDArray[np.integer],
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    present: NDArray[np.int64],
) -> Cells:
    """Add entries for the values of a class, for keys not covered by the cell."""
    lo = np.minimum.reduceat(ranks[members], indptr[present]).astype(np.int32)
    hi = np.maximum.reduceat(ranks[members], indptr[present]).astype(np.int32)
    numbers = np.searchsorted(present, class_of_key[missed])
    labels = [cells.labels[code] for code in cells.codes[members[indptr[present]]]]
    codes = cells.codes.astype(np.int64)
    codes[missed] = len(cells.labels) + numbers
    if domain.hierarchy is None and not domain.ordered:
        number = np.repeat(np.arange(len(present)), np.diff(indptr)[present])
        pairs = np.unique(number * domain.size + ranks[members])
        lost = (np.bincount(pairs // domain.size, minlength=len(present)) - 1) / max(domain.size - 1, 1)
    else:
        lost = domain.span(lo, hi)
    depth = depths_of(domain, lo, hi)
    return Cells(
        smallest_codes(codes, len(cells.labels) + len(labels)),
        (*cells.labels, *labels),
        np.concatenate((cells.lo, lo)),
        np.concatenate((cells.hi, hi)),
        np.concatenate((cells.loss, lost)),
        np.concatenate((cells.depth, depth)).astype(np.int32),
    )


class _Reader:
    """A reader of a column's labels."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.rank = {value: rank for rank, value in enumerate(domain.values)}
        self.tree: Hierarchy | None = domain.hierarchy
        self.node: dict[str, int] = {}
        if self.tree is not None:
            for node, label in enumerate(self.tree.labels):
                self.node.setdefault(label, node)

    def __call__(self, label: str | None) -> _Meaning:
        if label == SUPPRESSED:
            # In a record that is not suppressed, the only value there is loses nothing.
            return _Meaning(0, self.domain.size - 1, float(self.domain.size > 1), 0)
        if label in self.rank:
            rank = self.rank[label]
            deep = 1 if self.tree is None else int(self.tree.depths[self.tree.leaves[rank]])
            return _Meaning(rank, rank, 0.0, deep)
        if label is None:
            return _Meaning(-1, -1, 0.0, 0)
        if label in self.node and self.tree is not None:
            node = self.node[label]
            lo, hi = int(self.tree.lo[node]), int(self.tree.hi[node]) - 1
            return _Meaning(lo, hi, (hi - lo) / max(self.domain.size - 1, 1), int(self.tree.depths[node]))
        parts = read_set(label)
        if parts is not None:
            return self._set(parts)
        if not self.domain.ordered:
            return self._set(self._members(label))
        span = self.span(label)
        covered = None if span is None else self.domain.covered(span)
        if span is None or covered is None:
            return _Meaning(-1, -1, 0.0, 0)
        return _Meaning(*covered, int(span.low == span.high))

    def reads(self, label: str | None) -> bool:
        """Return whether a label follows the grammar of cells, even with no covered value."""
        if label is None or self(label).lo >= 0:
            return True
        if self.domain.kind == "category":
            return False
        is_moment = self.domain.kind == "date" and moment_of(label) is not None
        return is_moment or self.span(label) is not None

    def _set(self, parts: Sequence[str | None]) -> _Meaning:
        ranks = [self.rank[part] for part in parts if part in self.rank]
        if len(ranks) < len(parts) or not ranks:
            return _Meaning(-1, -1, 0.0, 0)
        lo, hi = min(ranks), max(ranks)
        if self.tree is None and not self.domain.ordered:
            return _Meaning(lo, hi, (len(ranks) - 1) / max(self.domain.size - 1, 1), int(len(ranks) == 1))
        ends = np.array([lo]), np.array([hi])
        depth = 0 if self.tree is None else int(self.tree.depths[self.domain.ancestors(*ends)[0]])
        return _Meaning(lo, hi, float(self.domain.span(*ends)[0]), depth)

    def _members(self, label: str) -> list[str | None]:
        """Return the values of a mask with a star per sign (``021**``), or of a range beside a hierarchy."""
        span = None if self.domain.kind == "category" else self.span(label)
        if span is not None:
            covered = self.domain.line.between(*span[:2], above=span.above, below=span.below)
            return [self.domain.values[rank] for rank in covered]
        mask = read_mask(label)
        return [value for value in self.domain.values if mask and value is not None and mask.fullmatch(value)]

    def span(self, label: str) -> Span | None:
        """Return a range, or a number in another spelling as a range of itself, or None."""
        kind = "date" if self.domain.kind == "date" else "number"
        span = read_span(label, kind)
        number = number_of(label) if span is None and kind == "number" else None
        if number is not None:
            return Span(number, number)
        return span.of_whole_numbers() if span is not None and self.domain.whole else span

    def is_node(self, label: str | None, lo: int, hi: int) -> bool:
        """Return whether a label is that of the lowest node over an interval of ranks."""
        if self.tree is None or label not in self.node:
            return False
        return self.tree.labels[int(self.domain.ancestors(np.array([lo]), np.array([hi]))[0])] == label

    def members(self, label: str | None) -> list[int] | None:
        """Return the ranks of a set's members, or None for another label."""
        if label is None or label in self.rank or label in self.node:
            return None
        parts = read_set(label)
        if parts is None and not self.domain.ordered:
            parts = self._members(label)
        if not parts:
            return None
        return sorted(self.rank[name] for name in {*parts} if name in self.rank)

    def sets(self, labels: Sequence[str | None]) -> dict[int, list[int]]:
        """Return the ranks of members by label number, for the labels that are sets."""
        sets = ((number, self.members(label)) for number, label in enumerate(labels))
        return {number: ranks for number, ranks in sets if ranks is not None}

    def ranks(self, label: str | None) -> NDArray[np.int64]:
        """Return the ranks covered by a label."""
        meaning = self(label)
        if meaning.lo < 0:
            return np.zeros(0, np.int64)
        members = self.members(label)
        return np.arange(meaning.lo, meaning.hi + 1) if members is None else np.array(members, np.int64)

    def listed(self, label: str | None) -> NDArray[np.int64] | None:
        """Return the ranks of a label that is more than a plain interval of numbers, or None."""
        numbers, missing = self.domain.numbers, self.domain.missing
        ranks = self.ranks(label)
        ranks = np.asarray(ranks[~np.isnan(numbers[ranks]) | (ranks == missing)])
        if len(ranks) < 2:
            return None
        if self.members(label) is not None:
            return ranks
        if label == SUPPRESSED or label not in self.node:
            return None
        between = (numbers >= np.nanmin(numbers[ranks])) & (numbers <= np.nanmax(numbers[ranks]))
        between[ranks] = False
        return ranks if between.any() or missing in ranks else None

    def ends(
        self, label: str | None, numbers: NDArray[np.float64], double_of: Mapping[Decimal, float]
    ) -> tuple[float, float]:
        """Return the smallest and largest number of a label (see `read_intervals`)."""
        nothing = float("nan"), float("nan")
        if label == SUPPRESSED:
            return float(np.nanmin(numbers)), float(np.nanmax(numbers))
        if label is None:
            return nothing
        if self.domain.kind == "number" and label not in self.node:
            span = self.span(label)
            if span is not None:
                low, high = double_of[span.low], double_of[span.high]
                # An end that is left out is the next double, as good as not there.
                low = math.nextafter(low, math.inf) if span.above else low
                return low, math.nextafter(high, -math.inf) if span.below else high
        values = numbers[self.ranks(label)]
        values = values[~np.isnan(values)]
        return (float(values.min()), float(values.max())) if len(values) else nothing


def ranks_of(domain: Domain, labels: Sequence[str | None]) -> list[NDArray[np.int64]]:
    """Return the ranks covered by each released cell, none for a cell that cannot be read."""
    reader = _Reader(domain)
    return [reader.ranks(label) for label in labels]


def listed_of(domain: Domain, labels: Sequence[str | None]) -> dict[int, NDArray[np.int64]]:
    """Return the ranks of number or day cells that are no intervals, by label number.

    Such cells are sets, and nodes of a hierarchy that groups numbers otherwise than by order.
    """
    reader = _Reader(domain)
    lists = ((number, reader.listed(label)) for number, label in enumerate(labels))
    return {number: ranks for number, ranks in lists if ranks is not None}


def read_intervals(
    domain: Domain, labels: Sequence[str | None]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read released cells of a column of numbers or days.

    Returns
    -------
    ends
        float64[labels, 2]: their ends, NaN for missing or what says nothing. A number that the column has not
        got, as synthetic data have, is read as well.
    numbers
        float64[size]: the number of each rank. Numbers that are the same double are set apart, by no more
        than that takes.
    """
    reader = _Reader(domain)
    numbers = domain.numbers
    double_of: dict[Decimal, float] = {}
    if domain.kind == "number":
        exact_numbers = [number_of(value) for value in domain.values]
        present = [number for number in exact_numbers if number is not None]
        spans = (reader.span(label) for label in labels if label is not None and label != SUPPRESSED)
        ends = (end for span in spans if span is not None for end in (span.low, span.high))
        double_of = _distinct_doubles([*present, *(end for end in ends if end.is_finite())])
        for sign, extreme in (("-", min), ("", max)) if present else ():
            double_of[Decimal(f"{sign}Infinity")] = double_of[extreme(present)]
        pairs = zip(numbers.tolist(), exact_numbers, strict=True)
        numbers = np.array([number if exact is None else double_of[exact] for number, exact in pairs])
    intervals = [reader.ends(label, numbers, double_of) for label in labels]
    return np.array(intervals).reshape(-1, 2), numbers


def _distinct_doubles(numbers: Iterable[Decimal]) -> dict[Decimal, float]:
    """Return distinct doubles for distinct numbers, as near as possible."""
    double_of: dict[Decimal, float] = {}
    last = -math.inf
    for number in sorted(set(numbers)):
        last = double_of[number] = max(float(number), math.nextafter(last, math.inf))
    return double_of


class Literal(NamedTuple):
    """The ranks covered by the texts of a recoding's cells, whatever was behind the texts.

    Attributes
    ----------
    lo, hi
        int32[entries]: the ranks from `lo` to `hi`; none where `lo` is larger.
    named
        The ranks of the entries that are sets.
    """

    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    named: dict[int, list[int]]

    def covers(self, entries: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each entry covers the rank beside, where a set covers only the members."""
        inside = (self.lo[entries] <= ranks) & (ranks <= self.hi[entries])
        if self.named and len(ranks):
            size = int(ranks.max()) + 1
            pairs = [
                entry * size + rank
                for entry, ranks_in in self.named.items()
                for rank in ranks_in
                if rank < size
            ]
            is_set = np.isin(entries, list(self.named))
            inside &= ~is_set | np.isin(entries * size + ranks, pairs)
        return np.asarray(inside)


def literal(domain: Domain, cells: Cells) -> Literal:
    """Read the ranks that cells cover from the texts alone, where a mean covers only that number."""
    reader = _Reader(domain)
    lo, hi = cells.lo.copy(), cells.hi.copy()
    for entry, label in enumerate(cells.labels):
        if label == SUPPRESSED or reader.is_node(label, int(lo[entry]), int(hi[entry])):
            continue
        meaning = reader(label)
        lo[entry], hi[entry] = (meaning.lo, meaning.hi) if meaning.lo >= 0 else (1, 0)
    return Literal(lo, hi, reader.sets(cells.labels))


def sets_of(domain: Domain, labels: Sequence[str | None]) -> dict[int, list[int]]:
    """Return the ranks of labels that are sets, masks, or ranges beside a hierarchy, by number of label."""
    return _Reader(domain).sets(labels)


def covered_by(domain: Domain, labels: Sequence[str | None]) -> Literal:
    """Read the ranks covered by labels of any tool, where a missing or unreadable label covers all."""
    reader = _Reader(domain)
    anything = _Meaning(0, domain.size - 1, 1.0, 0)
    vague = {at for at, label in enumerate(labels) if label is None or not reader.reads(label)}
    meanings = [anything if at in vague else reader(label) for at, label in enumerate(labels)]
    lo, hi = (np.array([meaning[end] for meaning in meanings], np.int32) for end in (0, 1))
    sets = {at: ranks for at, ranks in reader.sets(labels).items() if at not in vague}
    return Literal(lo, hi, sets)


def set_sizes(domain: Domain, cells: Cells) -> dict[int, int]:
    """Return the number of members by cell number, for cells that are sets ``{a, b}``."""
    sets = sets_of(domain, cells.labels)
    return {entry: len(ranks) for entry, ranks in sets.items() if read_set(cells.labels[entry]) is not None}
