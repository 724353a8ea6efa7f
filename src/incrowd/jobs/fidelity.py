"""Fidelity: how near distributions, associations and counts of a release are to those of the raw table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from incrowd.errors import ParameterError, named
from incrowd.lazy import NDArray, np, pl
from incrowd.parameters import COUNT, PART, SEED
from incrowd.presentation.markup import InNotebooks
from incrowd.recoding import read_set
from incrowd.table.survey import UNIT

if TYPE_CHECKING:
    from incrowd.recoding import Cells, Recoding
    from incrowd.table.domain import Domain
    from incrowd.table.frequency import FrequencyTable

_CELLS = 50_000_000


@dataclass(frozen=True, slots=True)
class Marginal:
    """Distance of a column's distribution from that of its released cells, spread evenly over their values.

    Attributes
    ----------
    column
    total_variation
        Half the sum of absolute differences, in [0, 1].
    hellinger
        Hellinger distance, in [0, 1].
    wasserstein
        Earth Mover's Distance over the range of the column, in [0, 1]; None for categories.
    """

    column: str
    total_variation: float
    hellinger: float
    wasserstein: float | None


@dataclass(frozen=True, slots=True)
class Association:
    """How strongly two columns go together, before and after.

    Attributes
    ----------
    columns
    cramers_v
        Cramer's V of the values and of the released cells, corrected for bias, in [0, 1].
    mutual_information
        In bits.
    correlation
        Pearson's, of numbers; a cell counts as the middle of its values. None unless both are numbers
        that vary.
    """

    columns: tuple[str, str]
    cramers_v: tuple[float, float]
    mutual_information: tuple[float, float]
    correlation: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Queries:
    """Errors of random counting queries.

    Attributes
    ----------
    queries, columns, selectivity
        How many, over how many columns each, and the share of all value combinations that one asks for.
    mean, median
        Relative error: |estimate - count| / max(count, 0.1 % of the records).
    """

    queries: int
    columns: int
    selectivity: float
    mean: float
    median: float


@dataclass(frozen=True)
class Fidelity(InNotebooks):
    """How well a release keeps distributions, associations and counts; made by `fidelity`.

    Attributes
    ----------
    marginals, associations, queries
    weighted
        The marginals of the people whom the records stand for; empty without sampling weights.
    """

    _shown = ("queries", "marginals", "associations")

    marginals: tuple[Marginal, ...]
    associations: tuple[Association, ...]
    queries: Queries
    weighted: tuple[Marginal, ...] = ()

    def __repr__(self) -> str:
        return f"Fidelity({len(self.marginals)} columns, {self.queries.queries} queries)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the table is in it."""
        from dataclasses import asdict

        return {
            "marginals": [asdict(marginal) for marginal in self.marginals],
            "associations": [asdict(pair) for pair in self.associations],
            "queries": asdict(self.queries),
            **({"weighted_marginals": list(map(asdict, self.weighted))} if self.weighted else {}),
        }


def fidelity(
    frequency: FrequencyTable,
    recoding: Recoding,
    *,
    queries: int = 100,
    columns: int = 2,
    selectivity: float = 0.05,
    seed: int = 0,
) -> Fidelity:
    """Compare distributions, associations and counts in a release with those in the raw table.

    Where the table has sampling weights, distributions are compared by them, too.

    Parameters
    ----------
    queries, columns, selectivity, seed
        Random counting queries: their number; how many quasi-identifiers each has (at most all); the share of
        the value combinations that each covers, in (0, 1]; and the seed of their choice.

    Raises
    ------
    ParameterError
        When a setting is out of range.

    Notes
    -----
    A suppressed record may have any value. Records that were already suppressed in the raw table are not
    compared.

    For associations after the release, every record is spread evenly over the combinations of values that its
    two cells stand for. Pairs of columns with too many values for that are left out.

    References
    ----------
    Range queries: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, section 5;
    Xiao and Tao, Anatomy, VLDB 2006, section 6 (relative error under even spread, with a floor of 0.1 %
    of the records).
    """
    queries = COUNT.check(queries, "fidelity", "queries")
    columns = COUNT.within(1, len(frequency.domains)).check(columns, "fidelity", "columns")
    selectivity = PART.check(selectivity, "fidelity", "selectivity")
    seed = SEED.check(seed, "fidelity", "seed")
    spreads = [
        Spread(domain, cells, recoding.suppressed)
        for domain, cells in zip(recoding.domains, recoding.cells, strict=True)
    ]
    marginals = _marginals(frequency, spreads)
    compared = (_association(frequency, spreads, a, b) for a, b in combinations(range(len(spreads)), 2))
    associations = tuple(pair for pair in compared if pair is not None)
    asked = _ask(frequency, spreads, queries, columns, selectivity, seed)
    weighted = () if frequency.survey.sampling is None else _marginals(frequency.in_people, spreads)
    return Fidelity(marginals, associations, asked, weighted)


