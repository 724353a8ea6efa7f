"""Fidelity of a release: distances of distributions, associations and counts from the raw table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import NDArray, np
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import COUNT, PART, SEED
from incrowd.release.jobs.measure.cell_spread import Spread, joint_counts
from incrowd.release.jobs.measure.evaluate import Evaluation

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.release.jobs.make.release import Release


@dataclass(frozen=True, slots=True)
class Marginal:
    """Distance between the raw and the released distribution of a column, cells spread evenly.

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
    """Strength of the association of two columns, before and after.

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
    """The agreement of distributions, associations and counts with the raw table; see `fidelity`.

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
        """Return plain data for JSON, without any value of the table."""
        from dataclasses import asdict

        return {
            "marginals": [asdict(marginal) for marginal in self.marginals],
            "associations": [asdict(pair) for pair in self.associations],
            "queries": asdict(self.queries),
            **({"weighted_marginals": list(map(asdict, self.weighted))} if self.weighted else {}),
        }


def fidelity(
    release: Release | Evaluation,
    *,
    queries: int = 100,
    columns: int = 2,
    selectivity: float = 0.05,
    seed: int = 0,
) -> Fidelity:
    """Compare distributions, associations and counts in a release and in the raw table.

    Where the table has sampling weights, distributions are compared by them, too.

    Parameters
    ----------
    release
        A release, or what `evaluate` returned of one that somebody else made.
    queries, columns, selectivity, seed
        Random counting queries: their number; how many quasi-identifiers each has (at most all); the share of
        the value combinations that each covers, in (0, 1]; and the seed of their choice.

    Raises
    ------
    ParameterError
        When a setting is out of range.
    TableError
        When the release has cells that are not read.

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
    if isinstance(release, Evaluation):
        release.require_read("fidelity")
    frequency, recoding = release.frequency, release.recoding
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
    errors = _query_errors(frequency, spreads, queries, columns, selectivity, seed)
    weighted = () if frequency.survey.sampling is None else _marginals(frequency.in_people, spreads)
    return Fidelity(marginals, associations, errors, weighted)


def _marginals(frequency: FrequencyTable, spreads: Sequence[Spread]) -> tuple[Marginal, ...]:
    return tuple(_marginal(frequency, j, spread) for j, spread in enumerate(spreads))


def _marginal(frequency: FrequencyTable, j: int, spread: Spread) -> Marginal:
    domain = frequency.domains[j]
    records = max(frequency.records, 1)
    p = frequency.totals(j) / records
    after = np.bincount(spread.entry, frequency.weights, len(spread.wide)).astype(np.float64)
    q = np.maximum(spread.spread(after) / records, 0.0)
    gap = np.sqrt(p) - np.sqrt(q)
    distance = None
    has_number = ~np.isnan(domain.numbers)
    if domain.kind != "category" and has_number.sum() > 1:
        order = np.argsort(domain.numbers[has_number])
        places = domain.places[has_number][order]
        extent = places[-1] - places[0]
        # Of records whose number is known, before and after.
        raw, released = (side[has_number][order] for side in (p, q))
        raw, released = raw / max(raw.sum(), 1e-300), released / max(released.sum(), 1e-300)
        gaps = np.abs(np.cumsum(raw - released))[:-1]
        distance = float(gaps @ np.diff(places) / extent) if extent > 0 else 0.0
    return Marginal(
        domain.name,
        min(float(np.abs(p - q).sum()) / 2, 1.0),
        min(float(np.sqrt((gap**2).sum() / 2)), 1.0),
        distance,
    )


def _association(frequency: FrequencyTable, spreads: list[Spread], a: int, b: int) -> Association | None:
    weights = frequency.weights.astype(np.float64)
    one, other = spreads[a], spreads[b]
    sizes = one.domain.size, other.domain.size
    after = joint_counts(one, other, weights)
    if after is None:
        return None
    place = frequency.codes[a].astype(np.int64) * sizes[1] + frequency.codes[b]
    before = np.bincount(place, weights, sizes[0] * sizes[1]).reshape(sizes).astype(np.float64)
    middles = one.numbers(), other.numbers()
    correlations = None
    if middles[0] is not None and middles[1] is not None:
        values = [frequency.domains[j].places[frequency.codes[j]] for j in (a, b)]
        raw = _correlation(values[0], values[1], weights)
        released = _correlation(middles[0][one.entry], middles[1][other.entry], weights)
        correlations = None if raw is None else (raw, released or 0.0)
    return Association(
        (one.domain.name, other.domain.name),
        (
            _cramers_v(before, [_occurring(frequency.codes[j], weights) for j in (a, b)]),
            _cramers_v(after, [_occurring(side.entry, weights) for side in (one, other)]),
        ),
        (_mutual(before), _mutual(after)),
        correlations,
    )


def _independent(joint: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares of occurring pairs, and the products of the margins."""
    shares = joint / max(float(joint.sum()), 1e-300)
    occurring = shares > 0
    return shares[occurring], np.outer(shares.sum(axis=1), shares.sum(axis=0))[occurring]


def _occurring(codes: NDArray[np.integer], weights: NDArray[np.float64]) -> int:
    """Count the distinct values or cells of the records."""
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
    has_both = ~np.isnan(one) & ~np.isnan(other)
    one, other, weights = one[has_both], other[has_both], weights[has_both]
    total = float(weights.sum())
    if not total:
        return None
    one, other = (_scale(side - (side @ weights) / total) for side in (one, other))
    spread = float((one**2) @ weights) * float((other**2) @ weights)
    return float(((one * other) @ weights) / spread**0.5) if spread > 0 else None


def _scale(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale values by a power of two to a largest value of about 1."""
    return np.asarray(np.ldexp(values, -np.frexp(np.abs(values).max(initial=0.0))[1]))


def _query_errors(
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
