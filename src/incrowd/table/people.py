"""People and their rows: who has several, and what is listed of them under each key.

Somebody whose rows are all alike (one key, the same sensitive values) counts as one record would. So only
people with unlike rows need a list. In a table with one row a person the list is empty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.kernels.people import Entries

__all__ = ["PersonRows", "Persons", "Spread"]


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

    def __repr__(self) -> str:
        return f"Persons({self.people:,} people by {', '.join(self.columns)})"


@dataclass(frozen=True, eq=False)
class Spread:
    """The people whose rows are not all alike, listed under each key that they have rows of.

    An entry stands for a person, a key and one combination of sensitive values, however many rows say so.

    Attributes
    ----------
    indptr
        int64[keys + 1]: the entries of key c are ``indptr[c] .. indptr[c + 1] - 1``.
    person
        int32[entries]: number of the person.
    story
        int32[entries]: number of the person with these sensitive values.
    pairs
        Per sensitive attribute int32[entries]: number of the person with this value.
    values
        Per sensitive attribute int32[entries]: rank of the value.
    combination
        int32[entries]: which combination of all sensitive values it is; None where nobody asked.
    many
        How many numbers `person`, `story` and each of the `pairs` may have.
    people
        Number of people who are listed.
    """

    indptr: NDArray[np.int64]
    person: NDArray[np.int32]
    story: NDArray[np.int32]
    pairs: tuple[NDArray[np.int32], ...]
    values: tuple[NDArray[np.int32], ...]
    combination: NDArray[np.int32] | None
    many: tuple[int, ...]
    people: int

    def __repr__(self) -> str:
        return f"Spread({self.people:,} people, {len(self.person):,} entries)"

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
        from incrowd.kernels.grouping import group_columns, group_members

        indptr, order = group_members(key, keys)
        distinct, person = np.unique(person[order], return_inverse=True)
        ranked = tuple(ranks[order].astype(np.int32) for ranks in values)
        entries, people = len(order), len(distinct)
        pairs, many = [], [people, people]
        for ranks, size in zip(ranked, sizes, strict=True):
            numbers, first = group_columns([person, ranks], [people, size], entries)
            pairs.append(numbers)
            many.append(len(first))
        story = person.astype(np.int32)
        if len(pairs) == 1:
            story = pairs[0]
        elif pairs:
            story, first = group_columns([person, *ranked], [people, *sizes], entries)
            many[1] = len(first)
        if len(pairs) == 1:
            many[1] = many[2]
        return cls(
            indptr,
            person.astype(np.int32),
            story,
            tuple(pairs),
            ranked,
            None if combination is None else combination[order].astype(np.int32),
            tuple(many),
            people,
        )

    @property
    def people_of_keys(self) -> Entries:
        """The people under each key."""
        return self._entries(self.person, self.many[0])

    @property
    def stories_of_keys(self) -> Entries:
        """The people with their sensitive values under each key."""
        return self._entries(self.story, self.many[1])

    def pairs_of_keys(self, attribute: int) -> Entries:
        """Return the people with their value of one sensitive attribute under each key."""
        return self._entries(self.pairs[attribute], self.many[2 + attribute])

    def _entries(self, items: NDArray[np.int32], many: int) -> Entries:
        from incrowd.kernels.people import Entries

        return Entries(self.indptr, items, many)

    @property
    def size(self) -> int:
        """Bytes in use."""
        entries = [self.person, self.story, *self.pairs, *self.values]
        return self.indptr.nbytes + sum(array.nbytes for array in entries)

    def rolled(self, indptr: NDArray[np.int64], members: NDArray[np.int64]) -> Spread:
        """Return the list with a key for each class of keys; keys in no class are left out.

        Parameters
        ----------
        indptr, members
            int64[classes + 1] and int64[...]: the keys of each class.
        """
        from incrowd.kernels.people import first_entries

        lengths = np.diff(self.indptr)[members]
        starts = np.cumsum(lengths) - lengths
        entries = np.arange(int(lengths.sum())) + np.repeat(self.indptr[members] - starts, lengths)
        first, found = first_entries(indptr, members, self.stories_of_keys)
        kept = entries[first[entries]]
        person = self.person[kept]
        there = np.zeros(self.many[0], np.bool_)
        there[person] = True
        return replace(
            self,
            indptr=np.concatenate(([0], np.cumsum(found))).astype(np.int64),
            person=person,
            story=self.story[kept],
            pairs=tuple(numbers[kept] for numbers in self.pairs),
            values=tuple(ranks[kept] for ranks in self.values),
            combination=None if self.combination is None else self.combination[kept],
            people=int(np.count_nonzero(there)),
        )
