"""Published count tables in a folder: ``tables.json``, and the files of cells."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import ceil, inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

from incrowd_gate.errors import TableError, refuse_pipe
from incrowd_gate.lazy import duckdb
from incrowd_gate.scratch import PrivateFolder
from incrowd_verify.count_tables.key_tables import KeyTable
from incrowd_verify.count_tables.rules import label_of, threshold_and_base
from incrowd_verify.count_tables.workbook import Workbook
from incrowd_verify.source import ESCAPED, connect

MANIFEST = "tables.json"
_NO_TABLES: Mapping[str, KeyTable | None] = MappingProxyType({})

Cell = frozenset[tuple[str, str]]
"""A cell by its codes other than totals, so that two tables that ask the same have the same cell."""


def is_tables(path: str | Path) -> bool:
    """Say whether a path is a folder of count tables, or the ``tables.json`` inside."""
    path = Path(path)
    return path.name == MANIFEST or (path.is_dir() and (path / MANIFEST).is_file())


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest, and compare the digests of the files."""
    place = folder / MANIFEST
    refuse_pipe(place)
    try:
        manifest = json.loads(place.read_text(encoding="utf-8"))
        files = manifest["files"].items() if manifest["format"] == "incrowd tables" else None
    except OSError as error:
        raise TableError(f"{place}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        files = None
    if files is None:
        raise TableError(f"{place}: is no manifest of count tables")
    for name, about in files:
        refuse_pipe(folder / name)
        try:
            digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except OSError as error:
            raise TableError(f"{folder / name}: cannot be read ({error.strerror})") from None
        if digest != about["sha256"]:
            raise TableError(f"{folder / name}: was changed after it was made; its digest is another")
    return dict(manifest)


@dataclass(frozen=True)
class PublishedTable:
    """A published table.

    - `entry`: what the manifest says of it.
    - `cells`: the value of each cell by its codes; None where it is suppressed.
    - `bounds`: the least and the largest true value of each by its publication alone.
    """

    entry: Mapping[str, Any]
    cells: Mapping[tuple[str, ...], float | None]
    bounds: Mapping[Cell, tuple[float, float]]

    @property
    def name(self) -> str:
        """Name of the table."""
        return str(self.entry["name"])

    @property
    def quantity(self) -> str:
        """The quantity in the cells; tables of the same quantity are solved together."""
        return (
            f"sum of {self.entry['sum']}" if "sum" in self.entry else str(self.entry.get("count", "people"))
        )

    @property
    def dimensions(self) -> list[dict[str, Any]]:
        """Each column with the codes, the total first, and the code above each code."""
        return list(self.entry["dimensions"])

    @classmethod
    def read(
        cls,
        folder: Path,
        entry: Mapping[str, Any],
        key_tables: Mapping[str, KeyTable | None] = _NO_TABLES,
        workbook: Workbook | None = None,
    ) -> PublishedTable:
        """Read the files of a table.

        - `key_tables`: by table how its counts were changed, where the policy says so.
        - `workbook`: that of the folder, if it has one.

        Raises `TableError`: none is there, or one has other cells than the manifest or another file.
        """
        label_of(entry)
        try:
            columns = [each["column"] for each in entry["dimensions"]]
            names = [*columns, entry["quantity"], "mark"]
            key_table = key_tables.get(entry["name"])
            places = [folder / f"{entry['name']}.{kind}" for kind in ("csv", "parquet")]
            files: list[tuple[list[tuple[str, ...]], list[float | None]]] = []
            if places := [path for path in places if path.exists()]:
                with PrivateFolder() as scratch, connect(scratch, places) as session:
                    files = [cls._lines(session, path, names, entry) for path in places]
            elif workbook is not None:
                cells = workbook.cells(entry)
                files = [([*cells], [*cells.values()])]
            codes, values = files[0]
            expected = set(product(*(each["codes"] for each in entry["dimensions"])))
        except (KeyError, IndexError, TypeError, ValueError, OSError, duckdb.Error):
            raise TableError(f"{folder}: a table of {MANIFEST} is not there as the manifest says") from None
        if set(codes) != expected or len(codes) != len(expected):
            raise TableError(f"{folder / entry['name']}: has other cells than the manifest says")
        if files[0] != files[-1]:
            raise TableError(f"{folder / entry['name']}: its CSV and its Parquet file show different cells")
        bounds: dict[Cell, tuple[float, float]] = {}
        by_cell = dict(zip(codes, values, strict=True))
        if workbook is not None:
            workbook.compare(entry, by_cell)
        try:
            small = _of_small_counts(entry, by_cell) if entry.get("rounding") == "small" else {}
        except TableError:
            raise
        except (KeyError, IndexError, TypeError, ValueError):
            raise TableError(f"{folder}: a table of {MANIFEST} is not there as the manifest says") from None
        table = cls(entry, by_cell, bounds)
        for cell, value in by_cell.items():
            key = table.key(cell)
            if key_table is not None and value is not None and entry["protect"] == "cell-key":
                low, high = key_table.before(value)
            else:
                low, high = small.get(cell) or cls._may_be(entry, value)
            before = bounds.get(key, (low, high))
            bounds[key] = (max(low, before[0]), min(high, before[1]))
        return table

    def key(self, codes: Iterable[str]) -> Cell:
        """Return a cell of the table by a code of each dimension."""
        pairs = zip(self.dimensions, codes, strict=True)
        return frozenset((each["column"], code) for each, code in pairs if code != each["codes"][0])

    def named(self, entries: Iterable[Mapping[str, str]]) -> list[Cell]:
        """Return the cells that a setting names by codes, where a column that is left out means the total."""
        totals = {each["column"]: each["codes"][0] for each in self.dimensions}
        return [self.key(entry.get(column, total) for column, total in totals.items()) for entry in entries]

    def label(self, cell: Cell) -> str:
        """Name a cell by the codes and the totals of the table, such as ``age = 20 and sex = Total``."""
        codes = {each["column"]: each["codes"][0] for each in self.dimensions} | dict(sorted(cell))
        return " and ".join(f"{column} = {code}" for column, code in codes.items())

    @staticmethod
    def _lines(
        session: duckdb.DuckDBPyConnection, path: Path, names: list[str], entry: Mapping[str, Any]
    ) -> tuple[list[tuple[str, ...]], list[float | None]]:
        """Read the codes and the value of each cell of a file."""
        if path.suffix == ".csv":
            kinds = dict.fromkeys(names, "VARCHAR")
            frame = session.read_csv(
                str(path), header=True, sep=",", quotechar='"', escapechar='"', columns=kinds
            )
        else:
            frame = session.read_parquet(str(path))
        rows = frame.fetchall()
        place = [frame.columns.index(name) for name in names]
        codes = [tuple(row[each] for each in place[:-2]) for row in rows]
        if path.suffix == ".csv" and entry.get("escaped") is True:
            codes = [tuple(re.sub(ESCAPED, r"\1", code) for code in cell) for cell in codes]
        # Without a label a hidden value is empty, and so it is in Parquet.
        hidden = label_of(entry) if path.suffix == ".csv" else None
        return codes, [None if row[place[-2]] == hidden else float(row[place[-2]]) for row in rows]

    @staticmethod
    def _may_be(entry: Mapping[str, Any], value: float | None) -> tuple[float, float]:
        """Return the least and the largest true value of a cell by the published value alone."""
        if value is None:
            return (1.0 if entry["zeros"] == "show" and "sum" not in entry else 0.0), inf
        if entry["protect"] == "suppress":
            return value, value
        rule = threshold_and_base(entry.get("key_table"))
        if entry["protect"] == "cell-key" and rule is not None:
            return _before_rule(value, *rule)
        if entry.get("rounding") == "midpoint":
            return _before_midpoint(entry, value)
        far = entry["base"] - 1 if entry["protect"] == "round" else entry["deviation"]
        return max(value - far, 0.0), value + far

    def sums(self) -> Iterator[tuple[Cell, list[Cell], bool]]:
        """Yield each sum of the table: total, parts, and whether the parts add up to just the total."""
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


def _before_rule(value: float, threshold: int, base: int) -> tuple[float, float]:
    """Return the least and the largest count that a rule such as 10-5 turns into a value.

    By 10-5, 0 was 0..9, and 15 was 13..17: halves go up.
    """
    nearest = ceil((2 * value - base) / 2), ceil((2 * value + base) / 2) - 1
    if value == 0:
        return 0.0, float(max(threshold - 1, nearest[1]))
    return float(max(nearest[0], threshold)), float(nearest[1])


def _before_midpoint(entry: Mapping[str, Any], value: float) -> tuple[float, float]:
    """Return the least and the largest count of the interval with a middle: 1 and 6 for 3 by base 6.

    Raises `TableError`: it is no middle.
    """
    base = entry["base"]
    high = value + base // 2 if value else 0.0
    if high % base or value < 0:
        raise TableError(f"table {entry['name']}: a value is no midpoint of an interval of {base} counts")
    return max(high - base + 1, 0.0), high


def _of_small_counts(
    entry: Mapping[str, Any], cells: Mapping[tuple[str, ...], float | None]
) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the least and the largest count of each cell where the small finest counts are rounded.

    A finest cell of 0 was less than the base, one of the base was 1 or more, and others are as they were.

    Raises `TableError`: a finest cell is neither, or a total is not the sum of its finest cells.
    """
    base, sides = entry["base"], []
    for each in entry["dimensions"]:
        codes, under = each["codes"], each["under"]
        leaves: list[list[str]] = [[] for _ in codes]
        for leaf in sorted({*range(len(codes))} - {*under}):
            node = leaf
            while node >= 0:
                leaves[node].append(codes[leaf])
                node = under[node]
        sides.append(dict(zip(codes, leaves, strict=True)))
    bounds = {}
    for cell, value in cells.items():
        below = list(product(*(side[code] for side, code in zip(sides, cell, strict=True))))
        counts = [count for each in below if (count := cells[each]) is not None]
        if len(counts) < len(below) or value != sum(counts) or any(0 < count < base for count in counts):
            raise TableError(
                f"table {entry['name']}: a cell is not the sum of finest cells of 0, or {base} and more"
            )
        low = sum(1 if count == base else count for count in counts)
        high = sum(base - 1 if count == 0 else count for count in counts)
        bounds[cell] = float(low), float(high)
    return bounds
