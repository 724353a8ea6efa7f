"""Tables connected in a ring, which tell more together than any two of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from incrowd.core.lazy import NDArray, np
from incrowd.release.tables.cells import Axis, Linked

MOST_CELLS = 5_000
"""Combinations of codes, totals included, up to which a ring is computed as a whole."""


def ring_of(tables: Sequence[Sequence[Axis]]) -> list[Axis]:
    """Return the columns of tables connected in a ring, each with the finest codes.

    Age by sex, sex by ill, and age by ill are a ring. Two tables are none, nor is age by sex, sex by ill, and
    ill by area: whatever fits each and the margins that they share fits a whole table of people, too. In a
    ring it need not. If age and sex nearly go together, ill by sex tells ill by age.

    Source: Graham's test for acyclic schemas, as in Beeri et al., On the desirability of acyclic database
    schemes, J. ACM 30(3), 1983.

    Examples
    --------
    >>> from incrowd.core.hierarchy.tree import Hierarchy
    >>> tree = Hierarchy.from_nested({"*": ["0", "1"]})
    >>> age, sex, ill = (Axis(name, tree) for name in ("age", "sex", "ill"))
    >>> [axis.column for axis in ring_of([[age, sex], [sex, ill], [age, ill]])]
    ['age', 'ill', 'sex']
    >>> ring_of([[age, sex], [sex, ill]])
    []
    """
    edges = [{axis.column for axis in axes} for axes in tables]
    while True:
        # A column of one table alone ties it to no other, and a table inside another tells nothing more.
        several = {column for edge in edges for column in edge if sum(column in each for each in edges) > 1}
        inner = [edge & several for edge in edges]
        left = [
            edge
            for place, edge in enumerate(inner)
            if edge and not any(edge < other for other in inner) and edge not in inner[:place]
        ]
        if left == edges:
            break
        edges = left
    return [
        max((axis for axes in tables for axis in axes if axis.column == column), key=lambda a: len(a.codes))
        for column in sorted(set().union(*edges))
    ]


def is_too_large(ring: Sequence[Axis]) -> bool:
    """Say whether a ring has too many combinations to be computed as a whole."""
    return prod(len(axis.codes) for axis in ring) > MOST_CELLS


def with_ring(
    tables: Sequence[Sequence[Axis]],
    linked: Linked,
    overlapping: Iterable[str],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> tuple[Linked, NDArray[np.float64], NDArray[np.float64]]:
    """Return tables beside the whole table of a ring, which nobody publishes, and all bounds.

    They are returned as they are where there is no ring, or one that is too large.

    Parameters
    ----------
    tables
        The dimensions of each table.
    linked
        Their cells and sums.
    overlapping
        Columns of which a person may have several codes.
    low, high
        float64[cells]: the bounds of the cells of the tables alone.
    """
    ring = ring_of(tables)
    if not ring or is_too_large(ring):
        return linked, low, high
    whole = Linked.of_tables([*tables, ring], overlapping, linked.nested)
    further = whole.size - linked.size
    return whole, np.append(low, np.zeros(further)), np.append(high, np.full(further, np.inf))
