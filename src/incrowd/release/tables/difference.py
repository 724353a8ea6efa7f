"""The difference of two tables, as a table of the people in only either of the two.

Whoever subtracts the earlier table from the later one, and knows who left, has the cells of those who came::

              May   June   came   left
    flu        28     31      4      1
    asthma     37     38      1      0     the one who came has asthma
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import NamedTuple

from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.core.io.columns import column_named, columns_named
from incrowd.core.lazy import NDArray, np, pl
from incrowd.engines.cells import CellLines, CellQuestion, people_of_lines, scaled
from incrowd.release.tables.cells import Axis
from incrowd.release.tables.counting import Cells, ancestors, overlapping_columns
from incrowd.release.tables.layout import CountTable
from incrowd.release.tables.protect import count_disclosures

WHO, AMOUNT, RECORDS = "who", "amount", "records"
"""Columns of lines: whose a line is, a digest of what is summed, and how many records are alike."""


class Units(NamedTuple):
    """The amounts that digests stand for.

    Attributes
    ----------
    frame
        ``amount`` and ``units``: a digest, and the number in whole units.
    power
        A number is its units divided by ten to this power.
    """

    frame: pl.DataFrame
    power: int


@dataclass(frozen=True)
class Side:
    """A published table with digests of the people.

    Attributes
    ----------
    layout
        What the policy asked for.
    axes
        The dimensions.
    hidden
        bool[cells]: which are suppressed.
    lines
        ``who``, null where nobody is named; the number of the finest code of each dimension, in columns
        called ``0``, ``1`` and so on; ``amount`` where a number is summed; ``records``.
    named
        Whether columns name people. Otherwise `who` says what a row has, and each record is a person.
    units
        What the amounts are; None where only digests of them are known.
    """

    layout: CountTable
    axes: tuple[Axis, ...]
    hidden: NDArray[np.bool_]
    lines: pl.DataFrame
    named: bool
    units: Units | None = None

    def axis(self, column: str) -> Axis:
        """Return the dimension of a column, with the total alone where the table has none."""
        own = (axis for axis in self.axes if axis.column == column)
        return next(own, Axis(column, Hierarchy(["*"], [-1])))

    def nodes(self, column: str) -> NDArray[np.int64]:
        """int64[lines]: the code of each line in a column."""
        places = [place for place, axis in enumerate(self.axes) if axis.column == column]
        return self.lines[str(places[0])].to_numpy() if places else np.zeros(len(self.lines), np.int64)

    def shown(self, codes: Mapping[str, NDArray[np.int64]]) -> NDArray[np.bool_]:
        """bool[cells]: which cells of some codes of columns are published unchanged; code -1 is unknown."""
        sizes = [axis.tree.n_nodes for axis in self.axes]
        strides = {axis.column: prod(sizes[place + 1 :]) for place, axis in enumerate(self.axes)}
        cell, inside = np.zeros(1, np.int64), np.ones(1, np.bool_)
        for column, nodes in codes.items():
            cell = (cell[:, None] + nodes * strides.get(column, 0)).ravel()
            inside = (inside[:, None] & (nodes >= 0)).ravel()
        return inside & ~self.hidden[np.where(inside, cell, 0)]


class _Common(NamedTuple):
    """The codes that two dimensions of a column share.

    Attributes
    ----------
    axis
        These codes. Below a code is a further one for whatever else is in it.
    nodes
        For each dimension int64[common codes]: the code there, -1 where it has none.
    places
        For each dimension int64[its codes]: the finest common code of each.
    """

    axis: Axis
    nodes: list[NDArray[np.int64]]
    places: list[NDArray[np.int64]]

    @classmethod
    def of_axes(cls, axes: Sequence[Axis], rest: str) -> _Common:
        """Find the codes with equal paths of names; `rest` begins the names of further codes."""
        paths = [_paths(axis) for axis in axes]
        then, now = ({path: node for node, path in enumerate(each)} for each in paths)
        below: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for path in paths[1][1:]:
            if path in then:
                below.setdefault(path[:-1], []).append(path)
        parted = {path[:-1] for each in paths for path in each[1:] if not (path in then and path in now)}
        labels: list[str] = []
        parents: list[int] = []
        nodes: list[tuple[int, int]] = []
        finest: dict[tuple[str, ...], int] = {}

        def add(path: tuple[str, ...], parent: int) -> None:
            place = finest[path] = len(labels)
            labels.append(path[-1] if path else "*")
            parents.append(parent)
            nodes.append((then[path], now[path]))
            for each in below.get(path, ()):
                add(each, place)
            # A table needs a code below its total.
            if (path in parted and path in below) or not below:
                finest[path] = len(labels)
                labels.append(f"{rest} {place}")
                parents.append(place)
                nodes.append((-1, -1))

        add((), -1)
        places = []
        for each in paths:
            own: dict[tuple[str, ...], int] = {}
            for path in each:
                own[path] = finest.get(path, own.get(path[:-1], 0))
            places.append(np.array([*own.values()], np.int64))
        axis = Axis(axes[1].column, Hierarchy(labels, parents))
        return cls(axis, [*np.array(nodes, np.int64).T], places)


def _paths(axis: Axis) -> list[tuple[str, ...]]:
    """Return the codes from below the total to each code."""
    paths: list[tuple[str, ...]] = [()]
    for code, parent in zip(axis.codes[1:], axis.tree.parents[1:].tolist(), strict=True):
        paths.append((*paths[parent], code))
    return paths


def count_disclosures_by_difference(then: Sequence[Side], now: Sequence[Side]) -> int:
    """Count the cells of few added or removed people that two sets of tables tell together.

    Both are tables of one quantity. The rules of the later tables are asked, with the largest threshold. Of
    sums of those who left the threshold alone is asked, since nobody keeps their numbers.
    """
    came: list[tuple[Cells, NDArray[np.bool_]]] = []
    left: list[tuple[Cells, NDArray[np.bool_]]] = []
    for number, (one, other) in enumerate(product(then, now)):
        common = [
            _Common.of_axes([one.axis(axis.column), axis], f"\0rest of {number}") for axis in other.axes
        ]
        known = [
            side.shown({each.axis.column: each.nodes[place] for each in common})
            for place, side in enumerate((one, other))
        ]
        layout = replace(
            other.layout,
            threshold=max(one.layout.threshold, other.layout.threshold),
            width=max(one.layout.open_width, other.layout.open_width),
            zeros="show",
        )
        axes = tuple(each.axis for each in common)
        once = "people" in (one.layout.unit[0], other.layout.unit[0])
        lines = _changed(*(_placed(side, common, place, once) for place, side in enumerate((one, other))))
        of_left = layout.without_sum()
        for cells, changed, own in ((came, lines[1], layout), (left, lines[0], of_left)):
            if len(changed):
                cells.append((_cells(own, axes, changed, other), known[0] & known[1]))
    return sum(
        count_disclosures([each for each, _ in cells], [known for _, known in cells])
        for cells in (came, left)
        if cells
    )


def sum_records(lines: pl.DataFrame) -> pl.DataFrame:
    """Return each line once, with the sum of the line's records."""
    return lines.group_by(pl.exclude(RECORDS)).agg(column_named(RECORDS).sum())


