"""Fits of each kind of analysis, by statsmodels and scikit-learn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import ParameterError, require_extra
from incrowd.core.lazy import LazyModule, NDArray, np, pd
from incrowd.release.analyses.analysis import Analysis
from incrowd.release.analyses.cells import Sheet
from incrowd.release.analyses.formula import columns_of
from incrowd.release.sampling import Design, covariance, weighted_cox

if TYPE_CHECKING:
    import patsy
    import statsmodels.api as sm
    from scipy import stats
    from statsmodels.stats import weightstats
else:
    patsy = LazyModule("patsy")
    sm = LazyModule("statsmodels.api")
    stats = LazyModule("scipy.stats")
    weightstats = LazyModule("statsmodels.stats.weightstats")

_OUTCOMES = {"logit": (0.0, 1.0), "poisson": (0.0, math.inf), "cox": (0.0, math.inf)}
"""The least and the largest outcome of a kind; a group of the two values is a share of the second."""
_ALIASED = 1e-7
"""A column of a design is a sum of those before it where no more than this part of its length is left."""
_FOLDS = 5
"""Parts of the records that a classifier is tested on in turn."""


class Estimate(NamedTuple):
    """A number of an analysis.

    Attributes
    ----------
    value, error
        The number, and its standard error.
    low, high
        The ends of its interval.
    term
        The part of the analysis that it belongs to, without any value of the table; by default its name.
    tested
        Whether 0 means that there is no effect, so that sign and significance say something.
    """

    value: float
    error: float
    low: float
    high: float
    term: str = ""
    tested: bool = False


class Fit(NamedTuple):
    """The estimates and curves of an analysis of one table.

    Attributes
    ----------
    estimates
        The numbers by name.
    curves
        Survival curves by name: float64[steps] with the times, and the share from each time on.
    records
        The records without a missing value, which count.
    """

    estimates: dict[str, Estimate]
    curves: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    records: int = 0


class Sample(NamedTuple):
    """The complete records of a table, as a fit gets them.

    Attributes
    ----------
    analysis
        The analysis.
    frames
        Frames of pandas with its columns: one, or one of each draw.
    weights
        float64[records]: the sampling weights, or None.
    ends
        The ends of the released ranges of the outcome, for interval regression.
    strata, clusters
        int64[records]: the stratum and the cluster of each record, or None.
    """

    analysis: Analysis
    frames: Sequence[Any]
    weights: NDArray[np.float64] | None = None
    ends: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    strata: NDArray[np.int64] | None = None
    clusters: NDArray[np.int64] | None = None

    @property
    def frame(self) -> Any:
        """The first frame."""
        return self.frames[0]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers.

        Raises
        ------
        ParameterError
            When it has categories.
        """
        if self.frame[name].dtype.kind not in "fi":
            raise ParameterError(
                f"analysis {self.analysis.name}: column {name!r} has categories, not numbers"
            )
        return np.asarray(self.frame[name], np.float64)

    def groups(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield the name of each combination of values behind ``~``, and its records: bool[records]."""
        columns = self.analysis.side(1)
        if not columns:
            yield "", np.ones(len(self.frame), np.bool_)
            return
        for key, rows in self.frame.groupby(columns, observed=True).indices.items():
            inside = np.zeros(len(self.frame), np.bool_)
            inside[rows] = True
            values = key if isinstance(key, tuple) else (key,)
            yield " ".join(f"{name}[{value}]" for name, value in zip(columns, values, strict=True)), inside

    @property
    def by_design(self) -> bool:
        """Whether errors are those of a survey's sample."""
        return any(each is not None for each in (self.weights, self.strata, self.clusters))

    def mean(self, numbers: NDArray[np.float64], inside: NDArray[np.bool_], term: str) -> Estimate:
        """Return the mean of some records; a sample's other records count as drawn, too."""
        weights = self.shares(inside)
        value = float(weights @ numbers[inside] / weights.sum())
        influence = np.zeros((len(numbers), 1))
        influence[inside, 0] = weights * (numbers[inside] - value) / weights.sum()
        rows = influence if self.by_design else influence[inside]
        return self.normal(value, math.sqrt(covariance(rows, self.strata, self.clusters)[0, 0]), term)

    def shares(self, records: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the weights of some records, each 1 without sampling weights."""
        return np.ones(int(records.sum())) if self.weights is None else self.weights[records]

    @property
    def z(self) -> float:
        """How many standard errors an interval of a normal distribution reaches to each side."""
        return float(stats.norm.ppf((1 + self.analysis.confidence) / 2))

    def term(self, what: str) -> str:
        """Return the term of an estimate of groups, with their columns."""
        columns = self.analysis.side(1)
        return f"{what} by {', '.join(columns)}" if columns else what

    def normal(self, value: float, error: float, term: str, *, tested: bool = False) -> Estimate:
        """Return a number with the interval of a normal distribution."""
        half = self.z * error
        return Estimate(float(value), float(error), float(value - half), float(value + half), term, tested)

    def within(self, value: float, low: float, high: float, term: str, *, tested: bool = False) -> Estimate:
        """Return a number with an interval, from which its standard error follows."""
        error = (float(high) - float(low)) / 2 / self.z
        return Estimate(float(value), error, float(low), float(high), term, tested)

    def share(self, count: float, size: float, term: str) -> Estimate:
        """Return a share of `size` records with its interval by Wilson's score."""
        from statsmodels.stats.proportion import proportion_confint

        low, high = proportion_confint(count, size, 1 - self.analysis.confidence, "wilson")
        return self.within(count / size, low, high, term)


def fit(analysis: Analysis, sheet: Sheet, design: Design) -> Fit:
    """Fit an analysis to a table.

    Parameters
    ----------
    sheet
        The table.
    design
        How it was drawn, as far as the table has the columns.

    Raises
    ------
    MissingExtraError
        When statsmodels or scikit-learn is not installed.
    ParameterError
        When the table does not allow the fit. The message names no value.
    """
    where, more = f"analysis {analysis.name}", ["sklearn"] if analysis.kind == "classifier" else []
    require_extra(["statsmodels", *more], "analyses", where)
    rows = sheet.complete([*analysis.columns, *design.names()])
    if not len(rows):
        raise ParameterError(f"{where}: every record lacks a value of one of its columns")
    frames = list(sheet.frames(analysis, rows))
    weights = None if design.weights is None else sheet.numbers(design.weights, rows, "middle")
    ends = sheet.ends(analysis.side(0)[0], rows) if analysis.ranges == "interval" else None
    strata, clusters = (None if name is None else sheet.columns[name].cells[rows] for name in design[1:])
    sample = Sample(analysis, frames, weights, ends, strata, clusters)
    averages = analysis.function is None and analysis.kind in _AVERAGING and analysis.ranges != "draws"
    samples = [sample] if averages else [sample._replace(frames=[frame]) for frame in frames]
    fitted = _by_function if analysis.function is not None else _KINDS[analysis.kind]
    try:
        # A model of a release may be separated or nearly singular. The comparison then says what is lost.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            pooled = _pooled(sample, [fitted(each) for each in samples])
    except ParameterError:
        raise
    except Exception as error:
        # The message of a library may quote a value of the table.
        raise ParameterError(
            f"{where}: it cannot be computed ({type(error).__name__}); look at the formula, and whether its "
            "outcome is a number"
        ) from None
    return pooled._replace(records=len(rows))


def at(curve: tuple[NDArray[np.float64], NDArray[np.float64]], times: NDArray[np.float64]) -> Any:
    """Return a survival curve at some times: float64[times]."""
    steps, shares = curve
    return np.append(1.0, shares)[np.searchsorted(steps, times, "right")]


def _pooled(sample: Sample, fits: Sequence[Fit]) -> Fit:
    """Pool the fits of repeated draws by Rubin's rules, and take the mean of their curves."""
    if len(fits) == 1:
        return fits[0]
    estimates, curves = {}, {}
    for name, first in fits[0].estimates.items():
        every = [each.estimates[name] for each in fits if name in each.estimates]
        value = math.fsum(each.value for each in every) / len(every)
        within = math.fsum(each.error**2 for each in every) / len(every)
        between = math.fsum((each.value - value) ** 2 for each in every) / max(len(every) - 1, 1)
        error = math.sqrt(within + (1 + 1 / len(every)) * between)
        estimates[name] = sample.normal(value, error, first.term, tested=first.tested)
    for name in fits[0].curves:
        drawn = [each.curves[name] for each in fits if name in each.curves]
        times = np.unique(np.concatenate([steps for steps, _ in drawn]))
        curves[name] = (times, np.mean([at(curve, times) for curve in drawn], axis=0))
    return Fit(estimates, curves)


def _by_function(sample: Sample) -> Fit:
    """Call a function of the user: numbers by name, each alone or with the ends of its interval."""
    function = sample.analysis.function
    assert function is not None
    estimates = {}
    for name, number in function(sample.frame.copy()).items():
        value, low, high = number if isinstance(number, tuple) else (number, number, number)
        estimates[str(name)] = sample.within(value, low, high, str(name))
    return Fit(estimates, {})


def _designs(sample: Sample) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, str]]:
    """Return outcome and design as the mean over all frames, without aliased columns, and terms by name.

    The mean over many draws of a category is the share of each member: so a group counts as fractions.
    """
    environment = patsy.EvalEnvironment([{"np": np}])
    first = patsy.dmatrices(sample.analysis.formula, sample.frame, environment)
    infos = [side.design_info for side in first]
    every = [first, *(patsy.build_design_matrices(infos, frame) for frame in sample.frames[1:])]
    outcome, design = (np.mean([np.asarray(each[side]) for each in every], axis=0) for side in (0, 1))
    names = list(infos[1].column_names)
    terms: dict[str, str] = {}
    for term, columns in infos[1].term_name_slices.items():
        own = columns_of(term, "") if term != "Intercept" else []
        terms |= dict.fromkeys(names[columns], ":".join(own) or term)
    if sample.analysis.kind == "cox" and "Intercept" in names:
        # The baseline hazard takes its place.
        design = np.delete(design, names.index("Intercept"), axis=1)
        names.remove("Intercept")
    if outcome.shape[1] > 2:
        raise ParameterError(
            f"analysis {sample.analysis.name}: the outcome has more than two values; say which counts, as "
            "I(outcome == 'value') ~ ..."
        )
    if not (np.isfinite(design).all() and np.isfinite(outcome).all()):
        raise ParameterError(f"analysis {sample.analysis.name}: a term is infinite, as the logarithm of 0")
    least, largest = _OUTCOMES.get(sample.analysis.kind, (-math.inf, math.inf))
    if (outcome < least).any() or (outcome > largest).any():
        raise ParameterError(
            f"analysis {sample.analysis.name}: the outcome of kind = {sample.analysis.kind!r} "
            + ("is 0 or 1; say which counts, as I(outcome > 5) ~ ..." if largest == 1 else "is not below 0")
        )
    if not {*names} - {"Intercept"}:
        raise ParameterError(f"analysis {sample.analysis.name}: the formula has no column beside the outcome")
    length = np.linalg.norm(design, axis=0)
    left_over = np.abs(np.diag(np.linalg.qr(design / np.where(length > 0, length, 1), mode="r")))
    kept = np.flatnonzero(left_over > _ALIASED) if len(left_over) == len(names) else np.arange(0)
    if not len(kept):
        raise ParameterError(f"analysis {sample.analysis.name}: there are fewer records than coefficients")
    # An outcome with two values has a column for each.
    return outcome[:, -1], design[:, kept], {names[column]: terms[names[column]] for column in kept}


