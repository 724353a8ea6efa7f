"""Columns that are released as they are and tell a generalized one; the raw table shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from incrowd.gate import wording
from incrowd.gate.points import Point
from incrowd.verification.checks import NARROW, Checks
from incrowd.verification.classes import count_rows, written
from incrowd.verification.policy import Policy
from incrowd.verification.source import Table

_ROWS, _FIRST = 20_000, 1_000
"""Raw rows, spread evenly, that are compared, and those of them that rule out most pairs of columns."""
_PARTS = ("%Y", "%m", "%d", "%Y-%m", "%m-%d", "%u", "%A", "%B", "%V", "%j")
"""Parts of a day that a column of its own may have."""


def plain_columns(policy: Policy, released: Sequence[str]) -> list[str]:
    """Return the released columns that no model looks at and that nothing was done to."""
    columns = {column.name: column for column in policy.columns}
    as_it_is = {name: its.role == "insensitive" and not its.treatment for name, its in columns.items()}
    return [name for name in released if as_it_is.get(name, policy.unlisted == "keep")]


class _Values(NamedTuple):
    """A raw column: its text in SQL, its number of values without and with the missing one, and if days."""

    text: str
    known: int
    different: int
    of_days: bool


def derived_columns(con: Checks, policy: Policy, released: Table, raw: Table) -> Iterator[Point]:
    """Return a point for each column that is released as it is and tells a generalized one.

    Parameters
    ----------
    raw
        The raw records, in their own order.
    """
    quasi = [column.name for column in policy.named("quasi")]
    plain = [name for name in plain_columns(policy, released.names) if raw.has(name)]
    for start in range(0, len(plain), NARROW):
        yield from _derived(con, raw, quasi, plain[start : start + NARROW])


def _derived(con: Checks, raw: Table, quasi: Sequence[str], plain: Sequence[str]) -> Iterator[Point]:
    names = [*quasi, *plain]
    texts = ", ".join(f"{written(con, raw, name)} AS v{n}" for n, name in enumerate(names))
    # Multiples of the golden ratio choose rows that are spread evenly, and in no rhythm that rows may have.
    share = min(_ROWS / max(count_rows(con, raw), 1), 1.0)
    chosen = f"t.rowid * 2654435761 % 4294967296 < {int(share * 2**32)}"
    con.execute(f"CREATE OR REPLACE TABLE some_rows AS SELECT {texts} FROM {raw.name} AS t WHERE {chosen}")
    values = {name: _values(con, f"v{n}") for n, name in enumerate(names)}
    keys = [values[name] for name in quasi]
    others = {name: its for name, its in values.items() if its not in keys}
    follows = {one.text: _told_by(con, one, list(others.values())) for one in keys}
    for other, its in others.items():
        tells = _told_by(con, its, keys)
        for name, one in zip(quasi, keys, strict=True):
            from_quasi = its.text in follows[one.text] or _is_part(con, its, one)
            if from_quasi or one.text in tells or _is_part(con, one, its):
                yield wording.derived(other, name, follows=from_quasi)
                break


def _values(con: Checks, text: str) -> _Values:
    day = f"try_strptime(substr({text}, 1, 10), '%Y-%m-%d')"
    counted = f"count(DISTINCT {text}), count({text}) < count(*), count({text}) = count({day})"
    known, lacking, of_days = con.row(f"SELECT {counted} FROM some_rows")
    return _Values(text, known, known + lacking, of_days)


def _told_by(con: Checks, one: _Values, others: Sequence[_Values]) -> set[str]:
    """Return the columns of which each value of one has one value; a nearly unique one tells nothing."""
    (rows,) = con.row("SELECT count(*) FROM some_rows")
    able = [other for other in others if 1 < other.different <= one.different]
    if not able or 2 * one.different > rows:
        return set()
    filled = [f"coalesce('v' || {other.text}, 'm')" for other in able]
    alike = ", ".join(f"min({text}) = max({text}) AS a{n}" for n, text in enumerate(filled))
    all_alike = ", ".join(f"bool_and(a{n})" for n in range(len(able)))
    holds = con.row(f"SELECT {all_alike} FROM (SELECT {alike} FROM some_rows GROUP BY {one.text})")
    return {other.text for other, true in zip(able, holds, strict=True) if true}


def _is_part(con: Checks, part: _Values, whole: _Values) -> bool:
    """Say whether a column is the beginning or the end of another one in every row, or a part of its day."""
    if not 1 < part.known < whole.known:
        return False
    ways = [f"{side}({whole.text}, {part.text})" for side in ("starts_with", "ends_with")]
    if whole.of_days:
        day = f"strptime(substr({whole.text}, 1, 10), '%Y-%m-%d')"
        ways += [f"ltrim({part.text}, '0') = ltrim(strftime({day}, '{form}'), '0')" for form in _PARTS]
    # Rows where one is missing say nothing; the first rows rule out most.
    for few in (_FIRST, _ROWS):
        asked = ", ".join(f"bool_and({way})" for way in ways)
        holds = con.row(f"SELECT {asked} FROM some_rows WHERE rowid < {few}")
        ways = [way for way, true in zip(ways, holds, strict=True) if true is not False]
        if not ways:
            return False
    return True in holds
