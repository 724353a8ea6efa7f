"""Noise by cell keys: published tables, the rules of offices, and a released count's information."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from incrowd.core.errors import ParameterError
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.core.treatments.keys import Secret
from incrowd.release.tables.cell_key import cell_keys, perturbation_table, record_keys, uniform
from incrowd.release.tables.cells import Axis, with_totals

SECRET = Secret(b"a key of thirty-two bytes or more")


def even_keys(number: int) -> np.ndarray:
    return np.arange(number, dtype=np.uint64) * np.uint64(2**64 // number)


def odds(table, count: int) -> dict[int, float]:
    """Released count to odds, as in publications."""
    row = table.probabilities[count]
    return {
        count + change: round(float(value), 4)
        for change, value in enumerate(row, -table.deviation)
        if value > 0
    }


def test_the_table_published_for_deviation_2_and_variance_1():
    """The example of the vignette of R's package ptable."""
    table = perturbation_table(2, 1)
    assert odds(table, 0) == {0: 1}
    assert odds(table, 1) == {0: 0.3665, 1: 0.3665, 2: 0.1676, 3: 0.0995}
    assert odds(table, 2)[0] == 0.0638
    assert table.probabilities[2, 2] == pytest.approx(0.383, abs=5e-4)
    assert (table.probabilities @ np.arange(-2, 3) ** 2).round(3).tolist() == [0, 0.932, 1]
    assert len(table.probabilities) == 3


def test_the_row_published_for_counts_that_are_never_released():
    assert odds(perturbation_table(2, 1.08, js=1), 1) == {0: 0.5133, 2: 0.46, 3: 0.0267}


SETTINGS = [
    (2, 1, 0), (2, 1.08, 1), (2, 1, 1), (3, 2, 2), (5, 3, 0), (5, 0.5, 0), (6, 50, 0), (8, 12, 5), (10, 3, 2),
]  # fmt: skip


@pytest.mark.parametrize(("deviation", "variance", "js"), SETTINGS)
def test_odds_fulfil_what_is_asked(deviation, variance, js):
    table = perturbation_table(deviation, variance, js).probabilities
    changes = np.arange(-deviation, deviation + 1)
    assert np.allclose(table.sum(axis=1), 1, atol=1e-12)
    assert np.allclose(table @ changes, 0, atol=1e-12)
    assert (table @ changes**2 <= variance * (1 + 1e-9)).all()
    for count, row in enumerate(table):
        released = count + changes[row > 0]
        assert (released >= 0).all()
        assert not ((released >= 1) & (released <= js)).any()
        allowed = (count + changes == 0) | (count + changes > js)
        for side in (changes <= 0, changes >= 0):
            from_zero = row[side & allowed][np.argsort(np.abs(changes[side & allowed]))]
            assert (np.diff(from_zero) <= 1e-12).all(), count
    assert np.allclose(table[-1], table[-1][::-1])
    # The row before could not be the last.
    assert ((table[-2] > 0) != (table[-2] > 0)[::-1]).any()


@pytest.mark.parametrize(
    ("deviation", "variance", "js"), [(2, 1, 0), (2, 1.2, 1), (4, 3, 0), (5, 30, 0), (3, 2.5, 2)]
)
def test_no_odds_have_more_entropy(deviation, variance, js):
    """A solver that knows the conditions alone finds the same odds."""
    table = perturbation_table(deviation, variance, js).probabilities
    for count in range(1, len(table)):
        changes = np.arange(-deviation, deviation + 1)
        changes = changes[(count + changes == 0) | (count + changes > js)]
        falls = [
            (changes == near).astype(float) - (changes == far)
            for side in (changes[changes <= 0][::-1], changes[changes >= 0])
            for near, far in zip(side[:-1], side[1:], strict=True)
        ]
        at_least_0 = np.array([*falls, -(changes**2.0)])
        least = np.append(np.zeros(len(falls)), -variance)
        solved = minimize(
            lambda odds: odds @ np.log(odds),
            np.full(len(changes), 1 / len(changes)),
            jac=lambda odds: np.log(odds) + 1,
            method="SLSQP",
            bounds=[(1e-12, 1)] * len(changes),
            constraints=[
                {"type": "eq", "fun": lambda odds, changes=changes: [odds.sum() - 1, odds @ changes]},
                {"type": "ineq", "fun": lambda odds, a=at_least_0, b=least: a @ odds - b},
            ],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert table[count][changes + deviation] == pytest.approx(solved.x, abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "way_out"),
    [
        ((2, 1, 2), "the deviation at least 3"),
        ((0, 1), "the deviation at least 1"),
        ((2, 1, -1), "js must be 0 or more"),
        ((2, 0.9, 1), "at least 1; raise the variance or lower js"),
        ((8, 8.9, 5), "at least 9; raise the variance or lower js"),
        ((2, 0), "above 0"),
        ((2, float("nan")), "above 0"),
        ((2, float("inf")), "above 0"),
    ],
)
def test_settings_without_odds_say_the_way_out(settings, way_out):
    with pytest.raises(ParameterError, match=re.escape(way_out)):
        perturbation_table(*settings)


