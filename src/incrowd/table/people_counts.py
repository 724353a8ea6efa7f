"""Counting the people of each key, and each of their sensitive values once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from incrowd.lazy import NDArray, np
from incrowd.table.people import ListedPeople, PersonRows
from incrowd.table.sensitive import JointCounts, SensitiveCounts

if TYPE_CHECKING:
    from incrowd.kernels.grouping.counting import Counts
    from incrowd.kernels.people.person_rows import DistinctRows


def count_people(
    keys: int,
    sensitive: Sequence[SensitiveCounts],
    joint: JointCounts | None,
    number: int,
    listed: PersonRows,
    others: Sequence[PersonRows],
) -> tuple[NDArray[np.int64], tuple[SensitiveCounts, ...], JointCounts | None, ListedPeople]:
    """Count people in place of records.

    Parameters
    ----------
    keys
        Number of keys.
    sensitive, joint
        What was counted of records.
    number
        How many people there are.
    listed
        Rows of people, none without a number. Whoever has rows that are not alike is listed with all of them;
        others may be.
    others
        Those who count as a record would: people whose rows are all alike, and rows without a person. For
        each sensitive attribute there is a list with its ranks, and then one with their combinations if
        these are counted. Without a sensitive attribute there is one list.

    Returns
    -------
    weights
        int64[keys]: people of each key whose rows are all alike, and rows without a person.
    sensitive, joint
        The same of their values. Totals are of all people.
    entries
        The other people.
    """
    from incrowd.kernels.jit import at_once

    sizes = [before.domain.size for before in sensitive]
    joint = None if listed.combination is None else joint
    rows = _distinct(listed, keys, sizes)
    unlike = rows.unlike
    asked = [
        (ranks, them, them.ranks[0], size)
        for ranks, them, size in zip(listed.ranks, others, sizes, strict=False)
    ]
    if joint is not None and listed.combination is not None:
        them = others[len(sizes)]
        assert them.combination is not None
        asked.append((listed.combination, them, them.combination, len(joint.codes[0])))
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
    found = []
    for j, before in enumerate(sensitive):
        ranks, them, codes, size = asked[j]
        # Who has a suppressed row may have a value there alone.
        totals = (
            np.bincount(ranks[rows.alone], minlength=size) + entries.people_of_values(j, size)
            if not rows.nowhere
            else _people_of_values(listed.person, ranks, size)
        )
        same, by_number = before.domain.same_number, None
        if same is not None:
            merged = _people_of_values(listed.person, same[ranks], size)
            by_number = (merged + _sums(same[codes], them, size))[same]
        totals = totals + _sums(codes, them, size)
        found.append(SensitiveCounts(before.domain, counted[j], totals, None, number, by_number))
    combined = None if joint is None else JointCounts(joint.codes, counted[-1])
    return weights, tuple(found), combined, entries


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
    from incrowd.kernels.grouping.counting import counts_per_key, row_counts
    from incrowd.kernels.grouping.grouping import group_members

    if not len(others.key):
        return row_counts(*group_members(keys_of_rows[alone], keys), codes[alone], size)
    key = np.concatenate((keys_of_rows[alone], others.key))
    values = np.concatenate((codes[alone], their_codes)).astype(np.int32)
    amount = np.concatenate((np.ones(len(alone), np.int64), others.amount))
    return counts_per_key(key, values, amount, keys, size)


def _distinct(found: PersonRows, keys: int, sizes: Sequence[int]) -> DistinctRows:
    """Find the distinct rows of each person: keys and combinations of sensitive values."""
    from incrowd.kernels.grouping.grouping import group_members, packed
    from incrowd.kernels.jit import at_once
    from incrowd.kernels.people.person_rows import distinct_rows

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
    from incrowd.kernels.grouping.grouping import group_members
    from incrowd.kernels.people.person_rows import first_items

    grouped = group_members(person, int(person.max(initial=-1)) + 1)
    return np.bincount(ranks[first_items(*grouped, ranks)], minlength=size).astype(np.int64)


def _sums(codes: NDArray[np.integer], others: PersonRows, size: int) -> NDArray[np.int64]:
    return np.bincount(codes, others.amount, size).astype(np.int64)
