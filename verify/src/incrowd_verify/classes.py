"""The released records in classes, in SQL.

Tables made here
----------------
record
    q0, q1, ... (quasi-identifiers), s0, s1, ... (sensitive), suppressed. One row a record.
classes
    class, records, size, q0, q1, ...: the groups of the records that are not suppressed. The size is the
    number of records, or of people.
member
    class (NULL for a suppressed record), s0, s1, ... One row a record.
crowd
    class, person: who has a record in which class.

Where people are counted, `record` and `member` have the column person, too. Only then `crowd` is there.

For somebody who knows some of the quasi-identifiers, `seen_by` puts other tables of these names before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from incrowd_verify.checks import Checks
from incrowd_verify.policy import SUPPRESSED, Nulls
from incrowd_verify.source import Table, literal
from incrowd_verify.values import cell


def group(
    con: Checks, table: Table, quasi: Sequence[str], sensitive: Sequence[str], null_values: Nulls, *,
    by_person: bool = False,
) -> None:  # fmt: skip
    """Read a loaded table into the tables of this module.

    `by_person`: whether people are counted: the table `whose` of `persons` tells whose each record is.
    """

    def cells(names: Sequence[str], letter: str) -> list[str]:
        return [f"{cell(table, name, null_values)} AS {letter}{at}" for at, name in enumerate(names)]

    stars = " AND ".join(
        f"coalesce(CAST(c{table.place(name)} AS VARCHAR) = {literal(SUPPRESSED)}, false)" for name in quasi
    )
    columns, rows, size = cells(quasi, "q") + cells(sensitive, "s"), table.name, "count(*)"
    if by_person:
        columns.append("person")
        rows, size = f"{rows} JOIN whose ON whose.place = {table.name}.rowid", "count(DISTINCT person)"
    con.execute(f"CREATE TABLE record AS SELECT {', '.join(columns)}, {stars} AS suppressed FROM {rows}")
    keys = [f"q{number}" for number in range(len(quasi))]
    con.execute(
        f"CREATE TABLE classes AS SELECT row_number() OVER () AS class, * FROM (SELECT {', '.join(keys)}, "
        f"count(*)::HUGEINT AS records, {size}::HUGEINT AS size FROM record WHERE NOT suppressed "
        f"GROUP BY {', '.join(keys)})"
    )
    others = [f"s{number}" for number in range(len(sensitive))] + (["person"] if by_person else [])
    if others:
        # A suppressed record finds no class: none has '*' in every key.
        same = " AND ".join(f"record.{key} IS NOT DISTINCT FROM classes.{key}" for key in keys)
        values = ", ".join(f"record.{name}" for name in others)
        con.execute(
            f"CREATE TABLE member AS SELECT classes.class, {values} FROM record LEFT JOIN classes ON {same}"
        )
    if by_person:
        con.execute("CREATE TABLE crowd AS SELECT DISTINCT class, person FROM member WHERE class IS NOT NULL")


@contextmanager
def seen_by(con: Checks, known: Sequence[int], values: Sequence[str], *, by_person: bool) -> Iterator[None]:
    """Let `classes`, `member` and `crowd` be about the groups that an attacker sees by some columns.

    Records that have the same cells in these columns look alike. Suppressed records are in no group. Tables
    that are made meanwhile go at the end.

    - `known`: numbers of the quasi-identifiers that are known.
    - `values`: names of the sensitive columns in `member`.
    """
    keys = ", ".join(f"q{number}" for number in known)
    others = [*values, *(["person"] if by_person else [])]
    con.execute("CREATE SCHEMA seen")
    con.execute("SET search_path = 'seen,main'")
    try:
        con.execute(
            f"CREATE TABLE part AS SELECT class AS home, dense_rank() OVER (ORDER BY {keys}) AS class, "
            f"records, size, {keys} FROM main.classes"
        )
        rows, size = "part", "sum(size)"
        if others:
            columns = ", ".join(f"whole.{name}" for name in others)
            con.execute(
                f"CREATE TABLE member AS SELECT part.class, {columns} FROM main.member AS whole "
                "LEFT JOIN part ON whole.class = part.home"
            )
        if by_person:
            # Somebody may be in several of the classes that look alike: people are united, not added.
            con.execute(
                "CREATE TABLE crowd AS SELECT DISTINCT class, person FROM member WHERE class IS NOT NULL"
            )
            heads = "SELECT class, count(*) AS people FROM crowd GROUP BY class"
            rows, size = f"part JOIN ({heads}) USING (class)", "any_value(people)"
        con.execute(
            f"CREATE TABLE classes AS SELECT class, sum(records)::HUGEINT AS records, "
            f"{size}::HUGEINT AS size, {keys} FROM {rows} GROUP BY class, {keys}"
        )
        yield
    finally:
        con.execute("RESET search_path")
        con.execute("DROP SCHEMA IF EXISTS seen CASCADE")


def count_records(con: Checks) -> tuple[int, int, int]:
    """Count records, suppressed records and classes."""
    records, suppressed = con.row("SELECT count(*), count(*) FILTER (suppressed) FROM record")
    (classes,) = con.row("SELECT count(*) FROM classes")
    return int(records), int(suppressed), int(classes)


def count_rows(con: Checks, table: Table) -> int:
    """Count the rows of a loaded table."""
    return int(con.row(f"SELECT count(*) FROM {table.name}")[0])
