"""Agglomerative clustering with a local search: the local recoding that loses least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.search.base import SearchProblem
from incrowd.search.local import LocalAlgorithm
from incrowd.search.mondrian import Mondrian

if TYPE_CHECKING:
    from incrowd.core.kernels.clusters.keyed_classes import Cells, Points
    from incrowd.search._points import PricedKeys

_CLASSES = 40
"""Classes that a block should have at least, so that there is something to choose from."""
_JOINED = 50_000
"""Keys up to which the blocks for joining and for exchanging are the same."""
_SMALLEST = 0.1
"""Share of such a block that keys are joined in at least."""
_LARGEST_BLOCK = 10_000
"""Keys of a block above which all keys are not compared with each other any more."""
_SWEEP = 300_000_000
"""Keys times nodes of a sweep."""
_FEWEST_NODES, _MOST_NODES = 2_000, 15_000
"""Least number of nodes for which a sweep pays, and the largest number that a sweep visits."""
_WORTH_IMPROVING = 1.05
"""Relative cost of a sweep's classes up to which these are improved."""


@dataclass(frozen=True)
class Agglomerative(LocalAlgorithm):
    """Joins the keys that lose least into classes, then moves, swaps and rebuilds until nothing helps.

    Example with k = 2: the ages 30, 31, 33 and 34 become the classes 30-31 and 33-34. To join 31 and 33 would
    be as cheap as a first step. But it leaves 30 and 34, which lie far apart; then a swap mends it.

    - **Join.** Every distinct key begins as a class. A class of fewer than k records asks for the class that
      it is cheapest to join. Of all unions the cheapest one happens, and so on, until every class has k
      records. A union costs what the loss LM of all its records grows by, per record, k records at most.
    - **Sweep.** Another beginning: the combinations of levels of all hierarchies, the cheapest first. At each
      one the keys that are left are grouped, and groups of k records are classes. It is taken where it costs
      less, in tables of few enough keys.
    - **Exchange.** A key moves to the class where it costs less, or changes places with one of that class. A
      class is taken apart if its keys cost less elsewhere, or split in two if that costs less.
    - **Rebuild.** A class and its five nearest ones are taken apart and built anew, one class of k records
      after the other. If that costs less, it stays.
    - **Blocks.** Keys are compared within blocks of some thousands, which are cut at medians, where a cut
      saves most. Each further round cuts other blocks and improves the classes in them. Above 50,000 keys,
      keys are joined in smaller blocks, down to a tenth: joining would take most of the time.

    Categories without a hierarchy are released as sets, and every value of a set counts.

    Every step keeps k records in each class, and none makes the loss larger. Classes that fail another model
    are joined with the nearest ones. Mondrian's classes are taken if they cost less in the end, or if too
    many records would be suppressed otherwise.

    Parameters
    ----------
    block
        About how many keys are compared with each other. More keys lose less and take longer.
    rounds
        How often other blocks are cut and improved, after the first.

    References
    ----------
    Gionis, Mazza and Tassa, k-Anonymization revisited, ICDE 2008 (agglomerative algorithms). Rebuilding a
    part of a solution is large neighbourhood search: Shaw 1998; Schrimpf et al., Record breaking optimization
    results using the ruin and recreate principle, 2000.
    """

    block: int = parameter("about how many keys are compared with each other", kind=int, default=2500, low=10)
    rounds: int = parameter("how often other blocks are improved after the first", kind=int, default=3, low=0)

    name: ClassVar[str] = "agglomerative"
    summary: ClassVar[str] = "joins keys at the least loss, then exchanges and rebuilds; loses least"
    paper: ClassVar[str] = "after Gionis et al. 2008"
    seeded: ClassVar[bool] = True
    joins: ClassVar[bool] = False
    by_record: ClassVar[bool] = False

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Join, exchange and rebuild, and then compare the result with Mondrian's."""
        from incrowd.search.local import join_failing

        plain = Mondrian(choose="range").assign(problem)
        if not len(problem.attributes):
            return plain
        search = _Search(self, problem, plain[0])
        result = search.run()
        if not problem.open_models:
            return min(result, plain, key=lambda assignment: search.cost(assignment[0]))
        result = join_failing(problem, *result, algorithm=self.name)
        return min(
            result,
            plain,
            key=lambda assignment: (self._excess(problem, *assignment), search.cost(assignment[0])),
        )

    def _excess(self, problem: SearchProblem, class_of: NDArray[np.int32], count: int) -> int:
        """Count the records over the suppression limit in classes that became all `*`."""
        from incrowd.core.recoding import Local
        from incrowd.search.lattice import Limits

        styles = self.styles(problem.attributes)
        recoding = Local.build(problem.frequency, class_of, count, styles, self.name, problem.set_limit)
        suppressed = recoding.suppressed
        limits = Limits.of_problem(problem)
        return max(int(problem.frequency.weights[suppressed].sum()) + limits.before - limits.allowed, 0)


