"""Measures beside a perturbation, against slow readings of the definitions."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import incrowd as ic

RNG = np.random.default_rng(4)
RAW = pl.DataFrame(
    {"a": RNG.normal(50, 10, 60).round(1), "b": RNG.lognormal(3, 1, 60).round(1), "age": [1] * 60}
)
NOISY = RAW.with_columns(a=pl.col("a") + pl.Series(RNG.normal(0, 4, 60)), b=pl.col("b").reverse())


def reading(raw: pl.DataFrame, noisy: pl.DataFrame, columns: list[str]) -> dict[str, float]:
    rows, others = (frame.select(columns).rows() for frame in (raw, noisy))
    deviations = [float(raw[name].std()) for name in columns]

    def gap(one, other):
        return sum(((x - y) / s) ** 2 for x, y, s in zip(one, other, deviations, strict=True))

    near = 0
    for place, row in enumerate(rows):
        near += min(range(len(others)), key=lambda other: gap(row, others[other])) == place
    pairs = [
        abs(x - y) / s
        for one, other in zip(rows, others, strict=True)
        for x, y, s in zip(one, other, deviations, strict=True)
    ]
    return {
        "il1s": sum(pairs) / len(pairs) / math.sqrt(2),
        "interval": sum(pair <= 0.05 for pair in pairs) / len(pairs),
        "linked": near / len(rows),
    }


@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
def test_figures_are_those_of_their_definitions(columns):
    measures = ic.perturbation(RAW, NOISY, columns)
    expected = reading(RAW, NOISY, columns)
    assert measures.il1s_mean == pytest.approx(expected["il1s"])
    assert measures.interval_disclosure == pytest.approx(expected["interval"])
    assert measures.linked == pytest.approx(expected["linked"])
    for name in columns:
        shift = float(NOISY[name].mean() - RAW[name].mean()) / float(RAW[name].std())
        assert measures.means[name] == pytest.approx(shift, abs=1e-12)
    assert measures.records == 60
    assert "planted" not in repr(measures)


def test_analyses_are_compared_by_treatment_too():
    """A recoding alone was compared, so whoever perturbs numbers did not see what a model loses."""
    slope = ic.Analysis("slope", "b ~ a")
    measures = ic.perturbation(RAW, NOISY, ["a"], analyses=[slope])
    estimate = measures.analyses["slope"].estimates["a"]
    after = np.polyfit(NOISY["a"], NOISY["b"], 1)[0]
    assert estimate.before.value == pytest.approx(np.polyfit(RAW["a"], RAW["b"], 1)[0])
    assert estimate.after.value == pytest.approx(after)
    assert measures.to_dict()["analyses"][0]["name"] == "slope"
    assert "before_value" not in str(measures.to_dict())
    same = ic.perturbation(RAW, RAW, ["a"], analyses=[slope])
    assert same.analyses["slope"].kept == 1
    assert "analyses" not in ic.perturbation(RAW, NOISY, ["a"]).to_dict()


def test_what_is_not_perturbed_loses_nothing_and_is_found():
    measures = ic.perturbation(RAW, RAW, ["a", "b"], one_to_one=True)
    assert (measures.il1s_mean, measures.covariances, measures.eigenvalues) == (0, 0, 0)
    assert measures.interval_disclosure == measures.linked_one_to_one == 1
    alike = pl.DataFrame({"a": [1.0] * 4 + [5.0]})
    # Four rows are as near to each of the four.
    assert ic.perturbation(alike, alike, ["a"]).linked == pytest.approx((4 * 0.25 + 1) / 5)


def test_correlations_that_are_broken_are_told():
    x = pl.Series("x", RNG.normal(size=400))
    raw = pl.DataFrame({"x": x, "y": x * 2})
    swapped = raw.with_columns(y=pl.col("y").shuffle(seed=1))
    measures = ic.perturbation(raw, swapped, ["x", "y"])
    assert measures.covariances > 0.8
    # Of eigenvalues 2 and 0, both have become about 1.
    assert measures.eigenvalues == pytest.approx(0.5, abs=0.1)
    assert measures.linked < 0.1


@pytest.mark.random_order
def test_a_release_says_which_row_is_which():
    schema = ic.Schema(["age"], insensitive=["a", "b"], treatments={"a": "noise:0.1"})
    release = ic.anonymize(RAW, schema, "k-anonymity:2")
    measures = ic.perturbation(RAW, release, ["a", "b"])
    assert measures.il1s["b"] == 0
    assert 0.02 < measures.il1s["a"] < 0.15
    # By chance one row in sixty is the nearest.
    assert measures.linked > 0.5


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ic.perturbation(RAW, NOISY, []), "at least one column"),
        (lambda: ic.perturbation(RAW, NOISY, ["c"]), "has no column 'c'"),
        (lambda: ic.perturbation(RAW, NOISY.head(3), ["a"]), "60 rows and the released one 3"),
        (
            lambda: ic.perturbation(RAW, NOISY.with_columns(a=pl.lit("x")), ["a"]),
            "no column of plain numbers",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(call, said):
    with pytest.raises(ic.InputError, match=said):
        call()
