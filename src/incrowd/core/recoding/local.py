"""Local recoding, in which every class has separate cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

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
            partial(_class_cells, domain, codes, frequency.weights, class_of_key, groups, style, set_limit)
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


def _class_cells(
    domain: Domain,
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    class_of_key: NDArray[np.int32],
    groups: tuple[NDArray[np.int64], NDArray[np.int64]],
    requested: Style,
    set_limit: int = 0,
    texts: list[str | None] | None = None,
) -> Cells:
    """Return an attribute's cells for every class, and ``*`` for keys without a class.

    Parameters
    ----------
    groups
        The keys of each class, as `group_members` gives them.
    texts
        The means of the classes, where they are known.
    """
    indptr, members = groups
    style = effective_style(requested, domain)
    ranks = codes[members].astype(np.int32)
    classes = len(indptr) - 1
    lo = np.minimum.reduceat(ranks, indptr[:-1]) if classes else np.empty(0, np.int32)
    hi = np.maximum.reduceat(ranks, indptr[:-1]) if classes else np.empty(0, np.int32)
    labels: list[str | None]
    if style == "suppress":
        # Whatever a class with several values has, it is one cell.
        several = lo != hi
        lo, hi = np.where(several, 0, lo), np.where(several, domain.size - 1, hi)
    if style in ("range", "ancestor", "suppress"):
        pairs, entry = np.unique(lo.astype(np.int64) * domain.size + hi, return_inverse=True)
        lo, hi = (ends.astype(np.int32) for ends in np.divmod(pairs, domain.size))
        loss, depth = domain.span(lo, hi), depths_of(domain, lo, hi)
        if style == "suppress":
            labels = [domain.values[a] if a == b else SUPPRESSED for a, b in zip(lo, hi, strict=True)]
            loss, depth = np.where(lo == hi, 0.0, 1.0), np.where(lo == hi, depth, 0)
        elif style == "ancestor":
            nodes = domain.ancestors(lo, hi)
            labels = node_labels(domain, nodes)
            lo, hi = domain.tree.lo[nodes].astype(np.int32), domain.tree.hi[nodes].astype(np.int32) - 1
        else:
            labels, lo, hi, loss = range_cells(domain, lo, hi)
    else:
        loss, depth = domain.span(lo, hi), depths_of(domain, lo, hi)
        if style == "set":
            entry, first, sets = _distinct_sets(domain, codes, weights, indptr, members)
            records = np.bincount(entry, np.add.reduceat(weights[members], indptr[:-1]))
            _refuse_long_sets(domain, sets, records.astype(np.float64))
            labels = [set_label(domain, present) for present in sets]
            lo, hi, loss, depth = lo[first], hi[first], loss[first], depth[first]
            distinct = np.array([len(present) for present in sets])
        else:
            from incrowd.core.kernels.grouping.counting import value_counts

            counts = value_counts(indptr, members, codes, weights, domain.size)
            entry = np.arange(classes)
            labels = mean_labels(domain, counts) if texts is None else texts
            distinct = np.diff(counts.indptr)
        if domain.hierarchy is None and not domain.ordered:
            loss = (distinct - 1) / max(domain.size - 1, 1)
        few = np.array([label == SUPPRESSED for label in labels], np.bool_) & (lo < hi)
        lo, hi = np.where(few, 0, lo), np.where(few, domain.size - 1, hi)
        loss, depth = np.where(few, 1.0, loss), np.where(few, 0, depth)
    cells = ValueCells(entry, labels, lo, hi, loss, depth)
    if requested == "auto" and style == "ancestor" and domain.partly_grouped:
        cells = _with_sets(cells, domain, codes, weights, indptr, members, set_limit)
    return with_suppressed(class_of_key, cells, domain.size)


def _with_sets(
    cells: ValueCells,
    domain: Domain,
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    limit: int,
) -> ValueCells:
    """List the values of classes that share only the root, if there are at most `limit` of them.

    A hierarchy that groups some values of a column says nothing about the similarity of the others.
    """
    wide = cells.depth[cells.entry] == 0
    if not wide.any() or is_nearly_unique(domain.size, int(weights[members].sum())):
        return cells
    sizes = np.diff(indptr)
    inside = np.concatenate([[0], np.cumsum(sizes[wide])])
    entry, _, sets = _distinct_sets(domain, codes, weights, inside, members[np.repeat(wide, sizes)])
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
    """Merge the means of classes with equal cells, since these form a single class in the release."""
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
            merged.append(_class_cells(domain, ranks, frequency.weights, joined, grouped, style, texts=texts))
        else:
            merged.append(column)
    return tuple(merged)


def _distinct_sets(
    domain: Domain,
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.integer]]]:
    """Return the distinct sets of values of the classes.

    Returns each class's set by number, a class that has each set, and the ranks in each set.
    """
    if domain.size <= _WORD:
        # One bit a value: most categories have few, and this is several times faster than counting.
        bits = np.left_shift(np.uint64(1), codes[members].astype(np.uint64))
        masks = np.bitwise_or.reduceat(bits, indptr[:-1]) if len(indptr) > 1 else bits
        distinct, first, entry = np.unique(masks, return_index=True, return_inverse=True)
        ranks = np.arange(domain.size, dtype=np.uint64)
        sets: list[NDArray[np.integer]] = [np.flatnonzero(mask >> ranks & np.uint64(1)) for mask in distinct]
        return entry, first, sets
    from incrowd.core.kernels.grouping.counting import value_counts

    counts = value_counts(indptr, members, codes, weights, domain.size)
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
