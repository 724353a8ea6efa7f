"""A release beside its raw table in a script, where it is not known which raw record each record is.

Tables made here
----------------
passed
    p, p0, p1, ...: what the columns have together that are released as they are.
released_alike, raw_alike
    class or person, q0, q1, ..., p, n: how many records have the same cells, or values, and the same p.
suiting_0, suiting_1, ...
    cell, value: which raw values each cell of a quasi-identifier is true of.
suits
    class, person: whose cells are true of which raw values.
"""

from __future__ import annotations

from incrowd.verification.against import Comparison
from incrowd.verification.policy import SUPPRESSED
from incrowd.verification.script import Script
from incrowd.verification.script_cover import Covering


def check_as_a_whole(script: Script, comparison: Comparison) -> None:
    """Write checks of how often everything occurs in both tables, and of whether the cells can be true.

    Raises
    ------
    ParameterError
        There are too many records that differ.
    """
    script.note(
        "Which raw record each record is, is not known. So the tables are compared as a whole.",
        *(f"Not checked: {what}." for what in comparison.unordered_means()),
    )
    script.check(
        "records that differ from all raw ones in columns that are released as they are",
        None,
        comparison.combined(),
        "reached = 0",
        0,
    )
    script.note("The records that are alike, and the raw records that are.")
    for table, number, raw in (("released_alike", "class", False), ("raw_alike", "person", True)):
        script.execute(
            f"CREATE TABLE {table} AS SELECT row_number() OVER () AS {number}, * "
            f"FROM ({comparison.bunches(raw=raw)})"
        )
    _find_suiting(script, comparison)
    fitting = "SELECT class, sum(e.n) AS people FROM suits JOIN raw_alike AS e USING (person) GROUP BY class"
    script.check(
        "records whose cells are true of too few raw records",
        None,
        f"SELECT coalesce(sum(n), 0) FROM released_alike LEFT JOIN ({fitting}) USING (class) "
        "WHERE coalesce(people, 0) < n",
        "reached = 0",
        0,
    )
    script.check(
        "raw records of which the cells of no record are true",
        None,
        "SELECT coalesce(sum(n), 0) FROM raw_alike WHERE person NOT IN (SELECT person FROM suits)",
        "reached = 0",
        0,
    )


def _find_suiting(script: Script, comparison: Comparison) -> None:
    """Make the table `suits`."""
    covering = Covering(script, "released_alike", "raw_alike", "suits", "suiting", "c.p = e.p")
    covering.refuse_many(
        "SELECT sum(r.n * w.n) FROM (SELECT p, count(*) AS n FROM released_alike GROUP BY p) AS r "
        "JOIN (SELECT p, count(*) AS n FROM raw_alike GROUP BY p) AS w USING (p)",
        "the raw table's",
    )
    hidden = " AND ".join(
        f"coalesce(q{number} = '{SUPPRESSED}', false)" for number in range(len(comparison.pairs))
    )
    shares = {}
    for number, pair in enumerate(comparison.pairs):
        if pair.column.style == "mean":
            continue
        known = covering.texts(number, f"raw_alike WHERE NOT ({hidden})")
        script.note(f"Which raw values each cell of {pair.column.name} is true of; * is true of any.")
        covers, values = comparison.covers(number, known), covering.texts(number, "raw_alike")
        shares[number] = covering.tell(number, covers, values)
    script.note("The raw records that suit the cells of each: the column that parts most is looked at first.")
    covering.meet(shares)