def test_keys_follow_people_not_rows():
    people = pl.Series("id", ["ann", "bo", "cy", "ann"])
    keys = record_keys(SECRET, people)
    assert keys[0] == keys[3]
    assert len(set(keys[:3].tolist())) == 3
    assert record_keys(SECRET, people.reverse()).tolist() == keys[::-1].tolist()
    assert record_keys(Secret(b"another key"), people)[0] != keys[0]
    numbers = pl.Series([7, 8])
    assert record_keys(SECRET, numbers).tolist() == record_keys(SECRET, numbers.cast(pl.String)).tolist()


def test_a_missing_identifier_is_refused():
    with pytest.raises(ParameterError, match="1 identifiers are missing"):
        record_keys(SECRET, pl.Series(["ann", None]))


def test_keys_are_uniform():
    shares = uniform(record_keys(SECRET, pl.Series(range(20_000))))
    # 20 bins of about 1000: chi-square beyond 60 has odds of 1e-5.
    bins = np.bincount((shares * 20).astype(int), minlength=20)
    assert len(bins) == 20
    assert ((bins - 1000) ** 2 / 1000).sum() < 60


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30), st.randoms())
def test_sums_of_keys_are_exact_in_any_order(keys, random):
    cells = [random.randrange(3) for _ in keys]
    sums = [sum(key for key, cell in zip(keys, cells, strict=True) if cell == place) for place in range(3)]
    order = random.sample(range(len(keys)), len(keys))
    shuffled = np.array([keys[place] for place in order], np.uint64)
    of = np.array([cells[place] for place in order], np.int64)
    assert cell_keys(shuffled, of, 3).tolist() == [each % 2**64 for each in sums]


def test_the_same_people_have_the_same_noise_in_every_table():
    """The key of a town is the same in a table of towns as in a table of towns by age."""
    rng = np.random.default_rng(3)
    town, age = rng.integers(0, 50, 2_000), rng.integers(0, 4, 2_000)
    keys = record_keys(SECRET, pl.Series(range(2_000)))
    by_town = cell_keys(keys, town, 50)
    finest = cell_keys(keys, town * 4 + age, 200).reshape(50, 4)
    ages = Axis("age", Hierarchy.from_nested({"*": ["a", "b", "c", "d"]}))
    towns = Axis("town", Hierarchy.from_nested({"*": [f"t{place:02}" for place in range(50)]}))
    assert with_totals(finest, [towns, ages])[1:, 0].tolist() == by_town.tolist()
    counts = np.bincount(town, minlength=50)
    table = perturbation_table(3, 2)
    assert len(set((table.release(counts, by_town) - counts).tolist())) > 3


@pytest.mark.few(3)
@pytest.mark.parametrize(("deviation", "variance", "js"), SETTINGS)
def test_released_counts_have_the_odds_of_the_table(deviation, variance, js):
    """Keys that are spread evenly meet each deviation as often as the odds say."""
    table = perturbation_table(deviation, variance, js)
    keys = even_keys(100_000)
    for count in range(len(table.probabilities) + 3):
        row = table.probabilities[min(count, len(table.probabilities) - 1)]
        changes = table.release(np.full(len(keys), count), keys) - count
        share = np.bincount(changes + deviation, minlength=2 * deviation + 1) / len(keys)
        assert np.abs(share - row).max() < 1e-4


@pytest.mark.parametrize(("deviation", "variance"), [(3, 2), (7, 5)])
def test_the_largest_key_is_released_within_the_table(deviation, variance):
    """The odds of (7, 5) sum to less than the largest share, for floating point."""
    table = perturbation_table(deviation, variance)
    for key in (0, 2**64 - 1):
        counts = np.arange(20)
        changes = table.release(counts, np.full(20, key, np.uint64)) - counts
        assert np.abs(changes).max() == deviation
        assert changes[0] == 0


@pytest.mark.parametrize("table", [perturbation_table(2, 1), perturbation_table(3, 3, js=2)])
def test_bounds_are_what_trying_all_counts_tells(table):
    true_counts: dict[int, set[int]] = {}
    keys = even_keys(9_999)
    for count in range(20):
        for value in set(table.release(np.full(len(keys), count), keys).tolist()):
            true_counts.setdefault(value, set()).add(count)
    released = np.array([value for value in true_counts if value < 16])
    low, high = table.bounds(released)
    assert low.tolist() == [min(true_counts[value]) for value in released]
    assert high.tolist() == [max(true_counts[value]) for value in released]


def test_a_count_that_is_never_released_is_refused():
    with pytest.raises(ParameterError, match="no count is released as 1"):
        perturbation_table(2, 1.08, js=1).bounds(np.array([0, 1]))
