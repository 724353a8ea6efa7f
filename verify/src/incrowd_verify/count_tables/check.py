"""Count tables, checked: the interval of every hidden cell, solved anew from the published files.

Every table of people that fits the published cells could be the true one. So for each cell that is not
published as it is, two linear programmes find the least and the largest count that fit all tables together.
Hidden cells that are known together are asked as one cell (`unions`). With the raw table the cells are
counted anew, too (`recount`), and with the policy the rules are compared (`rules`). The intervals of
unsafe sums must then reach as far as their rules ask, for those as well who alone make other hidden cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from math import fsum, inf, prod
from pathlib import Path
from typing import Any

from incrowd_gate.errors import MissingExtraError, TableError
from incrowd_gate.points import Accepted, Point, answered, in_order
from incrowd_gate.rules.count_tables import Quantity, hidden_share, points_of_sums
from incrowd_gate.verdict import Verdict
from incrowd_gate.wording import linked_tables, many_hidden
from incrowd_verify.count_tables.contributors import Contributors, Values
from incrowd_verify.count_tables.published import Cell, PublishedTable, read_manifest
from incrowd_verify.count_tables.recount import RawTable, Recounted, recount, some
from incrowd_verify.count_tables.rules import Rules, compare_rules, read_table_policy
from incrowd_verify.count_tables.unions import Line, Union, unions
from incrowd_verify.count_tables.workbook import Workbook

_NEAR = 1e-6
_SHARE = 0.1
"""How wide the interval of a suppressed sum is at least, as a share of its largest value.

That of an unsafe one reaches as far above the sum, and as far below."""
_LEAST = 1e-5
"""Share of the largest sum shown in a table below which an interval counts as one number, such as 0."""
_EXACT = 1e-9
"""Share of a sum by which two orders of adding it up may differ."""
_COMBINATIONS = 5_000
"""Combinations of the codes of a ring of tables, totals included, up to which it is solved as a whole."""


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
    compared
        How many cells were compared with the raw table; None without one.
    """

    verdict: Verdict
    cells: int
    hidden: int
    narrow: Mapping[str, int]
    compared: int | None = None

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
            "compared": self.compared,
        }


def verify_tables(
    path: str | Path, policy: str | Path | None = None, *, raw: RawTable | None = None
) -> TableVerification:
    """Check published count tables, from the files alone or beside the raw table and the policy.

    Parameters
    ----------
    path
        The folder, or its ``tables.json``.
    policy
        The policy that they have to satisfy. It names the tables, their rules, and who is a person.
    raw
        The raw table, of which each cell is counted anew.

    Raises
    ------
    TableError
        When a file is missing, was changed, or is no table of the manifest; or no counts fit the tables.
    PolicyError
        When the policy cannot be read or names no tables.
    SchemaError
        When the raw table lacks a column of the tables.
    MissingExtraError
        When SciPy is absent, which solves the linear programmes.
    """
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    manifest = read_manifest(folder)
    asked = None if policy is None else read_table_policy(Path(policy))
    key_tables = {} if asked is None else {each.name: each.key_table for each in asked.tables}
    workbook = Workbook.read(folder, manifest["tables"])
    tables = [PublishedTable.read(folder, entry, key_tables, workbook) for entry in manifest["tables"]]
    points: list[Point] = []
    if asked is not None:
        points += compare_rules([Rules.of_entry(table.entry) for table in tables], asked.tables)
        points += _shown_though_hidden(tables, asked.tables)
    recounted = Recounted() if raw is None else recount(tables, raw, asked)
    points += recounted.points
    rules = {table.name: Rules.of_entry(table.entry) for table in tables}
    rules |= {} if asked is None else {each.name: each for each in asked.tables}
    narrow: dict[str, int] = {}
    rings: list[Point] = []
    together: list[Point] = []
    cells = hidden = 0
    for alike in _of_one_quantity(tables):
        try:
            system = _System(alike, rules, recounted)
            cells, hidden = cells + len(system.bounds), hidden + len(system.unknown)
            narrow |= system.narrow()
            together += system.points()
            if system.ring and not system.whole_table:
                rings.append(linked_tables(sorted(system.ring)))
        except TableError:
            # What is said already tells why the sums do not hold.
            if not points:
                raise
    points += together
    told = [*rings, *_points_of_much_hidden(tables), *points_of_sums(_quantities(tables))]
    points += answered(dict.fromkeys(told), _accepted(manifest))
    points += (_narrow_point(name, count, "from all tables") for name, count in narrow.items() if count)
    return TableVerification(Verdict(tuple(in_order(points))), cells, hidden, narrow, recounted.compared)


