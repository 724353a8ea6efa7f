"""Equivalence classes that count the records matching the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.lazy import NDArray, np
from incrowd.core.table.classes import EquivalenceClasses, Singles
from incrowd.core.table.frequency import FrequencyTable, People
from incrowd.core.table.parts import Parts
from incrowd.core.table.sensitive import SensitiveCounts

if TYPE_CHECKING:
    from incrowd.core.kernels.grouping.counting import Counts


@dataclass(frozen=True, eq=False)
class Column:
    """A quasi-identifier's cells: the code of each class, the number of codes, and the wildcard codes."""

    codes: NDArray[np.unsignedinteger]
    size: int
    hidden: NDArray[np.bool_]

    def without_wildcards_alone(self) -> Column:
        """Return the column, with wildcards as plain values if every cell is a wildcard."""
        return self if not self.hidden[self.codes].all() else replace(self, hidden=np.zeros_like(self.hidden))

    def of(self, chosen: NDArray[np.integer]) -> Column:
        """Return the column of some classes."""
        return replace(self, codes=self.codes[chosen])


class WildcardClasses(EquivalenceClasses):
    """Equivalence classes that count the records matching the cells (see `matched`).

    There is a class for each class of `own`, in the same order. Sizes and counts of values are of the records
    that the class matches. How many records (or people) some classes hold is as in `own`.

    Attributes
    ----------
    wildcards
        ``matches-any`` or ``conservative``.
    """

    def __init__(self, own: EquivalenceClasses, wildcards: str, columns: Sequence[Column]) -> None:
        super().__init__(own.frequency, own.indptr, own.members)
        self.codes, self.code_sizes, self.names = own.codes, own.code_sizes, own.names
        self.known, self.rows, self._people = own.known, own.rows, own._people
        self._own = own
        self.wildcards = wildcards
        self._columns = tuple(columns)

    @property
    def own(self) -> EquivalenceClasses:
        """The classes by cells alone."""
        return self._own

    @cached_property
    def counted(self) -> EquivalenceClasses:
        """The classes as models count records: with people where a column names people."""
        classes = self.own.counted
        return self if classes is self.own else WildcardClasses(classes, self.wildcards, self._columns)

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Classes of which each record counts alone: bool[classes]."""
        alone = np.zeros(len(self), np.bool_)
        if self.wildcards == "conservative":
            for column in self._columns:
                alone |= column.hidden[column.codes]
        return alone

    @cached_property
    def _wide(self) -> EquivalenceClasses:
        """Classes of all matched records, over copies of the keys."""
        return self.own if self._matches is None else self._matches.classes(self.own)

    @cached_property
    def _matches(self) -> _Matches | None:
        return None if self.wildcards == "conservative" else _Matches.of_columns(self._columns, len(self))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Records that each class matches, or people: int64[classes]."""
        return np.where(self.alone, 1, self._wide.sizes)

    def reach(self, least: int) -> NDArray[np.bool_]:
        """Say which classes match at least so many records, or people: bool[classes]."""
        return self.sizes >= least

    @property
    def population(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """People of the population that each class covers, where `*` covers any value without a wildcard.

        An estimate by sampling weights is of the records that match. A record that counts alone stands for
        one person at most.
        """
        people = self.own.population
        if self._counted_population().weights is not None:
            people = self.matched_sums(people)
        return np.where(self.alone, np.minimum(people, 1), people)

    @property
    def represented(self) -> NDArray[np.float64] | None:
        """Estimated people that the records of each class stand for: float64[classes].

        None where no column holds sampling weights, or where some records count alone: their own weights are
        not known any more.
        """
        people = self.own.represented
        return None if people is None or self.alone.any() else self.matched_sums(people)

    def matched_sums(self, amounts: NDArray[Any]) -> NDArray[Any]:
        """Add up an amount over the classes that each class matches."""
        return amounts if self._matches is None else self._matches.sums(amounts)

    @property
    def outside(self) -> int:
        """People of the population in no class."""
        return self.own.outside

    @property
    def records(self) -> int:
        """Records that are in a class, each once."""
        return self.own.records

    def within(self, chosen: NDArray[np.bool_]) -> int:
        """Return the records in some of the classes by cells, each once."""
        return self.own.within(chosen)

    def mean(self, values: NDArray[np.float64], sums: NDArray[Any]) -> float:
        """Return the mean over all records of a figure of the class by cells."""
        return self.own.mean(values, values * self.own.sizes)

    def mean_and_share(
        self, values: NDArray[np.float64], sums: NDArray[Any], above: float
    ) -> tuple[float, float]:
        """Return the mean figure of classes by cells, and the share of records above a limit."""
        return self.own.mean_and_share(values, values * self.own.sizes, above)

    def counts(self, attribute: int) -> Counts:
        """Count a sensitive attribute's values among the records that each class matches.

        Where each record counts alone, it is one with the class's most frequent value.
        """
        counts = self._wide.counts(attribute)
        return _reduce_to_one(counts, self.alone) if self.alone.any() else counts

    def part_counts(self, attribute: int, parts: Parts | None = None) -> Counts:
        """Count the parts of a sensitive attribute's lists among the records that each class matches."""
        counts = self._wide.part_counts(attribute, parts)
        return _reduce_to_one(counts, self.alone) if self.alone.any() else counts

    def most_frequent(self, attribute: int) -> NDArray[np.int64]:
        """Return how often the most frequent value of a sensitive attribute occurs: int64[classes]."""
        return np.where(self.alone, 1, self._wide.most_frequent(attribute))

    def occurrences(self, attribute: int) -> NDArray[np.int64]:
        """Add up the counts of a sensitive attribute in each class: int64[classes]."""
        return np.where(self.alone, 1, self._wide.occurrences(attribute))

    def joined(self, attribute: int) -> tuple[EquivalenceClasses, NDArray[np.int64]]:
        """Split the matches of the classes by the values of all other sensitive attributes."""
        return self._wide.joined(attribute)

    def singles(self, attribute: int) -> Singles | None:
        """Return the records that count alone although the class has more, or None."""
        if not self.alone.any():
            return None
        counts = self.own.counts(attribute)
        chosen = np.repeat(self.alone, np.diff(counts.indptr))
        codes = counts.codes[chosen]
        each = np.arange(len(codes) + 1, dtype=np.int64)
        ones = np.ones(len(codes), np.int64)
        single = replace(self.frequency.sensitive[attribute], keys=type(counts)(each, codes, ones), rows=None)
        classes = EquivalenceClasses(FrequencyTable((), (), ones, (single,)), each, each[:-1])
        lengths = np.diff(counts.indptr)[self.alone]
        return Singles(self.alone, classes, np.cumsum(lengths) - lengths)

    def subset_groups(self, subset: Sequence[int]) -> tuple[NDArray[np.int32], EquivalenceClasses]:
        """Merge the classes with the same cells in some quasi-identifiers, and match the merged classes."""
        group, merged = self.own.subset_groups(subset)
        _, first = np.unique(group, return_index=True)
        assert self.codes is not None
        merged.set_codes([self.codes[j][first] for j in subset], [self.code_sizes[j] for j in subset])
        merged.names = tuple(self.names[j] for j in subset)
        columns = [self._columns[j].of(first) for j in subset]
        return group, WildcardClasses(merged, self.wildcards, columns)


def counts_by_number(
    classes: EquivalenceClasses, attribute: int, ranks: NDArray[np.int32], size: int
) -> Counts:
    """Count the people of each class with each number, once per person whatever the spelling.

    Parameters
    ----------
    ranks
        int32[values]: number of the number that each value of the sensitive attribute is.
    size
        How many numbers there are.
    """
    from incrowd.core.kernels.grouping.counting import Counts as PerKey
    from incrowd.core.kernels.grouping.grouping import group_columns
    from incrowd.core.kernels.people.people import Entries, add_distinct

    if isinstance(classes, WildcardClasses):
        counts = counts_by_number(classes._wide, attribute, ranks, size)
        return _reduce_to_one(counts, classes.alone) if classes.alone.any() else counts
    counted, listed = classes.frequency.sensitive[attribute], classes.frequency.people.listed
    assert listed is not None
    pairs, first = group_columns(
        [listed.person, ranks[listed.values[attribute]]], [listed.numbers, size], len(listed.person)
    )
    keys = PerKey(counted.keys.indptr, ranks[counted.keys.codes], counted.keys.counts)
    entries = Entries(listed.indptr, pairs[listed.entry], len(first))
    of_entry = ranks[listed.listed_values(attribute)]
    return add_distinct(classes.indptr, classes.members, keys, entries, of_entry, size)


def _reduce_to_one(counts: Counts, alone: NDArray[np.bool_]) -> Counts:
    """Reduce some classes to a single record of the most frequent value."""
    lengths = np.diff(counts.indptr)
    owner = np.repeat(np.arange(len(alone)), lengths)
    # The last of a class when its entries are sorted by their counts.
    order = np.lexsort((counts.counts, owner))
    most = order[counts.indptr[1:] - 1]
    used = ~alone[owner]
    used[most[alone]] = True
    amounts = np.where(alone[owner], 1, counts.counts)
    indptr = np.concatenate(([0], np.cumsum(np.where(alone, 1, lengths)))).astype(np.int64)
    return type(counts)(indptr, counts.codes[used], amounts[used])


class _Matches(NamedTuple):
    """Matching classes as two lists: groups of classes, and the groups of each class.

    Attributes
    ----------
    members
        The bounds and the classes of each group: int64[groups + 1], int64[...].
    groups
        The bounds and the groups of each class: int64[classes + 1], int64[...].
    """

    members: tuple[NDArray[np.int64], NDArray[np.int64]]
    groups: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of_columns(cls, columns: Sequence[Column], classes: int) -> _Matches:
        """Find the matching classes, pattern by pattern.

        Classes that tell the same columns are looked at together. Those of one such pattern match those of
        another when they agree in the columns that both tell. Classes that agree there are a group. So a
        class has at most a group for each pattern, however many classes it matches.

        Example: class 2 tells only the age, and class 3 only the sex. Each class has a group per pattern::

            class        (age, sex)  (age)  (sex)
            0   30  M    {0}         {2}    {3}
            1   41  M    {1}                {3}
            2   30  *    {0}         {2}    {3}      no column in common: all of the pattern match
            3   *   M    {0, 1}      {2}    {3}
        """
        group, member, holder, holder_groups = [], [], [], []
        groups = 0
        patterns = _patterns(columns, classes)
        for left_visible, left in patterns:
            for right_visible, right in patterns:
                shared = [j for j in range(len(columns)) if left_visible[j] and right_visible[j]]
                left_cells, right_cells = _number_cells([columns[j] for j in shared], left, right)
                meets = np.isin(left_cells, right_cells)
                cells, numbers = np.unique(left_cells[meets], return_inverse=True)
                holder.append(left[meets])
                holder_groups.append(groups + numbers)
                matching = np.isin(right_cells, cells)
                member.append(right[matching])
                group.append(groups + np.searchsorted(cells, right_cells[matching]))
                groups += len(cells)
        return cls(
            _group_items(np.concatenate(group), np.concatenate(member), groups),
            _group_items(np.concatenate(holder), np.concatenate(holder_groups), classes),
        )

    def sums(self, amounts: NDArray[Any]) -> NDArray[Any]:
        """Add up an amount over the classes that each class matches."""
        from incrowd.core.kernels.grouping.counting import class_sums

        return class_sums(*self.groups, class_sums(*self.members, amounts))

    def classes(self, own: EquivalenceClasses) -> EquivalenceClasses:
        """Return classes with copies of the keys of every matching class."""
        table = own.as_keys()
        table = replace(table, people=replace(table.people, table=None), population=None)
        merged = _copy_keys(table, *self.members)
        return _copy_keys(merged.as_keys(), *self.groups)


def _group_items(
    owner: NDArray[np.int64], item: NDArray[np.int64], owners: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from incrowd.core.kernels.grouping.grouping import group_members

    indptr, order = group_members(owner, owners)
    return indptr, item[order]


def _copy_keys(
    table: FrequencyTable, indptr: NDArray[np.int64], keys: NDArray[np.int64]
) -> EquivalenceClasses:
    """Return classes with copies of keys, where a key may be in several classes."""
    return EquivalenceClasses(_pick_keys(table, keys), indptr, np.arange(len(keys), dtype=np.int64))


def _patterns(columns: Sequence[Column], classes: int) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
    """Sort classes by the visible columns: a mask of columns, and the classes, per pattern."""
    visible = np.array([~column.hidden[column.codes] for column in columns]).reshape(len(columns), classes).T
    patterns, which = np.unique(visible, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [(pattern, np.flatnonzero(which == number)) for number, pattern in enumerate(patterns)]


def _number_cells(
    columns: Sequence[Column], left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Give the cells of two sets of classes in some columns numbers, equal numbers for equal cells."""
    from incrowd.core.kernels.grouping.grouping import group_columns

    both = np.concatenate((left, right))
    ids, _ = group_columns(
        [column.codes[both] for column in columns], [column.size for column in columns], len(both)
    )
    return ids[: len(left)], ids[len(left) :]


def _pick_keys(table: FrequencyTable, keys: NDArray[np.int64]) -> FrequencyTable:
    """Return some keys of a table, possibly repeated, with the totals of the whole table."""

    def rows(counts: Counts) -> Counts:
        indptr, entries = _entries(counts.indptr, keys)
        return type(counts)(indptr, counts.codes[entries], counts.counts[entries])

    def counted(one: SensitiveCounts) -> SensitiveCounts:
        return replace(one, keys=rows(one.keys), rows=None)

    listed = table.people.listed
    if listed is not None:
        indptr, entries = _entries(listed.indptr, keys)
        listed = replace(listed, indptr=indptr, entry=listed.entry[entries])
    return FrequencyTable(
        (),
        (),
        table.weights[keys],
        tuple(map(counted, table.sensitive)),
        table.suppressed,
        joint=None if table.joint is None else replace(table.joint, keys=rows(table.joint.keys)),
        people=People(listed=listed),
    )


def _entries(
    indptr: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bounds and positions of the entries of some rows of compressed sparse rows."""
    lengths = np.diff(indptr)[rows]
    bounds = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return bounds, np.repeat(indptr[rows] - bounds[:-1], lengths) + np.arange(bounds[-1])
