"""The checks of a policy as one script for DuckDB, so that an auditor needs DuckDB and nothing of ours.

The script holds what the policy asks for, the names of columns, and cells of the release. It computes all
figures anew from the file. What `verify` judges in Python stands in it as lists: which cells suit the policy.
So a cell that the file gets later, and that is not in such a list, fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from incrowd.errors import ParameterError
from incrowd.verification.classes import fetch_row
from incrowd.verification.source import literal

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


class Script:
    """Runs statements on a connection, and writes those down that make something.

    It stands where a connection is asked for. Questions are answered and not written down: what they find out
    is of this file alone.

    Attributes
    ----------
    con
        The connection itself, for what is not written down.
    checks, apart
        How many checks are written, and how many of these in tables of their own.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.lines: list[str] = []
        self.checks = 0
        self.apart = 0
        self._into = "checks"

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
        attribute: str | None,
        reached: str,
        holds: str = "reached = 0",
        asked: float | None = 0,
    ) -> None:
        """Write a check: SQL of the figure, and of whether it is as it should be, given `reached`.

        Without more it is a count of what may not be there.
        """
        self.checks += 1
        column = "NULL" if attribute is None else literal(attribute)
        limit = "NULL" if asked is None else repr(float(asked))
        self.execute(
            f"INSERT INTO main.{self._into} SELECT {self.checks}, {literal(what)}, {column}, reached, "
            f"{limit}, coalesce({holds}, false) FROM (SELECT ({reached})::DOUBLE AS reached)"
        )

    def never(self, what: str) -> None:
        """Write a check that always fails: the table for the comparison was not there."""
        self.check(f"{what}, when this was written", None, "0", "reached = 1", 1)

    @contextmanager
    def checks_apart(self, table: str) -> Iterator[None]:
        """Write checks into a table of their own, so that they do not decide the verdict by themselves."""
        self.execute(f"CREATE TABLE {table} AS FROM checks LIMIT 0")
        before, self._into = self.checks, table
        yield
        self._into = "checks"
        self.apart += self.checks - before

    def fill(self, table: str, columns: str, rows: Sequence[Sequence[str | int | None]]) -> None:
        """Write a table with all of its rows.

        Parameters
        ----------
        columns
            Their names and types.

        Raises
        ------
        ParameterError
            There are too many rows.
        """
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

    def found(self) -> tuple[float | None, bool]:
        """Return the result of the last check."""
        reached, holds = fetch_row(
            self.con, f"SELECT reached, holds FROM main.checks WHERE number = {self.checks}"
        )
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
