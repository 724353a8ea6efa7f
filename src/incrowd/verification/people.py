"""The people whom the cells of a class cover, in a population or in the raw table.

The distinct combinations of people's values are numbered. A set of combinations is a whole number with a bit
for each. A cell covers a set of combinations. A class covers those that all of its cells cover.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from incrowd.errors import TableError
from incrowd.verification.cells import CellReader
from incrowd.verification.classes import group_of, written
from incrowd.verification.policy import SUPPRESSED, Column
from incrowd.verification.source import Table

if TYPE_CHECKING:
    import duckdb

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


class People:
    """A population beside the classes of a connection.

    Parameters
    ----------
    con
        Where the tables of `classes.group` are.
    table
        The population, loaded; it has the quasi-identifiers, not generalized.
    quasi
        The quasi-identifiers.
    null_values
        Texts that mean missing.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        table: Table,
        quasi: Sequence[Column],
        null_values: Sequence[str],
    ) -> None:
        names = [column.name for column in quasi]
        stored = [group_of(table.types[table.place(name)]) for name in names]
        rows = con.execute(alike(con, table, names, null_values)).fetchall()
        # Who is `*` throughout is nobody in particular, and in no class.
        known = [row for row in rows if any(value != SUPPRESSED for value in row[:-1])]
        self._hidden = sum(int(row[-1]) for row in rows) - sum(int(row[-1]) for row in known)
        texts = ", ".join(f"CAST(q{number} AS VARCHAR)" for number in range(len(quasi)))
        classes = con.execute(f"SELECT class, size, {texts} FROM classes").fetchall()
        self._sizes = {row[0]: int(row[1]) for row in classes}
        readers = [
            CellReader(column, list({row[number] for row in known}), stored=stored[number], of_people=True)
            for number, column in enumerate(quasi)
        ]
        self._coverage = Coverage(
            {row[0]: row[2:] for row in classes},
            [(row[:-1], int(row[-1])) for row in known],
            [reader.covers for reader in readers],
        )

    def sizes_and_people(self, alone: Collection[int] = ()) -> list[tuple[int, int]]:
        """Return for every class its records, and the people whom its cells cover.

        Parameters
        ----------
        alone
            Classes of which each record counts alone, and so does whoever it is.
        """
        found = {name: (size, self._coverage.people(name)) for name, size in self._sizes.items()}
        return [
            (1, min(people, 1)) if name in alone else (size, people) for name, (size, people) in found.items()
        ]

    def outside(self) -> int:
        """Return how many people no class covers."""
        return self._hidden + self._coverage.outside()


def alike(
    con: duckdb.DuckDBPyConnection, table: Table, quasi: Sequence[str], null_values: Sequence[str]
) -> str:
    """Write the question for the combinations of people's values q0, q1, ..., and how many, n, have each."""
    columns = ", ".join(f"{written(con, table, name, null_values)} AS q{at}" for at, name in enumerate(quasi))
    keys = ", ".join(f"q{at}" for at in range(len(quasi)))
    people = f"(SELECT {columns} FROM {table.name} AS t)"
    return f"SELECT {keys}, count(*)::HUGEINT AS n FROM {people} GROUP BY {keys}"


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
