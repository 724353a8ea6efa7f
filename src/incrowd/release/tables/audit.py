"""Intervals of hidden cells: the least and the largest value that fit everything published."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import InfeasibleError, TableError
from incrowd.core.lazy import NDArray, np
from incrowd.core.progress import check
from incrowd.release.tables.cells import Linked

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_END: ContextVar[float] = ContextVar("the end of the time for protection and audit", default=math.inf)
_CUT_SHORT = 1
"""The status of a programme of SciPy that a limit ended."""
NEAR = 1e-6
"""How far a solution of the linear programme may be from a whole number that it stands for."""


@contextmanager
def ending_after(seconds: float) -> Iterator[None]:
    """Let everything here that computes long end after some seconds, with an error.

    A block inside another ends with it at the latest.
    """
    token = _END.set(min(time.monotonic() + seconds, _END.get()))
    try:
        yield
    finally:
        _END.reset(token)


def check_time() -> None:
    """Raise where the job was cancelled, or the time is up.

    Raises
    ------
    InfeasibleError
    """
    check()
    if time.monotonic() > _END.get():
        raise _too_late()


def solver_options() -> dict[str, float]:
    """Return the options of a programme that ends when the time is up, as no check interrupts a programme.

    Raises
    ------
    InfeasibleError
        When it is up already.
    """
    check_time()
    left = _END.get() - time.monotonic()
    return {} if math.isinf(left) else {"time_limit": max(left, 0.01)}


def check_solved(status: int) -> None:
    """Raise where a programme ended because the time was up.

    - `status`: that of SciPy.

    Raises
    ------
    InfeasibleError
    """
    if status == _CUT_SHORT:
        raise _too_late()


def _too_late() -> InfeasibleError:
    return InfeasibleError(
        "no protection was found and audited in time: give more seconds, fewer or coarser codes, or "
        "protect = 'round'"
    )


_MANY, _MISSES = 20, 3
"""Cells that are not open up to which each has a programme of its own, and aims in vain before that."""
_EARLY = 2.0
"""Seconds of a search for any table of whole numbers."""


class Intervals(NamedTuple):
    """The least and the largest value of some cells.

    Attributes
    ----------
    lower, upper
        float64[cells]: the least and the largest value that fit all that is published. ``upper`` is infinite
        where nothing bounds the cell.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @property
    def widths(self) -> NDArray[np.float64]:
        """float64[cells]: the largest value less the least."""
        return self.upper - self.lower


def intervals(
    linked: Linked,
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    cells: NDArray[np.int64],
    *,
    whole: bool = True,
    enough: NDArray[np.float64] | None = None,
) -> Intervals:
    """Compute the interval of each of some cells from all cells together.

    Every table of values that fits the sums and the bounds could be the true one. Two linear programmes a
    cell find the least and the largest value among them. Where values are whole numbers, an end that the
    programme puts between two of them is sought among whole numbers.

    Parameters
    ----------
    linked
        The cells and their sums.
    lower, upper
        float64[all cells]: what is published of each cell. Both are the value where it is published as it is.
        Of a suppressed count they are 0, or 1 where zeros are never suppressed, and infinity.
    cells
        int64[cells]: the cells that are asked for.
    whole
        Whether values are whole numbers, as counts are.
    enough
        float64[cells]: a cell is left alone as soon as it is shown to be as wide. Its interval is then the
        part that was shown.

    Raises
    ------
    TableError
        When no table fits what is published.

    Examples
    --------
    Of two groups by two areas the first group is small in both areas, and one total is known::

        >>> from incrowd.core.hierarchy.tree import Hierarchy
        >>> from incrowd.release.tables.cells import Axis
        >>> tree = Hierarchy.from_nested({"*": ["a", "b"]})
        >>> linked = Linked.of_tables([[Axis("group", tree), Axis("area", tree)]])
        >>> values = np.array([20, 9, 11, 4, 1, 3, 16, 8, 8], float)
        >>> hidden = np.array([4, 5, 7, 8])
        >>> low, high = values.copy(), values.copy()
        >>> low[hidden], high[hidden] = 0, np.inf
        >>> intervals(linked, low, high, hidden)
        Intervals(lower=array([0., 0., 5., 7.]), upper=array([ 4.,  4.,  9., 11.]))
    """
    lower, upper = _deduce(linked, lower, upper)
    least, most = lower[cells].copy(), upper[cells].copy()
    for part in parts_of(linked, lower, upper, whole=whole):
        _, here, there = np.intersect1d(cells, part.cells, return_indices=True)
        need = None if enough is None else enough[here]
        least[here], most[here] = part.extremes(there, need)
    return Intervals(least, most)


