"""Recoding: what an algorithm decided, independent of where the rows live."""

from __future__ import annotations

import datetime as dt
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from incrowd.addresses import file_path
from incrowd.classes import EquivalenceClasses
from incrowd.domain import Domain
from incrowd.errors import ParameterError, SchemaError
from incrowd.frequency import FrequencyTable, smallest_codes
from incrowd.missing import null_values_of
from incrowd.schema import Style

__all__ = [
    "READS_AS_MISSING",
    "SUPPRESSED",
    "Cells",
    "FullDomain",
    "Local",
    "Recoding",
    "SingleDimensional",
    "ValueCells",
    "check_cells",
    "effective_style",
    "interval_cells",
    "level_cells",
    "node_cells",
    "parts_of_set",
    "range_label",
]

SUPPRESSED = "*"
"""What a suppressed record has in every quasi-identifier."""

FORMAT_VERSION = 1

_MEAN_DECIMALS = 6
_LONGEST_SET = 1_000_000
_SET_TEXT = 2**33
_SET_TEXT_EACH = 1_000
"""Characters of one set, of the sets of all records together, and of each where there are many records."""
_WORD = 64


@dataclass(frozen=True, eq=False)
class Cells:
    """The released cells of one quasi-identifier.

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

    def climbed(self, domain: Domain, codes: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
        """Return the steps from each key's value to its cell: int64[keys].

        Parameters
        ----------
        codes
            uint[keys]: the rank of each key's value.
        """
        tree = domain.hierarchy
        own = 1 if tree is None else tree.depths[tree.leaves[codes]]
        return np.asarray(own - self.depth[self.codes], np.int64)

    @cached_property
    def released(self) -> tuple[NDArray[np.int64], list[str | None]]:
        """Each entry's position among the distinct labels, and those labels."""
        distinct: dict[str | None, int] = {}
        positions = np.fromiter(
            (distinct.setdefault(label, len(distinct)) for label in self.labels), np.int64, len(self.labels)
        )
        return positions, list(distinct)


def check_cells(recoding: Recoding, null_values: tuple[str, ...]) -> None:
    """Refuse cells that would read as missing and are not, as a mean of 99 where ``99`` means missing.

    Raises
    ------
    SchemaError
    """
    if not null_values:
        return
    means = null_values_of(null_values).mean
    for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
        labels = {cells.labels[entry] for entry in np.unique(cells.codes).tolist()}
        if any(label is not None and means(label) for label in labels):
            raise SchemaError(
                f"column {domain.name!r}: {READS_AS_MISSING}; take another output style for it, other labels "
                "in its hierarchy or another null value"
            )


READS_AS_MISSING = "a released cell would read as missing, since null_values (--null-value) name its text"
"""What is said of a cell that would be taken for a missing value."""


