"""Risk models by hand and by second readings; estimates against populations that were drawn."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import comb, prod

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.engines import read_classes
from incrowd.measures.risk import (
    AttributeDisclosure,
    Journalist,
    Marketer,
    Prosecutor,
    estimate_uniqueness,
    household_risk,
    individual_risk,
    population_uniqueness,
    quasi_identifiers,
    suda2,
)
from model_readings import classes_of, counts

TABLE = pl.DataFrame({"q": ["a", "a", "b", "c", "c", "c"], "s": ["x", "x", "y", "x", "y", "y"]})
PEOPLE = pl.DataFrame({"q": ["a"] * 4 + ["b"] * 5 + ["c"] * 3 + ["d"] * 8})
SCHEMA = ic.Schema(quasi=["q"], sensitive=["s"])


@given(table=counts())
def test_prosecutor(table):
    figures = Prosecutor(threshold=0.3).measure(classes_of(table, "category"))
    sizes = [sum(row) for row in table]
    assert figures["max"] == 1 / min(sizes)
    assert figures["min"] == 1 / max(sizes)
    assert figures["mean"] == pytest.approx(sum(n * (1 / n) for n in sizes) / sum(sizes), abs=1e-12)
    assert figures["mean_over_classes"] == pytest.approx(sum(1 / n for n in sizes) / len(sizes), abs=1e-12)
    assert figures["at_risk"] == sum(n for n in sizes if 1 / n > 0.3) / sum(sizes)


def test_journalist_and_marketer_by_hand():
    """Classes of 2, 1, 3 records cover 4, 5, 3 people."""
    classes = read_classes(TABLE, SCHEMA, population=PEOPLE)
    journalist = Journalist(threshold=0.25).measure(classes)
    assert journalist["max"] == pytest.approx(1 / 3)
    assert journalist["min"] == pytest.approx(1 / 5)
    assert journalist["mean"] == pytest.approx(max((2 / 4 + 1 / 5 + 3 / 3) / 6, 3 / 12))
    assert journalist["at_risk"] == pytest.approx(3 / 6)
    assert Marketer().measure(classes)["expected"] == pytest.approx((2 / 4 + 1 / 5 + 3 / 3) / 6)
    alone = read_classes(TABLE, SCHEMA)
    assert not Journalist().applies(alone)
    assert Journalist(fraction=0.5).measure(alone)["max"] == 0.5
    assert Marketer().measure(alone)["expected"] == pytest.approx(3 / 6)
    assert Marketer(fraction=0.25).measure(alone)["expected"] == pytest.approx(3 / 24)
    assert "journalist" not in ic.assess(TABLE, SCHEMA).risk
    assert ic.assess(TABLE, SCHEMA, population=PEOPLE).risk["journalist"]["max"] == pytest.approx(1 / 3)


def test_attribute_disclosure_by_hand():
    figures = AttributeDisclosure().measure(read_classes(TABLE, SCHEMA))
    assert figures == {
        "max": 1.0,
        "mean": pytest.approx(5 / 6),
        "homogeneous": pytest.approx(3 / 6),
        "baseline": pytest.approx(3 / 6),
    }


# --- uniqueness in the population ---------------------------------------------------------------------


def drawn(sizes: np.ndarray, fraction: float, rng: np.random.Generator) -> tuple[np.ndarray, float, int]:
    """Class sizes of a sample of a population, and which share of the population is unique."""
    population = np.repeat(np.arange(len(sizes)), sizes)
    sample = rng.choice(population, int(len(population) * fraction), replace=False)
    result = np.unique(sample, return_counts=True)[1]
    return result, float((sizes == 1).sum()) / len(population), len(population)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fraction", [0.2, 0.5])
def test_snb_finds_the_uniques_of_its_own_model(seed, fraction):
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.negative_binomial(0.6, 0.3, 40_000)
    sample, truth, population = drawn(sizes, fraction, rng)
    estimate = estimate_uniqueness(sample, population)
    assert estimate.snb == pytest.approx(truth, rel=0.15)


@pytest.mark.few(1)
@pytest.mark.parametrize(("alpha", "theta"), [(0.3, 200.0), (0.6, 50.0)])
def test_pitman_finds_the_uniques_of_its_own_model(alpha, theta):
    rng = np.random.default_rng(1)
    sizes: list[int] = []
    # Pitman's urn: a new class with probability (theta + classes alpha) / (theta + n).
    places: list[int] = []
    for n in range(40_000):
        if rng.random() < (theta + len(sizes) * alpha) / (theta + n):
            sizes.append(1)
            places.append(len(sizes) - 1)
            continue
        while True:
            chosen = places[rng.integers(n)]
            if rng.random() < (sizes[chosen] - alpha) / sizes[chosen]:
                break
        sizes[chosen] += 1
        places.append(chosen)
    sample, truth, population = drawn(np.array(sizes), 0.05, rng)
    estimate = estimate_uniqueness(sample, population)
    assert estimate.pitman == pytest.approx(truth, rel=0.2)
    assert (estimate.chosen, estimate.dankar) == ("pitman", estimate.pitman)


def test_a_whole_population_is_no_estimate():
    sizes = np.array([1, 1, 1, 2, 5])
    estimate = estimate_uniqueness(sizes, 10)
    assert estimate.sample == estimate.zayatz == estimate.snb == pytest.approx(0.3)
    assert estimate.dankar == pytest.approx(0.3)


def test_zayatz_by_hand():
    """Two classes of one and another of two, 4 of 8 people: hypergeometric chances 1/2 and 4/7."""
    estimate = estimate_uniqueness(np.array([1, 1, 2]), 8)
    one, two = 4 / 8, 2 * comb(6, 3) / comb(8, 4)
    unique = (2 / 3 * one) / (2 / 3 * one + 1 / 3 * two)
    assert estimate.zayatz == pytest.approx(2 * unique / 4)


def test_samples_without_uniques_and_of_uniques_alone():
    assert estimate_uniqueness(np.array([3, 4, 5]), 1000).zayatz == 0
    only = estimate_uniqueness(np.ones(50, np.int64), 1000)
    assert only.pitman is None
    assert 0 <= only.dankar <= 1


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fraction", [0.1, 0.3])
def test_poisson_gamma_finds_the_uniques_of_its_own_model(seed, fraction):
    rng = np.random.default_rng(seed)
    cells = 20_000
    sizes = rng.negative_binomial(0.2, 0.05, cells)
    sample, truth, population = drawn(sizes, fraction, rng)
    estimate = estimate_uniqueness(sample, population, cells)
    assert estimate.poisson_gamma == pytest.approx(truth, rel=0.15)
    assert estimate_uniqueness(sample, population).poisson_gamma is None
    # As even as can be: no gamma distribution is narrower than its Poisson.
    assert estimate_uniqueness(np.full(50, 2), 1000, 50).poisson_gamma is None
    assert estimate_uniqueness(np.array([1, 1, 2]), 4, 9).poisson_gamma == 0.5
    assert estimate_uniqueness(np.array([3]), 4, 1).poisson_gamma is None


def test_population_uniqueness_reads_a_table():
    estimate = population_uniqueness(TABLE, ["q"], population=60)
    assert estimate == population_uniqueness(TABLE, "q", fraction=0.1)
    assert estimate.sample == pytest.approx(1 / 6)
    assert set(estimate.to_dict()) == {
        "sample",
        "pitman",
        "zayatz",
        "snb",
        "poisson_gamma",
        "dankar",
        "chosen",
    }
    for wrong in (
        {},
        {"population": 60, "fraction": 0.1},
        {"fraction": 0},
        {"fraction": 2},
        {"population": 5},
    ):
        with pytest.raises(ic.ParameterError):
            population_uniqueness(TABLE, ["q"], **wrong)


# --- individual risk ----------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [1, 2, 3, 4, 31, 32, 60])
@pytest.mark.parametrize("weight", ["1", "1.0001", "1.5", "3", "40"])
def test_individual_risk_is_the_expectation(f, weight):
    """Sum over F >= f of 1/F times the negative binomial chance of F, with 28 digits."""
    p = 1 / Decimal(weight)
    chance, total, n = p**f, Decimal(0), f
    while chance * n > Decimal("1e-15") * total or n < f / p:
        total += chance / n
        chance *= (1 - p) * n / (n - f + 1)
        n += 1
    risk = individual_risk(pl.DataFrame({"q": ["a"] * f}), ["q"], [float(weight)] * f)
    assert risk == pytest.approx(float(total), rel=1e-12)


def test_individual_risk_of_one_person_in_a_million():
    """With a million people a record, the sum has too many terms: E = -p/q ln p for one record, then steps."""
    p = 1e-6
    one = -p / (1 - p) * math.log(p)
    expected = [one, p / (1 - p) * (1 - one)]
    for f in (1, 2):
        risk = individual_risk(pl.DataFrame({"q": ["a"] * f}), ["q"], [1e6] * f)
        assert risk[0] == pytest.approx(expected[f - 1], rel=1e-12)


def test_individual_risk_of_larger_classes_and_suppressed_rows():
    table = pl.DataFrame({"q": ["a"] * 5 + ["*"]})
    risk = individual_risk(table, ["q"], [10.0] * 6)
    exact = math.fsum(comb(n - 1, 4) * 0.1**5 * 0.9 ** (n - 5) / n for n in range(5, 2000))
    assert risk[:5] == pytest.approx(exact, rel=1e-12)
    assert risk[5] == 0
    approximate = individual_risk(table, ["q"], [10.0] * 6, exact=False)
    assert approximate[:5] == pytest.approx(0.1 / (5 - 0.9))
    weighted = table.with_columns(w=pl.Series(["10.0"] * 6))
    assert (individual_risk(weighted, ["q"], "w") == risk).all()
    with pytest.raises(ic.SchemaError, match="weights: the table has no column 'v'"):
        individual_risk(weighted, ["q"], "v")
    with pytest.raises(ic.ParameterError, match="weights must be 6 numbers"):
        individual_risk(weighted, ["q"], "q")
    for wrong in ([1.0] * 5, [0.0] * 6, [-1.0] * 6, [float("nan")] * 6, [[1.0] * 6]):
        with pytest.raises(ic.ParameterError, match="weights must be 6 numbers"):
            individual_risk(table, ["q"], wrong)


# The first table of sdcMicro's tests of individual risk (test_indivRisk.R), and what they expect.
SURVEY = pl.DataFrame(
    {
        "a": [2, 3, 2, 2, 3, 3, 1, 2],
        "b": [3, 3, 3, 3, 3, 3, 4, 3],
        "c": [1, 3, 1, 2, 1, 1, 1, 1],
        "w": [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0],
    }
)
SMALL = [None, 0.08579129, None, 0.17707583, 0.01877883, 0.01877883, 0.03931625, None]


@pytest.mark.parametrize(("exact", "three"), [(True, 0.01355297), (False, 0.01369863)])
def test_individual_risk_gives_the_figures_of_sdcmicro(exact, three, evidence):
    expected = [three if risk is None else risk for risk in SMALL]
    result = individual_risk(SURVEY, ["a", "b", "c"], "w", exact=exact)
    series = "by the series" if exact else "by the approximation"
    evidence("sdcmicro", f"risk of eight records, {series}", ", ".join(f"{x:.8f}" for x in expected), result)


# The second table of the same tests has missing values, which match anything there.
GAPS = SURVEY.with_columns(
    a=pl.Series([2, 3, 2, 2, 3, 3, 1, None]), c=pl.Series([1, 3, None, 2, 1, 1, None, 1])
)
EXACT = [
    0.013552968, 0.085791288, 0.010504889, 0.032466112, 0.009756889, 0.009756889, 0.039316254, 0.005962551
]  # fmt: skip
APPROXIMATE = [
    0.013698630, 0.085791288, 0.010554090, 0.032466112, 0.009836066, 0.009836066, 0.039316254, 0.005973716
]  # fmt: skip


@pytest.mark.parametrize(("exact", "expected"), [(True, EXACT), (False, APPROXIMATE)])
def test_individual_risk_with_missing_values_gives_the_figures_of_sdcmicro(exact, expected, evidence):
    risk = individual_risk(GAPS, ["a", "b", "c"], "w", exact=exact, wildcards="matches-any")
    series = "by the series" if exact else "by the approximation"
    text = f"the same with missing values that match anything, {series}"
    evidence("sdcmicro", text, ", ".join(f"{x:.9f}" for x in expected), risk)


def test_whoever_counts_alone_has_the_risk_of_a_record_alone():
    alone = individual_risk(GAPS, ["a", "b", "c"], "w", wildcards="conservative")
    apart = individual_risk(GAPS.with_columns(a=pl.int_range(8)), ["a"], "w")
    missing = [2, 6, 7]
    assert alone[missing].tolist() == apart[missing].tolist()
    schema = ic.Schema(quasi=["a", "b", "c"], weights="w")
    assert "individual" not in ic.assess(GAPS, schema, wildcards="conservative").risk
    figures = ic.assess(GAPS, schema, wildcards="matches-any").risk["individual"]
    assert figures["max"] == pytest.approx(max(EXACT), abs=1e-9)
    assert figures["mean"] == pytest.approx(sum(EXACT) / 8, abs=1e-9)


def test_weights_below_one_make_a_class_all_there_is():
    table = pl.DataFrame({"q": ["a", "a", "b"]})
    assert individual_risk(table, ["q"], [0.5, 0.25, 0.9]).tolist() == [0.5, 0.5, 1.0]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([1, 2, 3, None])), min_size=1, max_size=30))
def test_household_risk_is_that_of_finding_any_member(rows):
    table = pl.DataFrame(
        {"q": [q for q, _ in rows], "home": pl.Series([home for _, home in rows], dtype=pl.Int64)}
    )
    sizes = Counter(table["q"])
    homes = [("row", i) if home is None else home for i, (_, home) in enumerate(rows)]
    missed = dict.fromkeys(homes, Fraction(1))
    for (q, _), home in zip(rows, homes, strict=True):
        missed[home] *= 1 - Fraction(1, sizes[q])
    result = household_risk(table, ["q"], "home", threshold=0.4)
    assert result.risks == pytest.approx([float(1 - missed[home]) for home in homes], abs=1e-12)
    assert (result.households, result.unnamed) == (len(missed), sum(home is None for _, home in rows))
    each = [float(1 - left) for left in missed.values()]
    assert result.mean == pytest.approx(sum(each) / len(each), abs=1e-12)
    assert result.max == pytest.approx(max(each), abs=1e-12)
    assert result.at_risk == pytest.approx(sum(risk > 0.4 for risk in each) / len(each))
    assert result.expected == pytest.approx(sum(float(1 - missed[home]) for home in homes), abs=1e-9)


def test_household_risk_of_a_survey_and_what_is_refused():
    table = SURVEY.with_columns(home=pl.Series(["x", "x", "y", "y", None, "z", "z", "z"]))
    risks = individual_risk(table, ["a", "b", "c"], "w")
    risk = household_risk(table, ["a", "b", "c"], "home", "w")
    assert risk.risks[0] == pytest.approx(1 - (1 - risks[0]) * (1 - risks[1]))
    assert risk.risks[4] == pytest.approx(risks[4])
    assert risk.to_dict()["households"] == 4
    suppressed = pl.DataFrame({"q": ["*", "a"], "home": [1, 1]})
    assert household_risk(suppressed, ["q"], "home").risks.tolist() == [1.0, 1.0]
    with pytest.raises(ic.SchemaError, match="has no column 'house'"):
        household_risk(table, ["a"], "house")
    with pytest.raises(ic.ParameterError, match="threshold"):
        household_risk(table, ["a"], "home", threshold=2)
    with pytest.raises(ic.TableError, match="not in memory"):
        household_risk(table.lazy(), ["a"], "home")


# --- special uniques and quasi-identifiers ------------------------------------------------------------


@st.composite
def small(draw):
    rows = draw(st.integers(1, 25))
    column = st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows)
    return pl.DataFrame({name: draw(column) for name in "pqrs"})


@given(small(), st.integers(1, 4))
def test_suda_finds_what_brute_force_finds(table, size):
    rows = table.rows()

    def alone(row: int, chosen: tuple[int, ...]) -> bool:
        values = [tuple(other[j] for j in chosen) for other in rows]
        return bool(chosen) and values.count(values[row]) == 1

    result = suda2(table, list("pqrs"), max_size=size)
    weights, by_value = Counter(), Counter()
    for row in range(len(rows)):
        score, sizes = 0.0, [0] * size
        for k in range(1, size + 1):
            for chosen in combinations(range(4), k):
                smaller = combinations(chosen, k - 1)
                if alone(row, chosen) and not any(alone(row, less) for less in smaller):
                    worth = prod(4 - i for i in range(k, size + 1) if i < 4)
                    score += worth
                    sizes[k - 1] += 1
                    weights.update({"pqrs"[j]: worth for j in chosen})
                    by_value.update({("pqrs"[j], rows[row][j]): worth for j in chosen})
        assert result.scores[row] == score
        assert result.sizes[row].tolist() == sizes
    total = result.scores.sum()
    for name in "pqrs":
        assert result.contributions[name] == pytest.approx(weights[name] / total if total else 0)
        expected = {value: worth / total for (column, value), worth in by_value.items() if column == name}
        assert result.value_contributions[name] == pytest.approx(expected)
    assert result.to_dict()["rows_with_one"] == int((result.scores > 0).sum())


@given(small(), st.integers(1, 4), st.sampled_from([0.3, 0.7, 1.0]))
def test_quasi_identifiers_read_once_more(table, size, asked):
    rows = table.rows()
    result = {
        entry.columns: entry
        for entry in quasi_identifiers(table, list("pqrs"), max_size=size, distinction=asked)
    }
    assert len(result) == sum(comb(4, k) for k in range(1, size + 1))
    shares = {}
    for columns, entry in result.items():
        values = Counter(tuple(row["pqrs".index(name)] for name in columns) for row in rows)
        shares[columns] = len(values) / len(rows)
        assert entry.distinction == shares[columns]
        pairs = [(a, b) for a, b in combinations(range(len(rows)), 2)]
        apart = sum(
            any(rows[a]["pqrs".index(name)] != rows[b]["pqrs".index(name)] for name in columns)
            for a, b in pairs
        )
        assert entry.separation == pytest.approx(apart / len(pairs) if pairs else 1)
        assert entry.unique == sum(n == 1 for n in values.values()) / len(rows)
    for columns, entry in result.items():
        less = [other for other in shares if set(other) < set(columns)]
        assert entry.minimal == (
            shares[columns] >= asked and not any(shares[other] >= asked for other in less)
        )
    order = [entry.distinction for entry in quasi_identifiers(table, list("pqrs"), max_size=size)]
    assert order == sorted(order, reverse=True)


GUIDE = pl.DataFrame(
    [
        ("Urban", "Female", "Secondary incomplete", "Employed"),
        ("Urban", "Female", "Secondary incomplete", "Employed"),
        ("Urban", "Female", "Primary incomplete", "Non-LF"),
        ("Urban", "Male", "Secondary complete", "Employed"),
        ("Rural", "Female", "Secondary complete", "Unemployed"),
        ("Urban", "Male", "Secondary complete", "Employed"),
        ("Urban", "Female", "Primary complete", "Non-LF"),
        ("Urban", "Male", "Post-secondary", "Unemployed"),
        ("Urban", "Female", "Secondary incomplete", "Non-LF"),
        ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ],
    schema=["residence", "gender", "education", "labor"],
    orient="row",
)
"""Benschop, Machingauta and Welch, Statistical disclosure control: a practice guide, section on SUDA."""


def test_suda_of_the_practice_guide(evidence):
    """Scores are products, and the DIS-SUDA scores come from the program's scoring, at 1 %."""
    product = suda2(GUIDE, GUIDE.columns)
    evidence("guide", "SUDA scores of ten records", "0, 0, 6, 0, 12, 0, 6, 10, 0, 0", product.scores.tolist())
    subsets = suda2(GUIDE, GUIDE.columns, scoring="subsets")
    assert subsets.scores.tolist() == [0, 0, 1.75, 0, 3.25, 0, 1.75, 2.75, 0, 0]
    printed = "0, 0, 0.0051, 0, 0.0107, 0, 0.0051, 0.0088, 0, 0"
    evidence("guide", "DIS-SUDA scores of the same", printed, subsets.dis_scores.tolist())
    assert subsets.dis == pytest.approx(4 * 0.01 / (4 * 0.01 + 6 * 0.99))
    assert suda2(GUIDE, GUIDE.columns, fraction=1).dis_scores[2] == 1
    for wrong in ({"fraction": 0}, {"fraction": 1.1}, {"scoring": "sum"}):
        with pytest.raises(ic.ParameterError, match="must be"):
            suda2(GUIDE, GUIDE.columns, **wrong)


@given(small(), st.sampled_from([0.01, 0.5]), st.sampled_from(["product", "subsets"]))
def test_dis_scores_are_ordered_like_scores(table, fraction, scoring):
    result = suda2(table, list("pqrs"), fraction=fraction, scoring=scoring)
    assert ((result.dis_scores >= 0) & (result.dis_scores <= 1)).all()
    assert ((result.dis_scores > 0) == (result.scores > 0)).all()
    order = np.argsort(result.scores, kind="stable")
    assert (np.diff(result.dis_scores[order]) >= -1e-12).all()


def test_sizes_out_of_range():
    for call in (suda2, quasi_identifiers):
        for size in (0, 5):
            with pytest.raises(ic.ParameterError, match="max_size must be a whole number between 1 and 4"):
                call(pl.DataFrame({name: ["a"] for name in "pqrs"}), list("pqrs"), max_size=size)
    with pytest.raises(ic.ParameterError, match="distinction must be a number above 0 and at most 1"):
        quasi_identifiers(TABLE, ["q"], max_size=1, distinction=0)
