"""Local recoding, in which every class has separate cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from incrowd.core.errors import SchemaError
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding.base import Recoding
from incrowd.core.recoding.cells import (
    SUPPRESSED,
    Cells,
    ValueCells,
    depths_of,
    effective_style,
    is_nearly_unique,
    mean_labels,
    node_labels,
    range_cells,
    set_label,
    starred,
    with_suppressed,
)

if TYPE_CHECKING:
    from incrowd.core.kernels.grouping.counting import Counts
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Style

_LONGEST_SET = 1_000_000
_SET_TEXT = 2**33
_SET_TEXT_EACH = 1_000
"""Characters of a set, of the sets of all records together, and per record in large tables."""
_WORD = 64


@dataclass(frozen=True, eq=False, repr=False)
class Local(Recoding):
    """Local recoding, in which every class has separate cells.

    Attributes
    ----------
    class_of_key
        int32[keys]: class of each key, -1 for a suppressed one.
    count
        Number of classes.
    algorithm
        What made it.
    """

    class_of_key: NDArray[np.int32]
    count: int
    algorithm: str
    kind: ClassVar[str] = "local"

    @classmethod
    def build(
        cls,
        frequency: FrequencyTable,
        class_of_key: NDArray[np.int32],
        count: int,
        styles: Sequence[Style],
        algorithm: str,
        set_limit: int = 0,
    ) -> Local:
        """Give each class the narrowest cells that cover all members.

        Parameters
        ----------
        class_of_key
            int32[keys], -1 for a suppressed key.
        count
            Number of classes.
        styles
            Output style per quasi-identifier, see `effective_style`.
        set_limit
            Values that a cell may list where its style is ``auto`` and the common ancestor would be ``*``.
        """
        from incrowd.core.kernels.grouping.grouping import group_members
        from incrowd.core.kernels.jit import at_once

        groups = group_members(class_of_key, count)
        suppressed = class_of_key < 0
        tasks = [
            partial(
                _class_cells,
                _ClassValues(domain, codes, frequency.weights, *groups),
                class_of_key,
                style,
                set_limit,
            )
            for domain, codes, style in zip(frequency.domains, frequency.codes, styles, strict=True)
        ]
        cells = tuple(at_once(frequency.keys, *tasks))
        if "mean" in styles:
            cells = _join_means(frequency, cells, class_of_key, count, styles)
        suppressed |= starred(cells)
        return cls(frequency.domains, frequency.codes, cells, suppressed, class_of_key, count, algorithm)

    @classmethod
    def of_stars(cls, frequency: FrequencyTable, stars: NDArray[np.bool_], algorithm: str) -> Local:
        """Suppress single cells of keys and leave all other cells unchanged.

        Parameters
        ----------
        stars
            bool[columns, keys]: the cells that become ``*``. A class has the keys with the same cells.
        """
        from incrowd.core.kernels.grouping.grouping import group_columns

        columns = []
        for domain, codes, hidden in zip(frequency.domains, frequency.codes, stars, strict=True):
            ranks = np.arange(domain.size, dtype=np.int32)
            depths = depths_of(domain, ranks, ranks)
            values = ValueCells(ranks, list(domain.values), ranks, ranks, np.zeros(domain.size), depths)
            columns.append(with_suppressed(np.where(hidden, -1, codes.astype(np.int64)), values, domain.size))
        cells, sizes = tuple(columns), [len(column.labels) for column in columns]
        of_key, first = group_columns([column.codes for column in cells], sizes, frequency.keys)
        suppressed = starred(cells)
        return cls(frequency.domains, frequency.codes, cells, suppressed, of_key, len(first), algorithm)

    @property
    def in_no_class(self) -> NDArray[np.bool_]:
        """Keys of no class (see `Recoding.in_no_class`)."""
        return self.class_of_key < 0

    def decisions(self) -> dict[str, Any]:
        """Return the algorithm and the number of classes."""
        return {"algorithm": self.algorithm, "classes": self.count}

    def without(self, gone: NDArray[np.bool_]) -> Self:
        """Return the recoding with further keys suppressed (see `Recoding.without`)."""
        class_of_key = np.where(gone, -1, self.class_of_key).astype(np.int32)
        return replace(super().without(gone), class_of_key=class_of_key)

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Return the recoding of some of the keys (see `Recoding.only`)."""
        return replace(super().only(kept), class_of_key=self.class_of_key[kept])

    def _key_columns(self) -> dict[str, NDArray[np.generic]]:
        return {"class": self.class_of_key}


