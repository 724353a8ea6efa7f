"""Fits equal those of statsmodels by hand, and those with weights equal R's survey."""

from __future__ import annotations

import gzip
import importlib
import io
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import incrowd as ic
from imported_late import LateModule
from incrowd.engines import engine_for
from incrowd.release.analyses.cells import RawSheet
from incrowd.release.analyses.fits import at, fit
from incrowd.release.sampling import Design

sm, smf = LateModule("statsmodels.api"), LateModule("statsmodels.formula.api")
SCHEMA = ic.Schema(quasi=["age"], unlisted="keep")


def fitted(table, analysis, weights=None, released=None, schema=SCHEMA):
    """Return the fit of a table, or of its release."""
    design = Design(weights, analysis.strata, analysis.clusters)
    names = [*analysis.columns, *design.names()]
    sheet = RawSheet.of_table(engine_for(table), schema, names)
    return fit(analysis, sheet if released is None else sheet.of_release(engine_for(released)), design)


@pytest.fixture(scope="module")
def people():
    table = ic.samples.hospital(600).filter(pl.col("sex") != "X")
    random = np.random.default_rng(3)
    return table.with_columns(died=pl.Series(random.integers(0, 2, len(table))))


@pytest.fixture(scope="module")
def frame(people):
    names = ["age", "sex", "cost", "length_of_stay", "died"]
    return pd.DataFrame({name: people[name].to_numpy() for name in names})


def same(estimates, result):
    """Compare values, errors and intervals with those of a result of statsmodels."""
    low, high = (result.conf_int()[end] for end in (0, 1))
    for name, value in result.params.items():
        expected = (value, result.bse[name], low[name], high[name])
        assert tuple(estimates[name])[:4] == pytest.approx(expected, rel=1e-6, abs=1e-9), name


def test_regressions_equal_those_of_statsmodels(people, frame):
    ols = ic.Analysis("a", "cost ~ age * C(sex) + np.log(length_of_stay + 1)")
    same(fitted(people, ols).estimates, smf.ols(ols.formula, frame).fit())
    logit = ic.Analysis("a", "I(sex == 'M') ~ age + cost", "logit")
    frame = frame.assign(male=(frame["sex"] == "M").astype(float))
    same(fitted(people, logit).estimates, smf.logit("male ~ age + cost", frame).fit(disp=0))
    poisson = ic.Analysis("a", "length_of_stay ~ age + C(sex)", "poisson")
    same(fitted(people, poisson).estimates, smf.poisson(poisson.formula, frame).fit(disp=0))


def test_times_equal_those_of_statsmodels(people, frame):
    cox = ic.Analysis("a", "length_of_stay ~ age + C(sex)", "cox", event="died")
    result = smf.phreg("length_of_stay ~ age + C(sex)", frame, status=frame["died"].to_numpy()).fit()
    estimates = fitted(people, cox).estimates
    assert [each.value for each in estimates.values()] == pytest.approx(list(result.params)[::1], rel=1e-6)
    assert [each.error for each in estimates.values()] == pytest.approx(list(result.bse), rel=1e-6)
    curves = fitted(people, ic.Analysis("a", "length_of_stay ~ sex", "kaplan-meier", event="died")).curves
    women = frame[frame["sex"] == "F"]
    curve = sm.SurvfuncRight(women["length_of_stay"], women["died"])
    times, shares = curves["survival sex[F]"]
    assert times.tolist() == curve.surv_times.tolist()
    assert shares == pytest.approx(curve.surv_prob)


