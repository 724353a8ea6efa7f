"""People of a table in a database: SQL that lists those with unlike rows and counts the others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from incrowd.table.missing import null_values_of

if TYPE_CHECKING:
    import polars as pl

    from incrowd.dialects.base import Column, Dialect

__all__ = ["PeopleQueries", "named_person"]


@dataclass(frozen=True)
class PeopleQueries:
    """Queries over the kinds of rows of each person.

    Attributes
    ----------
    source
        SQL: what stands behind FROM.
    keys, own
        SQL of the quasi-identifiers and the sensitive attributes; they come as ``c0``, ... and ``s0``, ...
    person
        SQL of what names a person, NULL where it is missing.
    whole
        SQL: the type of the numbers of rows.
    """

    source: str
    keys: Sequence[str]
    own: Sequence[str]
    person: Sequence[str]
    whole: str = "BIGINT"

    def listed(self) -> str:
        """List the rows of everybody whose rows are not alike, equal ones as one.

        Returns
        -------
        A query for the quasi-identifiers, the sensitive attributes, a number of the person in the order of
        the names, and the number of rows.
        """
        order = ", ".join(f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END, {name}" for name in self._names)
        columns = ", ".join([*self._columns("c", self.keys), *self._columns("s", self.own)])
        return (
            f"SELECT {columns}, DENSE_RANK() OVER (ORDER BY {order}) AS person, n "
            f"FROM ({self._told()}) AS y WHERE m > 1 AND NOT ({self._nobody})"
        )

    def alike(self, attributes: Sequence[int]) -> str:
        """Count everybody else by the quasi-identifiers and some of the sensitive attributes.

        Returns
        -------
        A query for these columns, how many they are, how many of them are rows without a name, and all their
        rows.
        """
        columns = [*self._columns("c", self.keys), *(f"s{j}" for j in attributes)]
        places = ", ".join(str(j + 1) for j in range(len(columns)))
        amounts = (
            f"CASE WHEN {self._nobody} THEN n ELSE 1 END",
            f"CASE WHEN {self._nobody} THEN n ELSE 0 END",
            "n",
        )
        sums = ", ".join(f"CAST(SUM({amount}) AS {self.whole}) AS a{j}" for j, amount in enumerate(amounts))
        return (
            f"SELECT {', '.join(columns)}, {sums} FROM ({self._told()}) AS y "
            f"WHERE m = 1 OR ({self._nobody}) GROUP BY {places}"
        )

    def _told(self) -> str:
        """Group equal rows of a person, and say how many kinds of rows the person has."""
        listed = [
            f"{expression} AS {letter}{j}"
            for letter, expressions in (("c", self.keys), ("s", self.own), ("p", self.person))
            for j, expression in enumerate(expressions)
        ]
        places = ", ".join(str(j + 1) for j in range(len(listed)))
        rows = f"SELECT {', '.join(listed)}, COUNT(*) AS n FROM {self.source} GROUP BY {places}"
        return f"SELECT x.*, COUNT(*) OVER (PARTITION BY {', '.join(self._names)}) AS m FROM ({rows}) AS x"

    @property
    def _names(self) -> list[str]:
        return self._columns("p", self.person)

    @property
    def _nobody(self) -> str:
        return " AND ".join(f"{name} IS NULL" for name in self._names)

    @staticmethod
    def _columns(letter: str, expressions: Sequence[str]) -> list[str]:
        return [f"{letter}{j}" for j in range(len(expressions))]


def named_person(
    dialect: Dialect | type[Dialect], column: Column, kind: pl.DataType, null_values: tuple[str, ...]
) -> str | None:
    """Write a column that names a person in SQL, with NULL for what means missing; None if that cannot be.

    Parameters
    ----------
    kind
        The type that its values are fetched as.
    """
    import polars as pl

    nulls, key = null_values_of(null_values), str(column.key)
    if kind == pl.String:
        conditions = [f"{key} = {dialect.text(text)}" for text in nulls.texts if "\0" not in text]
        if nulls.pattern is not None:
            conditions.append(dialect.matches(key, nulls.pattern))
    else:
        texts = [_text(value) for value in nulls.of_type(kind)]
        as_texts = column.wire.upper().startswith(("TEXT", "VARCHAR")) and not kind.is_integer()
        if None in texts or (texts and as_texts):
            return None
        conditions = [f"{key} = {dialect.value(str(text), column.wire)}" for text in texts]
    if not conditions or kind == pl.Null:
        return key
    return f"CASE WHEN {' OR '.join(conditions)} THEN NULL ELSE {key} END"


def _text(value: Any) -> str | None:
    """Write a value as databases read it; None for points of time, which each reads in its own way."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return None
    return value.isoformat() if isinstance(value, dt.date) else repr(value)
