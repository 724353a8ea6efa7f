"""Cell suppression: suppressing single cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.search.base import SearchProblem, Solution, all_hold
from incrowd.search.local import LocalAlgorithm, unreleasable

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Attribute, Style
    from incrowd.core.table.settings import Wildcards


_MOST_COLUMNS = 12
"""Quasi-identifiers of which all sets are tried."""

_BLOCK = 2**15
"""Keys that are compared with each other."""

_ROUNDS = 8
"""How often keys that fail are made to match more records."""


def with_fewer_stars(problem: SearchProblem, strict: Recoding, algorithm: str) -> Recoding:
    """Suppress the cells that suffice where ``*`` and missing cells match any value.

    Each key has cells of its own. The search goes through the keys, the rarest first. A key that matches too
    few records gets the cheapest set of ``*`` with which it matches enough, and of equal ones the set that
    helps other keys most. Then each key gets the cells back that nobody needs.

    Parameters
    ----------
    strict
        What holds where ``*`` is a value of its own.
    algorithm
        The algorithm.

    Returns
    -------
    `strict`, unless the search finds something that costs less: records times weights of suppressed cells.

    Notes
    -----
    With a further ``*`` no key matches fewer records, unless it is suppressed as a whole. So no key is, and
    the sizes of classes grow until cells are given back. Models that ask for more than sizes are measured.
    The keys that fail have to match more records then, a few times. If some still fail, `strict` is left.
    """
    from incrowd.core.recoding import Local
    from incrowd.core.table.matching import are_wildcards, matched

    frequency, attributes = problem.frequency, problem.attributes
    if (
        not 2 <= len(attributes) <= _MOST_COLUMNS
        or any(attribute.output not in (None, "auto", "suppress") for attribute in attributes)
        or frequency.population is not None
    ):
        return strict
    columns = zip(frequency.domains, frequency.codes, strict=True)
    telling = [~are_wildcards(domain.values)[codes] for domain, codes in columns]
    prices = [attribute.weight for attribute in attributes]
    # In the order of their values, so that the order of the rows decides nothing.
    order = np.lexsort(frequency.codes[::-1])
    parts = np.array_split(order, -(-len(order) // _BLOCK))
    blocks = [_Block(frequency, telling, prices, keys) for keys in parts]
    models = problem.for_classes().models
    need = np.full(frequency.keys, problem.least)
    for turn in range(_ROUNDS):
        for number, (keys, block) in enumerate(zip(parts, blocks, strict=True)):
            problem.progress.advance(number, len(blocks))
            if not block.suppress(need[keys]):
                return strict
            if turn == 0:
                block.give_back(need[keys])
        stars = np.empty((len(attributes), frequency.keys), np.bool_)
        stars[:, order] = np.concatenate([block.stars for block in blocks], axis=1)
        recoding = Local.of_stars(frequency, stars, algorithm)
        classes = recoding.classes(frequency)
        texts = [cells.released[1] for cells in recoding.cells]
        judged = matched(classes, "matches-any", texts)
        failing = np.repeat(~all_hold(models, judged), np.diff(classes.indptr))
        if not failing.any():
            break
        met = np.empty(frequency.keys, np.int64)
        met[order] = np.concatenate([block.met for block in blocks])
        again = classes.members[failing]
        need[again] = np.maximum(need, met)[again] + 2**turn
    else:
        return strict
    measured = (result for model in problem.models for result in model.measure(judged))
    if any(result.holds is False for result in measured):
        return strict
    before, after = (_cost(problem, each) for each in (strict, recoding))
    # At the same cost, what holds by either reading is better.
    return strict if before <= after and not unreleasable(problem, strict) else recoding


def _cost(problem: SearchProblem, recoding: Recoding) -> float:
    """Add up the weights of the suppressed cells of all records."""
    weights = problem.frequency.weights
    columns = zip(problem.attributes, recoding.cells, strict=True)
    return math.fsum(attribute.weight * int(weights[cells.starred].sum()) for attribute, cells in columns)


class _Block:
    """Keys, and the visible cells of each key.

    A set of columns is a number, of which the bit ``j`` stands for column ``j``.

    Parameters
    ----------
    telling
        bool[keys] per column: whether a cell matches nothing but itself.
    prices
        What a suppressed cell of a record costs, per column.
    keys
        The keys of the table that are in the block.

    Attributes
    ----------
    met
        int64[keys]: a lower bound of the records that each key matches.
    """

    def __init__(
        self,
        frequency: FrequencyTable,
        telling: Sequence[NDArray[np.bool_]],
        prices: Sequence[float],
        keys: NDArray[np.int64],
    ) -> None:
        self.codes = [codes[keys] for codes in frequency.codes]
        self.weights = frequency.weights[keys]
        self.met = self.weights.copy()
        self.bits = (1 << np.arange(len(prices))).astype(np.uint16)
        self.sets = np.arange(2 ** len(prices), dtype=np.uint16)
        self.costs = np.zeros(len(self.sets))
        self.whole = np.zeros(len(keys), np.uint16)
        for visible, price, bit in zip(telling, prices, self.bits, strict=True):
            self.whole |= visible[keys] * bit
            self.costs += np.where(self.sets & bit, price, 0.0)
        self.visible = self.whole.copy()

    @property
    def stars(self) -> NDArray[np.bool_]:
        """bool[columns, keys]: the cells that are suppressed."""
        return ((self.whole & ~self.visible) & self.bits[:, None]) > 0

    def suppress(self, need: NDArray[np.int64]) -> bool:
        """Suppress cells until each key matches as many records as needed, and say whether all do."""
        for key in np.argsort(self.weights, kind="stable").tolist():
            if self.met[key] >= need[key]:
                continue
            apart = self._apart(key)
            self.met[key] = self.weights[apart & self.visible[key] == 0].sum()
            if self.met[key] >= need[key]:
                continue
            least = self.whole[key] & ~self.visible[key]
            chosen = self._cheapest(key, apart, least, need)
            if chosen is not None:
                self._put(key, apart, chosen)
            elif not self._join(key, apart, need[key]):
                return False
        return True

    def give_back(self, need: NDArray[np.int64]) -> None:
        """Restore cells of each key while all keys still match enough, the costliest first."""
        while True:
            changed = False
            paid = self.costs[self.whole & ~self.visible] * self.weights
            for key in np.argsort(-paid, kind="stable")[: np.count_nonzero(paid)].tolist():
                hidden = self.whole[key] & ~self.visible[key]
                apart = self._apart(key)
                bound = (apart & self.visible[key] == 0) & (self.met - self.weights[key] < need)
                bound[key] = False
                least = np.bitwise_or.reduce(apart[bound], initial=np.uint16(0))
                if self.costs[least] >= self.costs[hidden]:
                    continue
                chosen = self._cheapest(key, apart, least, need)
                if chosen is not None and self.costs[chosen] < self.costs[hidden]:
                    self._put(key, apart, chosen)
                    changed = True
            if not changed:
                return

    def _apart(self, key: int) -> NDArray[np.uint16]:
        """Return columns where a key's raw cells do not match each key's present cells: uint16[keys]."""
        apart = np.zeros(len(self.weights), np.uint16)
        for codes, bit in zip(self.codes, self.bits, strict=True):
            apart |= (codes != codes[key]) * bit
        return np.asarray(apart & self.visible & self.whole[key])

    def _cheapest(
        self, key: int, apart: NDArray[np.uint16], least: np.uint16, need: NDArray[np.int64]
    ) -> np.uint16 | None:
        """Return the cheapest set to suppress with which a key matches enough, or None.

        Parameters
        ----------
        least
            Columns that have to be among them.
        """
        fits = self._within(apart, self.weights) >= need[key]
        fits &= (self.sets & least == least) & (self.sets & ~self.whole[key] == 0)
        # What shows nothing is suppressed as a whole, and matches nobody.
        fits[self.whole[key]] = False
        able = np.flatnonzero(fits)
        if not len(able):
            return None
        able = able[self.costs[able] == self.costs[able].min()]
        if len(able) > 1:
            others = np.flatnonzero(self.met < need)
            lacking = np.minimum((need - self.met)[others], self.weights[key])
            able = able[self._within(apart[others], lacking)[able].argmax(keepdims=True)]
        return np.uint16(self.sets[able[0]])

    def _within(self, apart: NDArray[np.uint16], amounts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Add up, for each set of columns, the amounts of keys that differ only in that set."""
        sums = np.asarray(np.bincount(apart, amounts, len(self.sets)), np.float64)
        for j in range(len(self.bits)):
            pairs = sums.reshape(-1, 2, 2**j)
            pairs[:, 1] += pairs[:, 0]
        return sums

    def _put(self, key: int, apart: NDArray[np.uint16], hidden: np.uint16) -> None:
        """Suppress exactly some cells of a key."""
        before = apart & self.visible[key] == 0
        self.visible[key] = self.whole[key] & ~hidden
        now = apart & self.visible[key] == 0
        self.met[now & ~before] += self.weights[key]
        self.met[before & ~now] -= self.weights[key]
        self.met[key] = self.weights[now].sum()

    def _join(self, key: int, apart: NDArray[np.uint16], need: int) -> bool:
        """Reduce a key to a single cell and suppress the column in other keys; return False if impossible."""
        best, choice = np.inf, None
        for bit in self.bits[self.visible[key] & self.bits > 0]:
            able = np.flatnonzero((apart & bit > 0) & (self.visible != bit))
            able = able[np.argsort(self.weights[able], kind="stable")]
            lacking = need - self.weights[apart & bit == 0].sum()
            sums = np.cumsum(self.weights[able])
            count = int(np.searchsorted(sums, lacking)) + 1
            if count > len(able):
                continue
            cost = self.costs[self.whole[key] & ~bit] * self.weights[key] + self.costs[bit] * sums[count - 1]
            if cost < best:
                best, choice = cost, (bit, able[:count])
        if choice is None:
            return False
        bit, others = choice
        self._put(key, apart, self.whole[key] & ~bit)
        for other in others.tolist():
            self._put(other, self._apart(other), (self.whole[other] & ~self.visible[other]) | bit)
        return True


