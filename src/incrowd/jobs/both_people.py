"""The people of a batch and of the release before it: whoever has rows in both is one person."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import ParameterError, SchemaError, TableError, named, setting
from incrowd.jobs.row_map import as_released
from incrowd.recoding.people import same_values

if TYPE_CHECKING:
    import polars as pl

    from incrowd.engines import Engine
    from incrowd.table.frequency import FrequencyTable
    from incrowd.table.schema import Schema

__all__ = ["people_of_both"]

_OTHER = (
    "the earlier raw table in the order of its row map does not have the sensitive values of the earlier "
    "release; give the table and the row map that this release was made with"
)


def people_of_both(
    batch: Any,
    previous_table: Any,
    row_map: Any,
    released: FrequencyTable,
    schema: Schema,
    treated: Callable[[Engine], Engine],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Give each person of a batch and of an earlier release a number.

    Parameters
    ----------
    batch
        The rows of the batch.
    previous_table, row_map
        The raw table of the earlier release, and which of its rows each released row is.
    released
        The earlier release, counted.
    treated
        Treats the columns of a raw table as those of the earlier release were.

    Returns
    -------
    int32[rows of the batch] and int32[released rows]: numbers of people from 0 without gaps, over both; -1
    where a row does not say.

    Raises
    ------
    ParameterError
        When the raw table or the row map is missing, or rows are not in memory.
    TableError, SchemaError
        When they do not fit the release, or the two raw tables do not fit each other.
    """
    import polars as pl

    from incrowd.engines import engine_for
    from incrowd.engines.memory import number_persons

    if previous_table is None or row_map is None:
        raise ParameterError(
            f"column {named(schema.person)} has the role person, and the earlier release does not say whose "
            "its rows are, so people cannot be counted over both; name its raw table "
            f"({setting('previous_table=', '--previous-table')}) and its row map "
            f"({setting('previous_row_map=', '--previous-row-map')}), or anonymize both tables at once"
        )
    earlier = as_released(previous_table, row_map)
    before = _columns(earlier, schema, "the earlier raw table")
    after = _columns(batch, schema, "the batch")
    if released.row_keys is None:
        raise ParameterError(_elsewhere("the earlier release"))
    asked = schema.without_perturbed().measured(person=False)
    raw = treated(engine_for(earlier)).count(asked)
    if raw.rows != released.rows:
        raise TableError(
            f"the earlier raw table has {raw.rows:,} rows, and the earlier release {released.rows:,}; give "
            "the table that it was made from"
        )
    if not all(same_values(*pair) for pair in zip(raw.sensitive, released.sensitive, strict=True)):
        raise TableError(_OTHER)
    columns = []
    for name, one, other in zip(schema.person, after, before, strict=True):
        if _kind(one) != _kind(other):
            raise SchemaError(
                f"column {name!r} is of type {one.dtype} in the batch and of type {other.dtype} in the "
                "earlier raw table, so nobody can be told to be in both; give it one type"
            )
        frames = [pl.DataFrame({"": one}), pl.DataFrame({"": other})]
        columns.append(pl.concat(frames, how="vertical_relaxed").to_series())
    numbers = number_persons(columns, schema.person, schema.null_values)
    return numbers[: len(after[0])], numbers[len(after[0]) :]


def _columns(table: Any, schema: Schema, whose: str) -> list[pl.Series]:
    """Return what names a person, as Polars has it; texts for categories."""
    import narwhals as nw
    import polars as pl

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise ParameterError(_elsewhere(whose)) from None
    missing = [name for name in schema.person if name not in frame.columns]
    if missing:
        raise SchemaError(f"{whose} has no column {named(missing)}, which names a person")
    found = [frame[name].to_polars() for name in schema.person]
    return [
        each.cast(pl.String) if isinstance(each.dtype, pl.Categorical | pl.Enum) else each for each in found
    ]


def _elsewhere(whose: str) -> str:
    return (
        f"people of two tables are counted row by row, and the rows of {whose} are not in memory; give a "
        "frame or one file: collect a lazy frame, fetch the rows of a database or of Spark"
    )


def _kind(column: pl.Series) -> str:
    """Say of which kind values are: numbers are compared as numbers, whatever their width."""
    import polars as pl

    if column.dtype.is_numeric():
        return "number"
    return "nothing" if column.dtype == pl.Null else str(column.dtype)