def _points_of_much_hidden(tables: Sequence[PublishedTable]) -> Iterator[Point]:
    """Yield a point for each table of which many cells are not shown."""
    for table in tables:
        hidden = sum(value is None for value in table.cells.values())
        people = hidden + sum(value is not None and value > 0 for value in table.cells.values())
        if (share := hidden_share(hidden, people)) is not None:
            yield many_hidden(table.name, share)


def _quantities(tables: Sequence[PublishedTable]) -> Iterator[Quantity]:
    """Yield the quantity of each table."""
    for table in tables:
        yield Quantity(frozenset(each["column"] for each in table.dimensions), table.entry.get("sum"))


def _shown_though_hidden(tables: Sequence[PublishedTable], asked: Sequence[Rules]) -> Iterator[Point]:
    """Yield a point for each table that shows cells which the policy hides at any value."""
    by_name = {each.name: each for each in asked}
    for table in tables:
        hidden = set(table.named(by_name[table.name]["hidden"])) if table.name in by_name else set()
        shown = {table.key(codes) for codes, value in table.cells.items() if value is not None}
        if names := [table.label(cell) for cell in hidden & shown]:
            text = f"Table {table.name}: cells are shown that the policy hides: {some(sorted(names))}."
            yield Point("conformity", (), None, text, "Make the tables anew with this policy.")


def _narrow_point(name: str, count: int, how: str) -> Point:
    text = f"Table {name}: {count:,} cell{'s' * (count > 1)} can be computed too closely {how}."
    way_out = "Make the tables anew with coarser codes, or with protect = 'suppress'."
    return Point("cell", (), None, text, way_out)


