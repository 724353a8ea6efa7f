"""The classes that each person has records in, and who shares them.

Tables made here
----------------
visited
    person, class, place, many: the classes of each person, numbered from 1, and how many they are.
known
    person, place, many, c1, c2, ...: sets of classes of a person, in the order of their numbers.
history
    history, classes, many, people: the different sets of all classes of a person, and how many people have
    just these.
"""

from __future__ import annotations

from math import comb

from incrowd.errors import PolicyError
from incrowd.verification.checks import Checks

_MOST_SETS = 50_000_000


def who_share(con: Checks, power: int, *, whoever: bool = False) -> list[str]:
    """Write the queries of how many people share the known classes of a person.

    The smallest answer is the fewest people. Of a person who is in fewer classes all of them are known.

    Parameters
    ----------
    power
        How many classes are known; 0 for all.
    whoever
        Whether the questions are for other people, too: then one of them may have no answer.
    """
    con.execute(
        "CREATE OR REPLACE TABLE visited AS SELECT person, class, row_number() OVER mine AS place, "
        "count(*) OVER (PARTITION BY person) AS many FROM crowd "
        "WINDOW mine AS (PARTITION BY person ORDER BY class)"
    )
    lengths = con.execute("SELECT many, count(*) FROM visited WHERE place = 1 GROUP BY many").fetchall()
    found = []
    longest, shortest = (each(many for many, _ in lengths) if lengths else 0 for each in (max, min))
    if power and (whoever or longest >= power):
        sets = sum(comb(many, power) * people for many, people in lengths)
        if sets > _MOST_SETS:
            raise PolicyError(
                f"km-anonymity: {sets:,} sets of {power} classes are more than the {_MOST_SETS:,} that are "
                "looked at; lower power, or say power = 0 for somebody who knows all rows of a person"
            )
        found.append(_by_sets(con, power))
    if not power or whoever or shortest < power:
        found.append(_by_histories(con, power))
    return found


def _by_sets(con: Checks, power: int) -> str:
    """Count for each set of so many classes who is in all of them: each such person has the set once."""
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
    """Count for all classes of a person who is in all of them, of people in fewer classes than `power`."""
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
