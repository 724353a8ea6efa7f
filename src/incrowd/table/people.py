"""People and their rows: who has several, and what is listed of them under each key.

Somebody whose rows are all alike (one key, the same sensitive values) counts as one record would. So only
people with unlike rows need a list. In a table with one row a person the list is empty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.kernels.people import Entries

__all__ = ["Alike", "Histories", "PersonGroups", "PersonRows", "Persons", "Spread", "Stories"]


class PersonRows(NamedTuple):
    """Rows of a table, or groups of equal rows, with their people.

    Attributes
    ----------
    key
        int[n]: key of each row in the frequency table, -1 for a suppressed one.
    person
        int[n]: number of each row's person, from 0 without gaps; -1 where the person is missing. Each such
        row is a person of its own.
    ranks
        Per sensitive attribute the rank of each row's value: int[n].
    combination
        int[n]: which combination of all sensitive values each row has; None where nobody asked.
    rows
        int64[n]: how many rows each stands for; None for one each.
    """

    key: NDArray[np.integer]
    person: NDArray[np.integer]
    ranks: tuple[NDArray[np.integer], ...]
    combination: NDArray[np.integer] | None = None
    rows: NDArray[np.int64] | None = None


class Alike(NamedTuple):
    """Those who count as a record would: people whose rows are all alike, and rows without a person.

    Attributes
    ----------
    key
        int[n]: a key of the frequency table, -1 for suppressed rows. One may stand in several places.
    codes
        int[n]: the rank of a sensitive value, or the number of a combination of them; 0 where there is none.
    amount
        int64[n]: how many have both.
    """

    key: NDArray[np.integer]
    codes: NDArray[np.integer]
    amount: NDArray[np.int64]


class PersonGroups(NamedTuple):
    """The people of a table, of whom only some are listed.

    Attributes
    ----------
    listed
        Rows of people, or groups of them, none without a person. Whoever has rows that are not alike is
        listed with all rows; others may be.
    alike
        The others: one list for each sensitive attribute, and then one for their combinations if somebody
        asked. Without a sensitive attribute it is one list.
    people, unnamed
        As in `Persons`.
    several
        Whether somebody has more than one row.
    """

    listed: PersonRows
    alike: tuple[Alike, ...]
    people: int
    unnamed: int
    several: bool

    @classmethod
    def of(cls, found: PersonRows) -> PersonGroups:
        """List everybody who is named."""
        many = int(found.person.max(initial=-1)) + 1
        told = [*found.ranks, *(() if found.combination is None else (found.combination,))]
        unknown = np.flatnonzero(found.person < 0)
        rows = len(found.person) if found.rows is None else int(found.rows.sum())
        amount = np.ones(len(unknown), np.int64) if found.rows is None else found.rows[unknown]
        unnamed = int(amount.sum())
        listed = found
        if len(unknown):
            known = np.flatnonzero(found.person >= 0)
            listed = PersonRows(
                found.key[known],
                found.person[known],
                tuple(ranks[known] for ranks in found.ranks),
                None if found.combination is None else found.combination[known],
            )
        alike = [
            Alike(found.key[unknown], codes[unknown], amount)
            for codes in told or [np.zeros(len(found.key), np.int32)]
        ]
        return cls(listed, tuple(alike), many + unnamed, unnamed, rows - unnamed > many)


@dataclass(frozen=True, eq=False)
class Persons:
    """Who the people of a table are.

    Attributes
    ----------
    columns
        The columns that name a person.
    people
        Number of people, those included of whom every row is suppressed.
    unnamed
        Rows without a person; each counts as a person of its own.
    of_row
        int32[rows]: number of each row's person, -1 where it is missing; None where rows are not in memory.
    """

    columns: tuple[str, ...]
    people: int
    unnamed: int
    of_row: NDArray[np.int32] | None = None

    @cached_property
    def most_rows(self) -> int | None:
        """Most rows of one person, so that many more are never of few people; None if rows are elsewhere."""
        if self.of_row is None:
            return None
        return int(np.bincount(self.of_row[self.of_row >= 0]).max(initial=1))

    def __repr__(self) -> str:
        return f"Persons({self.people:,} people by {', '.join(self.columns)})"


class Stories(NamedTuple):
    """What is told of the people whose rows are not all alike, a story an entry.

    Attributes
    ----------
    person
        int32[stories]: number of the person.
    story
        int32[stories]: number of the person with these sensitive values, below `stories`, with gaps.
    pairs
        Per sensitive attribute int32[stories]: number of the person with this value, as in `story`.
    values
        Per sensitive attribute int32[stories]: rank of the value.
    combination
        int32[stories]: which combination of all sensitive values it is; None where nobody asked.
    people
        How many numbers `person` has; it has no gaps.
    every
        int32[stories]: the place of each story.
    """

    person: NDArray[np.int32]
    story: NDArray[np.int32]
    pairs: tuple[NDArray[np.int32], ...]
    values: tuple[NDArray[np.int32], ...]
    combination: NDArray[np.int32] | None
    people: int
    every: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Spread:
    """The people whose rows are not all alike, listed under each key that they have rows of.

    An entry stands for a person, a key and one combination of sensitive values, however many rows say so.

    Attributes
    ----------
    indptr
        int64[keys + 1]: the entries of key c are ``indptr[c] .. indptr[c + 1] - 1``.
    entry
        int32[entries]: what each entry tells, as a place in `stories`.
    stories
        What is told; smaller tables that are made of this one share it.
    people
        Number of people who are listed.
    """

    indptr: NDArray[np.int64]
    entry: NDArray[np.int32]
    stories: Stories
    people: int

    def __repr__(self) -> str:
        return f"Spread({self.people:,} people, {len(self.entry):,} entries)"

    @classmethod
    def of(
        cls,
        keys: int,
        key: NDArray[np.integer],
        person: NDArray[np.integer],
        values: Sequence[NDArray[np.integer]],
        sizes: Sequence[int],
        combination: NDArray[np.integer] | None,
    ) -> Spread:
        """List distinct entries under their keys.

        Parameters
        ----------
        keys
            Number of keys.
        key, person, values, combination
            int[entries] each, in any order.
        sizes
            Number of possible values of each sensitive attribute.
        """
        from incrowd.kernels.grouping import group_members, packed, renumbered
        from incrowd.kernels.stories import number_apart

        indptr, order = group_members(key, keys)
        owner, people = renumbered(person[order], int(person.max(initial=-1)) + 1)
        ranked = tuple(ranks[order].astype(np.int32) for ranks in values)
        of_person = group_members(owner, people)
        pairs = [number_apart(*of_person, ranks) for ranks in ranked]
        story = owner
        if len(pairs) == 1:
            story = pairs[0]
        elif pairs:
            story = number_apart(*of_person, packed(ranked, sizes, len(order)))
        told = Stories(
            owner,
            story,
            tuple(pairs),
            ranked,
            None if combination is None else combination[order].astype(np.int32),
            people,
            np.arange(len(order), dtype=np.int32),
        )
        return cls(indptr, told.every, told, people)

    @property
    def most_entries(self) -> int:
        """Most entries of one person."""
        return int(np.bincount(self.people_of_keys.items).max(initial=0))

    @cached_property
    def people_of_keys(self) -> Entries:
        """The people under each key."""
        return self._entries(self.stories.person, self.stories.people)

    @cached_property
    def stories_of_keys(self) -> Entries:
        """The people with their sensitive values under each key."""
        return self._entries(self.stories.story, len(self.stories.every))

    def pairs_of_keys(self, attribute: int) -> Entries:
        """Return the people with their value of one sensitive attribute under each key."""
        pairs = self.stories.pairs[attribute]
        # Under one sensitive attribute a story is a value.
        if pairs is self.stories.story:
            return self.stories_of_keys
        return self._entries(pairs, len(self.stories.every))

    def values(self, attribute: int) -> NDArray[np.int32]:
        """Return the rank of each entry's value of a sensitive attribute: int32[entries]."""
        if attribute not in self._values:
            self._values[attribute] = self._told(self.stories.values[attribute])
        return self._values[attribute]

    @cached_property
    def _values(self) -> dict[int, NDArray[np.int32]]:
        return {}

    def told(self, attribute: int, size: int) -> tuple[Entries, NDArray[np.int32], int]:
        """Return what is counted of an attribute: people with values, values, how many there may be."""
        return self.pairs_of_keys(attribute), self.values(attribute), size

    def people_of_values(self, attribute: int, size: int) -> NDArray[np.int64]:
        """Count the people who are told to have each value of a sensitive attribute: int64[size]."""
        value = np.full(len(self.stories.every), size, np.int32)
        value[self.stories.pairs[attribute]] = self.stories.values[attribute]
        return np.bincount(value, minlength=size + 1)[:size].astype(np.int64)

    @property
    def combinations(self) -> NDArray[np.int32] | None:
        """Which combination of all sensitive values each entry has: int32[entries]; None if nobody asked."""
        told = self.stories.combination
        return None if told is None else self._told(told)

    def _entries(self, items: NDArray[np.int32], many: int) -> Entries:
        from incrowd.kernels.people import Entries

        return Entries(self.indptr, self._told(items), many)

    def _told(self, stories: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return what each entry has of what each story has; nothing is copied where all are listed."""
        return stories if self.entry is self.stories.every else stories[self.entry]

    def classes_of_entries(self, indptr: NDArray[np.int64], members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the class of each entry, given the keys of each class: int64[entries], -1 for none."""
        class_of_key = np.full(len(self.indptr) - 1, -1, np.int64)
        class_of_key[members] = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        return np.repeat(class_of_key, np.diff(self.indptr))

    @property
    def size(self) -> int:
        """Bytes in use beyond what tables share, and what is looked up and kept when it is asked for."""
        kept = 2 + len(self.stories.values)
        return self.indptr.nbytes + kept * self.entry.nbytes

    def rolled(self, indptr: NDArray[np.int64], members: NDArray[np.int64]) -> Spread:
        """Return the list with a key for each class of keys; keys in no class are left out.

        Parameters
        ----------
        indptr, members
            int64[classes + 1] and int64[...]: the keys of each class.
        """
        from incrowd.kernels.people import distinct_entries

        ends, entry = distinct_entries(indptr, members, self.stories_of_keys, self.entry)
        people = self.people
        if len(members) < len(self.indptr) - 1:
            there = np.zeros(self.stories.people, np.bool_)
            there[self.stories.person[entry]] = True
            people = int(np.count_nonzero(there))
        return replace(self, indptr=ends, entry=entry, people=people)


class Histories(NamedTuple):
    """The classes that each of some people has rows in.

    Attributes
    ----------
    people
        int64[people]: their numbers, ascending; see `Spread`.
    indptr
        int64[people + 1]
    classes
        int64[...]: the classes of the person at place p are ``classes[indptr[p]:indptr[p + 1]]``, ascending.
    """

    people: NDArray[np.int64]
    indptr: NDArray[np.int64]
    classes: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many classes each person has rows in: int64[people]."""
        return np.diff(self.indptr)

    def __repr__(self) -> str:
        return f"Histories({len(self.people):,} people)"
