"""People of groups that may have too few: once a group has enough, nobody in it is listed any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.people import Entries, first_entries_below, list_entries

if TYPE_CHECKING:
    from incrowd.table.frequency import FrequencyTable

__all__ = ["FewPeople"]


class FewPeople(NamedTuple):
    """The people of groups, as far as they matter for a least size.

    Attributes
    ----------
    alike
        int64[groups]: people whose rows are all alike; at least `least` where a group has enough people.
    spread
        The other people of each group that has not enough, each once.
    least
        How many people are enough.
    """

    alike: NDArray[np.int64]
    spread: Entries
    least: int

    @classmethod
    def of(cls, people: FrequencyTable, least: int) -> FewPeople:
        """List the people of every key."""
        assert people.spread is not None
        every = cls(people.weights, people.spread.people_of_keys, least)
        return every.rolled(np.arange(people.keys + 1, dtype=np.int64), np.arange(people.keys))

    @property
    def failing(self) -> NDArray[np.bool_]:
        """The groups that have not enough people: bool[groups]."""
        return self.alike + np.diff(self.spread.indptr) < self.least

    @property
    def size(self) -> int:
        """Bytes in use."""
        return self.alike.nbytes + self.spread.indptr.nbytes + self.spread.items.nbytes

    def rolled(self, indptr: NDArray[np.int64], members: NDArray[np.int64]) -> FewPeople:
        """Return the people of classes of groups.

        Parameters
        ----------
        indptr, members
            int64[classes + 1] and int64[...]: the groups of each class.
        """
        alike, first, found = first_entries_below(indptr, members, self.alike, self.spread, self.least)
        ends, listed = list_entries(indptr, members, self.spread.indptr, first, found)
        return FewPeople(alike, Entries(ends, self.spread.items[listed], self.spread.many), self.least)
