"""EquivalenceClasses: keys with the same released cells, in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import ParameterError, setting
from incrowd.table.frequency import FrequencyTable, PopulationCounts
from incrowd.table.joint import split_by_others
from incrowd.table.people import Histories
from incrowd.table.quasi_values import QuasiValues
from incrowd.table.survey import UNIT

if TYPE_CHECKING:
    from incrowd.kernels.counting import Counts

__all__ = ["EquivalenceClasses", "Singles"]


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


class EquivalenceClasses:
    """The equivalence classes of a table under some recoding.

    Parameters
    ----------
    frequency
        The keys.
    indptr, members
        int64[classes + 1] and int64[...]: the keys of each class; a key that is in none is suppressed.

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
    Counts per class are made when first asked for. With nearly unique keys they are as long as the data.

    Where people may have several rows, `counted` has the same classes with their people: sizes and counts are
    of distinct people. Models and risks look at those. Losses and limits of suppression look at records.
    """

    def __init__(
        self, frequency: FrequencyTable, indptr: NDArray[np.int64], members: NDArray[np.int64]
    ) -> None:
        self.frequency = frequency
        self.indptr = indptr
        self.members = members
        self.codes: tuple[NDArray[np.unsignedinteger], ...] | None = None
        self.code_sizes: tuple[int, ...] = ()
        self.names = tuple(domain.name for domain in frequency.domains)
        self.known: tuple[int, ...] | None = None
        self.rows: EquivalenceClasses | None = None
        self._people: tuple[NDArray[np.int64], int] | None = None
        self._counts: dict[int, Counts] = {}
        self._occurrences: dict[int, NDArray[np.int64]] = {}
        self._quasi: dict[int, QuasiValues] = {}
        self._effective: dict[int, NDArray[np.float64]] = {}

    @classmethod
    def of_keys(cls, frequency: FrequencyTable) -> EquivalenceClasses:
        """Every key is a class: the table as it stands."""
        each = np.arange(frequency.keys + 1, dtype=np.int64)
        classes = cls(frequency, each, each[:-1])
        if frequency.spread is None:
            classes._counts = {j: counts.keys for j, counts in enumerate(frequency.sensitive)}
        classes.set_codes(frequency.codes, [domain.size for domain in frequency.domains])
        return classes

    @classmethod
    def from_assignment(
        cls, frequency: FrequencyTable, class_of_key: NDArray[np.integer], classes: int
    ) -> EquivalenceClasses:
        """Group keys by a class number each: int[keys], -1 for a suppressed key."""
        from incrowd.kernels.grouping import group_members

        return cls(frequency, *group_members(class_of_key, classes))

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
        from incrowd.kernels.grouping import group_columns

        ids, first = group_columns(codes, sizes, frequency.keys)
        if suppressed is not None and suppressed.any():
            # Number only the classes that have a kept key.
            kept, numbers = np.unique(ids[~suppressed], return_inverse=True)
            ids = np.full(frequency.keys, -1, np.int32)
            ids[~suppressed] = numbers
            first = first[kept]
        classes = cls.from_assignment(frequency, ids, len(first))
        classes.set_codes([column[first] for column in codes], sizes)
        return classes

    def set_codes(self, codes: Sequence[NDArray[np.unsignedinteger]], sizes: Sequence[int]) -> None:
        """Say which cell each class has in each quasi-identifier; see `codes`.

        Parameters
        ----------
        sizes
            Number of cells per quasi-identifier.
        """
        self.codes = tuple(codes)
        self.code_sizes = tuple(sizes)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __repr__(self) -> str:
        return f"EquivalenceClasses({len(self)} classes, {self.records} records)"

    @cached_property
    def counted(self) -> EquivalenceClasses:
        """The classes as models see them: with people where people count, else themselves."""
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
        """The classes by their cells alone: themselves, unless cells match others; see `WildcardClasses`."""
        return self

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Records of each class, or its people: int64[classes]."""
        from incrowd.kernels.counting import class_sums

        sums = class_sums(self.indptr, self.members, self.frequency.weights)
        return sums if self.frequency.spread is None else sums + self._met[1]

    def reach(self, least: int) -> NDArray[np.bool_]:
        """Say which classes have at least so many records, or people: bool[classes]."""
        from incrowd.kernels.people import classes_that_reach

        spread = self.frequency.spread
        if spread is None or "sizes" in self.__dict__:
            return self.sizes >= least
        where = self.indptr, self.members
        return classes_that_reach(*where, self.frequency.weights, spread.people_of_keys, least)

    @cached_property
    def _met(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which entries of the spread people are the first in their class, and how many in each class."""
        from incrowd.kernels.people import first_entries

        assert self.frequency.spread is not None
        return first_entries(self.indptr, self.members, self.frequency.spread.people_of_keys)

    @cached_property
    def alike(self) -> NDArray[np.int64]:
        """People of each class whose rows are all alike: int64[classes]."""
        return self.sizes if self.frequency.spread is None else self.sizes - self._met[1]

    def histories(self) -> Histories:
        """List the classes that each of the other people has rows in."""
        from incrowd.kernels.grouping import group_members

        spread = self.frequency.spread
        none = np.zeros(0, np.int64)
        if spread is None:
            return Histories(none, np.zeros(1, np.int64), none)
        first, _ = self._met
        place = spread.classes_of_entries(self.indptr, self.members)[first]
        entries = spread.people_of_keys
        _, by_class = group_members(place, len(self))
        indptr, order = group_members(entries.items[first][by_class], entries.many)
        people = np.flatnonzero(np.diff(indptr))
        return Histories(people, np.append(indptr[people], indptr[-1]), place[by_class][order])

    @property
    def represented(self) -> NDArray[np.float64] | None:
        """People whom the records of each class stand for by their sampling weights, an estimate.

        float64[classes]; None where no column holds such weights.
        """
        from incrowd.kernels.counting import class_sums

        sampling = self.frequency.sampling
        return None if sampling is None else class_sums(self.indptr, self.members, sampling.keys) / UNIT

    def of_key(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give each key the value of its class, 0 where it is in none: float64[keys]."""
        found = np.zeros(self.frequency.keys)
        found[self.members] = np.repeat(values, np.diff(self.indptr))
        return found

    @cached_property
    def records(self) -> int:
        """Records that are in a class, or people who have one there."""
        return self.within(np.ones(len(self), np.bool_))

    def within(self, chosen: NDArray[np.bool_]) -> int:
        """Return the records in some of the classes, or the people who have one there.

        Parameters
        ----------
        chosen
            bool[classes]
        """
        from incrowd.kernels.people import items_within

        spread = self.frequency.spread
        if spread is None:
            return int(self.sizes[chosen].sum())
        if not chosen.any():
            return 0
        listed = spread.people
        if len(self.members) < self.frequency.keys or not chosen.all():
            listed = items_within(self.indptr, self.members, spread.people_of_keys, chosen)
        return int(self.alike[chosen].sum()) + listed

    def _worst(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each spread person in a class the largest value of their classes, 0 for none."""
        from incrowd.kernels.people import worst_of_items

        spread = self.frequency.spread
        assert spread is not None
        return worst_of_items(self.indptr, self.members, spread.people_of_keys, values)

    def mean(self, values: NDArray[np.float64], sums: NDArray[Any]) -> float:
        """Return the mean over all records of a value of their class.

        Over people it is the mean of the largest value that a class of theirs has.

        Parameters
        ----------
        values
            float64[classes], each >= 0.
        sums
            Each value times the class's records, exact where that can be: int64[classes] or float64[classes].
        """
        if self.frequency.spread is None:
            return float(sums.sum().item() / self.records)
        return self.mean_and_share(values, sums, np.inf)[0]

    def mean_and_share(
        self, values: NDArray[np.float64], sums: NDArray[Any], above: float
    ) -> tuple[float, float]:
        """Return the `mean` of a value of classes, and the share of records, or people, above a limit.

        Parameters
        ----------
        values, sums
            As in `mean`.
        above
            The limit, at least 0; over people for the largest value that a class of theirs has.
        """
        if self.frequency.spread is None:
            return self.mean(values, sums), self.within(values > above) / self.records
        worst = self._worst(values)
        many = int(self.alike[values > above].sum()) + int(np.count_nonzero(worst > above))
        return float(values @ self.alike + worst.sum()) / self.records, many / self.records

    @property
    def suppressed(self) -> int:
        """Records that are in no class."""
        return self.frequency.rows - self.records

    def counts(self, attribute: int) -> Counts:
        """Count a sensitive attribute's values per class, given its position in the frequency table."""
        if attribute not in self._counts:
            from incrowd.kernels.counting import class_counts
            from incrowd.kernels.people import add_distinct

            counted, spread = self.frequency.sensitive[attribute], self.frequency.spread
            where = self.indptr, self.members, counted.keys
            self._counts[attribute] = (
                class_counts(*where, counted.domain.size)
                if spread is None
                else add_distinct(*where, *spread.told(attribute, counted.domain.size))
            )
        return self._counts[attribute]

    def most_frequent(self, attribute: int) -> NDArray[np.int64]:
        """Return how often the most frequent value of a sensitive attribute occurs: int64[classes]."""
        counted, spread = self.frequency.sensitive[attribute], self.frequency.spread
        if spread is None or attribute in self._counts or not len(self):
            counts = self.counts(attribute)
            return np.maximum.reduceat(counts.counts, counts.indptr[:-1]) if len(self) else self.sizes
        from incrowd.kernels.people import most_distinct

        # The counts themselves take longer, and nobody else may ask for them.
        where = self.indptr, self.members, counted.keys
        return most_distinct(*where, *spread.told(attribute, counted.domain.size))

    def occurrences(self, attribute: int) -> NDArray[np.int64]:
        """Add up the counts of a sensitive attribute in each class: int64[classes].

        That is the size of the class. With people it may be more: somebody with two values counts for each.
        """
        if self.frequency.spread is None:
            return self.sizes
        if attribute not in self._occurrences:
            counts, none = self.counts(attribute), np.zeros(0, np.int64)
            found = np.add.reduceat(counts.counts, counts.indptr[:-1]) if len(self) else none
            self._occurrences[attribute] = found
        return self._occurrences[attribute]

    def quasi_values(self, position: int) -> QuasiValues:
        """Look at the values of a quasi-identifier in each class, given its position."""
        if position not in self._quasi:
            from incrowd.kernels.counting import Counts, class_counts

            frequency = self.frequency
            each = np.arange(frequency.keys + 1, dtype=np.int64)
            single = Counts(each, frequency.codes[position].astype(np.int32), frequency.weights)
            counts = class_counts(self.indptr, self.members, single, frequency.domains[position].size)
            start, stop = counts.indptr[:-1], counts.indptr[1:]
            most = np.maximum.reduceat(counts.counts, start)
            self._quasi[position] = QuasiValues(
                counts.codes[start], counts.codes[stop - 1], most, stop - start
            )
        return self._quasi[position]

    def only(self, kept: NDArray[np.bool_]) -> EquivalenceClasses:
        """Return some of the classes, with their cells and people; the keys of the others are suppressed.

        Parameters
        ----------
        kept
            bool[classes]
        """
        lengths = np.diff(self.indptr)
        indptr = np.concatenate(([0], np.cumsum(lengths[kept])))
        left = EquivalenceClasses(self.frequency, indptr, self.members[np.repeat(kept, lengths)])
        if self.codes is not None:
            left.set_codes([codes[kept] for codes in self.codes], self.code_sizes)
            left.names = self.names
        if self._people is not None:
            covered, outside = self._people
            left.set_population(covered[kept], outside + int(covered[~kept].sum()))
        return left

    def effective_values(self, attribute: int) -> NDArray[np.float64]:
        """Exponential of the Shannon entropy of a sensitive attribute in each class: float64[classes]."""
        if attribute not in self._effective:
            from incrowd.kernels.diversity import effective_values

            self._effective[attribute] = effective_values(self.counts(attribute), self.occurrences(attribute))
        return self._effective[attribute]

    def set_population(self, covered: NDArray[np.int64], outside: int) -> None:
        """Say how many people of the population each class covers, and how many are in none."""
        self._people = covered, outside

    @property
    def outside(self) -> int:
        """People of the population who are in no class."""
        if self._people is not None:
            return self._people[1]
        population = self._counted_population()
        gone = np.ones(self.frequency.keys, np.bool_)
        gone[self.members] = False
        return population.outside + int(population.covered[gone].sum())

    @property
    def population(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """Records of the population that each class's keys cover: int64[classes].

        An estimate by sampling weights is float64[classes].

        A class may join several keys. Then people between the keys are not counted, unless the caller of
        `set_population` counted them. So the figure is exact for a table as it stands, and a lower bound
        otherwise.
        """
        weights = None if self.frequency.population is None else self.frequency.population.weights
        return self._covered if weights is None else self._covered / UNIT

    @cached_property
    def _covered(self) -> NDArray[np.int64]:
        from incrowd.kernels.counting import class_sums

        if self._people is not None:
            return self._people[0]
        return class_sums(self.indptr, self.members, self._counted_population().covered)

    def _counted_population(self) -> PopulationCounts:
        if self.frequency.population is None:
            raise ParameterError(
                "these classes know no population to compare with; give one with "
                + setting("population=", "--population")
            )
        return self.frequency.population

    def joined(self, attribute: int) -> tuple[EquivalenceClasses, NDArray[np.int64]]:
        """Split the classes further by the values of all sensitive attributes but one.

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
        table, part_of, first = split_by_others(self.frequency, (self.indptr, self.members), attribute)
        parts = int(part_of.max(initial=-1)) + 1
        return EquivalenceClasses.from_assignment(table, part_of, parts), first

    def smallest(self, candidates: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Return at most so many of some classes: the smallest, and of equal ones the first by their cells.

        Only for classes that are one key each, as those of a table as it stands, or groups of such.
        """
        keys = self.members[self.indptr[:-1]]
        places = range(len(self.frequency.codes)) if self.known is None else self.known
        columns = [self.sizes, *(self.frequency.codes[j][keys] for j in places)]
        first = [candidates]
        for column in columns:
            # A table of unique records has many ties: only those at the cut need another look.
            ties = first.pop()
            need = most - sum(map(len, first))
            if len(ties) > need:
                here = column[ties]
                cut = here.min() if need == 1 else np.partition(here, need - 1)[need - 1]
                first.append(ties[here < cut])
                ties = ties[here == cut]
            first.append(ties)
        chosen = np.concatenate(first)
        order = np.lexsort([column[chosen] for column in reversed(columns)])[:most]
        return np.asarray(chosen[order], np.int64)

    def as_keys(self) -> FrequencyTable:
        """Return the classes as the keys of a smaller table, with all that models look at but cells."""
        from incrowd.kernels.counting import class_counts, class_sums

        frequency, where = self.frequency, (self.indptr, self.members)
        joint = population = None
        if frequency.joint is not None:
            combinations = len(frequency.joint.codes[0])
            joint = replace(frequency.joint, keys=class_counts(*where, frequency.joint.keys, combinations))
        if frequency.population is not None:
            population = replace(frequency.population, covered=self._covered, people=None)
        # Spread people are listed, so counts per class would have them twice.
        spread = frequency.spread
        counts = [
            self.counts(j) if spread is None else class_counts(*where, counted.keys, counted.domain.size)
            for j, counted in enumerate(frequency.sensitive)
        ]
        return FrequencyTable(
            (),
            (),
            self.sizes if spread is None else class_sums(*where, frequency.weights),
            tuple(
                replace(counted, keys=keys, rows=None)
                for counted, keys in zip(frequency.sensitive, counts, strict=True)
            ),
            frequency.suppressed,
            joint=joint,
            population=population,
            people=None if frequency.people is None else self.counted.as_keys(),
            spread=None if spread is None else spread.rolled(*where),
        )

    def with_people(self, table: FrequencyTable) -> FrequencyTable:
        """Return a table whose keys are these classes, with the people of the classes.

        Parameters
        ----------
        table
            As many keys as classes, in the same order, with records of the same people.
        """
        persons = self.frequency.persons
        if persons is None or self.frequency.people is None:
            return replace(table, persons=persons)
        people = self.counted.as_keys()
        gone = persons.people - people.records
        people = replace(people, domains=table.domains, codes=table.codes, suppressed=gone)
        return replace(table, persons=replace(persons, of_row=None), people=people)

    def cells(self, number: int) -> dict[str, str | None]:
        """Return a class's cell in each quasi-identifier (each of the `known`), where it is one key."""
        frequency = self.frequency
        key = int(self.members[self.indptr[number]])
        places = range(len(frequency.domains)) if self.known is None else self.known
        return {
            frequency.domains[j].name: frequency.domains[j].values[int(frequency.codes[j][key])]
            for j in places
        }

    def subset_groups(self, subset: Sequence[int]) -> tuple[NDArray[np.int32], EquivalenceClasses]:
        """Merge the classes that have the same cells in some of the quasi-identifiers.

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
        from incrowd.kernels.grouping import group_columns

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
        """Add up an amount of each class over those that it matches: itself, unless cells match others."""
        return amounts

    def singles(self, attribute: int) -> Singles | None:
        """Return records that count alone although their class has more; see `WildcardClasses`."""
        return None

    def lifts(self, attribute: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compare each class's values with the whole table.

        Returns
        -------
        lift
            float64[entries]: for each entry of `counts` the value's share of the class over its share of
            the whole table, suppressed records included.
        share
            float64[entries]: the value's share of the whole table.
        """
        counts = self.counts(attribute)
        counted = self.frequency.sensitive[attribute]
        size = np.repeat(self.sizes, np.diff(counts.indptr)).astype(np.float64)
        whole = counted.totals[counts.codes].astype(np.float64)
        rows = float(counted.everybody)
        # Products of whole numbers are exact up to 2**53, so simple ratios come out as their nearest double.
        return counts.counts * rows / (size * whole), whole / rows
