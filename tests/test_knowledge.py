"""The attacks of `benchmarks/knowledge.py` solve cases that are made by hand."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import downcoding
import knowledge

sys.path.pop(0)


@pytest.mark.parametrize(
    ("cell", "values"),
    [
        ("*", [3, 17, 18, 40]),
        ("s0", [3, 17, 18]),
        ("17", [17]),
        ("[3-17]", [3, 17]),
        ("17 or less", [3, 17]),
        ("18 or more", [18, 40]),
        ("{3, 40}", [3, 40]),
    ],
)
def test_what_a_cell_covers(cell, values):
    column = downcoding.Known([3, 17, 18, 40], lambda value: [f"h{value // 16}", f"s{value // 32}", "*"])
    assert [
        value for value, covered in zip(column.values, column.covers(cell), strict=True) if covered
    ] == values


def test_a_cell_tells_that_somebody_needs_it():
    """By the distribution all three are in the low half, but then the cell would be that half."""
    table, sample = pl.DataFrame({"c": [1, 2, 20]}), pl.DataFrame({"c": [*[1, 2] * 45, *[20, 21] * 5]})
    known = {"c": downcoding.Known(sample["c"], lambda value: [f"h{value // 16}", "*"], 1)}
    attacked = downcoding.Attacked(table, sample, known)
    seen = downcoding.Seen({("[1-20]",): [0, 1, 2]}, [])
    assert downcoding.tight(attacked, table, seen).tolist() == [[1, 1]]
    result = downcoding.downcode(attacked, seen, np.array([0.999]), np.random.default_rng(0))
    assert result == {
        "cells": 3, "cells right": 3, "cells by the distribution": 2,
        "records": 3, "records right": 3, "records by the distribution": 2,
    }  # fmt: skip
    # Three draws are in both halves with a probability of 0.27. If cells are so no more often, they tell nothing.
    result = downcoding.downcode(attacked, seen, np.array([0.27]), np.random.default_rng(0))
    assert result["cells right"] == 2


def test_places_that_others_need_are_taken():
    """Ann fits both classes. Bob fits only the first, which has a single place."""
    fit = np.array([[True, True], [True, False]])
    assert knowledge.possible(fit, np.array([1, 0])).tolist() == [[False, True], [True, False]]
    both = np.array([[True, True], [True, True]])
    assert knowledge.possible(both, np.array([1, 0])).all()


def test_who_is_left_out_may_be_anybody():
    fit = np.array([[True], [True], [True]])
    seen = downcoding.Seen({("*",): [0, 1]}, [2])
    assert knowledge.within(fit, [[0, 1]], seen).all()


def test_what_a_list_of_people_tells():
    secret = pl.Series(["flu", "flu", "HIV", "cold"])
    fit = np.array([[True, False], [True, True], [False, False]])
    # One row, one value, one above 1/2, and a right guess, of three people.
    shares = knowledge.learnt(fit, [[0], [1, 2, 3]], secret, pl.Series(["flu", "HIV", "cold"]))
    assert shares == ["33 %", "33 %", "33 %", "33 %"]


def test_what_an_insider_knows():
    """A person with HIV knows that the four others have flu, and nobody else is sure without more."""
    counts = Counter(flu=4, HIV=1)
    assert knowledge.insider(counts) == {
        "nothing": 0.8, "one record": 1.0, "and what one cannot have": 1.0, "four records": 1.0
    }  # fmt: skip
    assert knowledge.certain(counts) == (4, 5)
    three = Counter(flu=2, cold=2, HIV=1)
    assert knowledge.insider(three)["one record"] == 0.5
    assert knowledge.insider(three)["and what one cannot have"] == 1
    assert knowledge.certain(three) == (0, 4)


def test_people_at_the_ends_of_a_range():
    ends, between = knowledge.isolated([20, 21, 21, 23, 24], "[20-24]", 17, 90)
    assert ends == [True, True]
    assert between == pytest.approx(1 / 3)
    assert knowledge.isolated([20, 24, 24], "24 or less", 17, 90)[0] == [False]
    assert knowledge.isolated([21, 24, 24], "[20-25]", 17, 90)[0] == [False, False]