class Recoding(ABC):
    """Which released cell every key gets.

    Attributes
    ----------
    domains
        The values of each quasi-identifier before recoding.
    keys
        Per quasi-identifier the rank of each key's value: uint[keys].
    cells
        Per quasi-identifier the released cells.
    suppressed
        bool[keys]: keys whose records are suppressed.
    """

    kind: ClassVar[str]
    domains: tuple[Domain, ...]
    keys: tuple[NDArray[np.unsignedinteger], ...]
    cells: tuple[Cells, ...]
    suppressed: NDArray[np.bool_]

    @abstractmethod
    def decisions(self) -> dict[str, Any]:
        """Return what was decided, as plain data without values of the table."""

    def classes(self, frequency: FrequencyTable) -> EquivalenceClasses:
        """Group the keys by their released cells; what was made last is kept, as every metric asks for it."""
        kept = self.__dict__.get("_classes")
        if kept is not None and kept.frequency is frequency:
            return cast(EquivalenceClasses, kept)
        codes, sizes = [], []
        for cells in self.cells:
            positions, labels = cells.released
            codes.append(smallest_codes(positions[cells.codes], len(labels)))
            sizes.append(len(labels))
        classes = EquivalenceClasses.from_codes(frequency, codes, sizes, self.suppressed)
        self.__dict__["_classes"] = classes
        return classes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self.decisions().items())})"

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write ``recoding.json`` and ``keys.parquet`` into a new or empty folder, both or none.

        The files hold the values of the quasi-identifiers before recoding, so they are as confidential
        as the data; nobody else may read the folder.

        Parameters
        ----------
        force
            Whether a recoding that was saved there is replaced.

        Raises
        ------
        TableError
            When the folder has files (unless `force`; never other files than `save` wrote), or cannot be
            written.
        """
        from incrowd.io.targets import writing

        with writing(folder, force=force, folder=True, private=True, parents=True) as path:
            self._save(path)

    def _save(self, path: Path) -> None:
        import polars as pl

        document = {
            "format": "incrowd recoding",
            "version": FORMAT_VERSION,
            "confidential": "holds values of the table before recoding; keep it where the data is kept",
            "kind": self.kind,
            "decisions": self.decisions(),
            "attributes": [
                {
                    **_domain_to_dict(domain),
                    "labels": list(cells.labels),
                    "lo": cells.lo.tolist(),
                    "hi": cells.hi.tolist(),
                    "loss": cells.loss.tolist(),
                    "depth": cells.depth.tolist(),
                }
                for domain, cells in zip(self.domains, self.cells, strict=True)
            ],
        }
        columns: dict[str, Any] = {f"key{j}": codes for j, codes in enumerate(self.keys)}
        columns |= {f"cell{j}": cells.codes for j, cells in enumerate(self.cells)}
        columns |= self._key_columns()
        columns["suppressed"] = self.suppressed
        pl.DataFrame(columns).write_parquet(path / "keys.parquet")
        text = json.dumps(document, ensure_ascii=False, allow_nan=True)
        (path / "recoding.json").write_text(text, encoding="utf-8")

    @staticmethod
    def load(folder: str | os.PathLike[str]) -> Recoding:
        """Read what `save` wrote.

        Raises
        ------
        TableError
            When the folder holds no recoding that this version can read.
        """
        from incrowd._recoding_file import read_recoding

        return read_recoding(file_path(folder), FORMAT_VERSION)

    def _key_columns(self) -> dict[str, NDArray[np.generic]]:
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class Local(Recoding):
    """Local recoding: every class has cells of its own.

    Attributes
    ----------
    class_of_key
        int32[keys]: class of each key, -1 for a suppressed one.
    count
        Number of classes.
    algorithm
        What made it.
    """

    domains: tuple[Domain, ...]
    keys: tuple[NDArray[np.unsignedinteger], ...]
    cells: tuple[Cells, ...]
    suppressed: NDArray[np.bool_]
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
    ) -> Local:
        """Give each class the narrowest cells that cover its members.

        Parameters
        ----------
        class_of_key
            int32[keys], -1 for a suppressed key.
        count
            Number of classes.
        styles
            Output style per quasi-identifier, see `effective_style`.
        """
        from incrowd.kernels.grouping import group_members

        indptr, members = group_members(class_of_key, count)
        suppressed = class_of_key < 0
        cells = tuple(
            _class_cells(domain, codes, frequency.weights, class_of_key, indptr, members, style)
            for domain, codes, style in zip(frequency.domains, frequency.codes, styles, strict=True)
        )
        suppressed |= _starred(cells)
        return cls(frequency.domains, frequency.codes, cells, suppressed, class_of_key, count, algorithm)

    def decisions(self) -> dict[str, Any]:
        """Return the algorithm and the number of classes."""
        return {"algorithm": self.algorithm, "classes": self.count}

    def _key_columns(self) -> dict[str, NDArray[np.generic]]:
        return {"class": self.class_of_key}


@dataclass(frozen=True, eq=False, repr=False)
class FullDomain(Recoding):
    """Full-domain recoding: all values of a column climb the same number of levels.

    Attributes
    ----------
    levels
        Steps climbed per quasi-identifier; 0 leaves the values as they are. A column without hierarchy
        has the levels 0 (value) and 1 (``*``).
    """

    domains: tuple[Domain, ...]
    keys: tuple[NDArray[np.unsignedinteger], ...]
    cells: tuple[Cells, ...]
    suppressed: NDArray[np.bool_]
    levels: tuple[int, ...]
    kind: ClassVar[str] = "full-domain"

    @classmethod
    def build(
        cls,
        frequency: FrequencyTable,
        levels: Mapping[str, int] | Sequence[int],
        suppressed: NDArray[np.bool_] | None = None,
    ) -> FullDomain:
        """Recode every quasi-identifier to a level of its hierarchy.

        Parameters
        ----------
        levels
            Level per quasi-identifier, by name or in order; 0 .. height.
        suppressed
            bool[keys]: keys whose records are suppressed.

        Raises
        ------
        ParameterError
            When a level is missing, unknown or too high.
        """
        names = [domain.name for domain in frequency.domains]
        if isinstance(levels, Mapping):
            for name in levels:
                if name not in names:
                    raise ParameterError(f"levels: {name!r} is no quasi-identifier; those are {names}")
            levels = [levels.get(name, 0) for name in names]
        if len(levels) != len(names):
            raise ParameterError(f"levels: {len(levels)} given for {len(names)} quasi-identifiers")
        if suppressed is None:
            suppressed = np.zeros(frequency.keys, np.bool_)
        cells = tuple(
            _value_cells(codes, np.where(suppressed, -1, 0), [level_cells(domain, level)], domain)
            for domain, codes, level in zip(frequency.domains, frequency.codes, levels, strict=True)
        )
        return cls(frequency.domains, frequency.codes, cells, suppressed, tuple(levels))

    def decisions(self) -> dict[str, Any]:
        """Return the level of each quasi-identifier."""
        names = (domain.name for domain in self.domains)
        return {"levels": dict(zip(names, self.levels, strict=True))}


@dataclass(frozen=True, eq=False, repr=False)
class SingleDimensional(Recoding):
    """Single-dimensional recoding: every value of a column has one cell, whatever else the record holds.

    Where it comes in rounds, it has one cell per round, and every record belongs to one round.

    Attributes
    ----------
    round_of_key
        int32[keys]: round of each key from 0, -1 for a suppressed one.
    count
        Number of rounds.
    algorithm
        What made it.
    """

    domains: tuple[Domain, ...]
    keys: tuple[NDArray[np.unsignedinteger], ...]
    cells: tuple[Cells, ...]
    suppressed: NDArray[np.bool_]
    round_of_key: NDArray[np.int32]
    count: int
    algorithm: str
    kind: ClassVar[str] = "single-dimensional"

    @classmethod
    def build(
        cls,
        frequency: FrequencyTable,
        rounds: Sequence[Sequence[ValueCells]],
        round_of_key: NDArray[np.int32],
        algorithm: str,
    ) -> SingleDimensional:
        """Give every key the cells of its round.

        Parameters
        ----------
        rounds
            Per round and quasi-identifier the cells of its values; see `level_cells`, `interval_cells`.
        round_of_key
            int32[keys], -1 for a suppressed key.
        """
        cells = tuple(
            _value_cells(codes, round_of_key, [cells[j] for cells in rounds], domain)
            for j, (domain, codes) in enumerate(zip(frequency.domains, frequency.codes, strict=True))
        )
        suppressed = (round_of_key < 0) | _starred(cells)
        return cls(
            frequency.domains, frequency.codes, cells, suppressed, round_of_key, len(rounds), algorithm
        )

    def decisions(self) -> dict[str, Any]:
        """Return the algorithm, the number of rounds, and of cells per quasi-identifier."""
        names = (domain.name for domain in self.domains)
        cells = {
            name: len(set(cells.labels) - {SUPPRESSED}) or 1
            for name, cells in zip(names, self.cells, strict=True)
        }
        return {"algorithm": self.algorithm, "rounds": self.count, "cells": cells}

    def _key_columns(self) -> dict[str, NDArray[np.generic]]:
        return {"round": self.round_of_key}


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


def _class_cells(
    domain: Domain,
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    class_of_key: NDArray[np.int32],
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
    asked: Style,
) -> Cells:
    """Cells of one attribute for every class, and ``*`` for keys that are in none."""
    style = effective_style(asked, domain)
    ranks = codes[members].astype(np.int32)
    classes = len(indptr) - 1
    lo = np.minimum.reduceat(ranks, indptr[:-1]) if classes else np.empty(0, np.int32)
    hi = np.maximum.reduceat(ranks, indptr[:-1]) if classes else np.empty(0, np.int32)
    labels: list[str | None]
    if style == "suppress":
        # Whatever a class with several values has, it is one cell.
        several = lo != hi
        lo = np.where(several, 0, lo)
        hi = np.where(several, domain.size - 1, hi)
    if style in ("range", "ancestor", "suppress"):
        pairs, entry = np.unique(lo.astype(np.int64) * domain.size + hi, return_inverse=True)
        lo = (pairs // domain.size).astype(np.int32)
        hi = (pairs % domain.size).astype(np.int32)
        loss, depth = domain.span(lo, hi), _depths(domain, lo, hi)
        if style == "suppress":
            labels = [domain.values[a] if a == b else SUPPRESSED for a, b in zip(lo, hi, strict=True)]
            loss, depth = np.where(lo == hi, 0.0, 1.0), np.where(lo == hi, depth, 0)
        elif style == "ancestor":
            nodes = domain.ancestors(lo, hi)
            labels = node_labels(domain, nodes)
            lo, hi = domain.tree.lo[nodes].astype(np.int32), domain.tree.hi[nodes].astype(np.int32) - 1
        else:
            labels, lo, hi = _range_cells(domain, lo, hi)
    else:
        loss, depth = domain.span(lo, hi), _depths(domain, lo, hi)
        plain = domain.hierarchy is None and not domain.ordered
        if style == "set":
            entry, first, sets = _distinct_sets(domain, codes, weights, indptr, members)
            records = np.bincount(entry, np.add.reduceat(weights[members], indptr[:-1]))
            _refuse_long_sets(domain, sets, records.astype(np.float64))
            labels = [_set_label(domain, present) for present in sets]
            lo, hi, loss, depth = lo[first], hi[first], loss[first], depth[first]
            distinct = np.array([len(present) for present in sets])
        else:
            counts = _value_counts(domain, codes, weights, indptr, members)
            entry = np.arange(classes)
            labels = _mean_labels(domain, counts)
            distinct = np.diff(counts.indptr)
        if plain:
            loss = (distinct - 1) / max(domain.size - 1, 1)
    return _with_suppressed(class_of_key, ValueCells(entry, labels, lo, hi, loss, depth), domain.size)


def _depths(domain: Domain, lo: NDArray[np.int32], hi: NDArray[np.int32]) -> NDArray[np.int32]:
    """Depth of the lowest node over each interval; see `Cells`."""
    if domain.hierarchy is None:
        return np.asarray(lo == hi, np.int32)
    return np.asarray(domain.hierarchy.depths[domain.ancestors(lo, hi)], np.int32)


class ValueCells(NamedTuple):
    """One cell for every rank of an attribute.

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
    loss, depth = domain.span(lo, hi), _depths(domain, lo, hi)
    return ValueCells(entry, *_range_cells(domain, lo, hi), loss, depth)


