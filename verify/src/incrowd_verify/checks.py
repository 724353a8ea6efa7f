"""The checks of a release in DuckDB: statements are run, figures judged, and problems collected.

A script of them holds the demands of the policy, the names of columns, and cells of the release. It computes
all figures anew from the file. Python's judgements stand in it as lists: which cells suit the policy. So a
cell that the file gets later, and that is not in such a list, fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Any, ClassVar

from incrowd_gate.errors import ParameterError
from incrowd_gate.lazy import duckdb, pl
from incrowd_verify.source import Table, literal

NARROW = 100
"""Columns of a table that are asked about at once: a query takes time for each column of its tables."""

Cells = Sequence[tuple[str | int | None, ...]]


@dataclass
class Remarks:
    """Remarks on a release beside the figures, in sentences."""

    problems: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Checks:
    """Runner of the checks of `verify` on a connection, with sentences for the checks that fail.

    `remarks`: what was found so far.
    """

    is_script: ClassVar[bool] = False

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.remarks = Remarks()
        self._narrow: dict[str, Table] = {}

    def narrow(self, table: Table, name: str) -> Table:
        """Return a table of a column and neighbouring columns alone, with the rows in the same order.

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
        """Run a query, and return the only row of the answer."""
        row = self.con.execute(sql, parameters).fetchone()
        assert row is not None  # an aggregate always has one row
        return tuple(row)

    def frame(self, sql: str) -> pl.DataFrame:
        """Run a query, and fetch all rows with the types of the columns."""
        # A row that was asked for alone may have others behind it.
        self.con.complete()
        return pl.DataFrame(self.con.sql(sql))

    def note(self, *texts: str) -> None:
        """Write a comment into a script."""

    def check(
        self, what: str, reached: str, holds: str = "reached = 0", asked: float | None = 0, *, column: str |
        None = None, problem: Callable[[int], str] | None = None,
    ) -> None:  # fmt: skip
        """Check a figure, by default a count that must be 0.

        - `what`, `column`: what is counted, and of which column, in the words of a script.
        - `reached`, `holds`: SQL of the figure, and of whether it is as it should be, given `reached`.
        - `problem`: says it in the words of `verify`; None where only a script has the check.
        """
        if problem is not None:
            (count,) = self.row(reached)
            if count:
                self.remarks.problems.append(problem(count))

    def judge(
        self, title: str, figure: str, is_met: str, asked: float, column: str | None
    ) -> tuple[float | None, bool]:
        """Return a figure, and whether the figure is defined and meets the limit."""
        reached, holds = self.row(
            f"SELECT reached, coalesce({is_met}, false) FROM (SELECT ({figure}) AS reached)"
        )
        return reached, bool(holds)

    def never(self, what: str) -> None:
        """Write a check into a script that always fails: the table for the comparison was not there."""

    def fill(self, table: str, columns: str, rows: Cells) -> None:
        """Make a table from all of the rows, and from the names and types of the columns.

        Raises `ParameterError`: there are too many rows for a script.
        """
        self.con.execute(f"CREATE TABLE {table}({columns})")
        if rows:
            lists = (f"unnest(?::{column.partition(' ')[2]}[])" for column in columns.split(", "))
            self.con.execute(
                f"INSERT INTO {table} SELECT {', '.join(lists)}",
                [list(each) for each in zip(*rows, strict=True)],
            )


_MOST = 200_000
"""Cells or values of a column that a script may list."""

_A_LINE = 8

_STATEMENT = re.compile(r"\s*(CREATE|DROP|SET|RESET|INSERT|UPDATE|DELETE|ALTER|ATTACH)\b")

_CLAUSE = re.compile(
    r"(?<!DISTINCT)(?<!LEFT)(?<!CROSS)(?<!ASOF) (?=(?:SELECT|FROM|WHERE|GROUP BY|HAVING|LEFT JOIN|CROSS JOIN|"
    r"JOIN|UNION ALL|WINDOW|WITH) )"
)


