"""What init recognizes by values alone: numbers with check digits, addresses, places, postal codes; and Turkish."""

from __future__ import annotations

import polars as pl
import pytest

from incrowd.release.drafting.value_forms import is_postal, personal_form
from incrowd.release.drafting.words import find_word, subject_of
from incrowd.release.jobs.draft import draft_policy

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
    """Enough of them for a check to tell something."""
    return [values[at % len(values)] for at in range(max(5, len(values)))]


@pytest.mark.parametrize("what", EXAMPLES)
def test_published_examples_are_recognized(what):
    assert personal_form(column(EXAMPLES[what])) == what


def mistyped(text):
    """Return it with another last digit, or with another letter where it ends in one."""
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
