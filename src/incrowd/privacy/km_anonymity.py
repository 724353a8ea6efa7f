"""k^m-anonymity over the classes that a person has rows in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.errors import ParameterError, setting
from incrowd.parameters import parameter
from incrowd.privacy.base import Columns, IdentityModel, Monotone, PrivacyModel, reached

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.table.classes import EquivalenceClasses
    from incrowd.table.frequency import FrequencyTable

__all__ = ["KMAnonymity", "km_anonymity", "lone_histories"]

_MOST_SETS = 50_000_000
"""Sets of classes that are looked at, which take some gigabytes."""


@dataclass(frozen=True)
class KMAnonymity(IdentityModel):
    """Whoever knows some rows of a person still faces at least k people.

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
    classes is known when all of them are.

    References
    ----------
    Terrovitis, Mamoulis and Kalnis, Privacy-preserving anonymization of set-valued data, PVLDB 1(1), 2008,
    definition 1, with equivalence classes as the items and people as the transactions.
    """

    k: int = parameter("smallest number of people allowed", kind=int, low=1)
    power: int = parameter("rows of a person that the attacker knows; 0 for all", kind=int, default=2, low=0)

    name: ClassVar[str] = "km-anonymity"
    summary: ClassVar[str] = "whoever knows several rows of a person faces at least k people"
    paper: ClassVar[str] = "Terrovitis, Mamoulis and Kalnis 2008"
    limit_name: ClassVar[str] = "k"
    unasked: ClassVar[bool] = False
    needs_every_class: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return attackers who know one row, two, three and all."""
        return tuple(cls(1, power) for power in (1, 2, 3, 0))

    @property
    def least_size(self) -> int:
        """A class needs k people, and so k records."""
        return self.k

    @property
    def wildcards(self) -> Sequence[str]:
        """A class is one of a history, so `*` counts as a value."""
        return ("value",)

    @property
    def monotone(self) -> Monotone:
        """A set of merged classes has everybody whom a set of their parts has."""
        return Monotone(generalization=True, suppression=True)

    @property
    def monotone_by_people(self) -> Monotone:
        """It is about people."""
        return self.monotone

    def check_table(self, frequency: FrequencyTable) -> None:
        """Refuse a table without people, a k above their number, and a power above anybody's rows."""
        if frequency.persons is None and frequency.spread is None:
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

    def told(self, frequency: FrequencyTable) -> list[str]:
        """Say where nobody has as many rows as the attacker knows, so that all of them are measured."""
        most = _most_rows(frequency)
        if self.power <= most:
            return []
        return [
            f"km-anonymity: nobody has {self.power} different rows, but {most} at most; "
            f"power={self.power} is measured as power=0 is, for all rows of a person."
        ]

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        """Return for each class the fewest people who share a set of classes that it is in."""
        import numpy as np

        if classes.frequency.spread is None or self.power == 1:
            return classes.sizes
        indptr, of_person = classes.histories()
        many = np.diff(indptr)
        values = classes.sizes.copy()
        # Of a class where everybody has rows elsewhere, the set of it alone matters to nobody.
        alone = np.zeros(len(classes), np.bool_)
        alone[of_person[indptr[:-1][many == 1]]] = True
        alone |= classes.alike > 0
        values[~alone] = np.iinfo(np.int64).max
        if self.power:
            _by_subsets(self.power, indptr, of_person, values)
        else:
            _by_history(indptr, of_person, len(classes), values)
        return np.minimum(values, classes.sizes)


def _by_subsets(
    power: int, indptr: NDArray[np.int64], classes: NDArray[np.int64], values: NDArray[np.int64]
) -> None:
    """Lower the values to the people who share each set of `power` classes, or all of fewer."""
    import numpy as np

    from incrowd.kernels.grouping import group_columns
    from incrowd.kernels.histories import subsets

    many = np.diff(indptr)
    for size in range(2, power + 1):
        matters = np.ones(len(many), np.bool_) if size == power else many == size
        if not (matters & (many >= size)).any():
            continue
        _refuse_sets(many, size)
        sets, counts = subsets(indptr, classes, size)
        ids, first = group_columns(list(sets.T), [len(values)] * size, len(sets))
        shared = np.bincount(ids, minlength=len(first))[ids]
        judged = np.repeat(matters, counts)
        for column in sets.T:
            np.minimum.at(values, column[judged], shared[judged])


def _refuse_sets(many: NDArray[np.int64], size: int) -> None:
    from math import comb

    import numpy as np

    counts, times = np.unique(many, return_counts=True)
    sets = sum(comb(int(count), size) * int(time) for count, time in zip(counts, times, strict=True))
    if sets > _MOST_SETS:
        raise ParameterError(
            f"km-anonymity: {sets:,} sets of {size} classes are more than the {_MOST_SETS:,} that are looked "
            "at; lower power, or say power=0 for an attacker who knows all rows"
        )


def _by_history(
    indptr: NDArray[np.int64], classes: NDArray[np.int64], many: int, values: NDArray[np.int64]
) -> None:
    """Lower the values to the people who share all classes of somebody."""
    import numpy as np

    flat, sizes, shared, _ = _shared(indptr, classes, many)
    np.minimum.at(values, flat, np.repeat(shared, sizes))


def _shared(
    indptr: NDArray[np.int64], classes: NDArray[np.int64], many: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count who shares each history of several classes.

    Returns
    -------
    classes, sizes
        The classes of each history, one after the other, and how many these are: int64[...] each.
    shared, times
        int64[histories]: people who have rows in all of them, and people who have rows in just these.
    """
    import numpy as np

    from incrowd.kernels.grouping import group_columns
    from incrowd.kernels.histories import supersets

    lengths = np.diff(indptr)
    parts, times = [], []
    for length in np.unique(lengths[lengths > 1]).tolist():
        rows = classes[indptr[:-1][lengths == length][:, None] + np.arange(length)]
        ids, first = group_columns(list(rows.T), [many] * length, len(rows))
        parts.append(rows[first])
        times.append(np.bincount(ids))
    none = np.zeros(0, np.int64)
    if not parts:
        return none, none, none, none
    sizes = np.concatenate([np.full(len(part), part.shape[1], np.int64) for part in parts])
    ends = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    flat = np.concatenate([part.ravel() for part in parts])
    just = np.concatenate(times).astype(np.int64)
    return flat, sizes, supersets(ends, flat, just, many), just


def lone_histories(classes: EquivalenceClasses) -> int:
    """Count the people of whom nobody else has rows in all classes of theirs."""
    import numpy as np

    alone = int(((classes.alike > 0) & (classes.sizes == 1)).sum())
    if classes.frequency.spread is None:
        return alone
    indptr, of_person = classes.histories()
    single = of_person[indptr[:-1][np.diff(indptr) == 1]]
    _, _, shared, times = _shared(indptr, of_person, len(classes))
    return alone + int((classes.sizes[single] == 1).sum()) + int(times[shared == 1].sum())


def _most_rows(frequency: FrequencyTable) -> int:
    """Return the most different rows that a person has."""
    return 1 if frequency.spread is None else frequency.spread.most_entries


def km_anonymity(table: Any, quasi: Columns, person: str | Sequence[str], *, power: int = 2) -> int:
    """Return the largest k for which a table is k^m-anonymous; see `KMAnonymity` and `reached`.

    Parameters
    ----------
    person
        The columns that name a person.
    """
    return int(reached(KMAnonymity(1, power), table, quasi, person=person))
