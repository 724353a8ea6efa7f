"""Columns that init recognizes by values alone: check digits, addresses, places, postal codes, Turkish."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from incrowd.release.drafting.profile import profile_of
from incrowd.release.drafting.value_forms import (
    contacts_in,
    day_formats_of,
    is_postal,
    personal_form,
    separator_of,
)
from incrowd.release.jobs.compare.draft import draft_policy
from incrowd_gate.words.meanings import find_word, subject_of

# Numbers that authorities and encyclopedias publish as examples of their schemes.
EXAMPLES = {
    "numbers of bank accounts (IBAN)": [
        "DE89370400440532013000", "GB82 WEST 1234 5698 7654 32", "FR1420041010050500013M02606",
        "TR330006100519786457841326", "ES9121000418450200051332",
    ],
    "numbers of payment cards": [
        "4111 1111 1111 1111", "5555-5555-5555-4444", "378282246310005", "4012888888881881", "6011111111111117",
    ],
    "identity numbers of Turkey": ["10000000146"],
    "tax numbers of Germany": ["86095742719", "47036892816", "65929970489", "57549285017", "25768131411"],
    "social security numbers of France": ["255081416802538"],
    "identity numbers of Spain": ["12345678Z", "X1234567L", "Y1234567X", "Z1234567R", "00000000T"],
    "tax codes of Italy": ["RSSMRA85T10A562S", "MRTMTT91D08F205J", "RSSMRA80A01H501U"],
    "tax numbers of Brazil": ["111.444.777-35", "52998224725"],
    "identity numbers of Poland": ["44051401359", "02070803628"],
    "social security numbers of Switzerland": ["756.9217.0769.85", "756.1234.5678.97"],
    "identity numbers of Sweden": ["811228-9874", "670919-9530", "19811228-9874"],
    "citizen numbers of the Netherlands": ["111222333", "123456782"],
    "addresses of computers": ["10.0.0.1", "2001:db8::1", "192.168.1.77", "::1", "fe80::1ff:fe23:4567:890a"],
    "places by latitude and longitude": ["52.5200, 13.4050", "-33.8688,151.2093", "(41.0082, 28.9784)"],
    "addresses of mail": ["a@example.org", "b.c@example.com"],
    "numbers of phones": ["+90 (212) 555 01 23", "(030) 901820", "+1 202-555-0143"],
}  # fmt: skip


def column(values):
    """Enough values for a check to recognize the column."""
    return [values[at % len(values)] for at in range(max(5, len(values)))]


@pytest.mark.parametrize("what", EXAMPLES)
def test_published_examples_are_recognized(what):
    assert personal_form(column(EXAMPLES[what])) == what


def mistyped(text):
    """Return the text with another last digit, or with another last letter."""
    places = [at for at, sign in enumerate(text) if sign.isdigit()]
    at = places[-1]
    return text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]


@pytest.mark.parametrize(
    "what", [what for what in EXAMPLES if what.split()[0] in ("identity", "tax", "social")]
)
def test_a_number_with_a_wrong_digit_fails_its_check(what):
    assert personal_form([mistyped(text) for text in column(EXAMPLES[what])]) != what


def test_numbers_in_a_row_and_at_random_are_none():
    import random

    draw = random.Random(1)
    for digits in (9, 10, 11, 13, 15, 16):
        row = [str(10 ** (digits - 1) + n) for n in range(300)]
        drawn = [str(draw.randrange(10 ** (digits - 1), 10**digits)) for _ in range(300)]
        assert personal_form(row) == personal_form(drawn) == ""
    assert personal_form(["12345678", "87654321"] * 5) == ""
    assert personal_form(["4111111111111111"]) == "", "one value tells nothing"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "texts",
    [
        ["SW1A 1AA", "EC1A 1BB", "W1A 0AX", "M1 1AE", "b33 8th"],
        ["K1A 0B1", "M5V3L9", "H0H 0H0", "V6B 4Y8", "T2X 1V4"],
        ["1012 AB", "3511LX", "9712 CP", "2511 BT", "6211 JS"],
        ["1000-001", "4000-322", "8000-408", "3000-213", "2700-112"],
        ["00-950", "30-001", "80-244", "50-370", "61-712"],
    ],
)
def test_postal_codes_of_a_form_of_their_own_are_quasi_identifiers(texts):
    assert is_postal(texts)
    frame = pl.DataFrame({"x": [texts[at % 5] for at in range(60)]})
    [guess] = draft_policy(frame, "t").guesses
    assert (guess.role, "postal" in guess.reason) == ("quasi", True)


def test_a_draft_leaves_out_what_a_check_digit_gives_away_and_shows_no_value():
    numbers = [86095742719, 47036892816, 65929970489, 57549285017, 25768131411]
    frame = pl.DataFrame({"x1": [numbers[at % 5] for at in range(60)], "x2": ["10.0.0.1", "10.0.0.2"] * 30})
    draft = draft_policy(frame, "t")
    assert draft.having("identifying") == ["x1"]
    assert "tax numbers of Germany" in draft.text
    assert not [number for number in numbers if str(number) in draft.text]


@pytest.mark.parametrize(
    ("name", "concept"),
    [
        ("yaş", "age"), ("Doğum Tarihi", "birth"), ("cinsiyet", "sex"), ("Şehir", "place"), ("posta_kodu", "place"),
        ("ilçe", "place"), ("uyruk", "origin"), ("medeni_durum", "marital status"), ("meslek", "profession"),
        ("eğitim", "education"), ("çocuk_sayısı", "household"),
    ],
)  # fmt: skip
def test_turkish_headings(name, concept):
    assert subject_of(name) == concept


def test_a_word_of_two_letters_is_a_subject_only_where_it_begins_a_name():
    """A province in Turkish, and instalment loans in the names of a bank."""
    assert (subject_of("il"), subject_of("İl"), subject_of("il_no")) == ("place", "place", "place")
    assert (subject_of("total_bal_il"), subject_of("max_bal_il")) == (None, None)


def test_turkish_words_for_people_and_what_is_protected():
    assert find_word("personal", "Soyadı") == "soyadi"
    assert find_word("personal", "e-posta") == "eposta"
    assert find_word("sensitive", "teşhis") == "teshis"
    assert find_word("sensitive", "aylık_gelir") == "gelir"


def test_a_draft_without_questions_has_none_and_leaves_their_columns_out():
    frame = pl.DataFrame(
        {
            "age": [20 + n % 50 for n in range(100)],
            "score_a": [n % 9 for n in range(100)],
            "day": [f"0{1 + n % 9}/0{1 + n % 5}/2020" for n in range(100)],
        }
    )
    asked, unasked = draft_policy(frame, "t"), draft_policy(frame, "t", ask=False)
    assert "?" in asked.text
    assert '"?"' not in unasked.text
    assert set(unasked.having("identifying")) == {*asked.having("?"), "day"}
    assert unasked.having("quasi") == ["age"]


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
    result = np.datetime64("1995-01-01") + RNG.integers(0, 9_000, ROWS).astype("timedelta64[D]")
    return [day.strftime(formats[at % len(formats)]) for at, day in enumerate(result.tolist())]


@pytest.mark.parametrize("name", ["x7", "case", "blood_pressure", "Blutdruck"])
def test_two_numbers_with_a_slash_are_no_id_and_no_person(name):
    guess = only(**{name: pressures()})
    assert (guess.role, guess.special, guess.repeated) == ("?", "health", False)


@pytest.mark.few(1)
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


@pytest.mark.few(1)
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
