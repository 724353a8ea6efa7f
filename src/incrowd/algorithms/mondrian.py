"""Mondrian multidimensional recoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.algorithms.base import Algorithm, Solution, all_hold, least_size
from incrowd.errors import InfeasibleError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.frequency import FrequencyTable
    from incrowd.hierarchy import Hierarchy
    from incrowd.kernels.partition import Axes
    from incrowd.privacy import PrivacyModel
    from incrowd.progress import Progress
    from incrowd.schema import Attribute

__all__ = ["Mondrian"]


@dataclass(frozen=True)
class Mondrian(Algorithm):
    """Strict Mondrian: cut the table in two, again and again, while both sides satisfy the models.

    The attribute whose values are spread widest (relative to its column) is tried first, the next one
    when no cut of it is admissible. Numbers, dates and categories without hierarchy are cut between two
    values so that both sides weigh as nearly alike as can be (the median). A column with a hierarchy is
    cut down it: each child of the common ancestor that satisfies the models on its own goes its way, the
    others stay together under the ancestor. Missing values of a number are parted from the others first.
    Records with the same quasi-identifiers are never parted.

    No record is suppressed: the whole table is the first class.

    References
    ----------
    LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006.
    """

    name: ClassVar[str] = "mondrian"
    summary: ClassVar[str] = "cuts the table at medians and down hierarchies while every side is safe"
    paper: ClassVar[str] = "LeFevre et al. 2006"

    def search(
        self,
        frequency: FrequencyTable,
        models: Sequence[PrivacyModel],
        *,
        attributes: Sequence[Attribute],
        max_suppression: float,
        progress: Progress,
    ) -> Solution:
        """Cut until no cut is admissible; see `Algorithm.search`."""
        import numpy as np

        from incrowd.classes import EquivalenceClasses
        from incrowd.recoding import Local

        whole = EquivalenceClasses.from_assignment(frequency, np.zeros(frequency.keys, np.int32), 1)
        if not all_hold(models, whole).all():
            failing = [str(model) for model in models if not model.holds(whole).all()]
            raise InfeasibleError(
                f"{' and '.join(failing)} fails even when all {frequency.records} records are one class; "
                "loosen that model"
            )
        class_of_key, count = _Search(frequency, models, progress).run()
        styles = [attribute.output or "auto" for attribute in attributes]
        return Solution(Local.build(frequency, class_of_key, count, styles, self.name))


class _Search:
    """The state of one search: keys in an order in which every partition is a run."""

    def __init__(self, frequency: FrequencyTable, models: Sequence[PrivacyModel], progress: Progress) -> None:
        import numpy as np

        from incrowd.frequency import smallest_codes

        self.frequency = frequency
        self.models = models
        self.progress = progress
        self.least = least_size(models)
        # Sizes are checked while cuts are proposed; only other models need another look.
        self.checked = [model for model in models if not model.size_only]
        self.axes = _axes(frequency)
        largest = max((domain.size for domain in frequency.domains), default=1)
        columns = [smallest_codes(codes, largest) for codes in frequency.codes]
        self.codes = np.column_stack(columns) if columns else np.zeros((frequency.keys, 0), np.uint8)
        self.weights = frequency.weights.copy()
        self.keys = np.arange(frequency.keys, dtype=np.int64)
        self.groups = np.zeros(frequency.keys, np.int32)

    def run(self) -> tuple[NDArray[np.int32], int]:
        """Cut until nothing can be cut: class of each key, number of classes."""
        import numpy as np

        starts = np.zeros(1, np.int64)
        stops = np.array([self.frequency.keys], np.int64)
        totals = np.array([self.frequency.records], np.int64)
        finished = [np.zeros(0, np.int64)]
        done = 0
        while len(starts):
            open_ = (totals >= 2 * self.least) & (stops - starts > 1)
            finished.append(starts[~open_])
            done += int((stops - starts)[~open_].sum())
            starts, stops, uncut = self._level(starts[open_], stops[open_], totals[open_])
            finished.append(uncut[0])
            done += int((uncut[1] - uncut[0]).sum())
            totals = self._sums(starts, stops)
            self.progress.advance(done, self.frequency.keys)
        first = np.sort(np.concatenate(finished))
        numbers = np.repeat(
            np.arange(len(first), dtype=np.int32), np.diff(np.append(first, self.frequency.keys))
        )
        class_of_key = np.empty(self.frequency.keys, np.int32)
        class_of_key[self.keys] = numbers
        return class_of_key, len(first)

    def _sums(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up the records of each run of keys."""
        import numpy as np

        before = np.zeros(len(self.weights) + 1, np.int64)
        np.cumsum(self.weights, out=before[1:])
        return before[stops] - before[starts]

    def _level(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64], totals: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Cut every partition once: starts and stops of the parts, and of what could not be cut."""
        import numpy as np

        from incrowd.kernels import partition
        from incrowd.kernels.jit import over_ranges

        shape = (len(starts), self.codes.shape[1])
        lows, highs = np.empty(shape, self.codes.dtype), np.empty(shape, self.codes.dtype)
        order = np.empty(shape, np.int16)
        tried = np.zeros(len(starts), np.int64)
        over_ranges(
            partition.spans, _work(starts, stops), self.codes, starts, stops, self.axes, lows, highs, order
        )
        part_starts, part_stops = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        uncut_starts, uncut_stops = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        while len(starts):
            many = np.zeros(len(starts), np.int64)
            binary = np.zeros(len(starts), np.bool_)
            over_ranges(
                partition.propose, _work(starts, stops), self.codes, self.weights, starts, stops, totals,
                self.axes, lows, highs, order, tried, self.least, self.groups, many, binary,
            )  # fmt: skip
            none = many == 0
            uncut_starts.append(starts[none])
            uncut_stops.append(stops[none])
            some = ~none
            starts, stops, totals, many, binary = (
                array[some] for array in (starts, stops, totals, many, binary)
            )
            lows, highs, order, tried = (array[some] for array in (lows, highs, order, tried))
            cut, begins, ends = self._carry_out(starts, stops, many, binary)
            part_starts.append(begins)
            part_stops.append(ends)
            again = ~cut
            starts, stops, totals = starts[again], stops[again], totals[again]
            lows, highs, order, tried = lows[again], highs[again], order[again], tried[again]
        return (
            np.concatenate(part_starts),
            np.concatenate(part_stops),
            (np.concatenate(uncut_starts), np.concatenate(uncut_stops)),
        )

    def _carry_out(
        self,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        many: NDArray[np.int64],
        binary: NDArray[np.bool_],
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """Make the proposed cuts whose sides satisfy the models: which, and the parts they give."""
        import numpy as np

        from incrowd.kernels import partition
        from incrowd.kernels.jit import over_ranges

        cut = np.zeros(len(starts), np.bool_)
        begins, finishes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        waiting = np.arange(len(starts))
        pooled = np.zeros(len(starts), np.bool_)
        while len(waiting):
            at, to, sides, by_order = starts[waiting], stops[waiting], many[waiting], binary[waiting]
            first_end = np.zeros(len(waiting) + 1, np.int64)
            np.cumsum(sides, out=first_end[1:])
            ends = np.empty(first_end[-1], np.int64)
            over_ranges(
                partition.arrange, _work(at, to), self.codes, self.weights, self.keys, self.groups,
                at, to, sides, ends, first_end,
            )  # fmt: skip
            opens = np.empty_like(ends)
            opens[1:] = ends[:-1]
            opens[first_end[:-1]] = at
            good = np.ones(len(waiting), np.bool_)
            if self.checked:
                holds, sizes = self._check(opens, ends)
                before = sides.copy()
                over_ranges(
                    partition.merge_failing, _work(at, to), at, sides, by_order, ends, first_end, sizes,
                    holds, self.groups, pooled,
                )  # fmt: skip
                good = sides == before
                # Fewer sides are tried again, none at all gives the cut up.
                good &= np.logical_and.reduceat(holds, first_end[:-1])
            kept = np.repeat(good, np.diff(first_end))
            begins.append(opens[kept])
            finishes.append(ends[kept])
            cut[waiting[good]] = True
            many[waiting] = sides
            waiting = waiting[~good & (sides > 0)]
        return cut, np.concatenate(begins), np.concatenate(finishes)

    def _check(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Judge runs of keys as classes: verdicts and sizes."""
        import numpy as np

        from incrowd.classes import EquivalenceClasses

        lengths = stops - starts
        indptr = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        places = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
        classes = EquivalenceClasses(self.frequency, indptr, self.keys[places])
        return all_hold(self.checked, classes), classes.sizes


