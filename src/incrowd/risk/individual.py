"""Individual risk from sampling weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incrowd.errors import ParameterError, SchemaError
from incrowd.privacy.base import Columns, read_for
from incrowd.privacy.k_anonymity import KAnonymity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["individual_risk"]


def individual_risk(
    table: Any, quasi: Columns, weights: ArrayLike | str, *, exact: bool = True
) -> NDArray[np.float64]:
    """Estimate the risk of every row of a survey: the expectation of 1 / F given the f records of its class.

    F is the number of people in the population who look like the row, taken to be negative binomial with
    f and p = f / (sum of the class's sampling weights). With one, two or three records it is exact, with
    more p / (f - 1 + p).

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
        Whether classes of three records have the exact expectation, too. The approximation is that of larger
        classes, as in `indivRisk` of sdcMicro by default.

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
    import numpy as np

    from incrowd.engines import loaded

    table = loaded(table)
    frequency = read_for(KAnonymity(1), table, quasi).frequency
    rows = frequency.key_of_row("individual_risk")
    if isinstance(weights, str):
        weights = _column(table, weights)
    stands_for = np.asarray(weights, np.float64)
    if stands_for.shape != rows.shape or not np.isfinite(stands_for).all() or (stands_for <= 0).any():
        raise ParameterError(f"weights must be {len(rows)} numbers above 0, one per row")
    live = rows >= 0
    people = np.bincount(rows[live], stands_for[live], frequency.keys)
    f = frequency.weights.astype(np.float64)
    p = np.minimum(f / people, 1.0)
    q = 1 - p
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(p)
        one = -p / q * log
        two = p / q**2 * (p * log + q)
        three = p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * log)
        more = p / (f - q)
    risk = np.select([f == 1, f == 2, (f == 3) & exact], [one, two, three], more)
    # Near p = 1 the exact forms are 0/0; everybody is in the sample there.
    risk = np.where(q < 1e-4, 1 / f, risk)
    return np.append(np.clip(risk, 0.0, 1.0), 0.0)[rows]


def _column(table: Any, name: str) -> NDArray[np.float64]:
    """Read a column of numbers; what is no number is NaN."""
    import narwhals as nw
    import polars as pl

    frame = nw.from_native(table, eager_only=True)
    if name not in frame.columns:
        raise SchemaError(f"weights: the table has no column {name!r}")
    numbers: NDArray[np.float64] = (
        frame[name].to_polars().alias("").cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    )
    return numbers
