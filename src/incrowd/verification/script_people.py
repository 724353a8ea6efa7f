"""The population of a script: whom the cells of each class cover.

Tables made here
----------------
everybody
    person, q0, q1, ..., n: the distinct combinations of people's values, and how many people have each.
covers_0, covers_1, ...
    cell, value: what each cell of a quasi-identifier says of each value of the population.
near
    class, person: the classes that cover a combination.
covered
    class, size, people: the records and the people of each class.
uncovered
    people: how many no class covers.
"""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.verification.cells import CellReader
from incrowd.verification.classes import group_of
from incrowd.verification.people import alike
from incrowd.verification.policy import SUPPRESSED, Column
from incrowd.verification.script import Script
from incrowd.verification.script_cover import Covering
from incrowd.verification.source import Table
from incrowd.verification.wildcards import alone


def cover(script: Script, population: Table, quasi: Sequence[Column], null_values: Sequence[str]) -> None:
    """Write the tables of this module.

    Raises
    ------
    ParameterError
        There are too many classes and combinations.
    HierarchyError
        A value of the population is no leaf of a hierarchy.
    """
    names = [column.name for column in quasi]
    numbers = range(len(quasi))
    together = alike(script, population, names, null_values)  # type: ignore[arg-type]
    shown = " OR ".join(f"q{number} IS DISTINCT FROM '{SUPPRESSED}'" for number in numbers)
    script.note(
        "The population: the combinations of people's values. Who is * throughout is nobody in particular."
    )
    script.execute(
        f"CREATE TABLE everybody AS SELECT row_number() OVER () AS person, *, {shown} AS is_known "
        f"FROM ({together})"
    )
    covering = Covering(script, "classes", "everybody", "near", "covers", "e.is_known")
    covering.refuse_many(
        "SELECT (SELECT count(*) FROM classes) * (SELECT count(*) FROM everybody)", "the population's"
    )
    shares = {}
    for number, column in enumerate(quasi):
        values = covering.texts(number, "everybody WHERE is_known")
        stored = group_of(population.types[population.place(column.name)])
        script.note(f"Which values of the population each cell of {column.name} covers; * covers any.")
        reader = CellReader(column, values, stored=stored, of_people=True)
        shares[number] = covering.tell(number, reader.covers, values)
    script.note("Whom the cells of each class cover: the column that parts most is looked at first.")
    covering.meet(shares)
    script.execute(
        "CREATE TABLE covered AS SELECT class, size, coalesce(people, 0)::HUGEINT AS people FROM classes "
        "LEFT JOIN (SELECT class, sum(n) AS people FROM near JOIN everybody USING (person) GROUP BY class) "
        "USING (class)"
    )
    script.execute(
        "CREATE TABLE uncovered AS SELECT coalesce(sum(n), 0) AS people FROM everybody "
        "WHERE person NOT IN (SELECT person FROM near)"
    )


def everybody_covered(quasi: int, wildcards: str) -> str:
    """Write the question for the records and the people of each class: size, people.

    Parameters
    ----------
    quasi
        Number of quasi-identifiers.
    """
    if wildcards != "conservative":
        return "SELECT size, people FROM main.covered"
    # Each record of such a class counts alone, and so does whoever it is.
    one = f"(SELECT class FROM main.classes WHERE {alone(range(quasi))})"
    return (
        f"SELECT CASE WHEN class IN {one} THEN 1 ELSE size END AS size, "
        f"CASE WHEN class IN {one} THEN least(people, 1) ELSE people END AS people FROM main.covered"
    )
