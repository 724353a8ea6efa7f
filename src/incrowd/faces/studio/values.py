"""The values of a column with numbers of records, in the form for the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import np, pl
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


def most_frequent(cells: pl.Series, spelled: Mapping[str, Any] | None = None) -> list[tuple[str, int]]:
    """Count the records of the most frequent values; of many numbers, dates or codes, those in round bins.

    Other and missing values come last.

    Parameters
    ----------
    spelled
        The settings of the column in a policy, which say how its numbers and dates are written.
    """
    from incrowd.core.reading.spellings import QUESTIONS, has_unclear_points
    from incrowd.core.table.attribute import Attribute
    from incrowd.core.table.domain import Domain
    from incrowd.engines.distinct import dictionary
    from incrowd.release.accounts.bins import scale_of

    spelling = {key: value for key, value in (spelled or {}).items() if key in QUESTIONS}
    if not spelling and cells.dtype == pl.String and has_unclear_points(cells.drop_nulls()):
        spelling = {"kind": "category"}  # Nobody can tell what a point means.
    attribute = Attribute(cells.name, "quasi", **spelling)
    found, places = dictionary(cells, cells.name, ())
    by_place = np.bincount(places, minlength=len(found.texts) + 1).astype(np.int64)
    domain, ranks = Domain.build(attribute, found, ())
    known = ranks >= 0
    totals = np.bincount(ranks[known], by_place[known], domain.size).astype(np.int64)
    if (scale := scale_of(domain) if domain.size > _BARS else None) is not None:
        place = scale.place
        counts = np.bincount(place[place >= 0], totals[place >= 0]).astype(np.int64).tolist()
        bins = [(scale.name(bar, bar), number) for bar, number in enumerate(counts)]
        bins.append(("(missing)", int(totals[place < 0].sum())))
    else:
        order = sorted(zip(domain.values, totals.tolist(), strict=True), key=lambda each: -each[1])
        present = [(str(value), number) for value, number in order if value is not None]
        missing = sum(number for value, number in order if value is None)
        others = sum(number for _, number in present[_BARS:])
        bins = [*present[:_BARS], ("other values", others), ("(missing)", missing)]
    return [(label or "(empty)", number) for label, number in bins if number]


def refuse_prompts(schema: Schema) -> None:
    """Refuse treatments that would ask for a key in the terminal, where nobody would answer."""
    for each in schema.treated:
        if each.treatment is not None and each.treatment.key_source == "prompt":
            raise ParameterError(
                f"the treatment of {each.name!r} would ask for its key in the terminal; say where "
                "the key is: env:NAME or file:PATH"
            )
