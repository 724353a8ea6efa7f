"""Count tables rounded to multiples of a base: with sums that hold, cell by cell, or small counts alone.

======================  ==============  ========================  =======================================
function                sums hold       rounds                    people alike in every table
======================  ==============  ========================  =======================================
`round_controlled`      yes             all cells, near           no: each table is rounded by itself
`round_randomly`        no              all cells, at random      yes: a cell's people decide how
`round_small_counts`    yes             cells below the base      no: each table is rounded by itself
`round_to_midpoints`    no              all cells                 yes: the count alone decides
======================  ==============  ========================  =======================================

Each result has what anybody can tell of the true counts from a released one. What sums tell beyond that is
the audit's to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.release.tables.cell_key import uniform
from incrowd.release.tables.cells import Linked

SECONDS = 60.0
TOLERANCE = 1e-6
"""How far the solver's bound of a whole number may be off."""


@dataclass(frozen=True, eq=False)
class Rounding:
    """Rounded cells, with the distance from the true counts and the bounds of true counts.

    Attributes
    ----------
    cells
        int64[...]: the released counts.
    low, high
        int64[...]: the least and the largest true count that each may stand for.
    additive
        Whether every sum of the table holds for the released counts.
    distance
        How far released counts lie from true ones, in all.
    bound
        No rounding of this kind lies nearer. None if nothing was searched for.
    further
        How many multiples beyond the two next to a count were allowed. With 0, multiples stay as they are.
    """

    cells: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    additive: bool
    distance: int
    bound: int | None = None
    further: int = 0

    @property
    def gap(self) -> float | None:
        """Share of the distance that a better rounding might save: 0 is proven to be the best."""
        return None if self.bound is None else (self.distance - self.bound) / max(self.distance, 1)


def round_controlled(
    counts: NDArray[np.integer], linked: Linked, base: int, seconds: float = SECONDS
) -> Rounding:
    """Round all cells to multiples of the base so that sums hold and the total distance is least.

    A multiple of the base stays, and any other count goes to one of the two next to it. Tables of three or
    more dimensions may have no such rounding. Then further multiples are allowed: one more on each side, two
    more, four, and so on.

    Parameters
    ----------
    counts
        integer[linked.size], 0 or more.
    linked
        The sums of the table, or of several.
    base
        At least 2.
    seconds
        Time limit. After it the nearest rounding so far is returned, with its gap.

    Raises
    ------
    ParameterError
        The base is less than 2, or no rounding was met in time.

    Examples
    --------
    >>> import numpy as np
    >>> from incrowd.core.hierarchy.tree import Hierarchy
    >>> from incrowd.release.tables.cells import Axis, Linked
    >>> towns = [Axis("town", Hierarchy.from_nested({"*": ["a", "b"]}))]
    >>> rounding = round_controlled(np.array([3, 1, 2]), Linked.of_tables([towns]), 3)
    >>> rounding.cells, rounding.distance, rounding.gap
    (array([3, 0, 3]), 2, 0.0)
    """
    check_base(base)
    end = monotonic() + seconds
    further = 0
    while (steps := _controlled_steps(counts, linked, base, further, end - monotonic())) is None:
        further = max(2 * further, 1)
    multiples, bound = steps
    cells = base * multiples
    distance = int(np.abs(cells - counts).sum())
    return Rounding(cells, *_near(cells, base, further), True, distance, min(bound, distance), further)


