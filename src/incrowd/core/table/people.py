"""People with several rows, and lists of people under each key.

Somebody whose rows are all alike (one key, the same sensitive values) counts as one record would. So only
people with unlike rows need a list. In a table with one row a person the list is empty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.lazy import NDArray, np
from incrowd.core.table.sensitive import JointCounts, SensitiveCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from incrowd.core.kernels.grouping.counting import Counts
    from incrowd.core.kernels.people.people import Entries
    from incrowd.core.kernels.people.person_rows import DistinctRows


class PersonRows(NamedTuple):
    """Rows of a table, or groups of equal rows, with the person of each.

    Attributes
    ----------
    key
        int[n]: key of each row in the frequency table, -1 for a suppressed one.
    person
        int[n]: number of each row's person, from 0 without gaps; -1 where the person is missing. Each such
        row is a person of its own. People whose rows are all alike may stand as such a row, without a number.
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

    @property
    def amount(self) -> NDArray[np.int64]:
        """Number of rows that each group stands for: int64[n]."""
        return np.ones(len(self.key), np.int64) if self.rows is None else self.rows

    def parted(self) -> tuple[PersonRows, list[PersonRows]]:
        """Split the rows with a person from the others, and list the others for `count_people`."""
        has_person = self.person >= 0
        listed = self if has_person.all() else self._pick(np.flatnonzero(has_person))
        others = self._pick(np.flatnonzero(~has_person))
        lists = [others._replace(ranks=(ranks,)) for ranks in others.ranks] or [others]
        return listed, lists if others.combination is None else [*lists, others]

    def _pick(self, chosen: NDArray[np.int64]) -> PersonRows:
        return PersonRows(
            self.key[chosen],
            self.person[chosen],
            tuple(ranks[chosen] for ranks in self.ranks),
            None if self.combination is None else self.combination[chosen],
            None if self.rows is None else self.rows[chosen],
        )


