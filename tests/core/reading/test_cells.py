"""Every spelling of a range is read by its meaning, and other texts are no range."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.reading.cells import SPELLINGS, read_span

EACH = [(meaning, text) for meaning, texts in SPELLINGS.items() for text in texts]


def kind_of(meaning: str) -> str:
    return "date" if "2020" in meaning else "number"


@pytest.mark.parametrize(("meaning", "text"), EACH)
def test_spellings_of_one_meaning_are_one_range(meaning, text):
    own, *_ = SPELLINGS[meaning]
    kind = kind_of(meaning)
    span, first = read_span(text, kind), read_span(own, kind)
    assert span is not None
    if kind == "number":
        span, first = span.of_whole_numbers(), first.of_whole_numbers()
    assert span == first


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("[20, 30)", (20, 30, False, True)),
        ("(20.5, 30]", (Decimal("20.5"), 30, True, False)),
        ("[1,200]", (1, 200, False, False)),
        ("[1,000, 2,999]", (1000, 2999, False, False)),
        ("-5 - -1", (-5, -1, False, False)),
        ("[1e-7-2.5e+16]", (Decimal("1e-7"), Decimal("2.5e16"), False, False)),
        ("under 1,000", (Decimal("-Infinity"), 1000, False, True)),
    ],
)
def test_ends_are_exact_and_an_end_that_is_left_out_is_said(text, span):
    assert read_span(text, "number") == span


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2019-2020", "2019-01-01T00:00:00", "2020-12-31T24"),
        ("> 2019", "2020-01-01T00:00:00", "~"),
        ("before 2020-03", "", "2020-02-29T24"),
        ("(2020-01-01T10:00:00, 2020-01-02]", "2020-01-01T10:00:00", "2020-01-02T24"),
        ("[2020-01-01 10:00, 2020-01-01 12:00:00.5]", "2020-01-01T10:00:00", "2020-01-01T12:00:00.5"),
    ],
)
def test_parts_of_the_calendar_are_ends(text, low, high):
    span = read_span(text, "date")
    assert (span.low, span.high) == (low, high)
    assert span.above == ("10:00:00," in text)


@pytest.mark.parametrize(
    "text",
    ["", "*", "[29-20]", "[a-b]", "a+", "[, ]", "(-inf, inf)", "group 4", "20-29-30", "<=50k", "1.5.2-3", "46 +-", "++46",
     "[2020-13-01 to 2020-14-01]", "2020-13", "2020-02-30 or later", "0000-01-01 or later", "2020-Q5", "46 or", "or more"],
)  # fmt: skip
def test_what_is_no_range_is_none(text):
    assert read_span(text, "number") is None
    assert read_span(text, "date") is None


@pytest.mark.parametrize("text", ["46", "-1.5", "46 years"])
def test_a_value_is_no_range(text):
    assert read_span(text, "number") is None


@pytest.mark.parametrize("text", ["2020-03-01", "2020-03-01T10:00:00"])
def test_a_day_and_a_moment_are_no_range(text):
    assert read_span(text, "date") is None


@given(
    st.text(st.sampled_from("0123456789-+.,;/[]()<>= toandr≥∞qT:e以上"), max_size=30),
    st.sampled_from(["number", "date"]),
)
def test_any_text_is_read_or_not(text, kind):
    span = read_span(text, kind)
    assert span is None or span.low <= span.high