_SUBSETS = 4096


@dataclass(frozen=True)
class CellSuppression(LocalAlgorithm):
    """Replaces single cells by ``*`` and leaves all other cells unchanged.

    Example, with k = 2: two records of age 30 have the postal codes 02139 and 02140. Both are released as
    ``30, *``. Two records with age 40 and postal code 02141 keep every cell.

    The search has three steps:

    1. A record keeps every cell if its equivalence class satisfies the models.
    2. The search tries sets of columns to suppress, in rising order of the sum of their weights. So a weight
       is the importance of a column. The remaining records that are alike in all other columns become a
       class, if that class satisfies the models.
    3. Records may be left that no set helps. They are suppressed as a whole if `max_suppression` allows it
       and if this suppresses no more cells. Otherwise they are joined with the class that costs the fewest
       suppressed cells.

    The number of suppressed cells is small, but it is not always the least possible. The least is NP-hard to
    find.

    A suppressed cell ``*`` is a value of its own: an equivalence class has the same cells suppressed.
    sdcMicro's ``kAnon`` reads ``*`` as matching any value. Where the policy does so (``wildcards``), fewer
    cells are suppressed, record by record. That protects less: a person may be the only one who fits a record
    of which a cell is suppressed.

    A quasi-identifier with an output style of its own gets a cell of that style instead of ``*``.

    Parameters
    ----------
    strata
        A quasi-identifier whose cells stay. The models hold within each of its values, as with sdcMicro's
        ``strataVars``.

    References
    ----------
    Local suppression as in Hundepool et al., Statistical Disclosure Control, 2012, section 3.2.3, and in
    Templ, Kowarik and Meindl, Statistical disclosure control for micro-data using the R package sdcMicro,
    JSS 67(4), 2015, section 4.1; Meyerson and Williams, On the complexity of optimal k-anonymity, PODS
    2004.
    """

    strata: str | None = parameter("column in whose values cells are suppressed", kind=str, optional=True)

    name: ClassVar[str] = "cell-suppression"
    summary: ClassVar[str] = "suppresses as few single cells as it can and leaves all others as they are"
    paper: ClassVar[str] = "Templ et al. 2015"
    joins: ClassVar[bool] = False
    by_record: ClassVar[bool] = False
    wildcards: ClassVar[Sequence[Wildcards]] = ("value", "matches-any")

    def search(self, problem: SearchProblem) -> Solution:
        """Search by value, then for fewer cells where ``*`` matches any (see `Algorithm.search`)."""
        if self.strata is not None:
            from incrowd.search.strata import within_strata

            return Solution(within_strata(problem, self.strata, replace(self, strata=None)))
        solution = super().search(problem)
        if problem.wildcards != "matches-any":
            return solution
        return Solution(with_fewer_stars(problem, solution.recoding, self.name))

    def styles(self, attributes: Sequence[Attribute]) -> list[Style]:
        """Return ``suppress`` where the policy asks for nothing else."""
        return [
            "suppress" if attribute.output in (None, "auto") else attribute.output for attribute in attributes
        ]

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Blank set after set of attributes, and then assign the remaining records."""
        from incrowd.core.kernels.grouping.grouping import group_columns
        from incrowd.core.table.classes import EquivalenceClasses
        from incrowd.search._points import costs_of
        from incrowd.search.base import all_hold
        from incrowd.search.local import join_failing

        frequency = problem.frequency
        sizes = [domain.size for domain in frequency.domains]
        class_of_key = np.full(frequency.keys, -1, np.int32)
        remaining = np.arange(frequency.keys)
        count = 0
        tried = list(islice(_column_sets([attribute.weight for attribute in problem.attributes]), _SUBSETS))
        for done, blanked in enumerate(tried):
            visible = [j for j in range(len(sizes)) if j not in blanked]
            of_left, first = group_columns(
                [frequency.codes[j][remaining] for j in visible], [sizes[j] for j in visible], len(remaining)
            )
            ids = np.full(frequency.keys, -1, np.int32)
            ids[remaining] = of_left
            holds = all_hold(problem.models, EquivalenceClasses.from_assignment(frequency, ids, len(first)))
            numbers = np.where(holds, count + np.cumsum(holds) - 1, -1)
            class_of_key[remaining] = numbers[of_left]
            count += int(holds.sum())
            remaining = remaining[~holds[of_left]]
            problem.progress.advance(done, len(tried))
            if not len(remaining):
                return class_of_key, count
        joined = class_of_key.copy()
        joined[remaining] = count + np.arange(len(remaining))
        joined, joined_count = join_failing(
            problem,
            joined,
            count + len(remaining),
            algorithm=self.name,
            costs=costs_of(frequency, problem.attributes, blanks=True),
        )
        suppressed = int(frequency.weights[remaining].sum())
        fits = (suppressed + frequency.suppressed) / frequency.rows <= problem.max_suppression
        if (
            fits
            and count
            and suppressed * len(sizes)
            <= _count_blanked(problem, joined, joined_count) - _count_blanked(problem, class_of_key, count)
        ):
            return class_of_key, count
        return joined, joined_count


def _column_sets(weights: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """List proper subsets of attributes to blank, by total weight, then by size, then in order."""
    width = len(weights)
    if width <= 16:
        every = [blanked for size in range(width) for blanked in combinations(range(width), size)]
        return iter(sorted(every, key=lambda blanked: (math.fsum(weights[j] for j in blanked), len(blanked))))
    return (blanked for size in range(width) for blanked in combinations(range(width), size))


def _count_blanked(problem: SearchProblem, class_of_key: NDArray[np.int32], count: int) -> int:
    """Count the blanked cells of released records."""
    from incrowd.core.kernels.grouping.grouping import group_members
    from incrowd.search._points import class_cells

    indptr, members = group_members(class_of_key, count)
    lows, highs = class_cells(problem.frequency, indptr, members)
    records = np.add.reduceat(problem.frequency.weights[members], indptr[:-1]) if count else np.zeros(0)
    return int(((lows != highs).sum(axis=1) * records).sum())
