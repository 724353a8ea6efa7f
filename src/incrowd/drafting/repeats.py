"""Ids of people who have several rows, where nobody said that they say whose row it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from incrowd.drafting.functional_dependencies import columns_of_ids
from incrowd.drafting.profile import profile_of
from incrowd.drafting.roles import guess_role, may_name_people
from incrowd.drafting.words import marks_of_people
from incrowd.errors import setting
from incrowd.lazy import pl

if TYPE_CHECKING:
    from incrowd.engines import Engine
    from incrowd.table.schema import Schema

_LOOKED_AT = 50_000
"""Rows that are looked at. Of a million rows of 300,000 people they have thousands of second rows."""


def repeated_ids(engine: Engine, schema: Schema) -> list[str]:
    """Return the columns that look like ids of people with several rows each, where no person is named.

    Parameters
    ----------
    engine
        The table. Rows in memory and in files are looked at, those of a database and of Spark are not.
    """
    if schema.person:
        return []
    found = []
    marks = _heads(engine, marks_of_people(attribute.name for attribute in schema.quasi))
    for name in engine.columns:
        role = schema[name].role if name in schema else "insensitive" if schema.unlisted == "keep" else None
        for values in _heads(engine, [name] if role in ("identifying", "insensitive") else []):
            column = profile_of(values, name, schema.null_values)
            guess = guess_role(column)
            repeated = guess.repeated or (
                may_name_people(guess, column)
                and columns_of_ids(
                    pl.DataFrame([values, *marks]), name, [mark.name for mark in marks], schema.null_values
                )
            )
            found += [name] if repeated else []
    return found


def _heads(engine: Engine, names: Iterable[str]) -> list[pl.Series]:
    """Return the first values of those columns that have them at hand."""
    heads = ((name, engine.head(name, _LOOKED_AT)) for name in names)
    return [values.alias(name) for name, values in heads if values is not None]


def repeated_id_words(name: str) -> tuple[str, str]:
    """Return a sentence on such a column, and one on the way out."""
    return (
        f"{name} looks like the id of people who have several rows, and no column says whose row it is. So "
        "every figure counts rows, and a class may have fewer people than it seems.",
        f"Name the id of people with {setting('person=', '--person')}.",
    )
