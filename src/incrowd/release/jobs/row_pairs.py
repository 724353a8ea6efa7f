"""The columns by which rows of a raw table and of a release are compared, and row maps made of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, SchemaError, TableError, row_map_setting, setting
from incrowd.core.lazy import pl

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema

_EVERY = 2**32 - 1
"""More rows than a frame of Polars can have."""


def map_by_key(
    table: Any, released: Any, by: str, row_map: Any, schema: Schema | None, job: str
) -> pl.DataFrame:
    """Make a row map of a column that both tables have, with a key of each row.

    Keys are compared as a ledger compares them: numbers by value, texts without blanks around them.

    Parameters
    ----------
    table, released
        The raw table and the released one.
    by
        The column.
    row_map
        The row map that the caller has, too; None where there is none.
    schema
        Says which texts mean missing, and which columns are identifying.
    job
        Who asks, for messages.

    Raises
    ------
    InputError
        When there is a row map, too; or there is no such column; or keys are missing, occur more than once,
        or are in the release alone.
    """
    asked = setting(f"by={by!r}", f"--by {by}")
    if row_map is not None:
        raise ParameterError(
            f"{job}: give {asked} or the row map ({setting('row_map=', '--row-map')}), not both"
        )
    [raw] = read_columns(table, [by], "the raw table", schema, job)
    _refuse_identifying(released, by, schema, job)
    [mine] = read_columns(released, [by], "the released table", schema, job)
    return pl.DataFrame({"row": _matched(raw, mine, f"{job}: column {by!r} ({asked})")})


def _refuse_identifying(released: Any, by: str, schema: Schema | None, job: str) -> None:
    """Say why a release lacks a key that names people."""
    from incrowd.engines import engine_for, loaded

    lacks = by not in engine_for(loaded(released)).columns
    if lacks and schema is not None and by in schema and schema[by].role == "identifying":
        raise SchemaError(
            f"{job}: column {by!r} is identifying, so the release has not got it; name another "
            f"column of keys that both tables have, or {row_map_setting()}"
        )


def _matched(raw: pl.Series, released: pl.Series, column: str) -> pl.Series:
    """Find each released key among the raw ones, where each is once; rows count from 1."""
    from incrowd.core.reading.keys import key_texts

    # Together, so that a number is one in both tables or in neither.
    together = pl.DataFrame({"key": pl.concat([each.alias("key") for each in (raw, released)])})
    keys = key_texts(together)["key"].replace("", None)
    sides = {"raw table": keys[: len(raw)], "release": keys[len(raw) :]}
    for where, side in sides.items():
        if count := side.null_count():
            raise TableError(f"{column} has no key in {count:,} rows of the {where}; name another column")
        if count := len(side) - side.n_unique():
            raise TableError(
                f"{column} does not tell the rows apart: {count:,} rows of the {where} have a key that an "
                "earlier row has; name a column with a key of its own for each row"
            )
    known, asked = (side.to_frame("key") for side in sides.values())
    rows = asked.join(known.with_row_index("row", 1), on="key", how="left", maintain_order="left")["row"]
    if count := rows.null_count():
        raise TableError(
            f"{column}: {count:,} keys of the release are not in the raw table; name the raw table that the "
            "release was made of, and a column that is released as it is"
        )
    return rows


def moved_values(table: Any, released: Any, schema: Schema, job: str) -> dict[str, int]:
    """Find sensitive columns that have the same values in both tables, but in another order.

    Returns
    -------
    How many records have another value than the raw row in their place, by column.
    """
    from incrowd.engines import engine_for, loaded

    there = engine_for(loaded(released)).columns
    found = {}
    for attribute in schema.sensitive:
        if attribute.treatment is not None or attribute.name not in there:
            continue
        raw, mine = (
            read_columns(each, [attribute.name], where, schema, job)[0].alias("")
            for each, where in ((table, "the raw table"), (released, "the released table"))
        )
        apart = int(raw.ne_missing(mine).sum()) if len(raw) == len(mine) else 0
        if apart and raw.sort().equals(mine.sort(), null_equal=True):
            found[attribute.name] = apart
    return found


def read_columns(
    table: Any,
    columns: Sequence[str],
    where: str,
    schema: Schema | None,
    job: str,
    null_values: Sequence[str] = (),
) -> list[pl.Series]:
    """Return columns of categories as texts, missing ones as null; more texts may mean missing."""
    from incrowd.core.table.treated_columns import as_texts

    read = columns_of(table, columns, where, job)
    nulls = [(*(() if schema is None else schema.nulls(name)), *null_values) for name in columns]
    return [as_texts(each, own) for each, own in zip(read, nulls, strict=True)]


def columns_of(table: Any, columns: Sequence[str], where: str, job: str) -> list[pl.Series]:
    """Return columns of a table as they stand."""
    from incrowd.core.table.schema import require_columns
    from incrowd.engines import engine_for, loaded

    engine = engine_for(loaded(table))
    require_columns(columns, engine.columns, f"{job}: in {where} ")
    found = []
    for name in columns:
        series: pl.Series | None = engine.head(name, _EVERY)
        if series is None:
            raise SchemaError(f"{job}: column {name!r} of {where} cannot be read")
        found.append(series)
    return found
