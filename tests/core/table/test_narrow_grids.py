"""Numbers with the same leading digits: ends and means are rounded by spread, not by size."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.table.settings import grid_of

RNG = np.random.default_rng(11)


@pytest.mark.parametrize(
    ("low", "high", "spec"),
    [
        (1_000_000, 1_001_000, "100"), (1_000_000, 1_000_999, "10"), (-1_001_000, -1_000_000, "100"),
        (500_000, 500_015, "1"), (500_000, 500_030, "5"), ("37.001", "37.009", "0.0001"), (20, 90, "fives"),
        (150, 190, "fives"), (1990, 2010, "5"), (1, 9, "digits"), (0, 1_000_000, "fives"), (7, 7, "digits"),
    ],
)  # fmt: skip
def test_the_grid_of_a_column_follows_its_spread(low, high, spec):
    assert grid_of(None, "number", [str(low), str(high)], "x").spec == spec


@pytest.mark.few(1)
@pytest.mark.parametrize("output", ["mean", "range"])
@pytest.mark.parametrize("trial", range(12))
def test_the_cells_still_say_something_and_the_verifier_takes_them(trial, output, tmp_path):
    size = 10 ** int(RNG.integers(4, 9))
    width = int(size // 10 ** int(RNG.integers(1, 4)) * 1.5) or 30
    values = size + RNG.integers(0, width, 400)
    pl.DataFrame({"x": values, "ill": RNG.choice(["a", "b", "c"], 400)}).write_csv(tmp_path / "raw.csv")
    policy = ic.Policy(ic.Schema(quasi=["x"], sensitive=["ill"]), ["k-anonymity:5"], output=output)
    release = ic.anonymize(tmp_path / "raw.csv", policy, unanswered="write")
    assert release.table["x"].n_unique() > 3
    policy.write(tmp_path / "policy.toml")
    release.write(tmp_path / "safe.csv")
    release.write_row_map(tmp_path / "rows.parquet")
    files = {"against": tmp_path / "raw.csv", "row_map": tmp_path / "rows.parquet"}
    verification = ic.verify(tmp_path / "safe.csv", tmp_path / "policy.toml", **files)
    assert not verification.problems
    assert verification.verdict.text == release.verdict.text
    assert ic.verify(tmp_path / "safe.csv", tmp_path / "policy.toml").problems == ()
