"""Cells that are hidden singly and known together, so that the rules of a cell apply to the union.

The total and what is shown tell the sum of all hidden parts, however many there are::

    Total 560 = A ? + B ? + C 200 + D 200      A + B = 160

Whoever computes it knows as much of its people as a cell would tell. One person may have both A and B.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import fsum
from typing import NamedTuple

from incrowd.core.lazy import NDArray, np
from incrowd.release.tables.audit import check_time
from incrowd.release.tables.cells import Sums, sums_of
from incrowd.release.tables.counting import Cells
from incrowd.release.tables.layout import SumRule

_MOST = 4_000
"""Combinations of sums that are looked at where hidden cells tie the sums to one another."""
_SUMS = 3
"""Sums of which a combination is made at most."""


class Breach(NamedTuple):
    """A union of hidden cells that is unsafe and can be computed.

    Attributes
    ----------
    cells
        int64[cells]: the hidden cells.
    further
        int64[cells]: shown cells, of which some must be hidden, too.
    help
        float64[cells]: the share that each of them has of what the union lacks, above 0, and 1 for enough.
    """

    cells: NDArray[np.int64]
    further: NDArray[np.int64]
    help: NDArray[np.float64]


class _Members(NamedTuple):
    """The people of a cell or a union, with parts of the sum, the largest first.

    Where nobody is in several finest cells, only the largest parts are there, and the people have no numbers.
    """

    person: NDArray[np.int64]
    part: NDArray[np.float64]


@dataclass(frozen=True)
class Unions:
    """The sums of a table that hold exactly, and the people of each cell.

    Attributes
    ----------
    cells
        The table.
    """

    cells: Cells

    @cached_property
    def _sums(self) -> Sums:
        sums, overlapping = sums_of(self.cells.axes), self.cells.overlapping
        exact = np.array([axis.column not in overlapping for axis in self.cells.axes])[sums.axis]
        parts = [each for each, holds in zip(sums.parts, exact, strict=True) if holds]
        return Sums(sums.totals[exact], parts, sums.axis[exact])

    @cached_property
    def _ranks(self) -> list[NDArray[np.int64]]:
        """Per dimension int64[parts]: the place of each person's finest code among the finest codes."""
        assert self.cells.parts is not None
        codes = np.unravel_index(self.cells.parts.cell, self.cells.shape)
        return [
            np.searchsorted(axis.tree.leaves, code) for axis, code in zip(self.cells.axes, codes, strict=True)
        ]

    @cached_property
    def _person(self) -> NDArray[np.int64]:
        """int64[parts]: the person of each part; a part of nobody is a person apart."""
        assert self.cells.parts is not None
        person = self.cells.parts.person
        unnamed = person < 0
        return np.where(unnamed, person.max(initial=0) + np.cumsum(unnamed), person)

    @cached_property
    def _members(self) -> dict[int, _Members]:
        return {}

    def members(self, cell: int) -> _Members:
        """Return the people of a cell with a part in the cell."""
        if cell not in self._members:
            self._members[cell] = self._count_members(cell)
        return self._members[cell]

    def _count_members(self, cell: int) -> _Members:
        table, parts = self.cells, self.cells.parts
        if parts is None:
            own = table.largest[cell][table.largest[cell] > 0]
            return _Members(np.zeros(0, np.int64), own)
        inside = parts.part > 0 if table.layout.sum is not None else np.ones(len(parts.cell), np.bool_)
        for axis, rank, code in zip(
            table.axes, self._ranks, np.unravel_index(cell, table.shape), strict=True
        ):
            inside &= (rank >= axis.tree.lo[code]) & (rank < axis.tree.hi[code])
        return _merged(self._person[inside], parts.part[inside])

    def of_one_person(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the cells of a single person, and all cells with a part of that person, by person.

        Who knows the own part knows the cells that are the person's alone. There are none in counts of
        people, where the number of others is what nobody knows.
        """
        table = self.cells
        if table.layout.sum is None and np.array_equal(table.values, table.people):
            return []
        groups: dict[int, list[int]] = {}
        for cell in np.flatnonzero(table.contributors == 1).tolist():
            if table.parts is not None:
                groups.setdefault(int(self.members(cell).person[0]), []).append(cell)
                continue
            # The person has one part, in the finest cell that is not empty.
            codes = np.unravel_index(cell, table.shape)
            below = np.ix_(
                *(
                    axis.tree.leaves[axis.tree.lo[code] : axis.tree.hi[code]]
                    for axis, code in zip(table.axes, codes, strict=True)
                )
            )
            [place] = np.argwhere(table.contributors.reshape(table.shape)[below])
            leaf = [int(each.flat[n]) for each, n in zip(below, place, strict=True)]
            groups.setdefault(int(np.ravel_multi_index(leaf, table.shape)), []).append(cell)
        if table.parts is None:
            return [(np.array(cells, np.int64), self._above([leaf])) for leaf, cells in groups.items()]
        given = self._person[table.parts.part > 0] if table.layout.sum is not None else self._person
        leaves = table.parts.cell[table.parts.part > 0] if table.layout.sum is not None else table.parts.cell
        return [
            (np.array(cells, np.int64), self._above(leaves[given == person].tolist()))
            for person, cells in groups.items()
        ]

    def _above(self, leaves: list[int]) -> NDArray[np.int64]:
        """Return the cells that contain some of the finest cells."""
        table, above = self.cells, set[int]()
        for leaf in leaves:
            ways = []
            for axis, code in zip(table.axes, np.unravel_index(leaf, table.shape), strict=True):
                way = [int(code)]
                while way[-1]:
                    way.append(int(axis.tree.parents[way[-1]]))
                ways.append(way)
            above |= {*np.ravel_multi_index(np.array([*product(*ways)]).T, table.shape).tolist()}
        return np.array(sorted(above), np.int64)

    def breaches(self, hidden: NDArray[np.bool_], *, chains: bool) -> Iterator[Breach]:
        """Yield the unions that are unsafe and can be computed.

        Parameters
        ----------
        hidden
            bool[cells of the table]: which are hidden.
        chains
            Whether several sums together are looked at, too, as far as they are `_MOST`.
        """
        sums = self._sums
        ways: list[dict[int, int]] = []
        for total, parts in zip(sums.totals.tolist(), sums.parts, strict=True):
            check_time()
            count = int(hidden[parts].sum())
            if hidden[total] or count:
                ways.append({total: -1, **dict.fromkeys(parts.tolist(), 1)})
            if not hidden[total] and count > 1:
                yield from self._breach(ways[-1], hidden)
        for way in _chains(ways, hidden) if chains else ():
            yield from self._breach(way, hidden)

    def _breach(self, way: dict[int, int], hidden: NDArray[np.bool_]) -> Iterator[Breach]:
        """Yield the union that a combination of sums tells, if unsafe."""
        union = np.array([cell for cell in way if hidden[cell]], np.int64)
        lack = self._lack(union)
        if lack is None:
            return
        shown = np.array([cell for cell, sign in way.items() if sign and not hidden[cell]], np.int64)
        # A total says nothing any more once it is hidden; another part makes the union larger.
        is_line = all(way[cell] > 0 for cell in union) and sum(sign < 0 for sign in way.values()) <= 1
        share = np.array(
            [lack.help(self, cell) if is_line and way[cell] == 1 else 1.0 for cell in shown.tolist()]
        )
        yield Breach(union, shown[share > 0], share[share > 0])

    def _lack(self, union: NDArray[np.int64]) -> _Lack | None:
        """Return the lack of an unsafe union, None for a safe one."""
        table, layout = self.cells, self.cells.layout
        members = [self.members(cell) for cell in union.tolist()]
        if table.parts is None:
            number = int(table.contributors[union].sum())
            everybody = _Members(members[0].person, np.sort(np.concatenate([m.part for m in members]))[::-1])
        else:
            everybody = _merged(*(np.concatenate(each) for each in zip(*members, strict=True)))
            number = len(everybody.person)
        people = int(table.people[union].sum())
        if number < layout.threshold and (people or layout.zeros == "hide"):
            return _Lack(layout.threshold - number, everybody, None)
        if layout.sum is None:
            return None
        total = float(table.values[union].sum())
        for rule in layout.sum_rules:
            top = np.zeros(len(rule.weights))
            top[: len(everybody.part)] = everybody.part[: len(top)]
            lack = float(np.array(rule.weights) @ top) - rule.share * total
            if lack > 1e-9 * total:
                return _Lack(lack, everybody, rule)
        return None


class _Lack(NamedTuple):
    """The lack of a union: people, or by a rule so much of the sum outside the union's largest people."""

    amount: float
    members: _Members
    rule: SumRule | None

    def help(self, unions: Unions, cell: int) -> float:
        """Return the share of the lack that a further cell makes up for, at most 1, and 0 for none."""
        table, own = unions.cells, unions.members(cell)
        if self.rule is None:
            more = float(table.contributors[cell])
            if table.parts is not None:
                more = len(own.person) - len(np.intersect1d(own.person, self.members.person))
        else:
            more = self.rule.share * float(table.values[cell])
            if table.parts is not None:
                top = dict(zip(self.members.person.tolist(), self.rule.weights, strict=False))
                pairs = zip(own.person.tolist(), own.part.tolist(), strict=True)
                more -= fsum(top.get(person, 0.0) * part for person, part in pairs)
        # A share near 0 would be lost among the tolerances of the programme.
        return 0.0 if more <= 0 else min(max(more / self.amount, 1e-4), 1.0)


def _merged(person: NDArray[np.int64], part: NDArray[np.float64]) -> _Members:
    """Add up the parts of each person, and put the largest first."""
    who, place = np.unique(person, return_inverse=True)
    sums = np.zeros(len(who))
    np.add.at(sums, place, part)
    order = np.argsort(-sums, kind="stable")
    return _Members(who[order], sums[order])


def _chains(ways: list[dict[int, int]], hidden: NDArray[np.bool_]) -> Iterator[dict[int, int]]:
    """Yield sums and differences of two or three sums that tell a union of hidden cells.

    A cell that one has and another takes away is gone::

        Total = north ? + south 9           Total 30 = north1 ? + north2 ? + 9
        north ? = north1 ? + north2 ?

    Each begins with a sum that is below 0 for some cell, or with the negative of one. Without such a sum, no
    cell of a union is in two sums, and unions of safe ones are safe.
    """
    lines = [{cell: sign for cell, sign in way.items() if hidden[cell]} for way in ways]
    touching = _touching(lines)
    for part in _parts(lines, touching):
        begun = [
            frozenset([(place, sign)])
            for place in part
            for sign in (1, -1)
            if min(sign * each for each in lines[place].values()) < 0
        ]
        queue, seen, told = deque(begun), {*begun}, set[frozenset[int]]()
        most = len(begun) + _MOST
        while queue:
            check_time()
            chosen = queue.popleft()
            come = _combined(lines, chosen)
            if len(come) > 1 and {*come.values()} == {1} and frozenset(come) not in told:
                told.add(frozenset(come))
                yield _combined(ways, chosen)
            if len(chosen) == _SUMS or len(seen) >= most:
                continue
            taken = {place for place, _ in chosen}
            for step in _steps(lines, touching, come):
                if step[0] not in taken and (further := chosen | {step}) not in seen:
                    seen.add(further)
                    queue.append(further)


def _touching(lines: list[dict[int, int]]) -> dict[int, list[int]]:
    """Return the numbers of the lines that have each cell."""
    touching: dict[int, list[int]] = {}
    for place, line in enumerate(lines):
        for cell in line:
            touching.setdefault(cell, []).append(place)
    return touching


def _parts(lines: list[dict[int, int]], touching: dict[int, list[int]]) -> Iterator[list[int]]:
    """Yield the numbers of lines that cells connect."""
    left = {*range(len(lines))}
    while left:
        part, new = set[int](), [min(left)]
        while new:
            if (place := new.pop()) not in part:
                part.add(place)
                new += (other for cell in lines[place] for other in touching[cell])
        left -= part
        yield sorted(part)


def _steps(
    lines: list[dict[int, int]], touching: dict[int, list[int]], come: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield the lines that a combination may grow by, each with a sign.

    A cell that comes to neither 0 nor 1 needs a line that has it, and brings it nearer.
    """
    wrong = next((cell for cell, count in come.items() if count != 1), None)
    if wrong is None:
        yield from dict.fromkeys(
            (place, sign) for cell in come for place in touching[cell] for sign in (1, -1)
        )
        return
    for place in touching[wrong]:
        yield place, -1 if (lines[place][wrong] > 0) == (come[wrong] > 0) else 1


def _combined(ways: list[dict[int, int]], chosen: frozenset[tuple[int, int]]) -> dict[int, int]:
    """Return the sum of some ways, each times the way's sign."""
    both: dict[int, int] = {}
    for place, sign in chosen:
        for cell, each in ways[place].items():
            both[cell] = both.get(cell, 0) + sign * each
    return {cell: each for cell, each in both.items() if each}
