"""People of files in SQL: who has unlike rows is listed, the others are counted; rows stay on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.engines.fold import PERSON, ROWS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SpilledPeople"]


class SpilledPeople:
    """Queries in DuckDB, each of which saves what it finds as a file.

    Columns of the saved files: ``key``, ``s0``, ... for the sensitive values, ``p0``, ... for what names the
    person.

    Parameters
    ----------
    sensitive, person
        Number of columns.
    save
        Saves a query under a name, and opens what it saved.
    saved
        SQL for what was saved under a name.
    """

    def __init__(
        self,
        sensitive: int,
        person: int,
        save: Callable[[str, str, Sequence[Any]], pl.LazyFrame],
        saved: Callable[[str], str],
    ) -> None:
        self._values = [f"s{j}" for j in range(sensitive)]
        self._person = [f"p{j}" for j in range(person)]
        self._save, self._saved = save, saved
        self._nobody = " AND ".join(f"{name} IS NULL" for name in self._person)

    def link(self, source: str, columns: Sequence[str], given: Sequence[Any], quasi: int) -> None:
        """Save every row with the number of its key, in a line with its person, and then every person.

        Parameters
        ----------
        columns
            SQL of the quasi-identifiers, the sensitive attributes and what names a person.
        given
            The values of their parameters.
        quasi
            Number of quasi-identifiers; the distinct keys are saved as ``keys``.
        """
        names = [*(f"c{j}" for j in range(quasi)), *self._values, *self._person]
        read = ", ".join(f"{column} AS {name}" for column, name in zip(columns, names, strict=True))
        same = " AND ".join(f"r.c{j} IS NOT DISTINCT FROM k.c{j}" for j in range(quasi))
        own = ", ".join(f"r.{name}" for name in names[quasi:])
        self._save(
            "linked",
            f"SELECT CAST(k.file_row_number AS UINTEGER) AS key, {own}, r.place FROM (SELECT {read}, "
            f"file_index::BIGINT * 1099511627776 + file_row_number AS place FROM {source}) r "
            f"JOIN {self._saved('keys')} k ON {same}",
            given,
        )
        alike = ["min(key) = max(key)"]
        alike += [
            f"min({name}) IS NOT DISTINCT FROM max({name}) AND count({name}) IN (0, count(*))"
            for name in self._values
        ]
        values = "".join(f", min({name}) AS {name}" for name in self._values)
        self._save(
            "persons",
            f"SELECT {', '.join(self._person)}, count(*) AS n, min(key) AS key{values}, "
            f"{' AND '.join(alike)} AS alike FROM {self._saved('linked')} WHERE NOT ({self._nobody}) "
            f"GROUP BY {', '.join(self._person)}",
            (),
        )

    @property
    def totals(self) -> str:
        """A query for the people with a name, their rows, and the rows without a name."""
        return (
            f"SELECT (SELECT count(*) FROM {self._saved('persons')}), "
            f"(SELECT coalesce(sum(n), 0) FROM {self._saved('persons')}), "
            f"(SELECT count(*) FROM {self._saved('linked')} WHERE {self._nobody})"
        )

    def alike(self, table: str, columns: Sequence[int]) -> pl.LazyFrame:
        """Count those whose rows are all alike, and rows without a name, by key and some sensitive values.

        Returns
        -------
        The sensitive values as ``s0``, ..., the number of the ``key``, and `ROWS`.
        """
        named = "".join(f", {self._values[j]}" for j in columns)
        places = ", ".join(str(j + 1) for j in range(len(columns) + 1))
        return self._save(
            table,
            f"SELECT key{named}, count(*) AS n FROM (SELECT key{named} FROM {self._saved('persons')} "
            f"WHERE alike UNION ALL SELECT key{named} FROM {self._saved('linked')} WHERE {self._nobody}) "
            f"GROUP BY {places}",
            (),
        ).rename({"n": ROWS})

    def listed(self) -> pl.LazyFrame:
        """List everybody else: a line for each person, key and combination of sensitive values.

        Returns
        -------
        As `alike` does, with `PERSON`; in the order of the first row.
        """
        same = " AND ".join(f"l.{name} IS NOT DISTINCT FROM p.{name}" for name in self._person)
        named = "".join(f", l.{name}" for name in self._values)
        places = ", ".join(str(j + 1) for j in range(len(self._values) + 2))
        people = (
            f"SELECT {', '.join(self._person)}, file_row_number AS n, alike FROM {self._saved('persons')}"
        )
        stories = (
            f"SELECT l.key{named}, CAST(p.n AS UINTEGER) AS person, min(l.place) AS place "
            f"FROM {self._saved('linked')} l JOIN (SELECT * FROM ({people}) WHERE NOT alike) p ON {same} "
            f"GROUP BY {places}"
        )
        kept = ", ".join(["key", *self._values, "person"])
        return self._save("listed", f"SELECT {kept} FROM ({stories}) ORDER BY place", ()).rename(
            {"person": PERSON}
        )
