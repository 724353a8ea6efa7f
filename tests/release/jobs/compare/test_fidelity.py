"""Distributions, associations, counts and learning: before against after."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import incrowd as ic
from local_readings import scattered, schema_of, tables


def compared(raw: pl.DataFrame, released: pl.DataFrame, schema: ic.Schema, **settings) -> ic.Fidelity:
    evaluation = ic.evaluate(raw, released, schema)
    return ic.fidelity(evaluation, **settings)


@given(table=tables(least=5))
def test_nothing_changes_where_nothing_was_changed(table):
    measures = compared(table, table, schema_of("n", "t", "c"), queries=10)
    for marginal in measures.marginals:
        assert marginal.total_variation == pytest.approx(0, abs=1e-9)
        assert marginal.hellinger == pytest.approx(0, abs=1e-7)
        assert (marginal.wasserstein or 0) == pytest.approx(0, abs=1e-9)
    for pair in measures.associations:
        assert pair.cramers_v[0] == pytest.approx(pair.cramers_v[1], abs=1e-6)
        assert pair.mutual_information[0] == pytest.approx(pair.mutual_information[1], abs=1e-9)
        a, b = pair.columns
        joint, one, other = (Counter(table.select(names).rows()) for names in ((a, b), (a,), (b,)))
        rows = table.height
        expected = sum(
            n / rows * math.log2(n * rows / (one[key[:1]] * other[key[1:]])) for key, n in joint.items()
        )
        assert pair.mutual_information[0] == pytest.approx(expected, abs=1e-9)
    assert measures.queries.mean == pytest.approx(0, abs=1e-9)


def test_marginals_by_hand():
    """10, 10, 10, 40 under [10-40]: half each at 10 and 40. u, u, u, v under {u, v}; w stays."""
    raw = pl.DataFrame({"n": [10, 10, 10, 40], "c": ["u", "u", "u", "v"], "s": ["x"] * 4})
    released = raw.with_columns(n=pl.lit("[10-40]"), c=pl.lit("{u, v}"))
    number, category = compared(raw, released, schema_of("n", "c")).marginals
    assert number.total_variation == pytest.approx(0.25)
    assert number.wasserstein == pytest.approx(0.25)
    expected = math.sqrt(
        ((math.sqrt(0.75) - math.sqrt(0.5)) ** 2 + (math.sqrt(0.25) - math.sqrt(0.5)) ** 2) / 2
    )
    assert number.hellinger == category.hellinger == pytest.approx(expected)
    assert category.wasserstein is None


def test_a_set_counts_its_values_and_not_those_between():
    raw = pl.DataFrame({"c": ["u", "w", "v", "v"], "s": ["x"] * 4})
    released = raw.with_columns(c=pl.Series(["{u, w}", "{u, w}", "v", "v"]))
    (marginal,) = compared(raw, released, schema_of("c"), columns=1).marginals
    assert marginal.total_variation == pytest.approx(0)


def test_a_set_counts_its_missing_value():
    raw = pl.DataFrame({"c": ["a", None, "b", "b"], "s": ["x"] * 4})
    released = raw.with_columns(c=pl.Series(["{a, <missing>}"] * 2 + ["b", "b"]))
    (marginal,) = compared(raw, released, schema_of("c"), columns=1).marginals
    assert marginal.total_variation == pytest.approx(0)


def test_suppressed_records_may_be_anything():
    raw = pl.DataFrame({"c": ["u", "u", "v", "v"], "n": [1, 1, 3, 3], "s": ["x"] * 4})
    released = raw.with_columns(c=pl.Series(["*", "u", "v", "v"]), n=pl.Series(["*", "1", "3", "3"]))
    measures = compared(raw, released, schema_of("c", "n"))
    assert measures.marginals[0].total_variation == pytest.approx(0.125)
    assert measures.associations[0].cramers_v[0] == pytest.approx(1)
    assert measures.associations[0].cramers_v[1] < 1


@pytest.mark.slow
def test_associations_survive_fine_classes_and_not_random_ones():
    rng = np.random.default_rng(1)
    first = rng.normal(size=600).round(2)
    raw = pl.DataFrame({"n": first, "m": (first + rng.normal(size=600) / 4).round(2), "s": ["x"] * 600})
    schema = schema_of("n", "m")
    fine = ic.anonymize(raw, schema, [ic.KAnonymity(5)])
    coarse = ic.anonymize(raw, schema, [ic.KAnonymity(5)], ic.Random(), max_suppression=1.0)
    (near,) = compared(raw, fine.table, schema).associations
    (far,) = compared(raw, coarse.table, schema).associations
    assert near.correlation[0] == pytest.approx(np.corrcoef(raw["n"], raw["m"])[0, 1])
    assert near.correlation[1] > 0.9 * near.correlation[0]
    assert abs(far.correlation[1]) < near.correlation[1]
    assert compared(raw, fine.table, schema).queries.mean < compared(raw, coarse.table, schema).queries.mean


def test_settings_out_of_range():
    table = scattered(10, 1)
    for wrong in ({"queries": 0}, {"columns": 3}, {"columns": 0}, {"selectivity": 0.0}, {"selectivity": 1.5}):
        with pytest.raises(ic.ParameterError, match=f"^fidelity: {next(iter(wrong))} must be "):
            compared(table, table, schema_of("n", "t"), **wrong)


# --- learning -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def taught() -> pl.DataFrame:
    """The flag depends on the number, the amount on both; `noise` on nothing."""
    rng = np.random.default_rng(3)
    number, letter = rng.integers(0, 100, 1500), rng.choice(list("uvwx"), 1500)
    return pl.DataFrame(
        {
            "n": number,
            "c": letter,
            "flag": np.where((number > 50) ^ (rng.random(1500) < 0.05), "yes", "no"),
            "amount": number + 10.0 * (letter == "u") + rng.normal(size=1500),
            "noise": rng.choice(["a", "b", "c"], 1500),
            "same": ["z"] * 1500,
        }
    )


LEARNED = ic.Schema(quasi=["n", "c"], unlisted="drop")


@pytest.mark.slow
def test_what_a_release_teaches(taught):
    pytest.importorskip("sklearn")
    release = ic.anonymize(taught, LEARNED, [ic.KAnonymity(10)])
    evaluation = ic.evaluate(taught, release.table, LEARNED)
    accuracy, area = ic.learn(evaluation, taught, "flag")
    assert (accuracy.score, area.score) == ("accuracy", "auc")
    assert accuracy.baseline < 0.6
    assert 0.85 < accuracy.released <= accuracy.raw + 0.03
    assert accuracy.kept == pytest.approx(1, abs=0.15)
    assert area.released > 0.85
    (squared,) = ic.learn(evaluation, taught, "amount")
    assert squared.score == "r2"
    assert squared.baseline == pytest.approx(0, abs=0.02)
    assert 0.8 < squared.released <= squared.raw
    chance, _ = ic.learn(evaluation, taught, "noise")
    assert abs(chance.released - chance.baseline) < 0.1


@pytest.mark.slow
def test_a_raw_release_teaches_as_much_and_a_suppressed_one_nothing(taught):
    pytest.importorskip("sklearn")
    same = ic.learn(ic.evaluate(taught, taught, LEARNED), taught, "flag")[0]
    assert same.released == same.raw
    assert same == ic.learn(ic.evaluate(taught, taught, LEARNED), taught, "flag")[0]
    nothing = taught.with_columns(n=pl.lit("*"), c=pl.lit("*"))
    gone = ic.learn(ic.evaluate(taught, nothing, LEARNED), taught, "flag")[0]
    assert gone.released <= gone.baseline + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("parallel_from", "threads"), [(50_000, 1), (100, 2)])
def test_threads_share_out_large_tables_alone(taught, monkeypatch, parallel_from, threads):
    """Threads of a small table wait for one another, and the results are the same."""
    ensemble, threadpoolctl = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("threadpoolctl")
    few = taught.head(150)
    evaluation = ic.evaluate(few, few, LEARNED)
    expected = ic.learn(evaluation, few, "flag")
    fit, met = ensemble.HistGradientBoostingClassifier.fit, []

    def watched(self, *arguments):
        met.extend(
            pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "openmp"
        )
        return fit(self, *arguments)

    monkeypatch.setattr(ensemble.HistGradientBoostingClassifier, "fit", watched)
    monkeypatch.setattr("incrowd.core.kernels.jit.PARALLEL_FROM", parallel_from)
    monkeypatch.setenv("INCROWD_THREADS", "2")
    assert ic.learn(evaluation, few, "flag") == expected
    assert set(met) == {threads}


@pytest.mark.slow
def test_targets_that_teach_nothing_are_refused(taught):
    pytest.importorskip("sklearn")
    evaluation = ic.evaluate(taught, taught, LEARNED)
    with pytest.raises(ic.ParameterError, match="only one value"):
        ic.learn(evaluation, taught, "same")
    with pytest.raises(ic.ParameterError, match="holdout"):
        ic.learn(evaluation, taught, "flag", holdout=1)
    with pytest.raises(ic.SchemaError, match="no column 'flags'"):
        ic.learn(evaluation, taught, "flags")
    with pytest.raises(ic.SchemaError, match="'n' is quasi"):
        ic.learn(evaluation, taught, "n")


def test_without_scikit_learn_the_extra_is_named(taught, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(ic.MissingExtraError, match=r"pip install '\.\[ml\]'"):
        ic.learn(ic.evaluate(taught, taught, LEARNED), taught, "flag")


def test_cramers_v_is_corrected_for_bias():
    """Columns that are nearly unique and independent go together by chance alone, which is taken off."""
    rng = np.random.default_rng(2)
    rows = 500
    raw = pl.DataFrame({"n": rng.permutation(rows), "m": rng.permutation(rows), "s": ["x"] * rows})
    measures = compared(raw, raw, schema_of("n", "m"), queries=1)
    assert measures.associations[0].cramers_v == (0.0, 0.0), "without the correction they are 1"
    one, other = rng.integers(0, 9, (2, rows))
    for second in (other, np.where(rng.random(rows) < 0.4, one, other)):
        table = pl.DataFrame({"n": one, "m": second, "s": ["x"] * rows})
        counts = Counter(table.select("n", "m").rows())
        (pair,) = compared(table, table, schema_of("n", "m"), queries=1).associations
        assert pair.cramers_v[0] == pytest.approx(corrected_v(counts), abs=1e-9)
    assert corrected_v(counts) > 0.3


def corrected_v(counts: Counter) -> float:
    """Read formulas (7) to (9) of Bergsma (2013) slowly."""
    records = sum(counts.values())
    one, other = Counter(), Counter()
    for (a, b), n in counts.items():
        one[a] += n
        other[b] += n
    phi = sum(
        (counts[a, b] - one[a] * other[b] / records) ** 2 / (one[a] * other[b] / records)
        for a in one
        for b in other
    ) / records  # fmt: skip
    r, c = len(one), len(other)
    above = max(0, phi - (r - 1) * (c - 1) / (records - 1))
    below = min(r - (r - 1) ** 2 / (records - 1), c - (c - 1) ** 2 / (records - 1)) - 1
    return math.sqrt(above / below)


def test_an_association_of_wide_cells_is_not_taken_for_chance():
    """Ten intervals have the chance of ten values, though each is spread over several values."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 100, 1_000)
    second = np.clip(first + rng.integers(-4, 5, 1_000), 0, 99)
    raw = pl.DataFrame({"n": first, "m": second, "s": ["x"] * 1_000})
    tens = {
        name: [f"[{value // 10 * 10}-{value // 10 * 10 + 9}]" for value in raw[name].to_list()]
        for name in "nm"
    }
    released = raw.with_columns(pl.Series(name, cells) for name, cells in tens.items())
    (pair,) = compared(raw, released, schema_of("n", "m"), queries=1).associations
    assert pair.cramers_v[0] > 0.25
    assert pair.cramers_v[1] > 0.2