@dataclass(frozen=True)
class Part:
    """Unknown cells that sums connect with each other, and with no other unknown cell.

    Attributes
    ----------
    cells
        int64[cells]: their numbers.
    lower, upper
        float64[cells]: what each lies between by itself.
    rows
        int64[rows]: the numbers of the rows of `Linked.rows` that say something of them.
    matrix, least, most
        float64[rows, cells] and float64[rows]: ``least <= matrix @ values <= most``.
    whole
        Whether values are whole numbers.
    """

    cells: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    rows: NDArray[np.int64]
    matrix: csr_array
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    whole: bool

    @cached_property
    def _conditions(self) -> tuple[object, object]:
        from scipy.optimize import Bounds, LinearConstraint

        return LinearConstraint(self.matrix, self.least, self.most), Bounds(self.lower, self.upper)

    def extremes(
        self,
        places: NDArray[np.int64],
        enough: NDArray[np.float64] | None = None,
        fitting: list[NDArray[np.float64]] | None = None,
        is_open: Callable[[int, Intervals], bool] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest value of the cells at some places.

        Parameters
        ----------
        places
            int64[cells]: which of the cells.
        enough
            As in `intervals`.
        fitting
            float64[cells of the part] each: values that are known to fit, such as the true ones. Those that
            are computed here are added.
        is_open
            Says of the number of a cell here and of an interval that was shown whether this is wide enough.
        """
        # Every solution is a table that fits, so it shows a value of each cell. A cell whose bound is among
        # the values shown needs no programme of its own.
        shown = [np.full(len(self.cells), np.inf), np.full(len(self.cells), -np.inf)]
        for each in fitting or ():
            _widen_shown(shown, each)
        bound, ends = (self.lower, self.upper), [np.empty(len(places)) for _ in range(2)]

        def is_wide(number: int, place: int) -> bool:
            if enough is not None and shown[1][place] - shown[0][place] >= enough[number]:
                return True
            here = slice(place, place + 1)
            return is_open is not None and is_open(number, Intervals(shown[0][here], shown[1][here]))

        if enough is not None or is_open is not None:
            self._widen(places, is_wide, shown, fitting)
        for number, place in enumerate(places.tolist()):
            check_time()
            for side in (1, 0):
                if is_wide(number, place) or shown[side][place] == bound[side][place]:
                    ends[side][number] = shown[side][place]
                    continue
                ends[side][number], values = self._extreme(place, side)
                if values is not None:
                    _widen_shown(shown, values)
                    if fitting is not None:
                        fitting.append(values)
        return ends[0], ends[1]

    def _widen(
        self,
        places: NDArray[np.int64],
        is_wide: Callable[[int, int], bool],
        shown: list[NDArray[np.float64]],
        fitting: list[NDArray[np.float64]] | None,
    ) -> None:
        """Show many cells open at once: by tables that fit and are large in some cells, small in others.

        One programme a cell is slow in a large part. So as long as a tenth of the cells that are not open yet
        become so, an aim is drawn that rises in half of them and falls in the others::

            not open   a  b  c  d       aim  a - b - c + d, then b + c - a - d
        """
        draw, ceiling = np.random.default_rng(0), float(self.lower.max(initial=0.0) + 1e3)
        if fitting:
            ceiling += 10 * float(np.max(fitting[0]))
        misses, closed = 0, [pair for pair in enumerate(places.tolist()) if not is_wide(*pair)]
        while len(closed) > _MANY and misses < _MISSES:
            signs = draw.choice([-1.0, 1.0], len(closed))
            for sign in (1, -1):
                check_time()
                aim = np.zeros(len(self.cells))
                aim[[place for _, place in closed]] = sign * signs
                values = self._fit(aim, ceiling)
                if values is not None:
                    _widen_shown(shown, values)
                    if fitting is not None:
                        fitting.append(values)
            left = [pair for pair in closed if not is_wide(*pair)]
            misses += len(left) > 0.9 * len(closed)
            closed = left

    def _fit(self, aim: NDArray[np.float64], ceiling: float) -> NDArray[np.float64] | None:
        """Return the values that fit with the least aim, none above a ceiling; None where there are none."""
        from scipy.optimize import Bounds, milp

        conditions, _ = self._conditions
        bounds = Bounds(self.lower, np.minimum(self.upper, ceiling))
        for among_whole in (False, True)[: 1 + self.whole]:
            # Any table does, so a search among whole ones ends early.
            early = {"time_limit": _EARLY, "mip_rel_gap": 0.2} if among_whole else {}
            solved = milp(
                aim,
                constraints=conditions,
                bounds=bounds,
                integrality=int(among_whole),
                options=solver_options() | early,
            )
            values: NDArray[np.float64] | None = solved.x
            if values is None or not self.whole:
                return values
            rounded = np.round(values)
            if np.abs(values - rounded).max() <= NEAR:
                return rounded
        return None

    def _extreme(self, place: int, side: int) -> tuple[float, NDArray[np.float64] | None]:
        """Return the least (0) or largest (1) value of a cell, and the values of all cells there."""
        value, values = self._solve(place, side, among_whole=False)
        if values is None or not self.whole:
            return value, values
        rounded = np.round(values)
        if np.abs(values - rounded).max() <= NEAR:
            return float(rounded[place]), rounded
        return self._solve(place, side, among_whole=True)

    def _solve(self, place: int, side: int, *, among_whole: bool) -> tuple[float, NDArray[np.float64] | None]:
        from scipy.optimize import milp

        aim = np.zeros(len(self.cells))
        aim[place] = -1 if side else 1
        conditions, bounds = self._conditions
        solved = milp(
            aim,
            constraints=conditions,
            bounds=bounds,
            integrality=int(among_whole),
            options=solver_options(),
        )
        check_solved(solved.status)
        if solved.status == 0:
            values = np.round(solved.x) if among_whole else solved.x
            return float(values[place]), values
        if solved.status == 3 or (solved.status == 4 and np.isinf(self.upper).any() and side):
            return np.inf, None
        raise _contradiction()


def _widen_shown(shown: list[NDArray[np.float64]], values: NDArray[np.float64]) -> None:
    """Widen the shown values of each cell by the values of a solution."""
    np.minimum(shown[0], values, out=shown[0])
    np.maximum(shown[1], values, out=shown[1])


def _deduce(
    linked: Linked, lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute each cell that is the only unknown cell of a sum.

    A cell that is filled in may be the last but one of another sum, so this goes on until no sum is left::

        Total 20 = a 9 + b ?      b = 11
        b 11     = b1 4 + b2 ?    b2 = 7
    """
    matrix, most = linked.rows
    matrix = matrix[np.flatnonzero(most == 0)]
    lower, upper = lower.copy(), upper.copy()
    while True:
        unknown = lower < upper
        row, cell = matrix[:, unknown].nonzero()
        alone = np.flatnonzero(np.bincount(row, minlength=matrix.shape[0]) == 1)
        if not len(alone):
            return lower, upper
        chosen = np.isin(row, alone)
        row, cell = row[chosen], np.flatnonzero(unknown)[cell[chosen]]
        value = -(matrix @ np.where(unknown, 0, lower))[row] / matrix[row, cell]
        if (value < lower[cell] - NEAR).any() or (value > upper[cell] + NEAR).any():
            raise _contradiction()
        lower[cell] = upper[cell] = value


def _contradiction() -> TableError:
    return TableError(
        "no table fits the published cells: some sum does not hold; compare each total with its parts"
    )


def parts_of(
    linked: Linked, lower: NDArray[np.float64], upper: NDArray[np.float64], *, whole: bool
) -> list[Part]:
    """Split the unknown cells into parts that no sum connects."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    unknown = np.flatnonzero(lower < upper)
    matrix, most = linked.rows
    known = lower.copy()
    known[unknown] = 0
    fixed = matrix @ known
    over = matrix[:, unknown].tocoo()
    # Rows and unknown cells as the two sides of a graph.
    size = matrix.shape[0] + len(unknown)
    graph = coo_array((np.ones(over.nnz), (over.row, matrix.shape[0] + over.col)), (size, size))
    _, group = connected_components(graph, directed=False)
    of_row, of_cell = group[: matrix.shape[0]], group[matrix.shape[0] :]
    rows_by, cells_by = np.argsort(of_row, kind="stable"), np.argsort(of_cell, kind="stable")
    parts, over = [], matrix[:, unknown]
    for number in np.unique(of_cell):
        cells = cells_by[slice(*np.searchsorted(of_cell, [number, number + 1], sorter=cells_by))]
        rows = rows_by[slice(*np.searchsorted(of_row, [number, number + 1], sorter=rows_by))]
        chosen = unknown[cells]
        parts.append(
            Part(
                chosen,
                lower[chosen],
                upper[chosen],
                rows,
                over[rows][:, cells],
                -fixed[rows],
                most[rows] - fixed[rows],
                whole,
            )
        )
    return parts