@dataclass(frozen=True, eq=False)
class ListedPeople:
    """People with unlike rows, listed under each key of a row.

    An entry stands for a person, a key and one combination of sensitive values, however many rows say so.
    Smaller tables that are made of a table share its entries, and list other ones of them under their keys.

    Attributes
    ----------
    indptr
        int64[keys + 1]: key c has the listed entries ``indptr[c] .. indptr[c + 1] - 1``.
    entry
        int32[listed]: the number of each entry that is listed.
    people
        Number of people who are listed.
    every
        int32[entries]: the numbers of all entries.
    person
        int32[entries]: number of the person.
    numbers
        How many numbers `person` has; it has no gaps.
    values
        Per sensitive attribute int32[entries]: rank of the value.
    combination
        int32[entries]: which combination of all sensitive values it is; None where nobody asked.
    person_values
        Per sensitive attribute int32[entries]: number of the person with this value, with gaps.
    person_combinations
        int32[entries]: number of the person with these sensitive values, with gaps.
    """

    indptr: NDArray[np.int64]
    entry: NDArray[np.int32]
    people: int
    every: NDArray[np.int32]
    person: NDArray[np.int32]
    numbers: int
    values: tuple[NDArray[np.int32], ...]
    combination: NDArray[np.int32] | None
    person_values: tuple[NDArray[np.int32], ...]
    person_combinations: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"ListedPeople({self.people:,} people, {len(self.entry):,} entries)"

    @classmethod
    def of_entries(
        cls,
        keys: int,
        key: NDArray[np.integer],
        person: NDArray[np.integer],
        values: Sequence[NDArray[np.integer]],
        sizes: Sequence[int],
        combination: NDArray[np.integer] | None,
    ) -> ListedPeople:
        """List distinct entries by key.

        Parameters
        ----------
        keys
            Number of keys.
        key, person, values, combination
            int[entries] each, in any order.
        sizes
            Number of possible values of each sensitive attribute.
        """
        from incrowd.core.kernels.grouping.grouping import group_members, group_numbers, packed
        from incrowd.core.kernels.people.person_rows import number_items

        indptr, order = group_members(key, keys)
        owner, first = group_numbers(person[order])
        people = len(first)
        ranked = tuple(ranks[order].astype(np.int32) for ranks in values)
        of_person = group_members(owner, people)
        pairs = tuple(number_items(*of_person, ranks) for ranks in ranked)
        if len(pairs) > 1:
            combined = number_items(*of_person, packed(ranked, sizes, len(order)))
        else:
            combined = pairs[0] if pairs else owner
        every = np.arange(len(order), dtype=np.int32)
        joint = None if combination is None else combination[order].astype(np.int32)
        return cls(indptr, every, people, every, owner, people, ranked, joint, pairs, combined)

    @property
    def most_entries(self) -> int:
        """Most entries of a person."""
        return int(np.bincount(self.people_of_keys.items).max(initial=0))

    @cached_property
    def people_of_keys(self) -> Entries:
        """The people under each key."""
        return self._entries(self.person, self.numbers)

    @cached_property
    def combinations_of_keys(self) -> Entries:
        """The people with all sensitive values under each key."""
        return self._entries(self.person_combinations, len(self.every))

    def values_of_keys(self, attribute: int) -> Entries:
        """Return the people with the value of a sensitive attribute under each key."""
        pairs = self.person_values[attribute]
        # Under one sensitive attribute a combination is a value.
        if pairs is self.person_combinations:
            return self.combinations_of_keys
        return self._entries(pairs, len(self.every))

    def listed_values(self, attribute: int) -> NDArray[np.int32]:
        """Return the rank of each listed entry's value of a sensitive attribute: int32[listed]."""
        if attribute not in self._listed_values:
            self._listed_values[attribute] = self._pick_listed(self.values[attribute])
        return self._listed_values[attribute]

    @cached_property
    def _listed_values(self) -> dict[int, NDArray[np.int32]]:
        return {}

    def counted(self, attribute: int, size: int) -> tuple[Entries, NDArray[np.int32], int]:
        """Return an attribute's counts: people with values, values, and the number of possible values."""
        return self.values_of_keys(attribute), self.listed_values(attribute), size

    def people_of_values(self, attribute: int, size: int) -> NDArray[np.int64]:
        """Count the people with each value of a sensitive attribute: int64[size]."""
        value = np.full(len(self.every), size, np.int32)
        value[self.person_values[attribute]] = self.values[attribute]
        return np.bincount(value, minlength=size + 1)[:size].astype(np.int64)

    @property
    def listed_combinations(self) -> NDArray[np.int32] | None:
        """The combination of values of each listed entry: int32[listed], or None if not counted."""
        return None if self.combination is None else self._pick_listed(self.combination)

    def _entries(self, items: NDArray[np.int32], many: int) -> Entries:
        from incrowd.core.kernels.people.people import Entries

        return Entries(self.indptr, self._pick_listed(items), many)

    def _pick_listed(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the value of each listed entry, without a copy if all entries are listed."""
        return values if self.entry is self.every else values[self.entry]

    def classes_of_entries(self, indptr: NDArray[np.int64], members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the class of each listed entry, given the keys of each class: int64[listed], -1 for none."""
        class_of_key = np.full(len(self.indptr) - 1, -1, np.int64)
        class_of_key[members] = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        return np.repeat(class_of_key, np.diff(self.indptr))

    @property
    def size(self) -> int:
        """Bytes in use beyond the arrays that tables share, and the caches."""
        arrays = 2 + len(self.values)
        return self.indptr.nbytes + arrays * self.entry.nbytes

    def rolled(self, indptr: NDArray[np.int64], members: NDArray[np.int64]) -> ListedPeople:
        """Return the list with a key for each class of keys, without keys outside all classes.

        Parameters
        ----------
        indptr, members
            int64[classes + 1] and int64[...]: the keys of each class.
        """
        from incrowd.core.kernels.people.people import distinct_entries

        ends, entry = distinct_entries(indptr, members, self.combinations_of_keys, self.entry)
        people = self.people
        if len(members) < len(self.indptr) - 1:
            present = np.zeros(self.numbers, np.bool_)
            present[self.person[entry]] = True
            people = int(np.count_nonzero(present))
        return replace(self, indptr=ends, entry=entry, people=people)


def count_people(
    keys: int,
    sensitive: Sequence[SensitiveCounts],
    joint: JointCounts | None,
    number: int,
    listed: PersonRows,
    others: Sequence[PersonRows],
) -> tuple[NDArray[np.int64], tuple[SensitiveCounts, ...], JointCounts | None, ListedPeople]:
    """Count people instead of records.

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
    from incrowd.core.kernels.jit import at_once

    sizes = [before.domain.size for before in sensitive]
    joint = None if listed.combination is None else joint
    rows = _distinct(listed, keys, sizes)
    unlike = rows.unlike
    attributes = [
        (ranks, rest, rest.ranks[0], size)
        for ranks, rest, size in zip(listed.ranks, others, sizes, strict=False)
    ]
    if joint is not None and listed.combination is not None:
        rest = others[len(sizes)]
        assert rest.combination is not None
        attributes.append((listed.combination, rest, rest.combination, len(joint.codes[0])))
    entries, weights, *per_key = at_once(
        len(listed.key),
        lambda: ListedPeople.of_entries(
            keys,
            listed.key[unlike],
            listed.person[unlike],
            [ranks[unlike] for ranks in listed.ranks],
            sizes,
            None if listed.combination is None else listed.combination[unlike],
        ),
        partial(_weights, listed.key[rows.alone], others[0], keys),
        *(partial(_counts_alone, listed.key, rows.alone, keys, *each) for each in attributes),
    )
    counts = []
    for j, before in enumerate(sensitive):
        ranks, rest, codes, size = attributes[j]
        # Who has a suppressed row may have a value there alone.
        totals = (
            np.bincount(ranks[rows.alone], minlength=size) + entries.people_of_values(j, size)
            if not rows.nowhere
            else _people_of_values(listed.person, ranks, size)
        )
        same, by_number = before.domain.same_number, None
        if same is not None:
            merged = _people_of_values(listed.person, same[ranks], size)
            by_number = (merged + _sums(same[codes], rest, size))[same]
        amounts = _sums(codes, rest, size)
        by_part = None
        if (parts := before.domain.parts) is not None:
            origin, part_codes = parts.spread(ranks)
            by_part = _people_of_values(listed.person[origin], part_codes, len(parts.names)) + parts.totals(
                amounts
            )
        counts.append(
            SensitiveCounts(before.domain, per_key[j], totals + amounts, None, number, by_number, by_part)
        )
    combined = None if joint is None else JointCounts(joint.codes, per_key[-1])
    return weights, tuple(counts), combined, entries


def _weights(alone: NDArray[np.integer], others: PersonRows, keys: int) -> NDArray[np.int64]:
    """Count the people of each key with rows that are all alike: int64[keys]."""
    weights = np.bincount(alone[alone >= 0], minlength=keys).astype(np.int64)
    if len(others.key):
        live = others.key >= 0
        weights += np.bincount(others.key[live], others.amount[live], keys).astype(np.int64)
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
    """Count the codes of people with rows that are all alike, under each key."""
    from incrowd.core.kernels.grouping.counting import counts_per_key, row_counts
    from incrowd.core.kernels.grouping.grouping import group_members

    if not len(others.key):
        return row_counts(*group_members(keys_of_rows[alone], keys), codes[alone], size)
    key = np.concatenate((keys_of_rows[alone], others.key))
    values = np.concatenate((codes[alone], their_codes)).astype(np.int32)
    amount = np.concatenate((np.ones(len(alone), np.int64), others.amount))
    return counts_per_key(key, values, amount, keys, size)


def _distinct(person_rows: PersonRows, keys: int, sizes: Sequence[int]) -> DistinctRows:
    """Find the distinct rows of each person: keys and combinations of sensitive values."""
    from incrowd.core.kernels.grouping.grouping import group_members, packed
    from incrowd.core.kernels.jit import at_once
    from incrowd.core.kernels.people.person_rows import distinct_rows

    rows = len(person_rows.person)
    many = int(person_rows.person.max(initial=-1)) + 1
    (indptr, members), words = at_once(
        rows,
        lambda: group_members(person_rows.person, many),
        lambda: packed([person_rows.key + 1, *person_rows.ranks], [keys + 1, *sizes], rows),
    )
    return distinct_rows(indptr, members, words, person_rows.key)


def _people_of_values(
    person: NDArray[np.integer], ranks: NDArray[np.integer], size: int
) -> NDArray[np.int64]:
    """Count the people with each value: int64[size]."""
    from incrowd.core.kernels.grouping.grouping import group_members
    from incrowd.core.kernels.people.person_rows import first_items

    grouped = group_members(person, int(person.max(initial=-1)) + 1)
    return np.bincount(ranks[first_items(*grouped, ranks)], minlength=size).astype(np.int64)


def _sums(codes: NDArray[np.integer], others: PersonRows, size: int) -> NDArray[np.int64]:
    return np.bincount(codes, others.amount, size).astype(np.int64)
