"""Bottom-up generalization for classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from incrowd.core.lazy import NDArray, np
from incrowd.search.base import SearchProblem, all_hold
from incrowd.search.full_domain import TargetAlgorithm, TargetTable

if TYPE_CHECKING:
    from incrowd.core.recoding import ValueCells
    from incrowd.core.table.frequency import FrequencyTable


class BottomUpGeneralization(TargetAlgorithm):
    """Starts from the raw values and generalizes until the models hold; keeps information on a target column.

    One generalization replaces the children of a node of a hierarchy by this node, in all records. Example:
    the node Europe replaces France and Italy.

    While a model fails, one generalization is carried out:

    - Some generalizations make the smallest class larger. Of these, the search takes the one that loses the
      least information on the target per record gained.
    - If none does, it takes the one that loses the least information on the target.

    A column without hierarchy has one generalization, from its values to ``*``. So give numbers a hierarchy
    of intervals. Ties go to the first attribute, then to the lowest rank. The time grows with the number of
    keys times the nodes of the hierarchies.

    Parameters
    ----------
    target
        The sensitive or insensitive column that the release should predict.

    References
    ----------
    Wang, Yu and Chakraborty, Bottom-up generalization: a data mining solution to privacy protection, ICDM
    2004, section 3 (information loss over anonymity gain).
    """

    name: ClassVar[str] = "bottom-up-generalization"
    summary: ClassVar[str] = "generalizes values, with the least loss of information on a target column"
    paper: ClassVar[str] = "Wang et al. 2004"

    def value_cells(self, problem: SearchProblem) -> list[ValueCells]:
        """Generalize until every model holds."""
        from incrowd.core.kernels.grouping.grouping import group_columns
        from incrowd.core.recoding import node_cells
        from incrowd.core.table.classes import EquivalenceClasses

        frequency = problem.frequency
        cuts = [_Cut(frequency, j) for j in range(len(frequency.domains))]
        nodes = sum(len(cut.tree.parents) for cut in cuts)
        sizes = [len(cut.tree.parents) for cut in cuts]
        done = 0
        while True:
            columns = [cut.node_of[codes] for cut, codes in zip(cuts, frequency.codes, strict=True)]
            ids, first = group_columns(columns, sizes, frequency.keys)
            classes = EquivalenceClasses.from_assignment(frequency, ids, len(first))
            if all_hold(problem.models, classes).all():
                break
            smallest = int(classes.sizes.min())
            weakest = first[classes.sizes == smallest]
            steps = []
            for j, cut in enumerate(cuts):
                ranks = frequency.codes[j][weakest]
                lowest, highest = int(ranks.min()), int(ranks.max())
                for node, loss in cut.open.items():
                    lo, hi = int(cut.tree.lo[node]), int(cut.tree.hi[node])
                    gain = 0
                    # Only where it joins every smallest class with another can the smallest grow.
                    if lo <= lowest and highest < hi:
                        gain = cut.smallest_after(node, columns, sizes, frequency) - smallest
                    steps.append(_Step(gain <= 0, loss / gain if gain > 0 else loss, j, lo, node))
            chosen = min(steps)
            cuts[chosen.attribute].generalize(chosen.node)
            done += 1
            problem.progress.advance(done, nodes)
        return [node_cells(domain, cut.node_of) for domain, cut in zip(frequency.domains, cuts, strict=True)]


class _Step(NamedTuple):
    """A generalization, in the order of preference."""

    idle: bool
    cost: float
    attribute: int
    lo: int
    node: int


class _Cut:
    """The nodes for the values of an attribute.

    Attributes
    ----------
    node_of
        int32[size]: the node of each rank.
    open
        The nodes whose children all stand for values now, with what generalizing to them loses.
    """

    def __init__(self, frequency: FrequencyTable, j: int) -> None:
        self.attribute = j
        self.tree = frequency.domains[j].tree
        self.node_of = self.tree.leaves.astype(np.int32)
        self.table = TargetTable(frequency, j)
        self.records = frequency.records
        self.children: dict[int, list[int]] = {}
        for node, parent in enumerate(self.tree.parents.tolist()):
            if parent >= 0:
                self.children.setdefault(parent, []).append(node)
        standing = set(self.tree.leaves.tolist())
        self.waiting = {node: len(set(below) - standing) for node, below in self.children.items()}
        self.open = {node: self._loss(node) for node, missing in self.waiting.items() if not missing}

    def _loss(self, node: int) -> float:
        parts = np.array([int(self.tree.lo[child]) for child in self.children[node]])
        return self.table.gain(int(self.tree.lo[node]), int(self.tree.hi[node]), parts) / self.records

    def generalize(self, node: int) -> None:
        """Replace all values below a node by the node."""
        self.node_of[self.tree.lo[node] : self.tree.hi[node]] = node
        del self.open[node]
        parent = int(self.tree.parents[node])
        if parent >= 0:
            self.waiting[parent] -= 1
            if not self.waiting[parent]:
                self.open[parent] = self._loss(parent)

    def smallest_after(
        self, node: int, columns: Sequence[NDArray[np.int32]], sizes: Sequence[int], frequency: FrequencyTable
    ) -> int:
        """Return the size of the smallest class after replacing all values below a node by the node."""
        from incrowd.core.kernels.grouping.grouping import group_columns

        lo, hi = self.tree.lo[node], self.tree.hi[node]
        codes = frequency.codes[self.attribute]
        changed = list(columns)
        changed[self.attribute] = np.where((codes >= lo) & (codes < hi), node, columns[self.attribute])
        ids, first = group_columns(changed, sizes, frequency.keys)
        return int(np.bincount(ids, frequency.weights, len(first)).min())
