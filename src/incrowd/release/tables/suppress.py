"""Secondary suppression: the cheapest further cells that keep every suppressed cell from being computed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from incrowd.core.errors import InfeasibleError
from incrowd.core.lazy import NDArray, np
from incrowd.core.progress import check
from incrowd.release.tables.audit import NEAR, Intervals, Part, parts_of
from incrowd.release.tables.cells import Linked
from incrowd.release.tables.need import Need


@dataclass(frozen=True)
class Suppression:
    """Cells that are not published.

    Attributes
    ----------
    hidden
        bool[cells]: all of them, primary and secondary.
    cost
        The cost of the secondary cells.
    bound
        No choice of secondary cells costs less than this.
    """

    hidden: NDArray[np.bool_]
    cost: float
    bound: float

    @property
    def optimal(self) -> bool:
        """Whether no choice costs less."""
        return self.cost <= self.bound + NEAR

    @property
    def gap(self) -> float:
        """By how much a cheaper choice may cost less, as a share of the cost, 0..1."""
        return 0.0 if self.optimal else (self.cost - self.bound) / self.cost


def suppress(
    linked: Linked,
    need: Need,
    primary: NDArray[np.bool_],
    cost: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    *,
    seconds: float = 30.0,
) -> Suppression:
    """Choose the cells that are suppressed to protect those that must be.

    An integer programme chooses the cheapest cells that meet the conditions known so far. The audit then
    looks at what can be computed. Each cell that can be computed too closely becomes a further condition, by
    the sums that gave it away. With no such cell left, the choice is the cheapest that there is.

    When the time is up, what is still lacking is added cell by cell, each time by the cheapest change of
    the table that hides the cell.

    Parameters
    ----------
    linked
        The cells and their sums.
    need
        What the intervals must leave open.
    primary
        bool[cells]: the cells that must not be published.
    cost
        float64[cells]: what it costs to suppress each, above 0.
    allowed
        bool[cells]: the cells that may be suppressed for the sake of others.
    seconds
        Time for the search of the cheapest choice, above 0.

    Raises
    ------
    InfeasibleError
        When a cell cannot be protected even with every allowed cell suppressed.

    Examples
    --------
    >>> from incrowd.core.hierarchy.tree import Hierarchy
    >>> from incrowd.release.tables.cells import Axis
    >>> tree = Hierarchy.from_nested({"*": ["a", "b"]})
    >>> linked = Linked.of([[Axis("group", tree), Axis("area", tree)]])
    >>> values = np.array([20, 9, 11, 4, 1, 3, 16, 8, 8], float)
    >>> need = Need(values, np.full(9, 3.0), np.zeros(9))
    >>> chosen = suppress(linked, need, values == 1, values, values > 0)
    >>> np.flatnonzero(chosen.hidden), chosen.cost, chosen.optimal
    (array([4, 5, 7, 8]), 19.0, True)
    """
    search = _Search(linked, need, primary, cost, allowed | primary)
    return search.run(time.monotonic() + seconds)


@dataclass
class _Search:
    linked: Linked
    need: Need
    primary: NDArray[np.bool_]
    cost: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    cuts: list[tuple[NDArray[np.int64], NDArray[np.float64], float]] = field(default_factory=list)
    """Conditions on the choice: ``sum of weights of chosen cells >= least``."""
    _safe: set[bytes] = field(default_factory=set)
    """Parts, by their cells, in which nothing can be computed too closely."""

    def run(self, deadline: float) -> Suppression:
        if not self.primary.any():
            return Suppression(self.primary.copy(), 0.0, 0.0)
        self._cut_by_single_sums()
        bound, hidden, took = 0.0, self.primary.copy(), 0.0
        # A search that is cut short has a worse choice than the one before.
        while (left := deadline - (begin := time.monotonic())) > took:
            check()
            chosen, least = self._cheapest(left)
            took = time.monotonic() - begin
            bound = max(bound, least)
            if chosen is None:
                break
            hidden = chosen
            if not self._cut_by_audit(hidden):
                return Suppression(hidden, self._price(hidden), bound)
        hidden = self._repair(hidden)
        return Suppression(hidden, self._price(hidden), bound)

    def _price(self, hidden: NDArray[np.bool_]) -> float:
        return float(self.cost[hidden & ~self.primary].sum())

    def _cheapest(self, seconds: float) -> tuple[NDArray[np.bool_] | None, float]:
        """Return the cheapest choice that meets all conditions so far, and a bound of its cost."""
        if not self.cuts:
            return self.primary.copy(), 0.0
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        lengths = [len(cells) for cells, _, _ in self.cuts]
        matrix = csr_array(
            (
                np.concatenate([weights for _, weights, _ in self.cuts]),
                np.concatenate([cells for cells, _, _ in self.cuts]),
                np.concatenate([[0], np.cumsum(lengths)]),
            ),
            (len(self.cuts), self.linked.size),
        )
        least = np.array([least for _, _, least in self.cuts])
        price = np.where(self.primary, 0.0, self.cost)
        solved = milp(
            price,
            constraints=LinearConstraint(matrix, least, np.inf),
            bounds=Bounds(self.primary.astype(float), self.allowed.astype(float)),
            integrality=1,
            options={"time_limit": max(seconds, 0.1)},
        )
        if solved.status == 2:
            raise _hopeless()
        bound = 0.0 if solved.mip_dual_bound is None else float(solved.mip_dual_bound)
        return None if solved.x is None else solved.x > 0.5, bound

    def _cut_by_single_sums(self) -> None:
        """Add the conditions that each sum sets by itself.

        Of a sum with a suppressed part another cell is suppressed, too. If its total is published, the
        suppressed parts are known together. So what they have above their floor is at least the width::

            12 = ? + ? + 9        the two are 3 together: each is from 0 to 3, so the width is 3
        """
        need, exact = self.need, np.flatnonzero(self.linked.exact)
        above = np.maximum(need.values - need.floors, 0)
        by_width = need.width - above
        lacking = np.maximum(np.where(by_width > need.slack, by_width, need.slack), 0)
        for number in exact.tolist():
            total, parts = int(self.linked.totals[number]), self.linked.parts[number]
            parts = parts[self.allowed[parts]]
            if total in parts:
                continue
            everything = np.append(parts, total) if self.allowed[total] else parts
            for cell in everything.tolist():
                others = everything[everything != cell]
                self.cuts.append((np.append(others, cell), np.append(np.ones(len(others)), -1.0), 0.0))
                if cell != total and lacking[cell] > 0:
                    weights = np.where(
                        others == total, lacking[cell], np.minimum(above[others], lacking[cell])
                    )
                    self.cuts.append((np.append(others, cell), np.append(weights, -lacking[cell]), 0.0))

    def _cut_by_audit(self, hidden: NDArray[np.bool_]) -> bool:
        """Add a condition for each suppressed cell that can be computed too closely, if there is one."""
        everything = np.flatnonzero(~hidden & self.allowed)
        failing = False
        for part, cells in self._failing(hidden):
            failing = True
            for cell in cells.tolist():
                check()
                further = self._telling(part, cell)
                if further is None:
                    # What whole numbers alone give away has no such proof: any other cell may help.
                    further = everything
                further = further[~hidden[further] & self.allowed[further]]
                if not len(further) and self.primary[cell]:
                    raise _hopeless()
                self.cuts.append((np.append(further, cell), np.append(np.ones(len(further)), -1.0), 0.0))
        return failing

    def _failing(self, hidden: NDArray[np.bool_]) -> Iterator[tuple[Part, NDArray[np.int64]]]:
        """Yield each part of the table that has cells which can be computed too closely, with the cells."""
        need = self.need
        for part in parts_of(self.linked, *need.bounds(hidden), whole=need.whole):
            # Most parts are as they were before the last conditions.
            if (known := part.cells.tobytes()) in self._safe:
                continue
            enough = None if need.enough is None else need.enough[part.cells]
            ends = part.extremes(np.arange(len(part.cells)), enough, need.values[part.cells])
            cells = part.cells[need.shortfall(part.cells, Intervals(*ends)) > NEAR]
            if len(cells):
                yield part, cells
            else:
                self._safe.add(known)

    def _telling(self, part: Part, cell: int) -> NDArray[np.int64] | None:
        """Return the cells that keep a cell's interval narrow: one of them must be suppressed, too.

        The dual solution of the linear programme is a combination of sums that proves the end of the
        interval. It proves the same while no published cell with a weight in it is suppressed. None where the
        proof is incomplete.
        """
        from scipy.optimize import linprog

        over, exact = part.matrix, part.least == part.most
        weights, ends, floors = np.zeros(self.linked.size), [], self.need.floors[part.cells]
        for sign in (1, -1):
            aim = np.where(part.cells == cell, float(sign), 0.0)
            solved = linprog(
                aim,
                A_eq=over[exact],
                b_eq=part.least[exact],
                A_ub=None if exact.all() else -over[~exact],
                b_ub=None if exact.all() else -part.least[~exact],
                bounds=np.stack([floors, np.full(len(floors), np.inf)], axis=1),
            )
            if solved.status != 0:
                # Nothing bounds this end, so the other one is what is too near.
                ends.append(-sign * np.inf)
                continue
            duals = np.zeros(len(exact))
            duals[exact] = solved.eqlin.marginals
            if not exact.all():
                duals[~exact] = -solved.ineqlin.marginals
            reduced = aim - over.T @ duals
            proven = duals @ part.least + floors @ reduced
            if reduced.min() < -NEAR or abs(proven - solved.fun) > NEAR * (1 + abs(proven)):
                return None
            ends.append(sign * proven)
            weights += np.abs(self.linked.rows[0][part.rows].T @ duals) > NEAR
        proof = self.need.shortfall(np.array([cell]), Intervals(np.array(ends[:1]), np.array(ends[1:])))
        return np.flatnonzero(weights) if proof[0] > NEAR else None

    def _repair(self, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Suppress further cells until no suppressed cell can be computed too closely."""
        hidden, further = hidden.copy(), 0.0
        while failing := [cell for _, cells in self._failing(hidden) for cell in cells.tolist()]:
            before = hidden.sum()
            for apart in self._apart(failing):
                check()
                moved = self._cover(hidden, apart, further)
                if moved is None:
                    for cell in apart:
                        hidden |= self._cover_one(hidden, cell, further)
                else:
                    hidden |= moved
            # A change by parts of a person may hide nothing among whole people: then a larger one is sought.
            further = further + 1 if hidden.sum() == before else 0.0
        return hidden

    def _apart(self, cells: list[int]) -> list[list[int]]:
        """Share cells out so that no two of one group are in the same sum.

        The cheapest change of the table that moves all cells of a group is then mostly those that move each::

            a ? + b 3 = 7       two changes beside each other, one programme
            c ? + d 5 = 9
        """
        matrix = self.linked.rows[0].tocsc()
        groups: list[list[int]] = []
        sums: list[set[int]] = []
        for cell in cells:
            own = {*matrix.indices[matrix.indptr[cell] : matrix.indptr[cell + 1]].tolist()}
            place = next((place for place, taken in enumerate(sums) if not taken & own), len(sums))
            if place == len(sums):
                groups.append([])
                sums.append(set())
            groups[place].append(cell)
            sums[place] |= own
        return groups

    def _cover_one(self, hidden: NDArray[np.bool_], cell: int, further: float) -> NDArray[np.bool_]:
        """Return the cells of the cheapest change of the table that moves a cell as far as it must."""
        for far, falls in ((False, False), (True, False), (True, True)):
            moved = self._cover(hidden, [cell], further, far=far, falls=falls)
            if moved is not None:
                return moved
        raise _hopeless()

    def _cover(
        self,
        hidden: NDArray[np.bool_],
        cells: list[int],
        further: float,
        *,
        far: bool = False,
        falls: bool = False,
    ) -> NDArray[np.bool_] | None:
        """Return the cells of the cheapest change of the table that moves some cells as far as they must.

        A cell rises, or `falls`. It moves by what its fall leaves of its width, or by all of it (`far`). None
        where no change moves all.
        """
        from scipy.optimize import linprog
        from scipy.sparse import hstack

        matrix, most = self.linked.rows
        need, exact = self.need, most == 0
        free = np.flatnonzero(self.allowed | hidden)
        over = hstack([matrix[:, free], -matrix[:, free]]).tocsr()
        spare = (matrix @ need.values)[~exact]
        price = np.tile(np.where(hidden[free], 1e-6, self.cost[free]), 2)
        down = np.maximum(need.values[free] - need.floors[free], 0)
        places = np.searchsorted(free, cells)
        lower, upper = np.zeros((2, len(free))), np.stack([np.full(len(free), np.inf), down])
        width = need.width[cells] if far else np.maximum(need.width[cells] - down[places], 1)
        move = np.maximum(width, need.slack[cells]) + further
        if falls and (down[places] < move).any():
            return None
        lower[int(falls), places] = move
        upper[int(not falls), places] = 0
        upper[int(falls), places] = move if falls else np.inf
        solved = linprog(
            price,
            A_eq=over[exact],
            b_eq=np.zeros(exact.sum()),
            A_ub=None if exact.all() else -over[~exact],
            b_ub=None if exact.all() else spare,
            bounds=np.stack([lower.ravel(), upper.ravel()], axis=1),
        )
        if solved.status != 0:
            return None
        moved = np.zeros(self.linked.size, np.bool_)
        moved[free[solved.x.reshape(2, -1).max(axis=0) > NEAR]] = True
        return moved


def _hopeless() -> InfeasibleError:
    return InfeasibleError(
        "a small cell can be computed even if every other cell is suppressed: use fewer or coarser rows and "
        "columns, or protect = 'round'"
    )
