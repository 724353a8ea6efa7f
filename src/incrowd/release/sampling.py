"""Samples of surveys: how one was drawn, the errors of estimates, and Cox regression with weights."""

from __future__ import annotations

from typing import NamedTuple

from incrowd.core.lazy import NDArray, np

_STEPS = 50
"""Steps of Newton's method, which needs fewer than ten unless it fails."""


class Design(NamedTuple):
    """The columns that say how a survey was drawn: sampling weights, strata and clusters; None without."""

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None

    def names(self) -> list[str]:
        """Return the columns that there are."""
        return [name for name in self if name is not None]


def covariance(
    influence: NDArray[np.float64],
    strata: NDArray[np.int64] | None = None,
    clusters: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return the linearized covariance of estimates, for clusters that were drawn with replacement.

    A stratum with a single cluster is compared with the mean of all clusters, as by ``lonely.psu = "adjust"``
    of R's package survey.

    Parameters
    ----------
    influence
        float64[records, estimates]: what each record adds to each estimate, the weight included.
    strata, clusters
        int64[records]: the stratum and the cluster of each record; by default one stratum, and each record a
        cluster of its own. Clusters of two strata differ, whatever their numbers are.

    Returns
    -------
    float64[estimates, estimates].

    References
    ----------
    Binder, On the variances of asymptotically normal estimators from complex surveys, International
    Statistical Review 51(3), 1983.

    Examples
    --------
    >>> deviations = np.array([[-1.0], [0.0], [1.0]]) / 3
    >>> round(float(covariance(deviations)[0, 0]), 3)  # the variance 1, over 3 records
    0.333
    """
    records = len(influence)
    strata = np.zeros(records, np.int64) if strata is None else strata
    clusters = np.arange(records) if clusters is None else clusters
    drawn, unit = np.unique(np.column_stack([strata, clusters]), axis=0, return_inverse=True)
    totals = np.zeros((len(drawn), influence.shape[1]))
    # NumPy 2.0 gives the inverse a second axis.
    np.add.at(totals, unit.ravel(), influence)
    _, stratum, number = np.unique(drawn[:, 0], return_inverse=True, return_counts=True)
    means = np.zeros((len(number), influence.shape[1]))
    np.add.at(means, stratum, totals / number[stratum, None])
    means[number == 1] = totals.mean(axis=0)
    factor = np.where(number > 1, number / np.maximum(number - 1, 1), 1.0)[stratum, None]
    far = (totals - means[stratum]) * np.sqrt(factor)
    return np.asarray(far.T @ far)


def weighted_cox(
    times: NDArray[np.float64],
    events: NDArray[np.float64],
    design: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], ...]:
    """Fit a Cox regression with sampling weights, and the ties of Breslow.

    Parameters
    ----------
    times, events, weights
        float64[records]: the time of each record, 1 where the event came, and the weight.
    design
        float64[records, coefficients]: the columns of the model, without a constant.

    Returns
    -------
    The coefficients, the score of each record: float64[records, coefficients], and the information.

    References
    ----------
    Binder, Fitting Cox's proportional hazards models from survey data, Biometrika 79(1), 1992.
    """
    order = np.argsort(-times, kind="stable")
    x, died, w = design[order] - design.mean(axis=0), (weights * events)[order], weights[order]
    # Records of one time are at risk together: the first and the last place of each one's time.
    first, last = (np.searchsorted(-times[order], -times[order], side) for side in ("left", "right"))
    slope = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        risk = w * np.exp(x @ slope)
        total = np.cumsum(risk)[last - 1]
        mean = np.cumsum(risk[:, None] * x, axis=0)[last - 1] / total[:, None]
        hazard = (died / total)[:, None] * np.column_stack([np.ones(len(x)), mean])
        hazard = np.cumsum(hazard[::-1], axis=0)[::-1][first]
        scores = died[:, None] * (x - mean) - risk[:, None] * (hazard[:, :1] * x - hazard[:, 1:])
        information = x.T @ (x * (risk * hazard[:, 0])[:, None]) - mean.T @ (mean * died[:, None])
        step = np.linalg.solve(information, scores.sum(axis=0))
        slope = slope + step
        if np.abs(step).max() < 1e-10:
            break
    return slope, scores[np.argsort(order)], information