def count_table(frequency: FrequencyTable, recoding: Recoding, columns: Sequence[str]) -> pl.DataFrame:
    """Count the values of one or two quasi-identifiers before and after; see `Evaluation.table`.

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
        joint = _joint(spreads[0], spreads[1], weights)
        if joint is None:
            raise ParameterError(f"table: {named(columns)} have too many pairs of values; name one of them")
        after = joint.ravel()
    met = np.flatnonzero((before > 0) | (after > 1e-12))
    ranks = np.unravel_index(met, sizes)
    texts = {
        domain.name: pl.Series([domain.values[rank] for rank in column.tolist()], dtype=pl.String)
        for domain, column in zip(domains, ranks, strict=True)
    }
    counted = {"before": before[met], "after": np.maximum(after[met], 0.0)}
    mark = ""
    while any(name + mark in texts for name in counted):
        mark += " (count)"
    return pl.DataFrame({**texts, **{name + mark: figures for name, figures in counted.items()}})


def _marginals(frequency: FrequencyTable, spreads: Sequence[Spread]) -> tuple[Marginal, ...]:
    return tuple(_marginal(frequency, j, spread) for j, spread in enumerate(spreads))


class Spread:
    """Which ranks the released cells of a column stand for, each rank of a cell being as likely.

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
        # Sets of categories may leave out ranks between their first and last.
        self.sets: dict[int, NDArray[np.int64]] = {}
        if domain.hierarchy is None and not domain.ordered:
            rank = {value: r for r, value in enumerate(domain.values)}
            for number, label in enumerate(cells.labels):
                if label is not None and label not in rank and label.startswith("{"):
                    found = [rank[part] for part in _named(label, rank)]
                    if found:
                        self.sets[number] = np.array(found, np.int64)
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
        """Spread the records of every cell over its ranks: float64[size]."""
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
        for number, held in self.sets.items():
            within[number] = np.isin(ranks, held)
        return np.asarray(within / self.wide[:, None])

    def numbers(self) -> NDArray[np.float64] | None:
        """Return the middle of every cell's `Domain.places`: float64[cells]; None for categories."""
        values = self.domain.places
        if self.domain.kind == "category" or np.isnan(values).all():
            return None
        known = ~np.isnan(values)
        sums, counts = self.over(np.where(known, values, 0.0)), self.over(known.astype(np.float64))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums / counts)


def _named(label: str, rank: dict[str | None, int]) -> list[str | None]:
    """Return the values that a set names."""
    return [part for part in read_set(label, rank) or () if part in rank]


def _marginal(frequency: FrequencyTable, j: int, spread: Spread) -> Marginal:
    domain = frequency.domains[j]
    records = max(frequency.records, 1)
    p = frequency.totals(j) / records
    after = np.bincount(spread.entry, frequency.weights, len(spread.wide)).astype(np.float64)
    q = np.maximum(spread.spread(after) / records, 0.0)
    gap = np.sqrt(p) - np.sqrt(q)
    moved = None
    known = ~np.isnan(domain.numbers)
    if domain.kind != "category" and known.sum() > 1:
        order = np.argsort(domain.numbers[known])
        places = domain.places[known][order]
        extent = places[-1] - places[0]
        # Of records whose number is known, before and after.
        mine, theirs = (side[known][order] for side in (p, q))
        mine, theirs = mine / max(mine.sum(), 1e-300), theirs / max(theirs.sum(), 1e-300)
        gaps = np.abs(np.cumsum(mine - theirs))[:-1]
        moved = float(gaps @ np.diff(places) / extent) if extent > 0 else 0.0
    return Marginal(
        domain.name,
        min(float(np.abs(p - q).sum()) / 2, 1.0),
        min(float(np.sqrt((gap**2).sum() / 2)), 1.0),
        moved,
    )


def _association(frequency: FrequencyTable, spreads: list[Spread], a: int, b: int) -> Association | None:
    weights = frequency.weights.astype(np.float64)
    one, other = spreads[a], spreads[b]
    sizes = one.domain.size, other.domain.size
    after = _joint(one, other, weights)
    if after is None:
        return None
    place = frequency.codes[a].astype(np.int64) * sizes[1] + frequency.codes[b]
    before = np.bincount(place, weights, sizes[0] * sizes[1]).reshape(sizes).astype(np.float64)
    middles = one.numbers(), other.numbers()
    together = None
    if middles[0] is not None and middles[1] is not None:
        values = [frequency.domains[j].places[frequency.codes[j]] for j in (a, b)]
        were = _correlation(values[0], values[1], weights)
        are = _correlation(middles[0][one.entry], middles[1][other.entry], weights)
        together = None if were is None else (were, are or 0.0)
    return Association(
        (one.domain.name, other.domain.name),
        (
            _cramers_v(before, [_occurring(frequency.codes[j], weights) for j in (a, b)]),
            _cramers_v(after, [_occurring(side.entry, weights) for side in (one, other)]),
        ),
        (_mutual(before), _mutual(after)),
        together,
    )


