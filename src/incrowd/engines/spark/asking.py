"""Asking the queries of `incrowd.engines.plan` in Spark SQL."""

from __future__ import annotations

from typing import Any

from incrowd.engines.plan import named_person
from incrowd.lazy import pl

HASHED = "xxhash64({})"
"""SQL of a hash of some columns."""


def ask(query: str, **frames: Any) -> Any:
    """Return the result of a query as a DataFrame; the frames are named in braces in it."""
    session = next(iter(frames.values())).sparkSession
    return session.sql(query, **frames)


def person_of(frame: Any, place: str, kind: pl.DataType, null_values: tuple[str, ...]) -> str | None:
    """Write a column that names a person in SQL, with NULL for missing values; None if that cannot be.

    Parameters
    ----------
    kind
        The type that its values are fetched as.
    """
    key = f"CASE WHEN NOT isnan({place}) THEN {place} END" if kind.is_float() else place
    return named_person(_Writer, key, frame.schema[place].dataType.simpleString(), kind, null_values)


class _Writer:
    """Writes texts by their bytes, since the meaning of a backslash is a setting of the session."""

    @staticmethod
    def text(text: str) -> str:
        return f"CAST(X'{text.encode().hex()}' AS STRING)"

    @classmethod
    def value(cls, text: str, wire: str) -> str:
        return f"CAST({cls.text(text)} AS {wire})"

    @classmethod
    def matches(cls, key: str, pattern: str) -> str:
        # In Java a dollar sign is also the place before the last line break.
        whole = rf"\A{pattern[1:-1]}\z"
        return f"{key} RLIKE {cls.text(whole)}"