def test_a_cox_regression_has_the_exact_solution_of_a_small_table(evidence):
    """Appendix E of Therneau and Grambsch 2000, and the vignette `validate` of R's survival: log((3 + sqrt 33) / 2).

    That is with the ties of Breslow, as in statsmodels, Stata and SAS. Those of Efron give 1.676857.
    """
    table = pl.DataFrame({"time": [1, 1, 6, 6, 8, 9], "status": [1, 0, 1, 1, 0, 1], "x": [1, 1, 1, 0, 0, 0]})
    cox = ic.Analysis("a", "time ~ x", "cox", event="status")
    [estimate] = fitted(table, cox, schema=ic.Schema(quasi=["x"], unlisted="keep")).estimates.values()
    assert estimate.value == pytest.approx(math.log((3 + math.sqrt(33)) / 2))
    what = "logarithm of the hazard ratio of test data 1, and its information"
    evidence("survival", what, "1.475285, 0.6341681", [estimate.value, estimate.error**-2])


def test_survival_curves_equal_those_that_r_prints(evidence):
    """summary(survfit(Surv(time, status) ~ x, aml)) and its print, as on many pages; data of Miller 1981."""
    lines = {
        "Maintained": "9 13 13+ 18 23 28+ 31 34 45+ 48 161+",
        "Nonmaintained": "5 5 8 8 12 16+ 23 27 30 33 43 45",
    }
    rows = [(x, each) for x, line in lines.items() for each in line.split()]
    table = pl.DataFrame(
        {
            "x": [x for x, _ in rows],
            "time": [int(each.rstrip("+")) for _, each in rows],
            "status": [int(not each.endswith("+")) for _, each in rows],
        }
    )
    kept = ic.Analysis("a", "time ~ x", "kaplan-meier", event="status")
    fit = fitted(table, kept, schema=ic.Schema(quasi=["x"], unlisted="keep"))
    printed = {
        "Maintained": ((9, 13, 18, 23, 31, 34, 48), "0.909, 0.818, 0.716, 0.614, 0.491, 0.368, 0.184"),
        "Nonmaintained": (
            (5, 8, 12, 23, 27, 30, 33, 43),
            "0.8333, 0.6667, 0.5833, 0.4861, 0.3889, 0.2917, 0.1944, 0.0972",
        ),
    }
    for x, (times, shares) in printed.items():
        there = at(fit.curves[f"survival x[{x}]"], np.array(times, np.float64))
        evidence("survival", f"survival of {x.lower()} patients", shares, there.tolist())
    # The medians are 31 and 23. R has no upper end of either, and so there is no interval to compare.
    for x, median in (("Maintained", 31), ("Nonmaintained", 23)):
        times, shares = fit.curves[f"survival x[{x}]"]
        assert times[shares <= 0.5][0] == median


def test_survival_of_a_known_study_equals_that_of_r():
    """The first heart transplants at Stanford (Miller 1976), with R 4.2.2 and survival 3.5-3."""
    heart = importlib.import_module("statsmodels.datasets.heart").load_pandas().data
    table = pl.DataFrame({name: heart[name].to_numpy() for name in heart})
    table = table.with_columns(old=(pl.col("age") > 45).cast(pl.Int64))
    # coxph(Surv(survival, censors) ~ age + old, d, ties = "breslow")
    cox = ic.Analysis("a", "survival ~ age + old", "cox", event="censors")
    estimates = fitted(table, cox).estimates
    assert estimates["age"][:2] == pytest.approx((0.0854740797177, 0.0320995664236), rel=1e-6)
    assert estimates["old"][:2] == pytest.approx((-0.6799283855505, 0.5049218736211), rel=1e-6)
    # summary(survfit(Surv(survival, censors) ~ old, d), times = c(30, 100, 365))
    curves = fitted(table, ic.Analysis("a", "survival ~ old", "kaplan-meier", event="censors")).curves
    days = np.array([30.0, 100.0, 365.0])
    printed = {0: (0.81734530, 0.67310789, 0.50836120), 1: (0.84782609, 0.53546911, 0.39687710)}
    for old, shares in printed.items():
        assert at(curves[f"survival old[{old}.0]"], days) == pytest.approx(shares, abs=1e-8)


