"""Facts that count tables tell of people, worked out from the published cells and the raw rows alone.

It imports nothing of incrowd. A cell is known by its columns and codes other than totals, so that two tables
that ask the same have the same cell. All tables of one quantity are read as one system of sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Key = frozenset[tuple[str, str]]
_TOTAL = "Total"
_FEW = 14
"""Hidden cells of which every subset is tried as a union."""
_LINES = 3
"""Sums of which the product promises to look at combinations."""
_DEEP = "union of many sums"


class Sum(NamedTuple):
    """A total with parts: exact, or at most the sum and at least each part."""

    total: Key
    parts: tuple[Key, ...]
    exact: bool


class Told(NamedTuple):
    """A fact that the tables tell: the kind, and the cells."""

    kind: str
    cells: tuple[Key, ...]

    @property
    def promised(self) -> bool:
        """Whether the product promises to keep the fact, as unions of many sums are beyond the search."""
        return self.kind != _DEEP


@dataclass(frozen=True)
class Rules:
    """A table's settings."""

    columns: tuple[str, ...]
    sum: str | None
    count: str
    threshold: int
    width: int
    zeros: str
    dominance: tuple[int, float] | None
    p_percent: float | None


@dataclass(frozen=True)
class World:
    """Tables of a single quantity, with the rows behind the tables.

    - `rows`: a row by column; the column ``who`` names a person, or nobody with None.
    - `below`: by column and code the codes below, those of ``Total`` among them.
    """

    rows: Sequence[Mapping[str, Any]]
    below: Mapping[str, Mapping[str, Sequence[str]]]
    tables: Sequence[Rules]

    def leaves(self, column: str, code: str) -> list[str]:
        """Return the finest codes below a code."""
        under = self.below[column].get(code)
        return [code] if under is None else [leaf for each in under for leaf in self.leaves(column, each)]

    def codes(self, column: str) -> list[str]:
        return [*dict.fromkeys([_TOTAL, *(each for under in self.below[column].values() for each in under)])]

    @cached_property
    def keys(self) -> dict[Key, list[Rules]]:
        """Each cell with all tables of the cell."""
        result: dict[Key, list[Rules]] = {}
        for table in self.tables:
            for codes in product(*map(self.codes, table.columns)):
                result.setdefault(_key(zip(table.columns, codes, strict=True)), []).append(table)
        return {key: [*dict.fromkeys(tables)] for key, tables in result.items()}

    @cached_property
    def members(self) -> dict[Key, dict[Any, float]]:
        """The part of each person in each cell, where a row of nobody is a person."""
        number, result = self.tables[0].sum, {key: {} for key in self.keys}
        for key, parts in result.items():
            inside = [(column, {*self.leaves(column, code)}) for column, code in key]
            for place, row in enumerate(self.rows):
                if all(row[column] in leaves for column, leaves in inside):
                    who = ("nobody", place) if row.get("who") is None else row["who"]
                    parts[who] = parts.get(who, 0.0) + (1.0 if number is None else row[number])
        return result

    @cached_property
    def counts_people(self) -> bool:
        """Whether cells are numbers of people; records are, too, where nobody has two."""
        everybody, table = self.members[frozenset()], self.tables[0]
        return table.sum is None and (table.count == "people" or len(everybody) == sum(everybody.values()))

    def value(self, key: Key) -> float:
        parts = self.members[key]
        return float(len(parts)) if self.counts_people else float(sum(parts.values()))

    @cached_property
    def sums(self) -> list[Sum]:
        result: dict[Sum, None] = {}
        for table in self.tables:
            for place, column in enumerate(table.columns):
                others = [self.codes(each) for each in table.columns]
                for total, under in self.below[column].items():
                    others[place] = [total]
                    for codes in product(*others):
                        whole = [*zip(table.columns, codes, strict=True)]
                        parts = [
                            _key([*whole[:place], (column, each), *whole[place + 1 :]]) for each in under
                        ]
                        result[Sum(_key(whole), tuple(parts), column not in self.overlapping)] = None
        return [*result, *self._sums_of_copies()]

    @cached_property
    def overlapping(self) -> set[str]:
        """The columns of which a person has several codes, where people are counted."""
        seen: dict[tuple[str, Any], set[str]] = {}
        for row in self.rows if self.counts_people else ():
            for table in self.tables:
                for column in table.columns if row.get("who") is not None else ():
                    seen.setdefault((column, row["who"]), set()).add(row[column])
        return {column for (column, _), codes in seen.items() if len(codes) > 1}

    def _sums_of_copies(self) -> Iterator[Sum]:
        """Yield the cells of a column that add up from those of another, determining column."""
        columns = [*dict.fromkeys(column for table in self.tables for column in table.columns)]
        for above, below in product(columns, columns):
            pairs = {(row[below], row[above]) for row in self.rows}
            apart = [
                any(a in each.columns and b not in each.columns for each in self.tables)
                for a, b in ((above, below), (below, above))
            ]
            if not all(apart) or len(pairs) > len({one for one, _ in pairs}):
                continue
            for key in self.keys:
                code = dict(key).get(above)
                rest = {pair for pair in key if pair[0] != above}
                parts = [
                    _key([*rest, (below, one)])
                    for one, over in sorted(pairs)
                    if code is not None and over in self.leaves(above, code)
                ]
                if parts and below not in dict(rest) and {*parts} <= {*self.keys}:
                    yield Sum(key, tuple(parts), not self.overlapping & {above, below})

    # --- rules ------------------------------------------------------------------------------------------

    def unsafe(self, cells: Sequence[Key], rules: Rules) -> bool:
        """Say whether the rules of a table find the union of some cells unsafe."""
        together: dict[Any, float] = {}
        for key in cells:
            for who, part in self.members[key].items():
                together[who] = together.get(who, 0.0) + part
        counted = sorted((part for part in together.values() if part > 0), reverse=True)
        if len(counted) < rules.threshold and (together or rules.zeros == "hide"):
            return True
        return self._slack(counted, rules) > 1e-7 * sum(counted)

    @staticmethod
    def _slack(parts: Sequence[float], rules: Rules) -> float:
        total, slack = sum(parts), 0.0
        if rules.dominance is not None:
            slack = max(slack, sum(parts[: rules.dominance[0]]) / rules.dominance[1] - total)
        if rules.p_percent is not None:
            first, second = [*parts, 0.0, 0.0][:2]
            slack = max(slack, rules.p_percent / 100 * first - (total - first - second))
        return slack

    def shows_zeros(self, key: Key) -> bool:
        return any(table.zeros == "show" for table in self.keys[key])

    def primary(self, key: Key) -> bool:
        """Say whether a cell must be hidden by itself."""
        tables = self.keys[key]
        if not self.members[key] and self.shows_zeros(key):
            return False
        return any(self.unsafe([key], table) for table in tables)

    # --- what is told -----------------------------------------------------------------------------------

    def told(self, hidden: set[Key], tally: Counter[str]) -> Iterator[Told]:
        """Yield all facts that the tables tell with some cells hidden, and count the search."""
        yield from (Told("shown", (key,)) for key in self.keys if key not in hidden and self.primary(key))
        yield from self._with_few_others(hidden)
        system = _System(self, sorted(hidden, key=sorted))
        yield from system.unions(tally)
        yield from system.narrow()
        yield from system.told_to_makers(tally)

    def _with_few_others(self, hidden: set[Key]) -> Iterator[Told]:
        """Yield the shown cells that tell how few people of a total have no code of the cell."""
        for total, parts, exact in self.sums:
            for key in () if exact or total in hidden else parts:
                threshold = max(table.threshold for table in self.keys[key])
                others = self.value(total) - self.value(key)
                if key not in hidden and self.members[key] and 0 < others < threshold:
                    yield Told("complement", (key,))


