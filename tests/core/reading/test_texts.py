"""Texts that become texts of Python when somebody asks."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest

from incrowd.core.reading.recognition import shape_of
from incrowd.core.reading.texts import Texts, column_of, picked

NUMBERS = pl.Series([1.5, -2.0, 1e30])


def written(column: pl.Series) -> pl.Series:
    return column.cast(pl.String)


@pytest.mark.parametrize("asked", [False, True])
def test_they_are_the_same_before_and_after_somebody_asked(asked):
    texts = Texts(NUMBERS, written)
    expected = NUMBERS.cast(pl.String)
    if asked:
        assert texts[0] == "1.5"
    order = np.array([2, 0])
    assert len(texts) == 3
    assert list(texts.picked(order)) == list(picked(texts, order)) == expected.gather(order).to_list()
    assert column_of(texts).equals(expected)
    assert list(pickle.loads(pickle.dumps(texts))) == expected.to_list()
    assert "1.5" not in repr(texts)
    assert list(texts) == texts[:] == expected.to_list()


def test_nothing_is_written_before_somebody_asks():
    calls = []
    texts = Texts(NUMBERS, lambda column: calls.append(len(column)) or written(column))
    assert len(texts.picked(np.array([1]))) == 1
    assert not calls
    assert texts[1] == texts[1] == "-2.0"
    assert calls == [3]


def test_texts_of_python_are_a_column_too():
    assert column_of(["a", "b"]).equals(pl.Series(["a", "b"]))
    assert column_of(()).dtype == pl.String
    assert picked(("a", "b"), np.array([1])) == ["b"]


@pytest.mark.parametrize(
    ("text", "shape"),
    {
        "KX-204": "AA-999", "2021-07-30": "9999-99-99", "Ann Lee": "Aaa Aaa", "+": "", "<10k": ".99a",
        "佐藤 太郎": "aa aa", "Müller": "Aaaaaa", "a" * 40: "a" * 21 + "...",
        "[20-30[": "[99-99[",
    }.items(),
)  # fmt: skip
def test_shapes_show_no_letter_and_no_digit(text, shape):
    assert shape_of(text) == shape
