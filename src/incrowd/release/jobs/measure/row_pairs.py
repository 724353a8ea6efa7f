"""Pairs of raw and released rows: the columns to compare, and row maps from keys."""

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
    """Derive a row map from a key column of both tables.

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
    option = setting(f"by={by!r}", f"--by {by}")
    if row_map is not None:
        raise ParameterError(
            f"{job}: give {option} or the row map ({setting('row_map=', '--row-map')}), not both"
        )
    [raw] = read_columns(table, [by], "the raw table", schema, job)
    _refuse_identifying(released, by, schema, job)
    [released_keys] = read_columns(released, [by], "the released table", schema, job)
    return pl.DataFrame({"row": _raw_rows(raw, released_keys, f"{job}: column {by!r} ({option})")})


def _refuse_identifying(released: Any, by: str, schema: Schema | None, job: str) -> None:
    """Raise for a key column that the release lacks because the column is identifying."""
    from incrowd.engines import engine_for, loaded

    lacks = by not in engine_for(loaded(released)).columns
    if lacks and schema is not None and by in schema and schema[by].role == "identifying":
        raise SchemaError(
            f"{job}: column {by!r} is identifying, so the release has not got it; name another "
            f"column of keys that both tables have, or {row_map_setting()}"
        )


def _raw_rows(raw: pl.Series, released: pl.Series, column: str) -> pl.Series:
    """Return the raw row of each released key, from 1."""
    from incrowd.core.reading.keys import key_texts

    # Together, so that a number is one in both tables or in neither.
    both = pl.DataFrame({"key": pl.concat([each.alias("key") for each in (raw, released)])})
    keys = key_texts(both)["key"].replace("", None)
    sides = {"raw table": keys[: len(raw)], "release": keys[len(raw) :]}
    for where, side in sides.items():
        if count := side.null_count():
            raise TableError(f"{column} has no key in {count:,} rows of the {where}; name another column")
        if count := len(side) - side.n_unique():
            raise TableError(
                f"{column} does not tell the rows apart: {count:,} rows of the {where} have a key that an "
                "earlier row has; name a column with a key of its own for each row"
            )
    raw_keys, released_keys = (side.to_frame("key") for side in sides.values())
    raw_keys = raw_keys.with_row_index("row", 1)
    rows = released_keys.join(raw_keys, on="key", how="left", maintain_order="left")["row"]
    if count := rows.null_count():
        raise TableError(
            f"{column}: {count:,} keys of the release are not in the raw table; name the raw table that the "
            "release was made of, and a column that is released as it is"
        )
    return rows


def moved_values(table: Any, released: Any, schema: Schema, job: str) -> dict[str, int]:
    """Return the sensitive columns with the same values in both tables, but in another order.

    Returns
    -------
    How many records have another value than the raw row in their place, by column.
    """
    from incrowd.engines import engine_for, loaded

    released_columns = engine_for(loaded(released)).columns
    moved = {}
    for attribute in schema.sensitive:
        if attribute.treatment is not None or attribute.name not in released_columns:
            continue
        raw, released_values = (
            read_columns(each, [attribute.name], where, schema, job)[0].alias("")
            for each, where in ((table, "the raw table"), (released, "the released table"))
        )
        different = int(raw.ne_missing(released_values).sum()) if len(raw) == len(released_values) else 0
        if different and raw.sort().equals(released_values.sort(), null_equal=True):
            moved[attribute.name] = different
    return moved


def read_columns(
    table: Any,
    columns: Sequence[str],
    where: str,
    schema: Schema | None,
    job: str,
    null_values: Sequence[str] = (),
) -> list[pl.Series]:
    """Return columns as text, with null for missing values and for `null_values`."""
    from incrowd.core.table.treated_columns import as_texts

    read = columns_of(table, columns, where, job)
    nulls = [(*(() if schema is None else schema.nulls(name)), *null_values) for name in columns]
    return [as_texts(each, missing) for each, missing in zip(read, nulls, strict=True)]


def columns_of(table: Any, columns: Sequence[str], where: str, job: str) -> list[pl.Series]:
    """Return columns of a table as Polars series."""
    from incrowd.core.table.schema import require_columns
    from incrowd.engines import engine_for, loaded

    engine = engine_for(loaded(table))
    require_columns(columns, engine.columns, f"{job}: in {where} ")
    result = []
    for name in columns:
        series: pl.Series | None = engine.head(name, _EVERY)
        if series is None:
            raise SchemaError(f"{job}: column {name!r} of {where} cannot be read")
        result.append(series)
    return result