def test_descriptive_figures(people, frame):
    means = fitted(people, ic.Analysis("a", "cost ~ sex", "means")).estimates
    women = frame.loc[frame["sex"] == "F", "cost"]
    assert means["mean sex[F]"][:2] == pytest.approx((women.mean(), women.std() / len(women) ** 0.5))
    quantiles = fitted(people, ic.Analysis("a", "cost ~ 1", "quantiles", quantiles=[0.5])).estimates
    assert quantiles["quantile 0.5"].value == pytest.approx(frame["cost"].median(), rel=0.01)
    pairs = fitted(people, ic.Analysis("a", "~ age + cost", "correlation")).estimates
    assert pairs["age:cost"].value == pytest.approx(frame["age"].corr(frame["cost"]))
    shares = fitted(people, ic.Analysis("a", "~ sex", "table")).estimates
    assert shares["share sex[F]"].value == pytest.approx((frame["sex"] == "F").mean())
    learned = fitted(people, ic.Analysis("a", "sex ~ age + cost", "classifier")).estimates["accuracy"]
    assert 0.3 < learned.low < learned.value < learned.high < 0.8
    mine = ic.Analysis("a", function=lambda rows: {"top": (rows["cost"].max(), 0, 1)}, columns=["cost"])
    assert fitted(people, mine).estimates["top"][:1] == (frame["cost"].max(),)


ADULT = (
    "age", "workclass", "fnlwgt", "education", "years", "marital", "occupation", "relationship", "race", "sex",
    "gain", "loss", "hours", "country", "salary",
)  # fmt: skip


def test_fits_of_adult_equal_those_of_statsmodels(shared_data):
    """The fits of a table that everybody knows, by statsmodels on pandas alone."""
    raw = gzip.decompress((shared_data / "adult" / "adult.all.txt.gz").read_bytes())
    frame = pd.read_csv(io.BytesIO(raw), names=ADULT, skipinitialspace=True).head(4_000)
    frame["rich"] = frame["salary"].str.startswith(">50k").astype(int)
    table = pl.DataFrame({name: frame[name].to_numpy() for name in ("age", "years", "sex", "hours", "rich")})
    hours = ic.Analysis("a", "hours ~ age + np.log(years) + C(sex)")
    same(fitted(table, hours).estimates, smf.ols(hours.formula, frame).fit())
    rich = ic.Analysis("a", "rich ~ age + years + C(sex) + hours", "logit")
    same(fitted(table, rich).estimates, smf.logit(rich.formula, frame).fit(disp=0))
    years = ic.Analysis("a", "years ~ age * C(sex)", "poisson")
    same(fitted(table, years).estimates, smf.poisson(years.formula, frame).fit(disp=0))
    means = fitted(table, ic.Analysis("a", "hours ~ sex", "means")).estimates
    for sex, own in frame.groupby("sex")["hours"]:
        assert means[f"mean sex[{sex}]"][:2] == pytest.approx((own.mean(), own.sem()))
    # A release without any recoding keeps everything.
    schema = ic.Schema(quasi=["age", "sex"], unlisted="keep")
    kept = ic.evaluate(table, table, schema, aligned=True, analyses=[hours]).analyses["a"]
    assert (kept.kept, kept.before.records) == (1.0, 4_000)


SURVEY = pl.DataFrame(
    {
        "y": [1.2, 3.4, 2.2, 5.1, 4.4, 6.3, 7.7, 6.1, 8.8, 9.3],
        "x": list(range(1, 11)),
        "b": [0, 0, 1, 0, 1, 0, 1, 1, 0, 1],
        "c": [1, 0, 2, 3, 1, 4, 2, 5, 6, 4],
        "w": [1.0, 2, 1.5, 3, 1, 2.5, 1, 2, 1, 4],
    }
)
"""Figures below are of R 4.2.2 and survey 4.1-1: s <- svydesign(ids = ~1, weights = ~w, data = d)."""


