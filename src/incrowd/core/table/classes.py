"""EquivalenceClasses: keys with the same released cells, in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.class_counts import ClassCounts
from incrowd.core.table.frequency import FrequencyTable, People
from incrowd.core.table.people import ListedPeople
from incrowd.core.table.sensitive import JointCounts


class Singles(NamedTuple):
    """Records that count alone, by a sensitive attribute.

    Attributes
    ----------
    alone
        bool[classes]: the classes of which each record counts alone.
    classes
        A class of one record for each value that occurs in one of those; their frequency table has the one
        attribute, at position 0.
    first
        int64[alone classes]: the first of `classes` for each of them; they stand together.
    """

    alone: NDArray[np.bool_]
    classes: EquivalenceClasses
    first: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Singles({len(self.classes):,} classes)"


class EquivalenceClasses(ClassCounts):
    """The equivalence classes of a table under a recoding, with cells and figures.

    Parameters
    ----------
    frequency, indptr, members
        The keys, and those of each class; see `ClassCounts`.

    Attributes
    ----------
    codes
        Per quasi-identifier the code of each class's cell, uint[classes]; None where the cells are not
        decided yet, as while a search assigns keys to classes.
    code_sizes
        Number of cells per quasi-identifier, where `codes` is there.
    names
        The quasi-identifiers, in the order of `codes`.
    known
        Positions of the quasi-identifiers in which the keys of a class agree, where they do so in some alone;
        see `subset_groups`.
    rows
        The same classes with their records, where these are of people; else None.

    Notes
    -----
    Where people may have several rows, `counted` has the same classes with their people: sizes and counts are
    of distinct people. Models and risks look at those. Losses and limits of suppression look at records.
    """

    def __init__(
        self, frequency: FrequencyTable, indptr: NDArray[np.int64], members: NDArray[np.int64]
    ) -> None:
        super().__init__(frequency, indptr, members)
        self.codes: tuple[NDArray[np.unsignedinteger], ...] | None = None
        self.code_sizes: tuple[int, ...] = ()
        self.names = tuple(domain.name for domain in frequency.domains)
        self.known: tuple[int, ...] | None = None
        self.rows: EquivalenceClasses | None = None

    @classmethod
    def of_keys(cls, frequency: FrequencyTable) -> EquivalenceClasses:
        """Return the classes of a table without recoding, where every key is a class."""
        each = np.arange(frequency.keys + 1, dtype=np.int64)
        classes = cls(frequency, each, each[:-1])
        if frequency.people.listed is None:
            classes._counts = {j: counts.keys for j, counts in enumerate(frequency.sensitive)}
        classes.set_codes(frequency.codes, [domain.size for domain in frequency.domains])
        return classes

    @classmethod
    def from_codes(
        cls,
        frequency: FrequencyTable,
        codes: Sequence[NDArray[np.unsignedinteger]],
        sizes: Sequence[int],
        suppressed: NDArray[np.bool_] | None = None,
    ) -> EquivalenceClasses:
        """Group keys that have the same released codes.

        Parameters
        ----------
        codes, sizes
            Per quasi-identifier the released code of each key, uint[keys], and the number of codes.
        suppressed
            bool[keys]: keys that are in no class.
        """
        from incrowd.core.kernels.grouping.grouping import group_columns

        ids, first = group_columns(codes, sizes, frequency.keys)
        if suppressed is not None and suppressed.any():
            # Number only the classes that have a kept key.
            used, numbers = np.unique(ids[~suppressed], return_inverse=True)
            ids = np.full(frequency.keys, -1, np.int32)
            ids[~suppressed] = numbers
            first = first[used]
        classes = cls.from_assignment(frequency, ids, len(first))
        classes.set_codes([column[first] for column in codes], sizes)
        return classes

    def set_codes(self, codes: Sequence[NDArray[np.unsignedinteger]], sizes: Sequence[int]) -> None:
        """Set the cell of each class in each quasi-identifier (see `codes`).

        Parameters
        ----------
        sizes
            Number of cells per quasi-identifier.
        """
        self.codes = tuple(codes)
        self.code_sizes = tuple(sizes)

    def __repr__(self) -> str:
        return f"EquivalenceClasses({len(self)} classes, {self.records} records)"

    @cached_property
    def counted(self) -> EquivalenceClasses:
        """The classes as counted by models: with people where a column names people."""
        table = self.frequency.counted
        if table is self.frequency:
            return self
        classes = EquivalenceClasses(table, self.indptr, self.members)
        classes.codes, classes.code_sizes, classes.names = self.codes, self.code_sizes, self.names
        classes._people = self._people
        classes.rows = self
        return classes

    @property
    def own(self) -> EquivalenceClasses:
        """The classes by cells alone, which is `self` unless cells match others (see `WildcardClasses`)."""
        return self

    def only(self, mask: NDArray[np.bool_]) -> EquivalenceClasses:
        """Return some of the classes with cells and people, and suppress the keys of the others.

        Parameters
        ----------
        mask
            bool[classes]
        """
        lengths = np.diff(self.indptr)
        indptr = np.concatenate(([0], np.cumsum(lengths[mask])))
        subset = EquivalenceClasses(self.frequency, indptr, self.members[np.repeat(mask, lengths)])
        if self.codes is not None:
            subset.set_codes([codes[mask] for codes in self.codes], self.code_sizes)
            subset.names = self.names
        if self._people is not None:
            covered, outside = self._people
            subset.set_population(covered[mask], outside + int(covered[~mask].sum()))
        return subset

    def joined(self, attribute: int) -> tuple[EquivalenceClasses, NDArray[np.int64]]:
        """Split the classes further by the values of all other sensitive attributes.

        Returns
        -------
        parts
            Classes whose frequency table has the one attribute, at position 0.
        first
            int64[classes]: the first part of each class; the parts of a class stand together.

        Raises
        ------
        ParameterError
            When the combinations of sensitive values were not counted.
        """
        table, part_of, first = _split_by_others(self.frequency, (self.indptr, self.members), attribute)
        parts = int(part_of.max(initial=-1)) + 1
        return EquivalenceClasses.from_assignment(table, part_of, parts), first

    def smallest(self, candidates: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Return at most `most` of some classes: the smallest, with ties in the order of the cells.

        Only for classes that are one key each, as those of a table as it stands, or groups of such.
        """
        keys = self.members[self.indptr[:-1]]
        places = range(len(self.frequency.codes)) if self.known is None else self.known
        columns: list[Any] = [self.sizes.take]
        columns += [lambda some, codes=self.frequency.codes[j]: codes[keys[some]] for j in places]
        first = [candidates]
        for column in columns:
            # A table of unique records has many ties: only those at the cut need another look.
            ties = first.pop()
            need = most - sum(map(len, first))
            if len(ties) > need:
                values = column(ties)
                cut = values.min()
                # np.partition takes ten times as long as a count where many numbers are equal.
                if np.count_nonzero(values == cut) < need:
                    cut = np.partition(values, need - 1)[need - 1]
                first.append(ties[values < cut])
                ties = ties[values == cut]
            first.append(ties)
        chosen = np.concatenate(first)
        order = np.lexsort([column(chosen) for column in reversed(columns)])[:most]
        return np.asarray(chosen[order], np.int64)

    def as_keys(self) -> FrequencyTable:
        """Return the classes as the keys of a smaller table, with all that models read except cells."""
        from incrowd.core.kernels.grouping.counting import class_counts, class_sums

        frequency, where = self.frequency, (self.indptr, self.members)
        joint = population = None
        if frequency.joint is not None:
            combinations = len(frequency.joint.codes[0])
            joint = replace(frequency.joint, keys=class_counts(*where, frequency.joint.keys, combinations))
        if frequency.population is not None:
            population = replace(frequency.population, covered=self._covered, people=None)
        # Some people are listed, so counts per class would have them twice.
        listed = frequency.people.listed
        counts = [
            self.counts(j) if listed is None else class_counts(*where, sensitive.keys, sensitive.domain.size)
            for j, sensitive in enumerate(frequency.sensitive)
        ]
        return FrequencyTable(
            (),
            (),
            self.sizes if listed is None else class_sums(*where, frequency.weights),
            tuple(
                replace(sensitive, keys=keys, rows=None)
                for sensitive, keys in zip(frequency.sensitive, counts, strict=True)
            ),
            frequency.suppressed,
            joint=joint,
            population=population,
            people=People(
                table=None if frequency.people.table is None else self.counted.as_keys(),
                listed=None if listed is None else listed.rolled(*where),
            ),
        )

    def with_people(self, table: FrequencyTable) -> FrequencyTable:
        """Return a table with the classes as keys and with the people of the classes.

        Parameters
        ----------
        table
            As many keys as classes, in the same order, with records of the same people.
        """
        people = self.frequency.people
        if people.table is None:
            return replace(table, people=people)
        people_table = self.counted.as_keys()
        suppressed = people.number - people_table.records
        people_table = replace(people_table, domains=table.domains, codes=table.codes, suppressed=suppressed)
        return replace(table, people=replace(people, of_row=None, table=people_table))

    def cells(self, number: int) -> dict[str, str | None]:
        """Return the cell of a class of a single key in each quasi-identifier (each of the `known`)."""
        frequency = self.frequency
        key = int(self.members[self.indptr[number]])
        places = range(len(frequency.domains)) if self.known is None else self.known
        return {
            domain.name: domain.written([domain.values[int(frequency.codes[j][key])]])[0]
            for j, domain in ((j, frequency.domains[j]) for j in places)
        }

    def subset_groups(self, subset: Sequence[int]) -> tuple[NDArray[np.int32], EquivalenceClasses]:
        """Merge the classes with the same cells in some of the quasi-identifiers.

        Parameters
        ----------
        subset
            Positions of quasi-identifiers.

        Returns
        -------
        group
            int32[classes]: the merged class of each class.
        merged
        """
        from incrowd.core.kernels.grouping.grouping import group_columns

        assert self.codes is not None
        group, first = group_columns(
            [self.codes[j] for j in subset], [self.code_sizes[j] for j in subset], len(self)
        )
        of_key = np.full(self.frequency.keys, -1, np.int32)
        of_key[self.members] = np.repeat(group, np.diff(self.indptr))
        merged = EquivalenceClasses.from_assignment(self.frequency, of_key, len(first))
        if len(self.members) == len(self) and self.frequency.domains:
            merged.known = tuple(subset)
        if self.rows is not None:
            merged.rows = EquivalenceClasses(self.rows.frequency, merged.indptr, merged.members)
        return group, merged

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Classes of which each record counts alone, none unless cells match nothing: bool[classes]."""
        return np.zeros(len(self), np.bool_)

    def matched_sums(self, amounts: NDArray[Any]) -> NDArray[Any]:
        """Add up an amount over all classes that each class matches, others only where cells match others."""
        return amounts

    def have_values(self, attribute: int, least: int) -> NDArray[np.bool_]:
        """Say which classes have `least` sensitive values, counting no further: bool[classes]."""
        from incrowd.core.kernels.jit import so_few
        from incrowd.core.kernels.people.people import Entries, classes_that_reach

        if self.own is not self or attribute in self._counts or so_few(len(self.members)):
            return np.diff(self.counts(attribute).indptr) >= least
        sensitive, nobody = self.frequency.sensitive[attribute], np.zeros(self.frequency.keys, np.int64)
        values = Entries(sensitive.keys.indptr, sensitive.keys.codes, sensitive.domain.size)
        return classes_that_reach(self.indptr, self.members, nobody, values, least)

    def singles(self, attribute: int) -> Singles | None:
        """Return records that count alone although the class has more (see `WildcardClasses`)."""
        return None


Where = tuple[NDArray[np.int64], NDArray[np.int64]]


def _split_by_others(
    frequency: FrequencyTable, where: Where, attribute: int
) -> tuple[FrequencyTable, NDArray[np.int32], NDArray[np.int64]]:
    """Build a key for each combination of sensitive values in each class, grouped into parts.

    Parameters
    ----------
    where
        The keys of each class: int64[classes + 1] and int64[...].
    attribute
        Position of the sensitive attribute by which the classes are not split.

    Returns
    -------
    table
        It has the one attribute, at position 0.
    part_of
        int32[keys of the table]: the part that each is in.
    first
        int64[classes]: the first part of each class; the parts of a class stand together.

    Raises
    ------
    ParameterError
        When the combinations of sensitive values were not counted.
    """
    from incrowd.core.kernels.grouping.grouping import group_columns

    joint, classes = frequency.joint, len(where[0]) - 1
    if joint is None:
        raise ParameterError("the sensitive attributes' combinations were not counted; count with joint=True")
    others = [j for j in range(len(frequency.sensitive)) if j != attribute]
    sizes = [frequency.sensitive[j].domain.size for j in others]
    context, contexts = group_columns([joint.codes[j] for j in others], sizes, len(joint.codes[0]))
    table, class_of, combination = _by_combination(frequency, joint, where, attribute)
    part_of, start = group_columns([class_of, context[combination]], [classes, len(contexts)], len(class_of))
    return table, part_of, np.searchsorted(class_of[start], np.arange(classes))


def _by_combination(
    frequency: FrequencyTable, joint: JointCounts, where: Where, attribute: int
) -> tuple[FrequencyTable, NDArray[np.int64], NDArray[np.int32]]:
    """Build a key for each combination of sensitive values in each class: table, class, combination."""
    from incrowd.core.kernels.grouping.counting import Counts, class_counts
    from incrowd.core.kernels.people.people import add_distinct, first_entries

    listed, classes = frequency.people.listed, np.arange(len(where[0]) - 1, dtype=np.int64)
    sensitive, many = frequency.sensitive[attribute], len(joint.codes[0])
    alike = counts = class_counts(*where, joint.keys, many)
    combinations = None if listed is None else listed.listed_combinations
    if listed is not None and combinations is not None:
        counts = add_distinct(*where, joint.keys, listed.combinations_of_keys, combinations, many)
    class_of = np.repeat(classes, np.diff(counts.indptr))
    values = joint.codes[attribute]

    def table(weights: NDArray[np.int64], entries: ListedPeople | None) -> FrequencyTable:
        occurs = weights > 0
        each = np.concatenate(([0], np.cumsum(occurs))).astype(np.int64)
        single = Counts(each, values[counts.codes[occurs]], weights[occurs])
        of_value = replace(sensitive, keys=single, rows=None)
        return FrequencyTable((), (), weights, (of_value,), people=People(listed=entries))

    if listed is None or combinations is None:
        return table(counts.counts, None), class_of, counts.codes
    pair = class_of * many + counts.codes
    owner = np.repeat(classes, np.diff(alike.indptr))
    weights = np.zeros(len(pair), np.int64)
    weights[np.searchsorted(pair, owner * many + alike.codes)] = alike.counts
    first, _ = first_entries(*where, listed.combinations_of_keys)
    combination = combinations[first]
    key = np.searchsorted(pair, listed.classes_of_entries(*where)[first] * many + combination)
    entries = ListedPeople.of_entries(
        len(pair),
        key,
        listed.people_of_keys.items[first],
        [values[combination]],
        [sensitive.domain.size],
        None,
    )
    return table(weights, entries), class_of, counts.codes
