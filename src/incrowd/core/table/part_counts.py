"""How many records, or people, of each class have each part of a list; see `incrowd.core.table.parts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.lazy import NDArray, np
from incrowd.core.table.parts import Parts

if TYPE_CHECKING:
    from incrowd.core.kernels.grouping.counting import Counts
    from incrowd.core.table.people import ListedPeople


def record_counts(counts: Counts, parts: Parts) -> Counts:
    """Count the records of each class that have each part, given how many have each value."""
    from incrowd.core.kernels.grouping.counting import class_counts

    spread = parts.spread_counts(counts)
    # One entry per part makes `class_counts` add up each class's entries again.
    entries = np.arange(len(spread.codes), dtype=np.int64)
    single = type(counts)(np.append(entries, len(entries)), spread.codes, spread.counts)
    return class_counts(spread.indptr, entries, single, len(parts.names))


def people_counts(
    where: tuple[NDArray[np.int64], NDArray[np.int64]],
    keys: Counts,
    listed: ListedPeople,
    attribute: int,
    parts: Parts,
) -> Counts:
    """Count the people of each class who have each part in one of their rows, each person once.

    Parameters
    ----------
    where
        The keys of each class.
    keys
        Counts of the values per key, of people whose rows are all alike.
    listed
        The other people.
    attribute
        Position of the sensitive attribute.
    """
    from incrowd.core.kernels.grouping.grouping import group_columns
    from incrowd.core.kernels.people.people import Entries, add_distinct

    place, codes = parts.spread(listed.values[attribute][listed.entry])
    person = listed.person[listed.entry][place]
    pairs, first = group_columns([person, codes], [listed.numbers, len(parts.names)], len(codes))
    ends = np.searchsorted(place, listed.indptr).astype(np.int64)
    entries = Entries(ends, pairs.astype(np.int32), max(len(first), 1))
    return add_distinct(*where, parts.spread_counts(keys), entries, codes, len(parts.names))
