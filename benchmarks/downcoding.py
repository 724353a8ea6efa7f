"""Downcoding: undo a part of the generalization, knowing the distribution and the algorithm (Cohen 2022).

``knowledge.py`` runs it, and takes releases and cells from here.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic

FULL_DOMAIN = ("optimal", "datafly")
LOCAL = ("mondrian", "agglomerative", "clustering", "k-member", "oka", "mdav", "random")
ALGORITHMS = (*LOCAL, "cell-suppression", *FULL_DOMAIN)
"""The other full-domain algorithms choose among the same recodings as these two."""
K = 5
CHAINS = 200
"""Classes that an attacker draws from the distribution for each released class."""
ROUNDS = 60
"""How often each record of a drawn class is exchanged."""
LARGEST = 12
"""Records of a class up to which it is downcoded."""
Tables = Iterator[tuple[str, list[str], list[list[str]]]]


# --- releases, and what their cells cover -----------------------------------------------------------------


@dataclass
class Seen:
    """A release whose rows are known to be these of the raw table (to us, and not to the attacker).

    Attributes
    ----------
    rows
        The raw rows of each class, by its cells.
    left_out
        Raw rows that did not leave.
    """

    rows: dict[tuple[str, ...], list[int]]
    left_out: list[int]


def released(
    table: pl.DataFrame,
    schema: ic.Schema,
    algorithm: str,
    models: Sequence[Any] = (),
    **settings: Any,
) -> Seen | None:
    """Release a table with the defaults and k-anonymity; None where that cannot be done."""
    policy = ic.Policy(
        schema,
        [ic.KAnonymity(K), *models],
        algorithm=algorithm,
        keep_order=True,
        **{"max_suppression": 0.1, **settings},
    )
    try:
        release = ic.anonymize(table, policy, force=True, unanswered="write")
    except ic.InfeasibleError:
        return None
    numbers = [row - 1 for (row,) in release.row_map().rows()]
    texts = release.texts.select([each.name for each in schema.quasi]).cast(pl.String).rows()
    rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, cells in zip(numbers, texts, strict=True):
        rows[cells].append(number)
    return Seen(dict(rows), sorted(set(range(table.height)) - set(numbers)))


class Known:
    """A column as an attacker knows it: its values, and above each value the labels of a tree, the root last.

    Cells of ranges are read as such, and the tree is then the attacker's own.

    Parameters
    ----------
    finest
        Steps above the values that are not worth a guess.
    """

    def __init__(self, values: Sequence[Any], path: Callable[[Any], Sequence[str]], finest: int = 0) -> None:
        self.finest = finest
        self.values = sorted(set(values))
        self.number = {value: number for number, value in enumerate(self.values)}
        self.paths = np.array([[str(value), *path(value)] for value in self.values])
        self.cell = lru_cache(None)(self._cell)

    def codes(self, column: pl.Series) -> np.ndarray:
        """Return the number of each value."""
        return np.array([self.number[value] for value in column])

    def covers(self, cell: str) -> np.ndarray:
        """Say which values a released cell may stand for."""
        if cell == "*":
            return np.ones(len(self.values), bool)
        named = (self.paths == cell).any(axis=1)
        if named.any():
            return named
        if cell.startswith("{"):
            return np.isin(self.paths[:, 0], cell[1:-1].split(", "))
        low, high = ends_of(cell)
        return np.array([low <= value <= high for value in self.values])

    def _cell(self, cell: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Return what a cell covers, and the part that each value is in one step down the tree.

        None stands for a cell that no step parts.
        """
        covered = self.covers(cell)
        for step in range(self.paths.shape[1] - 1, self.finest - 1, -1):
            labels, parts = np.unique(self.paths[covered, step], return_inverse=True)
            if len(labels) > 1:
                part = np.full(len(covered), -1)
                part[covered] = parts
                return covered, part
        return covered, None


def ends_of(cell: str) -> tuple[float, float]:
    """Return the ends of a range; an open one ends at infinity."""
    if found := re.fullmatch(r"\[(.+?)-(.+)\]", cell):
        return float(found[1]), float(found[2])
    if found := re.fullmatch(r"(.+) or (less|more)", cell):
        return (-inf, float(found[1])) if found[2] == "less" else (float(found[1]), inf)
    return float(cell), float(cell)