def _starred(cells: Sequence[Cells]) -> NDArray[np.bool_]:
    """Say which keys have ``*`` in every quasi-identifier, which is what suppressed means: bool[keys]."""
    everywhere = np.ones(len(cells[0].codes) if cells else 0, np.bool_)
    for column in cells:
        everywhere &= np.array([label == SUPPRESSED for label in column.labels])[column.codes]
    return everywhere


def _value_cells(
    codes: NDArray[np.unsignedinteger],
    round_of_key: NDArray[np.integer],
    rounds: Sequence[ValueCells],
    domain: Domain,
) -> Cells:
    """Look up the cell of each key's rank in the key's round; a negative round is suppressed."""
    first = np.cumsum([0, *(len(cells.labels) for cells in rounds)])[:-1]
    entry = np.stack([start + cells.entry for start, cells in zip(first, rounds, strict=True)])
    of_key = np.where(round_of_key < 0, -1, entry[np.maximum(round_of_key, 0), codes])
    together = ValueCells(
        np.arange(sum(len(cells.labels) for cells in rounds)),
        [label for cells in rounds for label in cells.labels],
        np.concatenate([cells.lo for cells in rounds]),
        np.concatenate([cells.hi for cells in rounds]),
        np.concatenate([cells.loss for cells in rounds]),
        np.concatenate([cells.depth for cells in rounds]),
    )
    return _with_suppressed(of_key, together, domain.size)


