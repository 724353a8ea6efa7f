"""ClassCounts: the keys of each class, with counts of records and people."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from incrowd.core.errors import ParameterError, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.parts import Parts
from incrowd.core.table.survey import UNIT

if TYPE_CHECKING:
    from incrowd.core.kernels.grouping.counting import Counts
    from incrowd.core.table.frequency import FrequencyTable, PopulationCounts
    from incrowd.core.table.people import ListedPeople


class QuasiValues(NamedTuple):
    """Range, mode and number of a quasi-identifier's values in each class: int[classes] each.

    ``lo`` and ``hi`` are the smallest and largest rank, ``most`` the records of the most frequent value, and
    ``distinct`` the number of values.
    """

    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    most: NDArray[np.int64]
    distinct: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"QuasiValues({len(self.lo):,} classes)"


class ClassCounts:
    """Classes of keys with counts, without cells.

    Parameters
    ----------
    frequency
        The keys.
    indptr, members
        int64[classes + 1] and int64[...]: the keys of each class; a key that is in none is suppressed.

    Notes
    -----
    Counts per class are made when first asked for. With nearly unique keys they are as long as the data.
    """

    def __init__(
        self, frequency: FrequencyTable, indptr: NDArray[np.int64], members: NDArray[np.int64]
    ) -> None:
        self.frequency = frequency
        self.indptr = indptr
        self.members = members
        self._people: tuple[NDArray[np.int64], int] | None = None
        self._counts: dict[int, Counts] = {}
        self._part_counts: dict[int, Counts] = {}
        self._occurrences: dict[int, NDArray[np.int64]] = {}
        self._quasi: dict[int, QuasiValues] = {}
        self._effective: dict[int, NDArray[np.float64]] = {}

    @classmethod
    def from_assignment(
        cls, frequency: FrequencyTable, class_of_key: NDArray[np.integer], classes: int
    ) -> Self:
        """Group keys by class number: int[keys], -1 for a suppressed key."""
        from incrowd.core.kernels.grouping.grouping import group_members

        return cls(frequency, *group_members(class_of_key, classes))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Records of each class, or people: int64[classes]."""
        from incrowd.core.kernels.grouping.counting import class_sums

        sums = class_sums(self.indptr, self.members, self.frequency.weights)
        return sums if self.frequency.people.listed is None else sums + self._first_listed[1]

    def reach(self, least: int) -> NDArray[np.bool_]:
        """Say which classes have at least `least` records, or people: bool[classes]."""
        from incrowd.core.kernels.people.people import classes_that_reach

        listed = self.frequency.people.listed
        if listed is None or "sizes" in self.__dict__:
            return self.sizes >= least
        where = self.indptr, self.members
        return classes_that_reach(*where, self.frequency.weights, listed.people_of_keys, least)

    @cached_property
    def _first_listed(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """First entries of the listed people in each class, and the number of first entries per class."""
        from incrowd.core.kernels.people.people import first_entries

        assert self.frequency.people.listed is not None
        return first_entries(self.indptr, self.members, self.frequency.people.listed.people_of_keys)

    @cached_property
    def alike(self) -> NDArray[np.int64]:
        """People of each class with rows that are all alike: int64[classes]."""
        return self.sizes if self.frequency.people.listed is None else self.sizes - self._first_listed[1]

    @cached_property
    def records(self) -> int:
        """Records in a class, or people with a record in a class."""
        return self.within(np.ones(len(self), np.bool_))

    @property
    def suppressed(self) -> int:
        """Records that are in no class."""
        return self.frequency.rows - self.records

    def within(self, chosen: NDArray[np.bool_]) -> int:
        """Return the records in some of the classes, or the people with a record there.

        Parameters
        ----------
        chosen
            bool[classes]
        """
        from incrowd.core.kernels.people.people import items_within

        listed = self.frequency.people.listed
        if listed is None:
            return int(self.sizes[chosen].sum())
        if not chosen.any():
            return 0
        people = listed.people
        if len(self.members) < self.frequency.keys or not chosen.all():
            people = items_within(self.indptr, self.members, listed.people_of_keys, chosen)
        return int(self.alike[chosen].sum()) + people

    def of_key(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the class value of each key, 0 for a key in no class: float64[keys]."""
        by_key = np.zeros(self.frequency.keys)
        by_key[self.members] = np.repeat(values, np.diff(self.indptr))
        return by_key

    def histories(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List the classes that each listed person has rows in, ascending.

        Returns
        -------
        indptr, classes
            int64[numbers + 1] and int64[...]: the classes of each number of a person; see `ListedPeople`.
        """
        from incrowd.core.kernels.grouping.grouping import group_members

        listed = self.frequency.people.listed
        if listed is None:
            return np.zeros(1, np.int64), np.zeros(0, np.int64)
        first, _ = self._first_listed
        class_of = listed.classes_of_entries(self.indptr, self.members)[first]
        entries = listed.people_of_keys
        _, by_class = group_members(class_of, len(self))
        indptr, order = group_members(entries.items[first][by_class], entries.many)
        return indptr, class_of[by_class][order]

    @property
    def represented(self) -> NDArray[np.float64] | None:
        """Estimated people that the records of each class stand for by sampling weights.

        float64[classes]; None where no column holds such weights.
        """
        from incrowd.core.kernels.grouping.counting import class_sums

        sampling = self.frequency.survey.sampling
        return None if sampling is None else class_sums(self.indptr, self.members, sampling.keys) / UNIT

    def mean(self, values: NDArray[np.float64], sums: NDArray[Any]) -> float:
        """Return the mean over all records of a value of the record's class.

        Over people it is the mean of the largest value that a class of theirs has.

        Parameters
        ----------
        values
            float64[classes], each >= 0.
        sums
            Each value times the class's records, exact where that can be: int64[classes] or float64[classes].
            Without people the mean is their sum over the number of records.
        """
        if self.frequency.people.listed is None:
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
        if self.frequency.people.listed is None:
            return self.mean(values, sums), self.within(values > above) / self.records
        worst = self._worst(values)
        many = int(self.alike[values > above].sum()) + int(np.count_nonzero(worst > above))
        return float(values @ self.alike + worst.sum()) / self.records, many / self.records

    def _worst(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest class value of each listed person, 0 for a person in no class."""
        from incrowd.core.kernels.people.people import worst_of_items

        listed = self.frequency.people.listed
        assert listed is not None
        return worst_of_items(self.indptr, self.members, listed.people_of_keys, values)

    def counts(self, attribute: int) -> Counts:
        """Count a sensitive attribute's values per class, given the attribute's position."""
        if attribute not in self._counts:
            from incrowd.core.kernels.grouping.counting import class_counts
            from incrowd.core.kernels.people.people import add_distinct

            sensitive, listed = self.frequency.sensitive[attribute], self.frequency.people.listed
            where = self.indptr, self.members, sensitive.keys
            self._counts[attribute] = (
                class_counts(*where, sensitive.domain.size)
                if listed is None
                else add_distinct(*where, *listed.counted(attribute, sensitive.domain.size))
            )
        return self._counts[attribute]

    def part_counts(self, attribute: int, parts: Parts | None = None) -> Counts:
        """Count the records (or people) of each class with each part of a sensitive attribute's lists.

        Parameters
        ----------
        attribute
            Its position in the frequency table.
        parts
            The parts of its values, where its column does not declare them.
        """
        sensitive, listed = self.frequency.sensitive[attribute], self.frequency.people.listed
        if parts is None and attribute in self._part_counts:
            return self._part_counts[attribute]
        looked_at = sensitive.domain.parts if parts is None else parts
        assert looked_at is not None, "only lists have parts"
        by_part = (
            record_counts(self.counts(attribute), looked_at)
            if listed is None
            else people_counts((self.indptr, self.members), sensitive.keys, listed, attribute, looked_at)
        )
        if parts is None:
            self._part_counts[attribute] = by_part
        return by_part

    def most_frequent(self, attribute: int) -> NDArray[np.int64]:
        """Return how often the most frequent value of a sensitive attribute occurs: int64[classes].

        Of lists it is the most frequent part, which is as frequent as any list that it is in.
        """
        sensitive, listed = self.frequency.sensitive[attribute], self.frequency.people.listed
        if sensitive.domain.parts is not None and len(self):
            parts = self.part_counts(attribute)
            return np.maximum.reduceat(parts.counts, parts.indptr[:-1])
        if listed is None or attribute in self._counts or not len(self):
            counts = self.counts(attribute)
            return np.maximum.reduceat(counts.counts, counts.indptr[:-1]) if len(self) else self.sizes
        from incrowd.core.kernels.people.people import most_distinct

        # The counts themselves take longer, and nobody else may ask for them.
        where = self.indptr, self.members, sensitive.keys
        return most_distinct(*where, *listed.counted(attribute, sensitive.domain.size))

    def occurrences(self, attribute: int) -> NDArray[np.int64]:
        """Add up the counts of a sensitive attribute in each class: int64[classes].

        That is the size of the class. With people it may be more: somebody with two values counts for each.
        """
        if self.frequency.people.listed is None:
            return self.sizes
        if attribute not in self._occurrences:
            counts, none = self.counts(attribute), np.zeros(0, np.int64)
            sums = np.add.reduceat(counts.counts, counts.indptr[:-1]) if len(self) else none
            self._occurrences[attribute] = sums
        return self._occurrences[attribute]

    def effective_values(self, attribute: int) -> NDArray[np.float64]:
        """Exponential of the Shannon entropy of a sensitive attribute in each class: float64[classes]."""
        if attribute not in self._effective:
            from incrowd.core.kernels.diversity import effective_values

            self._effective[attribute] = effective_values(self.counts(attribute), self.occurrences(attribute))
        return self._effective[attribute]

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
        sensitive = self.frequency.sensitive[attribute]
        size = np.repeat(self.sizes, np.diff(counts.indptr)).astype(np.float64)
        totals = sensitive.totals[counts.codes].astype(np.float64)
        rows = float(sensitive.everybody)
        # Products of whole numbers are exact up to 2**53, so simple ratios come out as their nearest double.
        return counts.counts * rows / (size * totals), totals / rows

    def quasi_values(self, position: int) -> QuasiValues:
        """Summarize the values of a quasi-identifier, given by position, in each class."""
        if position not in self._quasi:
            from incrowd.core.kernels.grouping.counting import value_counts

            codes, size = self.frequency.codes[position], self.frequency.domains[position].size
            counts = value_counts(self.indptr, self.members, codes, self.frequency.weights, size)
            start, stop = counts.indptr[:-1], counts.indptr[1:]
            most = np.maximum.reduceat(counts.counts, start)
            self._quasi[position] = QuasiValues(
                counts.codes[start], counts.codes[stop - 1], most, stop - start
            )
        return self._quasi[position]

    def set_population(self, covered: NDArray[np.int64], outside: int) -> None:
        """Set the people of the population that each class covers, and the people in no class."""
        self._people = covered, outside

    @property
    def outside(self) -> int:
        """People of the population outside all classes."""
        if self._people is not None:
            return self._people[1]
        population = self._counted_population()
        suppressed = np.ones(self.frequency.keys, np.bool_)
        suppressed[self.members] = False
        return population.outside + int(population.covered[suppressed].sum())

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
        from incrowd.core.kernels.grouping.counting import class_sums

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


def record_counts(counts: Counts, parts: Parts) -> Counts:
    """Count the records of each class with each part, given the counts of values."""
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
    """Count the people of each class with each part in some row, each person once.

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

    origin, codes = parts.spread(listed.values[attribute][listed.entry])
    person = listed.person[listed.entry][origin]
    pairs, first = group_columns([person, codes], [listed.numbers, len(parts.names)], len(codes))
    ends = np.searchsorted(origin, listed.indptr).astype(np.int64)
    entries = Entries(ends, pairs.astype(np.int32), max(len(first), 1))
    return add_distinct(*where, parts.spread_counts(keys), entries, codes, len(parts.names))
