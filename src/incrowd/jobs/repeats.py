"""Ids of people who have several rows, where nobody said that they say whose row it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.errors import named, setting
from incrowd.jobs.profile import profile_of
from incrowd.jobs.roles import guess_role

if TYPE_CHECKING:
    from incrowd.engines import Engine
    from incrowd.table.schema import Schema

__all__ = ["repeated_ids"]

_LOOKED_AT = 50_000
"""Rows that are looked at. Of a million rows of 300,000 people they have thousands of second rows."""


def repeated_ids(engine: Engine, schema: Schema) -> list[str]:
    """Warn of identifying columns that look like ids with several rows each, where no person is named.

    Parameters
    ----------
    engine
        The table. Rows in memory and in files are looked at, those of a database and of Spark are not.

    Returns
    -------
    At most one sentence. It names columns and no value.
    """
    if schema.person:
        return []
    found = []
    # A release has no such column any more.
    here = set(engine.columns)
    for attribute in schema.having("identifying"):
        if attribute.name not in here:
            continue
        values = engine.head(attribute.name, _LOOKED_AT)
        if values is not None:
            guess = guess_role(profile_of(values, attribute.name, schema.null_values))
            found += [attribute.name] if guess.repeated else []
    if not found:
        return []
    them = "looks like an id that repeats" if len(found) == 1 else "look like ids that repeat"
    return [
        f"{named(found)} {them}, and no column says whose row it is. So every figure counts rows, and a "
        "class may have fewer people than it seems. Name the id of people with "
        f"{setting('person=', '--person')}."
    ]
