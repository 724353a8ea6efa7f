"""Differencing of count tables: published cells are subtracted, and hidden ones computed.

Two tables that are safe alone may tell a cell together. Two tables of groups that differ by one person tell
the cells of that person: they are the cells in which the tables differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.attacks.base import Attack, wilson
from incrowd.core.errors import ParameterError, TableError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.core.lazy import NDArray, np
from incrowd.core.progress import check
from incrowd.engines import engine_for
from incrowd.engines.open import loaded
from incrowd.release.tables.audit import intervals
from incrowd.release.tables.cells import Axis, Linked
from incrowd.release.tables.counting import Cells, count_cells, nested_codes
from incrowd.release.tables.layout import CountTable
from incrowd.release.tables.protect import count_disclosures
from incrowd.release.tables.ring import with_ring
from incrowd_verify.count_tables import Cell, PublishedTable, is_tables, read_manifest

if TYPE_CHECKING:
    from incrowd.release.policy.policy import Policy

_GROUP = "\0group"
"""The dimension of groups of people; no column has this name."""
_NEAR = 1e-6


def differencing(folders: Sequence[Path], raw: Any = None, policy: Policy | None = None) -> Attack:
    """Compute hidden cells and small groups from published count tables.

    Folders whose common cells agree are about the same people. Of others, the one with fewer people is taken
    to be about some of the people of the next larger one.

    Parameters
    ----------
    folders
        Folders of count tables, as `TableRelease.save` writes them.
    raw
        The raw table of all folders, as `anonymize` takes it. With it, the attack tries what people know of
        themselves, and columns that determine one another.
    policy
        The columns of the raw table.

    Returns
    -------
    A guess is a cell that some table hides, and right if one value alone fits all tables. The baseline is
    right if one value alone fits the table that hides it. Cells of rounded or perturbed tables are hidden,
    too. `Attack.figures` has:

    - ``cells``: the different cells of all tables;
    - ``disclosed``: hidden cells of which one value alone is possible;
    - ``disclosed_by_one_table``: those that the table tells which hides them;
    - ``narrowest``: the least width of the interval of a hidden cell, if there is one;
    - ``small_shown``: published counts below their table's threshold, and above 0;
    - ``small_differences``: pairs of published counts, one about a part of the other's people, that differ by
      fewer than the threshold;
    - ``between_groups``: how many of these pairs are of two folders about different people;
    - ``small_unions``: sums of hidden counts that the total and its other parts tell, below the threshold;
    - ``told_to_insiders``: with `raw`, the unsafe cells that follow too closely for everybody, in a union, or
      for one person who alone makes hidden cells.

    Raises
    ------
    ParameterError
        When no folder is given, or a path is none of count tables.
    TableError
        When a folder was changed after it was made, or no counts fit it.
    """
    if not folders:
        raise ParameterError("attack: name a folder of count tables")
    read: list[list[PublishedTable]] = []
    for folder in folders:
        if not is_tables(folder):
            raise ParameterError(f"{folder}: has no tables.json; `incrowd tabulate` writes such folders")
        place = folder if folder.is_dir() else folder.parent
        read.append([PublishedTable.read(place, entry) for entry in read_manifest(place)["tables"]])
    sums = _Tally()
    for quantity in dict.fromkeys(table.quantity for tables in read for table in tables):
        sources = [[table for table in tables if table.quantity == quantity] for tables in read]
        groups = _groups([tables for tables in sources if tables])
        try:
            sums.add(_Joint.of_groups(groups))
        except TableError:
            # No people fit, so the groups are not within each other: each folder is attacked alone.
            alone = [tables for tables in sources if tables]
            if len(alone) == 1:
                raise
            for tables in alone:
                sums.add(_Joint.of_groups([tables]))
            sums.apart = True
    if raw is not None and policy is not None:
        sums.insiders = _told_to_insiders([table for tables in read for table in tables], raw, policy)
    return sums.attack()


def _told_to_insiders(tables: Sequence[PublishedTable], raw: Any, policy: Policy) -> int:
    """Count the cells of suppressed tables that contributors compute from the contributors' own parts."""
    engine, counts = engine_for(loaded(raw), starred=True), list[tuple[Cells, NDArray[np.bool_]]]()
    settings = {each.name for each in fields(CountTable)}
    for table in tables:
        if table.entry["protect"] != "suppress":
            continue
        own = {name: value for name, value in table.entry.items() if name in settings and value is not None}
        cells = count_cells(engine, policy.schema, CountTable.from_settings(own))
        if [list(axis.codes) for axis in cells.axes] != [each["codes"] for each in table.dimensions]:
            raise TableError(f"table {table.name}: the raw table has other codes: give that of the tables")
        low, high = _ends_in_order(table)
        counts.append((cells, low == high))
    told = 0
    for unit in dict.fromkeys(cells.unit for cells, _ in counts):
        alike = [(cells, known) for cells, known in counts if cells.unit == unit]
        nested = nested_codes(engine, policy.schema, [cells for cells, _ in alike])
        told += count_disclosures([cells for cells, _ in alike], [known for _, known in alike], nested)
    return told