class _Search:
    """State of a search, with new blocks of keys in every round."""

    def __init__(self, settings: Agglomerative, problem: SearchProblem, begin: NDArray[np.int32]) -> None:
        from incrowd.core.kernels.clusters.keyed_classes import Points, tabulate
        from incrowd.search._points import PricedKeys, in_columns

        frequency = problem.frequency
        self.problem = problem
        self.settings = settings
        self.keys: PricedKeys = PricedKeys.of_table(frequency, problem.attributes)
        # What costs most stands first: then few attributes tell that two keys are too far apart.
        ranks, costs = in_columns(self.keys, _by_cost(self.keys))
        self.cells: Cells = tabulate(costs)
        self.points: Points = Points(ranks, frequency.weights)
        self.random = np.random.default_rng(problem.seed)
        each = max(problem.least * frequency.keys // max(frequency.records, 1), 1)
        self.size = max(settings.block, _CLASSES * each)
        # Joining takes most of the time in large blocks. What it loses in small ones, exchanging makes good.
        share = max(min(_JOINED / max(frequency.keys, 1), 1), _SMALLEST)
        self.first = max(int(self.size * share), _CLASSES * each)
        self.begin = begin

    def run(self) -> tuple[NDArray[np.int32], int]:
        """Return the class of each key, and the number of classes."""
        rounds = self.settings.rounds
        class_of = np.full(self.problem.frequency.keys, -1, np.int64)
        if self.size > _LARGEST_BLOCK:
            # All pairs of so many keys would take too long: Mondrian's classes are a beginning.
            class_of = self.begin.astype(np.int64)
            rounds += 1
        else:
            blocks = self._cut(self.points.ranks, self.first, fresh=True)
            self._improve(_with_enough(blocks, self.points.weights, self.problem.least), class_of)
            class_of = self._or_swept(class_of)
        for number in range(rounds):
            self.problem.progress.advance(number + 1, rounds + 1)
            self._improve(self._blocks(class_of), class_of)
        return class_of.astype(np.int32), int(class_of.max(initial=-1)) + 1

    def _or_swept(self, class_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cheaper of the classes and the classes of an improved sweep."""
        from incrowd.search._sweep import swept

        nodes = _SWEEP // max(self.problem.frequency.keys, 1)
        if nodes < _FEWEST_NODES:
            return class_of
        alternative = swept(self.keys, self.problem.least, min(nodes, _MOST_NODES))
        if alternative is None or self.cost(alternative) > _WORTH_IMPROVING * self.cost(class_of):
            return class_of
        self._improve(self._blocks(alternative), alternative)
        return min(class_of, alternative, key=self.cost)

    def _blocks(self, class_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return random blocks of whole classes, as the block of each key."""
        lows, highs, keys = self._classes(class_of)
        each = max(len(class_of) // len(keys), 1)
        return self._cut((lows + highs) // 2, max(self.size // each, 2))[class_of]

    def cost(self, class_of: NDArray[np.integer]) -> int:
        """Return the loss of all records in some classes."""
        from incrowd.core.kernels.grouping.counting import class_sums
        from incrowd.search._points import class_costs

        where = _members(class_of)
        return int(class_costs(self.keys, *where) @ class_sums(*where, self.points.weights))

    def _classes(
        self, class_of: NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the cells of each class, and the number of keys."""
        indptr, members = _members(class_of)
        lows, highs = self._ends(indptr, members)
        return lows, highs, np.diff(indptr)

    def _ends(
        self, indptr: NDArray[np.int64], members: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the lowest and the highest rank of each class in every column."""
        ranks = self.points.ranks[members]
        return np.minimum.reduceat(ranks, indptr[:-1]), np.maximum.reduceat(ranks, indptr[:-1])

    def _cut(self, ranks: NDArray[np.int64], size: int, *, fresh: bool = False) -> NDArray[np.int64]:
        """Return the block of each point, in blocks of at most `size` points.

        A block is cut at the median of the attribute where this saves most.

        Parameters
        ----------
        fresh
            Whether what a cut saves counts as it is; else by chance more or less, for other blocks.
        """
        from incrowd.core.kernels.clusters.keyed_classes import halve

        members = np.arange(len(ranks))
        block_of = np.zeros(len(ranks), np.int64)
        waiting = [(0, len(ranks))]
        blocks = 0
        while waiting:
            start, stop = waiting.pop()
            below = 0
            if stop - start > size:
                factors = np.ones(ranks.shape[1])
                if not fresh:
                    factors[:] = self.random.uniform(0.5, 1.5, len(factors))
                below = halve(ranks, members[start:stop], self.cells, factors)
            if below:
                waiting += [(start, start + below), (start + below, stop)]
            else:
                block_of[members[start:stop]] = blocks
                blocks += 1
        return _split_large(block_of, 4 * size)

    def _improve(self, block_of: NDArray[np.int64], class_of: NDArray[np.int64]) -> None:
        """Improve the classes within each block, in place."""
        from incrowd.core.kernels.clusters.rebuild import Blocks, improve_blocks
        from incrowd.core.kernels.jit import over_ranges

        indptr, keys = _members(block_of)
        seeds = self.random.integers(0, 2**63, len(indptr) - 1, dtype=np.uint64)
        if class_of[0] >= 0:
            class_of[:] = _within(block_of, class_of)
        # The work grows with the square of a block.
        work = np.concatenate(([0], np.cumsum(np.diff(indptr) ** 2)))
        blocks, least = Blocks(indptr, keys, seeds), self.problem.least
        over_ranges(improve_blocks, work, blocks, self.points, self.cells, least, class_of)
        _, class_of[:] = np.unique(block_of * (class_of.max() + 1) + class_of, return_inverse=True)


def _members(number_of: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the keys of each class or block, given the number of each key."""
    from incrowd.core.kernels.grouping.grouping import group_members

    return group_members(number_of, int(number_of.max()) + 1)


def _by_cost(keys: PricedKeys) -> list[int]:
    """Order the attributes by the cost of distant keys, the highest cost first."""
    from incrowd.core.kernels.clusters.costs import cell_costs

    frequency = keys.frequency
    left = np.linspace(0, frequency.keys - 1, 256).astype(np.int64)
    right = left[::-1]
    dear = []
    for j, domain in enumerate(frequency.domains):
        # The other attributes have one value, which costs nothing.
        lows, highs = np.zeros((2, len(left), len(frequency.codes)), np.int64)
        pair = frequency.codes[j][left].astype(np.int64), frequency.codes[j][right].astype(np.int64)
        lows[:, j], highs[:, j] = np.minimum(*pair), np.maximum(*pair)
        cost = int(cell_costs(keys.costs, lows, highs).sum())
        dear.append(cost // max(domain.size - 1, 1) if keys.is_set(j) else cost)
    return sorted(range(len(dear)), key=lambda j: -dear[j])


def _split_large(block_of: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Divide blocks larger than `most` anywhere, since records that are all alike were not cut."""
    order = np.argsort(block_of, kind="stable")
    first = np.searchsorted(block_of[order], block_of[order])
    part = np.empty(len(order), np.int64)
    part[order] = (np.arange(len(order)) - first) // most
    _, numbers = np.unique(block_of * (part.max() + 1) + part, return_inverse=True)
    return np.asarray(numbers, np.int64)


def _with_enough(block_of: NDArray[np.int64], records: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Join neighbouring blocks until each has enough records.

    A cut beside a frequent value can leave few keys. Blocks that come after each other lie near each other.
    """
    number_of = np.zeros(int(block_of.max()) + 1, np.int64)
    number, total = 0, 0
    for block, size in enumerate(np.bincount(block_of, records).astype(np.int64).tolist()):
        number_of[block] = number
        total += size
        if total >= least:
            number, total = number + 1, 0
    # What is left over joins the last one.
    return np.minimum(number_of, max(number - 1, 0))[block_of]


def _within(block_of: NDArray[np.int64], class_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber the classes from 0 in each block, where every class lies in a block."""
    order = np.lexsort((class_of, block_of))
    new = np.ones(len(order), np.bool_)
    new[1:] = class_of[order][1:] != class_of[order][:-1]
    count = np.cumsum(new) - 1
    blocks = block_of[order]
    first = count[np.searchsorted(blocks, blocks)]
    numbers = np.empty(len(order), np.int64)
    numbers[order] = count - first
    return numbers
