"""The people whom the cells of a class cover, in a population or in the raw table.

The distinct combinations of people's values are numbered. A set of combinations is a whole number with a bit
for each. A cell covers a set of combinations. A class covers those that all of its cells cover.

Tables made here
----------------
covered
    class, size, people: the records and the people of each class.
uncovered
    people: how many no class covers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol

from incrowd.errors import TableError
from incrowd.verification.cells import CellReader
from incrowd.verification.checks import Checks
from incrowd.verification.classes import written
from incrowd.verification.policy import SUPPRESSED, Column, Nulls
from incrowd.verification.source import Table
from incrowd.verification.wildcards import alone

_MOST_BYTES = 10**12
"""What may be looked through: a minute or two."""


class Covers(Protocol):
    """Says whether a cell is true of a value."""

    def __call__(self, cell: Any, value: Any, /) -> bool:
        """Say so."""


class Coverage:
    """Classes and the people whom their cells cover.

    Parameters
    ----------
    classes
        What names each class, and its cells.
    keys
        The distinct combinations of people's values, and how many people have each.
    covers
        For every column how its cells are read.

    Raises
    ------
    TableError
        There are too many of both.
    """

    def __init__(
        self,
        classes: dict[Hashable, Sequence[Any]],
        keys: Sequence[tuple[Sequence[Any], int]],
        covers: Sequence[Covers],
    ) -> None:
        if len(classes) * len(keys) // 8 * len(covers) > _MOST_BYTES:
            raise TableError(
                f"{len(classes):,} classes and {len(keys):,} combinations of values are too many to compare"
            )
        self._counts = [count for _, count in keys]
        everybody = (1 << len(keys)) - 1
        self.sets: dict[Hashable, int] = dict.fromkeys(classes, everybody)
        for column, reads in enumerate(covers):
            having: dict[Any, list[int]] = {}
            for number, (values, _) in enumerate(keys):
                having.setdefault(values[column], []).append(number)
            sets = {value: _as_set(numbers) for value, numbers in having.items()}
            known: dict[Any, int] = {}
            for name, cells in classes.items():
                text = cells[column]
                if text not in known:
                    known[text] = _union(numbers for value, numbers in sets.items() if reads(text, value))
                self.sets[name] &= known[text]

    @cached_property
    def _planes(self) -> list[int]:
        """For each binary digit of a count the set of keys that have it."""
        return [
            _as_set(number for number, count in enumerate(self._counts) if count >> digit & 1)
            for digit in range(max(self._counts, default=0).bit_length())
        ]

    def _count(self, keys: int) -> int:
        return sum((keys & plane).bit_count() << digit for digit, plane in enumerate(self._planes))

    def people(self, name: Hashable) -> int:
        """Return how many people a class covers."""
        return self._count(self.sets[name])

    def outside(self) -> int:
        """Return how many people no class covers."""
        everybody = (1 << len(self._counts)) - 1
        return self._count(everybody & ~_union(self.sets.values()))


def cover(con: Checks, table: Table, quasi: Sequence[Column], null_values: Nulls) -> None:
    """Count in a population whom the cells of each class cover: make the tables `covered` and `uncovered`."""
    names = [column.name for column in quasi]
    rows = con.execute(alike(con, table, names, null_values)).fetchall()
    # Who is `*` throughout is nobody in particular, and in no class.
    known = [row for row in rows if any(value != SUPPRESSED for value in row[:-1])]
    hidden = sum(int(row[-1]) for row in rows) - sum(int(row[-1]) for row in known)
    texts = ", ".join(f"CAST(q{number} AS VARCHAR)" for number in range(len(quasi)))
    cells = con.execute(f"SELECT class, {texts} FROM classes").fetchall()
    classes: dict[Hashable, Sequence[Any]] = {row[0]: row[1:] for row in cells}
    readers = [
        CellReader(
            column,
            list({row[number] for row in known}),
            stored=table.kind_of(column.name),
            of_people=True,
        )
        for number, column in enumerate(quasi)
    ]
    coverage = Coverage(
        classes, [(row[:-1], int(row[-1])) for row in known], [reader.covers for reader in readers]
    )
    con.execute(
        "CREATE TABLE covered AS SELECT class, size, people FROM classes "
        "JOIN (SELECT unnest(?::BIGINT[]) AS class, unnest(?::HUGEINT[]) AS people) USING (class)",
        [list(classes), [coverage.people(name) for name in classes]],
    )
    con.execute("CREATE TABLE uncovered AS SELECT ?::HUGEINT AS people", [hidden + coverage.outside()])


def alike(con: Checks, table: Table, quasi: Sequence[str], null_values: Nulls) -> str:
    """Write the question for the combinations of people's values q0, q1, ..., and how many, n, have each."""
    columns = ", ".join(f"{written(con, table, name, null_values)} AS q{at}" for at, name in enumerate(quasi))
    keys = ", ".join(f"q{at}" for at in range(len(quasi)))
    people = f"(SELECT {columns} FROM {table.name} AS t)"
    return f"SELECT {keys}, count(*)::HUGEINT AS n FROM {people} GROUP BY {keys}"


def sizes_and_people(quasi: int, wildcards: str) -> str:
    """Write the question for the records and the people of each class: size, people."""
    if wildcards != "conservative":
        return "SELECT size, people FROM main.covered"
    # Each record of such a class counts alone, and so does its person.
    one = f"(SELECT class FROM main.classes WHERE {alone(range(quasi))})"
    return (
        f"SELECT CASE WHEN class IN {one} THEN 1 ELSE size END AS size, "
        f"CASE WHEN class IN {one} THEN least(people, 1) ELSE people END AS people FROM main.covered"
    )


def _as_set(keys: Iterable[int]) -> int:
    members = bytearray()
    for key in keys:
        if key >> 3 >= len(members):
            members.extend(bytes((key >> 3) + 1 - len(members)))
        members[key >> 3] |= 1 << (key & 7)
    return int.from_bytes(members, "little")


def _union(sets: Iterable[int]) -> int:
    together = 0
    for one in sets:
        together |= one
    return together
