"""Measuring a table by one model in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.errors import TableError

if TYPE_CHECKING:
    from incrowd.privacy.base import PrivacyModel
    from incrowd.table.classes import EquivalenceClasses

Columns = str | Iterable[str] | Mapping[str, object]
"""One column, several, or several with their hierarchies, as `Schema` takes them."""


def reached(
    model: PrivacyModel,
    table: Any,
    quasi: Columns,
    sensitive: Columns = (),
    *,
    population: Any = None,
    person: str | Sequence[str] = (),
    weights: str | None = None,
) -> float:
    """Measure the value that a model compares with its limit, over all sensitive attributes that it concerns.

    Parameters
    ----------
    table, population
        A pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    quasi, sensitive
        Names of columns, or a mapping of names to hierarchies and kinds as `Schema` takes it.
    person
        The columns that say whose row it is.
    weights
        The column of sampling weights.

    Raises
    ------
    TableError
        When every record is suppressed, so that there is nothing to measure.
    InputError
        When the table cannot be read or lacks a column.
    """
    classes = read_for(model, table, quasi, sensitive, population=population, person=person, weights=weights)
    results = [
        result for result in model.measure(classes, asked=False) if result.quantity == model.limit_name
    ]
    found = [result.value for result in results if result.value is not None]
    return min(found) if model.more_is_safer else max(found)


def read_for(
    model: PrivacyModel,
    table: Any,
    quasi: Columns,
    sensitive: Columns = (),
    *,
    population: Any = None,
    person: str | Sequence[str] = (),
    weights: str | None = None,
) -> EquivalenceClasses:
    """Return the equivalence classes of a table with all that a model looks at; see `reached`."""
    from incrowd.engines import read_classes
    from incrowd.table.schema import Schema

    schema = Schema(quasi=_columns(quasi), sensitive=_columns(sensitive), person=person, weights=weights)
    classes = read_classes(table, schema, joint=model.is_joint, population=population)
    if not classes.frequency.records:
        raise TableError(f"{model.name}: every record is suppressed (* in every quasi-identifier)")
    model.check_table(classes.frequency.counted)
    return classes


def _columns(columns: Columns) -> Mapping[str, object] | Iterable[str]:
    return (columns,) if isinstance(columns, str) else columns