def _with_suppressed(number_of_key: NDArray[np.integer], cells: ValueCells, size: int) -> Cells:
    """Look up each key's entry; a negative number gets one more entry, ``*`` for all `size` ranks."""
    entry, labels, lo, hi, loss, depth = cells
    if number_of_key.size and number_of_key.min() < 0:
        entry = np.append(entry, len(labels))  # index -1
        labels = [*labels, SUPPRESSED]
        lo, hi = np.append(lo, np.int32(0)), np.append(hi, np.int32(size - 1))
        loss, depth = np.append(loss, 1.0), np.append(depth, np.int32(0))
    return Cells(smallest_codes(entry[number_of_key], len(labels)), tuple(labels), lo, hi, loss, depth)


def _value_counts(
    domain: Domain,
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
) -> Any:
    from incrowd.kernels.counting import Counts, class_counts

    each = np.arange(len(codes) + 1, dtype=np.int64)
    return class_counts(indptr, members, Counts(each, codes.astype(np.int32), weights), domain.size)


def _range_cells(
    domain: Domain, lo: NDArray[np.int32], hi: NDArray[np.int32]
) -> tuple[list[str | None], NDArray[np.int32], NDArray[np.int32]]:
    """Labels of intervals of numbers, and what they stand for: joined with the missing value, everything."""
    labels = [range_label(domain, int(a), int(b)) for a, b in zip(lo, hi, strict=True)]
    starred = np.array([label == SUPPRESSED for label in labels], np.bool_)
    return labels, np.where(starred, 0, lo), np.where(starred, domain.size - 1, hi)


