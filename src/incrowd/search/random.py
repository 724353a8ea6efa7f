"""Random classes: the baseline that every other algorithm should beat."""

from __future__ import annotations

from typing import ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.search.base import SearchProblem
from incrowd.search.local import LocalAlgorithm


class Random(LocalAlgorithm):
    """Shuffles the records and cuts the order into classes of k, where the last class takes the rest.

    k is the least class size that the models can accept. A class that fails a model is joined with its
    nearest. The policy's seed decides the order: records are permuted as ``numpy.random.seed(seed)`` and
    ``numpy.random.shuffle`` permute an array of them.

    References
    ----------
    The baseline of course assignments and of many comparisons; it has no paper of its own. The shuffle is
    that of COMP 430/530 (Koc University, fall 2024), homework 1, part 2.
    """

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "random classes of k records, the baseline to beat"
    paper: ClassVar[str] = "folklore"
    weighted: ClassVar[bool] = False
    seeded: ClassVar[bool] = True

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Cut a random order of the records into runs of k."""
        records = problem.frequency.keys
        order = np.arange(records)
        np.random.RandomState(problem.seed % 2**32).shuffle(order)
        count = max(records // problem.least, 1)
        class_of_row = np.empty(records, np.int32)
        class_of_row[order] = np.minimum(np.arange(records) // problem.least, count - 1)
        return class_of_row, count
