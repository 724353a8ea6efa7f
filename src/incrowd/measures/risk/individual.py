"""Individual risk from sampling weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError, SchemaError, did_you_mean
from incrowd.core.lazy import np, nw, pl
from incrowd.core.reading.spellings import refuse_unclear_points
from incrowd.core.table.settings import WILDCARD
from incrowd.measures.privacy._one_call import Columns, read_for
from incrowd.measures.privacy.k_anonymity import KAnonymity
from incrowd.measures.risk.base import THRESHOLD, RiskModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.settings import Wildcards

_LARGE = 32
"""Records of a class from which on the terms fall fast, whatever the weights."""
_NEGLIGIBLE = 1e-16
"""A term of a sum that is this small a share of it no longer changes it."""


@dataclass(frozen=True)
class Individual(RiskModel):
    """The individual risk of a survey: the expected value of 1 / (people that look like the record).

    It is an estimate from the sampling weights; see `individual_risk`. The table needs a column of the role
    weight.

    Parameters
    ----------
    threshold
        Records with a larger risk are at risk.

    References
    ----------
    Benedetti and Franconi, Statistical and technological solutions for controlled data dissemination,
    NTTS 1998.
    """

    threshold: float = THRESHOLD.field(0.2)

    name: ClassVar[str] = "individual"
    summary: ClassVar[str] = "1 / people like the record, estimated from the sampling weights of a survey"
    paper: ClassVar[str] = "Benedetti and Franconi 1998"
    needs: ClassVar[str] = "weights"

    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return the largest, mean and least risk of records, and the share of records at risk."""
        people = classes.represented
        if people is None or not len(classes):
            return dict.fromkeys(("max", "mean", "min", "at_risk"), 0.0)
        risk = risk_of_classes(classes.sizes, people)
        mean, at_risk = classes.mean_and_share(risk, risk * classes.sizes, self.threshold)
        return {"max": float(risk.max()), "mean": mean, "min": float(risk.min()), "at_risk": at_risk}


def individual_risk(
    table: Any,
    quasi: Columns,
    weights: ArrayLike | str,
    *,
    exact: bool = True,
    wildcards: Wildcards = "value",
) -> NDArray[np.float64]:
    """Estimate the risk of every row of a survey as the expectation of 1 / F, given the class size f.

    F is the number of people in the population who look like the row, taken to be negative binomial with
    f and p = f / (sum of the class's sampling weights).

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    quasi
        Names of the quasi-identifiers.
    weights
        float[rows], each > 0: how many people a row stands for; or the name of the column that says so. If
        they add up to fewer people than the class has records, the class is taken to be all there is.
    exact
        Whether classes of three and more records have the exact expectation, too. The approximation is
        p / (f - 1 + p), which is up to 2 % higher: that of `indivRisk` of sdcMicro by default.
    wildcards
        What a ``*`` or a missing cell matches, as in `Policy`. sdcMicro lets it match anything.

    Returns
    -------
    float64[rows] in [0, 1]; 0 for a suppressed row.

    Raises
    ------
    ParameterError
        When the weights are not one number above 0 per row.
    InputError
        When the table cannot be read or lacks a column.

    References
    ----------
    Benedetti and Franconi, Statistical and technological solutions for controlled data dissemination,
    NTTS 1998; Capobianchi, Polettini and Lucarelli, Strategy for the implementation of individual risk
    methodology in SDC, 2001.
    """
    from incrowd.core.table.matching import matched
    from incrowd.engines import loaded

    wildcards = WILDCARD.check(wildcards, "individual_risk", "wildcards")
    table = loaded(table)
    by_cells = read_for(KAnonymity(1), table, quasi)
    classes, frequency = matched(by_cells, wildcards), by_cells.frequency
    rows = frequency.key_of_row("individual_risk")
    if isinstance(weights, str):
        weights = _numbers(table, weights)
    stands_for = np.asarray(weights, np.float64)
    if stands_for.shape != rows.shape or not np.isfinite(stands_for).all() or (stands_for <= 0).any():
        raise ParameterError(f"weights must be {len(rows)} numbers above 0, one per row")
    live = rows >= 0
    people = np.bincount(rows[live], stands_for[live], frequency.keys).astype(np.float64)
    risk = risk_of_classes(classes.sizes, classes.matched_sums(people), exact=exact)
    risk = np.append(risk, 0.0)[rows]
    alone = np.append(classes.alone, False)[rows]
    risk[alone] = risk_of_classes(np.ones(int(alone.sum()), np.int64), stands_for[alone], exact=exact)
    return risk


def individual_figures(classes: EquivalenceClasses) -> dict[str, float]:
    """Return the mean over all rows, the largest risk, and the rows that are expected to be found.

    A suppressed row has no risk. Empty where the table knows no sampling weights.
    """
    people = classes.represented
    if people is None or not len(classes):
        return {}
    risk = risk_of_classes(classes.sizes, people)
    expected = float(risk @ classes.sizes)
    return {"mean": expected / classes.frequency.rows, "max": float(risk.max()), "expected": expected}


def risk_of_classes(
    sizes: NDArray[np.int64], people: NDArray[np.float64], *, exact: bool = True
) -> NDArray[np.float64]:
    """Estimate the risk of a record in each class, float64[classes] in [0, 1]; see `individual_risk`.

    Parameters
    ----------
    sizes
        int64[classes]: records of each.
    people
        float64[classes]: sum of the sampling weights of each.
    """
    f = sizes.astype(np.float64)
    p = np.minimum(f / people, 1.0)
    risk = p / (f - 1 + p)
    precise = np.ones(len(f), bool) if exact else sizes <= 2
    risk[precise] = _expectations(sizes[precise], p[precise])
    return np.clip(risk, 0.0, 1.0)


def _expectations(sizes: NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expectation of 1 / F for each class, float64[classes].

    It is the integral of u^(f-1) p / (p + q u) for u from 0 to 1, where q = 1 - p. Two ways lead there, each
    where it is stable and short. With f = 2 and p = 1/2, both end at .306853:

        from f to f + 1     -p/q ln p = .693147, then p/q (1/1 - .693147)
        sum of terms        p/f = .25, .25 q 1/3 = .041667, .041667 q 2/4 = .010417, ...

    The terms fall by q (n + 1) / (f + n + 1), so they are few where q is small or f is large.
    """
    q = 1 - p
    result = np.empty(len(p))
    stepwise = (p < 0.5) & (sizes < _LARGE)
    few, ratio = sizes[stepwise], p[stepwise] / q[stepwise]
    value = -ratio * np.log(p[stepwise])
    for f in range(1, int(few.max(initial=1))):
        value = np.where(few > f, ratio * (1 / f - value), value)
    result[stepwise] = value
    records, q = sizes[~stepwise].astype(np.float64), q[~stepwise]
    term = p[~stepwise] / records
    total, n = term.copy(), 0
    while (term > _NEGLIGIBLE * total).any():
        n += 1
        term *= q * n / (records + n)
        total += term
    result[~stepwise] = total
    return result


def _numbers(table: Any, name: str) -> NDArray[np.float64]:
    """Read a column as numbers, with NaN for other values."""
    frame = nw.from_native(table, eager_only=True)
    if name not in frame.columns:
        raise SchemaError(f"weights: the table has no column {name!r}{did_you_mean(name, frame.columns)}")
    column = frame[name].to_polars().alias("")
    refuse_unclear_points(column, name)
    numbers = column.cast(pl.Float64, strict=False)
    return np.asarray(numbers.fill_null(float("nan")).to_numpy())
