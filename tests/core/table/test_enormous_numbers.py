"""Numbers near the largest double give no warning (pytest makes errors of warnings), and finite losses."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.release.drafting.profile import profile_of
from incrowd.release.jobs.compare.fidelity import fidelity
from incrowd.release.jobs.measure.learn import learn
from incrowd.search import ALGORITHMS

TABLE = pl.DataFrame({"x": [1e300, 1e308, -1e308, 5.0] * 3, "y": [1, 2, 3, 4] * 3, "s": list("abcdef") * 2})
SCHEMA = ic.Schema(quasi=["x", "y"], sensitive=["s"])


def losses(found) -> list[float]:
    parts = found if isinstance(found, list) else list(found.values()) if isinstance(found, dict) else [found]
    if parts == [found]:
        return [found] if isinstance(found, float) else []
    return [loss for part in parts for loss in losses(part)]


@pytest.mark.few(4)
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("name", ["mondrian", "mdav", "k-member", "clustering", "oka", "random"])
def test_what_is_lost_of_enormous_numbers_is_a_number(name, k):
    release = ic.anonymize(TABLE, SCHEMA, [ic.KAnonymity(k)], ALGORITHMS.get(name)())
    result = losses(release.to_dict())
    assert len(result) > 10
    assert all(map(math.isfinite, result))
    ic.evaluate(TABLE, release.table, SCHEMA)


CHOSEN = np.random.default_rng(1).choice(8, 240, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
SMALL = pl.DataFrame(
    {
        "x": np.array([1.0, 2.0, 4.0, 7.0, -3.0, -7.0, 5.5, 0.5])[CHOSEN],
        "y": np.array([3.0, 4.0, 9.0, 12.0, -5.0, -11.0, 10.5, 2.0])[CHOSEN],
        "s": np.array([1.0, 2.0, 4.0, 8.0, -3.0, -7.0, 5.0, 0.5])[(CHOSEN + np.arange(240) % 2) % 8],
    }
)
LARGE = SMALL.select(pl.all() * 2.0**1020)
"""The largest is 1.5 * 2 ** 1023, so that the sum of any two like it is no double."""
NUMBERS = ic.Schema(quasi=["x", "y"], sensitive=["s"])


def both(style: str = "range") -> list[tuple[pl.DataFrame, pl.DataFrame]]:
    """Release both tables in the same classes."""
    quasi = {name: ic.Attribute(name, "quasi", output=style) for name in ("x", "y")}
    schema = ic.Schema(quasi=quasi, sensitive=["s"])
    return [
        (raw, ic.anonymize(raw, schema, [ic.KAnonymity(30)], ends="exact").table) for raw in (SMALL, LARGE)
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("style", ["range", "set", "mean"])
def test_distributions_and_associations_of_enormous_numbers_are_those_of_small_ones(style):
    small, large = (
        fidelity(evaluation).to_dict()
        for evaluation in (ic.evaluate(raw, table, NUMBERS, aligned=True) for raw, table in both(style))
    )
    assert large == small
    assert small["marginals"][0]["wasserstein"] > 0
    assert 0.9 < small["associations"][0]["correlation"][0] < 1


@pytest.mark.parametrize("power", [-700, -400, 0, 250, 300, 390, 500])
def test_a_correlation_does_not_depend_on_the_unit(power):
    """Sums of squares and products of sums exceed all doubles long before the numbers do."""
    raw = SMALL.select(pl.all() * 2.0**power)
    evaluation = ic.evaluate(raw, raw, NUMBERS)
    [pair] = fidelity(evaluation).associations
    expected = float(np.corrcoef(SMALL["x"], SMALL["y"])[0, 1])
    assert pair.correlation == pytest.approx((expected, expected))


@pytest.mark.slow
@pytest.mark.parametrize("style", ["range", "set", "mean"])
def test_attacks_on_enormous_numbers_succeed_as_on_small_ones(style):
    small, large = (
        [
            attack.to_dict()
            for attack in ic.attack(
                raw,
                table,
                NUMBERS,
                secret="s",
                control=raw,
                aligned=True,
                # No cell of means need cover anybody.
                also=[] if style == "mean" else [table],
                attacks=40,
            )
        ]
        for raw, table in both(style)
    )
    assert len(small) == (7 if style == "mean" else 9)
    assert large == small


@pytest.mark.slow
def test_models_learn_from_enormous_numbers_as_from_small_ones():
    pytest.importorskip("sklearn")
    small, large = (learn(ic.evaluate(raw, table, NUMBERS), raw, "s") for raw, table in both())
    assert [each.score for each in small] == ["r2"]
    assert [dataclasses.astuple(each) for each in large] == [dataclasses.astuple(each) for each in small]
    assert small[0].raw > 0


def test_means_of_classes_of_enormous_numbers_are_numbers():
    small, large = (
        ic.anonymize(raw, NUMBERS, [ic.KAnonymity(30)], ends="exact").class_table("s")
        for raw in (SMALL, LARGE)
    )
    assert large.select("x", "y").rows() == small.select(pl.col("x", "y") * 2.0**1020).rows()


def test_a_released_number_may_be_larger_than_all_raw_ones():
    """Synthetic data have larger numbers, and the half of a sum of two numbers is a number."""
    raw = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0] * 4, "s": ["a", "b"] * 8})
    frame = pl.DataFrame({"x": [1.0, 2.0, 1.7e308, -1.7e308] * 4, "s": ["a", "b"] * 8})
    schema = ic.Schema(quasi=["x"], sensitive=["s"])
    halved = frame.with_columns(pl.col("x").clip(-8, 8))
    large, small = (ic.attack(raw, table, schema, secret="s", attacks=16) for table in (frame, halved))
    assert [attack.to_dict() for attack in large] == [attack.to_dict() for attack in small]


def test_optimal_groups_of_enormous_numbers_and_missing_ones():
    schema = ic.Schema(quasi=["x"], unlisted="drop")
    table = LARGE.with_columns(x=pl.when(pl.int_range(pl.len()) % 6 > 0).then("x"))
    release = ic.anonymize(table, schema, [ic.KAnonymity(3)], ALGORITHMS.get("microaggregation")())
    assert release.table.group_by("x").len()["len"].min() >= 3


@pytest.mark.few(1)
@pytest.mark.parametrize("style", ["range", "set", "mean"])
def test_numbers_beyond_all_doubles_lose_what_small_ones_do(style):
    whole = SMALL.select(pl.col("x", "y", "s") * 2)
    quasi = {name: ic.Attribute(name, "quasi", output=style) for name in ("x", "y")}
    schema = ic.Schema(quasi=quasi, sensitive=["s"])
    told = []
    for power in (0, 1400):
        raw = whole.with_columns(
            pl.Series(name, [str(int(value) * 2**power) for value in whole[name]]) for name in ("x", "y")
        )
        release = ic.anonymize(raw, schema, [ic.KAnonymity(30)], ends="exact")
        assert not release.table["x"].str.contains("inf|nan").any()
        evaluation = ic.evaluate(raw, release.table, NUMBERS, aligned=True)
        figures = fidelity(evaluation).to_dict()
        told.append([figures, losses(release.to_dict()["utility"]), losses(evaluation.to_dict())])
        assert len(ic.attack(raw, release.table, NUMBERS, secret="s", attacks=20)) == 5
        assert len(release.class_table("s"))
    assert len(told[0][1]) > 10
    assert all(map(math.isfinite, told[1][1] + told[1][2]))
    # Means of small ones have decimals, where those of enormous ones have none.
    if style != "mean":
        (figures, *lost), (small, *lost_by_small) = told[1], told[0]
        assert figures == small
        assert lost == [pytest.approx(each, rel=1e-12, abs=0) for each in lost_by_small]


def test_a_mean_of_enormous_numbers_may_be_small():
    table = pl.DataFrame({"x": [2.0**1000, -(2.0**1000), 0.0, 0.0] * 4})
    schema = ic.Schema(quasi={"x": ic.Attribute("x", "quasi", output="mean")})
    assert set(ic.anonymize(table, schema, [ic.KAnonymity(16)]).table["x"]) == {0.0}


def test_a_mean_may_have_thousands_of_digits():
    table = pl.DataFrame({"x": [f"{row % 4}{'0' * 5000}" for row in range(16)]})
    schema = ic.Schema(quasi={"x": ic.Attribute("x", "quasi", output="mean")})
    [mean] = set(ic.anonymize(table.filter(pl.col("x") > "1"), schema, [ic.KAnonymity(9)]).table["x"])
    assert Decimal(mean).scaleb(-5000) == pytest.approx(Decimal(2))


@pytest.mark.parametrize("ends", [(1e306, 3e307), (-1.7e308, 1.7e308), (1.7e308, 1.79e308)])
def test_a_column_of_enormous_numbers_that_repeat_is_looked_at(ends):
    numbers = np.array([ends[0] * share + ends[1] * (1 - share) for share in np.linspace(0, 1, 30)])
    table = pl.DataFrame({"n": [*numbers, *numbers], "a": ["x", "y"] * 30})
    schema = ic.Schema(quasi=["a"], insensitive=["n"])
    release = ic.anonymize(table, schema, [ic.KAnonymity(2)])
    assert sorted(release.table["n"]) == sorted(table["n"])
    mean = profile_of(table["n"], "n", ()).mean
    assert mean == pytest.approx(math.fsum(numbers / 30), rel=1e-9, abs=1e295)
