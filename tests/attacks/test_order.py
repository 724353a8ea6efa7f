"""The attack by the order of rows, and the word about the order in a release's account."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.attacks.order import _runs, _tighten
from incrowd.engines.distinct import columns_in_order

SCHEMA = ic.Schema(quasi=["minute", "age"], sensitive=["reason"])
ROWS = 3000


def calls(seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "minute": np.sort(random.integers(0, 200_000, ROWS)),
            "age": random.integers(18, 90, ROWS),
            "reason": random.choice(list("abcd"), ROWS),
        }
    )


def measured(raw: pl.DataFrame, release: pl.DataFrame, schema: ic.Schema = SCHEMA, **settings):
    [attempt] = ic.attack(raw, release, schema, kinds=["order"], **settings)
    return attempt


@pytest.mark.few(1)
@pytest.mark.random_order
@pytest.mark.parametrize("descending", [False, True])
def test_a_sorted_table_is_found_and_one_in_random_order_is_not(descending):
    raw = calls().sort("minute", descending=descending)
    release = ic.anonymize(raw, SCHEMA, ic.KAnonymity(5), keep_order=True, force=True, ends="exact")
    result = measured(raw, release.table)
    assert result.main.value > 0.9
    assert result.baseline.value < 0.3
    assert result.figures["minute width"] < result.figures["minute width of cells"] / 5
    assert result.figures["age width"] == result.figures["age width of cells"]
    release = ic.anonymize(raw, SCHEMA, ic.KAnonymity(5))
    hidden = measured(raw, release.table, row_map=release.row_map())
    assert hidden.main == hidden.baseline
    assert hidden.figures["minute width"] == hidden.figures["minute width of cells"]


def test_days_are_attacked_like_numbers():
    day = pl.date(2024, 1, 1) + pl.duration(days=pl.col("minute") // 200)
    raw = calls().with_columns(day.alias("minute"))
    result = measured(raw, ic.anonymize(raw, SCHEMA, ic.KAnonymity(5), ends="exact").table)
    assert result.main.value > result.baseline.value + 0.5


@pytest.mark.slow
def test_a_table_of_other_rows_or_without_numbers_cannot_be_attacked_so():
    raw = calls()
    with pytest.raises(ic.ParameterError, match="order needs as many rows as the raw table"):
        measured(raw, raw.head(10).cast({"minute": pl.String, "age": pl.String}))
    texts = raw.with_columns(pl.col("minute", "age").cast(pl.String) + "x")
    assert "order" not in [each.name for each in ic.attack(texts, texts, SCHEMA)]


def test_suppressed_and_missing_cells_say_nothing():
    raw = calls().with_columns(
        pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("age").alias("age")
    )
    cells = raw.with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0)
        .then(pl.lit("*"))
        .otherwise(pl.col("minute").cast(pl.String))
        .alias("minute"),
        pl.col("age").cast(pl.String),
    )
    result = measured(raw, cells)
    assert result.baseline.value == pytest.approx(0.8, abs=0.01)
    assert result.main.value > 0.99


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 6)), min_size=1, max_size=30),
)
def test_runs_and_bounds_are_those_of_a_slow_reading(cells):
    low = np.array([float(start) for start, _ in cells])
    high = np.array([float(start + width) for start, width in cells])
    runs = list(_runs(low, high))
    assert [row for start, stop in runs for row in range(start, stop)] == list(range(len(cells)))

    def sortable(start: int, stop: int) -> bool:
        value = -math.inf
        for row in range(start, stop):
            value = max(value, low[row])
            if value > high[row]:
                return False
        return True

    for start, stop in runs:
        assert sortable(start, stop)
        assert stop == len(cells) or not sortable(start, stop + 1)


@given(st.integers(0, 10**6))
def test_true_values_stay_inside_what_is_left(seed):
    random = np.random.default_rng(seed)
    values = np.sort(random.integers(0, 1000, 60)).astype(float)
    low, high = values - random.integers(0, 200, 60), values + random.integers(0, 200, 60)
    for one, other, true in ((low, high, values), (low[::-1], high[::-1], values[::-1])):
        first, last = _tighten(one.copy(), other.copy(), np.random.default_rng(1))
        assert ((first <= true) & (true <= last)).all()
        expected = [
            (max(one[: row + 1]), min(other[row:]))
            if true[0] <= true[-1]
            else (max(one[row:]), min(other[: row + 1]))
            for row in range(60)
        ]
        if (first != one).any() or (last != other).any():
            assert list(zip(first, last, strict=True)) == expected


def ordered(frame: pl.DataFrame, *quasi: str) -> list[str]:
    schema = ic.Schema(quasi=list(quasi), unlisted="drop")
    return columns_in_order(ic.evaluate(frame, frame.select(pl.all().cast(pl.String)), schema).frequency)


def test_columns_that_are_sorted_or_stand_together_are_named():
    random = np.random.default_rng(3)
    n = 400
    frame = pl.DataFrame(
        {
            "up": np.arange(n) // 2,
            "down": np.arange(n)[::-1],
            "nearly": np.arange(n) + np.where(np.arange(n) % 40 == 0, -7, 0),
            "ward": np.repeat(random.permutation(20), 20).astype(str),
            "coin": random.choice(["h", "t"], n),
            "any": random.integers(0, 100, n),
            "same": np.full(n, 5),
            "rare": np.where(np.arange(n) == 7, "y", "n"),
        }
    )
    assert ordered(frame, *frame.columns) == ["up", "down", "nearly", "ward"]
    assert ordered(frame.sample(fraction=1, shuffle=True, seed=1), *frame.columns) == []
    assert ordered(frame.head(19), "up") == []


def test_the_account_of_a_release_says_so():
    raw = calls()
    with pytest.raises(ic.ParameterError, match=r"in the order of 'minute'.* leave keep_order out"):
        ic.anonymize(raw, SCHEMA, ic.KAnonymity(5), keep_order=True)
    sentences = ic.anonymize(raw, SCHEMA, ic.KAnonymity(5), keep_order=True, force=True).sentences()
    assert any("in the order of 'minute'" in line and "Leave keep_order out" in line for line in sentences)
    hidden = ic.anonymize(raw, SCHEMA, ic.KAnonymity(5))
    assert not any("in the order of" in line for line in hidden.sentences())
