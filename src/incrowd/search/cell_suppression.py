"""Cell suppression: suppressing single cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.search.base import SearchProblem, Solution
from incrowd.search.local import LocalAlgorithm

if TYPE_CHECKING:
    from incrowd.core.table.schema import Attribute, Style
    from incrowd.core.table.settings import Wildcards

_SUBSETS = 4096


class CellSuppression(LocalAlgorithm):
    """Replaces single cells by ``*`` and leaves all others as they are.

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

    References
    ----------
    Local suppression as in Hundepool et al., Statistical Disclosure Control, 2012, section 3.2.3, and in
    Templ, Kowarik and Meindl, Statistical disclosure control for micro-data using the R package sdcMicro,
    JSS 67(4), 2015, section 4.1; Meyerson and Williams, On the complexity of optimal k-anonymity, PODS
    2004.
    """

    name: ClassVar[str] = "cell-suppression"
    summary: ClassVar[str] = "suppresses as few single cells as it can and leaves all others as they are"
    paper: ClassVar[str] = "Templ et al. 2015"
    joins: ClassVar[bool] = False
    by_record: ClassVar[bool] = False
    wildcards: ClassVar[Sequence[Wildcards]] = ("value", "matches-any")

    def search(self, problem: SearchProblem) -> Solution:
        """Search by value, then for fewer cells where ``*`` matches any (see `Algorithm.search`)."""
        from incrowd.search._stars import with_fewer_stars

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
        from incrowd.search._joining import join_failing
        from incrowd.search._points import costs_of
        from incrowd.search.base import all_hold

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
