"""The share of a sensitive value in a class, on which several models are built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.errors import ParameterError
from incrowd.lazy import NDArray, np
from incrowd.parameters import Parameter

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses
    from incrowd.table.frequency import FrequencyTable


VALUE = Parameter(str, "the one sensitive value to protect; every value by default", optional=True)
"""Which sensitive value a model concerns."""


def value_code(frequency: FrequencyTable, position: int, value: str) -> int:
    """Return the rank of a value that a model names.

    Raises
    ------
    ParameterError
        When the sensitive attribute has no such value: a slip of the pen must not count as protection.
    """
    counted = frequency.sensitive[position]
    values = counted.domain.values
    if value not in values or not counted.totals[values.index(value)]:
        raise ParameterError(
            f"the value to protect is none of the {counted.present} values of column {counted.name!r}; "
            "write it as it stands in the table"
        )
    return values.index(value)


def largest_shares(
    classes: EquivalenceClasses, position: int, value: str | None = None
) -> NDArray[np.float64]:
    """Return the share of each class's most frequent value, or of the named one: float64[classes]."""
    counts = classes.counts(position)
    amounts = counts.counts
    if value is not None:
        code = value_code(classes.frequency, position, value)
        amounts = np.where(counts.codes == code, amounts, 0)
    shares: NDArray[np.float64] = np.maximum.reduceat(amounts, counts.indptr[:-1]) / classes.sizes
    return shares