def _joint(one: Spread, other: Spread, weights: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Spread every record over the pairs of ranks of its two cells: float64[size, size]."""
    from incrowd.kernels.grouping.grouping import group_columns

    cells = len(one.wide), len(other.wide)
    ids, first = group_columns([one.entry, other.entry], cells, len(one.entry))
    pairs = np.bincount(ids, weights, len(first))
    sizes = one.domain.size, other.domain.size
    if max(cells[0] * sizes[0], cells[1] * sizes[1], len(first) * sizes[1], cells[0] * sizes[1]) > _CELLS:
        return None
    by_cell = np.zeros((cells[0], sizes[1]))
    np.add.at(by_cell, one.entry[first], pairs[:, None] * other.shares()[other.entry[first]])
    return np.asarray(one.shares().T @ by_cell)


def _independent(joint: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of the pairs that occur, and the products of their margins."""
    shares = joint / max(float(joint.sum()), 1e-300)
    met = shares > 0
    return shares[met], np.outer(shares.sum(axis=1), shares.sum(axis=0))[met]


def _occurring(codes: NDArray[np.integer], weights: NDArray[np.float64]) -> int:
    """Count the different values, or cells, that records have."""
    return len(np.unique(codes[weights > 0]))


def _cramers_v(joint: NDArray[np.float64], kinds: Sequence[int]) -> float:
    """Return Cramer's V, corrected for bias.

    Columns of many values seem to go together by chance: by (r - 1) (c - 1) / (n - 1) of chi square over n
    where they are independent. This is taken off. A cell that is spread over its values adds no chance of its
    own, so r and c are there the numbers of cells.

    Parameters
    ----------
    joint
        float64[values, values]: records with each pair of values.
    kinds
        How many different values, or cells, the records have in either column.

    References
    ----------
    Bergsma, A bias-correction for Cramer's V and Tschuprow's T, Journal of the Korean Statistical Society
    42(3), 2013.
    """
    free = float(joint.sum()) - 1
    values = [int((joint.sum(axis=axis) > 0).sum()) for axis in (1, 0)]
    if free <= 0 or min(values) < 2:
        return 0.0
    shares, product = _independent(joint)
    # Pairs that do not occur add the product of their margins each: in all, 1 less those that do.
    chi = float((shares**2 / product).sum()) - 1
    chance = math.prod(min(pair) - 1 for pair in zip(kinds, values, strict=True)) / free
    largest = min(count - 1 - (count - 1) ** 2 / free for count in values)
    return min(max((chi - chance) / largest, 0.0), 1.0) ** 0.5 if largest > 1e-9 else 0.0


def _mutual(joint: NDArray[np.float64]) -> float:
    shares, product = _independent(joint)
    return max(float(shares @ np.log2(shares / product)), 0.0)


def _correlation(
    one: NDArray[np.float64], other: NDArray[np.float64], weights: NDArray[np.float64]
) -> float | None:
    known = ~np.isnan(one) & ~np.isnan(other)
    one, other, weights = one[known], other[known], weights[known]
    total = float(weights.sum())
    if not total:
        return None
    one, other = (_in_one(side - (side @ weights) / total) for side in (one, other))
    spread = float((one**2) @ weights) * float((other**2) @ weights)
    return float(((one * other) @ weights) / spread**0.5) if spread > 0 else None


def _in_one(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale values by a power of two so that the largest is about 1, and squares are numbers."""
    return np.asarray(np.ldexp(values, -np.frexp(np.abs(values).max(initial=0.0))[1]))


def _ask(
    frequency: FrequencyTable,
    spreads: list[Spread],
    queries: int,
    columns: int,
    selectivity: float,
    seed: int,
) -> Queries:
    random = np.random.default_rng(seed)
    errors = []
    floor = max(frequency.records * 0.001, 1.0)
    for _ in range(queries):
        true = np.ones(frequency.keys, np.bool_)
        share = np.ones(frequency.keys)
        for j in random.permutation(len(spreads))[:columns].tolist():
            size = frequency.domains[j].size
            wide = max(round(size * selectivity ** (1 / columns)), 1)
            start = int(random.integers(size - wide + 1))
            inside = np.zeros(size)
            inside[start : start + wide] = 1.0
            true &= inside[frequency.codes[j]] > 0
            share *= spreads[j].over(inside)[spreads[j].entry]
        count = int(frequency.weights[true].sum())
        errors.append(abs(float(share @ frequency.weights) - count) / max(count, floor))
    return Queries(queries, columns, selectivity, float(np.mean(errors)), float(np.median(errors)))
