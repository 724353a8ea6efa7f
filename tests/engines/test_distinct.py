"""The distinct values of columns in memory: in order, and where each row stands, beside plain Python."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.errors import SchemaError
from incrowd.core.kernels import jit
from incrowd.core.reading.texts import column_of
from incrowd.core.table.domain import Dictionary, Domain
from incrowd.engines import distinct
from incrowd.engines.distinct import dictionary

MARKS = "ab\0é€𝄞🙂"
ODD = ["", "\0", "a", "a\0", "é", "🙂", "same begin 1", "same begin 2", "same beg", "z" * 40, "z" * 41, "?"]
DAY = dt.datetime(2020, 1, 1)


@pytest.fixture(params=[0, 10**9], ids=["as many rows", "as few rows"])
def rows_are_many(request, monkeypatch):
    """Take the way of many rows and texts, or that of few."""
    monkeypatch.setattr(distinct, "_FEW", request.param)
    monkeypatch.setattr(jit, "PARALLEL_FROM", request.param)


def found(series: pl.Series, null_values=()) -> tuple[list[str], list[str | None]]:
    """Return the distinct texts, and the text of each row."""
    met, places = dictionary(series, "c", null_values)
    texts = [*met.texts, None]
    assert met.has_missing == (len(met.texts) in places.tolist())
    assert places.max(initial=0) < len(texts)
    return texts[:-1], [texts[place] for place in places.tolist()]


def agrees(series: pl.Series, expected: list[str | None], null_values=()) -> None:
    """Compare with sorting a set."""
    expected = [None if text in null_values else text for text in expected]
    assert found(series, null_values) == (sorted({text for text in expected if text is not None}), expected)


@pytest.mark.usefixtures("rows_are_many")
@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_texts(kind):
    drawn = random.Random(1)
    pool = [*ODD, *("".join(drawn.choices(MARKS, k=drawn.randint(0, 20))) for _ in range(300))]
    for values in (
        drawn.choices(pool, k=2000),
        drawn.choices([*pool[:20], None], k=90),
        [None] * 3,
        [""],
        [],
    ):
        series = pl.Series(values, dtype=kind)
        for null_values in ((), ("?", ""), ("5", "2020-01-01")):
            agrees(series, values, null_values)
        agrees(series.slice(1, 50), values[1:51])
        agrees(pl.concat([series, series], rechunk=False), values + values)


@pytest.mark.usefixtures("rows_are_many")
def test_enumerated_texts():
    values = ["b", "a", None, "ü", "a"]
    agrees(pl.Series(values, dtype=pl.Enum(["ü", "b", "never", "a"])), values)


@pytest.mark.usefixtures("rows_are_many")
def test_texts_that_begin_alike_or_begin_others():
    middle = ["", "x", "longer than a word", "longer than a wore"]
    texts = [f"Street of {part * 3}{number}" for part in middle for number in range(60)]
    texts += [f"{'0' * 100}{number:020}" for number in range(50)] + ["0" * 100, "0" * 99]
    texts += [mark * length for mark in ["\0", "a", "é"] for length in range(1, 40)]
    random.Random(2).shuffle(texts)
    agrees(pl.Series(texts), texts)


@pytest.mark.usefixtures("rows_are_many")
@given(st.lists(st.none() | st.text(MARKS, max_size=20), max_size=60))
def test_texts_of_any_kind(values):
    agrees(pl.Series(values, dtype=pl.String), values)


@pytest.mark.parametrize(
    ("dtype", "values", "texts"),
    [
        (pl.Int64, [5, -(2**63), 2**63 - 1, 2**53 + 1, 2**53, None], str),
        (pl.Int64, [7, 3, 5, None, 3], str),
        (pl.UInt8, [0, 255, 7, None], str),
        (pl.UInt64, [2**64 - 1, 2**64 - 2, 0], str),
        (pl.Int128, [2**100, 2**100 + 1, -(2**100), None], str),
        (pl.Float64, [0.1, 2.0, -1.5, 0.25, None], lambda x: f"{x:g}"),
        (pl.Float32, [0.5, 2.0, -1.5, None], lambda x: f"{x:g}"),
        (
            pl.Decimal(38, 2),
            [Decimal("1.10"), Decimal("-3.00"), Decimal("123456789012345678901.01"), None],
            str,
        ),
        (pl.Date, [dt.date(2020, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), None], str),
        (pl.Datetime("us"), [DAY, DAY.replace(year=1960), None], lambda at: f"{at:%Y-%m-%d}"),
        (pl.Datetime("ms"), [DAY.replace(hour=5), DAY, None], lambda at: f"{at:%Y-%m-%dT%H:%M:%S}"),
    ],
)
def test_numbers_and_dates_are_in_their_own_order(dtype, values, texts):
    values = random.Random(3).choices(values, k=60)
    series = pl.Series(values, dtype=dtype)
    known = sorted({value for value in values if value is not None})
    named = {value: texts(value) for value in known}
    assert found(series) == ([named[value] for value in known], [named.get(value) for value in values])
    met, places = dictionary(series, "c", ())
    # What is known to be in order is ranked as if it were not.
    again = Dictionary(list(met.texts), met.has_missing, met.kind, met.numbers)
    for kind in ("auto", "category"):
        attribute = ic.Attribute("c", "quasi", kind=kind)
        domain, ranks = Domain.build(attribute, met)
        other, those = Domain.build(attribute, again)
        assert domain.values == other.values
        assert ranks[places].tolist() == those[places].tolist()
        np.testing.assert_array_equal(domain.numbers, other.numbers)


def test_zero_has_one_sign_and_what_is_no_number_is_missing():
    values = [-0.0, 0.0, float("nan"), None, 1.0, -0.0]
    assert found(pl.Series(values)) == (["0", "1"], ["0", "0", None, None, "1", "0"])
    with pytest.raises(SchemaError, match="infinite"):
        dictionary(pl.Series([1.0, float("inf")]), "c", ())


@pytest.mark.parametrize("few", [0, 20])
def test_a_large_column_is_not_held_for_its_few_texts(monkeypatch, few):
    """The texts are longer than texts in a view, so distinct texts would share the buffers."""
    monkeypatch.setattr(jit, "PARALLEL_FROM", 0)
    monkeypatch.setattr(distinct, "_FEW", few)
    texts = [f"a long text that is number {number}" for number in range(20)]
    series = pl.Series(texts * 50)
    column = column_of(dictionary(series, "c", ())[0].texts)
    assert column.to_list() == sorted(texts)
    assert column.estimated_size() < series.estimated_size() / 10
