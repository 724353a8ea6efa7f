"""Figures of every equivalence class, and the summary of a release by class and sensitive value."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import plain
from incrowd.core.errors import ParameterError, SchemaError, listed, named
from incrowd.core.io.columns import columns_named
from incrowd.core.kernels.grouping.counting import Counts, class_counts, value_counts
from incrowd.core.kernels.grouping.grouping import group_members
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.markup import InNotebooks
from incrowd.core.recoding import Local, Recoding
from incrowd.release.accounts.results import measure_key, unlimited_models

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.measures.privacy import PrivacyModel


@dataclass(frozen=True, slots=True)
class ClassMeasure:
    """A quantity measured for every class, with the fields of `ModelResult`."""

    model: str
    quantity: str
    settings: dict[str, Any]
    attribute: str | None

    def __str__(self) -> str:
        how = ", ".join(f"{name}={value}" for name, value in self.settings.items() if value is not None)
        of = "" if self.attribute is None else f" of {self.attribute}"
        return f"{self.model} {self.quantity}{f' ({how})' if how else ''}{of}"


@dataclass(frozen=True, eq=False)
class ClassFigures(InNotebooks):
    """Every equivalence class with size and measured values, in the order of the cells.

    Attributes
    ----------
    cells
        Per quasi-identifier the cell of each class; None is the missing value. They are values of the table.
    records
        int64[classes]: sizes.
    measures
        What was measured, a model and a sensitive attribute each.
    values
        Per measure the value of each class: int64[classes] or float64[classes]; infinite where a model says
        so.
    """

    _shown = ("measures",)

    cells: dict[str, list[str | None]] = field(repr=False)
    records: NDArray[np.int64] = field(repr=False)
    measures: tuple[ClassMeasure, ...]
    values: tuple[NDArray[Any], ...] = field(repr=False)

    def __repr__(self) -> str:
        return f"ClassFigures({len(self.records):,} classes, {len(self.measures)} measures)"

    def __len__(self) -> int:
        return len(self.records)

    def of(self, model: str, attribute: str | None = None) -> NDArray[Any]:
        """Return the values of a model's first measure, for a sensitive attribute if named.

        Raises
        ------
        ParameterError
            When nothing of the kind was measured.
        """
        for measure, values in zip(self.measures, self.values, strict=True):
            if measure.model == model and attribute in (None, measure.attribute):
                return values
        of = "" if attribute is None else f" of {attribute!r}"
        models = listed(dict.fromkeys(measure.model for measure in self.measures))
        raise ParameterError(f"model: no {model!r}{of} was measured; there are {models}")

    def frame(self) -> pl.DataFrame:
        """Return a Polars frame: the cells, ``records``, and a column per measure, named in full."""
        records = "records"
        while records in self.cells:
            records += " of the class"
        figures = {str(measure): values for measure, values in zip(self.measures, self.values, strict=True)}
        texts = {name: pl.Series(cells, dtype=pl.String) for name, cells in self.cells.items()}
        return pl.DataFrame({**texts, records: self.records, **figures})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: the measures, and cells, records and values of each class."""
        figures = ([plain(value) for value in values.tolist()] for values in self.values)
        rows = zip(
            zip(*self.cells.values(), strict=True),
            self.records.tolist(),
            zip(*figures, strict=True),
            strict=True,
        )
        return {
            "measures": [
                {"model": each.model, "quantity": each.quantity, "settings": each.settings}
                | ({} if each.attribute is None else {"attribute": each.attribute})
                for each in self.measures
            ],
            "classes": [
                {"cells": dict(zip(self.cells, cells, strict=True)), "records": size, "values": list(values)}
                for cells, size, values in rows
            ],
        }


def figures_by_class(
    classes: EquivalenceClasses, models: Sequence[PrivacyModel], wildcards: str
) -> ClassFigures:
    """Measure every class by the given models, and by the models that need no limit."""
    from incrowd.core.table.matching import matched

    matching = matched(classes, wildcards).counted
    frequency = classes.frequency
    # Of a table as it stands every class is one key.
    keys = classes.members
    order = np.lexsort([codes[keys] for codes in reversed(frequency.codes)])
    figures: dict[tuple[object, ...], tuple[ClassMeasure, NDArray[Any]]] = {}
    for number, model in enumerate((*models, *unlimited_models(frequency, wildcards))):
        if not model.by_class:
            continue
        for part, attribute, settings in model.aspects(frequency.counted, asked=number < len(models)):
            name = None if attribute is None else frequency.sensitive[attribute].name
            measure = ClassMeasure(model.name, part.limit_name, settings, name)
            if measure_key(measure) not in figures:
                figures[measure_key(measure)] = measure, part.values(matching, attribute)[order]
    return ClassFigures(
        {
            domain.name: [domain.values[code] for code in codes[keys[order]].tolist()]
            for domain, codes in zip(frequency.domains, frequency.codes, strict=True)
        },
        classes.sizes[order],
        tuple(measure for measure, _ in figures.values()),
        tuple(values for _, values in figures.values()),
    )


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
