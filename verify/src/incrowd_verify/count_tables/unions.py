"""Hidden cells that are known together: a total that is shown, less the parts that are shown.

Of ``Total = a + b + c`` with ``c`` shown, everybody knows ``a + b``. So the rules are asked of it as of one
cell: one person may be alone in both (common respondents; Daalmans and de Waal, An Improved Formulation of
the Disclosure Auditing Problem for Secondary Cell Suppression, Transactions on Data Privacy 3, 2010). Sums
and differences of such lines may tell further unions::

    Total = north + south      both hidden:  north + south
    north = a + b              all hidden:   a + b + south, by the sum of both lines

All lines are looked at. Combinations have two or three lines, each once. In each part of the tables whose
lines have hidden cells in common 2,000 of them are tried, those of two lines before those of three.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum

from incrowd_verify.count_tables.published import Cell

_LINES = 3
"""Lines of which a combination is made at most."""
_COMBINATIONS = 2_000
"""Combinations of lines that are tried in a part of the tables."""


@dataclass(frozen=True)
class Line:
    """The hidden cells of a sum that holds exactly: 1 for each hidden part, -1 for a hidden total.

    - `total`: the cell of the total.
    - `signs`: the hidden cells.
    - `value`: what they come to: the total less the parts that are shown.
    - `tables`: the names of the tables that have it.
    """

    total: Cell
    signs: Mapping[Cell, int]
    value: float
    tables: frozenset[str]


@dataclass(frozen=True)
class Union:
    """Two or more hidden cells with a known sum.

    - `cells`, `value`: the cells, and their sum.
    - `total`: the total, where one line alone tells it.
    """

    cells: frozenset[Cell]
    value: float
    total: Cell | None = None


def unions(lines: Iterable[Line]) -> Iterator[Union]:
    """Yield each union of two or more hidden cells that different lines tell."""
    for part in _parts([line for line in lines if line.signs]):
        seen: set[frozenset[Cell]] = set()
        single = (
            Union(frozenset(line.signs), line.value, line.total)
            for line in part
            if min(line.signs.values()) > 0
        )
        for each in chain(single, _of_combinations(part)):
            if len(each.cells) > 1 and each.cells not in seen:
                seen.add(each.cells)
                yield each


def _by_cell(lines: Iterable[Line]) -> dict[Cell, list[int]]:
    """Return the numbers of the lines that have each cell."""
    numbers: dict[Cell, list[int]] = {}
    for number, line in enumerate(lines):
        for cell in line.signs:
            numbers.setdefault(cell, []).append(number)
    return numbers


def _parts(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the groups of lines that hidden cells tie together."""
    numbers, found = _by_cell(lines), set[int]()
    for first in range(len(lines)):
        part, new = [], [first]
        while new:
            number = new.pop()
            if number not in found:
                found.add(number)
                part.append(number)
                new += (other for cell in lines[number].signs for other in numbers.pop(cell, ()))
        if part:
            yield [lines[number] for number in sorted(part)]


def _of_combinations(lines: Sequence[Line]) -> Iterator[Union]:
    """Yield the unions that sums and differences of two and three lines tell.

    Each begins with a line that is below 0 somewhere, or its negative. Lines that are not have no cell in
    common in a union, and where each of them is safe, they are safe together.
    """
    numbers = _by_cell(lines)
    begun = [
        frozenset([(number, sign)])
        for number, line in enumerate(lines)
        for sign in (1, -1)
        if min(sign * each for each in line.signs.values()) < 0
    ]
    queue, seen, most = deque(begun), {*begun}, len(begun) + _COMBINATIONS
    while queue:
        chosen = queue.popleft()
        counts = Counter[Cell]()
        for number, sign in chosen:
            for cell, each in lines[number].signs.items():
                counts[cell] += sign * each
        come = {cell: count for cell, count in counts.items() if count}
        if {*come.values()} == {1}:
            value = fsum(sign * lines[number].value for number, sign in chosen)
            yield Union(frozenset(come), value)
        for step in _steps(lines, numbers, come) if len(chosen) < _LINES else ():
            further = chosen | {step}
            if (
                len({number for number, _ in further}) > len(chosen)
                and further not in seen
                and len(seen) < most
            ):
                seen.add(further)
                queue.append(further)


def _steps(
    lines: Sequence[Line], numbers: Mapping[Cell, Sequence[int]], come: Mapping[Cell, int]
) -> Iterator[tuple[int, int]]:
    """Yield the lines that a combination may grow by, each with a sign.

    A cell that comes to neither 0 nor 1 needs a line that has it, and brings it nearer.
    """
    wrong = next((cell for cell, count in come.items() if count != 1), None)
    if wrong is None:
        yield from dict.fromkeys((n, sign) for cell in come for n in numbers[cell] for sign in (1, -1))
        return
    for number in numbers[wrong]:
        yield number, -1 if (lines[number].signs[wrong] > 0) == (come[wrong] > 0) else 1
