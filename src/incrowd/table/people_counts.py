"""Counting the people of each key, and each of their sensitive values once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.table.people import Alike, PersonGroups, PersonRows, Spread

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
    spread: Spread


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
    from incrowd.kernels.counting import counts_per_key

    found = groups.listed
    told = _told(found, keys, sizes)
    alone, unlike = told.alone, told.unlike

    def per_key(codes: NDArray[np.integer], others: Alike, size: int) -> Counts:
        key = np.concatenate((found.key[alone], others.key))
        values = np.concatenate((codes[alone], others.codes)).astype(np.int32)
        amount = np.concatenate((np.ones(len(alone), np.int64), others.amount))
        return counts_per_key(key, values, amount, keys, size)

    spread = Spread.of(
        keys,
        found.key[unlike],
        found.person[unlike],
        [ranks[unlike] for ranks in found.ranks],
        sizes,
        None if found.combination is None else found.combination[unlike],
    )
    values, totals = [], []
    by_number: list[NDArray[np.int64] | None] = []
    for j, (ranks, others, size, same) in enumerate(
        zip(found.ranks, groups.alike, sizes, numbers, strict=False)
    ):
        values.append(per_key(ranks, others, size))
        # Who has a suppressed row may have a value there alone.
        people = (
            np.bincount(ranks[alone], minlength=size) + spread.people_of_values(j, size)
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
    weights = np.bincount(_live(found.key[alone]), minlength=keys)
    others = groups.alike[0]
    here = others.key >= 0
    weights = weights + np.bincount(others.key[here], others.amount[here], keys)
    joint = None
    if combinations is not None and found.combination is not None:
        joint = per_key(found.combination, groups.alike[len(sizes)], combinations)
    return PeopleCounts(
        weights.astype(np.int64), tuple(values), tuple(totals), tuple(by_number), joint, spread
    )


def _told(found: PersonRows, keys: int, sizes: Sequence[int]) -> ToldRows:
    """Find one row for each person, key and combination of sensitive values, however many rows say so."""
    from incrowd.kernels.grouping import group_members, packed
    from incrowd.kernels.stories import tell_apart

    words = packed([found.key + 1, *found.ranks], [keys + 1, *sizes], len(found.person))
    many = int(found.person.max(initial=-1)) + 1
    return tell_apart(*group_members(found.person, many), words, found.key)


def _people_of_values(
    person: NDArray[np.integer], ranks: NDArray[np.integer], size: int
) -> NDArray[np.int64]:
    """Count the people who have each value: int64[size]."""
    from incrowd.kernels.grouping import group_members
    from incrowd.kernels.stories import number_apart

    grouped = group_members(person, int(person.max(initial=-1)) + 1)
    _, first, _ = number_apart(*grouped, ranks)
    return np.bincount(ranks[first], minlength=size).astype(np.int64)


def _sums(alike: Alike, size: int) -> NDArray[np.int64]:
    return np.bincount(alike.codes, alike.amount, size).astype(np.int64)


def _live(key: NDArray[np.integer]) -> NDArray[np.integer]:
    return key[key >= 0]