def _controlled_steps(
    counts: NDArray[np.integer], linked: Linked, base: int, further: int, seconds: float
) -> tuple[NDArray[np.int64], int] | None:
    """Return the multiples of the base for all cells and a bound of their distance; None if there are none.

    A count starts at the multiple below it. The program chooses whether to go to the one above, and how many
    steps beyond either. What a step adds to the distance never falls from left to right, so no solution
    wants steps out of order::

        base 5, count 8      0 ------ 5 --*---- 10 ------ 15
                             steps  +5     -1       +5           (10 is nearer by 1)
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import hstack

    matrix, most = linked.rows
    below, rest = np.divmod(counts.astype(np.int64), base)
    between = np.flatnonzero(rest)
    changes, costs, highest = [matrix[:, between]], [base - 2 * rest[between]], [np.ones(len(between))]
    if further:
        size = linked.size
        changes += [matrix, -matrix]
        costs += [np.full(2 * size, base)]
        highest += [np.full(size, further), np.minimum(below, further)]
    elif not len(between):
        return below, 0
    start = matrix @ below
    found = milp(
        np.concatenate(costs),
        integrality=np.ones(sum(map(len, highest))),
        bounds=Bounds(0, np.concatenate(highest)),
        constraints=LinearConstraint(hstack(changes).tocsr(), -start, most - start),
        options={"time_limit": max(seconds, 0.0), "mip_rel_gap": 0.0},
    )
    if found.status == 2:
        return None
    if found.x is None:
        raise ParameterError(
            "controlled rounding: no rounding whose sums hold was met in time; allow more seconds, take "
            "coarser codes, or round at random"
        )
    steps = np.rint(found.x).astype(np.int64)
    multiples = below.copy()
    multiples[between] += steps[: len(between)]
    if further:
        up, down = np.split(steps[len(between) :], 2)
        multiples += up - down
    return multiples, int(np.ceil(max(found.mip_dual_bound + rest.sum(), 0.0) - TOLERANCE))


def round_randomly(counts: NDArray[np.integer], keys: NDArray[np.uint64], base: int) -> Rounding:
    """Round each cell by itself to a neighbouring multiple of the base, chosen by the key of the cell.

    A count of 7 goes to 5 with odds 3/5 and to 10 with odds 2/5, so that it stays 7 on average. Cells of the
    same people have the same key and go the same way in every table. Sums do not hold.

    Parameters
    ----------
    counts
        integer[...], 0 or more.
    keys
        uint64, same shape: `cell_keys`.
    base
        At least 2.

    Raises
    ------
    ParameterError
        The base is less than 2.

    Examples
    --------
    >>> import numpy as np
    >>> round_randomly(np.array([7, 7, 10]), np.array([0, 2**63, 0], np.uint64), 5).cells
    array([10,  5, 10])
    """
    check_base(base)
    below, rest = np.divmod(counts.astype(np.int64), base)
    cells = base * (below + (uniform(keys) * base < rest))
    return Rounding(cells, *_near(cells, base), False, int(np.abs(cells - counts).sum()))


def round_to_midpoints(counts: NDArray[np.integer], base: int) -> Rounding:
    """Round each cell by itself to the middle of the interval of the count; 0 stays.

    With base 6 the intervals are 1 to 6, 7 to 12, and so on. Nothing is left to chance. Sums do not hold.

    Parameters
    ----------
    counts
        integer[...], 0 or more.
    base
        At least 2: how many counts an interval has.

    Raises
    ------
    ParameterError
        The base is less than 2.

    Examples
    --------
    >>> import numpy as np
    >>> rounding = round_to_midpoints(np.array([0, 1, 6, 7]), 6)
    >>> rounding.cells, rounding.low, rounding.high
    (array([0, 3, 3, 9]), array([0, 1, 1, 7]), array([ 0,  6,  6, 12]))
    """
    check_base(base)
    high = -(-counts.astype(np.int64) // base) * base
    cells, low = (np.maximum(high - less, 0) for less in (base // 2, base - 1))
    return Rounding(cells, low, high, False, int(np.abs(cells - counts).sum()))


def _near(
    cells: NDArray[np.int64], base: int, further: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bounds of counts less than a base, and `further` bases more, away from released counts."""
    most = (further + 1) * base - 1
    return np.maximum(cells - most, 0), cells + most


def check_base(base: int) -> None:
    """Raise for a base of less than 2."""
    if base < 2:
        raise ParameterError(f"rounding: base={base} changes nothing; take 2 or more")
