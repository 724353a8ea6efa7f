"""Counting the people of each key, and each of their sensitive values once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.table.people import Alike, ListedPeople, PersonGroups, PersonRows

if TYPE_CHECKING:
    from incrowd.kernels.counting import Counts
    from incrowd.kernels.stories import ToldRows

__all__ = ["PeopleCounts", "count_people"]


class PeopleCounts(NamedTuple):
    """The people of a table, as a `FrequencyTable` of people has them.

    Attributes
    ----------
    weights
        int64[keys]: people of each key whose rows are all alike, and rows without a person.
    values
        Per sensitive attribute how many of them have each value.
    totals
        Per sensitive attribute int64[size]: people of the whole table who have each value.
    by_number
        The same of the number that each value writes, where the domain writes one in several ways; else None.
    combinations
        How many of them have each combination of sensitive values; None where nobody asked.
    spread
        Everybody else.
    """

    weights: NDArray[np.int64]
    values: tuple[Counts, ...]
    totals: tuple[NDArray[np.int64], ...]
    by_number: tuple[NDArray[np.int64] | None, ...]
    combinations: Counts | None
    spread: ListedPeople


def count_people(
    groups: PersonGroups,
    keys: int,
    sizes: Sequence[int],
    combinations: int | None,
    numbers: Sequence[NDArray[np.int32] | None],
) -> PeopleCounts:
    """Count people, whoever of them is listed.

    Parameters
    ----------
    keys
        Number of keys.
    sizes
        Number of possible values of each sensitive attribute.
    combinations
        Number of combinations of sensitive values, where somebody asked.
    numbers
        Per sensitive attribute int32[size]: the first value that is the same number, where the domain writes
        one in several ways; else None.
    """
    from incrowd.kernels.jit import at_once

    found = groups.listed
    told = _told(found, keys, sizes)
    unlike = told.unlike
    asked = [*zip(found.ranks, groups.alike, sizes, strict=False)]
    if combinations is not None and found.combination is not None:
        asked.append((found.combination, groups.alike[len(sizes)], combinations))
    spread, weights, *counted = at_once(
        len(found.key),
        lambda: ListedPeople.of(
            keys,
            found.key[unlike],
            found.person[unlike],
            [ranks[unlike] for ranks in found.ranks],
            sizes,
            None if found.combination is None else found.combination[unlike],
        ),
        partial(_weights, found.key[told.alone], groups.alike[0], keys),
        *(partial(_counts_alone, found, told.alone, keys, *each) for each in asked),
    )
    totals = []
    by_number: list[NDArray[np.int64] | None] = []
    for j, (ranks, others, size, same) in enumerate(
        zip(found.ranks, groups.alike, sizes, numbers, strict=False)
    ):
        # Who has a suppressed row may have a value there alone.
        people = (
            np.bincount(ranks[told.alone], minlength=size) + spread.people_of_values(j, size)
            if not told.nowhere
            else _people_of_values(found.person, ranks, size)
        )
        totals.append(people + _sums(others, size))
        if same is None:
            by_number.append(None)
            continue
        merged = others._replace(codes=same[others.codes])
        people = _people_of_values(found.person, same[ranks], size) + _sums(merged, size)
        by_number.append(people[same])
    joint = None if combinations is None or found.combination is None else counted.pop()
    return PeopleCounts(weights, tuple(counted), tuple(totals), tuple(by_number), joint, spread)


def _weights(alone: NDArray[np.integer], others: Alike, keys: int) -> NDArray[np.int64]:
    """Count those of each key whose rows are all alike: int64[keys]."""
    weights = np.bincount(alone[alone >= 0], minlength=keys).astype(np.int64)
    if len(others.key):
        here = others.key >= 0
        weights += np.bincount(others.key[here], others.amount[here], keys).astype(np.int64)
    return weights


def _counts_alone(
    found: PersonRows,
    alone: NDArray[np.int64],
    keys: int,
    codes: NDArray[np.integer],
    others: Alike,
    size: int,
) -> Counts:
    """Count the codes of those whose rows are all alike, under each key."""
    from incrowd.kernels.counting import counts_per_key, row_counts
    from incrowd.kernels.grouping import group_members

    if not len(others.key):
        return row_counts(*group_members(found.key[alone], keys), codes[alone], size)
    key = np.concatenate((found.key[alone], others.key))
    values = np.concatenate((codes[alone], others.codes)).astype(np.int32)
    amount = np.concatenate((np.ones(len(alone), np.int64), others.amount))
    return counts_per_key(key, values, amount, keys, size)


def _told(found: PersonRows, keys: int, sizes: Sequence[int]) -> ToldRows:
    """Find one row for each person, key and combination of sensitive values, however many rows say so."""
    from incrowd.kernels.grouping import group_members, packed
    from incrowd.kernels.jit import at_once
    from incrowd.kernels.stories import tell_apart

    rows = len(found.person)
    many = int(found.person.max(initial=-1)) + 1
    (indptr, members), words = at_once(
        rows,
        lambda: group_members(found.person, many),
        lambda: packed([found.key + 1, *found.ranks], [keys + 1, *sizes], rows),
    )
    return tell_apart(indptr, members, words, found.key)


def _people_of_values(
    person: NDArray[np.integer], ranks: NDArray[np.integer], size: int
) -> NDArray[np.int64]:
    """Count the people who have each value: int64[size]."""
    from incrowd.kernels.grouping import group_members
    from incrowd.kernels.stories import first_apart

    grouped = group_members(person, int(person.max(initial=-1)) + 1)
    return np.bincount(ranks[first_apart(*grouped, ranks)], minlength=size).astype(np.int64)


def _sums(alike: Alike, size: int) -> NDArray[np.int64]:
    return np.bincount(alike.codes, alike.amount, size).astype(np.int64)
