"""Persons of a release: the person of each record, and the classes that each person shares.

A release has no column that names a person. If it has a pseudonym, that tells people apart as well. Else the
people are taken from the raw table: record N of it must be record N of the release. Where nobody has
two records, people are records, whatever the order.

Tables made here
----------------
whose
    place, person: the row of each record, and a number of its person. It is negative for a record that does
    not say whose it is, which is a person of its own.
visited
    person, class, place, many: the classes of each person, numbered from 1, and how many they are.
known
    person, place, many, c1, c2, ...: sets of classes of a person, in the order of their numbers.
history
    history, classes, many, people: the different sets of all classes of a person, and how many people have
    just these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from incrowd_gate.errors import PolicyError, TableError, named, row_map_setting, setting
from incrowd_verify.checks import Checks
from incrowd_verify.classes import count_rows
from incrowd_verify.limits import Demand
from incrowd_verify.policy import Nulls, Policy
from incrowd_verify.source import Table
from incrowd_verify.tables import Tables
from incrowd_verify.values import cell

SHARED = "SELECT count(*) - count(DISTINCT person) FROM whose"
"""SQL of how many records are of somebody who has another."""


@dataclass(frozen=True)
class Persons:
    """The people of a release, as far as known.

    - `people`, `unnamed`: people of the table, and the records that do not say whose they are.
    - `several`: whether somebody has several records, so that people are counted by the table `whose`.
    - `unknown`: why people cannot be counted, in words; empty where they can.
    - `in_order`: whether `whose` says of each record of the release whose it is.
    """

    people: int = 0
    unnamed: int = 0
    several: bool = False
    unknown: str = ""
    in_order: bool = False


def find_persons(con: Checks, tables: Tables, policy: Policy) -> Persons | None:
    """Find the person of each record of a release, or return None without columns of persons."""
    columns, (released, raw) = policy.person, (tables.released, tables.raw)
    if not columns:
        return None
    con.note("Whose each record is; a record that does not say so is a person of its own.")
    names = [column.name for column in columns]
    if all(column.treatment is not None and column.name in released.names for column in columns):
        # Different people have different pseudonyms, so the release says itself whose its records are.
        records, people, unnamed = number_people(con, released, names, policy.null_values)
        return Persons(people, unnamed, several=people < records, in_order=True)
    if raw is None:
        return Persons(unknown=raw_wanted("the release does not say whose its records are"))
    lacking = [name for name in names if name not in raw.names]
    if lacking:
        return Persons(unknown=f"the raw table {raw.title} has no column {named(lacking)}")
    if count_rows(con, released) + tables.unplaced != count_rows(con, raw):
        return Persons(unknown="the release and the raw table have not the same records")
    records, people, unnamed = number_people(con, raw, names, policy.null_values)
    same_order, row_map = tables.same_order(policy), setting("row_map=", "--row-map")
    if same_order or people == records:
        there = people - tables.unplaced
        return Persons(there, min(unnamed, there), several=people < records, in_order=same_order)
    if not (released.in_order and raw.in_order):
        return Persons(
            unknown="records of a database have no numbers; take both tables as files, and name the row map "
            f"({row_map})"
        )
    return Persons(unknown=f"it is not known which raw record each record is; name {row_map_setting()}")


def raw_wanted(why: str) -> str:
    """Say that the raw table and the row map would tell."""
    against = setting("against=", "--against")
    return f"{why}; name the raw table ({against}) and {row_map_setting()}"


def refuse_several_rows(con: Checks, population: Table, policy: Policy) -> None:
    """Refuse a population in which somebody has several rows, and would count as several people."""
    columns = [column.name for column in policy.person]
    if not columns or any(name not in population.names for name in columns):
        return
    records, people, _ = number_people(con, population, columns, policy.null_values)
    if people < records:
        raise TableError(
            f"{population.title}: the population has several rows of one person, who would count as several "
            "people; keep one row each"
        )
    con.check("rows of the population of somebody who has another", SHARED)


def number_people(
    con: Checks, table: Table, columns: Sequence[str], null_values: Nulls
) -> tuple[int, int, int]:
    """Make the table `whose`; return the number of records, of people, and of records without a person."""
    values = ", ".join(f"{cell(table, name, null_values, 't')} AS p{n}" for n, name in enumerate(columns))
    keys = [f"p{n}" for n in range(len(columns))]
    missing = " AND ".join(f"{key} IS NULL" for key in keys)
    con.execute(
        f"CREATE OR REPLACE TABLE whose AS SELECT place, CASE WHEN {missing} THEN -1 - place "
        f"ELSE dense_rank() OVER (ORDER BY {', '.join(keys)}) END AS person "
        f"FROM (SELECT t.rowid AS place, {values} FROM {table.name} AS t)"
    )
    counts = con.row("SELECT count(*), count(DISTINCT person), count(*) FILTER (person < 0) FROM whose")
    records, people, unnamed = map(int, counts)
    return records, people, unnamed


_MOST_SETS = 50_000_000


def who_share(con: Checks, power: int, *, whoever: bool = False) -> list[str]:
    """Write the queries of how many people share the known classes of a person.

    The smallest answer is the fewest people. Of a person who is in fewer classes all of them are known.

    - `power`: how many classes are known; 0 for all.
    - `whoever`: whether the questions are for other people, too: then one of them may have no answer.
    """
    con.execute(
        "CREATE OR REPLACE TABLE visited AS SELECT person, class, row_number() OVER mine AS place, "
        "count(*) OVER (PARTITION BY person) AS many FROM crowd "
        "WINDOW mine AS (PARTITION BY person ORDER BY class)"
    )
    lengths = con.execute("SELECT many, count(*) FROM visited WHERE place = 1 GROUP BY many").fetchall()
    queries = []
    longest, shortest = (each(many for many, _ in lengths) if lengths else 0 for each in (max, min))
    if power and (whoever or longest >= power):
        sets = sum(comb(many, power) * people for many, people in lengths)
        if sets > _MOST_SETS:
            raise PolicyError(
                f"km-anonymity: {sets:,} sets of {power} classes are more than the {_MOST_SETS:,} that are "
                "looked at; lower power, or say power = 0 for somebody who knows all rows of a person"
            )
        queries.append(_by_sets(con, power))
    if not power or whoever or shortest < power:
        queries.append(_by_histories(con, power))
    return queries


def _by_sets(con: Checks, power: int) -> str:
    """Count the people in all classes of each set of so many classes; each such person has the set once."""
    # A set that cannot grow to its full size is left out.
    con.execute(
        "CREATE OR REPLACE TABLE known AS SELECT person, place, many, class AS c1 FROM visited "
        f"WHERE many - place >= {power - 1}"
    )
    for size in range(2, power + 1):
        con.execute(
            f"CREATE OR REPLACE TABLE known AS SELECT known.* REPLACE (visited.place AS place), "
            f"visited.class AS c{size} FROM known JOIN visited ON visited.person = known.person "
            f"AND visited.place > known.place AND visited.many - visited.place >= {power - size}"
        )
    classes = ", ".join(f"c{number}" for number in range(1, power + 1))
    return f"SELECT min(people) FROM (SELECT count(*) AS people FROM known GROUP BY {classes})"


def _by_histories(con: Checks, power: int) -> str:
    """Count the people in all classes of a person, for persons in fewer classes than `power`."""
    con.execute(
        "CREATE OR REPLACE TABLE history AS SELECT row_number() OVER () AS history, classes, "
        "len(classes) AS many, count(*) AS people "
        "FROM (SELECT list(class ORDER BY class) AS classes FROM visited GROUP BY person) GROUP BY classes"
    )
    asked = f"WHERE many < {power}" if power else ""
    # Whoever is in all of them is in the two that are in the fewest histories. Only those are looked at.
    return f"""
        WITH
        within AS (SELECT history, many, unnest(classes) AS class FROM history),
        amount AS (SELECT class, count(*) AS n FROM within GROUP BY class),
        sorted AS (
            SELECT history, list(class ORDER BY n, class) AS rare
            FROM within JOIN amount USING (class) {asked} GROUP BY history
        ),
        rarest AS (SELECT history, rare[1] AS one, coalesce(rare[2], rare[1]) AS two FROM sorted),
        near AS (
            SELECT rarest.history, first.history AS other
            FROM rarest
            JOIN within AS first ON first.class = rarest.one
            JOIN within AS second ON second.class = rarest.two AND second.history = first.history
        ),
        shared AS (
            SELECT near.history, sum(other.people) AS people
            FROM near
            JOIN history AS mine ON mine.history = near.history
            JOIN history AS other ON other.history = near.other
            WHERE list_has_all(other.classes, mine.classes)
            GROUP BY near.history
        )
        SELECT min(people) FROM shared
        """


def same_by_people(demand: Demand, *, holds: bool) -> bool:
    """Whether a result by records is a result by people, too, for any people behind the records.

    A class has at most as many people as records, and just the same values. Example: a class of three
    records has at most three people. So 4-anonymity fails, whoever they are. Whether 2-anonymity holds is
    not known.
    """
    if demand.model == "l-diversity":
        return bool(demand.settings["kind"] == "distinct")
    if demand.model == "k-map" or demand.settings.get("attacker") == "journalist":
        return True  # it looks at the people of the population alone
    if demand.quantity == "delta_min" and not demand.limit:
        return True  # no share is below 0
    falls = demand.quantity in ("k", "K", "payoff") or demand.model == "delta-presence"
    if not falls and demand.model != "maximum-risk":
        return False
    # With fewer people the figure falls, and the risk rises. Where that is for the worse, what fails by
    # records fails; where it is for the better, what holds by records holds.
    is_worse = demand.at_least == falls
    return holds is not is_worse
