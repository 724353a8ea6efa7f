"""Rounding, and top and bottom coding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given as tried
from hypothesis import strategies as st

import incrowd as ic
from treatment_tables import distinct, given

bases = st.sampled_from([0.01, 0.1, 0.25, 1, 5, 7, 500, 1e6])
numbers = st.integers(-(10**9), 10**9).map(lambda whole: whole / 100)


@tried(st.lists(numbers, min_size=1), bases)
def test_the_nearest_multiple_and_of_two_the_one_away_from_zero(values, base):
    made = given(ic.Round(base), values)
    for before, after in zip(values, made, strict=True):
        parts = Fraction(str(after)) / Fraction(str(base))
        assert parts.denominator == 1
        assert abs(after - before) <= base / 2 * (1 + 1e-9)
    assert given(ic.Round(2), [1.0, 3.0, -1.0, -3.0]) == [2.0, 4.0, -2.0, -4.0]


def test_random_rounding_keeps_the_expected_value_and_takes_the_two_multiples_around():
    draws = np.random.default_rng(1).integers(0, 2**64, 20_000, np.uint64)
    treatment = ic.Round(10, how="random")
    made = np.array(given(treatment, [13.0] * 20_000, draws=draws))
    assert set(made) == {10.0, 20.0}
    # Hoeffding: beyond this with a probability below 1e-9.
    assert abs((made == 20).mean() - 0.3) < np.sqrt(np.log(2e9) / 2 / 20_000)
    assert treatment.perturbs
    assert not ic.Round(10).perturbs
    assert given(treatment, [20.0, None], draws=draws[:2]) == [20.0, None]


def test_top_and_bottom_coding_by_value():
    values = [0.0, 4.0, 5.0, 6.0, 100.0, None]
    assert given(ic.Top(5), values) == [0.0, 4.0, 5.0, 5.0, 5.0, None]
    assert given(ic.Bottom(5), values) == [5.0, 5.0, 5.0, 6.0, 100.0, None]
    assert given(ic.Top(6, bottom=4), values) == [4.0, 4.0, 5.0, 6.0, 6.0, None]
    assert given(ic.Top(0.5, limits="value"), [0.2, 0.9]) == [0.2, 0.5]


# sdcMicro, tests of topBotCoding: these ten values coded at 35.
NUMBERS = [17.63611, 80.94412, 39.10929, 33.44570, 60.60797, 60.83501, 13.33871, 30.16549, 58.18338, 63.46695]
REPLACED = [False, True, True, False, True, True, False, False, True, True]


def test_values_of_sdcmicro():
    above, below = (given(treatment, [*NUMBERS, None]) for treatment in (ic.Top(35), ic.Bottom(35)))
    assert above == [35.0 if gone else value for value, gone in zip(NUMBERS, REPLACED, strict=True)] + [None]
    assert below == [value if gone else 35.0 for value, gone in zip(NUMBERS, REPLACED, strict=True)] + [None]


def test_a_limit_from_a_quantile_is_nobodys_value():
    rng = np.random.default_rng(3)
    values = np.sort(rng.lognormal(10, 1, 1000))
    top = ic.Top(0.95).learn(distinct(values.tolist(), "number"), None)["top"]
    assert top not in values
    assert values[940] < top < values[960]
    # Ten records that agree are ten people's value.
    assert ic.Top(0.5).learn(distinct([7.0] * 20, "number"), None) == {"top": 7.0}


@tried(st.lists(st.integers(-50, 50).map(float), min_size=30, max_size=60), st.sampled_from([0.05, 0.5, 0.9]))
def test_a_limit_from_a_quantile_is_the_mean_of_ten_records_around_it(values, quantile):
    limit = ic.Top(quantile).learn(distinct(values, "number"), None)["top"]
    ordered = sorted(values)
    place = round(quantile * len(values))
    first = min(max(place - 5, 0), len(values) - 10)
    assert limit == float(round(sum(ordered[first : first + 10]) / 10))


def test_the_mean_of_what_is_beyond_stands_for_ten_records_at_least():
    values = [1.0] * 50 + [100.0 + n for n in range(10)]
    made = given(ic.Top(90, instead="mean"), values)
    assert made[50:] == [round(104.5)] * 10
    with pytest.raises(ic.ParameterError, match="would replace 9 records by their mean"):
        given(ic.Top(100, instead="mean"), values)


def test_limits_that_cannot_be_are_refused():
    with pytest.raises(ic.ParameterError, match="top limit below its bottom limit"):
        given(ic.Top(1, bottom=5), [1.0])
    with pytest.raises(ic.ParameterError, match="from 10 records"):
        given(ic.Top(0.9), [1.0, 2.0])
    with pytest.raises(ic.ParameterError, match="quantile between 0 and 1"):
        given(ic.Top(3, limits="quantile"), [1.0] * 20)


def test_limits_come_before_rounding():
    assert given(ic.Round(10, top=94), [100.0, 91.0]) == [90.0, 90.0]
