"""Counting the people of cells, and each person's part of a sum: question, answer, and rows in memory.

Example: a table of sex by town. Each row is in four cells, those of its sex or of all, and of its town or of
all. A person counts once in a cell, however many of the person's rows are in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

from incrowd.core.lazy import NDArray, np

LEAST, MOST = -300, 300
"""Powers of ten that a unit of a sum may be."""
_ROOM = 62
"""Bits of a sum of whole units."""


class Amounts(NamedTuple):
    """A whole number for each row, by the key of columns that were counted alone.

    Attributes
    ----------
    columns
        These columns, counted as quasi-identifiers.
    of_key
        int64[keys]
    """

    columns: Any  # a Counted
    of_key: NDArray[np.int64]


@dataclass(frozen=True)
class CellQuestion:
    """A question about the cells of a table.

    Attributes
    ----------
    nodes
        Per quasi-identifier int64[depths, values]: the code above each value at each depth, -1 where there
        is none.
    sizes
        How many codes each quasi-identifier has.
    person
        The columns that name a person; none where each row is a person.
    null_values
        The texts that mean missing there.
    amounts
        What is summed; None to count alone.
    largest
        How many of the largest parts of a sum are asked for.
    marks
        A number of 64 bits for each person, of which the sum is asked for; None for no such sum.
    parts
        Whether each person's part of each finest cell is asked for, where people are in several.
    """

    nodes: Sequence[NDArray[np.int64]]
    sizes: Sequence[int]
    person: tuple[str, ...]
    null_values: tuple[str, ...]
    amounts: Amounts | None = None
    largest: int = 0
    marks: Amounts | None = None
    parts: bool = False

    @property
    def depths(self) -> Iterator[tuple[int, ...]]:
        """Every combination of depths."""
        return product(*(range(len(each)) for each in self.nodes))

    @cached_property
    def strides(self) -> list[int]:
        """The factor of the code of each quasi-identifier in the number of a cell."""
        return [prod(self.sizes[place + 1 :]) for place in range(len(self.sizes))]

    @cached_property
    def finest(self) -> list[NDArray[np.int64]]:
        """Per quasi-identifier int64[values]: the finest code above each value."""
        return [nodes[(nodes >= 0).sum(axis=0) - 1, np.arange(nodes.shape[1])] for nodes in self.nodes]

    def has_repeats(self, people: NDArray[np.int64]) -> bool:
        """Say whether somebody is in several of the finest cells, by the people of each cell."""
        leaves = people.reshape(self.sizes)[np.ix_(*map(np.unique, self.finest))]
        return bool(leaves.sum() > people[0])


class PersonParts(NamedTuple):
    """The part of each person in each of the finest cells that the person is in.

    Attributes
    ----------
    cell
        int64[parts]: the finest cell.
    person
        int64[parts]: whose it is, -1 where no one is named: each such part is a person's own.
    part
        int64 or float64[parts]: the sum of the person's amounts there.
    """

    cell: NDArray[np.int64]
    person: NDArray[np.int64]
    part: NDArray[Any]


class CellPeople(NamedTuple):
    """The people of cells.

    Attributes
    ----------
    people
        int64[cells]: how many there are.
    sums
        int64[cells]: the sum of the amounts.
    largest
        int64[cells, n]: the largest parts of it, in descending order, one a person.
    marks
        uint64[cells]: the sum of the marks modulo 2**64.
    contributors
        int64[cells]: how many people have a part above 0.
    parts
        The parts of each person; None where they were not asked for, or nobody is in several finest cells.
    """

    people: NDArray[np.int64]
    sums: NDArray[np.int64]
    largest: NDArray[np.int64]
    marks: NDArray[np.uint64]
    contributors: NDArray[np.int64]
    parts: PersonParts | None = None

    @classmethod
    def none(cls, question: CellQuestion) -> CellPeople:
        """Return cells without people, to be filled."""
        size = prod(question.sizes)
        people, sums, contributors = (np.zeros(size, np.int64) for _ in range(3))
        largest = np.zeros((size, question.largest), np.int64)
        return cls(people, sums, largest, np.zeros(size, np.uint64), contributors)

    def add_largest(
        self, cell: NDArray[np.int64], parts: NDArray[np.int64], people: NDArray[np.int64] | None = None
    ) -> None:
        """Fill in the largest parts of some cells.

        Parameters
        ----------
        cell, parts
            int64[parts]: the cell of each part, and the part; all that may be among the largest.
        people
            int64[parts]: how many people have each; None for one.
        """
        rank = self.largest.shape[1]
        if people is not None:
            each = np.minimum(people, rank)
            cell, parts = np.repeat(cell, each), np.repeat(parts, each)
        order = np.lexsort((-parts, cell))
        ordered = cell[order]
        place = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        top = place < rank
        self.largest[ordered[top], place[top]] = parts[order][top]


class CellLines(NamedTuple):
    """Rows in memory, or lines of alike rows.

    Attributes
    ----------
    codes
        Per quasi-identifier int[lines]: its values.
    person
        int[lines]: whose they are, -1 where no one is named: such a row is a person of its own. None where
        no column names people.
    amounts, marks
        int64[lines]: the numbers of a row; None where the question has none.
    rows
        int64[lines]: how many rows are alike; None for one.
    """

    codes: Sequence[NDArray[np.integer]]
    person: NDArray[np.integer] | None
    amounts: NDArray[np.int64] | None
    marks: NDArray[np.int64] | None
    rows: NDArray[np.int64] | None = None


def people_of_lines(question: CellQuestion, lines: CellLines) -> CellPeople:
    """Count lines that are in memory."""
    number = len(lines.codes[0])
    unit = np.arange(number, dtype=np.int64) if lines.person is None else lines.person.astype(np.int64)
    unnamed = np.arange(number) if lines.person is None else np.flatnonzero(unit < 0)
    if lines.person is not None:
        unit[unnamed] = unit.max(initial=-1) + 1 + np.arange(len(unnamed))
    alone = bool(np.bincount(unit).max(initial=1) == 1)
    amounts, standing = lines.amounts, None
    if lines.rows is not None:
        # Rows of nobody stand for as many people, and a person has the sum of alike rows.
        standing = np.ones(unit.max(initial=-1) + 1, np.int64)
        standing[unit[unnamed]] = lines.rows[unnamed]
        if amounts is not None:
            amounts = amounts * lines.rows // standing[unit]
    marks = None
    if lines.marks is not None:
        marks = np.zeros(unit.max(initial=-1) + 1, np.uint64)
        marks[unit] = lines.marks.view(np.uint64)
    cells = CellPeople.none(question)
    for depths in question.depths:
        cell, inside = np.zeros(number, np.int64), np.ones(number, np.bool_)
        for nodes, depth, code, stride in zip(
            question.nodes, depths, lines.codes, question.strides, strict=True
        ):
            node = nodes[depth][code]
            inside &= node >= 0
            cell += node * stride
        own = None if amounts is None else amounts[inside]
        cell, who, parts = _each_once(cell[inside], unit[inside], own, alone=alone)
        people = None if standing is None else standing[who]
        np.add.at(cells.people, cell, 1 if people is None else people)
        if marks is not None:
            np.add.at(cells.marks, cell, marks[who])
        if parts is not None:
            np.add.at(cells.sums, cell, parts if people is None else parts * people)
            np.add.at(cells.contributors, cell, (parts > 0) * (1 if people is None else people))
            cells.add_largest(cell, parts, people)
    if not question.parts or not question.has_repeats(cells.people):
        return cells
    cell = np.zeros(number, np.int64)
    for finest, code, stride in zip(question.finest, lines.codes, question.strides, strict=True):
        cell += finest[code] * stride
    own = np.zeros(number, np.int64) if amounts is None else amounts
    cell, who, parts = _each_once(cell, unit, own, alone=alone)
    assert parts is not None
    is_named = np.ones(unit.max(initial=-1) + 1, np.bool_)
    is_named[unit[unnamed]] = False
    person = np.where(is_named[who], who, -1)
    many = np.ones(len(who), np.int64) if standing is None else standing[who]
    return cells._replace(parts=PersonParts(*(np.repeat(each, many) for each in (cell, person, parts))))


def _each_once(
    cell: NDArray[np.int64], unit: NDArray[np.int64], amounts: NDArray[np.int64] | None, *, alone: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64] | None]:
    """Return each person once in each cell, with the sum of the person's amounts there."""
    if alone:
        return cell, unit, amounts
    size = int(unit.max(initial=0)) + 1
    if amounts is None:
        pair = np.sort(cell * size + unit)
        pair = pair[np.append(True, pair[1:] != pair[:-1])[: len(pair)]]
        return pair // size, pair % size, None
    pair, place = np.unique(cell * size + unit, return_inverse=True)
    parts = np.zeros(len(pair), np.int64)
    np.add.at(parts, place, amounts)
    return pair // size, pair % size, parts


