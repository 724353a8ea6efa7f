"""Forms of texts: lists, pairs of numbers, days in two formats and contacts in free text."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from incrowd.release.drafting.profile import profile_of
from incrowd.release.drafting.text_forms import contacts_in, day_formats_of, separator_of
from incrowd.release.jobs.draft import draft_policy

RNG = np.random.default_rng(11)
ROWS = 900


def texts(form: str, numbers: object) -> list[str]:
    return [form.format(number) for number in np.asarray(numbers).tolist()]


def only(**column: object):
    """Return the guess about a column beside an age."""
    return draft_policy(pl.DataFrame({"age": RNG.integers(0, 90, ROWS), **column}), "t").guesses[1]


def pressures() -> list[str]:
    return [f"{a}/{b}" for a, b in zip(RNG.integers(100, 180, ROWS), RNG.integers(55, 99, ROWS), strict=True)]


def days(*formats: str) -> list[str]:
    found = np.datetime64("1995-01-01") + RNG.integers(0, 9_000, ROWS).astype("timedelta64[D]")
    return [day.strftime(formats[at % len(formats)]) for at, day in enumerate(found.tolist())]


@pytest.mark.parametrize("name", ["x7", "case", "blood_pressure", "Blutdruck"])
def test_two_numbers_with_a_slash_are_no_id_and_no_person(name):
    guess = only(**{name: pressures()})
    assert (guess.role, guess.special, guess.repeated) == ("?", "health", False)


@pytest.mark.parametrize(
    ("formats", "shown"),
    [
        (("%Y-%m-%d", "%d/%m/%Y"), ("2023-05-07", "07/05/2023")),
        (("%d.%m.%Y", "%b %d, %Y"), ("07.05.2023", "May 07, 2023")),
        (("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"), ("2023-05-07", "07.05.2023", "05/07/2023")),
    ],
)
def test_days_in_two_formats_are_days_and_the_formats_are_shown_by_a_made_up_day(formats, shown):
    values = days(*formats)
    guess = only(hired=values)
    assert (guess.role, guess.repeated) == ("?", False)
    assert f"days in {len(formats)} formats" in guess.reason
    assert all(example in guess.reason for example in shown)
    left_out = draft_policy(pl.DataFrame({"age": RNG.integers(0, 90, ROWS), "hired": values}), "t", ask=False)
    assert left_out.having("identifying") == ["hired"]
    assert not [value for value in set(values) - set(shown) if value in left_out.text]


def test_one_format_and_other_texts_are_not_days_in_two_formats():
    assert day_formats_of(days("%Y-%m-%d")) == ()
    assert day_formats_of([*days("%Y-%m-%d", "%d/%m/%Y"), "soon"]) == ()
    assert day_formats_of(texts("{:05}", range(200))) == ()


LISTS = {
    ";": ["F32;E11", "I10", "E11;I10;J45", "J45", "F32;J45", "E11;J45"],
    "|": ["tv|radio", "radio|web", "web|tv|print", "print", "tv|web", "radio"],
    ",": ["a, b", "b, c, a", "c", "a, c", "c, b", "d, a"],
}


@pytest.mark.parametrize("sign", LISTS)
def test_lists_in_cells_are_recognized_and_said(sign):
    assert separator_of(LISTS[sign]) == sign
    values = [LISTS[sign][at] for at in RNG.integers(0, 6, ROWS)]
    assert profile_of(pl.Series(values), "q8", ()).lists == sign
    guess = only(q8=values)
    assert guess.role == "?"
    assert f"cells are lists, parted by {sign!r}" in guess.reason
    named = only(diagnoses=values)
    assert (named.role, "cells are lists" in named.reason) == ("sensitive", True)


@pytest.mark.parametrize(
    "values",
    [
        [f"{last}, {first}" for last in ("Huber", "Koch", "Wolf") for first in ("Ann", "Bob", "Cy")],
        ["01/2020", "02/2020", "03/2021", "04/2022", "05/2020"],
        ["1,5", "2,5", "3,5", "4,25", "5,5"],
        ["white", "black", "asian", "asian-pac-islander", "other"],
        ["10-20k", "20-40k", "40-80k", "<10k", "80k+"],
    ],
)
def test_names_numbers_and_single_values_are_no_lists(values):
    assert separator_of(values) == ""


@pytest.mark.parametrize(
    ("some", "found"),
    [
        (["call 030-1234567 please", "Tel. +49 30 7654321", "fine"], "numbers of phones"),
        (["ask jane@example.org", "fine", "ok"], "addresses of mail"),
        (["mail jo@example.org", "tel 0171 5550123", "or (030) 901820"], "addresses of mail and numbers of phones"),
        (["in 2019 and 2020", "10 of 200", "see 12.05.2020", "page 2019-2020", "room 1234"], ""),
        (["from 2020-03-05 to 2020-03-09", "I10.90", "1,234,567 EUR"], ""),
    ],
)  # fmt: skip
def test_contacts_among_other_words(some, found):
    assert contacts_in(some) == found


def test_texts_with_contacts_and_notes_are_left_out_with_the_reason():
    fine = [*["fine", "all good", "ok so far then"] * (ROWS // 3)]
    phones = [f"call 030-{number:07}" if number % 9 == 0 else text for number, text in enumerate(fine)]
    guess = only(x1=phones)
    assert (guess.role, "texts that hold numbers of phones" in guess.reason) == ("identifying", True)
    for name in ("Bemerkung", "comments", "備考", "open_end", "примечание"):
        guess = only(**{name: fine})
        assert (guess.role, "free text" in guess.reason) == ("identifying", True), name
    long = texts("a text of one word and more than forty signs number {}", RNG.integers(0, 9_999, ROWS))
    assert "free text" in only(x2=long).reason


def test_codes_of_diagnoses_are_asked_about_as_data_on_health():
    guess = only(x9=RNG.choice(["F32.1", "E11.9", "I10", "J45.0", "C50"], ROWS).tolist())
    assert (guess.role, guess.special) == ("?", "health")


def test_a_profile_has_the_shapes_of_the_most_frequent_values():
    codes = [*["AB-1"] * 9, *["x"] * 5, *["2020-01-02"] * 3, "+", "rare one"]
    assert profile_of(pl.Series(codes), "x", ()).shapes == ("AA-9", "a", "9999-99-99")


@pytest.mark.parametrize("name", ["wt", "weight", "pweight", "Gewicht", "ウェイト", "dweight_design_weight"])
def test_a_weight_of_a_sample_is_offered_as_one(name):
    guess = only(**{name: np.round(RNG.gamma(4, 0.25, ROWS) + 0.01, 4)})
    assert guess.role == "weight", guess.reason


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "Gewicht_kg": RNG.normal(78, 12, ROWS).round(1), "weight_kg": RNG.normal(1, 0.1, ROWS).round(2),
        "weight": RNG.normal(78, 12, ROWS).round(1), "wt": RNG.normal(0, 1, ROWS),
        "birth_weight": RNG.normal(1.2, 0.2, ROWS).round(2), "weights": RNG.integers(1, 3, ROWS),
    }.items(),
)  # fmt: skip
def test_the_weight_of_a_body_is_none_of_a_sample(name, values):
    assert only(**{name: values}).role == "?"


@pytest.mark.parametrize("kind", ["texts", "numbers"])
@pytest.mark.parametrize("towns", [5, 300])
def test_postal_codes_are_masked_from_the_right_also_without_their_zeros(kind, towns):
    codes = texts("0{:04}", RNG.integers(2_139, 2_139 + towns, ROWS))
    guess = only(PLZ=codes if kind == "texts" else [int(code) for code in codes])
    assert (guess.role, guess.hierarchy) == ("quasi", {"prefix": True})


def test_a_leading_zero_means_no_number():
    assert profile_of(pl.Series(["04109", "02139", "10115"] * 9), "x", ()).kind == "category"
