"""Secondary suppression: the cheapest further cells that keep every suppressed cell from being computed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from incrowd.core.errors import InfeasibleError
from incrowd.core.lazy import NDArray, np
from incrowd.release.tables.audit import (
    NEAR,
    Intervals,
    Part,
    check_solved,
    check_time,
    parts_of,
    solver_options,
)
from incrowd.release.tables.cells import Linked
from incrowd.release.tables.need import Need
from incrowd.release.tables.unions import Breach, Unions


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
    whole_table: NDArray[np.bool_] | None = None,
    unions: Sequence[tuple[Unions, NDArray[np.int64]]] = (),
) -> Suppression:
    """Choose the cells to suppress for the protection of the primary cells.

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
    whole_table
        bool[cells]: cells of a whole table that ties the others together, and is not published. None without.
    unions
        The tables whose unions of hidden cells are asked what each cell is asked, with int64[cells of the
        table]: the number of each of its cells among all.

    Raises
    ------
    InfeasibleError
        When a cell cannot be protected even with every allowed cell suppressed.

    Examples
    --------
    >>> from incrowd.core.hierarchy.tree import Hierarchy
    >>> from incrowd.release.tables.cells import Axis
    >>> tree = Hierarchy.from_nested({"*": ["a", "b"]})
    >>> linked = Linked.of_tables([[Axis("group", tree), Axis("area", tree)]])
    >>> values = np.array([20, 9, 11, 4, 1, 3, 16, 8, 8], float)
    >>> need = Need(values, np.full(9, 3.0), np.zeros(9))
    >>> chosen = suppress(linked, need, values == 1, values, values > 0)
    >>> np.flatnonzero(chosen.hidden), chosen.cost, chosen.optimal
    (array([4, 5, 7, 8]), 19.0, True)
    """
    unpublished = np.zeros(linked.size, np.bool_) if whole_table is None else whole_table
    allowed = allowed | primary | unpublished
    search = _Search(linked, need, primary | unpublished, cost, allowed, unpublished, unions)
    return search.run(time.monotonic() + seconds)


def narrow_together(
    linked: Linked,
    need: Need,
    primary: NDArray[np.bool_],
    hidden: NDArray[np.bool_],
    unions: Sequence[tuple[Unions, NDArray[np.int64]]],
) -> NDArray[np.bool_]:
    """Return the cells told by unsafe unions, or to a person by the cells of that person alone.

    The parameters are those of `suppress`, and a choice of cells that are hidden; bool[cells].
    """
    nothing = np.zeros(linked.size, np.bool_)
    audit = _Search(linked, need, primary, np.ones(linked.size), ~nothing, nothing, unions)
    told = nothing.copy()
    for union, _, _ in audit._breaches(hidden, chains=True):
        told[union] = True
    for _, cells, _ in audit._failing_for_one(hidden):
        told[cells] = True
    return told


@dataclass
class _Search:
    linked: Linked
    need: Need
    primary: NDArray[np.bool_]
    cost: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    unpublished: NDArray[np.bool_]
    """Cells that are hidden whatever is chosen, and need no protection."""
    unions: Sequence[tuple[Unions, NDArray[np.int64]]] = ()
    cuts: list[tuple[NDArray[np.int64], NDArray[np.float64], float]] = field(default_factory=list)
    """Conditions on the choice: ``sum of weights of chosen cells >= least``."""
    _safe: set[bytes] = field(default_factory=set)
    """Parts, by their cells, in which nothing can be computed too closely."""
    _safe_for_one: set[bytes] = field(default_factory=set)
    """Parts, with the cells that a person knows, in which the person computes nothing too closely."""
    _fitting: dict[bytes, list[NDArray[np.float64]]] = field(default_factory=dict)
    """Values that fit all that is published of a part."""

    @cached_property
    def of_one_person(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The cells of a single person, and all cells with that person, by person."""
        return [
            (place[alone], place[own])
            for unions, place in self.unions
            for alone, own in unions.of_one_person()
        ]

    def run(self, deadline: float) -> Suppression:
        if not (self.primary & ~self.unpublished).any():
            return Suppression(self.primary.copy(), 0.0, 0.0)
        self._cut_by_single_sums()
        bound, hidden, took = 0.0, self.primary.copy(), 0.0
        # A search that is cut short has a worse choice than the one before.
        while (left := deadline - (begin := time.monotonic())) > took:
            check_time()
            chosen, least = self._cheapest(left)
            took = time.monotonic() - begin
            bound = max(bound, least)
            if chosen is None:
                break
            hidden = chosen
            if not self._cut(hidden):
                return Suppression(hidden, self._price(hidden), bound)
        hidden = self._repair(hidden)
        return Suppression(hidden, self._price(hidden), bound)

    def _price(self, hidden: NDArray[np.bool_]) -> float:
        return float(self.cost[hidden & ~self.primary].sum())

    def _cheapest(self, seconds: float) -> tuple[NDArray[np.bool_] | None, float]:
        """Return the cheapest choice that meets all conditions so far, and a bound of the cost."""
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
            check_time()
            total, parts = int(self.linked.totals[number]), self.linked.parts[number]
            if self.unpublished[parts].any():
                continue
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

    def _cut(self, hidden: NDArray[np.bool_]) -> bool:
        """Add conditions for all that a choice tells, and say whether there is any."""
        if self._cut_by_unions(hidden, chains=False) | self._cut_by_audit(hidden, self._failing(hidden)):
            return True
        return self._cut_by_unions(hidden, chains=True) | self._cut_by_audit(
            hidden, ((part, cells) for part, cells, _ in self._failing_for_one(hidden))
        )

    def _breaches(self, hidden: NDArray[np.bool_], *, chains: bool) -> Iterator[Breach]:
        """Yield the unsafe unions by the numbers of cells among all, with cells that may be hidden, too."""
        for unions, place in self.unions:
            for union, further, share in unions.breaches(hidden[place], chains=chains):
                cells, more = np.unique(place[union]), place[further]
                if not (able := self.allowed[more]).any() and self.primary[cells].all():
                    raise _hopeless()
                yield Breach(cells, more[able], share[able])

    def _cut_by_unions(self, hidden: NDArray[np.bool_], *, chains: bool) -> bool:
        """Add a condition for each unsafe union: if fully hidden, enough other cells are hidden, too.

        Example: A and B lack half of what C has, and a fifth of what D has, so one of both must be hidden::

            .5 C + .2 D >= A + B - 1        is no condition where A or B is shown
        """
        failing = False
        for union, further, share in self._breaches(hidden, chains=chains):
            failing = True
            weights = np.append(share, -np.ones(len(union)))
            self.cuts.append((np.append(further, union), weights, 1.0 - len(union)))
        return failing

    def _cut_by_audit(
        self, hidden: NDArray[np.bool_], narrow: Iterator[tuple[Part, NDArray[np.int64]]]
    ) -> bool:
        """Add a condition for each suppressed cell that can be computed too closely, if any."""
        everything = np.flatnonzero(~hidden & self.allowed)
        failing = False
        for part, cells in narrow:
            failing = True
            for cell in cells.tolist():
                check_time()
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
            places = np.flatnonzero(~self.unpublished[part.cells])
            cells = part.cells[places]
            enough = None if need.enough is None else need.enough[cells]
            self._fitting[known] = [need.values[part.cells]]

            def is_open(number: int, ends: Intervals, cells: NDArray[np.int64] = cells) -> bool:
                return bool(need.shortfall(cells[number : number + 1], ends)[0] <= NEAR)

            ends = part.extremes(
                places, enough, self._fitting[known], is_open if need.enough is None else None
            )
            cells = cells[need.shortfall(cells, Intervals(*ends)) > NEAR]
            if len(cells):
                yield part, cells
            else:
                self._safe.add(known)

    def _failing_for_one(
        self, hidden: NDArray[np.bool_]
    ) -> Iterator[tuple[Part, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield a part, unsafe cells told to a person by cells of that person alone, and the known cells."""
        need = self.need
        people = [(alone[hidden[alone]], own) for alone, own in self.of_one_person]
        for part in parts_of(self.linked, *need.bounds(hidden), whole=need.whole):
            fitting = self._fitting.setdefault(part.cells.tobytes(), [need.values[part.cells]])
            for alone, own in people:
                check_time()
                known = alone[np.isin(alone, part.cells)]
                key = part.cells.tobytes() + known.tobytes()
                if not len(known) or len(known) == len(part.cells) or key in self._safe_for_one:
                    continue
                places = np.searchsorted(part.cells, known), np.isin(part.cells, own)
                narrow = part.cells[self._narrow_beside(part, *places, fitting)]
                if not len(narrow):
                    self._safe_for_one.add(key)
                    continue
                low, high = need.bounds(hidden)
                low[known] = high[known] = need.values[known]
                for each in parts_of(self.linked, low, high, whole=need.whole):
                    if len(here := np.intersect1d(each.cells, narrow)):
                        yield each, here, known

    def _narrow_beside(
        self,
        part: Part,
        known: NDArray[np.int64],
        own: NDArray[np.bool_],
        fitting: list[NDArray[np.float64]],
    ) -> NDArray[np.int64]:
        """Return the places of a part's unsafe cells that are too narrow given known cells.

        Tables that fit and have the true values there show how open each cell is. A programme is solved only
        for a cell of which they do not show enough. Nobody takes the own part of a cell (`own`) for less than
        it is, so there an interval need not reach far below.
        """
        need, true = self.need, self.need.values[part.cells]
        told = np.array([values for values in fitting if np.allclose(values[known], true[known])])
        low, high = told.min(axis=0), told.max(axis=0)
        lower, upper = part.lower.copy(), part.upper.copy()
        lower[known] = upper[known] = true[known]
        fixed = replace(part, lower=lower, upper=upper)
        asked = self.primary[part.cells] & ~self.unpublished[part.cells]
        asked[known] = False
        narrow = []
        for place in np.flatnonzero(asked):
            cell, here = part.cells[place : place + 1], slice(place, place + 1)
            if need.shortfall(cell, Intervals(low[here], high[here]), above=own[place])[0] <= NEAR:
                continue
            if not need.whole and len(known) == 1:
                pairs = np.array([values[[known[0], place]] for values in fitting])
                mixed = _mixed(pairs, float(true[known[0]]))
                if mixed and need.shortfall(cell, Intervals(*mixed), above=own[place])[0] <= NEAR:
                    continue
            more: list[NDArray[np.float64]] = []
            ends = fixed.extremes(np.array([place]), None, more)
            fitting += more
            for values in more:
                np.minimum(low, values, out=low)
                np.maximum(high, values, out=high)
            if need.shortfall(cell, Intervals(*ends), above=own[place])[0] > NEAR:
                narrow.append(place)
        return np.array(narrow, np.int64)

    def _telling(self, part: Part, cell: int) -> NDArray[np.int64] | None:
        """Return the cells that keep a cell's interval narrow, of which some must be suppressed, too.

        The dual solution of the linear programme is a combination of sums that proves the end of the
        interval. It proves the same while no published cell with a weight in it is suppressed. None where the
        proof is incomplete.
        """
        from scipy.optimize import linprog

        over, exact, floor = part.matrix, part.least == part.most, self.need.floors[part.cells]
        weights, ends = np.zeros(self.linked.size), []
        for sign in (1, -1):
            aim = np.where(part.cells == cell, float(sign), 0.0)
            solved = linprog(
                aim,
                A_eq=over[exact],
                b_eq=part.least[exact],
                A_ub=None if exact.all() else -over[~exact],
                b_ub=None if exact.all() else -part.least[~exact],
                bounds=np.stack([floor, np.full(len(floor), np.inf)], axis=1),
                options=solver_options(),
            )
            check_solved(solved.status)
            if solved.status != 0:
                # Nothing bounds this end, so the other one is what is too near.
                ends.append(-sign * np.inf)
                continue
            duals = np.zeros(len(exact))
            duals[exact] = solved.eqlin.marginals
            if not exact.all():
                duals[~exact] = -solved.ineqlin.marginals
            reduced = aim - over.T @ duals
            proven = duals @ part.least + floor @ reduced
            if reduced.min() < -NEAR or abs(proven - solved.fun) > NEAR * (1 + abs(proven)):
                return None
            ends.append(sign * proven)
            weights += np.abs(self.linked.rows[0][part.rows].T @ duals) > NEAR
        proof = self.need.shortfall(np.array([cell]), Intervals(np.array(ends[:1]), np.array(ends[1:])))
        return np.flatnonzero(weights) if proof[0] > NEAR else None

    def _repair(self, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Suppress further cells until no suppressed cell can be computed too closely."""
        hidden, further = hidden.copy(), 0.0
        while True:
            self._widen(hidden)
            failing = [cell for _, cells in self._failing(hidden) for cell in cells.tolist()]
            before = hidden.sum()
            for apart in self._apart(failing):
                check_time()
                moved = self._cover(hidden, apart, further)
                if moved is None:
                    for cell in apart:
                        hidden |= self._cover_one(hidden, cell, further)
                else:
                    hidden |= moved
            if not failing:
                for _, cells, known in self._failing_for_one(hidden):
                    for cell in cells.tolist():
                        failing.append(cell)
                        hidden |= self._cover_one(hidden, cell, further, known)
                if not failing and not self._widen(hidden, chains=True):
                    return hidden
            # A change by parts of a person may hide nothing among whole people: then a larger one is sought.
            lacking = float(np.maximum(self.need.width[failing], self.need.slack[failing]).max(initial=0.0))
            further = max(2 * further, 0.1 * lacking, 1.0) if hidden.sum() == before else 0.0

    def _widen(self, hidden: NDArray[np.bool_], *, chains: bool = False) -> bool:
        """Suppress cells that make unsafe unions larger, the cheapest first; say if any were."""
        before = hidden.sum()
        while found := list(self._breaches(hidden, chains=chains)):
            for breach in found:
                if hidden[breach.further].any():
                    # What an earlier one suppressed may be enough, as the next look at all tells.
                    continue
                order = np.argsort(self.cost[breach.further] / breach.help, kind="stable")
                if not len(order):
                    raise _hopeless()
                enough = 1 + np.searchsorted(np.cumsum(breach.help[order]), 1.0)
                hidden[breach.further[order[:enough]]] = True
        return bool(hidden.sum() > before)

    def _apart(self, cells: list[int]) -> list[list[int]]:
        """Share cells out so that no two of a group are in the same sum.

        The cheapest change of the table that moves all cells of a group is then mostly those that move each::

            a ? + b 3 = 7       two changes beside each other, one programme
            c ? + d 5 = 9
        """
        matrix = self.linked.rows[0].tocsc()
        groups: list[list[int]] = []
        sums: list[set[int]] = []
        for cell in cells:
            check_time()
            own = {*matrix.indices[matrix.indptr[cell] : matrix.indptr[cell + 1]].tolist()}
            place = next((place for place, taken in enumerate(sums) if not taken & own), len(sums))
            if place == len(sums):
                groups.append([])
                sums.append(set())
            groups[place].append(cell)
            sums[place] |= own
        return groups

    def _cover_one(
        self,
        hidden: NDArray[np.bool_],
        cell: int,
        further: float,
        known: NDArray[np.int64] | None = None,
    ) -> NDArray[np.bool_]:
        """Return the cells of the cheapest change of the table that moves a cell as far as required.

        - `known`: int64[cells]: cells that the change must leave as they are.
        """
        for far, falls in ((False, False), (True, False), (True, True)):
            moved = self._cover(hidden, [cell], further, known, far=far, falls=falls)
            if moved is not None:
                return moved
        raise _hopeless()

    def _cover(
        self,
        hidden: NDArray[np.bool_],
        cells: list[int],
        further: float,
        known: NDArray[np.int64] | None = None,
        *,
        far: bool = False,
        falls: bool = False,
    ) -> NDArray[np.bool_] | None:
        """Return the cells of the cheapest change of the table that moves some cells as far as required.

        A cell rises, or `falls`. It moves by what its fall leaves of its width, or by all of it (`far`). None
        where no change moves all.
        """
        from scipy.optimize import linprog
        from scipy.sparse import hstack

        matrix, most = self.linked.rows
        need, exact = self.need, most == 0
        able = self.allowed | hidden
        able[[] if known is None else known] = False
        free = np.flatnonzero(able)
        over = hstack([matrix[:, free], -matrix[:, free]]).tocsr()
        spare = (matrix @ need.values)[~exact]
        price = np.tile(np.where(hidden[free], 1e-6, self.cost[free]), 2)
        down = np.maximum(need.values[free] - need.floors[free], 0)
        places = np.searchsorted(free, cells)
        lower, upper = np.zeros((2, len(free))), np.stack([np.full(len(free), np.inf), down])
        far = far or not need.whole
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
            options=solver_options(),
        )
        check_solved(solved.status)
        if solved.status != 0:
            return None
        moved = np.zeros(self.linked.size, np.bool_)
        moved[free[solved.x.reshape(2, -1).max(axis=0) > NEAR]] = True
        return moved


def _mixed(
    fitting: NDArray[np.float64], true: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the least and the largest value of a cell among mixtures of tables in which another one is true.

    Two tables that fit, mixed, fit as well. The known cell is 3; it is 1 in one table and 7 in the other::

        known  other
            1     40      2/3 of this one and 1/3 of the next have 3, and 30
            7     10

    - `fitting`: float64[tables, 2]: the known cell, and the other one.
    """
    away, value = fitting[:, 0] - true, fitting[:, 1]
    below, above = np.flatnonzero(away < 0), np.flatnonzero(away > 0)
    if not (len(below) and len(above)):
        return None
    down, up = -away[below][:, None], away[above]
    mixtures = (value[below][:, None] * up + value[above] * down) / (up + down)
    exact = value[away == 0]
    return (
        np.array([min(mixtures.min(), exact.min(initial=np.inf))]),
        np.array([max(mixtures.max(), exact.max(initial=-np.inf))]),
    )


def _hopeless() -> InfeasibleError:
    return InfeasibleError(
        "a small cell can be computed even if every other cell is suppressed: use fewer or coarser rows and "
        "columns, or protect = 'round'"
    )