def _work(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keys before each partition, for sharing the partitions among the cores."""
    import numpy as np

    work = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(stops - starts, out=work[1:])
    return work


def _axes(frequency: FrequencyTable) -> Axes:
    """Lay the domains out for the compiled loops."""
    import numpy as np

    from incrowd.kernels.partition import Axes

    positions: list[Any] = [np.zeros(0)]
    extents: list[float] = []
    ladders: list[Any] = [np.zeros(0, np.int32)]
    trees: list[Hierarchy | None] = []
    for domain in frequency.domains:
        places, extent = np.zeros(0), 0.0
        rungs = np.zeros(0, np.int32)
        if domain.hierarchy is not None:
            tree = domain.hierarchy
            trees.append(tree)
            # Ancestor at depth d = climbed (own depth - d) steps; go up rung by rung from the leaves.
            at = [tree.leaves.astype(np.int32)]
            for depth in range(tree.height - 1, -1, -1):
                climbed = at[-1].copy()
                deeper = tree.depths[climbed] > depth
                climbed[deeper] = tree.parents[climbed[deeper]]
                at.append(climbed)
            rungs = np.concatenate(at[::-1])
        else:
            trees.append(None)
            numbers = domain.numbers if domain.ordered else np.arange(domain.size, dtype=np.float64)
            known = numbers[: domain.missing] if domain.missing >= 0 else numbers
            extent = float(known[-1] - known[0]) if len(known) else 0.0
            places = numbers
        positions.append(places)
        extents.append(extent)
        ladders.append(rungs)

    def starts(parts: Sequence[Any]) -> Any:
        return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)

    nothing = np.zeros(0, np.int32)
    return Axes(
        is_tree=np.array([tree is not None for tree in trees], np.bool_),
        size=np.array([domain.size for domain in frequency.domains], np.int64),
        missing=np.array(
            [-1 if domain.hierarchy is not None else domain.missing for domain in frequency.domains], np.int64
        ),
        offset=starts(positions[1:]),
        positions=np.concatenate(positions),
        extent=np.array(extents, np.float64),
        ladder=starts(ladders[1:]),
        at_depth=np.concatenate(ladders),
        nodes=starts([nothing if tree is None else tree.labels for tree in trees]),
        node_lo=np.concatenate([nothing, *(tree.lo for tree in trees if tree is not None)]),
        node_hi=np.concatenate([nothing, *(tree.hi for tree in trees if tree is not None)]),
        node_depth=np.concatenate([nothing, *(tree.depths for tree in trees if tree is not None)]),
        node_parent=np.concatenate([nothing, *(tree.parents for tree in trees if tree is not None)]),
    )
