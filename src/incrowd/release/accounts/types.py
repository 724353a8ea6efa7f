"""The conversion of means to numbers and dates in frames, if lossless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import np, pl
from incrowd.core.recoding import SUPPRESSED, Cells, Recoding

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Engine


def with_types(
    engine: Engine,
    released: Any,
    schema: Schema,
    frequency: FrequencyTable,
    recoding: Recoding,
    decided: Recoding,
) -> Any:
    """Convert columns of means to numbers and dates, if the raw column has such a type.

    A column with `*` stays text: a missing value in its place would be read as one. So does a column whose
    numbers or days would not read back as the very texts that files have.

    Parameters
    ----------
    engine
        The engine of the table as it came in.
    released
        The recoded table, with texts.
    schema
        The roles of the columns; the style of each is said.
    frequency, recoding
        The keys, and the cell of each.
    decided
        The recoding that the cells come from.

    Returns
    -------
    A table of the same kind, or `released` itself where nothing changes.
    """
    if decided.kind != "local":
        return released
    types = {}
    for attribute, domain, cells in zip(schema.quasi, decided.domains, recoding.cells, strict=True):
        if attribute.output != "mean" or not domain.ordered:
            continue
        raw_type = engine.type_of(attribute.name)
        dtype = None if raw_type is None else _type(_labels(cells, frequency), raw_type)
        if dtype is not None:
            types[attribute.name] = dtype
    return engine.typed(released, types) if types else released


def _labels(cells: Cells, frequency: FrequencyTable) -> list[str | None]:
    """Return the distinct texts of the rows."""
    labels = [cells.labels[entry] for entry in np.unique(cells.codes).tolist()]
    return list(dict.fromkeys([*labels, SUPPRESSED] if frequency.suppressed else labels))


def _type(labels: list[str | None], raw_type: pl.DataType) -> pl.DataType | None:
    """Return the type in which every text reads back unchanged, or None."""
    from incrowd.core.io.frames import as_type, type_of_means
    from incrowd.engines.distinct import dictionary

    kind = type_of_means(raw_type)
    if kind is None:
        return None
    values = pl.select(as_type(pl.lit(pl.Series(labels, dtype=pl.String)), kind)).to_series()
    if values.null_count() != labels.count(None):
        return None
    distinct, places = dictionary(values, "", ())
    texts = [*distinct.texts, None]
    return kind if [texts[place] for place in places.tolist()] == labels else None