@pytest.mark.parametrize(
    ("analysis", "name", "expected"),
    [
        # coef(summary(svyglm(y ~ x, s)))
        (ic.Analysis("a", "y ~ x"), "x", (0.798640375288, 0.0755055282637)),
        # svyglm(b ~ x, s, family = quasibinomial())
        (ic.Analysis("a", "b ~ x", "logit"), "x", (0.477903043687, 0.27333330318)),
        # svyglm(c ~ x, s, family = quasipoisson())
        (ic.Analysis("a", "c ~ x", "poisson"), "x", (0.150021524026, 0.0542646747437)),
        # svymean of ~y
        (ic.Analysis("a", "y ~ 1", "means"), "mean", (5.928947368, 0.931535509079)),
        # svymean of ~factor(b)
        (ic.Analysis("a", "~ b", "table"), "share b[1.0]", (0.5, 0.18711)),
    ],
)
def test_weighted_figures_equal_those_of_survey(analysis, name, expected):
    estimate = fitted(SURVEY, analysis, "w", schema=ic.Schema(quasi=["x"], unlisted="keep")).estimates[name]
    assert estimate[:2] == pytest.approx(expected, rel=1e-5)


DRAWN = SURVEY.with_columns(
    h=pl.Series(list("aaaaabbbbb")),
    p=pl.Series([1, 1, 2, 2, 3, 4, 4, 5, 6, 6]),
    t=pl.Series([3, 8, 1, 6, 12, 4, 9, 2, 7, 10]),
    e=pl.Series([1, 1, 0, 1, 1, 0, 1, 1, 1, 0]),
    g=pl.Series(list("uv" * 5)),
    lonely=pl.Series(list("aaaaabbbbz")),
)
WHOLE = {"strata": "h", "clusters": "p"}
COX = "t ~ x + b"


@pytest.mark.parametrize(
    ("analysis", "weights", "name", "expected"),
    [
        # s <- svydesign(ids = ~p, strata = ~h, weights = ~w, data = d), of the same versions.
        (ic.Analysis("a", "y ~ x", **WHOLE), "w", "x", (0.798640375288, 0.0547760351502)),
        (ic.Analysis("a", "b ~ x", "logit", **WHOLE), "w", "x", (0.477903043687, 0.156162975349)),
        (ic.Analysis("a", "c ~ x", "poisson", **WHOLE), "w", "x", (0.150021524026, 0.0595040637139)),
        (ic.Analysis("a", "y ~ 1", "means", **WHOLE), "w", "mean", (5.928947368, 0.882659835725)),
        # svyby(~y, ~g, s, svymean): the records of the other group were drawn, too.
        (ic.Analysis("a", "y ~ g", "means", **WHOLE), "w", "mean g[v]", (6.46296296296, 0.969314248427)),
        (ic.Analysis("a", "~ b", "table", **WHOLE), "w", "share b[1.0]", (0.5, 0.141714863346)),
        # svydesign(ids = ~p, weights = ~1), and svydesign(ids = ~1, strata = ~h, weights = ~1)
        (ic.Analysis("a", "y ~ x", clusters="p"), None, "x", (0.847878787879, 0.0627218699484)),
        (ic.Analysis("a", "y ~ 1", "means", clusters="p"), None, "mean", (5.45, 1.17792189894)),
        (ic.Analysis("a", "y ~ x", strata="h"), None, "x", (0.847878787879, 0.0873510769619)),
        (ic.Analysis("a", "y ~ 1", "means", strata="h"), None, "mean", (5.45, 0.478852795753)),
        # options(survey.lonely.psu = "adjust"), strata = ~lonely, weights = ~w
        (ic.Analysis("a", "y ~ x", strata="lonely"), "w", "x", (0.798640375288, 0.0794514901297)),
        (ic.Analysis("a", "y ~ 1", "means", strata="lonely"), "w", "mean", (5.928947368, 0.748572943702)),
        # svycoxph(Surv(t, e) ~ x + b, s), with survival 3.5-3; then with weights alone
        (ic.Analysis("a", COX, "cox", event="e", **WHOLE), "w", "x", (-0.0871849076535, 0.0459856365012)),
        (ic.Analysis("a", COX, "cox", event="e"), "w", "x", (-0.0871849076535, 0.151915379056)),
        (ic.Analysis("a", COX, "cox", event="e"), "w", "b", (-1.1203083148032, 1.582099884064)),
    ],
)
def test_figures_of_strata_and_clusters_equal_those_of_survey(analysis, weights, name, expected):
    schema = ic.Schema(quasi=["x"], unlisted="keep")
    estimate = fitted(DRAWN, analysis, weights, schema=schema).estimates[name]
    assert estimate[:2] == pytest.approx(expected, rel=1e-5)