def _placed(side: Side, common: Sequence[_Common], place: int, once: bool) -> pl.DataFrame:
    """Return the lines of a table by the common codes; `once` takes each person once in a cell."""
    finest = [
        pl.Series(str(number), np.searchsorted(each.axis.tree.leaves, each.places[place][side.nodes(column)]))
        for number, each in enumerate(common)
        for column in [each.axis.column]
    ]
    amount = [AMOUNT] if AMOUNT in side.lines.columns else []
    lines = side.lines.select(WHO, *amount, RECORDS).with_columns(finest)
    lines = sum_records(lines)
    if side.named and once:
        number = pl.when(column_named(WHO).is_null()).then(column_named(RECORDS)).otherwise(1)
        lines = lines.with_columns(number.alias(RECORDS))
    return lines


def _changed(then: pl.DataFrame, now: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the lines that the earlier table has alone, and the lines of the later table alone."""
    signed = pl.concat([then.with_columns(-column_named(RECORDS)), now.select(columns_named(then.columns))])
    net = sum_records(signed)
    left = net.filter(column_named(RECORDS) < 0).with_columns(-column_named(RECORDS))
    return left, net.filter(column_named(RECORDS) > 0)


def _numbers(who: pl.Series) -> NDArray[np.int64]:
    """int64[lines]: a number for each person, -1 where nobody is named."""
    persons = who.drop_nulls().unique().to_frame().with_row_index("number")
    numbers = who.to_frame().join(persons, on=WHO, how="left", maintain_order="left")["number"]
    return numbers.cast(pl.Int64).fill_null(-1).to_numpy()


def _cells(layout: CountTable, axes: tuple[Axis, ...], lines: pl.DataFrame, side: Side) -> Cells:
    """Count lines as a table."""
    codes = [lines[str(number)].to_numpy() for number in range(len(axes))]
    person = np.full(len(lines), -1, np.int64)
    if side.named:
        person = _numbers(lines[WHO])
    amounts, power = np.ones(len(lines), np.int64), 0
    if layout.sum is not None and side.units is not None:
        given = lines.join(side.units.frame, on=AMOUNT, how="left", maintain_order="left")
        amounts, power = given["units"].to_numpy(), side.units.power
    sizes = [axis.tree.n_nodes for axis in axes]
    cells = people_of_lines(
        CellQuestion([ancestors(axis) for axis in axes], sizes, (), (), None, layout.rank),
        CellLines(codes, person, amounts, None, lines[RECORDS].to_numpy()),
    )
    people = layout.unit == ("people", None)
    values = cells.people.astype(np.float64) if people else scaled(cells.sums.astype(np.float64), -power)
    overlapping = tuple(overlapping_columns(axes, cells.people)) if people else ()
    largest = scaled(cells.largest.astype(np.float64), -power)
    contributors = cells.people if layout.sum is None else cells.contributors
    return Cells(layout, axes, values, cells.people, largest, overlapping, contributors)
