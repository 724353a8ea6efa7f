"""People with suppressed cells whom few released records fit, in SQL."""

from __future__ import annotations

from collections.abc import Callable

from incrowd.gate import wording
from incrowd.gate.points import Point
from incrowd.verification.checks import Checks
from incrowd.verification.classes import count_rows, written
from incrowd.verification.policy import SUPPRESSED, Column, Policy
from incrowd.verification.source import Table

_PLAIN = "-?(0|[1-9][0-9]*)([.][0-9]+)?"


def few_matches(con: Checks, policy: Policy, released: Table, raw: Table) -> Point | None:
    """Return the point of raw records that fit some released records, but fewer than k; None without any.

    A released record fits values if each of its cells is the value, ``*`` or missing. Records that are ``*``
    throughout fit nobody.
    """
    quasi = policy.named("quasi")
    suppressing = policy.algorithm.get("name") == "cell-suppression"
    if policy.wildcards != "matches-any" or not suppressing:
        return None
    if any(column.style not in ("auto", "suppress") for column in quasi):
        return None
    least = max((int(each.limit) for each in policy.demands if each.model == "k-anonymity"), default=2)
    values = [_number_plainly(con, policy, raw, column) for column in quasi]
    names = [f"v{number}" for number in range(len(quasi))]
    for made, table in (("shown", released), ("whom", raw)):
        texts = ", ".join(
            f"{plain(written(con, table, column.name, policy.null_values))} AS {name}"
            for plain, column, name in zip(values, quasi, names, strict=True)
        )
        told = " OR ".join(f"{name} IS DISTINCT FROM '{SUPPRESSED}'" for name in names)
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE {made} AS "
            f"SELECT row_number() OVER () AS id, *, {_hidden(names)} AS hidden "
            f"FROM (SELECT {texts}, count(*) AS n FROM {table.name} AS t GROUP BY ALL) WHERE {told}"
        )
    con.execute("CREATE OR REPLACE TEMP TABLE fit (id BIGINT, n BIGINT)")
    # Records that show the same columns are joined by these.
    for (hidden,) in con.execute("SELECT DISTINCT hidden FROM shown").fetchall():
        same = [f"shown.hidden = {int(hidden)}"]
        same += [f"whom.{name} = shown.{name}" for place, name in enumerate(names) if not hidden >> place & 1]
        con.execute(
            "INSERT INTO fit SELECT whom.id, sum(shown.n) "
            f"FROM whom JOIN shown ON {' AND '.join(same)} GROUP BY whom.id"
        )
    (few,) = con.row(
        "SELECT coalesce(sum(n) FILTER (fits < ?), 0) FROM whom "
        "JOIN (SELECT id, sum(n) AS fits FROM fit GROUP BY id) USING (id)",
        [least],
    )
    return wording.few_matches(int(few), float(few) / max(count_rows(con, raw), 1), least) if few else None


def _hidden(names: list[str]) -> str:
    """Write the set of the columns that a record does not show, as a whole number."""
    cells = (
        f"CASE WHEN {name} IS NULL OR {name} = '{SUPPRESSED}' THEN {1 << place} ELSE 0 END"
        for place, name in enumerate(names)
    )
    return f"({' + '.join(cells)})"


def _number_plainly(con: Checks, policy: Policy, raw: Table, column: Column) -> Callable[[str], str]:
    """Return a function that writes the SQL of a value; in a column of numbers 5 and 5.0 are one text."""
    text = written(con, raw, column.name, policy.null_values)
    is_number = column.hierarchy is None and column.kind in ("auto", "number")
    if is_number and raw.kind_of(column.name) == "text":
        (others,) = con.row(
            f"SELECT count(*) FROM {raw.name} AS t WHERE {text} <> '{SUPPRESSED}' "
            f"AND NOT regexp_full_match({text}, '{_PLAIN}')"
        )
        is_number = not others
    if not is_number:
        return lambda text: text
    trimmed = "regexp_replace(regexp_replace({0}, '([.][0-9]*?)0+$', '\\1'), '[.]$', '')"
    return lambda text: f"CASE {trimmed.format(text)} WHEN '-0' THEN '0' ELSE {trimmed.format(text)} END"
