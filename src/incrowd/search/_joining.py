"""Joining of classes that fail a model with others, until none fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.kernels.clusters.costs import Clusters, cell_costs, nearest_class
from incrowd.core.kernels.jit import over_ranges
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.search._points import class_cells, costs_of
from incrowd.search.base import SearchProblem, all_hold, refuse_joins

if TYPE_CHECKING:
    from incrowd.core.kernels.clusters.costs import Costs


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
