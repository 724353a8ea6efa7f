"""Sampling weights and households of the rows that an engine counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.core.errors import SchemaError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.missing import null_values_of
from incrowd.core.table.survey import Households, Sampling, read_weights
from incrowd.engines.distinct import as_text

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema

Grouped = tuple["pl.DataFrame", NDArray[np.integer], NDArray[np.int64]]
"""Rows grouped by some columns and the key: codes of values, keys, and the rows of each group."""


def survey_columns(schema: Schema) -> tuple[str, ...]:
    """Return the weight and household columns of a schema."""
    return (*schema.household, *(() if schema.weights is None else (schema.weights,)))


def with_survey_of_rows(
    frequency: FrequencyTable,
    schema: Schema,
    weights: pl.Series | None,
    home: NDArray[np.integer] | None,
    member: NDArray[np.integer] | None,
) -> FrequencyTable:
    """Add weights and households to a frequency table of rows in memory.

    Parameters
    ----------
    weights
        The column of weights, where there is one.
    home, member
        int[rows]: numbers of each row's household and person, -1 where they are missing; None where no column
        says so.

    Raises
    ------
    SchemaError
        When the weights are none.
    """
    key = frequency.key_of_row("counting households")
    if schema.weights is not None and weights is not None:
        _refuse_several_rows(frequency, schema.weights)
        values = as_text(weights)
        if schema.null_values:
            values = null_values_of(schema.null_values).without(values)
        numbers = read_weights(values, schema[schema.weights])
        frequency = frequency.with_sampling(Sampling.of(schema.weights, key, numbers, frequency.keys))
    if home is not None:
        ones = np.ones(len(key), np.int64)
        households = Households.of(schema.household, key, home, ones, member)
        frequency = replace(frequency, survey=frequency.survey._replace(households=households))
    return frequency


def with_survey_of_groups(
    frequency: FrequencyTable,
    schema: Schema,
    distinct: Callable[[str], pl.Series],
    grouped: Callable[[Sequence[str]], Grouped],
) -> FrequencyTable:
    """Add weights and households to a frequency table of rows grouped elsewhere.

    Parameters
    ----------
    distinct
        The values of a column, missing among them.
    grouped
        The groups of rows by some columns.

    Raises
    ------
    SchemaError
        When the weights are none.
    """
    if schema.weights is not None:
        _refuse_several_rows(frequency, schema.weights)
        groups, key, rows = grouped([schema.weights])
        codes = groups[schema.weights].to_numpy()
        values = as_text(distinct(schema.weights))
        counts = np.bincount(codes, rows, len(values)).astype(np.int64)
        numbers = read_weights(values, schema[schema.weights], counts)[codes]
        sampling = Sampling.of(schema.weights, key, numbers, frequency.keys, rows=rows)
        frequency = frequency.with_sampling(sampling)
    if schema.household:
        groups, key, rows = grouped(list(dict.fromkeys((*schema.household, *schema.person))))
        home, member = (
            number_groups(groups, names, [distinct(name) for name in names]) if names else None
            for names in (schema.household, schema.person)
        )
        assert home is not None
        households = Households.of(schema.household, key, home, rows, member)
        frequency = replace(frequency, survey=frequency.survey._replace(households=households))
    return frequency


def number_groups(
    groups: pl.DataFrame, names: Sequence[str], distinct: Sequence[pl.Series]
) -> NDArray[np.int64]:
    """Give the combinations of some columns numbers, -1 where all are missing.

    Parameters
    ----------
    distinct
        The values that the columns have the places of.
    """
    from incrowd.core.kernels.grouping.grouping import group_columns

    codes = [groups[name].to_numpy() for name in names]
    missing = np.ones(len(groups), np.bool_)
    for column, values in zip(codes, distinct, strict=True):
        missing &= values.is_null().to_numpy()[column]
    rows = np.flatnonzero(~missing)
    numbers = np.full(len(groups), -1, np.int64)
    sizes = [len(values) for values in distinct]
    numbers[rows], _ = group_columns([column[rows] for column in codes], sizes, len(rows))
    return numbers


def _refuse_several_rows(frequency: FrequencyTable, column: str) -> None:
    """Raise for weights of rows where a person has several rows."""
    if frequency.people.table is not None:
        raise SchemaError(
            f"column {column!r} has the role weight, and some people have several rows, so adding up the "
            "weights of rows would count them more than once; keep one row for each person, or give the "
            "column another role"
        )
