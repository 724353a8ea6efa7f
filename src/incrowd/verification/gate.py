"""Findings that a reader should look at although every limit holds, counted anew.

The released file shows most of them. Which columns tell a generalized one, and which cells cover every value
that occurs, only the raw table shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from incrowd.verification.cells import CellReader
from incrowd.verification.checks import Checks
from incrowd.verification.classes import cell, count_rows, written
from incrowd.verification.loading import Tables
from incrowd.verification.policy import SUPPRESSED, Column, Policy
from incrowd.verification.result import GateFinding
from incrowd.verification.source import Table, literal

_A_FIFTH = 0.2
_HALF = 0.5
_PAIRED = 12
_ROWS, _FIRST = 20_000, 1_000
"""Raw rows that are compared, and those of them that rule out most pairs of columns."""
_PARTS = ("%Y", "%m", "%d", "%Y-%m", "%m-%d", "%u", "%A", "%B", "%V", "%j")
"""Parts of a day that a column of its own may have."""


def plain_columns(policy: Policy, released: Sequence[str]) -> list[str]:
    """Return the released columns that no model looks at and that nothing was done to."""
    columns = {column.name: column for column in policy.columns}
    unnamed = [name for name in released if name not in columns and policy.unlisted == "keep"]
    plain = [name for name in released if name in columns and columns[name].role == "insensitive"]
    return [name for name in released if name in unnamed or (name in plain and not columns[name].treatment)]


def gate_findings(con: Checks, policy: Policy, tables: Tables) -> list[GateFinding]:
    """Return the findings of the tables: unique and derived columns, unprotected values, blanked columns."""
    released, raw = tables.released, tables.raw_in_order
    lacks = raw is not None and any(column.name not in raw.names for column in policy.named("quasi"))
    if raw is None or lacks or count_rows(con, released) + tables.missing != count_rows(con, raw):
        raw = None
    found = [
        *_unique(con, policy, released),
        *_unprotected(con, policy, released),
        *(() if raw is None else _derived(con, policy, released, raw)),
        *_blanked(con, policy, released, raw, tables.missing),
    ]
    return [
        GateFinding(name, columns, share, policy.reason_of(name, columns)) for name, columns, share in found
    ]


_Found = tuple[str, tuple[str, ...], float]


def _unique(con: Checks, policy: Policy, released: Table) -> Iterator[_Found]:
    cells = {name: _cell(released, name, policy) for name in plain_columns(policy, released.names)}
    (records,) = con.row(f"SELECT count(*) FROM {released.name}")
    alone = {name: _alone(con, released, [shown]) / records for name, shown in cells.items()}
    yield from (("unique-column", (name,), share) for name, share in alone.items() if share >= _A_FIFTH)
    left = {name: shown for name, shown in cells.items() if alone[name] < _A_FIFTH}
    sizes = {name: _distinct(con, released, shown) for name, shown in left.items()}
    most = sorted(left, key=lambda name: -sizes[name])[:_PAIRED]
    for one, other in combinations([name for name in left if name in most], 2):
        if sizes[one] * sizes[other] >= _A_FIFTH * records:
            share = _alone(con, released, [left[one], left[other]]) / records
            if share >= _A_FIFTH:
                yield "unique-together", (one, other), share


def _unprotected(con: Checks, policy: Policy, released: Table) -> Iterator[_Found]:
    demands = policy.all_demands
    if not demands:
        # The limits are checked on another table, which this one is a part of.
        return
    looked_at = {demand.attribute for demand in demands}
    if any(demand.attribute is None and demand.model == "p29" for demand in demands):
        return
    quasi = [_cell(released, column.name, policy) for column in policy.named("quasi")]
    kept = " OR ".join(f"{shown} IS DISTINCT FROM '{SUPPRESSED}'" for shown in quasi)
    for column in policy.named("sensitive"):
        if column.name in looked_at:
            continue
        if column.parts is not None:
            yield (
                "unprotected-sensitive",
                (column.name,),
                _sharing(con, policy, released, column, quasi, kept),
            )
            continue
        value = f"coalesce('v' || {_cell(released, column.name, policy)}, 'm')"
        classes = (
            f"SELECT count(*) AS n, count(DISTINCT {value}) AS kinds FROM {released.name} WHERE {kept} "
            f"GROUP BY {', '.join(quasi)}"
        )
        all_records, alike = con.row(
            f"SELECT sum(n), coalesce(sum(n) FILTER (kinds = 1), 0) FROM ({classes})"
        )
        yield "unprotected-sensitive", (column.name,), float(alike) / float(all_records or 1)


def _sharing(
    con: Checks, policy: Policy, released: Table, column: Column, quasi: Sequence[str], kept: str
) -> float:
    """Return the share of records in classes of which all records share a part of a list."""
    classes = con.execute(
        f"SELECT list({_cell(released, column.name, policy)}), count(*) FROM {released.name} WHERE {kept} "
        f"GROUP BY {', '.join(quasi)}"
    ).fetchall()
    sharing = sum(
        size for cells, size in classes if frozenset.intersection(*map(column.parts_of, set(cells)))
    )
    return float(sharing) / float(sum(size for _, size in classes) or 1)


class _Values(NamedTuple):
    """A raw column: its text in SQL, its number of values without and with the missing one, and if days."""

    text: str
    known: int
    different: int
    of_days: bool


def _derived(con: Checks, policy: Policy, released: Table, raw: Table) -> Iterator[_Found]:
    quasi = [column.name for column in policy.named("quasi")]
    names = [*quasi, *(name for name in plain_columns(policy, released.names) if name in raw.names)]
    texts = ", ".join(f"{written(con, raw, name, ())} AS v{n}" for n, name in enumerate(names))
    con.execute(f"CREATE TABLE first_rows AS SELECT {texts} FROM {raw.name} AS t WHERE t.rowid < {_ROWS}")
    values = {name: _values(con, f"v{n}") for n, name in enumerate(names)}
    keys = [values[name] for name in quasi]
    others = {name: its for name, its in values.items() if its not in keys}
    follows = {one.text: _told_by(con, one, list(others.values())) for one in keys}
    for other, its in others.items():
        tells = _told_by(con, its, keys)
        for name, one in zip(quasi, keys, strict=True):
            by_value = one.text in tells or its.text in follows[one.text]
            if by_value or _is_part(con, its, one) or _is_part(con, one, its):
                yield "derived-column", (other, name), 1.0
                break


def _values(con: Checks, text: str) -> _Values:
    day = f"try_strptime(substr({text}, 1, 10), '%Y-%m-%d')"
    counted = f"count(DISTINCT {text}), count({text}) < count(*), count({text}) = count({day})"
    known, lacking, of_days = con.row(f"SELECT {counted} FROM first_rows")
    return _Values(text, known, known + lacking, of_days)


def _told_by(con: Checks, one: _Values, others: Sequence[_Values]) -> set[str]:
    """Return the columns of which each value of one has one value; a nearly unique one tells nothing."""
    (rows,) = con.row("SELECT count(*) FROM first_rows")
    able = [other for other in others if 1 < other.different <= one.different]
    if not able or 2 * one.different > rows:
        return set()
    filled = [f"coalesce('v' || {other.text}, 'm')" for other in able]
    alike = ", ".join(f"min({text}) = max({text}) AS a{n}" for n, text in enumerate(filled))
    all_alike = ", ".join(f"bool_and(a{n})" for n in range(len(able)))
    holds = con.row(f"SELECT {all_alike} FROM (SELECT {alike} FROM first_rows GROUP BY {one.text})")
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
        holds = con.row(f"SELECT {asked} FROM first_rows WHERE rowid < {few}")
        ways = [way for way, true in zip(ways, holds, strict=True) if true is not False]
        if not ways:
            return False
    return True in holds


def _blanked(
    con: Checks, policy: Policy, released: Table, raw: Table | None, missing: int
) -> Iterator[_Found]:
    quasi = policy.named("quasi")
    shown = [written(con, released, column.name, policy.null_values) for column in quasi]
    blank = [[SUPPRESSED] for _ in quasi]
    if raw is not None:
        types = [raw.kind_of(column.name) for column in quasi]
        both = (_texts(con, table, policy) for table in (released, raw))
        blank = list(map(_for_all, quasi, *both, types))
    gone = " AND ".join(f"{text} IS NOT DISTINCT FROM '{SUPPRESSED}'" for text in shown)
    counted = ", ".join(
        f"count(*) FILTER ({text} IN ({', '.join(map(literal, cells)) or 'NULL'}) AND NOT ({gone}))"
        for text, cells in zip(shown, blank, strict=True)
    )
    records, suppressed, *of_column = con.row(
        f"SELECT count(*), count(*) FILTER ({gone}), {counted} FROM {released.name} AS t"
    )
    for column, number in zip(quasi, of_column, strict=True):
        if number > _HALF * (records - suppressed):
            yield "blanked-column", (column.name,), number / (records - suppressed)
    # What is not in the release was suppressed.
    gone, everybody = suppressed + missing, records + missing
    if gone > _A_FIFTH * everybody:
        yield "much-suppressed", (), gone / everybody


def _texts(con: Checks, table: Table, policy: Policy) -> Iterator[list[str | None]]:
    """Return the different texts of each quasi-identifier in records that are not suppressed, in no order."""
    texts = [written(con, table, column.name, policy.null_values) for column in policy.named("quasi")]
    seen = " OR ".join(f"{text} IS DISTINCT FROM '{SUPPRESSED}'" for text in texts)
    for text in texts:
        rows = f"SELECT DISTINCT {text} AS v FROM {table.name} AS t WHERE {seen} ORDER BY hash(v)"
        yield [value for (value,) in con.execute(rows).fetchall()]


def _for_all(column: Column, cells: list[str | None], values: list[str | None], stored: str) -> list[str]:
    """Return the cells that stand for every value that occurs; a column of one value had nothing to lose."""
    if column.treatment is not None:
        # Its treated values were generalized, and those are not known.
        return [SUPPRESSED]
    if len(values) < 2:
        return []
    if column.style == "mean" and len(cells) == 1:
        # A mean says which values it is of by its class alone, and here that is all records.
        return [text for text in cells if text is not None]
    covers = CellReader(column, values, stored=stored).covers
    return [text for text in cells if text is not None and all(covers(text, value) for value in values)]


def _cell(released: Table, name: str, policy: Policy) -> str:
    return f"CAST({cell(released, name, policy.null_values)} AS VARCHAR)"


def _alone(con: Checks, released: Table, cells: Sequence[str]) -> int:
    groups = f"SELECT 1 FROM {released.name} GROUP BY {', '.join(cells)} HAVING count(*) = 1"
    return int(con.row(f"SELECT count(*) FROM ({groups})")[0])


def _distinct(con: Checks, released: Table, shown: str) -> int:
    return int(con.row(f"SELECT count(*) FROM (SELECT DISTINCT {shown} FROM {released.name})")[0])
