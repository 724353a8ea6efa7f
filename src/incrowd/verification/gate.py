"""Findings that a reader should look at although every limit holds, counted anew on the released file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from incrowd.verification.classes import cell, fetch_row
from incrowd.verification.policy import SUPPRESSED, Policy
from incrowd.verification.result import GateFinding
from incrowd.verification.source import Table

if TYPE_CHECKING:
    import duckdb

__all__ = ["gate_findings", "plain_columns"]

_A_FIFTH = 0.2
_HALF = 0.5
_PAIRED = 12


def plain_columns(policy: Policy, released: Sequence[str]) -> list[str]:
    """Return the released columns that no model looks at and that nothing was done to."""
    columns = {column.name: column for column in policy.columns}
    unnamed = [name for name in released if name not in columns and policy.unlisted == "keep"]
    plain = [name for name in released if name in columns and columns[name].role == "insensitive"]
    return [name for name in released if name in unnamed or (name in plain and not columns[name].treatment)]


def gate_findings(con: duckdb.DuckDBPyConnection, policy: Policy, released: Table) -> list[GateFinding]:
    """Return what the file shows: unique columns, unprotected values, blanked and suppressed cells."""
    found = [
        *_unique(con, policy, released),
        *_unprotected(con, policy, released),
        *_starred(con, policy, released),
    ]
    return [
        GateFinding(name, columns, share, policy.reason_of(name, columns)) for name, columns, share in found
    ]


_Found = tuple[str, tuple[str, ...], float]


def _unique(con: duckdb.DuckDBPyConnection, policy: Policy, released: Table) -> Iterator[_Found]:
    cells = {name: _cell(released, name, policy) for name in plain_columns(policy, released.names)}
    (records,) = fetch_row(con, f"SELECT count(*) FROM {released.name}")
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


def _unprotected(con: duckdb.DuckDBPyConnection, policy: Policy, released: Table) -> Iterator[_Found]:
    demands = [*policy.demands, *(each for attacker in policy.attackers for each in attacker.demands)]
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
        value = f"coalesce('v' || {_cell(released, column.name, policy)}, 'm')"
        classes = (
            f"SELECT count(*) AS n, count(DISTINCT {value}) AS kinds FROM {released.name} WHERE {kept} "
            f"GROUP BY {', '.join(quasi)}"
        )
        all_records, alike = fetch_row(
            con, f"SELECT sum(n), coalesce(sum(n) FILTER (kinds = 1), 0) FROM ({classes})"
        )
        yield "unprotected-sensitive", (column.name,), float(alike) / float(all_records or 1)


def _starred(con: duckdb.DuckDBPyConnection, policy: Policy, released: Table) -> Iterator[_Found]:
    shown = {column.name: _cell(released, column.name, policy) for column in policy.named("quasi")}
    stars = {name: f"coalesce({value} = '{SUPPRESSED}', false)" for name, value in shown.items()}
    gone = " AND ".join(stars.values())
    counted = ", ".join(f"count(*) FILTER ({star} AND NOT ({gone}))" for star in stars.values())
    records, suppressed, *of_column = fetch_row(
        con, f"SELECT count(*), count(*) FILTER ({gone}), {counted} FROM {released.name}"
    )
    for name, number in zip(stars, of_column, strict=True):
        if number > _HALF * (records - suppressed):
            yield "blanked-column", (name,), number / (records - suppressed)
    if suppressed > _A_FIFTH * records:
        yield "much-suppressed", (), suppressed / records


def _cell(released: Table, name: str, policy: Policy) -> str:
    place = released.place(name)
    return f"CAST({cell(place, released.types[place], policy.null_values)} AS VARCHAR)"


def _alone(con: duckdb.DuckDBPyConnection, released: Table, cells: Sequence[str]) -> int:
    groups = f"SELECT 1 FROM {released.name} GROUP BY {', '.join(cells)} HAVING count(*) = 1"
    return int(fetch_row(con, f"SELECT count(*) FROM ({groups})")[0])


def _distinct(con: duckdb.DuckDBPyConnection, released: Table, shown: str) -> int:
    return int(fetch_row(con, f"SELECT count(*) FROM (SELECT DISTINCT {shown} FROM {released.name})")[0])
