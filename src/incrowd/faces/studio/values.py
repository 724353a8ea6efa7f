"""The values of a column with numbers of records, in the form for the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.faces.studio.sets import item_counts, set_columns
from incrowd.release.policy.policy import Policy

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.core.table.attribute import Attribute
    from incrowd.core.table.domain import Dictionary, Domain
    from incrowd.core.table.schema import Schema

_OF_THE_TREE = ("hierarchy", "levels", "output", "ends", "grid")
"""Settings of a column that say what is made of its values."""
_OF_OTHERS = ("attackers", "algorithm", "linked")
"""What a policy says that may name other columns."""
OTHERS, MISSING = "other values", "(missing)"
"""Labels of what is no single value."""
_BARS = 8
"""Values, or ranges of numbers, of which the records are shown."""


def counts_of(table: Any, document: Mapping[str, Any], folder: Path, name: str) -> dict[str, int]:
    """Count the values of a column, or the items of sets, as texts, in order, without missing values.

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
    if schema[name].kind == "set":
        cells = engine_for(table).some_rows([name], 1.0).to_series()
        return item_counts(cells, schema[name], schema.nulls(name))
    counted, records = TableTreatments.of_table(engine_for(table), schema).counted.values_of([name])
    found, places = dictionary(counted.to_series(), name, schema.null_values)
    by_place = np.bincount(places, records, len(found.texts) + 1).astype(np.int64)
    attribute = schema[name].as_counted()
    if not (attribute.spelling or attribute.missing):
        return dict(zip(found.texts, by_place.tolist(), strict=False))
    domain, by_rank = _records_by_rank(attribute, found, by_place, schema.null_values)
    texts = zip(domain.values, by_rank.tolist(), strict=True)
    return {text: number for text, number in texts if text is not None}


def _records_by_rank(
    attribute: Attribute, texts: Dictionary, records: NDArray[np.int64], null_values: tuple[str, ...] = ()
) -> tuple[Domain, NDArray[np.int64]]:
    """Read the texts of a column as the attribute spells them, and count the records of each rank.

    `records` is int64[texts + 1], as `Domain.build` ranks them.
    """
    from incrowd.core.table.domain import Domain

    domain, ranks = Domain.build(attribute, texts, null_values)
    is_present = ranks >= 0
    return domain, np.bincount(ranks[is_present], records[is_present], domain.size).astype(np.int64)


def most_frequent(cells: pl.Series, spelled: Mapping[str, Any] | None = None) -> list[tuple[str, int]]:
    """Count the records of the most frequent values; of many numbers, dates or codes, those in round bins.

    Other and missing values come last. Of sets the most frequent items are counted, and no others.

    Parameters
    ----------
    spelled
        The settings of the column in a policy, which say how its numbers and dates are written.
    """
    from incrowd.core.reading.spellings import QUESTIONS, has_unclear_points
    from incrowd.core.table.attribute import Attribute
    from incrowd.engines.distinct import dictionary
    from incrowd.release.accounts.bins import scale_of

    if spelled is not None and set_columns({cells.name: spelled}):
        items: dict[str, Any] = {key: spelled.get(key) for key in ("kind", "parts", "known")}
        counts = item_counts(cells, Attribute(cells.name, "quasi", **items))
        return sorted(counts.items(), key=lambda each: -each[1])[:_BARS]
    spelling = {key: value for key, value in (spelled or {}).items() if key in QUESTIONS}
    if not spelling and cells.dtype == pl.String and has_unclear_points(cells.alias("cells").drop_nulls()):
        spelling = {"kind": "category"}  # Nobody can tell what a point means.
    attribute = Attribute(cells.name, "quasi", **spelling)
    texts, places = dictionary(cells, cells.name, ())
    by_place = np.bincount(places, minlength=len(texts.texts) + 1).astype(np.int64)
    domain, totals = _records_by_rank(attribute, texts, by_place)
    # Days of one month, or one year, share a bin, which tells nothing of them.
    if (scale := scale_of(domain) if domain.size > _BARS else None) is not None and scale.place.max() > 0:
        place = scale.place
        counts = np.bincount(place[place >= 0], totals[place >= 0]).astype(np.int64).tolist()
        bins = [(scale.name(bar, bar), number) for bar, number in enumerate(counts)]
        bins.append((MISSING, int(totals[place < 0].sum())))
    else:
        order = sorted(zip(domain.values, totals.tolist(), strict=True), key=lambda each: -each[1])
        present = [(str(value), number) for value, number in order if value is not None]
        missing = sum(number for value, number in order if value is None)
        others = sum(number for _, number in present[_BARS:])
        bins = [*present[:_BARS], (OTHERS, others), (MISSING, missing)]
    return [(label or "(empty)", number) for label, number in bins if number]


def refuse_prompts(schema: Schema) -> None:
    """Refuse treatments that would ask for a key in the terminal, where nobody would answer."""
    for each in schema.treated:
        if each.treatment is not None and each.treatment.key_source == "prompt":
            raise ParameterError(
                f"the treatment of {each.name!r} would ask for its key in the terminal; say where "
                "the key is: env:NAME or file:PATH"
            )
