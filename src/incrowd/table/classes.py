"""EquivalenceClasses: keys with the same released cells, in groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import ParameterError, setting
from incrowd.table.frequency import FrequencyTable, PopulationCounts, SensitiveCounts

if TYPE_CHECKING:
    from incrowd.kernels.counting import Counts

__all__ = ["EquivalenceClasses", "QuasiValues"]


class QuasiValues(NamedTuple):
    """The values of a quasi-identifier in each class: int[classes] each.

    ``lo`` and ``hi`` are the smallest and largest rank, ``most`` the records of the most frequent value, and
    ``distinct`` the number of values.
    """

    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    most: NDArray[np.int64]
    distinct: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"QuasiValues({len(self.lo):,} classes)"


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

    Notes
    -----
    Counts per class are made when they are first asked for. If quasi-identifiers are nearly unique, these
    counts are as long as the data.
    """

    def __init__(
        self, frequency: FrequencyTable, indptr: NDArray[np.int64], members: NDArray[np.int64]
    ) -> None:
        self.frequency = frequency
        self.indptr = indptr
        self.members = members
        self.codes: tuple[NDArray[np.unsignedinteger], ...] | None = None
        self.code_sizes: tuple[int, ...] = ()
        self._people: tuple[NDArray[np.int64], int] | None = None
        self._counts: dict[int, Counts] = {}
        self._quasi: dict[int, QuasiValues] = {}
        self._effective: dict[int, NDArray[np.float64]] = {}

    @classmethod
    def of_keys(cls, frequency: FrequencyTable) -> EquivalenceClasses:
        """Every key is a class: the table as it stands."""
        each = np.arange(frequency.keys + 1, dtype=np.int64)
        classes = cls(frequency, each, each[:-1])
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
    def sizes(self) -> NDArray[np.int64]:
        """Records of each class: int64[classes]."""
        from incrowd.kernels.counting import class_sums

        return class_sums(self.indptr, self.members, self.frequency.weights)

    @property
    def records(self) -> int:
        """Records that are in a class."""
        return int(self.sizes.sum())

    @property
    def suppressed(self) -> int:
        """Records that are in no class."""
        return self.frequency.rows - self.records

    def counts(self, attribute: int) -> Counts:
        """Count a sensitive attribute's values per class, given its position in the frequency table."""
        if attribute not in self._counts:
            from incrowd.kernels.counting import class_counts

            counted = self.frequency.sensitive[attribute]
            self._counts[attribute] = class_counts(
                self.indptr, self.members, counted.keys, counted.domain.size
            )
        return self._counts[attribute]

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
        if self._people is not None:
            covered, outside = self._people
            left.set_population(covered[kept], outside + int(covered[~kept].sum()))
        return left

    def effective_values(self, attribute: int) -> NDArray[np.float64]:
        """Exponential of the Shannon entropy of a sensitive attribute in each class: float64[classes]."""
        if attribute not in self._effective:
            from incrowd.kernels.diversity import effective_values

            self._effective[attribute] = effective_values(self.counts(attribute), self.sizes)
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

    @cached_property
    def population(self) -> NDArray[np.int64]:
        """Records of the population that each class's keys cover: int64[classes].

        A class may join several keys. Then people between the keys are not counted, unless the caller of
        `set_population` counted them. So the figure is exact for a table as it stands, and a lower bound
        otherwise.
        """
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
        from incrowd.kernels.counting import Counts, class_counts
        from incrowd.kernels.grouping import group_columns

        frequency = self.frequency
        joint = frequency.joint
        if joint is None:
            raise ParameterError(
                "the sensitive attributes' combinations were not counted; count with joint=True"
            )
        others = [j for j in range(len(frequency.sensitive)) if j != attribute]
        sizes = [frequency.sensitive[j].domain.size for j in others]
        context, contexts = group_columns([joint.codes[j] for j in others], sizes, len(joint.codes[0]))
        counts = class_counts(self.indptr, self.members, joint.keys, len(joint.codes[0]))
        class_of = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(counts.indptr))
        entries = len(counts.codes)
        part_of, start = group_columns([class_of, context[counts.codes]], [len(self), len(contexts)], entries)
        each = np.arange(entries + 1, dtype=np.int64)
        counted = frequency.sensitive[attribute]
        single = Counts(each, joint.codes[attribute][counts.codes], counts.counts)
        entry_table = FrequencyTable(
            (), (), counts.counts, (SensitiveCounts(counted.domain, single, counted.totals),)
        )
        parts = EquivalenceClasses.from_assignment(entry_table, part_of, len(start))
        return parts, np.searchsorted(class_of[start], np.arange(len(self)))

    def smallest(self, candidates: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Return at most so many of some classes: the smallest, and of equal ones the first by their cells.

        Only for classes that are one key each, as those of a table as it stands.
        """
        frequency = self.frequency
        columns = [frequency.weights, *frequency.codes]
        first = [candidates]
        for column in columns:
            # A table of unique records has many ties: only those at the cut need another look.
            ties = first.pop()
            need = most - sum(map(len, first))
            if len(ties) > need:
                here = column[self.members[ties]]
                cut = here.min() if need == 1 else np.partition(here, need - 1)[need - 1]
                first.append(ties[here < cut])
                ties = ties[here == cut]
            first.append(ties)
        chosen = np.concatenate(first)
        keys = self.members[chosen]
        order = np.lexsort([column[keys] for column in reversed(columns)])[:most]
        return np.asarray(chosen[order], np.int64)

    def cells(self, number: int) -> dict[str, str | None]:
        """Return a class's cell in each quasi-identifier, where every class is one key."""
        frequency = self.frequency
        key = int(self.members[number])
        return {
            domain.name: domain.values[int(codes[key])]
            for domain, codes in zip(frequency.domains, frequency.codes, strict=True)
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
        return group, EquivalenceClasses.from_assignment(self.frequency, of_key, len(first))

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
        totals = self.frequency.sensitive[attribute].totals
        size = np.repeat(self.sizes, np.diff(counts.indptr)).astype(np.float64)
        whole = totals[counts.codes].astype(np.float64)
        rows = float(totals.sum())
        # Products of whole numbers are exact up to 2**53, so simple ratios come out as their nearest double.
        return counts.counts * rows / (size * whole), whole / rows