def _ends_in_order(table: PublishedTable) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return float64[cells], twice: the ends of each cell by this table alone, in the order of the codes."""
    codes = product(*(each["codes"] for each in table.dimensions))
    low, high = np.array([table.bounds[table.key(each)] for each in codes], np.float64).T
    return low, high


def _groups(folders: Sequence[list[PublishedTable]]) -> list[list[PublishedTable]]:
    """Put the tables of folders about the same people together; the group of most people comes first."""
    groups: list[list[PublishedTable]] = []
    for tables in folders:
        same = next((group for group in groups if _agree(_bounds(group), _bounds(tables))), None)
        if same is None:
            groups.append(list(tables))
        else:
            same += tables
    return sorted(groups, key=lambda group: -_bounds(group)[frozenset()][0])


def _agree(one: dict[Cell, tuple[float, float]], other: dict[Cell, tuple[float, float]]) -> bool:
    """Say whether some value of each common cell suits both tables."""
    return all(
        max(one[cell][0], other[cell][0]) <= min(one[cell][1], other[cell][1])
        for cell in one.keys() & other.keys()
    )


def _bounds(tables: Sequence[PublishedTable]) -> dict[Cell, tuple[float, float]]:
    """Return the least and the largest value of each cell over the publications in some tables."""
    bounds: dict[Cell, tuple[float, float]] = {}
    for table in tables:
        for cell, (low, high) in table.bounds.items():
            known = bounds.get(cell, (0.0, inf))
            bounds[cell] = max(low, known[0]), min(high, known[1])
    return bounds


@dataclass
class _Tally:
    """The counts of the attack so far."""

    cells: int = 0
    hidden: int = 0
    disclosed: int = 0
    disclosed_alone: int = 0
    narrowest: float = inf
    shown: int = 0
    differences: int = 0
    between: int = 0
    unions: int = 0
    insiders: int | None = None
    groups: int = 1
    apart: bool = False

    def add(self, joint: _Joint) -> None:
        """Attack some tables, and count."""
        hidden = np.flatnonzero(joint.hidden)
        overlapping = _overlapping([table for table, _ in joint.tables])
        known = with_ring(joint.axes, joint.linked, overlapping, joint.low, joint.high)
        ends = intervals(*known, hidden, whole=joint.whole)
        alone = joint.disclosed_by_one_table()
        small, between = joint.differences()
        self.cells += int(joint.asked.sum())
        self.hidden += len(hidden)
        self.disclosed += int((ends.widths < _NEAR).sum())
        self.disclosed_alone += int(alone[hidden].sum())
        self.narrowest = min(self.narrowest, ends.widths.min(initial=inf))
        self.shown += joint.small_shown()
        self.differences += small
        self.between += between
        self.unions += joint.small_unions()
        self.groups = max(self.groups, joint.groups)

    def attack(self) -> Attack:
        """Return the result."""
        figures: dict[str, float] = {
            "cells": self.cells,
            "disclosed": self.disclosed,
            "disclosed_by_one_table": self.disclosed_alone,
        }
        if self.narrowest < inf:
            figures["narrowest"] = self.narrowest
        figures |= {
            "small_shown": self.shown,
            "small_differences": self.differences,
            "between_groups": self.between,
            "small_unions": self.unions,
        }
        if self.insiders is not None:
            figures["told_to_insiders"] = self.insiders
        remarks = []
        if self.groups > 1:
            remarks.append(
                f"The tables are about {self.groups} groups of people. Each is taken to be a part of the "
                "next larger one."
            )
        if self.apart:
            remarks.append(
                "No folder was subtracted from another: their people are not a part of each other."
            )
        if self.disclosed > self.disclosed_alone:
            remarks.append(
                "Make all tables in one call, or with a ledger, so that none tells what another hides."
            )
        if self.between:
            remarks.append("Use a ledger, which refuses groups that differ by few people, or cell keys.")
        main, baseline = (wilson(each, self.hidden) for each in (self.disclosed, self.disclosed_alone))
        return Attack(
            "differencing", self.hidden, main, baseline, None, None, figures, remarks=tuple(remarks)
        )


@dataclass(frozen=True)
class _Joint:
    """All tables of the same quantity as a single table, with the group of people as a further dimension.

    A group within another is a part of it, beside the rest::

        people of folder 1
            people of folder 2
            the rest             unknown, and the difference of both

    Attributes
    ----------
    tables
        Each table with its group.
    axes
        The dimensions of each, the group last.
    linked
        The cells and their sums.
    low, high
        float64[cells]: what is known of each by its publication.
    asked, hidden
        bool[cells]: which are cells of a published table, and which of them some table hides.
    groups
        How many groups of people there are.
    """

    tables: list[tuple[PublishedTable, int]]
    axes: list[list[Axis]]
    linked: Linked
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    asked: NDArray[np.bool_]
    hidden: NDArray[np.bool_]
    groups: int

    @classmethod
    def of_groups(cls, groups: Sequence[Sequence[PublishedTable]]) -> _Joint:
        """Join tables of groups, the largest first."""
        tables = [(table, number) for number, group in enumerate(groups) for table in group]
        # Depth first: group 0, group 1 in it, group 2 in that, then the rests from the inside out.
        count = len(groups)
        names = [f"group {n}" for n in range(count)] + [f"rest {n}" for n in range(count - 2, -1, -1)]
        parents = [*range(-1, count - 1), *range(count - 2, -1, -1)]
        axes = []
        for table, _ in tables:
            own = [Axis(each["column"], Hierarchy(each["codes"], each["under"])) for each in table.dimensions]
            axes.append([*own, Axis(_GROUP, Hierarchy(names, parents))] if count > 1 else own)
        linked = Linked.of_tables(axes, _overlapping([table for table, _ in tables]))
        low, high = np.zeros(linked.size), np.full(linked.size, inf)
        asked, hidden = np.zeros(linked.size, np.bool_), np.zeros(linked.size, np.bool_)
        joint = cls(tables, axes, linked, low, high, asked, hidden, count)
        for place in range(len(tables)):
            cells, least, most = joint._published(place)
            np.maximum.at(low, cells, least)
            np.minimum.at(high, cells, most)
            asked[cells] = True
            hidden[cells[least < most]] = True
        if (low > high).any():
            raise TableError("two tables say different things of one cell")
        joint._require_sums()
        return joint

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers."""
        return not self.tables[0][0].quantity.startswith("sum")

    def _published(self, place: int) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the cells of a table among all, and their bounds by this table alone."""
        table, group = self.tables[place]
        number = self.linked.cells[place]
        if self.groups > 1:
            number = number.reshape(-1, 2 * self.groups - 1)[:, group]
        return number, *_ends_in_order(table)

    def _require_sums(self) -> None:
        """Raise where a sum does not hold of which every cell is published; the audit asks of others."""
        matrix, most = self.linked.rows
        unknown = np.asarray(abs(matrix) @ (self.low < self.high).astype(np.float64)) > 0
        rest = matrix @ np.where(self.low < self.high, 0.0, self.low)
        slack = _NEAR * (1 + abs(self.low).max(initial=0.0))
        if ((rest < -slack) | (rest > most + slack))[~unknown].any():
            raise TableError("no counts fit the published tables: some sum does not hold")

    def disclosed_by_one_table(self) -> NDArray[np.bool_]:
        """bool[cells]: which hidden cells a single table tells exactly."""
        told = np.zeros(self.linked.size, np.bool_)
        for place, (table, _) in enumerate(self.tables):
            # Without the dimension of groups, which stands last.
            alone = Linked.of_tables([self.axes[place][: len(table.dimensions)]], _overlapping([table]))
            cells, least, most = self._published(place)
            low, high = np.zeros(alone.size), np.full(alone.size, inf)
            np.maximum.at(low, alone.cells[0], least)
            np.minimum.at(high, alone.cells[0], most)
            ends = intervals(alone, low, high, np.arange(alone.size), whole=self.whole)
            told[cells] |= (ends.widths < _NEAR)[alone.cells[0]] & (least < most)
        return told

    def small_unions(self) -> int:
        """Count the sums of hidden cells that everybody computes with fewer people than the threshold."""
        shown = self.low == self.high
        unions = np.array(
            [
                self.low[total] - self.low[parts[shown[parts]]].sum()
                for total, parts, exact in zip(
                    self.linked.totals, self.linked.parts, self.linked.exact, strict=True
                )
                if exact and shown[total] and (~shown[parts]).sum() > 1
            ]
        )
        return int(self._is_small(unions).sum())

    def small_shown(self) -> int:
        """Count the published exact counts above 0 and below the threshold."""
        return int(self._is_small(self.low[self.asked & (self.low == self.high)]).sum())

    def _is_small(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        if not self.whole:
            return np.zeros(len(values), np.bool_)
        threshold = max(int(table.entry["threshold"]) for table, _ in self.tables)
        return np.asarray((values > 0) & (values < threshold))

    def differences(self) -> tuple[int, int]:
        """Count pairs of a cell and a part that differ by few people, and the pairs of two groups."""
        shown = self.asked & (self.low == self.high)
        pairs: dict[tuple[int, int], bool] = {}
        for axes, cells in zip(self.axes, self.linked.cells, strict=True):
            check()
            for upper, lower, between in _nested(axes, cells.reshape([len(axis.codes) for axis in axes])):
                both = shown[upper] & shown[lower] & (upper != lower)
                both[both] = self._is_small(self.low[upper[both]] - self.low[lower[both]])
                for pair in zip(upper[both].tolist(), lower[both].tolist(), strict=True):
                    pairs[pair] = between and self.groups > 1
        return len(pairs), sum(pairs.values())


def _overlapping(tables: Sequence[PublishedTable]) -> set[str]:
    """Return the columns in which a person may have several codes."""
    return {each["column"] for table in tables for each in table.dimensions if each["overlapping"]}


def _nested(
    axes: Sequence[Axis], cells: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], bool]]:
    """Yield cells with cells inside, and whether the two differ in the last dimension."""
    ways = [range(axis.tree.height + 1) for axis in axes]
    for steps in product(*ways):
        if not any(steps):
            continue
        places, above = [], []
        for axis, step in zip(axes, steps, strict=True):
            nodes = np.flatnonzero(axis.tree.depths >= step)
            up = nodes
            for _ in range(step):
                up = axis.tree.parents[up].astype(np.int64)
            places.append(nodes)
            above.append(up)
        yield cells[np.ix_(*above)].ravel(), cells[np.ix_(*places)].ravel(), steps[-1] > 0