class _System:
    """The sums over the hidden cells: ``least <= matrix @ values <= most``."""

    def __init__(self, world: World, hidden: list[Key]) -> None:
        self.world, self.hidden = world, hidden
        self.true = np.array([world.value(key) for key in hidden])
        place = {key: number for number, key in enumerate(hidden)}
        rows, rest, most = [], [], []

        def add(signs: Sequence[tuple[Key, int]], *, exact: bool) -> None:
            row = np.zeros(len(hidden))
            for key, sign in signs:
                if key in place:
                    row[place[key]] += sign
            if row.any():
                rows.append(row)
                rest.append(-sum(sign * world.value(key) for key, sign in signs if key not in place))
                most.append(rest[-1] if exact else inf)

        for each in world.sums:
            add([*((part, 1) for part in each.parts), (each.total, -1)], exact=each.exact)
            for part in () if each.exact else each.parts:
                add([(each.total, 1), (part, -1)], exact=False)
        self.matrix = np.array(rows).reshape(len(rows), len(hidden))
        self.least, self.most = np.array(rest), np.array(most)
        self.lines = np.unique(self.matrix[self.least == self.most], axis=0)

    def unions(self, tally: Counter[str]) -> Iterator[Told]:
        """Yield the unsafe unions of hidden cells with a known sum."""
        size = len(self.hidden)
        if not 1 < size <= _FEW or not len(self.lines):
            return
        chosen = np.array([*product((0.0, 1.0), repeat=size)])[1:]
        _, values, right = np.linalg.svd(self.lines)
        open_ways = right[int((values > 1e-9).sum()) :]
        known = chosen[(np.abs(chosen @ open_ways.T) < 1e-7).all(axis=1)] if len(open_ways) else chosen
        near = None
        for union in known[known.sum(axis=1) > 1]:
            tally["unions"] += 1
            cells = tuple(self.hidden[number] for number in np.flatnonzero(union))
            tables = [table for key in cells for table in self.world.keys[key]]
            if all(self.world.unsafe(cells, table) for table in tables):
                near = _combined(self.lines) if near is None else near
                yield Told("union" if union.tobytes() in near else _DEEP, cells)

    def narrow(self) -> Iterator[Told]:
        """Yield the cells of which everybody knows too much."""
        for place, key in enumerate(self.hidden):
            if how := self._how_narrow(place, {}, above=False):
                yield Told(how, (key,))

    def told_to_makers(self, tally: Counter[str]) -> Iterator[Told]:
        """Yield the unsafe cells of which the sole contributor of other cells knows too much."""
        alone: dict[Any, list[int]] = {}
        for place, key in enumerate(self.hidden):
            makers = [who for who, part in self.world.members[key].items() if part > 0]
            if len(makers) == 1 and not self.world.counts_people:
                alone.setdefault(makers[0], []).append(place)
        for who, own in alone.items():
            tally["lone contributors"] += 1
            for place, key in enumerate(self.hidden):
                if place not in own and self.world.primary(key):
                    above = self.world.members[key].get(who, 0.0) > 0
                    if how := self._how_narrow(place, {each: self.true[each] for each in own}, above=above):
                        yield Told(f"{how} for one", (key, *(self.hidden[each] for each in own)))

    def _how_narrow(self, place: int, known: Mapping[int, float], *, above: bool) -> str:
        """Say how narrow an interval is: thin beside the average of people, or narrow, or else empty."""
        world, key, value = self.world, self.hidden[place], self.true[place]
        whole = world.tables[0].sum is None
        low, high = self._ends(place, known, whole=whole)
        if whole:
            return "narrow" if high - low < max(table.width for table in world.keys[key]) else ""
        parts, near = sorted(world.members[key].values(), reverse=True), 1e-6 * max(value, 1.0)
        slack = max(0.1 * value, *(world._slack(parts, table) for table in world.keys[key]))
        is_near = high < value + slack - near or (not above and low > max(value - slack, 0.0) + near)
        if (high < inf and high - low < 0.1 * high - near) or (world.primary(key) and is_near):
            return "narrow"
        average = world.value(frozenset()) / len(world.members[frozenset()])
        return "thin" if high - low < 0.1 * average - near else ""

    def _ends(self, place: int, known: Mapping[int, float], *, whole: bool) -> tuple[float, float]:
        """Return the least and the largest value of a cell."""
        low = np.array([float(whole and self.world.shows_zeros(key)) for key in self.hidden])
        high = np.full(len(self.hidden), inf)
        for each, value in known.items():
            low[each] = high[each] = value
        ends = []
        for sign in (1.0, -1.0):
            aim = np.zeros(len(self.hidden))
            aim[place] = sign
            limits = [LinearConstraint(self.matrix, self.least, self.most)] if len(self.matrix) else ()
            solved = milp(aim, constraints=limits, bounds=Bounds(low, high), integrality=int(whole))
            ends.append(sign * solved.fun if solved.status == 0 else (0.0 if sign > 0 else inf))
        return ends[0], ends[1]


def _key(pairs: Any) -> Key:
    return frozenset(pair for pair in pairs if pair[1] != _TOTAL)


def _combined(lines: np.ndarray) -> set[bytes]:
    """Return every combination of few sums, each added or taken away."""
    result = set()
    for count in range(1, _LINES + 1):
        signs = np.array([*product((1.0, -1.0), repeat=count)])
        for chosen in combinations(range(len(lines)), count):
            result.update((each + 0.0).tobytes() for each in signs @ lines[[*chosen]])
    return result
