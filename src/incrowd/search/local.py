"""The base class of algorithms that put records into classes, and the joining of classes that fail."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.search.base import (
    Algorithm,
    SearchProblem,
    Solution,
    all_hold,
    refuse_every_class,
    refuse_infeasible,
    refuse_joins,
    refuse_pairs,
)

if TYPE_CHECKING:
    from incrowd.core.kernels.clusters.costs import Costs
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.schema import Attribute, Style


def join_failing(
    problem: SearchProblem,
    class_of_key: NDArray[np.int32],
    count: int,
    *,
    algorithm: str,
    costs: Costs | None = None,
) -> tuple[NDArray[np.int32], int]:
    """Join every class that fails a model with the nearest class.

    Nearest is where the loss, summed over records, grows least; of equal ones the first. All that fail
    choose at once; a class that holds takes in all that chose it, one that fails takes in one.

    Parameters
    ----------
    class_of_key, count
        int32[keys] and the number of classes; a key with -1 is in none and stays so.
    algorithm
        The algorithm, for errors.
    costs
        What cells cost; the loss metric by default.

    Raises
    ------
    ParameterError
        When so many classes fail that it would take days.
    """
    from incrowd.core.kernels.clusters.costs import Clusters, cell_costs, nearest_class
    from incrowd.core.kernels.jit import over_ranges
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.search._points import class_cells, costs_of

    while True:
        classes = EquivalenceClasses.from_assignment(problem.frequency, class_of_key, count)
        holds = all_hold(problem.models, classes)
        if holds.all() or count == 1:
            return class_of_key, count
        costs = costs or costs_of(problem.frequency, problem.attributes)
        problem.progress.advance(int(holds.sum()), count)
        asking = np.flatnonzero(~holds)
        refuse_joins(algorithm, len(asking), count)
        lows, highs = class_cells(problem.frequency, classes.indptr, classes.members)
        candidates = Clusters(lows, highs, classes.sizes, cell_costs(costs, lows, highs))
        target = np.empty(len(asking), np.int64)
        over_ranges(nearest_class, np.arange(len(asking) + 1) * count, asking, candidates, costs, target)
        into = np.arange(count)
        busy = np.zeros(count, np.bool_)
        for source, goal in zip(asking.tolist(), target.tolist(), strict=True):
            if busy[source] or (busy[goal] and not holds[goal]):
                continue
            busy[source] = busy[goal] = True
            into[source] = goal
        roots, numbers = np.unique(into, return_inverse=True)
        class_of_key = np.where(class_of_key < 0, -1, numbers[class_of_key]).astype(np.int32)
        count = len(roots)


class LocalAlgorithm(Algorithm):
    """Puts records into classes and gives every class the narrowest cells that cover the class.

    What `assign` makes need not satisfy every model: a class that fails one is joined with the class that
    makes the least loss grow least, until all hold. The whole table as one class has to hold.

    Attributes
    ----------
    joins
        Whether that is needed; an algorithm that asks the models itself gives classes that hold.
    by_cluster
        Whether every class of k is compared with all distinct records.
    """

    joins: ClassVar[bool] = True
    by_cluster: ClassVar[bool] = False
    by_record: ClassVar[bool] = True

    def search(self, problem: SearchProblem) -> Solution:
        """Assign classes, and join failing classes with others (see `Algorithm.search`)."""
        from incrowd.core.recoding import Local

        problem = problem.for_classes()
        self.check(problem)
        class_of_key, count = self.assign(problem)
        if self.joins:
            class_of_key, count = join_failing(problem, class_of_key, count, algorithm=self.name)
        styles = self.styles(problem.attributes)
        return Solution(
            Local.build(problem.frequency, class_of_key, count, styles, self.name, problem.set_limit)
        )

    def check(self, problem: SearchProblem) -> None:
        """Refuse models that the algorithm cannot work with, or that no assignment satisfies.

        Raises
        ------
        InfeasibleError, ParameterError
        """
        refuse_every_class(self.name, problem.models)
        for model in problem.models:
            if self.by_record and not model.knows_population(problem.frequency):
                raise ParameterError(
                    f"{self.name} parts records that look alike, so {model.name} cannot say which people of "
                    "the population a class covers; use mondrian or a full-domain algorithm"
                )
        refuse_infeasible(problem.frequency, problem.models)
        pairs = self.pairs_at_most(problem)
        refuse_pairs(self.name, problem.frequency.keys, pairs, "ask for a larger k")

    def pairs_at_most(self, problem: SearchProblem) -> int:
        """Return the number of compared pairs of records, or 0 if irrelevant."""
        frequency = problem.frequency
        clusters = frequency.keys // problem.least
        return clusters * len(frequency.combinations[1]) if self.by_cluster else 0

    def styles(self, attributes: Sequence[Attribute]) -> list[Style]:
        """Return the output style of each quasi-identifier."""
        return [attribute.output or "auto" for attribute in attributes]

    @abstractmethod
    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Put every key into a class: int32[keys] and the number of classes, each of which has a key.

        Every class has at least `SearchProblem.least` records where the table has as many.
        """


def unreleasable(problem: SearchProblem, recoding: Recoding) -> int:
    """Count the records over the suppression limit with `*` throughout, or with too long a set."""
    from incrowd.core.recoding.cells import effective_style
    from incrowd.core.recoding.observed import set_sizes
    from incrowd.search.lattice import Limits

    frequency, limits = problem.frequency, Limits.of_problem(problem)
    suppressed = int(frequency.weights[recoding.suppressed].sum())
    count = max(suppressed + limits.before - limits.allowed, 0)
    for attribute, domain, cells in zip(problem.attributes, recoding.domains, recoding.cells, strict=True):
        if domain.size > problem.set_limit and effective_style(attribute.output or "auto", domain) == "set":
            if domain.hierarchy is None and not domain.ordered:
                # Each value after the first costs as much, so no label has to be read.
                sizes = np.rint(cells.loss * (domain.size - 1)).astype(np.int64) + 1
                long = np.flatnonzero(sizes > max(problem.set_limit, 1))
            else:
                each = set_sizes(domain, cells).items()
                long = np.array([entry for entry, size in each if size > problem.set_limit], np.int64)
            count += int(frequency.weights[np.isin(cells.codes, long) & ~cells.starred].sum())
    return count
