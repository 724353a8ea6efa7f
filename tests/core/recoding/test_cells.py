"""A cell's text is read as it was written, for any values."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from incrowd.core.hierarchy import Hierarchy
from incrowd.core.reading.cells import read_span
from incrowd.core.reading.exact import moment_of
from incrowd.core.recoding.cells import (
    mean_labels,
    node_labels,
    range_label,
    read_set,
    set_label,
    starred_nodes,
)
from incrowd.core.table.schema import Attribute, Schema
from incrowd.engines.memory import MemoryEngine

MARKS = st.one_of(
    st.text(st.sampled_from("\\,{}[]-* a'\"\n;0é<>"), max_size=6),
    st.sampled_from(["<missing>", "\\<missing>", "<missing>,", "<missing"]),
)
NUMBERS = st.one_of(
    st.integers(-(2**62), 2**62),
    st.integers(-20, 20),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DECIMALS = st.decimals(-(10**9), 10**9, places=3)
DAYS = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
TIMES = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
MIDNIGHTS = st.builds(
    dt.datetime.combine,
    st.dates(dt.date(1700, 1, 1), dt.date(2200, 1, 1)),
    st.sampled_from([dt.time(), dt.time(5)]),
)


@pytest.mark.parametrize(
    ("values", "hierarchy"),
    [
        (["a", "*", None, "b"], None),
        (["a", "b"], None),
        (["a", None], Hierarchy.from_nested({"*": {"*": ["a", "b"], "c": ["d"]}})),
        (["a", "*"], Hierarchy.from_nested({"all": {"x": ["a"], "y": ["*", "b"]}})),
        (["a", "b"], Hierarchy.from_nested({"all": {"x": ["a"], "y": ["b"]}})),
    ],
)
def test_starred_nodes_are_those_that_are_written_as_a_star(values, hierarchy):
    schema = Schema.of_attributes([Attribute("q", "quasi", hierarchy=hierarchy)], unlisted="drop")
    domain = MemoryEngine(pl.DataFrame({"q": values})).count(schema).frequency.domains[0]
    labels = node_labels(domain, np.arange(domain.tree.n_nodes))
    assert starred_nodes(domain).tolist() == [label == "*" for label in labels]


def domain_of(values, kind="auto"):
    schema = Schema.of_attributes([Attribute("q", "quasi", kind=kind)], unlisted="drop")
    return MemoryEngine(pl.DataFrame({"q": values})).count(schema).frequency.domains[0]


def picked(data, domain):
    ranks = st.sets(st.integers(0, domain.size - 1), min_size=2)
    return np.array(sorted(data.draw(ranks)))


@given(st.sets(MARKS, min_size=2, max_size=6), st.booleans(), st.data())
def test_sets_name_what_was_written(texts, missing, data):
    domain = domain_of([*texts, *([None] if missing else [])], "category")
    if domain.size < 2:  # a row of `*` is suppressed, and leaves one value
        return
    ranks = picked(data, domain)
    assert read_set(set_label(domain, ranks)) == [domain.values[rank] for rank in ranks]


def test_a_missing_member_cannot_be_overlooked():
    domain = domain_of(["a", "<missing>", "", None], "category")
    assert set_label(domain, np.arange(4)) == r"{, \<missing>, a, <missing>}"
    assert read_set(r"{, \<missing>, a, <missing>}") == ["", "<missing>", "a", None]


def test_a_set_of_another_tool_needs_no_blank_after_a_comma():
    assert read_set("{a,b, c}") == ["a", "b", "c"]
    assert read_set(r"{a,\,,  b}") == ["a", ",", " b"]
    assert read_set("{a,,  b,<missing>}") == ["a", "", " b", None]


@given(st.one_of(*(st.sets(kind, min_size=2, max_size=6) for kind in (NUMBERS, FLOATS, DECIMALS))), st.data())
def test_ranges_of_numbers_have_the_ends_that_were_written(values, data):
    domain = domain_of(list(values))
    if domain.size < 2:
        return
    low, *_, high = picked(data, domain)
    span = read_span(range_label(domain, low, high), "number")
    assert span == (Decimal(domain.values[low]), Decimal(domain.values[high]), False, False)
    assert math.isclose(float(span.low), domain.numbers[low], rel_tol=1e-15)


@given(st.one_of(*(st.sets(kind, min_size=2, max_size=6) for kind in (DAYS, TIMES, MIDNIGHTS))), st.data())
def test_ranges_of_days_and_times_have_the_ends_that_were_written(values, data):
    domain = domain_of(list(values))
    low, *_, high = picked(data, domain)
    label = range_label(domain, low, high)
    # A day counts to its end, also where it is written as its midnight.
    upper = moment_of(domain.values[high])
    upper = f"{upper[:10]}T24" if upper.endswith("T00:00:00") else upper
    assert read_span(label, "date") == (moment_of(domain.values[low]), upper, False, False)
    assert read_span(label, "number") is None
    assert read_set(label) is None


@pytest.mark.parametrize("label", [None, "", "{", "a", "{a", "a}", "[1-2]", "*"])
def test_what_is_no_set_is_none(label):
    assert read_set(label) is None


@example([(1e290, 1), (0.1, 2), (-1e290, 1)])
@given(st.lists(st.tuples(st.floats(-1e290, 1e290), st.integers(1, 2**26)), min_size=2, max_size=6))
def test_a_mean_of_doubles_is_rounded_once(numbers):
    values, weights = zip(*dict(numbers).items(), strict=True)
    domain = domain_of([*values, 1.5])
    codes = [domain.places.tolist().index(float(Fraction(v) / 2**domain.exponent)) for v in values]
    counts = SimpleNamespace(
        indptr=np.array([0, len(codes)]), codes=np.array(codes), counts=np.array(weights)
    )
    [label] = mean_labels(domain, counts)
    mean = sum(Fraction(v) * w for v, w in zip(values, weights, strict=True)) / sum(weights)
    assert abs(Fraction(label) - mean) <= max(abs(mean) / 2**51, Fraction(1, 10**6))
