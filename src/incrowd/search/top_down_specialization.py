"""Top-down specialization for classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from incrowd.core.lazy import NDArray, np
from incrowd.search.base import SearchProblem, all_hold
from incrowd.search.full_domain import TargetAlgorithm, TargetTable, children_of

if TYPE_CHECKING:
    from incrowd.core.recoding import ValueCells


class TopDownSpecialization(TargetAlgorithm):
    """TDS: starts from ``*`` everywhere and specializes while the models hold; follows a target column.

    One specialization replaces a node of a hierarchy by its children, in all records. Example: France and
    Italy replace Europe. For a number or date, it cuts an interval in two where that tells most of the
    target. A column without hierarchy is specialized from ``*`` to its values.

    Of the specializations after which all models hold, the one with the highest score is carried out. The
    score is the information gain on the target over the fall in size of the smallest class. If that size does
    not fall, the score is the gain itself.

    The search ends when no specialization is left after which all models hold and whose records differ in the
    target. So values that tell nothing of the target stay general. Ties go to the first attribute, then to
    the lowest rank.

    Parameters
    ----------
    target
        The sensitive or insensitive column that the release should predict.

    References
    ----------
    Fung, Wang and Yu, Top-down specialization for information and privacy preservation, ICDE 2005,
    section 3 and algorithm 1.
    """

    name: ClassVar[str] = "top-down-specialization"
    summary: ClassVar[str] = "specializes the values that tell most of a target column"
    paper: ClassVar[str] = "Fung et al. 2005"

    def value_cells(self, problem: SearchProblem) -> list[ValueCells]:
        """Specialize until nothing is left."""
        from incrowd.core.recoding import interval_cells

        frequency = problem.frequency
        state = _State(problem)
        tables = [TargetTable(frequency, j) for j in range(len(frequency.domains))]
        open_ = [
            step
            for j, domain in enumerate(frequency.domains)
            if (step := state.step(tables, j, 0, domain.size)) is not None
        ]
        while open_:
            best: tuple[float, _Step, NDArray[np.int32]] | None = None
            remaining = []
            for step in open_:
                ids, holds, fall = state.after(step)
                if not holds:
                    # Under models that generalizing never hurts, no further specialization helps.
                    if not state.monotone:
                        remaining.append(step)
                    continue
                remaining.append(step)
                score = step.gain / fall if fall else step.gain
                if best is None or score > best[0]:
                    best = score, step, ids
            if best is None:
                break
            _, chosen, ids = best
            state.carry_out(chosen, ids)
            bounds = np.append(chosen.parts, chosen.hi).tolist()
            fresh = [
                step
                for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)
                if (step := state.step(tables, chosen.attribute, lo, hi)) is not None
            ]
            remaining = [step for step in remaining if step is not chosen]
            open_ = sorted(remaining + fresh, key=lambda step: (step.attribute, step.lo))
            most = sum(domain.size for domain in frequency.domains)
            problem.progress.advance(sum(map(len, state.starts)), most)
        return [
            interval_cells(domain, np.array(sorted(starts)))
            for domain, starts in zip(frequency.domains, state.starts, strict=True)
        ]


class _Step(NamedTuple):
    """A cut of the ranks ``lo .. hi - 1`` of an attribute at the first ranks `parts`."""

    attribute: int
    lo: int
    hi: int
    parts: NDArray[np.int64]
    gain: float


class _State:
    """The classes under the present cells, and the classes after a step."""

    def __init__(self, problem: SearchProblem) -> None:
        frequency = problem.frequency
        self.frequency = frequency
        self.checked = problem.open_models
        self.least = problem.least
        self.monotone = all(problem.monotone(model).generalization for model in problem.models)
        self.class_of_key = np.zeros(frequency.keys, np.int32)
        self.sizes = np.array([frequency.records])
        self.starts = [{0} for _ in frequency.domains]

    def step(self, tables: Sequence[TargetTable], j: int, lo: int, hi: int) -> _Step | None:
        """Describe the specialization of some ranks, or None if impossible or useless for the target."""
        domain, table = self.frequency.domains[j], tables[j]
        if hi - lo < 2 or table.information(lo, hi) <= 0:
            return None
        if domain.ordered:
            parts = np.array([lo, table.best_cut(lo, hi)])
        else:
            node = int(domain.ancestors(np.array([lo]), np.array([hi - 1]))[0])
            parts = domain.tree.lo[children_of(domain, node)].astype(np.int64)
        return _Step(j, lo, hi, parts, table.gain(lo, hi, parts) / self.frequency.records)

    def after(self, step: _Step) -> tuple[NDArray[np.int32], bool, int]:
        """Look at the classes after a step.

        Returns
        -------
        The class of every key where all models hold; whether they do; and what the smallest class falls by.
        """
        from incrowd.core.table.classes import EquivalenceClasses

        codes = self.frequency.codes[step.attribute]
        keys = np.flatnonzero((codes >= step.lo) & (codes < step.hi))
        part = np.searchsorted(step.parts, codes[keys], side="right") - 1
        pairs, numbers = np.unique(
            self.class_of_key[keys].astype(np.int64) * len(step.parts) + part, return_inverse=True
        )
        sizes = np.bincount(numbers, self.frequency.weights[keys], len(pairs)).astype(np.int64)
        untouched = np.ones(len(self.sizes), np.bool_)
        untouched[pairs // len(step.parts)] = False
        smallest = int(np.concatenate((sizes, self.sizes[untouched])).min())
        holds = smallest >= self.least
        ids = self.class_of_key
        if holds:
            changed = np.full(self.frequency.keys, -1, np.int32)
            changed[keys] = numbers
            if self.checked:
                classes = EquivalenceClasses.from_assignment(self.frequency, changed, len(pairs))
                holds = bool(all_hold(self.checked, classes).all())
            ids = np.where(changed >= 0, changed + len(self.sizes), self.class_of_key).astype(np.int32)
        return ids, holds, int(self.sizes.min()) - smallest

    def carry_out(self, step: _Step, ids: NDArray[np.int32]) -> None:
        """Replace the classes by the classes after a step."""
        _, numbers = np.unique(ids, return_inverse=True)
        self.class_of_key = numbers.astype(np.int32)
        self.sizes = np.bincount(numbers, self.frequency.weights).astype(np.int64)
        self.starts[step.attribute].update(step.parts.tolist())