def whole_units(numbers: NDArray[np.float64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return numbers as whole units, so that sums are exact and do not depend on the order of rows.

    Numbers with some decimals are whole numbers of their last one. Where not all have an end, or where the
    sum of all would not fit, the unit is the finest in which it fits.

    Parameters
    ----------
    numbers
        float64[values], each 0 or more.
    rows
        int64[values]: how often each occurs.

    Returns
    -------
    units
        int64[values]
    power
        The number is its units divided by ten to this power.

    Examples
    --------
    >>> import numpy as np
    >>> whole_units(np.array([0.1, 0.25, 3.0]), np.array([3, 1, 1]))
    (array([ 10,  25, 300]), 2)
    """
    highest = float(numbers.max(initial=0.0))
    if not highest:
        return np.zeros(len(numbers), np.int64), 0
    room = _ROOM * np.log10(2) - np.log10(highest) - np.log10(max(int(rows.sum()), 1))
    finest = int(np.clip(np.floor(room), LEAST, MOST))
    for power in [*range(min(finest, 18)), finest]:
        units = np.rint(scaled(numbers, power))
        if (scaled(units, -power) == numbers).all():
            break
    return units.astype(np.int64), power


def scaled(numbers: NDArray[np.float64], power: int) -> NDArray[np.float64]:
    """Multiply numbers by a power of ten.

    Examples
    --------
    >>> import numpy as np
    >>> scaled(np.array([3.0]), -1)
    array([0.3])
    """
    return numbers * 10.0**power if power >= 0 else numbers / 10.0**-power
