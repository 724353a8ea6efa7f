"""Summary of a release: a row per class and sensitive value."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, SchemaError, named
from incrowd.core.io.columns import columns_named
from incrowd.core.kernels.grouping.counting import Counts, class_counts, value_counts
from incrowd.core.kernels.grouping.grouping import group_members
from incrowd.core.lazy import np, pl
from incrowd.core.recoding import Local, Recoding

if TYPE_CHECKING:
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable


def class_table(
    frequency: FrequencyTable, recoding: Recoding, sensitive: str | None, *, numbered: bool = False
) -> pl.DataFrame:
    """Summarize the classes of a local recoding (see `Release.class_table`).

    With `numbered` the classes stay in the order of their numbers, which reveals the order of raw rows.
    """
    if not isinstance(recoding, Local):
        raise ParameterError(
            f"{recoding.kind} recoding has no classes of its own to summarize; use a local one, e.g. mondrian"
        )
    names = [attribute.name for attribute in frequency.sensitive]
    if sensitive is None:
        if len(names) != 1:
            raise SchemaError(f"name one sensitive attribute; those are: {named(names) or 'none'}")
        sensitive = names[0]
    counted = frequency.attribute(sensitive)
    indptr, members = group_members(recoding.class_of_key, recoding.count)
    values = class_counts(indptr, members, counted.keys, counted.domain.size)
    repeat = np.diff(values.indptr)
    columns: dict[str, Any] = {}
    for domain, codes in zip(frequency.domains, frequency.codes, strict=True):
        counts = value_counts(indptr, members, codes, frequency.weights, domain.size)
        summaries = _means(domain, counts) if domain.ordered else _sets(domain, counts)
        columns[domain.name] = pl.Series(summaries)[np.repeat(np.arange(len(summaries)), repeat)]
    columns[sensitive] = [counted.domain.values[code] for code in values.codes]
    columns["count"] = values.counts
    table = pl.DataFrame(columns)
    cells = columns_named(domain.name for domain in frequency.domains)
    return table if numbered else table.sort(*cells, pl.Series(values.codes), pl.Series(values.counts))


def _means(domain: Domain, counts: Counts) -> list[Any]:
    """Return the mean of every class, or None if all values are missing."""
    present = counts.codes != domain.missing
    weights = np.where(present, counts.counts, 0)
    numbers = np.where(present, np.nan_to_num(domain.places)[counts.codes], 0.0)
    records = np.add.reduceat(weights, counts.indptr[:-1])
    sums = np.add.reduceat(weights * numbers, counts.indptr[:-1])
    there = domain.places[~np.isnan(domain.places)]
    least, most = there.min(initial=0.0), there.max(initial=0.0)
    means = [
        # Rounding must not lead beyond what is there, since the largest double has nothing above it.
        _unscaled(min(max(float(total) / int(count), least), most), domain.exponent) if count else None
        for total, count in zip(sums, records, strict=True)
    ]
    if domain.kind == "number":
        return means
    return [None if mean is None else dt.date(1970, 1, 1) + dt.timedelta(days=round(mean)) for mean in means]


def _unscaled(place: float, exponent: int) -> float:
    try:
        return math.ldexp(place, exponent)
    except OverflowError:  # numbers that are beyond all doubles
        return math.copysign(math.inf, place)


def _sets(domain: Domain, counts: Counts) -> list[str]:
    """Return the joined values of every class."""
    texts = ["" if value is None else value for value in domain.values]
    return [
        ",".join(texts[code] for code in counts.codes[start:stop] if code != domain.missing)
        for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    ]
