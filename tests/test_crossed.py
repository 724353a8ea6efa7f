"""Every run has each value of a cross, and no pair is lost."""

from __future__ import annotations

from itertools import product

import pytest

from crossed import crossed, quick


@pytest.mark.parametrize(("one", "other"), [("a", "x"), ("ab", "xyz"), ("abcd", "xy"), ("abc", "xyz")])
def test_a_cross_has_every_pair_and_each_value_is_tried_in_every_run(one, other):
    pairs = crossed(one, other)
    assert [pair.values for pair in pairs] == list(product(one, other))
    tried = [pair.values for pair in pairs if not pair.marks]
    assert {a for a, _ in tried} == set(one)
    assert {b for _, b in tried} == set(other)
    assert len(tried) == max(len(one), len(other))


def test_what_is_tried_in_every_run_is_named():
    assert [value.values for value in quick("abc", "a", "c") if not value.marks] == [("a",), ("c",)]
    assert len(quick("abc", "b")) == 3
    with pytest.raises(AssertionError):
        quick("abc", "d")
