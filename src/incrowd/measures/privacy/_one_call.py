"""Functions that measure a table under a single model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import TableError

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.measures.privacy.base import PrivacyModel

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
    """Measure the value that a model compares with a limit: the worst over all sensitive attributes.

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
    values = [
        result.value
        for result in model.measure(classes, asked=False)
        if result.quantity == model.limit_name and result.value is not None
    ]
    return min(values) if model.more_is_safer else max(values)


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
    """Return the equivalence classes of a table, read as a model needs; see `reached`."""
    from incrowd.core.table.schema import Schema
    from incrowd.engines import read_classes

    quasi, sensitive = ((names,) if isinstance(names, str) else names for names in (quasi, sensitive))
    schema = Schema(quasi=quasi, sensitive=sensitive, person=person, weights=weights)
    classes = read_classes(table, schema, joint=model.is_joint, population=population)
    if not classes.frequency.records:
        raise TableError(f"{model.name}: every record is suppressed (* in every quasi-identifier)")
    model.check_table(classes.frequency.counted)
    return classes
