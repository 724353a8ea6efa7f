"""MDAV microaggregation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.search.base import SearchProblem
from incrowd.search.local import LocalAlgorithm

if TYPE_CHECKING:
    from incrowd.search._points import Points, Unused

_BITS = 60


class MDAV(LocalAlgorithm):
    """Gathers k records around the record farthest from the average, then k around the farthest from that.

    While 3k records or more are left, two clusters are made at a time. Of 2k to 3k - 1 records, one cluster
    is made, and the rest is another.

    Distances are Euclidean. Numbers and dates are standardized (each less its mean, over its standard
    deviation) and multiplied by the square root of the attribute's weight. Two different categories are 1
    apart. So are a number and a missing value. The average of categories is the most frequent one.

    Ties go to the lowest index. Distances are rounded to 60 bits. The time grows with the square of the
    number of distinct records, over k.

    Use the output style ``mean`` for microaggregated values. Without it, numbers are released as ranges.

    References
    ----------
    Domingo-Ferrer and Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation,
    Data Mining and Knowledge Discovery 11, 2005, section 3 (MDAV-generic).
    """

    name: ClassVar[str] = "mdav"
    summary: ClassVar[str] = "microaggregation: clusters of k around the records farthest from the average"
    paper: ClassVar[str] = "Domingo-Ferrer and Torra 2005"
    by_cluster: ClassVar[bool] = True

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Cluster the records."""
        from incrowd.search._points import Points, Unused

        points = Points(problem.frequency)
        unused = Unused.of_points(points)
        space = _Space(problem, points, unused)
        k = problem.least
        count = 0

        def gather(centre: int) -> None:
            unused.take(np.array([centre]), count)
            space.leave(np.array([centre]))
            others = unused.nearest(k - 1)
            unused.take(others, count)
            space.leave(others)

        while unused.left >= 3 * k:
            outermost = space.outermost()
            space.aim_at(outermost)
            unused.measure()
            gather(outermost)
            count += 1
            # Distances are still those to the outermost record.
            opposite = unused.farthest()
            space.aim_at(opposite)
            gather(opposite)
            count += 1
            if not count % 32:
                problem.progress.advance(points.records - unused.left, points.records)
        if unused.left >= 2 * k:
            outermost = space.outermost()
            space.aim_at(outermost)
            gather(outermost)
            count += 1
        unused.class_of_row[unused.rest()] = count
        return unused.class_of_row, count + 1


class _Space:
    """The coordinates of the ranks, and the remaining records, for averages."""

    def __init__(self, problem: SearchProblem, points: Points, unused: Unused) -> None:
        frequency = problem.frequency
        self.points = points
        self.unused = unused
        self.first = points.first
        self.ends = list(zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True))
        spots = int(self.first[-1])
        self.attribute_of = np.repeat(np.arange(len(frequency.domains)), np.diff(self.first))
        weight = np.array([attribute.weight for attribute in problem.attributes], np.float64)
        self.weight = weight[self.attribute_of]
        # NaN: a category, or the missing value of a number.
        self.place = np.full(spots, np.nan)
        self.left = np.zeros(spots, np.int64)
        for j, domain in enumerate(frequency.domains):
            here = slice(self.first[j], self.first[j + 1])
            self.left[here] = frequency.totals(j)
            if not domain.ordered:
                continue
            present = ~np.isnan(domain.numbers)
            records = self.left[here][present]
            values = domain.places[present]
            mean = (records * values).sum() / max(records.sum(), 1)
            deviation = np.sqrt((records * (values - mean) ** 2).sum() / max(records.sum(), 1))
            self.place[here][present] = (values - mean) / (deviation or 1.0)
        self.known = ~np.isnan(self.place)
        self.number = np.nan_to_num(self.place)
        # The largest distance that there may be has to fit.
        widest = [
            1.0 + (np.nanmax(part) - np.nanmin(part)) ** 2 if not np.isnan(part).all() else 1.0
            for part in (self.place[a:b] for a, b in self.ends)
        ]
        largest = float(np.dot(weight, widest)) or 1.0
        self.scale = 2.0 ** (_BITS - int(np.ceil(np.log2(largest))) - 1)

    def leave(self, rows: NDArray[np.int64]) -> None:
        """Take records out of the average."""
        np.subtract.at(self.left, self.points.spots[self.points.point_of_row[rows]].ravel(), 1)

    def aim_at(self, row: int) -> None:
        """Aim at a record, with squared distances."""
        spots = self.points.spots[self.points.point_of_row[row]]
        self._aim(self.place[spots], spots)

    def outermost(self) -> int:
        """Return the record farthest from the average of the remaining records."""
        starts = self.first[:-1]
        records = np.add.reduceat(np.where(self.known, self.left, 0), starts)
        sums = np.add.reduceat(np.where(self.known, self.left * self.number, 0.0), starts)
        average = np.where(records > 0, sums / np.maximum(records, 1), np.nan)
        mode = np.array([a + self.left[a:b].argmax() for a, b in self.ends])
        self._aim(average, mode)
        return self.unused.farthest_from_aim()

    def _aim(self, centre: NDArray[np.float64], spots: NDArray[np.integer]) -> None:
        gap = (self.place - centre[self.attribute_of]) ** 2
        apart = np.ones(len(gap))
        apart[spots] = 0.0
        squared = np.where(np.isnan(gap), apart, gap) * self.weight
        self.unused.near[:] = np.rint(squared * self.scale)
