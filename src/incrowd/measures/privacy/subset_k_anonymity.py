"""k-anonymity for every set of a few quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy.base import IdentityModel, Monotone, PrivacyModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable

_MOST_SUBSETS = 10_000


@dataclass(frozen=True)
class SubsetKAnonymity(IdentityModel):
    """Every combination of cells in m quasi-identifiers belongs to at least k records, or to none.

    The model looks at every set of m quasi-identifiers. With all of them it is k-anonymity, which implies it
    for any m.

    Parameters
    ----------
    k
        Smallest number of records allowed, >= 1.
    of
        How many quasi-identifiers the attacker knows, m >= 1.

    Notes
    -----
    Sets of fewer quasi-identifiers merge groups, which makes these larger. While a search has not decided
    the cells yet, each class counts as a group of its own. This is stricter.

    References
    ----------
    Templ, Kowarik and Meindl, Statistical disclosure control for micro-data using the R package sdcMicro,
    Journal of Statistical Software 67(4), 2015: `localSuppression` with `combs`.
    """

    k: int = parameter("smallest number of records with the same known cells", kind=int, low=1)
    of: int = parameter("how many quasi-identifiers the attacker knows", kind=int, low=1)

    name: ClassVar[str] = "subset-k-anonymity"
    summary: ClassVar[str] = "every combination of cells in m quasi-identifiers is that of at least k records"
    paper: ClassVar[str] = "Templ, Kowarik and Meindl 2015"
    limit_name: ClassVar[str] = "k"
    needs_cells: ClassVar[bool] = True
    unasked: ClassVar[bool] = False
    # `least_size` is 1: a class may be smaller than k, since its records are found with fewer cells only.
    # Full-domain generalization merges groups; suppression makes other classes' groups smaller.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=False)

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return attackers with knowledge of 1 and 2 quasi-identifiers."""
        return (cls(1, 1), cls(1, 2))

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for a k above the number of records, and for too many subsets."""
        if frequency.records < self.k:
            raise ParameterError(
                f"{self.name}: k={self.k} is more than the table's {frequency.records} {frequency.unit}; "
                "lower k"
            )
        check_subsets(self.name, "of", self.of, frequency)

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        return smallest_groups(classes, self.of)


def check_subsets(model: str, setting: str, known: int, frequency: FrequencyTable) -> None:
    """Raise for a number of known quasi-identifiers with too many subsets."""
    subsets = comb(len(frequency.domains), min(known, len(frequency.domains)))
    if subsets > _MOST_SUBSETS:
        raise ParameterError(
            f"{model}: {subsets:,} sets of {known} quasi-identifiers are more than the "
            f"{_MOST_SUBSETS:,} that are looked at; lower {setting}, or name fewer quasi-identifiers"
        )


def groups_of(
    classes: EquivalenceClasses, known: int
) -> Iterator[tuple[NDArray[np.integer], EquivalenceClasses]]:
    """Yield, for each subset of known quasi-identifiers, the group of each class and the merged classes."""
    if classes.codes is None or known >= len(classes.codes):
        yield np.arange(len(classes)), classes
        return
    for subset in combinations(range(len(classes.codes)), known):
        yield classes.subset_groups(subset)


def smallest_groups(classes: EquivalenceClasses, known: int) -> NDArray[np.int64]:
    """Return the size of the smallest group of each class, over all sets of known quasi-identifiers."""
    least = np.full(len(classes), np.iinfo(np.int64).max)
    for group, merged in groups_of(classes, known):
        least = np.minimum(least, merged.sizes[group])
    return least


def subset_k_anonymity(table: Any, quasi: Columns, *, of: int) -> int:
    """Return the largest k of a table over all sets of `of` columns; see `SubsetKAnonymity`, `reached`."""
    return int(reached(SubsetKAnonymity(1, of), table, quasi))
