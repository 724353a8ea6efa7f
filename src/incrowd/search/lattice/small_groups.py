"""People of groups that may have too few: once a group has enough, nobody in it is listed any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.kernels.people.small_groups import GroupPeople, join_people
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable


class FewPeople(NamedTuple):
    """The people of groups, as far as they matter for a least size.

    Attributes
    ----------
    people
        The people of each group. Of one that has enough without them the others may not be listed. Under
        a key of the table somebody may be listed several times, under a group once.
    least
        How many people are enough.
    """

    people: GroupPeople
    least: int

    @classmethod
    def of(cls, people: FrequencyTable, least: int) -> FewPeople:
        """List the people of every key."""
        assert people.people.listed is not None
        return cls(GroupPeople(people.weights, people.people.listed.people_of_keys), least)

    @property
    def failing(self) -> NDArray[np.bool_]:
        """The groups that have not enough people: bool[groups]; for groups of keys alone."""
        return self.people.alike + np.diff(self.people.entries.indptr) < self.least

    @property
    def size(self) -> int:
        """Bytes in use."""
        alike, entries = self.people
        return alike.nbytes + entries.indptr.nbytes + entries.items.nbytes

    def rolled(self, ids: NDArray[np.int32], groups: int) -> FewPeople:
        """Return the people of groups of these groups.

        Parameters
        ----------
        ids
            int32[groups below]: the group of each.
        groups
            How many there are now.
        """
        return FewPeople(join_people(ids, groups, self.people, self.least), self.least)