class _ClassValues(NamedTuple):
    """The values of a quasi-identifier in every class.

    Attributes
    ----------
    codes, weights
        Rank and records of each key.
    indptr, members
        The keys of each class, as `group_members` gives them.
    """

    domain: Domain
    codes: NDArray[np.unsignedinteger]
    weights: NDArray[np.int64]
    indptr: NDArray[np.int64]
    members: NDArray[np.int64]

    def ends(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the lowest and the highest rank of each class."""
        ranks = self.codes[self.members].astype(np.int32)
        if len(self.indptr) == 1:
            return ranks, ranks
        return np.minimum.reduceat(ranks, self.indptr[:-1]), np.maximum.reduceat(ranks, self.indptr[:-1])

    def counts(self) -> Counts:
        """Count the records with each value of each class."""
        from incrowd.core.kernels.grouping.counting import value_counts

        return value_counts(self.indptr, self.members, self.codes, self.weights, self.domain.size)


def _class_cells(
    values: _ClassValues, class_of_key: NDArray[np.int32], requested: Style, set_limit: int
) -> Cells:
    """Return an attribute's cells for every class, and ``*`` for keys without a class."""
    domain = values.domain
    style = effective_style(requested, domain)
    cells = _CELLS_OF_STYLE[style](values)
    if requested == "auto" and style == "ancestor" and domain.partly_grouped:
        cells = _with_sets(cells, values, set_limit)
    return with_suppressed(class_of_key, cells, domain.size)


def _distinct_intervals(
    domain: Domain, lo: NDArray[np.int32], hi: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the number of each class's interval of ranks, and the ends of the distinct intervals."""
    pairs, entry = np.unique(lo.astype(np.int64) * domain.size + hi, return_inverse=True)
    lo, hi = (ends.astype(np.int32) for ends in np.divmod(pairs, domain.size))
    return entry, lo, hi


def _range_cells(values: _ClassValues) -> ValueCells:
    domain = values.domain
    entry, lo, hi = _distinct_intervals(domain, *values.ends())
    depth = depths_of(domain, lo, hi)
    labels, lo, hi, loss = range_cells(domain, lo, hi)
    return ValueCells(entry, labels, lo, hi, loss, depth)


def _ancestor_cells(values: _ClassValues) -> ValueCells:
    domain, tree = values.domain, values.domain.tree
    entry, lo, hi = _distinct_intervals(domain, *values.ends())
    nodes = domain.ancestors(lo, hi)
    lo, hi = tree.lo[nodes].astype(np.int32), tree.hi[nodes].astype(np.int32) - 1
    return ValueCells(entry, node_labels(domain, nodes), lo, hi, domain.span(lo, hi), tree.depths[nodes])


def _suppress_cells(values: _ClassValues) -> ValueCells:
    domain = values.domain
    lo, hi = values.ends()
    # Whatever a class with several values has, it is one cell.
    several = lo != hi
    lo, hi = np.where(several, 0, lo), np.where(several, domain.size - 1, hi)
    entry, lo, hi = _distinct_intervals(domain, lo, hi)
    labels = [domain.values[a] if a == b else SUPPRESSED for a, b in zip(lo, hi, strict=True)]
    loss, depth = np.where(lo == hi, 0.0, 1.0), np.where(lo == hi, depths_of(domain, lo, hi), 0)
    return ValueCells(entry, labels, lo, hi, loss, depth)


def _set_cells(values: _ClassValues) -> ValueCells:
    domain = values.domain
    entry, first, sets = _distinct_sets(values)
    records = np.bincount(entry, np.add.reduceat(values.weights[values.members], values.indptr[:-1]))
    _refuse_long_sets(domain, sets, records.astype(np.float64))
    labels = [set_label(domain, present) for present in sets]
    lo, hi = (ends[first] for ends in values.ends())
    loss = _loss(domain, lo, hi, np.array([len(present) for present in sets]))
    return ValueCells(entry, labels, lo, hi, loss, depths_of(domain, lo, hi))


def _mean_cells(values: _ClassValues, texts: list[str | None] | None = None) -> ValueCells:
    """Return a cell for every class, with the mean, or with the text where the texts are known."""
    domain = values.domain
    lo, hi = values.ends()
    counts = values.counts()
    labels = mean_labels(domain, counts) if texts is None else texts
    loss, depth = _loss(domain, lo, hi, np.diff(counts.indptr)), depths_of(domain, lo, hi)
    few = np.array([label == SUPPRESSED for label in labels], np.bool_) & (lo < hi)
    lo, hi = np.where(few, 0, lo), np.where(few, domain.size - 1, hi)
    loss, depth = np.where(few, 1.0, loss), np.where(few, 0, depth)
    return ValueCells(np.arange(len(lo)), labels, lo, hi, loss, depth)


_CELLS_OF_STYLE: dict[Style, Callable[[_ClassValues], ValueCells]] = {
    "range": _range_cells,
    "ancestor": _ancestor_cells,
    "suppress": _suppress_cells,
    "set": _set_cells,
    "mean": _mean_cells,
}


def _loss(
    domain: Domain, lo: NDArray[np.int32], hi: NDArray[np.int32], distinct: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the loss of cells: by the distinct values of a category, else by the span."""
    if domain.hierarchy is None and not domain.ordered:
        return (distinct - 1) / max(domain.size - 1, 1)
    return domain.span(lo, hi)


def _with_sets(cells: ValueCells, values: _ClassValues, limit: int) -> ValueCells:
    """List the values of classes that share only the root, if a class has at most `limit` values.

    A hierarchy that groups some values of a column says nothing about the similarity of the others.
    """
    domain, wide = values.domain, cells.depth[cells.entry] == 0
    if not wide.any() or is_nearly_unique(domain.size, int(values.weights[values.members].sum())):
        return cells
    sizes = np.diff(values.indptr)
    inside = np.concatenate([[0], np.cumsum(sizes[wide])])
    members = values.members[np.repeat(wide, sizes)]
    entry, _, sets = _distinct_sets(values._replace(indptr=inside, members=members))
    short = np.array([len(present) <= limit for present in sets])[entry]
    of_class = cells.entry.copy()
    of_class[np.flatnonzero(wide)[short]] = len(cells.labels) + entry[short]
    used, of_class = np.unique(of_class, return_inverse=True)
    labels = [*cells.labels, *(set_label(domain, present) for present in sets)]
    return ValueCells(
        of_class,
        [labels[number] for number in used],
        np.append(cells.lo, [present[0] for present in sets]).astype(np.int32)[used],
        np.append(cells.hi, [present[-1] for present in sets]).astype(np.int32)[used],
        np.append(cells.loss, np.ones(len(sets)))[used],
        np.append(cells.depth, np.zeros(len(sets), np.int32))[used],
    )


def _join_means(
    frequency: FrequencyTable,
    cells: tuple[Cells, ...],
    class_of_key: NDArray[np.int32],
    count: int,
    styles: Sequence[Style],
) -> tuple[Cells, ...]:
    """Merge the means of classes with equal cells, since equal cells are a single class in the release."""
    from incrowd.core.kernels.grouping.grouping import group_columns, group_members

    live = np.flatnonzero(class_of_key >= 0)
    released = [column.released for column in cells]
    codes = [positions[column.codes[live]] for column, (positions, _) in zip(cells, released, strict=True)]
    ids, first = group_columns(codes, [len(labels) for _, labels in released], len(live))
    if len(first) == count:
        return cells
    joined = np.full(len(class_of_key), -1, np.int32)
    joined[live] = ids
    grouped = group_members(joined, len(first))
    merged = []
    for domain, ranks, column, style in zip(frequency.domains, frequency.codes, cells, styles, strict=True):
        if effective_style(style, domain) == "mean":
            texts = [column.labels[entry] for entry in column.codes[live[first]].tolist()]
            means = _mean_cells(_ClassValues(domain, ranks, frequency.weights, *grouped), texts)
            merged.append(with_suppressed(joined, means, domain.size))
        else:
            merged.append(column)
    return tuple(merged)


def _distinct_sets(
    values: _ClassValues,
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.integer]]]:
    """Return the distinct sets of values of the classes.

    Returns each class's set by number, a class that has each set, and the ranks in each set.
    """
    domain, indptr = values.domain, values.indptr
    if domain.size <= _WORD:
        # One bit a value: most categories have few, and this is several times faster than counting.
        bits = np.left_shift(np.uint64(1), values.codes[values.members].astype(np.uint64))
        masks = np.bitwise_or.reduceat(bits, indptr[:-1]) if len(indptr) > 1 else bits
        distinct, first, entry = np.unique(masks, return_index=True, return_inverse=True)
        ranks = np.arange(domain.size, dtype=np.uint64)
        sets: list[NDArray[np.integer]] = [np.flatnonzero(mask >> ranks & np.uint64(1)) for mask in distinct]
        return entry, first, sets
    counts = values.counts()
    numbers_of: dict[bytes, int] = {}
    buffer = counts.codes.tobytes()
    bounds = (counts.indptr * counts.codes.itemsize).tolist()
    numbers = (numbers_of.setdefault(buffer[start:stop], len(numbers_of)) for start, stop in pairwise(bounds))
    entry = np.fromiter(numbers, np.int64, len(bounds) - 1)
    _, first = np.unique(entry, return_index=True)
    return entry, first, [np.frombuffer(present, counts.codes.dtype) for present in numbers_of]


def _refuse_long_sets(
    domain: Domain, sets: Sequence[NDArray[np.integer]], records: NDArray[np.float64]
) -> None:
    """Raise for sets that would fill a disk, before any text is written.

    Parameters
    ----------
    records
        float64[sets]: records that have each set.

    Raises
    ------
    SchemaError
    """
    between = 2
    lengths = np.array([between + len(value or "") for value in domain.values])
    characters = np.array([lengths[present].sum() for present in sets], np.int64)
    longest, together = int(characters.max(initial=0)), float(characters @ records)
    if longest > _LONGEST_SET or together > max(_SET_TEXT, _SET_TEXT_EACH * records.sum()):
        raise SchemaError(
            f"column {domain.name!r}: the sets of its values would be cells of up to {longest:,} characters, "
            f"{together:,.0f} in all records; give it a hierarchy, set output to 'suppress', ask for smaller "
            "classes, or drop the column"
        )
