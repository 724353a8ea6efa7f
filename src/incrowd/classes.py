"""EquivalenceClasses: keys grouped so that each group looks alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.frequency import FrequencyTable

if TYPE_CHECKING:
    from incrowd.kernels.counting import Counts

__all__ = ["EquivalenceClasses"]


class EquivalenceClasses:
    """The equivalence classes of a table under some recoding.

    Parameters
    ----------
    frequency
        The keys.
    indptr, members
        int64[classes + 1] and int64[...]: the keys of each class; a key that is in none is suppressed.

    Notes
    -----
    Counts per class are made when they are first asked for: where quasi-identifiers are nearly
    unique they are as long as the data.
    """

    def __init__(
        self, frequency: FrequencyTable, indptr: NDArray[np.int64], members: NDArray[np.int64]
    ) -> None:
        self.frequency = frequency
        self.indptr = indptr
        self.members = members
        self._counts: dict[int, Counts] = {}

    @classmethod
    def of_keys(cls, frequency: FrequencyTable) -> EquivalenceClasses:
        """Every key is a class: the table as it stands."""
        each = np.arange(frequency.keys + 1, dtype=np.int64)
        classes = cls(frequency, each, each[:-1])
        classes._counts = {j: counts.keys for j, counts in enumerate(frequency.sensitive)}
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
            return cls.from_assignment(frequency, ids, len(kept))
        return cls.from_assignment(frequency, ids, len(first))

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
