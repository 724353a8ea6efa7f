"""The people of a batch and of an earlier release, counted once over both.

Households are counted alike. The sampling weights of the earlier rows come from the same raw table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import ParameterError, SchemaError, TableError, named, setting
from incrowd.core.lazy import NDArray, np, nw, pl
from incrowd.core.reading.keys import key_texts
from incrowd.core.recoding.people import same_values
from incrowd.release.accounts.row_map import as_released

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Engine

_OTHER = (
    "the earlier raw table in the order of its row map does not have the sensitive values of the earlier "
    "release; give the table and the row map that this release was made with"
)


class BatchPeople(NamedTuple):
    """The people of the rows of a batch, followed by the people of the rows of an earlier release.

    Attributes
    ----------
    people, homes
        int32[rows]: numbers of people and of households from 0 without gaps, over both; -1 where a row does
        not say. None where no column names them.
    weights
        The sampling weights of the rows; None where no column holds them.
    earlier
        Rows of the earlier release.
    """

    people: NDArray[np.int32] | None
    homes: NDArray[np.int32] | None
    weights: pl.Series | None
    earlier: int

    @property
    def people_of_each(self) -> list[NDArray[np.int32]] | None:
        """The people of the batch, and of the earlier release."""
        return None if self.people is None else np.split(self.people, [len(self.people) - self.earlier])

    def leaving(self, places: NDArray[np.int64]) -> BatchPeople:
        """Return the people of some rows of the batch and of all rows of the earlier release."""
        rows = next(len(each) for each in (self.people, self.homes, self.weights) if each is not None)
        kept_rows = np.concatenate((places, np.arange(rows - self.earlier, rows)))
        people, homes = (
            None if each is None else _renumber(each[kept_rows]) for each in (self.people, self.homes)
        )
        return BatchPeople(
            people, homes, None if self.weights is None else self.weights.gather(kept_rows), self.earlier
        )


def people_of_both(
    batch: Any,
    previous_table: Any,
    row_map: Any,
    released: FrequencyTable,
    schema: Schema,
    treated: Callable[[Engine], Engine],
) -> BatchPeople:
    """Assign numbers to the people and the households of a batch and of an earlier release.

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

    Raises
    ------
    ParameterError
        When the raw table or the row map is missing, or rows are not in memory.
    TableError, SchemaError
        When they do not fit the release, or the two raw tables do not fit each other.
    """
    from incrowd.engines import engine_for
    from incrowd.engines.memory import number_persons

    if previous_table is None or row_map is None:
        weight = () if schema.weights is None else (schema.weights,)
        columns = {"person": schema.person, "household": schema.household, "weight": weight}
        role, names = next((role, names) for role, names in columns.items() if names)
        raise ParameterError(
            f"column {named(names)} has the role {role}, and the earlier release does not say whose "
            "its rows are, so people cannot be counted over both; name its raw table "
            f"({setting('previous_table=', '--previous-table')}) and its row map "
            f"({setting('previous_row_map=', '--previous-row-map')}), or anonymize both tables at once"
        )
    earlier = as_released(previous_table, row_map)
    if released.row_keys is None:
        raise ParameterError(_not_in_memory("the earlier release"))
    raw_schema = schema.without_perturbed().measured(person=False)
    raw = treated(engine_for(earlier)).count(raw_schema).frequency
    if raw.rows != released.rows:
        raise TableError(
            f"the earlier raw table has {raw.rows:,} rows, and the earlier release {released.rows:,}; give "
            "the table that it was made from"
        )
    if not all(same_values(*pair) for pair in zip(raw.sensitive, released.sensitive, strict=True)):
        raise TableError(_OTHER)

    def of_both(names: Sequence[str]) -> list[pl.Series]:
        after, before = _columns(batch, names, "the batch"), _columns(earlier, names, "the earlier raw table")
        return [_combine(*each) for each in zip(names, after, before, strict=True)]

    people, homes = (
        number_persons(of_both(names), names, schema.null_values) if names else None
        for names in (schema.person, schema.household)
    )
    weights = None if schema.weights is None else of_both([schema.weights])[0]
    return BatchPeople(people, homes, weights, raw.rows)


def _renumber(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Renumber groups from 0 without gaps, and keep -1."""
    renumbered = np.full(len(numbers), -1, np.int32)
    renumbered[numbers >= 0] = np.unique(numbers[numbers >= 0], return_inverse=True)[1]
    return renumbered


def _combine(name: str, after: pl.Series, before: pl.Series) -> pl.Series:
    """Concatenate a column of two tables, and refuse values of different kinds."""
    if kind_of_type(after.dtype) != kind_of_type(before.dtype):
        raise SchemaError(
            f"column {name!r} is of type {after.dtype} in the batch and of type {before.dtype} in the "
            "earlier raw table, so nobody can be told to be in both; give it one type"
        )
    both = concat_columns(after, before)
    # Texts of numbers are compared as numbers are: another program writes 1 as 1.0.
    return key_texts(both.to_frame("")).to_series() if both.dtype == pl.String else both


def concat_columns(one: pl.Series, other: pl.Series) -> pl.Series:
    """Concatenate values of the same kind in a common type, categories of different types as texts."""
    sides = [one, other]
    if one.dtype != other.dtype:
        categorical = (pl.Categorical, pl.Enum)
        sides = [each.cast(pl.String) if isinstance(each.dtype, categorical) else each for each in sides]
    # Names of users' columns may look like patterns.
    return pl.concat([pl.DataFrame({"": each}) for each in sides], how="vertical_relaxed").to_series()


def _columns(table: Any, names: Sequence[str], table_name: str) -> list[pl.Series]:
    """Return some columns as Polars series, with categories as texts."""
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise ParameterError(_not_in_memory(table_name)) from None
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise SchemaError(
            f"{table_name} has no column {named(missing)}, by which people are counted over both"
        )
    series = [frame[name].to_polars() for name in names]
    return [
        each.cast(pl.String) if isinstance(each.dtype, pl.Categorical | pl.Enum) else each for each in series
    ]


def _not_in_memory(table_name: str) -> str:
    return (
        f"people of two tables are counted row by row, and the rows of {table_name} are not in memory; give "
        "a frame or one file: collect a lazy frame, fetch the rows of a database or of Spark"
    )


def kind_of_type(dtype: pl.DataType | None) -> str:
    """Return the kind of a type: "number" for all numbers, otherwise the type's name."""
    if dtype is None or dtype == pl.Null:
        return "nothing"
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return "String"
    return "number" if dtype.is_numeric() else str(dtype)
