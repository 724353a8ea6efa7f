"""Small counts of a table turned into 0 or a base, so that totals change least."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

from incrowd.core.lazy import NDArray, np
from incrowd.release.tables.cells import Axis, with_totals
from incrowd.release.tables.rounding import SECONDS, TOLERANCE, Rounding, check_base

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def round_small_counts(
    finest: NDArray[np.integer], axes: Sequence[Axis], base: int, seconds: float = SECONDS
) -> Rounding:
    """Turn the finest counts 1..base - 1 into 0 or the base so that totals change least; sums hold.

    All other counts stay, and totals are sums of what is released. The distance is that of the totals; of
    roundings that are alike in it, the one nearest to the finest counts is taken.

    Parameters
    ----------
    finest
        integer[leaves of axis 1, leaves of axis 2, ...], 0 or more.
    axes
        The dimensions.
    base
        At least 2.
    seconds
        Time limit. After it the nearest rounding so far is returned, with its gap.

    Returns
    -------
    Rounding
        Of all codes, as `with_totals`.

    Raises
    ------
    ParameterError
        The base is less than 2.

    Examples
    --------
    >>> import numpy as np
    >>> from incrowd.core.hierarchy.tree import Hierarchy
    >>> from incrowd.release.tables.cells import Axis
    >>> towns = Axis("town", Hierarchy.from_nested({"*": ["a", "b", "c"]}))
    >>> rounding = round_small_counts(np.array([1, 2, 7]), [towns], 3)
    >>> rounding.cells, rounding.low, rounding.high
    (array([10,  0,  3,  7]), array([8, 0, 1, 7]), array([12,  2,  3,  7]))
    """
    check_base(base)
    small = (finest > 0) & (finest < base)
    cells = finest.astype(np.int64)
    parts = _parts(axes, np.flatnonzero(small))
    raised, bound = _raised(cells[small], parts, base, seconds)
    distance = int(np.abs(parts @ (base * raised - cells[small])).sum())
    cells[small] = base * raised
    # A released 0 was less than the base, and a released base was 1 or more.
    low, high = np.where(cells == base, 1, cells), np.where(cells == 0, base - 1, cells)
    released, least, most = (with_totals(each, axes).astype(np.int64) for each in (cells, low, high))
    return Rounding(released, least, most, True, distance, min(bound, distance))


def _parts(axes: Sequence[Axis], small: NDArray[np.int64]) -> csr_array:
    """Return which small counts each total has: int64[totals with any, small counts]."""
    from scipy.sparse import csr_array, kron

    sums = []
    for tree in (axis.tree for axis in axes):
        node, leaf = tree.leaves, np.arange(len(tree.leaves))
        pairs = []
        while len(node):
            pairs.append((node, leaf))
            above = tree.parents[node] >= 0
            node, leaf = tree.parents[node[above]], leaf[above]
        where = tuple(np.concatenate(each) for each in zip(*pairs, strict=True))
        sums.append(csr_array((np.ones(len(where[0]), np.int64), where)))
    # A cell asks for a code of each dimension, and has what all of them have: a Kronecker product.
    number = np.arange(prod(each.shape[0] for each in sums)).reshape([each.shape[0] for each in sums])
    totals = np.delete(number.ravel(), number[np.ix_(*(axis.tree.leaves for axis in axes))].ravel())
    parts = csr_array(reduce(kron, sums))[totals][:, small]
    return parts[np.flatnonzero(parts.sum(axis=1))]


def _raised(
    counts: NDArray[np.int64], parts: csr_array, base: int, seconds: float
) -> tuple[NDArray[np.int64], int]:
    """Return which small counts become the base (0 or 1), and a bound of the totals' distance.

    The program has a variable for each small count, and the distance of each total, which is at least what
    the total gains and at least what it loses. The finest counts' own distance weighs less than 1 in all, so
    that it decides between equals only.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import eye_array, hstack

    # Without a program: raise a count whenever the running sum passes half of the base.
    #   counts 1 2 1 1 2, base 3     running 1 3 4 5 7     raised 0 1 0 1 0, as 3 >= 1.5 and 5 >= 4.5
    simple = np.diff((2 * np.cumsum(counts) + base) // (2 * base), prepend=0)
    totals, number = parts.shape
    if not totals:
        return simple, 0
    sums, gains, distances = parts @ counts, base * parts, eye_array(totals)
    weight = 1 / (1 + np.maximum(counts, base - counts).sum())
    found = milp(
        np.concatenate((weight * (base - 2 * counts), np.ones(totals))),
        integrality=np.repeat([1, 0], [number, totals]),
        bounds=Bounds(0, np.repeat([1, np.inf], [number, totals])),
        constraints=[
            LinearConstraint(hstack([gains, -distances]).tocsr(), -np.inf, sums),
            LinearConstraint(hstack([gains, distances]).tocsr(), sums, np.inf),
        ],
        options={"time_limit": max(seconds, 0.0), "mip_rel_gap": 0.0},
    )
    if found.x is None:
        return simple, 0
    solved = np.rint(found.x[:number]).astype(np.int64)
    # Less than 1 of the value is the finest counts' own distance.
    bound = int(max(found.mip_dual_bound + weight * counts.sum(), 0.0) + TOLERANCE)
    far = [np.abs(gains @ each - sums).sum() for each in (solved, simple)]
    return (solved if far[0] <= far[1] else simple), bound
