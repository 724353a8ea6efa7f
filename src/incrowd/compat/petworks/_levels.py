"""Hierarchy files as tables of levels, and PETWorks's measures of these tables.

PETWorks leaves its measures to ARX, which looks a released label up in the columns of the file from the left.
A file may then use one label on several levels (a midpoint of some ages and of all), which a tree refuses.
"""

from __future__ import annotations

import csv
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from incrowd.compat._arguments import check_path, unreadable
from incrowd.core.errors import HierarchyError, TableError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.lazy import NDArray, np, pl

__all__ = ["Levels", "ambiguity", "non_uniform_entropy", "precision", "read_folder"]

_TOP = "*"
_MARK = "\0"


@dataclass(frozen=True)
class Levels:
    """The hierarchy of a column: a row per value, with labels from the value to the root."""

    name: str
    rows: tuple[tuple[str, ...], ...]

    @property
    def height(self) -> int:
        """Number of levels above the values."""
        return len(self.rows[0]) - 1

    @cached_property
    def level_of(self) -> dict[str, int]:
        """Lowest level of each label, where ``*`` is the highest or above."""
        levels: dict[str, int] = {}
        for level in range(self.height + 1):
            for row in self.rows:
                levels.setdefault(row[level], level)
        levels.setdefault(_TOP, self.height)
        return levels

    @cached_property
    def leaves_of(self) -> dict[str, int]:
        """Number of values of each label on the label's highest level, as ARX counts, unlike `level_of`."""
        counts: dict[str, int] = {}
        for level in range(self.height + 1):
            counts.update(Counter(row[level] for row in self.rows))
        # A value is one value, even where every row has another root.
        counts[_TOP] = len(self.rows)
        return counts

    def at(self, level: int) -> dict[str, str]:
        """Return the label of every value at a level."""
        return {row[0]: row[level] for row in self.rows}

    def tree(self) -> Hierarchy:
        """Return a tree of marked labels, in which a label may stand on several levels; see `shown`."""
        paths = [(row[0], *(f"{_MARK}{j}{_MARK}{row[j]}" for j in range(1, len(row)))) for row in self.rows]
        if len({path[-1] for path in paths}) > 1 or self.height == 0:
            paths = [(*path, f"{_MARK}{self.height + 1}{_MARK}{_TOP}") for path in paths]
        return Hierarchy.from_paths(paths)


def shown(label: str | None) -> str | None:
    """Return a label of `Levels.tree` as written in the file."""
    return label if label is None or not label.startswith(_MARK) else label.split(_MARK, 2)[2]


def read_folder(folder: str | os.PathLike[str] | None, columns: Sequence[str]) -> dict[str, Levels]:
    """Read the hierarchy files of a folder, ``<anything>_hierarchy_<column>.csv`` or ``<column>.csv``.

    Raises
    ------
    HierarchyError
        When the folder cannot be read, a column has two files, or a file is no table of labels.
    """
    if folder is None:
        return {}
    try:
        files = sorted(
            path for path in check_path(folder, "dataHierarchy").iterdir() if path.suffix.lower() == ".csv"
        )
    except OSError as error:
        raise HierarchyError(f"{folder}: cannot read the folder of hierarchies ({error.strerror})") from None
    levels: dict[str, Levels] = {}
    for path in files:
        name = path.stem if path.stem in columns else path.stem.rpartition("_hierarchy_")[2]
        if name not in columns:
            continue
        if name in levels:
            raise HierarchyError(f"{folder}: column {name!r} has two hierarchy files; keep one")
        levels[name] = _read_levels(name, path)
    return levels


def _read_levels(name: str, path: Path) -> Levels:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = [tuple(cell.strip() for cell in row) for row in csv.reader(file, delimiter=";") if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise HierarchyError(unreadable(path, error)) from None
    if not rows:
        raise HierarchyError(f"{path}: the file is empty")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]) or not all(row):
            raise HierarchyError(f"{path}: row {number} has not {len(rows[0])} labels as the first has")
    rows = list(dict.fromkeys(rows))
    if len({row[0] for row in rows}) < len(rows):
        raise HierarchyError(f"{path}: a value stands in two rows that differ; keep one")
    return Levels(name, tuple(rows))


def _look_up(column: pl.Series, table: Mapping[str, float], where: str) -> NDArray[np.float64]:
    """Return the table's figure for every row's label."""
    labels = column.unique(maintain_order=True)
    unknown = sum(label not in table for label in labels)
    if unknown:
        raise TableError(
            f"{where}: column {column.name!r} has {unknown} distinct values that its hierarchy file lacks"
        )
    codes = dict(zip(labels, range(len(labels)), strict=True))
    figures: NDArray[np.float64] = np.array([table[label] for label in labels], np.float64)
    return figures.take(column.replace_strict(codes).to_numpy())


def precision(released: pl.DataFrame, levels: Sequence[Levels]) -> float:
    """1 - mean over quasi-identifiers and cells of level / height (Sweeney 2002)."""
    lost = 0.0
    for column in levels:
        table = {label: level / max(column.height, 1) for label, level in column.level_of.items()}
        lost += float(_look_up(released[column.name], table, "anonymized").mean())
    return 1 - lost / len(levels)


def ambiguity(released: pl.DataFrame, levels: Sequence[Levels]) -> float:
    """1 - (sum over rows of the product of leaves - rows) / (rows x product of domain sizes - rows)."""
    numbers = np.ones(len(released))
    for column in levels:
        # As in the metric of the same name, more than a double holds counts as 2 ** 1000.
        leaves = _look_up(released[column.name], column.leaves_of, "anonymized")
        numbers = np.minimum(numbers * leaves, 2.0**1000)
    most = float(min(math.prod(len(column.rows) for column in levels), 2**1000))
    rows = len(released)
    return 1 - (float(numbers.sum()) - rows) / (rows * most - rows) if most > 1 else 1.0


def non_uniform_entropy(raw: pl.DataFrame, released: pl.DataFrame, levels: Sequence[Levels]) -> float:
    """1 - bits that were lost / bits that suppressing everything loses, over all columns together.

    Rows lose level after level that occurs in the column: among those at a level or above, the share of a
    row's label one level down in its label at the level (Prasser, Bild and Kuhn, A generic method for
    assessing the quality of de-identified health data, MIE 2016, for local recoding).
    """
    lost = most = 0.0
    for column in levels:
        labels = {row[0]: rank for rank, row in enumerate(column.rows)}
        value = _look_up(raw[column.name], labels, "original").astype(np.int64)
        level = _look_up(released[column.name], column.level_of, "anonymized").astype(np.int64)
        rows = len(value)
        most -= float(np.log2(_frequency(value) / rows).sum())
        before = value
        for here in np.unique(level):
            coded: dict[str, int] = {}
            table = [coded.setdefault(row[here], len(coded)) for row in column.rows]
            now = np.array(table)[value]
            if here == column.height:
                now = np.zeros(rows, np.int64)
            live = level >= here
            lost -= float(np.log2(_frequency(before[live]) / _frequency(now[live])).sum())
            before = now
    return 1 - min(max(lost / most, 0.0), 1.0) if most else 1.0


def _frequency(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many rows have each row's code."""
    counted: NDArray[np.float64] = np.bincount(codes).astype(np.float64)
    return counted[codes]
