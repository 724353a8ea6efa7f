"""The checks of a release in DuckDB: statements are run, figures judged, and problems collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd_verify.source import Table

if TYPE_CHECKING:
    import duckdb

NARROW = 100
"""Columns of a table that are asked about at once: a query takes time for each column of its tables."""

Cells = Sequence[tuple[str | int | None, ...]]


@dataclass
class Remarks:
    """Remarks on a release beside its figures, in sentences."""

    problems: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: Remarks) -> None:
        """Say more."""
        self.problems += other.problems
        self.unchecked += other.unchecked
        self.notes += other.notes


class Checks:
    """Runs the checks of `verify` on a connection, and puts those that fail into words.

    Attributes
    ----------
    remarks
        What was found so far.
    """

    is_script: ClassVar[bool] = False

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.remarks = Remarks()
        self._narrow: dict[str, Table] = {}

    def narrow(self, table: Table, name: str) -> Table:
        """Return a table with a column and its neighbours alone, whose rows are in the same order.

        It is there until another part of the same table is asked for. The table must not change meanwhile.
        """
        if len(table.names) <= NARROW:
            return table
        part = self._narrow.get(table.name)
        if part is None or not part.has(name):
            start = table.place(name) // NARROW * NARROW
            here = slice(start, start + NARROW)
            names, types = table.names[here], table.types[here]
            columns = ", ".join(f"c{start + n} AS c{n}" for n in range(len(names)))
            part = replace(table, name=f"narrow_{table.name}", names=names, types=types)
            self.con.execute(f"CREATE OR REPLACE TABLE {part.name} AS SELECT {columns} FROM {table.name}")
            self._narrow[table.name] = part
        return part

    def execute(self, sql: str, parameters: Any = None) -> duckdb.DuckDBPyConnection:
        """Run a statement."""
        return self.con.execute(sql, parameters)

    def row(self, sql: str, parameters: Any = None) -> tuple[Any, ...]:
        """Run a query whose answer is one row."""
        row = self.con.execute(sql, parameters).fetchone()
        assert row is not None  # an aggregate always has one row
        return tuple(row)

    def note(self, *texts: str) -> None:
        """Write a comment into a script."""

    def check(
        self,
        what: str,
        reached: str,
        holds: str = "reached = 0",
        asked: float | None = 0,
        *,
        column: str | None = None,
        problem: Callable[[int], str] | None = None,
    ) -> None:
        """Check a figure, by default a count that must be 0.

        Parameters
        ----------
        what, column
            What is counted, and of which column, in the words of a script.
        reached, holds
            SQL of the figure, and of whether it is as it should be, given `reached`.
        problem
            Says it in the words of `verify`; None where only a script has the check.
        """
        if problem is not None:
            (count,) = self.row(reached)
            if count:
                self.remarks.problems.append(problem(count))

    def judge(
        self, title: str, figure: str, is_met: str, asked: float, column: str | None
    ) -> tuple[float | None, bool]:
        """Return a figure, and whether it meets its limit; a figure that is not defined does not."""
        reached, holds = self.row(
            f"SELECT reached, coalesce({is_met}, false) FROM (SELECT ({figure}) AS reached)"
        )
        return reached, bool(holds)

    def show(self, query: str) -> None:
        """Let a script print the rows of a query."""

    def never(self, what: str) -> None:
        """Write a check into a script that always fails: the table for the comparison was not there."""

    @contextmanager
    def apart(self, table: str) -> Iterator[Remarks]:
        """Collect the problems of some checks apart, so that the caller decides whether they count."""
        before, self.remarks = self.remarks, Remarks()
        yield self.remarks
        self.remarks = before

    def fill(self, table: str, columns: str, rows: Cells) -> None:
        """Make a table of all of its rows; the columns have names and types.

        Raises
        ------
        ParameterError
            There are too many rows for a script.
        """
        self.con.execute(f"CREATE TABLE {table}({columns})")
        if rows:
            lists = (f"unnest(?::{column.partition(' ')[2]}[])" for column in columns.split(", "))
            self.con.execute(
                f"INSERT INTO {table} SELECT {', '.join(lists)}",
                [list(each) for each in zip(*rows, strict=True)],
            )