def range_label(domain: Domain, lo: int, hi: int) -> str | None:
    """Released text of an interval of ranks of numbers or dates."""
    low, high = domain.values[lo], domain.values[hi]
    if lo == hi:
        return low
    if low is None or high is None:
        return SUPPRESSED
    between = "-" if domain.kind == "number" else " to "
    return f"[{low}{between}{high}]"


def _escape(text: str | None) -> str:
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


def _distinct_sets(
    domain: Domain,
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.int64],
    indptr: NDArray[np.int64],
    members: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.integer]]]:
    """Find the distinct sets of values of the classes.

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
    counts = _value_counts(domain, codes, weights, indptr, members)
    made: dict[bytes, int] = {}
    buffer = counts.codes.tobytes()
    bounds = (counts.indptr * counts.codes.itemsize).tolist()
    numbers = (made.setdefault(buffer[start:stop], len(made)) for start, stop in pairwise(bounds))
    entry = np.fromiter(numbers, np.int64, len(bounds) - 1)
    _, first = np.unique(entry, return_index=True)
    return entry, first, [np.frombuffer(present, counts.codes.dtype) for present in made]


def _refuse_long_sets(
    domain: Domain, sets: Sequence[NDArray[np.integer]], records: NDArray[np.float64]
) -> None:
    """Refuse sets that would fill a disk, before their texts are made.

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


def _set_label(domain: Domain, present: NDArray[np.integer]) -> str | None:
    if len(present) == 1:
        return domain.values[int(present[0])]
    return "{" + ", ".join(_escape(domain.values[rank]) for rank in present) + "}"


def _mean_labels(domain: Domain, counts: Any) -> list[str | None]:
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


def _domain_to_dict(domain: Domain) -> dict[str, Any]:
    tree = domain.hierarchy
    return {
        "name": domain.name,
        "kind": domain.kind,
        "values": list(domain.values),
        "numbers": [None if np.isnan(number) else number for number in domain.numbers.tolist()],
        "missing": domain.missing,
        "hierarchy": None
        if tree is None
        else {"labels": list(tree.labels), "parents": tree.parents.tolist()},
    }