def test_ties_of_a_weighted_cox_regression_are_those_of_breslow():
    """R: svycoxph(Surv(t, e) ~ x + b, s, method = "breslow"), with weights alone."""
    tied = DRAWN.with_columns(t=pl.Series([3, 8, 3, 6, 8, 4, 8, 2, 6, 8]))
    schema = ic.Schema(quasi=["x"], unlisted="keep")
    estimates = fitted(tied, ic.Analysis("a", COX, "cox", event="e"), "w", schema=schema).estimates
    assert estimates["x"][:2] == pytest.approx((-0.108762509507, 0.145429074140), rel=1e-5)
    assert estimates["b"][:2] == pytest.approx((-0.431174334352, 0.780763861565), rel=1e-5)


def test_equal_weights_change_no_coefficient(people):
    weighted = people.with_columns(w=pl.lit(2.5))
    for kind, formula in (("ols", "cost ~ age"), ("cox", "length_of_stay ~ age + C(sex)")):
        analysis = ic.Analysis("a", formula, kind, event="died" if kind == "cox" else None)
        plain, heavy = (fitted(weighted, analysis, name).estimates for name in (None, "w"))
        for name, each in plain.items():
            assert heavy[name].value == pytest.approx(each.value, rel=1e-6), name


def test_weights_of_ranges_count_in_an_interval_regression():
    """They were left out without a word. Two records count as one of weight 2."""
    random = np.random.default_rng(2)
    x = random.normal(size=120).round(3)
    y = (10 + 4 * x + random.normal(size=120) * 2).round(3)
    weights = random.integers(1, 4, 120)
    raw = pl.DataFrame({"x": x, "y": y, "w": weights.astype(float)})
    texts = pl.Series(np.array(["< 6", "[6, 10)", "[10, 12)", ">= 12"])[np.digitize(y, [6, 10, 12])])
    twice = np.repeat(np.arange(120), weights).tolist()
    schema = ic.Schema(quasi=["y"], unlisted="keep")
    analysis = ic.Analysis("a", "y ~ x", ranges="interval")
    heavy = fitted(raw, analysis, "w", raw.with_columns(y=texts), schema).estimates["x"]
    plain = fitted(raw[twice], analysis, None, raw[twice].with_columns(y=texts[twice]), schema).estimates["x"]
    assert heavy.value == pytest.approx(plain.value, rel=1e-3)


