"""k^m-anonymity over the classes that a person has rows in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from incrowd.core.errors import ParameterError, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy.base import IdentityModel, Monotone, PrivacyModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable

_Histories = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
"""The classes of each listed person; see `ClassCounts.histories`."""

_MOST_SETS = 50_000_000
"""Sets of classes that are looked at, which take some gigabytes."""


@dataclass(frozen=True)
class KMAnonymity(IdentityModel):
    """At least k people share any few rows of a person that an attacker may know.

    Example: an attacker knows two visits of Ann, as the release has their cells. At least k people must have
    visits in both of these equivalence classes. k-anonymity by people is the case of one row.

    For every person, and every set of `power` classes that the person has rows in, at least k people have
    rows in all of them. Who has rows in fewer classes is looked at with all of theirs. A class is as safe as
    its weakest set.

    Parameters
    ----------
    k
        Smallest number of people allowed, >= 1.
    power
        How many classes of a person the attacker knows; 0 for all of them, as where released rows of a person
        can be linked.

    Notes
    -----
    The table needs columns that name a person. Only full-domain algorithms enforce it, because a set of
    classes is known when all of them are. They generalize further, and suppress people whole: whoever is
    exposed by several classes, with all combinations of values that the person has rows with. Where
    suppressing the classes loses fewer records, they do that.

    References
    ----------
    Terrovitis, Mamoulis and Kalnis, Privacy-preserving anonymization of set-valued data, PVLDB 1(1), 2008,
    definition 1, with equivalence classes as the items and people as the transactions.
    """

    k: int = parameter("smallest number of people allowed", kind=int, low=1)
    power: int = parameter("rows of a person that the attacker knows; 0 for all", kind=int, default=2, low=0)

    name: ClassVar[str] = "km-anonymity"
    summary: ClassVar[str] = "any rows that somebody knows of a person fit at least k people"
    paper: ClassVar[str] = "Terrovitis, Mamoulis and Kalnis 2008"
    limit_name: ClassVar[str] = "k"
    unasked: ClassVar[bool] = False
    needs_every_class: ClassVar[bool] = True
    # A class is one of a history, so `*` counts as a value.
    wildcards: ClassVar[Sequence[str]] = ("value",)
    # A set of merged classes has everybody whom a set of their parts has.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=True)
    same_by_people: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return attackers with knowledge of 1, 2, 3 and all rows."""
        return tuple(cls(1, power) for power in (1, 2, 3, 0))

    @property
    def least_size(self) -> int:
        """Smallest class size allowed: k people, and so k records."""
        return self.k

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for a table without people, a k above their number, or a power above any person's rows."""
        if not frequency.people.columns and frequency.people.listed is None:
            raise ParameterError(
                "km-anonymity counts people who share several rows, and no column names a person; name it "
                f"({setting('person=', '--person')})"
            )
        if self.k > frequency.records:
            raise ParameterError(
                f"km-anonymity: k={self.k} is more than the table's {frequency.records} people; lower k"
            )
        most = _most_rows(frequency)
        if self.power > most:
            raise ParameterError(
                f"km-anonymity: power={self.power} is more than the {most} different rows that anybody has; "
                "lower it, or say power=0 for all of them"
            )

    def remarks(self, frequency: FrequencyTable) -> list[str]:
        """Return a remark if no person has as many rows as the attacker knows."""
        most = _most_rows(frequency)
        if self.power <= most:
            return []
        return [
            f"km-anonymity: nobody has {self.power} different rows, but {most} at most; "
            f"power={self.power} is measured as power=0 is, for all rows of a person."
        ]

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        """Return for each class the fewest people that share a set of classes with that class."""
        if classes.frequency.people.listed is None or self.power == 1:
            return classes.sizes
        histories = indptr, members = classes.histories()
        values = classes.sizes.copy()
        # A class by itself is the known set of those people only who have rows in no other class.
        alone = classes.alike > 0
        alone[members[indptr[:-1][np.diff(indptr) == 1]]] = True
        values[~alone] = np.iinfo(np.int64).max
        for sets in self._known_sets(histories, len(classes)):
            for column in sets.classes.T:
                np.minimum.at(values, column, sets.shared)
        return np.minimum(values, classes.sizes)

    def exposed(self, classes: EquivalenceClasses) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the people that break the model by several classes, and the classes in question.

        Parameters
        ----------
        classes
            Classes of at least k people each, in a table of which somebody has rows that are not alike.

        Returns
        -------
        people
            bool[numbers of people]: those of whom too few share a set of classes; see `ListedPeople`.
        classes
            bool[classes]: the classes in such a set.
        """
        counted = classes.counted
        assert counted.frequency.people.listed is not None
        people = np.zeros(counted.frequency.people.listed.numbers, np.bool_)
        weak = np.zeros(len(counted), np.bool_)
        if self.power == 1:
            return people, weak
        for sets in self._known_sets(counted.histories(), len(counted)):
            few = sets.shared < self.k
            weak[sets.classes[few]] = True
            people[sets.owners(few)] = True
        return people, weak

    def _known_sets(self, histories: _Histories, many: int) -> Iterator[_Sets]:
        """Yield the sets of at least two classes that an attacker can know of a person."""
        return _subsets(self.power, histories, many) if self.power else _full_histories(histories, many)


class _Sets(NamedTuple):
    """Sets of equally many classes, and how many people share each.

    Attributes
    ----------
    classes
        int64[sets, size]
    shared
        int64[sets]: people who have rows in all classes of the set.
    set_of_owner, owner
        int64[...] each: a set, and the number of a person who is known by it.
    """

    classes: NDArray[np.int64]
    shared: NDArray[np.int64]
    set_of_owner: NDArray[np.int64]
    owner: NDArray[np.int64]

    def owners(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return self.owner[chosen[self.set_of_owner]]


def _subsets(power: int, histories: _Histories, many: int) -> Iterator[_Sets]:
    """Yield the sets of `power` classes of a person, and smaller full histories, with the people of each."""
    from incrowd.core.kernels.grouping.grouping import group_columns
    from incrowd.core.kernels.people.histories import choose, subsets

    lengths = np.diff(histories[0])
    for size in range(2, power + 1):
        matters = np.ones(len(lengths), np.bool_) if size == power else lengths == size
        if not (matters & (lengths >= size)).any():
            continue
        many_sets = choose(lengths, size).sum()
        if many_sets > _MOST_SETS:
            raise ParameterError(
                f"km-anonymity: {many_sets:,.0f} sets of {size} classes are more than the {_MOST_SETS:,} "
                "that are looked at; lower power, or say power=0 for an attacker who knows all rows"
            )
        sets, counts = subsets(*histories, size)
        ids, first = group_columns(list(sets.T), [many] * size, len(sets))
        owner = np.repeat(np.arange(len(counts)), counts)
        judged = matters[owner]
        shared = np.bincount(ids, minlength=len(first))
        chosen = np.zeros(len(first), np.bool_)
        chosen[ids[judged]] = True
        numbers = np.cumsum(chosen) - 1
        yield _Sets(sets[first[chosen]], shared[chosen], numbers[ids[judged]], owner[judged])


def _full_histories(histories: _Histories, many: int) -> Iterator[_Sets]:
    """Yield the full sets of classes of people, with the people that share all classes of each set."""
    from incrowd.core.kernels.grouping.grouping import group_columns
    from incrowd.core.kernels.people.histories import supersets

    indptr, classes = histories
    lengths = np.diff(indptr)
    by_length: list[_Sets] = []
    for length in np.unique(lengths[lengths > 1]).tolist():
        owner = np.flatnonzero(lengths == length)
        rows = classes[indptr[owner][:, None] + np.arange(length)]
        ids, first = group_columns(list(rows.T), [many] * length, len(rows))
        by_length.append(_Sets(rows[first], np.bincount(ids), ids.astype(np.int64), owner))
    if not by_length:
        return
    sizes = np.concatenate(
        [np.full(len(sets.classes), sets.classes.shape[1], np.int64) for sets in by_length]
    )
    ends = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    flat = np.concatenate([sets.classes.ravel() for sets in by_length])
    just = np.concatenate([sets.shared for sets in by_length]).astype(np.int64)
    shared = supersets(ends, flat, just, many)
    bounds = np.cumsum([len(sets.classes) for sets in by_length])[:-1]
    for sets, people in zip(by_length, np.split(shared, bounds), strict=True):
        yield sets._replace(shared=people)


def lone_histories(classes: EquivalenceClasses) -> int:
    """Count the people with a set of classes that nobody else shares completely."""
    alone = int(((classes.alike > 0) & (classes.sizes == 1)).sum())
    if classes.frequency.people.listed is None:
        return alone
    histories = indptr, members = classes.histories()
    single = members[indptr[:-1][np.diff(indptr) == 1]]
    alone += int((classes.sizes[single] == 1).sum())
    for sets in _full_histories(histories, len(classes)):
        # A set that nobody else shares is the history of a single person.
        alone += int((sets.shared == 1).sum())
    return alone


def _most_rows(frequency: FrequencyTable) -> int:
    """Return the most different rows that a person has."""
    return 1 if frequency.people.listed is None else frequency.people.listed.most_entries


def km_anonymity(table: Any, quasi: Columns, person: str | Sequence[str], *, power: int = 2) -> int:
    """Return the largest k for which a table is k^m-anonymous; see `KMAnonymity` and `reached`.

    Parameters
    ----------
    person
        The columns that name a person.
    """
    return int(reached(KMAnonymity(1, power), table, quasi, person=person))
