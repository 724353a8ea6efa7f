"""Hundreds of columns have more combinations of values than any double."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.search import ALGORITHMS

COLUMNS = [f"q{number}" for number in range(520)]


@pytest.fixture(scope="module")
def wide() -> pl.DataFrame:
    """Thirty records of 520 columns of four values each: 2 ** 1040 combinations."""
    values = np.random.default_rng(1).integers(0, 4, (30, len(COLUMNS))).astype(str)
    return pl.DataFrame(values, schema=COLUMNS, orient="row").with_columns(s=pl.Series(["a", "b", "c"] * 10))


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm",
    [ic.Mondrian(), ic.Datafly(), ic.Optimal(metric="ambiguity", budget="540"), ALGORITHMS.get("oka")()],
    ids=str,
)
def test_hundreds_of_columns_are_released_and_measured(wide, algorithm):
    schema = ic.Schema(quasi=COLUMNS, sensitive=["s"])
    release = ic.anonymize(
        wide, schema, [ic.KAnonymity(5)], algorithm, max_suppression=0.5, suppressed="keep"
    )
    lost = release.utility["ambiguity"]
    assert 1 < lost.value <= 2.0**1000
    evaluated = ic.evaluate(wide, release.table, schema)
    for figures in (release.utility, evaluated.utility):
        assert all(math.isfinite(each.value) for each in figures.values())
    assert 0 < evaluated.utility["kl-divergence"].value <= 520 * 2


def test_uniqueness_in_the_population_of_hundreds_of_columns(wide):
    estimate = ic.risk.population_uniqueness(wide, quasi=COLUMNS, fraction=0.1)
    assert (estimate.sample, 0 <= estimate.dankar <= 1) == (1.0, True)