def percent(part: float, whole: float) -> str:
    """Write a share."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


# --- downcoding -------------------------------------------------------------------------------------------


@dataclass
class Attacked:
    """A table, and a larger sample of its distribution, which the attacker has."""

    table: pl.DataFrame
    sample: pl.DataFrame
    known: dict[str, Known]

    def codes(self, table: pl.DataFrame) -> np.ndarray:
        """Return a table as numbers of values."""
        return np.column_stack([each.codes(table[name]) for name, each in self.known.items()])


def clusters(random: np.random.Generator, rows: int = 400, columns: int = 5) -> Attacked:
    """Draw records around centres: nine in ten near to them, the others far away in half of the columns.

    A column is 32 stretches of 32 numbers. A centre is the middle of one half of a stretch. Near is the same
    half, and far is the other one.
    """
    shape = rows // 10, columns
    centres = 32 * random.integers(3, 32, shape) + random.choice([8, 24], shape)

    def draw(count: int) -> pl.DataFrame:
        centre = centres[random.integers(len(centres), size=count)]
        wide = (random.random(count) < 0.1)[:, None] & (random.random(centre.shape) < 0.5)
        near = centre + np.clip(np.rint(random.normal(0, 3, centre.shape)), -7, 7).astype(int)
        return pl.DataFrame({f"c{j}": np.where(wide, near ^ 16, near)[:, j] for j in range(columns)})

    table, sample = draw(rows), draw(40 * rows)

    def path(value: int) -> list[str]:
        return [f"h{value // 16}", f"s{value // 32}", f"q{value // 256}", "*"]

    known = {name: Known([*table[name], *sample[name]], path, 1) for name in table.columns}
    return Attacked(table, sample, known)


def adult_table(adult: Path) -> pl.DataFrame:
    """Read ARX's Adult."""
    return pl.read_csv(gzip.decompress((adult / "adult.csv.gz").read_bytes()), separator=";")


def some_of_adult(adult: Path, rows: int = 600) -> Attacked:
    """Take some rows of Adult; the attacker has the others."""
    names = ["age", "sex", "race", "marital-status", "education", "workclass"]
    table = adult_table(adult).select(names)
    known = {}
    for name in names:
        lines = (adult / f"adult_hierarchy_{name}.csv").read_text().splitlines()
        paths = {line.split(";")[0]: line.split(";")[1:] for line in lines}
        known[name] = Known(table[name], lambda value, paths=paths: paths[str(value)])
    return Attacked(table[:rows], table[rows:], known)


def with_trees(attacked: Attacked) -> ic.Schema:
    """Return a schema in which each column has its tree as a hierarchy."""
    trees = {name: ic.Hierarchy.from_paths(each.paths.tolist()) for name, each in attacked.known.items()}
    return ic.Schema(trees, unlisted="drop")


def tight(attacked: Attacked, table: pl.DataFrame, seen: Seen) -> np.ndarray:
    """Count in each column the cells that have parts, and those with records in several: int[columns, 2]."""
    codes = attacked.codes(table)
    found = np.zeros((len(attacked.known), 2), int)
    for cells, rows in seen.rows.items():
        for j, (column, cell) in enumerate(zip(attacked.known.values(), cells, strict=True)):
            part = column.cell(cell)[1]
            if part is not None:
                found[j] += 1, len(set(part[codes[rows, j]])) > 1
    return found


def downcode(attacked: Attacked, seen: Seen, trust: np.ndarray, random: np.random.Generator) -> Counter:
    """Claim in which part of each cell the records of each class are, and count what is right.

    The attacker draws classes from the distribution that fit the cells. Among them, those whose records need
    such wide cells are made as frequent as they were where the attacker tried the algorithm.
    """
    codes, sample = attacked.codes(attacked.table), attacked.codes(attacked.sample)
    found: Counter[str] = Counter()
    for cells, rows in seen.rows.items():
        looked = [column.cell(cell) for column, cell in zip(attacked.known.values(), cells, strict=True)]
        wide = [j for j, (_, part) in enumerate(looked) if part is not None]
        fit = np.flatnonzero(np.logical_and.reduce([looked[j][0][sample[:, j]] for j in range(len(looked))]))
        if not wide or len(rows) > LARGEST or not len(fit):
            continue
        parts = np.column_stack([looked[j][1][sample[fit, j]] for j in wide])
        truth = np.column_stack([looked[j][1][codes[rows, j]] for j in wide])
        drawn = random.integers(len(fit), size=(CHAINS, len(rows)))
        likely = improved(drawn, parts, trust[wide], random)
        for name, which in (("by the distribution", drawn), ("right", likely)):
            for j in range(len(wide)):
                found["cells " + name] += _shared(parts[which, j], truth[:, j])
            found["records " + name] += _shared(_rows(parts)[which], _rows(truth))
        found["cells"] += len(rows) * len(wide)
        found["records"] += len(rows)
    return found


