"""Counting the people of each key, and each of their sensitive values once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.table.people import ListedPeople, PersonRows

if TYPE_CHECKING:
    from incrowd.kernels.counting import Counts
    from incrowd.kernels.person_rows import DistinctRows
    from incrowd.table.domain import Domain

__all__ = ["count_people"]

Values = tuple["Counts", NDArray[np.int64], NDArray[np.int64] | None]
"""Counts of an attribute's values per key, in the whole table, and there by number; see `SensitiveCounts`."""


def count_people(
    keys: int,
    domains: Sequence[Domain],
    combinations: int | None,
    listed: PersonRows,
    others: Sequence[PersonRows],
) -> tuple[NDArray[np.int64], list[Values], Counts | None, ListedPeople]:
    """Count people in place of records.

    Parameters
    ----------
    keys
        Number of keys.
    domains
        The values of each sensitive attribute.
    combinations
        Number of combinations of sensitive values, where somebody asked.
    listed
        Rows of people, none without a number. Whoever has rows that are not alike is listed with all of them;
        others may be.
    others
        Those who count as a record would: people whose rows are all alike, and rows without a person. For
        each sensitive attribute there is a list with its ranks, and then one with their combinations if
        somebody asked. Without a sensitive attribute there is one list.

    Returns
    -------
    weights
        int64[keys]: people of each key whose rows are all alike, and rows without a person.
    values
        Per sensitive attribute how many of them have each value, and the people of the whole table who do.
    joint
        How many of them have each combination of sensitive values; None where nobody asked.
    entries
        Everybody else.
    """
    from incrowd.kernels.jit import at_once

    sizes = [domain.size for domain in domains]
    rows = _distinct(listed, keys, sizes)
    unlike = rows.unlike
    asked = [
        (ranks, them, them.ranks[0], size)
        for ranks, them, size in zip(listed.ranks, others, sizes, strict=False)
    ]
    if combinations is not None and listed.combination is not None:
        them = others[len(sizes)]
        assert them.combination is not None
        asked.append((listed.combination, them, them.combination, combinations))
    entries, weights, *counted = at_once(
        len(listed.key),
        lambda: ListedPeople.of(
            keys,
            listed.key[unlike],
            listed.person[unlike],
            [ranks[unlike] for ranks in listed.ranks],
            sizes,
            None if listed.combination is None else listed.combination[unlike],
        ),
        partial(_weights, listed.key[rows.alone], others[0], keys),
        *(partial(_counts_alone, listed.key, rows.alone, keys, *each) for each in asked),
    )
    values: list[Values] = []
    for j, domain in enumerate(domains):
        ranks, them, codes, size = asked[j]
        # Who has a suppressed row may have a value there alone.
        totals = (
            np.bincount(ranks[rows.alone], minlength=size) + entries.people_of_values(j, size)
            if not rows.nowhere
            else _people_of_values(listed.person, ranks, size)
        )
        same, by_number = domain.same_number, None
        if same is not None:
            merged = _people_of_values(listed.person, same[ranks], size)
            by_number = (merged + _sums(same[codes], them, size))[same]
        values.append((counted[j], totals + _sums(codes, them, size), by_number))
    return weights, values, counted[-1] if len(asked) > len(domains) else None, entries


def _weights(alone: NDArray[np.integer], others: PersonRows, keys: int) -> NDArray[np.int64]:
    """Count those of each key whose rows are all alike: int64[keys]."""
    weights = np.bincount(alone[alone >= 0], minlength=keys).astype(np.int64)
    if len(others.key):
        here = others.key >= 0
        weights += np.bincount(others.key[here], others.amount[here], keys).astype(np.int64)
    return weights


def _counts_alone(
    keys_of_rows: NDArray[np.integer],
    alone: NDArray[np.int64],
    keys: int,
    codes: NDArray[np.integer],
    others: PersonRows,
    their_codes: NDArray[np.integer],
    size: int,
) -> Counts:
    """Count the codes of those whose rows are all alike, under each key."""
    from incrowd.kernels.counting import counts_per_key, row_counts
    from incrowd.kernels.grouping import group_members

    if not len(others.key):
        return row_counts(*group_members(keys_of_rows[alone], keys), codes[alone], size)
    key = np.concatenate((keys_of_rows[alone], others.key))
    values = np.concatenate((codes[alone], their_codes)).astype(np.int32)
    amount = np.concatenate((np.ones(len(alone), np.int64), others.amount))
    return counts_per_key(key, values, amount, keys, size)


def _distinct(found: PersonRows, keys: int, sizes: Sequence[int]) -> DistinctRows:
    """Find the distinct rows of each person: keys and combinations of sensitive values."""
    from incrowd.kernels.grouping import group_members, packed
    from incrowd.kernels.jit import at_once
    from incrowd.kernels.person_rows import distinct_rows

    rows = len(found.person)
    many = int(found.person.max(initial=-1)) + 1
    (indptr, members), words = at_once(
        rows,
        lambda: group_members(found.person, many),
        lambda: packed([found.key + 1, *found.ranks], [keys + 1, *sizes], rows),
    )
    return distinct_rows(indptr, members, words, found.key)


def _people_of_values(
    person: NDArray[np.integer], ranks: NDArray[np.integer], size: int
) -> NDArray[np.int64]:
    """Count the people who have each value: int64[size]."""
    from incrowd.kernels.grouping import group_members
    from incrowd.kernels.person_rows import first_items

    grouped = group_members(person, int(person.max(initial=-1)) + 1)
    return np.bincount(ranks[first_items(*grouped, ranks)], minlength=size).astype(np.int64)


def _sums(codes: NDArray[np.integer], others: PersonRows, size: int) -> NDArray[np.int64]:
    return np.bincount(codes, others.amount, size).astype(np.int64)
