"""The values of a column with numbers of records, in the form for the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import np, pl
from incrowd.core.reading.spellings import has_unclear_points
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.release.policy.policy import Policy

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.core.table.schema import Schema

_OF_THE_TREE = ("hierarchy", "levels", "output", "ends", "grid")
"""Settings of a column that say what is made of its values."""
_OF_OTHERS = ("attackers", "algorithm", "linked")
"""What a policy says that may name other columns."""
_BARS = 8
"""Values, or ranges of numbers, of which the records are shown."""


def counts_of(table: Any, document: Mapping[str, Any], folder: Path, name: str) -> dict[str, int]:
    """Count the values of a column as texts, in order, without missing values.

    What is treated is treated first. Numbers and dates in a spelling of their own are read first.

    Parameters
    ----------
    table
        What an engine takes.
    document, folder
        A policy as plain data, and where the files are that it names; of its columns this one alone is read.

    Raises
    ------
    InputError
        When the column cannot be read so.
    """
    from incrowd.core.table.domain import Domain
    from incrowd.engines import engine_for
    from incrowd.engines.distinct import dictionary
    from incrowd.release.jobs.make.table_treatments import TableTreatments

    settings = {key: value for key, value in document["columns"][name].items() if key not in _OF_THE_TREE}
    if settings["role"] == OPEN_ROLE:
        settings["role"] = "insensitive"
    alone = {**document, "columns": {name: settings}, "models": [{"model": "k-anonymity", "k": 1}]}
    for other in _OF_OTHERS:
        alone.pop(other, None)
    schema = Policy.from_dict(alone, folder, "the choices of this page").schema
    refuse_prompts(schema)
    counted, records = TableTreatments.of_table(engine_for(table), schema).counted.values_of([name])
    found, places = dictionary(counted.to_series(), name, schema.null_values)
    by_place = np.bincount(places, records, len(found.texts) + 1).astype(np.int64)
    attribute = schema[name].as_counted()
    if not (attribute.spelling or attribute.missing):
        return dict(zip(found.texts, by_place.tolist(), strict=False))
    domain, ranks = Domain.build(attribute, found, schema.null_values)
    by_rank = np.bincount(np.where(ranks < 0, domain.size, ranks), by_place, domain.size + 1).astype(np.int64)
    texts = zip(domain.values, by_rank.tolist(), strict=False)
    return {text: number for text, number in texts if text is not None}


def most_frequent(cells: pl.Series) -> list[tuple[str, int]]:
    """Count the records of the most frequent values, or of ranges of equal width for many numbers.

    A decimal comma is read as one. Codes of digits that begin alike are counted together. Other and missing
    values come last.
    """
    texts = cells.cast(pl.String, strict=False).alias("value").drop_nulls()
    counted = texts.value_counts(name="records").sort("records", "value", descending=[True, False])
    bars = [*counted.head(_BARS).iter_rows(), ("other values", counted["records"][_BARS:].sum())]
    numbers = texts.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    # A text such as 01067 is a code, and no number.
    is_code = texts.str.contains(r"^0\d").any()
    is_open = cells.dtype == pl.String and has_unclear_points(texts)
    if not is_open and counted.height > _BARS and not is_code and numbers.is_finite().sum() == texts.len():
        records, ends = np.histogram(numbers, _BARS)
        style = ",.0f" if ends[-1] - ends[0] > 2 * _BARS else ",.4g"
        labels = [f"{low:{style}} to {high:{style}}" for low, high in pairwise(ends)]
        bars = list(zip(labels, records.tolist(), strict=True))
    elif counted.height > _BARS and is_code:
        starts = texts.str.slice(0, 1) + "..."
        bars = list(starts.value_counts(name="records").sort("value").iter_rows())
    bars.append(("(missing)", cells.null_count()))
    return [(label or "(empty)", number) for label, number in bars if number]


def refuse_prompts(schema: Schema) -> None:
    """Refuse treatments that would ask for a key in the terminal, where nobody would answer."""
    for each in schema.treated:
        if each.treatment is not None and each.treatment.key_source == "prompt":
            raise ParameterError(
                f"the treatment of {each.name!r} would ask for its key in the terminal; say where "
                "the key is: env:NAME or file:PATH"
            )