class Script(Checks):
    """Runner of statements on a connection, which writes down each statement that makes something.

    Questions are answered and not written down: what they find out is of this file alone.

    `checks`: how many checks are written.
    """

    is_script = True

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        super().__init__(con)
        self.lines: list[str] = []
        self.checks = 0

    def narrow(self, table: Table, name: str) -> Table:
        """Return the table itself, as a script has no narrow table."""
        return table

    def execute(self, sql: str, parameters: Any = None) -> duckdb.DuckDBPyConnection:
        """Run a statement, and write down a statement that makes something."""
        if not _STATEMENT.match(sql):
            return self.con.execute(sql, parameters)
        if parameters:
            sql = "".join(chain(*zip_longest(sql.split("?"), map(_array, parameters), fillvalue="")))
        self.lines.append(f"{formatted(sql)};")
        return self.con.execute(sql)

    def note(self, *texts: str) -> None:
        """Write a comment, after a blank line."""
        self.lines += ["", *(f"-- {line}" for text in texts for line in text.splitlines() or [""])]

    def check(
        self, what: str, reached: str, holds: str = "reached = 0", asked: float | None = 0, *, column: str |
        None = None, problem: Callable[[int], str] | None = None,
    ) -> None:  # fmt: skip
        """Write a check."""
        self.checks += 1
        about = "NULL" if column is None else literal(column)
        limit = "NULL" if asked is None else repr(float(asked))
        self.execute(
            f"INSERT INTO main.checks SELECT {self.checks}, {literal(what)}, {about}, reached, "
            f"{limit}, coalesce({holds}, false) FROM (SELECT ({reached})::DOUBLE AS reached)"
        )

    def never(self, what: str) -> None:
        """Write a check that always fails."""
        self.check(f"{what}, when this was written", "0", "reached = 1", 1)

    def fill(self, table: str, columns: str, rows: Cells) -> None:
        """Write a table."""
        if len(rows) > _MOST:
            raise ParameterError(
                f"{len(rows):,} cells or values are more than the {_MOST:,} of a column that a script lists; "
                "use verify"
            )
        self.execute(f"CREATE TABLE {table}({columns})")
        values = [f"({', '.join(map(_value, row))})" for row in rows]
        for start in range(0, len(values), 1000):
            some = values[start : start + 1000]
            lines = [", ".join(some[at : at + _A_LINE]) for at in range(0, len(some), _A_LINE)]
            self.execute(f"INSERT INTO {table} VALUES\n" + ",\n".join(lines))

    def check_listed(
        self, what: str, column: str, cell: str, rows: str, amount: str, good: Sequence[tuple[str | None,
        int]],
    ) -> None:  # fmt: skip
        """Write a check that every cell is in a list, with as many records as the list asks for."""
        name = f"fitting_{self.checks + 1}"
        self.note(f"Cells of {column} that suit the policy, and how many records have each at least.")
        listed = sorted(good, key=lambda each: (each[0] is None, each[0] or ""))
        self.fill(name, "cell VARCHAR, least BIGINT", listed)
        self.check(
            what,
            f"SELECT coalesce(sum(mine.{amount}), 0) FROM {rows} AS mine WHERE NOT EXISTS (SELECT 1 "
            f"FROM {name} AS good WHERE good.cell IS NOT DISTINCT FROM CAST(mine.{cell} AS VARCHAR) "
            f"AND mine.{amount} >= good.least)",
            column=column,
        )

    def judge(
        self, title: str, figure: str, is_met: str, asked: float, column: str | None
    ) -> tuple[float | None, bool]:
        """Write a check of a figure, and return the result of the check."""
        self.check(title, figure, is_met, asked, column=column)
        reached, holds = self.row(f"SELECT reached, holds FROM main.checks WHERE number = {self.checks}")
        return reached, bool(holds)


def _value(value: str | int | None) -> str:
    return "NULL" if value is None else str(value) if isinstance(value, int) else literal(value)


def _array(texts: Iterable[str]) -> str:
    written = list(map(literal, texts))
    if len(written) > _MOST:
        raise ParameterError(
            f"{len(written):,} values are more than the {_MOST:,} of a column that a script lists; use verify"
        )
    return (
        "["
        + ",\n".join(", ".join(written[at : at + _A_LINE]) for at in range(0, len(written), _A_LINE))
        + "]"
    )


def formatted(sql: str) -> str:
    """Begin a line before each clause; text in quotes is left alone.

    Examples
    --------
    >>> print(formatted("SELECT 'a FROM b' FROM t"))
    SELECT 'a FROM b'
    FROM t
    """
    parts = re.split(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""", sql)
    # A blank before a clause is where a line may end; one that belongs to a quoted text is not among them.
    return "".join(part if number % 2 else _CLAUSE.sub("\n", part) for number, part in enumerate(parts))