def test_ranges_sets_and_stars_are_read():
    raw = pl.DataFrame({"age": [21, 24, 30, 38, 61, 70], "job": [*"aabbcc"], "y": [1.0, 2, 3, 4, 5, 6]})
    released = raw.with_columns(
        age=pl.Series(["[20-29]", "[20-29]", "[30-39]", "[30-39]", "60 or more", "*"]),
        job=pl.Series(["{a, b}", "{a, b}", "b", "b", "c", "c"]),
    )

    def mean(analysis):
        return fitted(raw, analysis, released=released).estimates["mean"].value

    age = ic.Analysis("a", "age ~ 1", "means")
    # The open range is as wide as the median closed one, 9 years; the star is missing.
    assert mean(age) == pytest.approx((24.5 + 24.5 + 34.5 + 34.5 + 64.5) / 5)
    by_raw = ic.Analysis("a", "age ~ 1", "means", ranges="mean")
    assert mean(by_raw) == pytest.approx((22.5 + 22.5 + 34 + 34 + 65.5) / 5)
    drawn = ic.Analysis("a", "age ~ 1", "means", ranges="draws", draws=200)
    assert mean(drawn) == pytest.approx(mean(age), abs=0.5)
    shares = fitted(
        raw, ic.Analysis("a", "~ job", "table", categories="fractions", draws=200), released=released
    ).estimates
    # {a, b} is b as far as only b is ever released: the most likely distribution.
    assert shares["share job[b]"].value == pytest.approx(4 / 6, abs=0.02)
    levels = ic.Analysis("a", "~ job", "table", categories="level")
    assert "share job[{a, b}]" in fitted(raw, levels, released=released).estimates


def test_interval_regression_finds_what_middles_of_wide_and_open_ranges_miss():
    random = np.random.default_rng(1)
    x = random.normal(size=800)
    y = 10 + 4 * x + random.normal(size=800) * 2
    raw = pl.DataFrame({"x": x.round(4), "age": y.round(4)})
    texts = np.array(["< 6", "[6, 10)", "[10, 12)", ">= 12"])
    released = raw.with_columns(age=pl.Series(texts[np.digitize(y, [6, 10, 12])]))
    value = {
        ranges: fitted(raw, ic.Analysis("a", "age ~ x", ranges=ranges), released=released).estimates["x"]
        for ranges in ("middle", "interval")
    }
    assert abs(value["interval"].value - 4) < 3 * value["interval"].error
    assert value["middle"].value < 3


def test_repeated_draws_are_pooled_by_the_rules_of_rubin():
    from incrowd.release.analyses.fits import Estimate, Fit, Sample, _pooled

    fits = [Fit({"x": Estimate(value, 0.5, 0, 0, "x", tested=True)}, {}) for value in (1.0, 2.0, 3.0)]
    sample = Sample(ic.Analysis("a", "y ~ x"), [], None)
    [pooled] = _pooled(sample, fits).estimates.values()
    # Rubin 1987: the variance is within + (1 + 1/m) between = 0.25 + 4/3.
    assert (pooled.value, pooled.error**2) == pytest.approx((2.0, 0.25 + 4 / 3))


def test_an_aliased_coefficient_is_left_out_as_in_r(people):
    estimates = fitted(people, ic.Analysis("a", "cost ~ age + I(2 * age)")).estimates
    assert [*estimates] == ["Intercept", "age"]


@pytest.mark.parametrize("formula", ["zip ~ age", "cost ~ np.log(age)"])
def test_an_error_names_no_value(people, formula):
    with pytest.raises(ic.ParameterError, match="analysis a") as caught:
        fitted(people.with_columns(age=pl.lit(0)), ic.Analysis("a", formula, "poisson"))
    assert people["zip"][0] not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "formula", "words"),
    [
        ("logit", "cost ~ age", "is 0 or 1; say which counts"),
        ("poisson", "I(-cost) ~ age", "is not below 0"),
        ("ols", "cost ~ 1", "no column beside the outcome"),
    ],
)
def test_an_outcome_that_a_kind_does_not_have_is_refused(people, kind, formula, words):
    with pytest.raises(ic.ParameterError, match=words):
        fitted(people, ic.Analysis("a", formula, kind))


def test_an_extra_that_is_absent_is_named(people, monkeypatch):
    monkeypatch.setattr("incrowd.core.errors.find_spec", lambda name: None)
    with pytest.raises(ic.MissingExtraError, match=r"analysis a needs statsmodels.*\[analyses\]"):
        fitted(people, ic.Analysis("a", "cost ~ age"))
