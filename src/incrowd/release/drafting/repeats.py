"""Ids of people with several rows, if no column has the role person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from incrowd.core.errors import IncrowdError
from incrowd.core.io.columns import nameless
from incrowd.core.lazy import pl

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Engine

_FEWEST = 20
"""Ids that are told from a category."""
_LOOKED_AT = 50_000
"""Rows that are looked at. Of a million rows of 300,000 people they have thousands of second rows."""


def repeated_ids(engine: Engine, schema: Schema) -> dict[str, int]:
    """Return the columns that look like ids of people with several rows each.

    Columns that do not leave are looked at, too.

    Parameters
    ----------
    engine
        The table. Rows in memory and in files are looked at, those of a database and of Spark are not.

    Returns
    -------
    By column how many ids occur more than once.
    """
    if schema.person:
        return {}
    ids = {}
    for name in engine.columns:
        role = schema[name].role if name in schema else "insensitive" if schema.unlisted == "keep" else None
        looked_at = role in ("identifying", "insensitive", "sensitive")
        for values in _heads(engine, [name] if looked_at else []):
            # Most columns have few values, or none twice: neither is an id that repeats.
            odd = values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object)
            too_few = odd or values.n_unique() < _FEWEST
            repeats = 0 if too_few else _repeats(engine, name, schema)
            if repeats and _names_people(engine, schema, values):
                ids[name] = repeats
    return ids


def _names_people(engine: Engine, schema: Schema, values: pl.Series) -> bool:
    """Say whether a column looks like an id of people."""
    # Few tables have a column that repeats, so few need the words of all languages.
    from incrowd.release.drafting.functional_dependencies import columns_of_ids
    from incrowd.release.drafting.profile import profile_of
    from incrowd.release.drafting.roles import guess_role, is_id, may_name_people
    from incrowd.release.drafting.words import marks_of_people

    column = profile_of(values, values.name, schema.null_values)
    guess = guess_role(column)
    if guess.repeated or is_id(column):
        return True
    marks = _heads(engine, marks_of_people(attribute.name for attribute in schema.quasi))
    rows = pl.DataFrame([values, *marks])
    names = [mark.name for mark in marks]
    return may_name_people(guess, column) and bool(
        columns_of_ids(rows, column.name, names, schema.null_values)
    )


def _repeats(engine: Engine, name: str, schema: Schema) -> int:
    """Count the values that several rows have, missing values aside."""
    try:
        values, counts = engine.values_of([name])
    except (IncrowdError, pl.exceptions.PolarsError):
        # A column that does not leave may be damaged: nothing else reads it.
        return 0
    several = nameless(values.to_series()).filter(pl.Series(counts > 1)).drop_nulls()
    return int((~several.cast(pl.String, strict=False).is_in(list(schema.null_values))).sum())


def _heads(engine: Engine, names: Iterable[str]) -> list[pl.Series]:
    """Return the first values of the columns with values at hand."""
    heads = ((name, engine.head(name, _LOOKED_AT)) for name in names)
    return [values.alias(name) for name, values in heads if values is not None]
