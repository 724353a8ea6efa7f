"""Whom the cells of a script's classes cover: people of a population, or raw records; see `against`.

Tables made here
----------------
everybody
    person, q0, q1, ..., n: the distinct combinations of people's values, and how many people have each.
covers_0, covers_1, ...
    cell, value: what each cell of a quasi-identifier says of each value of the population.
near
    class, person: the classes that cover a combination.
covered, uncovered
    See `people`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrowd.errors import ParameterError
from incrowd.verification.cells import CellReader
from incrowd.verification.checks import Checks
from incrowd.verification.people import Covers, alike
from incrowd.verification.policy import SUPPRESSED, Column, Nulls
from incrowd.verification.source import Table

_MOST_PAIRS = 2_000_000_000
"""Classes times combinations that a script may look through."""


def cover(script: Checks, population: Table, quasi: Sequence[Column], null_values: Nulls) -> None:
    """Write whom the classes cover in the population.

    Raises
    ------
    ParameterError
        There are too many classes and combinations.
    HierarchyError
        A value of the population is no leaf of a hierarchy.
    """
    names = [column.name for column in quasi]
    numbers = range(len(quasi))
    together = alike(script, population, names, null_values)
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
        stored = population.kind_of(column.name)
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


@dataclass(frozen=True)
class Covering:
    """Writes down whom classes cover.

    Attributes
    ----------
    classes
        A table (class, q0, q1, ...) of cells.
    people
        A table (person, q0, q1, ...) of the combinations of people's values.
    near
        The table (class, person) that is made.
    cell_values
        How the tables (cell, value) begin that say which values each cell covers.
    among
        SQL of which pairs of a class `c` and a combination `e` are looked at.
    """

    script: Checks
    classes: str
    people: str
    near: str
    cell_values: str
    among: str

    def refuse_many(self, pairs: str, whose: str) -> None:
        """Refuse to look through too many pairs.

        Parameters
        ----------
        whose
            Whose combinations of values these are, in words.
        """
        (found,) = self.script.row(pairs)
        if int(found or 0) > _MOST_PAIRS:
            raise ParameterError(
                f"{found:,} pairs of classes and of combinations of {whose} values are more than the "
                f"{_MOST_PAIRS:,} that a script looks through; use verify"
            )

    def texts(self, number: int, rows: str) -> list[str | None]:
        """List the values of a column in some rows, as texts."""
        found = self.script.execute(f"SELECT DISTINCT CAST(q{number} AS VARCHAR) FROM {rows} ORDER BY ALL")
        return [text for (text,) in found.fetchall()]

    def tell(self, number: int, covers: Covers, values: Sequence[str | None]) -> float:
        """List which values each cell of a column covers; return the share of all pairs."""
        cells = self.texts(number, self.classes)
        pairs = [
            (cell, value) for cell in cells if cell != SUPPRESSED for value in values if covers(cell, value)
        ]
        name = f"{self.cell_values}_{number}"
        self.script.fill(name, "cell VARCHAR, value VARCHAR", pairs)
        self.script.execute(
            f"INSERT INTO {name} SELECT DISTINCT '{SUPPRESSED}', q{number} FROM {self.people}"
        )
        covered = len(pairs) + (len(values) if SUPPRESSED in cells else 0)
        return covered / max(1, len(cells) * len(values))

    def meet(self, shares: dict[int, float]) -> None:
        """Make the table of who is covered, column by column, first the one with the smallest share."""
        pairs = f"{self.classes} AS c CROSS JOIN {self.people} AS e"
        made = f"CREATE OR REPLACE TABLE {self.near} AS SELECT c.class, e.person FROM"
        if not shares:
            self.script.execute(f"{made} {pairs} WHERE {self.among}")
        for number in sorted(shares, key=lambda each: shares[each]):
            self.script.execute(
                f"{made} {pairs} JOIN {self.cell_values}_{number} AS told "
                f"ON told.cell IS NOT DISTINCT FROM CAST(c.q{number} AS VARCHAR) "
                f"AND told.value IS NOT DISTINCT FROM e.q{number} WHERE {self.among}"
            )
            pairs = (
                f"{self.near} JOIN {self.classes} AS c USING (class) JOIN {self.people} AS e USING (person)"
            )
