"""How many people of the population the records of each class stand for, by sampling weights.

A release has no weights. So they are taken from the raw table: record N of it must be record N of the
release.

Table made here
---------------
standing
    class, millionths: the sum of the weights of each class's records, in millionths of a person. That of the
    suppressed records has the class NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.errors import SchemaError
from incrowd.verification.checks import Checks
from incrowd.verification.classes import cell, count_rows
from incrowd.verification.loading import Tables, write_plainly
from incrowd.verification.persons import Persons, raw_wanted
from incrowd.verification.policy import Nulls, Policy
from incrowd.verification.source import Table
from incrowd.verification.wildcards import alone

_MILLION = 1_000_000


def find_weights(con: Checks, tables: Tables, policy: Policy, persons: Persons | None) -> str | None:
    """Add up the weights of each class; return why that cannot be done, in words, or nothing.

    Returns
    -------
    None where the policy names no weights.
    """
    named = policy.named("weight")
    if not named:
        return None
    column, (released, raw) = named[0], (tables.released, tables.raw)
    if raw is None:
        return raw_wanted("the release has no sampling weights")
    if column.name not in raw.names:
        return f"the raw table {raw.title} has no column {column.name!r}"
    if persons is not None and (persons.several or persons.unknown):
        return "people may have several rows, whose weights do not add up"
    if count_rows(con, released) != count_rows(con, raw):
        return "the release and the raw table have not the same records"
    if not tables.same_order(policy):
        return raw_wanted("it is not known which raw record each record is")
    place, declared, nulls = f"c{raw.place(column.name)}", raw.type_of(column.name), policy.null_values
    try:
        write_plainly(con, raw.name, place, declared, column, nulls, in_script=False)
    except SchemaError as error:
        return f"{error}"
    weight = cell(raw, column.name, nulls, "w")
    number = f"TRY_CAST(CAST({weight} AS VARCHAR) AS DOUBLE)"
    fits = f"coalesce(isfinite({number}) AND {number} > 0 AND {number} <= 1e12, false)"
    (others,) = con.row(f"SELECT count(*) FROM {raw.name} AS w WHERE NOT {fits}")
    if others:
        return f"{others:,} rows of the raw table have no number above 0 in column {column.name!r}"
    _add_up(con, released, raw, [each.name for each in policy.named("quasi")], nulls, number)
    return ""


def stood_for(quasi: int, wildcards: str) -> str:
    """Write the query of the fewest people whom a class stands for, in millionths.

    Where cells match any, the tables that `matching` makes have to be there.
    """
    own = "main.classes JOIN standing USING (class)"
    match wildcards:
        case "matches-any":
            return (
                "SELECT min(sums) FROM (SELECT sum(millionths) AS sums FROM pair JOIN part "
                "ON pair.other = part.class JOIN standing ON part.home = standing.class GROUP BY pair.class)"
            )
        case "conservative":
            # A record that counts alone stands for one person at most.
            smallest = (
                f"CASE WHEN {alone(range(quasi))} THEN least(millionths, {_MILLION}) ELSE millionths END"
            )
            return f"SELECT min({smallest}) FROM {own}"
    return f"SELECT min(millionths) FROM {own}"


def _add_up(
    con: Checks, released: Table, raw: Table, quasi: Sequence[str], null_values: Nulls, number: str
) -> None:
    """Make the table `standing`; sums of millionths are exact."""
    keys = ", ".join(
        f"{cell(released, name, null_values, 'r')} AS q{place}" for place, name in enumerate(quasi)
    )
    same = " AND ".join(f"e.q{place} IS NOT DISTINCT FROM classes.q{place}" for place in range(len(quasi)))
    con.execute(
        "CREATE TABLE standing AS SELECT class, sum(weight)::HUGEINT AS millionths FROM "
        f"(SELECT {keys}, greatest(round({number} * {_MILLION}), 1)::HUGEINT AS weight "
        f"FROM {released.name} AS r JOIN {raw.name} AS w ON r.rowid = w.rowid) AS e "
        f"LEFT JOIN classes ON {same} GROUP BY class"
    )
