from __future__ import annotations

import math

import pytest

from incrowd.measures.utility.base import mean_of


def added(name: str, numbers: list[float]) -> float:
    held = {"__name__": name, "numbers": numbers}
    exec("total = sum(numbers)", held)
    return held["total"]


def test_the_package_adds_up_no_floats_with_sum():
    with pytest.raises(AssertionError, match=r"incrowd\.some\.room adds up floats"):
        added("incrowd.some.room", [0.1, 0.2])
    assert added("incrowd.some.room", [1, 2]) == 3
    assert added("numpy.some.room", [0.5, 0.25]) == 0.75


def test_a_mean_over_attributes_is_rounded_once():
    # Left to right, the tenths add up to 0.9999999999999999.
    assert mean_of({str(number): 0.1 for number in range(10)}) == 0.1
    assert mean_of({}) == 0.0
    assert math.copysign(1, mean_of({"age": 0.0})) == 1
