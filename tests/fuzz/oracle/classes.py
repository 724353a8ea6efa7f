"""Equivalence classes: the rows and the people of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from fuzz.oracle.cells import covers
from fuzz.oracle.values import STAR, Column, Key, Raw, is_missing


@dataclass(frozen=True)
class Unnamed:
    """A person behind a row without a name."""

    row: int


class Part(NamedTuple):
    """A class, or the part of a class with the same other sensitive values.

    `number` is that of the class. `counter` says how many people have each value, `people` how many there are.
    """

    number: int
    counter: Counter[Key]
    people: int

    @property
    def shares(self) -> dict[Key, Fraction]:
        """The share of the people for each value."""
        return {key: Fraction(n, self.people) for key, n in self.counter.items()}

    @property
    def distribution(self) -> dict[Key, Fraction]:
        """Each count over the sum of all counts."""
        return {key: Fraction(n, sum(self.counter.values())) for key, n in self.counter.items()}


@dataclass
class Classes:
    """Equivalence classes: the rows of each, the values of sensitive columns, the whole table's counts.

    `whose` is the person of each row; empty where every row is a person. `people`, `outside` and `everybody`
    are of a population. `plain` are the classes by their cells alone, where `rows` are those that each matches
    by `wildcards`.
    """

    rows: list[list[int]]
    cells: list[tuple[Any, ...]]
    sensitive: dict[str, Column]
    total: int
    suppressed: int
    people: list[int] | None = None
    outside: int = 0
    everybody: int = 0
    whose: list[Hashable] = field(default_factory=list)
    plain: Classes | None = None
    wildcards: str = "value"

    @property
    def sizes(self) -> list[int]:
        """Rows of each class."""
        return [len(rows) for rows in self.rows]

    @property
    def crowds(self) -> list[int]:
        """People of each class."""
        return [len(self.people_of(rows)) for rows in self.rows]

    @property
    def unnamed(self) -> int:
        """Rows without a name."""
        return sum(isinstance(person, Unnamed) for person in self.whose)

    @property
    def left(self) -> int:
        """People with a row in a class."""
        return len(self.people_of(row for rows in self.rows for row in rows))

    @property
    def everyone(self) -> int:
        """All people of the table, with the suppressed rows."""
        return len(self.people_of(range(self.total)))

    def people_of(self, rows: Iterable[int]) -> set[Hashable]:
        """The people of the rows."""
        return {self.whose[row] for row in rows} if self.whose else set(rows)

    def worst(self, values: Sequence[Any]) -> list[Any]:
        """The largest value of a person's classes, for everybody."""
        result: dict[Hashable, Any] = {}
        own = self.rows if self.plain is None or self.wildcards == "conservative" else self.plain.rows
        for rows, value in zip(own, values, strict=True):
            for person in self.people_of(rows):
                result[person] = max(result.get(person, value), value)
        return list(result.values())

    def counts(self, attribute: str, joint: bool = False) -> list[Part]:
        """Per class, or per part of a class, the number of people with each value."""
        others = (
            [column.keys for name, column in self.sensitive.items() if name != attribute] if joint else []
        )
        result = []
        for number, rows in enumerate(self.rows):
            parts: dict[tuple[Key, ...], list[int]] = defaultdict(list)
            for row in rows:
                parts[tuple(other[row] for other in others)].append(row)
            result += [
                Part(number, self._held(attribute, part), len(self.people_of(part)))
                for part in parts.values()
            ]
        return result

    def whole(self, attribute: str) -> Counter[Key]:
        """How many people of the whole table have each value."""
        return self._held(attribute, range(self.total))

    def _held(self, attribute: str, rows: Iterable[int]) -> Counter[Key]:
        keys = self.sensitive[attribute].keys
        holders: dict[Key, list[int]] = defaultdict(list)
        for row in rows:
            holders[keys[row]].append(row)
        return Counter({key: len(self.people_of(held)) for key, held in holders.items()})

    def known_by(self, columns: Sequence[int]) -> Classes:
        """Groups of rows that look alike to an observer of some columns, by position."""
        if self.plain is not None:
            return self.plain.known_by(columns).seen(self.wildcards)
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for cells, rows in zip(self.cells, self.rows, strict=True):
            groups[tuple(cells[j] for j in columns)] += rows
        return replace(self, rows=list(groups.values()), cells=list(groups), people=None)

    def seen(self, wildcards: str) -> Classes:
        """Let each class have all matching rows if ``*`` and missing cells match anything or nothing."""
        if wildcards == "value":
            return self
        if wildcards == "matches-any":
            rows = [
                [
                    row
                    for other, held in zip(self.cells, self.rows, strict=True)
                    if _may_be(cells, other)
                    for row in held
                ]
                for cells in self.cells
            ]
            return replace(self, rows=rows, plain=self, wildcards=wildcards)
        tells = [
            j for j in range(len(self.cells[0]) if self.cells else 0)
            if any(not _hides(cells[j]) for cells in self.cells)
        ]  # fmt: skip
        rows, cells, people = [], [], []
        for place, (key, held) in enumerate(zip(self.cells, self.rows, strict=True)):
            alone = any(_hides(key[j]) for j in tells)
            rows += [[row] for row in held] if alone else [held]
            many = len(held) if alone else 1
            cells += [key] * many
            if self.people is not None:
                covered = self.people[place]
                people += [min(covered, 1) if alone else covered] * many
        return replace(
            self,
            rows=rows,
            cells=cells,
            people=None if self.people is None else people,
            plain=self,
            wildcards=wildcards,
        )


def _hides(cell: Any) -> bool:
    return cell is None or cell == STAR


def _may_be(cells: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(a == b or _hides(a) or _hides(b) for a, b in zip(cells, others, strict=True))


def group(
    cells: Sequence[Sequence[Any]], sensitive: dict[str, Column], whose: Sequence[Hashable] = ()
) -> Classes:
    """Group rows, given per column, by cells, where rows of ``*`` alone are suppressed."""
    result: dict[tuple[Any, ...], list[int]] = {}
    suppressed = 0
    rows = list(zip(*cells, strict=True))
    for row, key in enumerate(rows):
        if all(cell == STAR for cell in key):
            suppressed += 1
        else:
            result.setdefault(key, []).append(row)
    return Classes(list(result.values()), list(result), sensitive, len(rows), suppressed, whose=list(whose))


def read_people(columns: Sequence[Sequence[Raw]], null_values: Sequence[str]) -> list[Hashable]:
    """Read the person of each row by the person columns, where a row without any name is a person."""
    named = [
        tuple(None if is_missing(raw, null_values) else raw for raw in row)
        for row in zip(*columns, strict=True)
    ]
    return [Unnamed(row) if set(name) == {None} else name for row, name in enumerate(named)]


def with_people(classes: Classes, columns: Sequence[Column], people: Sequence[Column]) -> Classes:
    """Count whom of a population the cells of each class cover."""
    everybody = len(people[0].keys)
    seen = [False] * everybody
    counted = []
    for cells in classes.cells:
        covered = 0
        for person in range(everybody):
            if all(
                covers(column, column.keys[person], cell) for column, cell in zip(people, cells, strict=True)
            ):
                covered += 1
                seen[person] = True
        counted.append(covered)
    classes.people, classes.everybody, classes.outside = counted, everybody, seen.count(False)
    return classes