def _regression(sample: Sample) -> Fit:
    """Fit a regression; of a survey's sample, the errors are those of its design."""
    analysis, weights = sample.analysis, sample.shares(np.ones(len(sample.frame), np.bool_))
    outcome, design, terms = _designs(sample)
    family = {"logit": sm.families.Binomial, "poisson": sm.families.Poisson}.get(analysis.kind)
    if sample.ends is not None and bool((sample.ends[1] > sample.ends[0]).any()):
        model = _interval_regression(outcome, design, sample.ends, weights)
        scores, information = model.model.score_obs(model.params), -model.model.hessian(model.params)
    elif analysis.kind == "cox":
        model = sm.PHReg(outcome, design, status=_events(sample)).fit()
        if sample.by_design:
            model.params, scores, information = weighted_cox(outcome, _events(sample), design, weights)
    elif family is None and not sample.by_design:
        model = sm.OLS(outcome, design).fit()
    else:
        family = (family or sm.families.Gaussian)()
        model = sm.GLM(outcome, design, family=family, var_weights=weights).fit()
        scores = design * (weights * (outcome - model.fittedvalues))[:, None]
        information = design.T @ (design * (weights * family.variance(model.fittedvalues))[:, None])
    errors, intervals = model.bse, np.asarray(model.conf_int(1 - analysis.confidence))
    if sample.by_design:
        influence = scores @ np.linalg.pinv(information)
        errors = np.sqrt(np.diag(covariance(influence, sample.strata, sample.clusters)))
        intervals = model.params[:, None] + sample.z * errors[:, None] * np.array([-1, 1])
    estimates = {}
    for place, (name, term) in enumerate(terms.items()):
        value, error, (low, high) = float(model.params[place]), float(errors[place]), intervals[place]
        if math.isfinite(error):
            estimates[name] = Estimate(value, error, float(low), float(high), term, tested=True)
    return Fit(estimates, {})


