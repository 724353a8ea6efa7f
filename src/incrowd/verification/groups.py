"""Does each group of an m-invariant release have every sensitive value once, m or more, and one class?

Whether people have the same values around in every release cannot be seen here: the ledger knows it.
"""

from __future__ import annotations

from incrowd.errors import setting
from incrowd.verification.checks import Checks
from incrowd.verification.classes import written
from incrowd.verification.policy import Policy
from incrowd.verification.source import Table

GROUP = "group"
"""The released column that has the number of the group."""


def check_groups(con: Checks, policy: Policy, released: Table) -> None:
    """Check the groups of a release whose policy asks for m-invariance (Xiao and Tao 2007)."""
    if policy.m is None:
        return
    con.remarks.unchecked.append(
        "whether people have the same sensitive values around as in earlier releases: the ledger knows "
        f"({setting('composition_of_ledger', 'incrowd attack --ledger')})"
    )
    names = [column.name for column in (*policy.named("quasi"), *policy.named("sensitive"))]
    if len(policy.named("sensitive")) != 1 or not {GROUP, *names} <= set(released.names):
        con.remarks.problems.append(f"no column {GROUP!r} says which {policy.m} values stand together")
        con.never("each group had every sensitive value once")
        return
    *cells, value = (f"coalesce({written(con, released, each, policy.null_values)}, '')" for each in names)
    group = written(con, released, GROUP, policy.null_values)
    groups = f"SELECT {group} AS g, {value} AS v, [{', '.join(cells)}] AS q FROM {released.name} AS t"
    con.check(
        "records that repeat a sensitive value of their group",
        f"SELECT count(*) - count(DISTINCT (g, v)) FROM ({groups})",
        problem=lambda count: f"{count:,} records repeat a sensitive value of their group",
    )
    con.check(
        f"groups of fewer than {policy.m} values",
        f"SELECT count(*) FROM (SELECT g FROM ({groups}) GROUP BY g HAVING count(*) < {policy.m})",
        problem=lambda count: f"{count:,} groups have fewer than {policy.m} sensitive values",
    )
    con.check(
        "groups of several classes",
        f"SELECT count(*) FROM (SELECT g FROM ({groups}) GROUP BY g HAVING count(DISTINCT q) > 1)",
        problem=lambda count: f"{count:,} groups have records of several classes",
    )
