"""Some keys of a frequency table, as if the rows of the others had never come."""

from __future__ import annotations

from dataclasses import replace

from incrowd.core.lazy import NDArray, np
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable, People, PopulationCounts
from incrowd.core.table.matching import counts_by_number
from incrowd.core.table.sensitive import SensitiveCounts
from incrowd.core.table.survey import Survey


def remaining(table: FrequencyTable, kept: NDArray[np.bool_]) -> FrequencyTable:
    """Return some of the keys as if the rows of the others, and those without a key, had never come.

    Unlike those of `FrequencyTable.only`, its totals are of these rows alone, and so are its people and
    households.

    Parameters
    ----------
    kept
        bool[keys]
    """
    found = table.only(kept)
    number = np.full(table.keys + 1, -1, np.int32)
    number[:-1][kept] = np.arange(found.keys, dtype=np.int32)
    rows = row_keys = None
    if table.row_keys is not None:
        rows = np.flatnonzero(number[table.row_keys] >= 0)
        row_keys = number[table.row_keys][rows]
    sensitive = tuple(
        replace(after, rows=before.rows).leaving(rows)
        for before, after in zip(table.sensitive, found.sensitive, strict=True)
    )
    sampling, homes = table.survey
    if sampling is not None:
        weight = None if sampling.of_row is None or rows is None else sampling.of_row[rows]
        sampling = replace(sampling, keys=sampling.keys[kept], suppressed=0, of_row=weight)
    estimated = sampling is not None and table.population is not None and table.population.weights
    return replace(
        found,
        sensitive=sensitive,
        row_keys=row_keys,
        population=PopulationCounts.estimated(sampling) if estimated and sampling else found.population,
        target=None if found.target is None else found.target.leaving(None),
        people=_people_left(table.people, found, rows),
        survey=Survey(sampling, None if homes is None else homes.leaving(number)),
    )


def _people_left(people: People, found: FrequencyTable, rows: NDArray[np.int64] | None) -> People:
    """Return the people of a table of which some keys are left, and some rows where they are in memory."""
    of_row = None
    if people.of_row is not None and rows is not None:
        named = people.of_row[rows]
        of_row = np.full(len(rows), -1, np.int32)
        of_row[named >= 0] = np.unique(named[named >= 0], return_inverse=True)[1]
    table = found.people.table
    number = found.records if table is None else table.records
    # Where rows are elsewhere, nobody knows which of those that name no person are left.
    unnamed = min(people.unnamed, number)
    if table is not None:
        table = replace(table, sensitive=_totals_of_people(table, number), suppressed=0)
    return replace(
        people, number=number if people.columns else 0, unnamed=unnamed, of_row=of_row, table=table
    )


def _totals_of_people(table: FrequencyTable, number: int) -> tuple[SensitiveCounts, ...]:
    """Count the values of a table of people anew, each person once for a value."""
    whole = EquivalenceClasses.from_assignment(table, np.zeros(table.keys, np.int32), 1)
    made = []
    for position, counted in enumerate(table.sensitive):
        size, same, by_number = counted.domain.size, counted.domain.same_number, None
        counts = whole.counts(position)
        if counted.by_number is not None and same is not None:
            merged = counts_by_number(whole, position, same, size)
            by_number = np.bincount(merged.codes, merged.counts, size).astype(np.int64)[same]
        totals = np.bincount(counts.codes, counts.counts, size).astype(np.int64)
        made.append(replace(counted, totals=totals, people=number, by_number=by_number))
    return tuple(made)