def _accepted(manifest: Mapping[str, Any]) -> list[Accepted]:
    """Return the points that the makers of the tables accepted, with the reasons."""
    try:
        points = manifest.get("verdict", {}).get("points", [])
        return [
            Accepted(each["point"], next(iter(each["columns"]), None), each["accepted"])
            for each in points
            if each["accepted"]
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise TableError("the verdict in the manifest is none that incrowd writes") from None


def _of_one_quantity(tables: Sequence[PublishedTable]) -> Iterator[list[PublishedTable]]:
    """Yield the tables of each quantity; records are people where both have the same total."""
    every: dict[str, list[PublishedTable]] = {}
    for table in tables:
        every.setdefault(table.quantity, []).append(table)
    totals = [
        {table.bounds[frozenset()] for table in every.get(quantity, ())} for quantity in ("people", "records")
    ]
    if any(low == high for low, high in totals[0] & totals[1]):
        every["people"] += every.pop("records")
    yield from every.values()


def ring_of(tables: Sequence[PublishedTable]) -> set[str]:
    """Return the columns that tie tables together in a ring: age by sex, sex by ill, age by ill.

    A column of one table alone is taken away, and a table whose columns another has, until nothing changes.
    """
    edges = {frozenset(each["column"] for each in table.dimensions) for table in tables}
    while True:
        shared = {frozenset(c for c in edge if sum(c in each for each in edges) > 1) for edge in edges}
        left = {edge for edge in shared if edge and not any(edge < other for other in shared)}
        if left == edges:
            return {column for edge in edges for column in edge}
        edges = left


class _System:
    """The cells of all tables of a quantity, with the bounds that anybody knows.

    - `rules`: by table those that are asked.
    - `people`: by hidden cell who makes it; empty without a raw table.
    - `ring`: the columns that tie the tables in a ring.
    - `whole_table`: the table of all these columns, which nobody publishes. Values may fit every sum, and yet
      no table of people has them. It is absent where its combinations are too many.
    """

    def __init__(
        self, tables: list[PublishedTable], rules: Mapping[str, Rules], recounted: Recounted
    ) -> None:
        self.tables, self.rules = tables, rules
        self.quantity = tables[0].quantity
        self.people = {
            cell: people
            for quantity in {table.quantity for table in tables}
            for cell, people in recounted.hidden.get(quantity, {}).items()
        }
        self.several, self.nested = recounted.several, recounted.nested
        self.bounds: dict[Cell, tuple[float, float]] = {}
        for table in tables:
            for cell, (low, high) in table.bounds.items():
                known = self.bounds.get(cell, (0.0, inf))
                self.bounds[cell] = (max(low, known[0]), min(high, known[1]))
        if any(low > high for low, high in self.bounds.values()):
            raise TableError("two tables say different things of one cell")
        self.unknown = [cell for cell, (low, high) in self.bounds.items() if low < high]
        self.ring = ring_of(tables)
        finest = [
            max(
                (each for table in tables for each in table.dimensions if each["column"] == column),
                key=lambda each: len(each["codes"]),
            )
            for column in sorted(self.ring)
        ]
        fits = finest and prod(len(each["codes"]) for each in finest) <= _COMBINATIONS
        self.whole_table = [PublishedTable({"dimensions": finest}, {}, {})] if fits else []
        self.ends = dict(self.bounds)
        for chosen in product(*(each["codes"] for each in finest)) if fits else ():
            cell = frozenset(
                (each["column"], code)
                for each, code in zip(finest, chosen, strict=True)
                if code != each["codes"][0]
            )
            self.ends.setdefault(cell, (0.0, inf))
        self.number = {cell: number for number, cell in enumerate(self.ends)}
        self.overlapping = {
            each["column"] for table in tables for each in table.dimensions if each["overlapping"]
        }

    def narrow(self) -> dict[str, int]:
        """Count the cells of each table with an interval narrower than the rules of the table allow."""
        return {table.name: len(self._narrow(table)) for table in self.tables}

    def points(self) -> Iterator[Point]:
        """Yield the points of hidden cells by which others can be computed, alone or together."""
        told = self._told_to_makers()
        unsafe = self._unsafe_unions()
        few = self._with_few_others()
        for table in self.tables:
            if labels := few.get(table.name):
                tells = "1 cell tells" if len(labels) == 1 else f"{len(labels):,} cells tell"
                text = f"Table {table.name}: {tells} how few people of a total lack its code: {some(labels)}."
                yield Point("limit", (), None, text, "Make the tables anew.")
            if every := unsafe.get(table.name):
                what = (
                    "1 sum of hidden cells is"
                    if len(every) == 1
                    else f"{len(every):,} sums of hidden cells are"
                )
                text = f"Table {table.name}: {what} unsafe by its rules and can be computed: {some(every)}."
                yield Point("limit", (), None, text, "Make the tables anew.")
            if count := len(told.get(table.name, ())):
                how = "by somebody who alone makes another hidden cell"
                yield _narrow_point(table.name, count, how)

    @cached_property
    def _least(self) -> dict[str, float]:
        """How wide the interval of a sum is at least, by table."""
        return {
            table.name: _LEAST * max([1.0, *(most for least, most in table.bounds.values() if least == most)])
            for table in self.tables
        }

    @cached_property
    def _known_ends(self) -> dict[Cell, tuple[float, float]]:
        """The least and the largest value of each published cell."""
        # Each table bounds the cells that it shares with others.
        return self.bounds | {
            cell: (part.end(place, 1.0), -part.end(place, -1.0))
            for cells, part in self._parts
            for place, cell in enumerate(cells)
            if cell in self.bounds
        }

    def _narrow(self, table: PublishedTable) -> set[Cell]:
        """Return the cells of a table with an interval narrower than the rules of the table allow."""
        ends, entry = self._known_ends, table.entry
        shown = entry["protect"] != "suppress"
        return {
            cell
            for cell, (low, high) in table.bounds.items()
            if (
                shown and 0 < low < entry["threshold"]
                if low == high
                else self._is_narrow(table, cell, *ends[cell])
            )
        }

    def _is_narrow(
        self, table: PublishedTable, cell: Cell, low: float, high: float, *, maker: int | None = None
    ) -> bool:
        """Say whether the interval of a hidden or changed cell is narrower than the table allows.

        `maker`: who computes it, and knows the own part of it, too; None for everybody.
        """
        entry = table.entry
        if "sum" in entry:
            is_thin = high - low < max(_SHARE * high, self._least[table.name]) - _NEAR
            is_own = maker is not None and maker in self.people[cell].makers
            return is_thin or self._is_near(self.rules[table.name], cell, 0.0 if is_own else low, high)
        if entry["protect"] == "suppress":
            return bool(high - low < entry["width"])
        # A rounded or perturbed count is told if one value alone fits, and a small one then.
        return bool(low == high and 0 < low < entry["threshold"])

    def _is_near(self, rules: Rules, cell: Cell, low: float, high: float) -> bool:
        """Say whether an end of the interval of an unsafe sum is nearer to the sum than the rules allow."""
        values = self.people[cell].values if cell in self.people else None
        if values is None or not values.is_unsafe(rules):
            return False
        far = max(values.slack(rules), _SHARE * values.value)
        close = max(_NEAR, _EXACT * values.value)
        # No sum is below 0.
        return high < values.value + far - close or low > max(values.value - far, 0.0) + close

    def _unsafe_unions(self) -> dict[str, list[str]]:
        """Name by table the hidden cells that the table's sums tell together, if unsafe as a single cell."""
        found: dict[str, list[str]] = {}
        if any(table.entry["protect"] != "suppress" for table in self.tables):
            return found
        lines = self._lines()
        for table in self.tables:
            for union in unions([line for line in lines if table.name in line.tables]):
                if not self._is_unsafe(union, self.rules[table.name]):
                    continue
                if union.total is not None:
                    what = f"the hidden cells of {table.label(union.total)}"
                else:
                    what = " with ".join(sorted(map(table.label, union.cells)))
                found.setdefault(table.name, []).append(what)
        return found

    def _is_unsafe(self, union: Union, rules: Rules) -> bool:
        """Say whether hidden cells are unsafe as a single cell."""
        every = [self.people[cell] for cell in union.cells if cell in self.people]
        if len(every) == len(union.cells):
            is_sum = rules["sum"] is not None
            many = any(each.values.makers >= rules["threshold"] for each in every)
            if many and (not is_sum or fsum(each.values.margin(rules) for each in every) <= 0):
                return False
            return Contributors.together(every).values.is_unsafe(rules)
        # Counts tell how few people there are at most.
        count = round(union.value)
        return rules["sum"] is None and Values(count, count, count, ()).is_unsafe(rules)

    def _with_few_others(self) -> dict[str, list[str]]:
        """Name the cells of which a total has few people more, where people have several codes, by table.

        Example: of 23 people 20 have drug A and others B or C as well. So 3 have no A.
        """
        found: dict[str, dict[str, None]] = {}
        for table, total, parts, exact in self._sums(self.tables):
            low, high = self.bounds[total]
            if exact or low < high or table.entry["protect"] != "suppress":
                continue
            # The total may be in another table, and its rules are not those of the part.
            for part in filter(table.bounds.__contains__, parts):
                least, most = self.bounds[part]
                if least == most and 0 < least < low < least + self.rules[table.name]["threshold"]:
                    found.setdefault(table.name, {})[table.label(part)] = None
        return {name: [*labels] for name, labels in found.items()}

    def _lines(self) -> list[Line]:
        """Return the hidden parts of the sums that hold exactly."""
        lines: dict[frozenset[tuple[Cell, int]], Line] = {}
        for table, total, parts, exact in self._sums(self.tables):
            known = {
                cell: low for cell in (total, *parts) for low, high in [self.bounds[cell]] if low == high
            }
            value = fsum((known.get(total, 0.0), *(-known[part] for part in parts if part in known)))
            signs = {cell: -1 if cell == total else 1 for cell in (total, *parts) if cell not in known}
            if exact:
                key = frozenset(signs.items())
                names = lines[key].tables if key in lines else frozenset[str]()
                lines[key] = Line(total, signs, value, names | {table.name})
        return [*lines.values()]

    def _told_to_makers(self) -> dict[str, set[Cell]]:
        """Return by table the unsafe cells that the sole maker of other hidden cells can compute."""
        found: dict[str, set[Cell]] = {table.name: set() for table in self.tables}
        if not self.quantity.startswith("sum") and not (self.quantity == "records" and self.several):
            return found
        narrow = {table.name: self._narrow(table) for table in self.tables}
        for cells, part in self._parts:
            alone: dict[int, dict[int, float]] = {}
            for place, cell in enumerate(cells):
                people = self.people.get(cell)
                if people is not None and people.alone is not None:
                    alone.setdefault(people.alone, {})[place] = people.values.value
            for maker, own in alone.items():
                known = part.knowing(own)
                for table, (place, cell) in product(self.tables, enumerate(cells)):
                    if (
                        place in own
                        or cell not in table.bounds
                        or cell in narrow[table.name] | found[table.name]
                        or cell not in self.people
                        or not self.people[cell].values.is_unsafe(self.rules[table.name])
                    ):
                        continue
                    judge = partial(self._is_narrow, table, cell, maker=maker)
                    # Where the raw table is not that of the tables, nobody knows anything by it.
                    with suppress(TableError):
                        if known.is_narrow(place, judge):
                            found[table.name].add(cell)
        return found

    @cached_property
    def _parts(self) -> list[tuple[list[Cell], _Part]]:
        """The groups of unknown cells that sums tie together, each with the cells in order."""
        numpy, sparse = _library("numpy"), _library("scipy.sparse")
        matrix, most = self._matrix_of_sums()
        low, high = numpy.array(list(self.ends.values())).T.reshape(2, -1)
        unknown = numpy.flatnonzero(low < high)
        rest = -(matrix @ numpy.where(low < high, 0.0, low))
        matrix = matrix[:, unknown]
        # Cells of which no chain of sums leads to one another are solved apart.
        ties = sparse.csgraph.connected_components((abs(matrix.T) @ abs(matrix)), directed=False)[1]
        every, found = list(self.ends), []
        for group in numpy.unique(ties):
            cells = numpy.flatnonzero(ties == group)
            rows = numpy.flatnonzero(abs(matrix[:, cells]).sum(axis=1))
            part = _Part(
                matrix[rows][:, cells],
                rest[rows],
                most[rows] + rest[rows],
                low[unknown[cells]],
                high[unknown[cells]],
                whole=not self.quantity.startswith("sum"),
            )
            found.append(([every[number] for number in unknown[cells]], part))
        return found

    def _sums(
        self, tables: Sequence[PublishedTable]
    ) -> Iterator[tuple[PublishedTable, Cell, list[Cell], bool]]:
        """Yield each sum: the table, the total, the parts, and whether the parts add up to just the total."""
        for table in tables:
            for total, parts, apart in table.sums():
                columns = {column for column, _ in total} | {column for part in parts for column, _ in part}
                exact = apart and not (self.overlapping & (columns - {column for column, _ in total}))
                yield table, total, parts, exact
        by_code: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.bounds if self.nested else ():
            for pair in cell:
                by_code.setdefault(pair, []).append(cell)
        for code, below, names in self.nested:
            for total in by_code.get(code, ()):
                parts = [total - {code} | {(below, name)} for name in names]
                if below in dict(total) or not {*parts} <= self.bounds.keys():
                    continue
                for table in tables:
                    if total in table.bounds or parts[0] in table.bounds:
                        yield table, total, parts, not self.overlapping & {code[0], below}

    def _matrix_of_sums(self) -> tuple[Any, Any]:
        """Return the sums as a matrix over all cells, and the largest value of each row."""
        numpy, sparse = _library("numpy"), _library("scipy.sparse")
        entries: list[tuple[int, int, float]] = []
        most: list[float] = []
        for _, total, parts, exact in self._sums([*self.tables, *self.whole_table]):
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
    """Unknown cells that sums tie together: ``least <= matrix @ values <= most``."""

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

    def knowing(self, values: Mapping[int, float]) -> _Part:
        """Return the same cells with known values at some places."""
        numpy, known = _library("numpy"), copy(self)
        places, at = [*values], numpy.array([*values.values()])
        near = 0.0 if self.whole else _EXACT * numpy.maximum(at, 1.0)
        known.low, known.high = self.low.copy(), self.high.copy()
        known.low[places], known.high[places] = at - near, at + near
        # What fits for everybody fits for them where it has these values.
        for place, value in () if self.whole else values.items():
            known.seen = _mixed(numpy.array(known.seen).reshape(-1, len(self.low)), place, value)
        known.seen = [each for each in known.seen if (abs(each[places] - at) <= near).all()]
        return known

    def is_narrow(self, place: int, judge: Callable[[float, float], bool]) -> bool:
        """Say whether a judge finds the interval of a cell narrow, if a wider interval is never narrower.

        Raises `TableError`: no values fit.
        """
        reached = [float(values[place]) for values in self.seen]
        if not reached or judge(min(reached), max(reached)):
            high = -self.end(place, -1.0)
            if judge(min([high, *reached]), high):
                return judge(self.end(place, 1.0), high)
        return False

    def _solve(self, place: int, sign: float, *, whole: bool) -> Any:
        """Return the values that fit with the least value of a cell times the sign, None without an end."""
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


def _mixed(seen: Any, place: int, value: float) -> list[Any]:
    """Return mixtures of two solutions of sums that have a value at a place: the widest of each cell."""
    numpy = _library("numpy")
    below, above = seen[seen[:, place] <= value], seen[seen[:, place] >= value]
    if not len(below) or not len(above):
        return []
    span = above[:, place] - below[:, [place]]
    share = numpy.where(span > 0, (value - below[:, [place]]) / numpy.where(span > 0, span, 1.0), 0.0)
    found = []
    for cell in range(seen.shape[1]):
        mixed = below[:, [cell]] + share * (above[:, cell] - below[:, [cell]])
        for flat in (mixed.argmin(), mixed.argmax()):
            first, second = numpy.unravel_index(flat, mixed.shape)
            found.append(below[first] + share[first, second] * (above[second] - below[first]))
    return found


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError("scipy", "tables", "checking count tables") from None
