"""The even spread of released cells over the values inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incrowd.core.errors import ParameterError, named
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.recoding.observed import sets_of
from incrowd.core.table.survey import UNIT

if TYPE_CHECKING:
    from incrowd.core.recoding import Cells, Recoding
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable

_CELLS = 50_000_000


class Spread:
    """The ranks of each released cell of a column, each rank equally likely.

    Attributes
    ----------
    entry
        int[keys]: the cell of each key; the last one is everything, for suppressed keys.
    wide
        float64[cells]: ranks of each cell.
    """

    def __init__(self, domain: Domain, cells: Cells, suppressed: NDArray[np.bool_]) -> None:
        self.domain = domain
        size = domain.size
        lo = np.append(cells.lo, 0).astype(np.int64)
        hi = np.append(cells.hi, size - 1).astype(np.int64)
        self.entry = np.where(suppressed, len(cells.labels), cells.codes)
        self.lo, self.hi = lo, hi
        # Sets of categories and masks may leave out ranks between their first and last.
        self.sets: dict[int, NDArray[np.int64]] = {}
        if domain.hierarchy is None and not domain.ordered:
            sets = sets_of(domain, cells.labels)
            self.sets = {number: np.array(ranks, np.int64) for number, ranks in sets.items() if ranks}
        self.wide = (hi - lo + 1).astype(np.float64)
        for number, ranks in self.sets.items():
            self.wide[number] = len(ranks)

    def over(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of a weight per rank over each cell: float64[cells]."""
        before = np.concatenate(([0.0], np.cumsum(weight)))
        sums = before[self.hi + 1] - before[self.lo]
        for number, ranks in self.sets.items():
            sums[number] = weight[ranks].sum()
        return np.asarray(sums / self.wide)

    def spread(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Spread the records of every cell over the ranks of the cell: float64[size]."""
        each = records / self.wide
        plain = np.ones(len(each), np.bool_)
        plain[list(self.sets)] = False
        steps = np.zeros(self.domain.size + 1)
        np.add.at(steps, self.lo[plain], each[plain])
        np.add.at(steps, self.hi[plain] + 1, -each[plain])
        total = np.cumsum(steps)[:-1]
        for number, ranks in self.sets.items():
            total[ranks] += each[number]
        return total

    def shares(self) -> NDArray[np.float64]:
        """Return the share of each rank in each cell: float64[cells, size]."""
        ranks = np.arange(self.domain.size)
        within = (ranks >= self.lo[:, None]) & (ranks <= self.hi[:, None])
        for number, ranks_of_cell in self.sets.items():
            within[number] = np.isin(ranks, ranks_of_cell)
        return np.asarray(within / self.wide[:, None])

    def numbers(self) -> NDArray[np.float64] | None:
        """Return the mean `Domain.places` of every cell: float64[cells], or None for categories."""
        values = self.domain.places
        if self.domain.kind == "category" or np.isnan(values).all():
            return None
        has_number = ~np.isnan(values)
        sums, counts = self.over(np.where(has_number, values, 0.0)), self.over(has_number.astype(np.float64))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums / counts)


def joint_counts(one: Spread, other: Spread, weights: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Spread every record over pairs of ranks of two cells: float64[size, size], or None."""
    from incrowd.core.kernels.grouping.grouping import group_columns

    cells = len(one.wide), len(other.wide)
    ids, first = group_columns([one.entry, other.entry], cells, len(one.entry))
    pairs = np.bincount(ids, weights, len(first))
    sizes = one.domain.size, other.domain.size
    if max(cells[0] * sizes[0], cells[1] * sizes[1], len(first) * sizes[1], cells[0] * sizes[1]) > _CELLS:
        return None
    by_cell = np.zeros((cells[0], sizes[1]))
    np.add.at(by_cell, one.entry[first], pairs[:, None] * other.shares()[other.entry[first]])
    return np.asarray(one.shares().T @ by_cell)


def count_table(frequency: FrequencyTable, recoding: Recoding, columns: Sequence[str]) -> pl.DataFrame:
    """Count the values of a quasi-identifier, or the pairs of two, before and after recoding.

    Raises
    ------
    ParameterError
        When these are not one or two quasi-identifiers, or have too many pairs of values.
    """
    names = [domain.name for domain in frequency.domains]
    if len(columns) not in (1, 2) or len(set(columns)) < len(columns) or not set(columns) <= set(names):
        raise ParameterError(f"table: name one or two of the quasi-identifiers {named(names)}")
    places = [names.index(name) for name in columns]
    domains = [frequency.domains[place] for place in places]
    weights = frequency.weights.astype(np.float64)
    if frequency.survey.sampling is not None:
        weights = frequency.survey.sampling.keys / UNIT
    spreads = [Spread(frequency.domains[j], recoding.cells[j], recoding.suppressed) for j in places]
    sizes = tuple(domain.size for domain in domains)
    value = np.ravel_multi_index(tuple(frequency.codes[place] for place in places), sizes)
    before = np.bincount(value, weights, int(np.prod(sizes)))
    if len(spreads) == 1:
        cells = np.bincount(spreads[0].entry, weights, len(spreads[0].wide)).astype(np.float64)
        after = spreads[0].spread(cells)
    else:
        joint = joint_counts(spreads[0], spreads[1], weights)
        if joint is None:
            raise ParameterError(f"table: {named(columns)} have too many pairs of values; name one of them")
        after = joint.ravel()
    occurring = np.flatnonzero((before > 0) | (after > 1e-12))
    ranks = np.unravel_index(occurring, sizes)
    texts = {
        domain.name: pl.Series([domain.values[rank] for rank in column.tolist()], dtype=pl.String)
        for domain, column in zip(domains, ranks, strict=True)
    }
    counts = {"before": before[occurring], "after": np.maximum(after[occurring], 0.0)}
    mark = ""
    while any(name + mark in texts for name in counts):
        mark += " (count)"
    return pl.DataFrame({**texts, **{name + mark: figures for name, figures in counts.items()}})
