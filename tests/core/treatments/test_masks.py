"""Masks: kept characters, and values of another form that are not kept."""

from __future__ import annotations

import pytest
from hypothesis import given as tried
from hypothesis import strategies as st

import incrowd as ic
from treatment_tables import given


@tried(st.text(max_size=12), st.integers(1, 6), st.booleans())
def test_only_so_many_characters_are_kept(text, characters, keep_length):
    [first] = given(ic.KeepFirst(characters, keep_length), [text])
    [last] = given(ic.KeepLast(characters, keep_length), [text])
    stars = "*" * max(len(text) - characters, 0) if keep_length else "***"
    if len(text) > characters:
        assert (first, last) == (text[:characters] + stars, stars + text[-characters:])
    else:
        # A short text would be kept whole.
        assert first == last == ("*" * len(text) if keep_length else "***")


def test_missing_values_stay_missing():
    for treatment in (
        ic.KeepFirst(1),
        ic.KeepLast(1),
        ic.Mask("a"),
        ic.Redact(),
        ic.EmailDomain(1),
        ic.Other(2),
    ):
        assert given(treatment, [None, "a@b"])[0] is None


def test_a_pattern_masks_what_it_finds_and_what_it_does_not_fit():
    assert given(ic.Mask("[0-9]{2}"), ["AB-1234", "nobody", ""]) == ["AB-**", "*", "*"]


def test_a_mark_is_taken_letter_by_letter():
    assert given(ic.Mask("[0-9]", "$x"), ["a1b"]) == ["a$xb"]


@pytest.mark.parametrize(
    ("pattern", "mark", "said"),
    [("(", "*", "no regular expression"), ("x*", "*", "empty text"), (".", "*", "mark itself")],
)
def test_patterns_that_cannot_mask_are_refused(pattern, mark, said):
    with pytest.raises(ic.ParameterError, match=said):
        ic.Mask(pattern, mark)


def test_rare_domains_and_other_texts_are_not_kept():
    mails = ["a@X.org", "b@x.org ", "c@family.name", "no address", "a@b@x.org", None]
    assert given(ic.EmailDomain(2), mails) == ["x.org", "x.org", "other", "other", "other", None]


def test_what_is_redacted_tells_who_had_a_value_and_a_constant_does_not():
    assert given(ic.Redact(), ["a", None]) == ["[redacted]", None]
    assert given(ic.Constant("-"), ["a", None]) == ["-", "-"]