def _interval_regression(
    outcome: NDArray[np.float64],
    design: NDArray[np.float64],
    ends: tuple[NDArray[np.float64], ...],
    weights: NDArray[np.float64],
) -> Any:
    """Fit a normal regression of an outcome of which only ranges are known, by maximum likelihood."""
    from statsmodels.base.model import GenericLikelihoodModel

    low, high = ends
    exact = high <= low

    class Intervals(GenericLikelihoodModel):  # type: ignore[misc]
        """The likelihood of ranges; the last parameter is the logarithm of the spread."""

        def nloglikeobs(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
            center, spread = self.exog @ parameters[:-1], math.exp(parameters[-1])
            below, above = (low - center) / spread, (high - center) / spread
            # Both ends on one side of the center are told apart better in the lower tail.
            flip = below > 0
            below, above = np.where(flip, -above, below), np.where(flip, -below, above)
            inside = np.log(np.maximum(stats.norm.cdf(above) - stats.norm.cdf(below), 1e-300))
            density = stats.norm.logpdf(self.endog, center, spread)
            return np.asarray(-weights * np.where(exact, density, inside))

    start = sm.WLS(outcome, design, weights).fit()
    model = Intervals(outcome, design, extra_params_names=["spread"])
    first = np.append(start.params, math.log(math.sqrt(start.scale) + 1e-9))
    return model.fit(start_params=first, method="bfgs", maxiter=500, disp=0)


def _events(sample: Sample) -> NDArray[np.float64]:
    """Return 1 for each record whose event came, else 0."""
    event = sample.analysis.event
    return np.ones(len(sample.frame)) if event is None else sample.numbers(event)


def _survival(sample: Sample) -> Fit:
    """Return the curve of Kaplan and Meier of each group, and its median."""
    [column, *_] = sample.analysis.side(0)
    times, events = sample.numbers(column), _events(sample)
    estimates, curves = {}, {}
    for group, inside in sample.groups():
        weights = None if sample.weights is None else sample.weights[inside]
        curve = sm.SurvfuncRight(times[inside], events[inside], freq_weights=weights)
        name = f"survival {group}".strip()
        curves[name] = (np.asarray(curve.surv_times, np.float64), np.asarray(curve.surv_prob, np.float64))
        if weights is None:
            median = float(curve.quantile(0.5))
            low, high = curve.quantile_ci(0.5, 1 - sample.analysis.confidence)
            if np.isfinite([median, low, high]).all():
                estimates[f"median {group}".strip()] = sample.within(median, low, high, sample.term("median"))
    return Fit(estimates, curves)


def _means(sample: Sample) -> Fit:
    """Return the mean of each group, with the error of a survey sample."""
    [column, *_] = sample.analysis.side(0)
    numbers, estimates = sample.numbers(column), {}
    for group, inside in sample.groups():
        if inside.sum() > 1:
            estimates[f"mean {group}".strip()] = sample.mean(numbers, inside, sample.term("mean"))
    return Fit(estimates, {})


def _quantiles(sample: Sample) -> Fit:
    """Return the quantiles of each group, with Woodruff's intervals."""
    [column, *_] = sample.analysis.side(0)
    numbers, estimates = sample.numbers(column), {}
    for group, inside in sample.groups():
        weights = sample.shares(inside)
        described = weightstats.DescrStatsW(numbers[inside], weights)
        for share in sample.analysis.quantiles:
            half = sample.z * math.sqrt(share * (1 - share) / _size(weights))
            shares = np.clip([share, share - half, share + half], 0, 1)
            value, low, high = (float(each) for each in described.quantile(shares, return_pandas=False))
            name = f"quantile {share:g}"
            estimates[f"{name} {group}".strip()] = sample.within(value, low, high, sample.term(name))
    return Fit(estimates, {})


def _correlation(sample: Sample) -> Fit:
    """Return the correlation of each pair of numbers, with Fisher's intervals."""
    columns = sample.analysis.side(1)
    every = np.ones(len(sample.frame), np.bool_)
    weights = sample.shares(every)
    numbers = np.column_stack([sample.numbers(name) for name in columns])
    matrix = np.atleast_2d(weightstats.DescrStatsW(numbers, weights).corrcoef)
    spread = 1 / math.sqrt(max(_size(weights) - 3, 1))
    estimates = {}
    for one, other in combinations(range(len(columns)), 2):
        value = float(matrix[one, other])
        if math.isfinite(value):
            middle = math.atanh(min(max(value, -0.999999), 0.999999))
            low, high = (math.tanh(middle + side * sample.z * spread) for side in (-1, 1))
            name = f"{columns[one]}:{columns[other]}"
            estimates[name] = sample.within(value, low, high, name, tested=True)
    return Fit(estimates, {})


def _table(sample: Sample) -> Fit:
    """Return the share of each combination of values."""
    estimates = {}
    for group, inside in sample.groups():
        each = sample.share(int(inside.sum()), len(inside), sample.term("share"))
        if sample.by_design:
            each = sample.mean(inside.astype(float), np.ones_like(inside), sample.term("share"))
        estimates[f"share {group}".strip()] = each
    return Fit(estimates, {})


def _classifier(sample: Sample) -> Fit:
    """Return the cross-validated accuracy of gradient-boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    [target, *_] = sample.analysis.side(0)
    labels = np.asarray(sample.frame[target].astype(str))
    columns = sample.analysis.side(1)
    features = np.mean(
        [pd.get_dummies(frame[columns], dtype=float).to_numpy() for frame in sample.frames], axis=0
    )
    seed = sample.analysis.seed
    model = HistGradientBoostingClassifier(random_state=seed, max_iter=60, early_stopping=False)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    # Threads that share out the nodes of a small table wait for one another most of the time.
    with threadpool_limits(1, user_api="openmp"):
        right = cross_val_predict(model, features, labels, cv=folds) == labels
    weights = sample.shares(np.ones(len(labels), np.bool_))
    share, size = math.fsum(weights[right]) / math.fsum(weights), _size(weights)
    return Fit({"accuracy": sample.share(share * size, size, "accuracy")}, {})


def _size(weights: NDArray[np.float64]) -> float:
    """Return the number of unweighted records that tell as much, by Kish."""
    return float(weights.sum() ** 2 / (weights @ weights))


_REGRESSIONS = ("ols", "logit", "poisson", "cox")
_AVERAGING = (*_REGRESSIONS, "classifier")
"""Kinds that take the mean of all draws as fractions, and are fitted once."""
_KINDS: dict[str, Callable[[Sample], Fit]] = {
    **dict.fromkeys(_REGRESSIONS, _regression),
    "kaplan-meier": _survival,
    "means": _means,
    "quantiles": _quantiles,
    "correlation": _correlation,
    "classifier": _classifier,
    "table": _table,
}
"""The fit of each kind: a line each."""
