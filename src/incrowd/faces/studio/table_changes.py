"""Changes of count tables that remove a point of the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InfeasibleError, InputError
from incrowd.core.lazy import np
from incrowd.core.progress import Within
from incrowd.faces.studio.mends import Change
from incrowd.release.jobs.make.tabulate import points_of_codes
from incrowd.release.tables.layout import CountTable
from incrowd_gate.wording import percent

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.faces.studio.work import Work
    from incrowd.release.tables.cells import Axis
    from incrowd.release.tables.protect import PublishedTable
    from incrowd_gate.points import Point

_TRIAL = 3.0
"""Seconds of a trial of coarser codes."""


_OTHERWISE = ("base", "rounding", "width", "deviation", "variance", "key", "key_table")
"""Settings of a table that belong to another protection than suppression."""


def changes_of_tables(point: Point, work: Work) -> Iterator[Change]:
    """Return the changes that remove a point of the tables that were made.

    A column whose codes name people is counted by coarser codes, the finest that name nobody. Or it is left
    out, where every table keeps another one. A table with a cell that can be computed is not made at all,
    and suppresses cells instead.
    """
    if point.name == "cell":
        [table] = [each for each in work.chosen.document["tables"] if each["name"] == point.subject]
        settings = {key: value for key, value in table.items() if key not in _OTHERWISE}
        make = partial(_replace, work, table["name"], {**settings, "protect": "suppress"})
        yield Change("hide", f"Suppress small cells of {table['name']}", make)
        return
    if work.tables is None:
        return  # Those that were refused are nowhere, and their broken point is mended first.
    tables = work.tables.release.tables
    if not point.columns:
        [table] = [each for each in tables if each.layout.name == point.subject]
        yield from _change_of_much_hidden(work, table)
        return
    if point.name in ("linked-tables", "linked-columns"):
        yield from _without_tables(point, work)
    for column in point.columns:
        yield from _changes_of_codes(column, work, tables)


def _without_tables(point: Point, work: Work) -> Iterator[Change]:
    """Return the changes that leave out a table that tells of a point's columns."""
    tables = work.chosen.document["tables"]
    for table in tables if len(tables) > 1 else ():
        layout = CountTable.from_settings(table)
        if {*point.columns} & {*dict(layout.dimensions), layout.sum}:
            make = partial(_replace, work, table["name"], None)
            yield Change("leave-table-out", f"Leave out table {table['name']}", make)


def _replace(work: Work, name: str, settings: dict[str, Any] | None) -> None:
    """Give a table other settings; None leaves it out."""
    tables = work.chosen.document["tables"]
    new = [settings if table["name"] == name else table for table in tables]
    work.chosen.document["tables"] = [table for table in new if table is not None]


def _changes_of_codes(column: str, work: Work, tables: Sequence[PublishedTable]) -> Iterator[Change]:
    """Return the changes of the tables that count by a column."""
    with_column = {
        each.layout.name: (axis, each.people)
        for each in tables
        for axis in each.axes
        if axis.column == column
    }
    if not with_column:
        # A number that is summed is no column of codes.
        return
    fewer = {name: _levels(*given) for name, given in with_column.items()}
    if None not in fewer.values():
        yield Change("coarser", f"Count by coarser codes of {column}", partial(_lift, work, column, fewer))
    if all(len(each.axes) > 1 for each in tables if each.layout.name in fewer):
        without = dict.fromkeys(fewer)
        yield Change("leave-out", f"Leave {column} out of the tables", partial(_lift, work, column, without))


def _change_of_much_hidden(work: Work, table: PublishedTable) -> Iterator[Change]:
    """Return the change of a table of which much is hidden: of the column with the most codes."""
    axis = max(table.axes, key=lambda axis: axis.tree.n_leaves)
    lift = partial(_lift, work, axis.column)
    if axis.tree.height > 1:
        coarser = partial(lift, {table.layout.name: 1})
        yield Change("coarser", f"Count by coarser codes of {axis.column}", coarser)
    elif len(table.axes) > 1:
        without = partial(lift, {table.layout.name: None})
        yield Change("leave-out", f"Leave {axis.column} out of the table", without)


def savings(work: Work, progress: Progress) -> list[Change]:
    """Try coarser codes, and return the changes that suppress fewer cells, the best first."""
    now, document = work.tables, work.chosen.document
    assert now is not None
    shares: list[tuple[float, str, str]] = []
    for table in now.release.tables:
        name = table.layout.name
        for column in [axis.column for axis in table.axes if axis.tree.height > 1 and table.hidden.any()]:
            lifted = {**document, "tables": _lifted(document["tables"], column, {name: 1})}
            with suppress(InfeasibleError, InputError):
                tried = work.trial_tables(lifted, Within(progress, f"coarser codes of {column}"), _TRIAL)
                shares.append((tried.hidden, name, column))
    return [
        Change(
            "saving",
            f"Coarser codes of {column} in {name}: {percent(share)} suppressed, not {percent(now.hidden)}",
            partial(_lift, work, column, {name: 1}),
        )
        for share, name, column in sorted(shares)
        if share < now.hidden
    ]


def _levels(axis: Axis, people: int) -> int | None:
    """Return how many of the finest levels have to go until no code has a point; None if all codes do."""
    for level in range(axis.tree.height):
        shorter, _ = axis.cut(level)
        each_once = np.ones(len(shorter.codes), np.int64)
        if not any(points_of_codes(shorter, each_once, max(people, 1))):
            return level
    return None


def _lift(work: Work, column: str, fewer: Mapping[str, int | None]) -> None:
    """Leave the finest levels of a column out of each table, as many as are named; None for the column."""
    work.chosen.document["tables"] = _lifted(work.chosen.document["tables"], column, fewer)


def _lifted(tables: Sequence[Any], column: str, fewer: Mapping[str, int | None]) -> list[Any]:
    return [
        {**table, **CountTable.from_settings(table).sides_with(column, fewer[table["name"]])}
        if table["name"] in fewer
        else table
        for table in tables
    ]