def _rows(parts: np.ndarray) -> np.ndarray:
    """Return one number for each row of small numbers."""
    return parts @ (64 ** np.arange(parts.shape[1]))


def _shared(draws: np.ndarray, truth: np.ndarray) -> int:
    """Claim the most frequent class of some draws, and count what it has in common with the true one."""
    classes = Counter(map(bytes, np.sort(draws, axis=1)))
    claim = np.frombuffer(max(classes, key=classes.__getitem__), draws.dtype)
    return (Counter(claim.tolist()) & Counter(truth.tolist())).total()


def improved(
    drawn: np.ndarray, parts: np.ndarray, trust: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Exchange drawn records, one by one, until classes that need their cells are as frequent as they should.

    (Metropolis and Hastings.)

    Parameters
    ----------
    drawn
        int[classes, records]: which records of the sample a class has.
    parts
        int[sample, columns]: in which part of the cell the record of a sample is.
    trust
        How often the records of a class are in several parts.
    """
    bits = np.uint64(1) << (parts % 64).astype(np.uint64)

    def several(held: np.ndarray) -> np.ndarray:
        return (held & (held - np.uint64(1))) != 0

    share = (several(np.bitwise_or.reduce(bits[drawn], axis=1)).sum(axis=0) + 0.5) / (len(drawn) + 1)
    gain = np.log(trust / (1 - trust) * (1 - share) / share)
    likely = drawn.copy()
    for step in range(ROUNDS * drawn.shape[1]):
        place = step % drawn.shape[1]
        others = np.bitwise_or.reduce(bits[np.delete(likely, place, axis=1)], axis=1)
        new = random.integers(len(parts), size=len(drawn))
        change = (several(others | bits[new]) * 1.0 - several(others | bits[likely[:, place]])) @ gain
        likely[:, place] = np.where(np.log(random.random(len(drawn))) < change, new, likely[:, place])
    return likely


def downcoding(chosen: argparse.Namespace) -> Tables:
    """Downcode releases of clusters and of Adult."""
    head = ["algorithm", "cells that are needed", "cells right", "by the distribution", "records right",
            "by the distribution"]  # fmt: skip
    drawn = clusters(np.random.default_rng(chosen.seed))
    ranges = ic.Schema(dict.fromkeys(drawn.known), unlisted="drop")
    cases: list[tuple[str, Attacked, ic.Schema, Sequence[str], dict[str, Any]]] = [
        ("clusters, hierarchies", drawn, with_trees(drawn), ALGORITHMS, {}),
        ("clusters, ranges with exact ends", drawn, ranges, LOCAL, {"ends": "exact"}),
        ("clusters, ranges with the default ends", drawn, ranges, LOCAL, {}),
    ]
    if chosen.adult:
        adult = some_of_adult(chosen.adult)
        cases.append(("Adult, hierarchies", adult, with_trees(adult), ALGORITHMS, {}))
    for title, attacked, schema, algorithms, settings in cases:
        lines = []
        for algorithm in algorithms:
            random = np.random.default_rng(chosen.seed)
            # The attacker releases a table of the same distribution to see how narrow cells are.
            other = attacked.sample[
                random.permutation(attacked.sample.height)[: attacked.table.height].tolist()
            ]
            tried, seen = (
                released(each, schema, algorithm, max_suppression=0.5, **settings)
                for each in (other, attacked.table)
            )
            if tried is None or seen is None:
                lines.append([f"`{algorithm}`", "refused", *[""] * 4])
                continue
            cells, needed = tight(attacked, other, tried).T
            found = downcode(attacked, seen, (needed + 0.5) / (cells + 1), random)
            cells, needed = tight(attacked, attacked.table, seen).sum(axis=0)
            shares = (
                percent(found[f"{what} {name}"], found[what])
                for what in ("cells", "records")
                for name in ("right", "by the distribution")
            )
            lines.append([f"`{algorithm}`", percent(needed, cells), *shares])
        yield title, head, lines
