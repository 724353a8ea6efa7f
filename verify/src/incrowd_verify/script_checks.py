"""The checks of a release as a script of SQL, for whoever has DuckDB alone.

A script holds the demands of the policy, the names of columns, and cells of the release. It computes all
figures anew from the file. Python's judgements stand in it as lists: which cells suit the policy. So a
cell that the file gets later, and that is not in such a list, fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from incrowd_verify.checks import Cells, Checks, Remarks
from incrowd_verify.errors import ParameterError
from incrowd_verify.source import Table, literal

if TYPE_CHECKING:
    import duckdb

_MOST = 200_000
"""Cells or values of a column that a script may list."""


_A_LINE = 8


_STATEMENT = re.compile(r"\s*(CREATE|DROP|SET|RESET|INSERT|UPDATE|DELETE|ALTER|ATTACH)\b")


_CLAUSE = re.compile(
    r"(?<!DISTINCT)(?<!LEFT)(?<!CROSS)(?<!ASOF) (?=(?:SELECT|FROM|WHERE|GROUP BY|HAVING|LEFT JOIN|CROSS JOIN|"
    r"JOIN|UNION ALL|WINDOW|WITH) )"
)


class Script(Checks):
    """Runs statements on a connection, and writes those down that make something.

    Questions are answered and not written down: what they find out is of this file alone.

    Attributes
    ----------
    checks, aside
        How many checks are written, and how many of these in tables of their own.
    """

    is_script = True

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        super().__init__(con)
        self.lines: list[str] = []
        self.checks = 0
        self.aside = 0
        self._into = "checks"

    def narrow(self, table: Table, name: str) -> Table:
        """Return the table: a script has no other one."""
        return table

    def execute(self, sql: str, parameters: Any = None) -> duckdb.DuckDBPyConnection:
        """Run a statement; write it down if it makes something."""
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
        self,
        what: str,
        reached: str,
        holds: str = "reached = 0",
        asked: float | None = 0,
        *,
        column: str | None = None,
        problem: Callable[[int], str] | None = None,
    ) -> None:
        """Write a check."""
        self.checks += 1
        about = "NULL" if column is None else literal(column)
        limit = "NULL" if asked is None else repr(float(asked))
        self.execute(
            f"INSERT INTO main.{self._into} SELECT {self.checks}, {literal(what)}, {about}, reached, "
            f"{limit}, coalesce({holds}, false) FROM (SELECT ({reached})::DOUBLE AS reached)"
        )

    def show(self, query: str) -> None:
        """Print the rows of a query."""
        self.lines.append(f"{query};")

    def never(self, what: str) -> None:
        """Write a check that always fails."""
        self.check(f"{what}, when this was written", "0", "reached = 1", 1)

    @contextmanager
    def apart(self, table: str) -> Iterator[Remarks]:
        """Write checks into a table of their own."""
        self.execute(f"CREATE TABLE {table} AS FROM checks LIMIT 0")
        before, self._into = self.checks, table
        yield Remarks()
        self._into = "checks"
        self.aside += self.checks - before

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
        self,
        what: str,
        column: str,
        cell: str,
        rows: str,
        amount: str,
        good: Sequence[tuple[str | None, int]],
    ) -> None:
        """Write a check that all cells are among those of a list; one may need some records to be there."""
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
        """Write a check of a figure, and return its result."""
        self.check(title, figure, is_met, asked, column=column)
        reached, holds = self.row(f"SELECT reached, holds FROM main.checks WHERE number = {self.checks}")
        return reached, bool(holds)


def _value(value: str | int | None) -> str:
    return "NULL" if value is None else str(value) if isinstance(value, int) else literal(value)


def _array(texts: Iterable[str]) -> str:
    """Write texts as an array."""
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
