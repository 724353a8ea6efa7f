"""Whom the classes of a script cover: people of a population, or raw records, that suit all their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrowd.errors import ParameterError
from incrowd.verification.classes import fetch_row
from incrowd.verification.people import Covers
from incrowd.verification.policy import SUPPRESSED
from incrowd.verification.script import Script

_MOST_PAIRS = 2_000_000_000
"""Classes times combinations that a script may look through."""


@dataclass(frozen=True)
class Covering:
    """Writes down whom classes cover.

    Attributes
    ----------
    script
        Where it is written.
    classes
        A table (class, q0, q1, ...) of cells.
    people
        A table (person, q0, q1, ...) of the combinations of people's values.
    near
        The table (class, person) that is made.
    told
        How the tables (cell, value) begin that say which values each cell covers.
    among
        SQL of which pairs of a class `c` and a combination `e` are looked at.
    """

    script: Script
    classes: str
    people: str
    near: str
    told: str
    among: str

    def refuse_many(self, pairs: str, whose: str) -> None:
        """Refuse to look through too many pairs.

        Parameters
        ----------
        pairs
            SQL of how many there are.
        whose
            Whose combinations of values these are, in words.

        Raises
        ------
        ParameterError
        """
        (found,) = fetch_row(self.script.con, pairs)
        if int(found or 0) > _MOST_PAIRS:
            raise ParameterError(
                f"{found:,} pairs of classes and of combinations of {whose} values are more than the "
                f"{_MOST_PAIRS:,} that a script looks through; use verify"
            )

    def texts(self, number: int, rows: str) -> list[str | None]:
        """List the values of a column in some rows, as texts."""
        found = self.script.con.execute(
            f"SELECT DISTINCT CAST(q{number} AS VARCHAR) FROM {rows} ORDER BY ALL"
        )
        return [text for (text,) in found.fetchall()]

    def tell(self, number: int, covers: Covers, values: Sequence[str | None]) -> float:
        """List which values each cell of a column covers; return the share of all pairs."""
        cells = self.texts(number, self.classes)
        pairs = [
            (cell, value) for cell in cells if cell != SUPPRESSED for value in values if covers(cell, value)
        ]
        name = f"{self.told}_{number}"
        self.script.fill(name, "cell VARCHAR, value VARCHAR", pairs)
        self.script.execute(
            f"INSERT INTO {name} SELECT DISTINCT '{SUPPRESSED}', q{number} FROM {self.people}"
        )
        covered = len(pairs) + (len(values) if SUPPRESSED in cells else 0)
        return covered / max(1, len(cells) * len(values))

    def meet(self, shares: dict[int, float]) -> None:
        """Make the table of who is covered, column by column, first the one that parts most.

        Parameters
        ----------
        shares
            What `tell` returned for each column.
        """
        pairs = f"{self.classes} AS c CROSS JOIN {self.people} AS e"
        made = f"CREATE OR REPLACE TABLE {self.near} AS SELECT c.class, e.person FROM"
        if not shares:
            self.script.execute(f"{made} {pairs} WHERE {self.among}")
        for number in sorted(shares, key=lambda each: shares[each]):
            self.script.execute(
                f"{made} {pairs} JOIN {self.told}_{number} AS told "
                f"ON told.cell IS NOT DISTINCT FROM CAST(c.q{number} AS VARCHAR) "
                f"AND told.value IS NOT DISTINCT FROM e.q{number} WHERE {self.among}"
            )
            pairs = (
                f"{self.near} JOIN {self.classes} AS c USING (class) JOIN {self.people} AS e USING (person)"
            )
