"""Estimates of population uniqueness from a sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import PART
from incrowd.measures.privacy._one_call import Columns, read_for
from incrowd.measures.privacy.k_anonymity import KAnonymity


@dataclass(frozen=True, slots=True)
class Uniqueness(InNotebooks):
    """Estimated shares of the population that are unique in the population.

    Attributes
    ----------
    sample
        Share of the records that are unique in the sample.
    pitman, zayatz, snb, poisson_gamma
        Estimates; None where the model does not fit the sample.
    dankar
        What the decision rule of Dankar et al. takes of them.
    chosen
        The name of that one.
    """

    _shown = ("sample", "pitman", "zayatz", "snb", "poisson_gamma", "dankar", "chosen")

    sample: float
    pitman: float | None
    zayatz: float
    snb: float | None
    poisson_gamma: float | None
    dankar: float
    chosen: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def population_uniqueness(
    table: Any, quasi: Columns, *, population: int | None = None, fraction: float | None = None
) -> Uniqueness:
    """Estimate which share of a population is unique in the quasi-identifiers.

    Parameters
    ----------
    table
        A sample: a pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    quasi
        Names of the quasi-identifiers.
    population, fraction
        How many people there are, or which share of them the sample is, in (0, 1]; one of the two.

    Raises
    ------
    ParameterError
        When neither or both are given, or the sample is larger than the population.
    InputError
        When the table cannot be read or lacks a column.

    References
    ----------
    See `estimate_uniqueness`.
    """
    if (population is None) == (fraction is None):
        raise ParameterError("give the size of the population, or the fraction of it that the table is")
    classes = read_for(KAnonymity(1), table, quasi)
    sizes = classes.sizes
    records = int(sizes.sum())
    if population is None:
        fraction = PART.check(fraction, "population_uniqueness", "fraction")
        population = max(round(records / fraction), records)
    if population < records:
        raise ParameterError(f"population={population} is fewer than the table's {records} records")
    from incrowd.core.table.domain import combinations_of

    cells = combinations_of(classes.frequency.domains)
    return estimate_uniqueness(sizes, population, cells)


def estimate_uniqueness(sizes: NDArray[np.int64], population: int, cells: float | None = None) -> Uniqueness:
    """Estimate population uniqueness from the class sizes of a sample.

    Parameters
    ----------
    sizes
        int64[classes], each > 0.
    population
        How many people there are, at least as many as records.
    cells
        Combinations of values that there can be; without it there is no Poisson-gamma estimate.

    Notes
    -----
    - *Zayatz* assumes that the population has the sample's distribution of class sizes. It asks how likely a
      class of one record is a class of one person.
    - *Pitman* fits Pitman's sampling formula by maximum likelihood, and takes its expectation for the
      population.
    - *SNB* (slide negative binomial) assumes that a class of the population has 1 + a negative binomial
      number of people. It solves for the size of the population, the number of classes in the sample and the
      uniques of the sample.
    - *Poisson-gamma* assumes that each combination of values has a Poisson number of people whose mean is
      gamma-distributed. That is negative binomial. It is fitted to the mean and the variance of the sample's
      combinations, empty ones included. Combinations that cannot occur count as empty. So the estimate tends
      to be high if attributes depend on each other.

    The decision rule of Dankar et al. takes Pitman for samples of at most a tenth, if it fits. Otherwise it
    takes the smaller one of Zayatz and SNB.

    References
    ----------
    Zayatz, Estimation of the percent of unique population elements on a microdata file using the sample,
    1991; Bethlehem, Keller and Pannekoek, Disclosure control of microdata, JASA 85(409), 1990; Hoshino,
    Applying Pitman's sampling formula to microdata disclosure risk assessment, J. Official Statistics 17(4),
    2001; Chen and Keller-McNulty, Estimation of identification disclosure risk in microdata, J. Official
    Statistics 14(1), 1998; Dankar, El Emam, Neisa and Roffey, Estimating the re-identification risk of
    clinical data sets, BMC Medical Informatics and Decision Making 12:66, 2012.
    """
    from incrowd.core.kernels.grouping.counting import tally

    distinct, times = tally(sizes)
    records = int(sizes.sum())
    alone = int(times[distinct == 1].sum())
    zayatz = _zayatz(distinct, times, records, alone, population)
    pitman = _pitman(distinct, times, records, population)
    snb = _snb(len(sizes), alone, records, population)
    if records <= 0.1 * population and pitman is not None:
        dankar, chosen = pitman, "pitman"
    elif snb is not None and snb < zayatz:
        dankar, chosen = snb, "snb"
    else:
        dankar, chosen = zayatz, "zayatz"
    gamma = None if cells is None else _poisson_gamma(sizes, alone, records, population, cells)
    return Uniqueness(alone / records, pitman, zayatz, snb, gamma, dankar, chosen)


def _zayatz(
    distinct: NDArray[np.int64], times: NDArray[np.int64], records: int, alone: int, population: int
) -> float:
    if not alone:
        return 0.0
    shares = times / times.sum()
    chance = [_one_of(int(size), records, population) for size in distinct]
    observed = math.fsum(share * p for share, p in zip(shares.tolist(), chance, strict=True))
    is_unique: float = float(shares[0]) * chance[0] / observed
    return min(alone * is_unique / records, 1.0)


def _one_of(size: int, records: int, population: int) -> float:
    """Return the chance that a sample has exactly 1 person of a population class of this size."""
    if population - size < records - 1:
        return 0.0

    def chosen(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    return math.exp(math.log(size) + chosen(population - size, records - 1) - chosen(population, records))


def _pitman(
    distinct: NDArray[np.int64], times: NDArray[np.int64], records: int, population: int
) -> float | None:
    classes = int(times.sum())
    if classes < 2 or classes == records:
        # One class, or uniques alone: the likelihood has no maximum inside.
        return None

    def likelihood(alpha: float, theta: float) -> float:
        # Sum of log(theta + i alpha) for i < classes, of -log(theta + i) for i < records.
        value = (classes - 1) * math.log(alpha)
        value += math.lgamma(theta / alpha + classes) - math.lgamma(theta / alpha + 1)
        value -= math.lgamma(theta + records) - math.lgamma(theta + 1)
        base = math.lgamma(1 - alpha)
        return value + math.fsum(
            int(n) * (math.lgamma(int(size) - alpha) - base) for size, n in zip(distinct, times, strict=True)
        )

    def best_theta(alpha: float) -> float:
        # theta > -alpha; search over log(theta + alpha).
        best = _maximum(lambda x: likelihood(alpha, math.exp(x) - alpha), -20.0, 30.0)
        return math.exp(best) - alpha

    alpha = _maximum(lambda a: likelihood(a, best_theta(a)), 1e-6, 1 - 1e-6)
    theta = best_theta(alpha)
    if not 1e-5 < alpha < 1 - 1e-5 or math.log(theta + alpha) > 29:
        return None
    expected = (
        math.lgamma(theta + 1)
        - math.lgamma(theta + alpha)
        + math.lgamma(theta + alpha + population - 1)
        - math.lgamma(theta + population)
    )
    return min(math.exp(expected), 1.0)


def _snb(classes: int, alone: int, records: int, population: int) -> float | None:
    fraction = records / population
    if not alone or fraction >= 1:
        return alone / records if fraction >= 1 else None

    def expected(alpha: float, q: float) -> tuple[float, float, float]:
        # Sizes are 1 + NB(alpha, q): generating function z ((1 - q) / (1 - q z))^alpha.
        number = population / (1 + alpha * q / (1 - q))
        z = 1 - fraction
        power = ((1 - q) / (1 - q * z)) ** alpha
        sampled = number * (1 - z * power)
        uniques = number * fraction * power * (1 + z * alpha * q / (1 - q * z))
        return number, sampled, uniques

    def matching_alpha(q: float) -> float | None:
        # More spread means fewer classes met, so the number met falls with alpha.
        return _root(lambda x: expected(math.exp(x), q)[1] - classes, -15.0, 15.0)

    def gap(x: float) -> float | None:
        q = 1 / (1 + math.exp(-x))
        alpha = matching_alpha(q)
        return None if alpha is None else expected(math.exp(alpha), q)[2] - alone

    steps = [-12 + 0.25 * i for i in range(97)]
    gaps = [(x, value) for x in steps if (value := gap(x)) is not None]
    for (below, low), (above, high) in zip(gaps, gaps[1:], strict=False):
        if low == 0 or low * high < 0:
            middle = _root(gap, below, above)
            if middle is None:
                continue
            q = 1 / (1 + math.exp(-middle))
            alpha = matching_alpha(q)
            if alpha is None:
                continue
            number, _, _ = expected(math.exp(alpha), q)
            return min(float(number * (1 - q) ** math.exp(alpha)) / population, 1.0)
    return None


def _poisson_gamma(
    sizes: NDArray[np.int64], alone: int, records: int, population: int, cells: float
) -> float | None:
    if records >= population:
        return alone / records
    if cells < 2:
        return None
    mean = records / cells
    squares = float((sizes.astype(float) ** 2).sum())
    variance = (squares - cells * mean**2) / (cells - 1)
    # mean n/K and variance n/K (1 + n beta), with alpha = 1 / (K beta)
    beta = (variance / mean - 1) / records
    if beta <= 0:
        return None
    return float((1 + population * beta) ** -(1 + 1 / (cells * beta)))


def _maximum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the maximum point of a unimodal function by golden-section search."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(80):
        if at_a >= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
    return (low + high) / 2


def _root(function: Callable[[float], float | None], low: float, high: float) -> float | None:
    """Return a root by bisection, or None if the ends have the same sign or a value is missing."""
    at_low, at_high = function(low), function(high)
    if at_low is None or at_high is None or at_low * at_high > 0:
        return None
    for _ in range(100):
        middle = (low + high) / 2
        here = function(middle)
        if here is None:
            return None
        if (here > 0) == (at_low > 0):
            low = middle
        else:
            high = middle
    return (low + high) / 2
