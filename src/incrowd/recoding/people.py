"""The people of a released table, which no longer says whose row is whose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.table.classes import EquivalenceClasses

if TYPE_CHECKING:
    from incrowd.kernels.counting import Counts
    from incrowd.recoding.base import Recoding
    from incrowd.table.frequency import FrequencyTable

__all__ = ["carry_people"]

_OTHER = (
    "the released table does not hold the rows that were recoded, so its people cannot be counted; nothing "
    "is released"
)


def carry_people(released: FrequencyTable, frequency: FrequencyTable, recoding: Recoding) -> FrequencyTable:
    """Return a released table's counts with the people of the rows that it was made from.

    A release has no column of persons. But each key of the table before has one key in the release. So the
    people of a released key are those of the keys that it was made from. That holds only if the release has
    just these rows, so this is checked: the records of each key, and each sensitive value in it.

    Parameters
    ----------
    released
        The released table, counted anew.
    frequency
        The table before, with its people.
    recoding
        What was made of its keys.

    Raises
    ------
    TableError
        When the release holds other rows.
    """
    if frequency.people is None:
        persons = frequency.persons
        return released if persons is None else replace(released, persons=replace(persons, of_row=None))
    classes = EquivalenceClasses.from_assignment(
        frequency, _released_keys(released, frequency, recoding), released.keys
    )
    if not np.array_equal(classes.sizes, released.weights) or classes.suppressed != released.suppressed:
        raise TableError(_OTHER)
    for position, (before, after) in enumerate(zip(frequency.sensitive, released.sensitive, strict=True)):
        place = {text: rank for rank, text in enumerate(after.domain.values)}
        present = np.flatnonzero(before.totals)
        if any(before.domain.values[rank] not in place for rank in present.tolist()):
            raise TableError(_OTHER)
        ranks = np.zeros(before.domain.size, np.int64)
        ranks[present] = [place[before.domain.values[rank]] for rank in present.tolist()]
        if not _same(classes.counts(position), ranks, after.keys):
            raise TableError(_OTHER)
    return classes.with_people(released)


def _released_keys(
    released: FrequencyTable, frequency: FrequencyTable, recoding: Recoding
) -> NDArray[np.int64]:
    """Return the released key of each key: int64[keys], -1 for a suppressed one."""
    from incrowd.kernels.grouping import group_columns

    columns, sizes = [], []
    starred = recoding.suppressed.copy()
    everywhere = np.ones(frequency.keys, np.bool_)
    for domain, codes, cells in zip(released.domains, released.codes, recoding.cells, strict=True):
        positions, labels = cells.released
        place = {text: rank for rank, text in enumerate(domain.values)}
        # What stands in suppressed rows alone has no rank in the released table.
        rank_of = np.array([place.get(label, -1) for label in labels], np.int64)
        star = np.array([label == "*" for label in labels], np.bool_)
        of_key = positions[cells.codes]
        everywhere &= star[of_key]
        columns.append(np.concatenate((codes.astype(np.int64), rank_of[of_key])))
        sizes.append(domain.size)
    starred |= everywhere
    kept = np.concatenate((np.ones(released.keys, np.bool_), ~starred))
    if any((column[kept] < 0).any() for column in columns):
        raise TableError(_OTHER)
    ids, first = group_columns([column[kept] for column in columns], sizes, int(kept.sum()))
    if len(first) != released.keys:
        raise TableError(_OTHER)
    found = np.full(frequency.keys, -1, np.int64)
    found[~starred] = ids[released.keys :]
    return found


def _same(counts: Counts, ranks: NDArray[np.int64], keys: Counts) -> bool:
    """Say whether counts per class, their values renamed, are those of the released keys."""
    owner = np.repeat(np.arange(len(counts.indptr) - 1), np.diff(counts.indptr))
    order = np.lexsort((ranks[counts.codes], owner))
    return (
        np.array_equal(counts.indptr, keys.indptr)
        and np.array_equal(ranks[counts.codes][order], keys.codes)
        and np.array_equal(counts.counts[order], keys.counts)
    )
