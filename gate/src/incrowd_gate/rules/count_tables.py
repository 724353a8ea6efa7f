"""Points of count tables: much of a table is hidden, or two quantities tell each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from incrowd_gate import wording
from incrowd_gate.points import Point

_MUCH, _MANY = 1 / 3, 30
"""A table of which more is hidden than this share, and at least so many cells, has a point."""


class Quantity(NamedTuple):
    """The quantity of a count table.

    - `columns`: the columns that it counts.
    - `sum`: the number that is summed in place of counting; None where it counts.
    - `constant`: whether each person has the same part of the sum. Only the raw table tells.
    """

    columns: frozenset[str]
    sum: str | None = None
    constant: bool = False


def hidden_share(hidden: int, cells: int) -> float | None:
    """Return the share of hidden cells among cells with people; None if too low for a point."""
    return hidden / cells if hidden >= _MANY and hidden > _MUCH * cells else None


def points_of_sums(quantities: Iterable[Quantity]) -> Iterator[Point]:
    """Yield a point for each number with sums in a table, and with counts that another table tells."""
    every = list(quantities)
    counts = [each for each in every if each.sum is None]
    for column, constant in dict.fromkeys((each.sum, each.constant) for each in every):
        if column is None:
            continue
        if any(column in each.columns for each in counts):
            yield wording.linked_columns(column, f"the counts of {column} in another table tell its sums")
        elif constant and counts:
            yield wording.linked_columns(
                column, f"{column} has one value, so its sums are counts, which another table has"
            )
