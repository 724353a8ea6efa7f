"""Base of searches that keep information on a target column, and that information by value."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.search.base import Algorithm, SearchProblem, Solution, refuse_every_class, refuse_infeasible

if TYPE_CHECKING:
    from incrowd.core.recoding import ValueCells
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable


@dataclass(frozen=True)
class TargetAlgorithm(Algorithm):
    """Base of searches that recode each column by itself, whatever else a record holds."""

    target: str = parameter("the column that the release should predict", kind=str)

    weighted: ClassVar[bool] = False

    def search(self, problem: SearchProblem) -> Solution:
        """Find the cells of all values (see `Algorithm.search`)."""
        from incrowd.core.recoding import SingleDimensional

        frequency = problem.frequency
        refuse_every_class(self.name, problem.models)
        refuse_infeasible(frequency, problem.models)
        cells, in_one_round = [self.value_cells(problem)], np.zeros(frequency.keys, np.int32)
        return Solution(SingleDimensional.build(frequency, cells, in_one_round, self.name))

    @abstractmethod
    def value_cells(self, problem: SearchProblem) -> list[ValueCells]:
        """Return the cells of the values of each quasi-identifier."""


class TargetTable:
    """Frequencies of the target's values by rank of an attribute.

    Figures are in records times bits: the entropy of the target over some records, times their number.
    """

    def __init__(self, frequency: FrequencyTable, position: int) -> None:
        target = frequency.target
        if target is None:
            raise ParameterError(
                f"the column to predict was not counted with column {frequency.domains[position].name!r}; "
                "count the table with target="
            )
        self.values = target.domain.size
        size = frequency.domains[position].size
        key = np.repeat(np.arange(frequency.keys), np.diff(target.keys.indptr))
        cell = frequency.codes[position][key].astype(np.int64) * self.values + target.keys.codes
        counted = np.bincount(cell, target.keys.counts, size * self.values).reshape(size, self.values)
        self.before = np.zeros((size + 1, self.values), np.int64)
        np.cumsum(counted, axis=0, out=self.before[1:])

    def information(self, lo: int, hi: int) -> float:
        """Return the entropy of the target over the ranks ``lo .. hi - 1``, in records times bits."""
        return float(_information(self.before[hi] - self.before[lo]))

    def gain(self, lo: int, hi: int, parts: NDArray[np.int64]) -> float:
        """Return the information gain of dividing ``lo .. hi - 1`` at some first ranks."""
        bounds = np.append(parts, hi)
        return self.information(lo, hi) - float(_information(np.diff(self.before[bounds], axis=0)).sum())

    def best_cut(self, lo: int, hi: int) -> int:
        """Return the rank that cuts ``lo .. hi - 1`` in two with the largest gain, the first in a tie."""
        below = self.before[lo + 1 : hi] - self.before[lo]
        above = self.before[hi] - self.before[lo + 1 : hi]
        return lo + 1 + int(np.argmin(_information(below) + _information(above)))


def _information(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy of rows of counts, times the sums, in bits."""
    total = counts.sum(axis=-1)

    def weighed(x: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(x * np.log2(np.maximum(x, 1)))

    return np.asarray(weighed(total) - weighed(counts).sum(axis=-1))


def children_of(domain: Domain, node: int) -> NDArray[np.int64]:
    """Return the children of a node of the domain's tree, in order."""
    return np.flatnonzero(domain.tree.parents == node)
