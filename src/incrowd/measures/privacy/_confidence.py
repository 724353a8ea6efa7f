"""The share of a sensitive value in a class, on which several models are built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import Parameter
from incrowd.measures.privacy._parts import part_shares

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


VALUE = Parameter(str, "the one sensitive value to protect; every value by default", optional=True)
"""Which sensitive value a model concerns."""


def value_code(frequency: FrequencyTable, position: int, value: str) -> int | None:
    """Return the rank of a protected value, or None if no record has this value.

    It may be a part of lists, or all records with it are left out.
    """
    counted = frequency.sensitive[position]
    values = counted.domain.values
    if value not in values or not counted.totals[values.index(value)]:
        return None
    return values.index(value)


def check_value(frequency: FrequencyTable, positions: Sequence[int], value: str | None) -> None:
    """Raise for a protected value that a table lacks: a typing error must not count as protection.

    Raises
    ------
    ParameterError
        When a sensitive attribute has neither such a value nor such a part of lists.
    """
    if value is None:
        return
    for position in positions:
        if value_code(frequency, position, value) is None and part_code(frequency, position, value) is None:
            counted = frequency.sensitive[position]
            raise ParameterError(
                f"the value to protect is none of the {counted.present} values of column {counted.name!r}; "
                "write it as it stands in the table"
            )


def part_code(frequency: FrequencyTable, position: int, value: str) -> int | None:
    """Return the code of a protected part of lists, or None if there is no such part."""
    counted = frequency.sensitive[position]
    parts = counted.domain.parts
    if parts is None or value not in parts.names:
        return None
    code = parts.names.index(value)
    return code if counted.part_totals[code] else None


def largest_part_shares(
    classes: EquivalenceClasses, position: int, value: str | None = None
) -> NDArray[np.float64]:
    """Return the share of each class with its most frequent part, or with `value`: float64[classes]."""
    if value is None:
        return part_shares(classes, position)
    code, counts = part_code(classes.frequency, position, value), classes.part_counts(position)
    amounts = np.where(counts.codes == code, counts.counts, 0) if code is not None else counts.counts * 0
    shares: NDArray[np.float64] = np.maximum.reduceat(amounts, counts.indptr[:-1]) / classes.sizes
    return shares


def largest_shares(
    classes: EquivalenceClasses, position: int, value: str | None = None
) -> NDArray[np.float64]:
    """Return the share of each class with its most frequent value, or with `value`: float64[classes]."""
    counts = classes.counts(position)
    amounts = counts.counts
    if value is not None:
        code = value_code(classes.frequency, position, value)
        amounts = np.where(counts.codes == (-1 if code is None else code), amounts, 0)
    shares: NDArray[np.float64] = np.maximum.reduceat(amounts, counts.indptr[:-1]) / classes.sizes
    return shares
