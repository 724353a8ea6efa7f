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

A `*` or a missing cell matches itself alone by ``value``. By ``matches-any`` it matches anything: a class
holds every record that could be in it. By ``conservative`` it matches nothing: a record with such a cell is
alone, and a column of nothing but such cells is passed over. Suppressed records match nobody.

Of an m-invariant release each group has one class, m or more records and distinct sensitive values. Whether
people have the same values around in every release only the ledger knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from incrowd_verify.checks import Checks
from incrowd_verify.demands import Demand
from incrowd_verify.errors import PolicyError, setting
from incrowd_verify.policy import NO_NULLS, SUPPRESSED, Nulls, Policy
from incrowd_verify.source import Table, group_of, literal
from incrowd_verify.spellings import means_missing


def cell(table: Table, name: str, null_values: Nulls = NO_NULLS, alias: str = "") -> str:
    """Write the SQL of a column's cells, NULL where missing; texts as they are, numbers and dates typed.

    Parameters
    ----------
    alias
        What the table is called where there are several.
    """
    declared = table.type_of(name)
    read = f"{alias}.c{table.place(name)}" if alias else f"c{table.place(name)}"
    match group_of(declared):
        case "number" | "date":
            value = read
        case "float":  # not-a-number is missing; adding 0 makes -0.0 and 0.0 one value
            value = f"CASE WHEN isnan({read}) THEN NULL ELSE {read} + 0 END"
        case _:
            value = f"CAST({read} AS VARCHAR)"
    nulls = null_values.of(name)
    if not nulls:
        return value
    # A time with a zone is what a clock in UTC shows, whatever the session's zone.
    shown = f"timezone('UTC', {read})" if declared == "TIMESTAMP WITH TIME ZONE" else read
    return f"CASE WHEN {means_missing(f'CAST({shown} AS VARCHAR)', nulls)} THEN NULL ELSE {value} END"


def written(con: Checks, table: Table, name: str, null_values: Nulls = NO_NULLS, alias: str = "t") -> str:
    """Write the SQL of a column's cells as the texts that a release has for them; NULL where missing.

    Parameters
    ----------
    alias
        What the table is called where the SQL will stand.
    """
    declared = table.type_of(name)
    value = cell(table, name, null_values, alias)
    if declared == "TIMESTAMP WITH TIME ZONE":
        value = f"timezone('UTC', {value})"
    return as_written(con, value, declared, f"{table.name} AS {alias}")


def as_written(con: Checks, value: str, declared: str, rows: str) -> str:
    """Write the SQL of the text that a release has for a value.

    Parameters
    ----------
    value, rows
        SQL of the value, and of the rows that have such.
    """
    text = f"CAST({value} AS VARCHAR)"
    if group_of(declared) == "float":  # 1.0 is written 1, and 1e-07 is written 1e-7
        return f"regexp_replace(regexp_replace({text}, '\\.0$', ''), 'e-0+', 'e-')"
    if not declared.startswith("TIMESTAMP"):
        return text
    (timed,) = con.row(f"SELECT count(*) FROM {rows} WHERE {value} <> date_trunc('day', {value})")
    return f"replace({text}, ' ', 'T')" if timed else f"CAST(CAST({value} AS DATE) AS VARCHAR)"


def group(
    con: Checks,
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    null_values: Nulls,
    *,
    by_person: bool = False,
) -> None:
    """Read a loaded table into the tables of this module.

    Parameters
    ----------
    by_person
        Whether people are counted: the table `whose` of `persons` tells whose each record is.
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
    """Let `classes`, `member` and `crowd` be about the groups that somebody sees who knows some columns.

    Records that have the same cells in these columns look alike. Suppressed records are in no group. Tables
    that are made meanwhile go at the end.

    Parameters
    ----------
    known
        Numbers of the quasi-identifiers that are known.
    values
        Names of the sensitive columns in `member`.
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


def smallest_class(con: Checks) -> int | None:
    """Return k as reached, by records or by people, or None if there is no class."""
    (size,) = con.row("SELECT min(size) FROM classes")
    return None if size is None else int(size)


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
    """Let `classes` and `member` hold whom each class matches; the parameters are those of `seen_by`.

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
    """Let every class hold all records that its cells and theirs allow."""
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
