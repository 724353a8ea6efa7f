"""Count tables, checked from their files: the interval of every hidden cell, solved anew.

It reads ``tables.json`` and the files beside it, and knows nothing else. Every table of people that fits the
published cells could be the true one. So for each cell that is not published as it is, two linear programmes
find the least and the largest count that fit all tables together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

from incrowd_verify.errors import MissingExtraError, TableError
from incrowd_verify.gate.points import Point
from incrowd_verify.gate.verdict import Verdict
from incrowd_verify.scratch import PrivateFolder
from incrowd_verify.source import connect

MANIFEST = "tables.json"
_NEAR = 1e-6
_SHARE = 0.1
"""How wide the interval of a suppressed sum is at least, as a share of its largest value."""

Cell = frozenset[tuple[str, str]]
"""A cell by its codes other than totals, so that two tables that ask the same have the same cell."""


@dataclass(frozen=True)
class TableVerification:
    """The check of count tables.

    Attributes
    ----------
    verdict
        Whether every cell holds.
    cells
        How many different cells the tables have.
    hidden
        How many of them are not published as they are.
    narrow
        How many of those can be computed too closely, by table.
    """

    verdict: Verdict
    cells: int
    hidden: int
    narrow: Mapping[str, int]

    @property
    def ok(self) -> bool:
        """Whether the verdict holds."""
        return self.verdict.holds

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "format": "incrowd verification of tables",
            "version": 1,
            "verdict": self.verdict.to_dict(),
            "cells": self.cells,
            "hidden": self.hidden,
            "narrow": dict(self.narrow),
        }


def is_tables(path: str | Path) -> bool:
    """Say whether a path is a folder of count tables, or its ``tables.json``."""
    path = Path(path)
    return path.name == MANIFEST or (path.is_dir() and (path / MANIFEST).is_file())


def verify_tables(path: str | Path) -> TableVerification:
    """Check published count tables from their files alone.

    Parameters
    ----------
    path
        The folder, or its ``tables.json``.

    Raises
    ------
    TableError
        When a file is missing, was changed, or is no table of the manifest; or no counts fit the tables.
    MissingExtraError
        When SciPy is absent, which solves the linear programmes.
    """
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    manifest = _manifest(folder)
    tables = [_Table.read(folder, entry) for entry in manifest["tables"]]
    narrow: dict[str, int] = {}
    cells = hidden = 0
    for quantity in dict.fromkeys(table.quantity for table in tables):
        system = _System([table for table in tables if table.quantity == quantity])
        cells, hidden = cells + len(system.number), hidden + len(system.unknown)
        narrow |= system.narrow()
    points = tuple(
        Point(
            "cell",
            (),
            None,
            f"Table {name}: {count:,} cells can be computed too closely from all tables.",
            "Make the tables anew with coarser codes, or with protect = 'suppress'.",
        )
        for name, count in narrow.items()
        if count
    )
    return TableVerification(Verdict(points), cells, hidden, narrow)


def _manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest, and compare the digests of the files."""
    place = folder / MANIFEST
    try:
        manifest = json.loads(place.read_text(encoding="utf-8"))
        files = manifest["files"].items() if manifest["format"] == "incrowd tables" else None
    except OSError as error:
        raise TableError(f"{place}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        files = None
    if files is None:
        raise TableError(f"{place}: is no manifest of count tables")
    for name, about in files:
        try:
            digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except OSError as error:
            raise TableError(f"{folder / name}: cannot be read ({error.strerror})") from None
        if digest != about["sha256"]:
            raise TableError(f"{folder / name}: was changed after it was made; its digest is another")
    return dict(manifest)


@dataclass(frozen=True)
class _Table:
    """A published table: the bounds of its cells, and its rules."""

    entry: Mapping[str, Any]
    bounds: dict[Cell, tuple[float, float]]

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def quantity(self) -> str:
        return (
            f"sum of {self.entry['sum']}" if "sum" in self.entry else str(self.entry.get("count", "people"))
        )

    @property
    def dimensions(self) -> list[dict[str, Any]]:
        return list(self.entry["dimensions"])

    @classmethod
    def read(cls, folder: Path, entry: Mapping[str, Any]) -> _Table:
        import duckdb

        try:
            columns = [each["column"] for each in entry["dimensions"]]
            text, parquet = folder / f"{entry['name']}.csv", folder / f"{entry['name']}.parquet"
            names = [*columns, entry["quantity"], "mark"]
            path = text if text.exists() else parquet
            with PrivateFolder() as scratch, connect(scratch, [path]) as session:
                if path is text:
                    kinds = dict.fromkeys(names, "VARCHAR")
                    frame = session.read_csv(
                        str(text), header=True, sep=",", quotechar='"', escapechar='"', columns=kinds
                    )
                else:
                    frame = session.read_parquet(str(parquet))
                rows = frame.fetchall()
                place = [frame.columns.index(name) for name in names]
            codes = [tuple(row[each] for each in place[:-2]) for row in rows]
            values = [None if row[place[-2]] is None else float(row[place[-2]]) for row in rows]
            expected = set(product(*(each["codes"] for each in entry["dimensions"])))
        except (KeyError, TypeError, ValueError, OSError, duckdb.Error):
            raise TableError(f"{folder}: a table of {MANIFEST} is not there as the manifest says") from None
        if set(codes) != expected or len(codes) != len(expected):
            raise TableError(f"{folder / entry['name']}: has other cells than the manifest says")
        totals = [each["codes"][0] for each in entry["dimensions"]]
        bounds: dict[Cell, tuple[float, float]] = {}
        for cell, value in zip(codes, values, strict=True):
            key = frozenset(
                (column, code)
                for column, code, total in zip(columns, cell, totals, strict=True)
                if code != total
            )
            low, high = cls._may_be(entry, value)
            before = bounds.get(key, (low, high))
            bounds[key] = (max(low, before[0]), min(high, before[1]))
        return cls(entry, bounds)

    @staticmethod
    def _may_be(entry: Mapping[str, Any], value: float | None) -> tuple[float, float]:
        """Return the least and the largest true value of a cell by its publication alone."""
        if value is None:
            return (1.0 if entry["zeros"] == "show" and "sum" not in entry else 0.0), inf
        if entry["protect"] == "suppress":
            return value, value
        far = entry["base"] - 1 if entry["protect"] == "round" else entry["deviation"]
        return max(value - far, 0.0), value + far

    def sums(self) -> Iterator[tuple[Cell, list[Cell], bool]]:
        """Yield each sum of the table: the total, its parts, and whether it is exactly their sum."""
        sides = []
        for each in self.dimensions:
            codes = each["codes"]
            below: dict[int, list[int]] = {}
            for number, above in enumerate(each["under"]):
                if above >= 0:
                    below.setdefault(above, []).append(number)
            sides.append((each["column"], codes, below, each["overlapping"]))

        def key(chosen: tuple[int, ...]) -> Cell:
            return frozenset(
                (column, codes[code])
                for (column, codes, _, _), code in zip(sides, chosen, strict=True)
                if code
            )

        for place, (_, _, below, overlapping) in enumerate(sides):
            others = [range(len(codes)) for _, codes, _, _ in sides]
            for total, parts in below.items():
                others[place] = range(total, total + 1)
                for chosen in product(*others):
                    under = [key((*chosen[:place], part, *chosen[place + 1 :])) for part in parts]
                    yield key(chosen), under, not overlapping


class _System:
    """The cells of all tables of one quantity, with the bounds that anybody knows."""

    def __init__(self, tables: list[_Table]) -> None:
        self.tables = tables
        self.bounds: dict[Cell, tuple[float, float]] = {}
        for table in tables:
            for cell, (low, high) in table.bounds.items():
                known = self.bounds.get(cell, (0.0, inf))
                self.bounds[cell] = (max(low, known[0]), min(high, known[1]))
        if any(low > high for low, high in self.bounds.values()):
            raise TableError("two tables say different things of one cell")
        self.number = {cell: number for number, cell in enumerate(self.bounds)}
        self.unknown = [cell for cell, (low, high) in self.bounds.items() if low < high]
        self.overlapping = {
            each["column"] for table in tables for each in table.dimensions if each["overlapping"]
        }

    def narrow(self) -> dict[str, int]:
        """Count the cells of each table whose interval is narrower than its rules allow."""
        ends = dict(zip(self.unknown, self._intervals(), strict=True))
        return {
            table.name: sum(self._is_narrow(table, cell, ends) for cell in table.bounds)
            for table in self.tables
        }

    @staticmethod
    def _is_narrow(table: _Table, cell: Cell, ends: Mapping[Cell, tuple[float, float]]) -> bool:
        entry, (low, high) = table.entry, table.bounds[cell]
        if low == high:
            return False
        low, high = ends.get(cell, (low, low))
        if "sum" in entry:
            return high - low < _SHARE * high - _NEAR
        if entry["protect"] == "suppress":
            return bool(high - low < entry["width"])
        # A rounded or perturbed count is told if one value alone fits, and a small one then.
        return bool(low == high and 0 < low < entry["threshold"])

    def _intervals(self) -> list[tuple[float, float]]:
        """Return the least and the largest value of each unknown cell, in their order."""
        numpy, sparse = _library("numpy"), _library("scipy.sparse")
        matrix, most = self._rows()
        low, high = numpy.array(list(self.bounds.values())).T.reshape(2, -1)
        unknown = numpy.flatnonzero(low < high)
        rest = -(matrix @ numpy.where(low < high, 0.0, low))
        matrix = matrix[:, unknown]
        # Cells of which no chain of sums leads to one another are solved apart.
        ties = sparse.csgraph.connected_components((abs(matrix.T) @ abs(matrix)), directed=False)[1]
        ends: list[tuple[float, float]] = [(0.0, 0.0)] * len(unknown)
        for group in numpy.unique(ties):
            cells = numpy.flatnonzero(ties == group)
            rows = numpy.flatnonzero(abs(matrix[:, cells]).sum(axis=1))
            part = _Part(
                matrix[rows][:, cells],
                rest[rows],
                most[rows] + rest[rows],
                low[unknown[cells]],
                high[unknown[cells]],
                whole=not self.tables[0].quantity.startswith("sum"),
            )
            for place, cell in enumerate(cells):
                ends[cell] = part.end(place, 1.0), -part.end(place, -1.0)
        return ends

    def _rows(self) -> tuple[Any, Any]:
        """Return the sums as a matrix over all cells, each row with its least and its largest value."""
        numpy, sparse = _library("numpy"), _library("scipy.sparse")
        entries: list[tuple[int, int, float]] = []
        most: list[float] = []
        for table in self.tables:
            for total, parts, apart in table.sums():
                columns = {column for column, _ in total} | {column for part in parts for column, _ in part}
                exact = apart and not (self.overlapping & (columns - {column for column, _ in total}))
                row = len(most)
                most.append(0.0 if exact else inf)
                entries += [(row, self.number[part], 1.0) for part in parts]
                entries.append((row, self.number[total], -1.0))
                for part in () if exact else parts:
                    entries += [(len(most), self.number[total], 1.0), (len(most), self.number[part], -1.0)]
                    most.append(inf)
        rows, columns_of, values = zip(*entries, strict=True)
        matrix = sparse.csr_array((values, (rows, columns_of)), (len(most), len(self.number)))
        return matrix, numpy.array(most)


class _Part:
    """Unknown cells that sums tie to one another: ``least <= matrix @ values <= most``."""

    def __init__(self, matrix: Any, least: Any, most: Any, low: Any, high: Any, *, whole: bool) -> None:
        optimize = _library("scipy.optimize")
        self.conditions = optimize.LinearConstraint(matrix, least, most)
        self.low, self.high, self.whole = low, high, whole
        self.seen: list[Any] = []

    def end(self, place: int, sign: float) -> float:
        """Return the least value of a cell times the sign."""
        # What a solution for another cell reached is reached, and no cell goes beyond its own bounds.
        reached = min((float(sign * values[place]) for values in self.seen), default=inf)
        if reached <= sign * (self.low if sign > 0 else self.high)[place]:
            return reached
        values = self._solve(place, sign, whole=False)
        if values is not None and self.whole and abs(values - values.round()).max() > _NEAR:
            values = self._solve(place, sign, whole=True)
        if values is None:
            return -inf
        self.seen.append(values.round() if self.whole else values)
        return float(sign * self.seen[-1][place])

    def _solve(self, place: int, sign: float, *, whole: bool) -> Any:
        """Return the values that fit with the least value of a cell times the sign, None if it has no end."""
        optimize, numpy = _library("scipy.optimize"), _library("numpy")
        aim = numpy.zeros(len(self.low))
        aim[place] = sign
        solved = optimize.milp(
            aim,
            constraints=self.conditions,
            bounds=optimize.Bounds(self.low, self.high),
            integrality=int(whole),
        )
        if solved.status == 0:
            return solved.x
        if solved.status == 2 or not numpy.isinf(self.high).any():
            raise TableError("no counts fit the published tables: some sum does not hold")
        return None


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError("scipy", "tables", "checking count tables") from None
