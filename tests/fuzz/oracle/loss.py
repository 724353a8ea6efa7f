"""The loss of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from fuzz.oracle.cells import NOWHERE, range_of
from fuzz.oracle.values import Column, Key


def width_of(column: Column, live: Sequence[bool]) -> int:
    """Number of leaves, or of distinct values, including the missing value."""
    shaping = {key for key, alive in zip(column.keys, live, strict=True) if alive}
    if column.paths is None:
        return len(shaping)
    return len(column.leaves) + (None in shaping)


def spread(column: Column, keys: Iterable[Key], live: Sequence[bool]) -> Fraction:
    """LM of a class that gets the narrowest cell."""
    distinct = set(keys)
    if len(distinct) == 1:
        return Fraction(0)
    if column.style == "suppress":
        return Fraction(1)
    size = width_of(column, live)
    if column.paths is not None:
        return Fraction(leaves_under(column, distinct, live) - 1, size - 1)
    if not column.ordered:
        return Fraction(len(distinct) - 1, size - 1)
    if None in distinct:
        return Fraction(1)
    known = [
        column.numbers[key] for key, alive in zip(column.keys, live, strict=True) if alive and key is not None
    ]
    inside = [column.numbers[key] for key in distinct]
    if column.grid is not None:
        # As wide as it is written, at most as the column.
        low, high = range_of(column, inside)
        width = (max(known) if high == NOWHERE else high) - (min(known) if low == -NOWHERE else low)
        return min(width / (max(known) - min(known)), Fraction(1))
    return (max(inside) - min(inside)) / (max(known) - min(known))


def leaves_under(column: Column, keys: Iterable[Key], live: Sequence[bool]) -> int:
    """Leaves under the lowest common ancestor."""
    assert column.paths is not None
    keys = list(keys)
    if None in keys:
        return width_of(column, live) if len(set(keys)) > 1 else 1
    chains = [column.paths[key][::-1] for key in keys]
    depth = 0
    while all(len(chain) > depth for chain in chains) and len({chain[: depth + 1] for chain in chains}) == 1:
        depth += 1
    stem = chains[0][:depth]
    under = sum(1 for path in column.leaves if path[::-1][:depth] == stem)
    missing = depth == 1 and None in [key for key, alive in zip(column.keys, live, strict=True) if alive]
    return under + missing
