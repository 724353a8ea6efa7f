"""Classes of which all records share a part of a list, whether the column declares lists or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.lazy import np
from incrowd.core.table.parts import Parts

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


class SharedParts(NamedTuple):
    """How many classes share a part: all of their records have it.

    Attributes
    ----------
    sharing, classes
        The classes whose records share a part, and all classes.
    share
        The share of the records (people, where people are counted) that are in such classes, in [0, 1].
    """

    sharing: int
    classes: int
    share: float


def shared_parts(classes: EquivalenceClasses, attribute: int, separator: str) -> SharedParts:
    """Count the classes whose records share a part of a sensitive attribute, declared as a list or not.

    Example: the five records of a class have the cells ``F32``, ``F32;E11``, ``I10;F32``, ``F32;I10`` and
    ``F32;J45``. The texts are five, and all records share F32.

    Parameters
    ----------
    classes
        The classes; where people are counted, these are looked at.
    attribute
        Position of the sensitive attribute in the frequency table.
    separator
        The text between the parts of a cell.
    """
    counted = classes.counted
    if not len(counted):
        return SharedParts(0, 0, 0.0)
    domain = counted.frequency.sensitive[attribute].domain
    counts = counted.part_counts(attribute, Parts.of(domain.values, separator))
    sharing = np.maximum.reduceat(counts.counts, counts.indptr[:-1]) == counted.sizes
    share = counted.within(sharing) / max(counted.records, 1)
    return SharedParts(int(np.count_nonzero(sharing)), len(counted), share)
