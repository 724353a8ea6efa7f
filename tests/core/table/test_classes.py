"""EquivalenceClasses: keys in groups, whichever way the groups are given."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable
from incrowd.engines import engine_for

VALUES = 4


@st.composite
def keyed(draw) -> tuple[FrequencyTable, list[list[int]]]:
    """A frequency table of a few keys, and the counts of the sensitive values of each key."""
    row = st.lists(st.integers(0, 4), min_size=VALUES, max_size=VALUES).filter(any)
    counts = draw(st.lists(row, min_size=1, max_size=8))
    extra = draw(st.integers(0, 3))
    rows = [
        (f"k{key}", f"v{v}") for key, row in enumerate(counts) for v, n in enumerate(row) for _ in range(n)
    ]
    # Values that no key has are in the table all the same, with suppressed rows.
    rows += [("*", f"v{v}") for v in range(VALUES) for _ in range(extra + 1)]
    frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    return engine_for(frame).count(ic.Schema(quasi=["q"], sensitive={"s": "category"})).frequency, counts


def dense(classes: EquivalenceClasses) -> list[list[int]]:
    """Counts of every value in every class."""
    counts = classes.counts(0)
    table = np.zeros((len(classes), VALUES), np.int64)
    for number in range(len(classes)):
        part = slice(counts.indptr[number], counts.indptr[number + 1])
        table[number, counts.codes[part]] = counts.counts[part]
    return table.tolist()


def added(counts: list[list[int]], groups: list[list[int]]) -> list[list[int]]:
    return [[sum(counts[key][v] for key in group) for v in range(VALUES)] for group in groups]


@given(keyed())
def test_every_key_is_a_class_of_the_table_as_it_stands(made):
    frequency, counts = made
    classes = EquivalenceClasses.of_keys(frequency)
    assert len(classes) == frequency.keys == len(counts)
    assert classes.sizes.tolist() == frequency.weights.tolist() == [sum(row) for row in counts]
    assert dense(classes) == counts
    assert (classes.records, classes.suppressed) == (frequency.records, frequency.suppressed)
    assert repr(classes) == f"EquivalenceClasses({len(counts)} classes, {frequency.records} records)"


@given(keyed(), st.data())
def test_classes_by_number(made, data):
    frequency, counts = made
    keys = len(counts)
    number = data.draw(st.lists(st.integers(-1, 2), min_size=keys, max_size=keys))
    classes = EquivalenceClasses.from_assignment(frequency, np.array(number, np.int32), 3)
    groups = [[key for key in range(keys) if number[key] == c] for c in range(3)]
    assert dense(classes) == added(counts, groups)
    assert classes.sizes.tolist() == [sum(map(sum, (counts[key] for key in group))) for group in groups]
    assert classes.suppressed == frequency.rows - classes.sizes.sum()


@given(keyed(), st.data())
def test_classes_by_released_codes(made, data):
    frequency, counts = made
    keys = len(counts)
    bits = st.lists(st.integers(0, 1), min_size=keys, max_size=keys)
    left, right, gone = data.draw(bits), data.draw(bits), data.draw(bits)
    suppressed = data.draw(st.sampled_from([None, np.array(gone, np.bool_)]))
    classes = EquivalenceClasses.from_codes(
        frequency, [np.array(left, np.uint8), np.array(right, np.uint8)], [2, 2], suppressed
    )
    groups: dict[tuple[int, int], list[int]] = {}
    for key in range(keys):
        if suppressed is None or not gone[key]:
            groups.setdefault((left[key], right[key]), []).append(key)
    assert sorted(dense(classes)) == sorted(added(counts, list(groups.values())))
    assert len(classes) == len(groups)
    assert classes.suppressed == frequency.rows - sum(sum(counts[k]) for g in groups.values() for k in g)


@given(keyed())
def test_lifts_are_shares_over_shares(made):
    frequency, counts = made
    classes = EquivalenceClasses.of_keys(frequency)
    lift, share = classes.lifts(0)
    totals = frequency.sensitive[0].totals.tolist()
    expected = [
        (n / sum(row) / (total / frequency.rows), total / frequency.rows)
        for row in counts
        for n, total in zip(row, totals, strict=True)
        if n
    ]
    assert lift.tolist() == pytest.approx([a for a, _ in expected], rel=1e-14)
    assert share.tolist() == [b for _, b in expected]


def test_no_quasi_identifier_code_is_one_class():
    frequency = engine_for(pl.DataFrame({"q": ["a", "b"]})).count(ic.Schema(quasi=["q"])).frequency
    classes = EquivalenceClasses.from_codes(frequency, [], [])
    assert classes.sizes.tolist() == [2]


def test_all_suppressed_is_no_class():
    frequency = engine_for(pl.DataFrame({"q": ["a", "b"]})).count(ic.Schema(quasi=["q"])).frequency
    classes = EquivalenceClasses.from_codes(frequency, frequency.codes, [2], np.ones(2, np.bool_))
    assert (len(classes), classes.records, classes.suppressed) == (0, 0, 2)
    assert classes.sizes.tolist() == []
