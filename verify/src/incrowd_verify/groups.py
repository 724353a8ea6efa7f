"""Classes in which a `*` or a missing cell matches any cell or none, and classes that merge for an attacker.

A `*` or a missing cell matches itself alone by ``value``. By ``matches-any`` it matches anything: a class
holds every record that could be in it. By ``conservative`` it matches nothing: a record with such a cell is
alone, and a column of nothing but such cells is passed over. Suppressed records match nobody.

Whoever knows a few quasi-identifiers alone sees classes merge: every set of them is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations

from incrowd_gate.errors import PolicyError
from incrowd_verify.attribute import Attribute
from incrowd_verify.checks import Checks
from incrowd_verify.classes import seen_by
from incrowd_verify.limits import Demand
from incrowd_verify.policy import SUPPRESSED
from incrowd_verify.source import literal


def check_known(demand: Demand, wildcards: str) -> None:
    """Refuse a model that means nothing where cells match others, or none."""
    settings = demand.settings
    unknown = {
        "km-anonymity": True,
        "p29": True,
        "profitability": settings.get("definition") == "table",
        "normalized-entropy": wildcards == "conservative" and settings.get("over") == "mean",
        "delta-presence": wildcards == "matches-any",
    }
    if wildcards != "value" and unknown.get(demand.model):
        raise PolicyError(f"{demand.model} is not defined where wildcards are {wildcards!r}")


@contextmanager
def matching(
    con: Checks, known: Sequence[int], values: Sequence[str], wildcards: str, *, by_person: bool
) -> Iterator[None]:
    """Let `classes` and `member` hold all that each class matches, with the parameters of `seen_by`.

    `crowd` and the column `records` tell whose records have just these cells.
    """
    with seen_by(con, known, values, by_person=by_person):
        if wildcards == "value":
            yield
            return
        con.execute("CREATE SCHEMA met")
        con.execute("SET search_path = 'met,seen,main'")
        try:
            others = [*values, *(["person"] if by_person else [])]
            if wildcards == "conservative":
                _part(con, known, others, by_person=by_person)
            else:
                _match(con, known, others, by_person=by_person)
            yield
        finally:
            con.execute("SET search_path = 'seen,main'")
            con.execute("DROP SCHEMA IF EXISTS met CASCADE")


def alone(known: Sequence[int]) -> str:
    """Write the SQL of whether a class has a cell that matches nothing; columns without another are out."""
    ways = (
        f"({_hidden(f'q{number}')} AND EXISTS (SELECT 1 FROM main.classes AS told "
        f"WHERE NOT {_hidden(f'told.q{number}')}))"
        for number in known
    )
    return f"({' OR '.join(ways)})"


def _hidden(cell: str) -> str:
    return f"({cell} IS NULL OR CAST({cell} AS VARCHAR) = {literal(SUPPRESSED)})"


def _match(con: Checks, known: Sequence[int], others: Sequence[str], *, by_person: bool) -> None:
    agree = " AND ".join(
        f"(a.q{number} = b.q{number} OR {_hidden(f'a.q{number}')} OR {_hidden(f'b.q{number}')})"
        for number in known
    )
    con.execute(
        "CREATE TABLE pair AS SELECT a.class, b.class AS other, b.records "
        f"FROM seen.classes AS a JOIN seen.classes AS b ON {agree}"
    )
    size = "sum(records)"
    if others:
        columns = ", ".join(f"whole.{name}" for name in others)
        con.execute(
            f"CREATE TABLE member AS SELECT pair.class, {columns} FROM seen.member AS whole "
            "JOIN pair ON whole.class = pair.other"
        )
    rows = "pair"
    if by_person:
        rows, size = "member", "count(DISTINCT person)"
    con.execute(
        "CREATE TABLE classes AS SELECT own.* REPLACE (found.size AS size) FROM seen.classes AS own "
        f"JOIN (SELECT class, {size}::HUGEINT AS size FROM {rows} GROUP BY class) AS found USING (class)"
    )


def _part(con: Checks, known: Sequence[int], others: Sequence[str], *, by_person: bool) -> None:
    """Make a class of each record that has a cell which matches nothing."""
    keys = ", ".join(f"q{number}" for number in known)
    one = "1::HUGEINT AS records, 1::HUGEINT AS size"
    flagged = f"(SELECT *, {alone(known)} AS alone FROM seen.classes)"
    if not others:
        con.execute(
            f"CREATE TABLE classes AS SELECT class, records, CASE WHEN alone THEN 1 ELSE size END AS size, "
            f"{keys} FROM {flagged}"
        )
        return
    columns = ", ".join(f"whole.{name}" for name in others)
    con.execute(
        "CREATE TABLE placed AS SELECT CASE WHEN alone THEN -row_number() OVER () ELSE whole.class END "
        f"AS class, whole.class AS home, alone, {columns} "
        f"FROM seen.member AS whole JOIN {flagged} USING (class)"
    )
    con.execute(f"CREATE TABLE member AS SELECT class, {', '.join(others)} FROM placed")
    con.execute(
        f"CREATE TABLE classes AS SELECT class, records, size, {keys} FROM {flagged} WHERE NOT alone "
        f"UNION ALL SELECT placed.class, {one}, {keys} FROM placed "
        "JOIN seen.classes AS whole ON placed.home = whole.class WHERE alone"
    )
    if by_person:
        con.execute("CREATE TABLE crowd AS SELECT DISTINCT class, person FROM member")


OF_SUBSETS = ("lkc-privacy", "subset-k-anonymity")
"""Models against somebody who knows any few of the quasi-identifiers."""
_MOST_SETS = 10_000


def subsets(quasi: int, known: int) -> Sequence[tuple[int, ...]]:
    """List the sets of so many quasi-identifiers.

    Raises `PolicyError`: there are too many.
    """
    known = min(known, quasi)
    if math.comb(quasi, known) > _MOST_SETS:
        raise PolicyError(
            f"{' and '.join(OF_SUBSETS)}: {math.comb(quasi, known):,} sets of {known} "
            f"quasi-identifiers are more than the {_MOST_SETS:,} that are looked at"
        )
    return list(combinations(range(quasi), known))


def merged(attribute: Attribute, group: str) -> str:
    """Write the query of how often each value occurs where classes merge by some cells."""
    part = f"dense_rank() OVER (ORDER BY {group}) AS part"
    ending = attribute.coded()
    if not attribute.by_person:
        return (
            f"(WITH merged AS (SELECT class, classes.size, {part} FROM classes), "
            "sizes AS (SELECT part, sum(size)::HUGEINT AS size FROM merged GROUP BY part), "
            f"summed AS (SELECT m.part, v, sum(n)::HUGEINT AS n FROM counts_{ending} AS c "
            "JOIN merged AS m ON c.part = m.class GROUP BY m.part, v) "
            "SELECT part, part AS home, size, v, n FROM summed JOIN sizes USING (part))"
        )
    # Somebody may be in several of the classes that merge: people are united, not added.
    people = "count(DISTINCT person)::HUGEINT"
    return (
        f"(WITH joined AS (SELECT {part}, v, person FROM held_{ending} AS h "
        "JOIN classes ON h.class = classes.class), "
        f"sizes AS (SELECT part, {people} AS size FROM joined GROUP BY part) "
        f"SELECT part, part AS home, size, v, {people} AS n FROM joined JOIN sizes USING (part) "
        "GROUP BY part, size, v)"
    )


def alike(merge: str | None, *, by_person: bool) -> str:
    """Write how many there are at least in a class, or agree in some columns by which classes merge."""
    if merge is None:
        return "SELECT min(size) FROM classes"
    amount, rows = "sum(size)", "classes"
    if by_person:
        amount, rows = "count(DISTINCT person)", "crowd JOIN classes USING (class)"
    return f"SELECT min(n) AS n FROM (SELECT {amount} AS n FROM {rows} GROUP BY {merge})"
