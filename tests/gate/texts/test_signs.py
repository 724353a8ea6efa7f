"""Signs of people inside texts, in several countries and languages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import phonenumbers
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban, luhn
from stdnum.nl import bsn

from incrowd_gate.texts import CHECKED, SIGNS, missing, signs_in
from incrowd_gate.texts import name as name_module
from incrowd_gate.texts import sign as sign_module
from incrowd_gate.texts.sign import spaced

BY_NAME = {sign.name: sign for sign in SIGNS}
OFFLINE = [sign for sign in SIGNS if sign.name != "name"]
each_sign = pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.name)

YES = {
    "mail": (
        "ask jane@x.org", "E-Mail jörg.müller@web.de", "jane (at) example.com", "jane[at]example[dot]com",
        "<o'neil+spam@mail.example.co.uk>", "писать anna@почта.рф",
    ),
    "telephone": (
        "Tel. 030-1234567", "Tel. 12 34 56 78", "call me on 0171 2345678", "(617) 555-0123", "ring (617) 555-0123 later",
        "phone: 617 555 0123", "090-1234-5678", "reach her at +44 20 7946 0958", "+49 (0)30 901820", "0033 1 42 68 53 00",
        "06 12 34 56 78", "tél 01.42.68.53.00", "Handy 0171/2345678", "teléfono 612 345 678", "(11) 91234-5678",
        "☎ 555 01 234", "電話 ０９０‑１２３４‑５６７８", "mobil +46 70 174 06 05", "617-555-0123",
    ),
    "iban": (
        "DE89 3704 0044 0532 0130 00", "pay to GB82WEST12345698765432 now", "FR1420041010050500013M02606",
        "konto NO93 8601 1117 947 please",
    ),
    "card": ("card 4111 1111 1111 1111 expired", "5500-0000-0000-0004", "amex 3782 822463 10005", "paid by 4111111111111111"),
    "national-number": (
        "123-45-6789", "his SSN is 123-45-6789", "BSN 123456782", "85.07.30-033.28", "756.9217.0769.85", "RSSMRA85T10A562S",
        "DNI 12345678Z", "X2482300W", "390.533.447-05", "131052-308T", "NHS 943 476 5919", "PESEL 44051401359",
        "QQ 12 34 56 C".replace("QQ", "AB"), "1 84 12 76 451 089 46", "121212-1212",
    ),
    "ip": ("from 192.168.1.17", "2001:db8:85a3::8a2e:370:7334", "login 84.112.3.9, failed", "[fe80::1ff:fe23:4567:890a]"),
    "mac": ("00:1A:2B:3C:4D:5E", "card 00-1a-2b-3c-4d-5e", "001a.2b3c.4d5e"),
    "url": ("see https://example.org/~jane", "www.jane-doe.com", "linkedin.com/in/janedoe", "t.me/janedoe"),
    "plate": (
        "the car B-AB 1234 was parked there", "plate AB12 CDE seen", "Kennzeichen M-XY 99", "matrícula 1234 BCD",
        "immatriculation AB-123-CD",
    ),
    "address": (
        "lives at 10 Downing Street", "221B Baker St, London", "350 5th Ave", "Hauptstraße 51", "wohnt Gartenweg 173",
        "Bahnhofstr. 3a", "12 rue de la Paix", "5 bis, avenue Foch", "Calle Mayor 15", "C/ Gran Vía, 7", "Via Roma 10",
        "Rua Augusta 22", "Kerkstraat 12", "Storgatan 4", "ul. Marszałkowska 10", "ул. Ленина, д. 5", "P.O. Box 123",
        "Postfach 1234", "1600 Pennsylvania Avenue", "Prinsengracht 263", "Avenida Paulista 1578",
    ),
    "date": (
        "born 12.03.1985 in Leeds", "seen on 2020-01-05 again", "operated 5 May 2020", "since May 5th surgery", "né le 5 mars 1990 à Lyon",
        "operiert am 5. Mai 2020", "visita 05/03/2021", "nacida el 3 de abril", "2020年5月1日に入院しました",
    ),
    "title": (
        "Mrs Schroeder called", "ask my GP Dr Patel", "Frau Müller wünscht", "Herr von der Leyen", "Mme Dupont a appelé",
        "M. Dupont a appelé", "la Sra. García llamó", "el Sr. García llamó", "Prof. Dr. Weber", "Sig.ra Rossi", "MRS SCHROEDER",
        "dhr. van den Berg".replace("dhr", "Dhr"), "Rückruf an Fr. Müller", "田中さんから電話", "Braund, Mr. Owen Harris",
        "mrs schroeder phoned", "Pani Kowalska", "Dr. O'Neil",
    ),
}  # fmt: skip

NO = {
    "mail": ("3 @ 5 EUR", "user@localhost", "pip install x@1.2.3", "at home", "@jane"),
    "telephone": (
        "18 - 30", "2020-01-01", "[2020-01-01 - 2020-12-31]", "01.02.2020", "01/2020 - 12/2021", "48.85771, 2.29512",
        "1714567890", "02138-1234", "[01234 - 05678]", "100-1234", "130/80", "1,234,567", "12 345 678", "0-306-40615-2",
        "2020-2021", "01/05/2025 00:07", "00093-7180-01", "078-05-1120", "called 12.05.2020", "phone", "+02:00", "F-000123",
        "0.30123456789", "-0123 45678", "01234", "10.0.19041.1320",
    ),
    "iban": ("DE89 3704 0044 0532 0130 01", "AB12", "XX00 1234 5678 9012", "DE00000000000000000000"),
    "card": ("4111 1111 1111 1112", "1.5239999294281006", "4.6999998000000005", "20200101123000", "0000 0000 0000 0000"),
    "national-number": (
        "E11.9", "2020-01-01", "32.448275862069", "25.199951171875", "000-12-3456", "48.85771", "10000000", "100,000.00",
        "123456789", "call 2020", "they run 123456782", "nie 123456782",
    ),
    "ip": ("1.2.3", "999.1.1.1", "10.0.0.0/8", "192.168.1.*", "version 1.2.3.4", "10:20:30", "2020-01-01 10:20:30", "1.2.3.4.5"),
    "mac": ("10:20:30:40:50:60", "2020-01-01", "12-34-56-78-90-12", "AB:CD"),
    "url": ("e.g. this", "a.b.c", "and/or", "1.5", "https"),
    "plate": ("E11", "AB-123", "COVID-19", "SW1A 1AA", "I10", "F-000001", "A1 steel 2020", "B12"),
    "address": (
        "10115 Berlin", "02138", "Cambridge, MA", "Spring 2020", "Monitoring 3", "Arbeitsplatz 3", "4 Wheel Drive", "during 5",
        "Type 2 diabetes", "decade 3", "Way 2", "Delegate 5", "30 Minutes of exercise", "2 Dr Smith", "via 3",
    ),
    "date": (
        "2020-01-01", "[2020-01-01 - 2020-12-31]", "12.03.1985", "May 5, 2020", "Mon, 05 May 2020 10:00:00 GMT",
        "2020-01-01T10:20:30Z", "before 2020-01-01", "2020-01-01 and later", "5 May 2020 to 7 June 2020", "May 2020 report",
        "1/2 tablet", "2020年5月1日", "{2020-01-01, 2020-01-02}", "version 3.14",
    ),
    "title": (
        "Mr", "Mrs", "Sr. Director", "Sr Software Engineer", "Dr Pepper", "MS Excel", "P.M. Summer", "Bay Trail-M",
        "AssocProf", "Miss", "Edgar M. Poe", "Never-married", "Herr der Ringe", "die Frau klagt", "dr", "M.Sc.",
    ),
}  # fmt: skip


def found(name: str, *texts: str) -> list[bool]:
    return BY_NAME[name].matches(pl.Series(texts, dtype=pl.String)).to_list()


@pytest.mark.few(29)
@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in YES.items() for text in texts])
def test_a_sign_is_found_in_a_text_among_others(name, text):
    assert found(name, "fine", text, "all good") == [False, True, False]


@pytest.mark.few(29)
@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in NO.items() for text in texts])
def test_no_sign_is_found_where_there_is_none(name, text):
    assert found(name, text) == [False]


def test_every_sign_is_tried():
    assert set(YES) == set(NO) == {sign.name for sign in OFFLINE}


# --- every sign -----------------------------------------------------------------------------------


@each_sign
def test_sign_introduces_itself(sign):
    assert sign.name == sign.name.lower()
    assert sign.text
    assert not sign.text.endswith(".")
    assert sign.install == "" or "pip install" in sign.install
    page = Path(__file__).parents[3] / "docs" / "texts.md"
    assert f"`{sign.name}`" in page.read_text(encoding="utf-8"), f"say in docs/texts.md what {sign.name} is"


def test_every_sign_has_a_name_of_its_own():
    assert len(BY_NAME) == len(SIGNS)


@pytest.mark.few(7)
@pytest.mark.parametrize("sign", OFFLINE, ids=lambda sign: sign.name)
@given(texts=st.lists(st.none() | st.text(max_size=30), max_size=8))
def test_a_mask_has_one_truth_value_per_text(sign, texts):
    series = pl.Series("c", texts, dtype=pl.String)
    mask = sign.matches(series)
    assert mask.dtype == pl.Boolean
    assert mask.name == "c"
    assert len(mask) == len(texts)
    assert mask.null_count() == 0
    assert not mask.filter(series.is_null()).any()


@pytest.mark.parametrize("sign", OFFLINE, ids=lambda sign: sign.name)
def test_a_column_without_texts_has_no_sign(sign):
    for series in (
        pl.Series([], dtype=pl.String),
        pl.Series([None, None]),
        pl.Series(["", " ", "\x00", "é", "🎈"]),
    ):
        assert sign.matches(series).to_list() == [False] * len(series)


def test_signs_in_names_those_that_occur():
    masks = signs_in(pl.Series(["Mrs Schroeder called", None, "ask jane@x.org", "fine"]))
    assert {name: mask.to_list() for name, mask in masks.items()} == {
        "mail": [False, False, True, False],
        "title": [True, False, False, False],
    }
    assert signs_in(pl.Series(["flu", "hiv", "asthma", None])) == {}


RELEASED = (
    "18 - 30", "[18 - 30)", "[18, 30]", "{18, 19}", "{a, b}", "*", "021**", "0213*", "46+", ">= 46", "[46, inf)", "46 or more",
    "[2020-01-01 - 2020-12-31]", "2020-01", "2020-Q1", "01234 - 05678", "[100000 - 299999]", "1,000 - 1,999", "missing",
    "[48.10000 - 49.20000]", "[2020-01-01 00:00:00 - 2020-12-31 23:59:59]", "{E11, I10}", "Bachelors", "123 - 456",
    "not 5", "A-C", "[1714567890 - 1714667890]", "[100000000 - 199999999]",
)  # fmt: skip


@pytest.mark.few(7)
@pytest.mark.parametrize("text", RELEASED)
def test_cells_of_generalization_have_no_sign(text):
    assert signs_in(pl.Series([text])) == {}


COLUMNS = {
    "ids of nine digits": [str(100_000_000 + 7 * step) for step in range(3_000)],
    "ids of nine digits with check digits by chance": [str(600_000_000 + step) for step in range(3_000)],
    "ids of ten digits": [str(2_125_550_000 + step) for step in range(3_000)],
    "ids of eleven digits": [str(10_000_000_000 + 12_345_677 * step) for step in range(3_000)],
    "zero-padded ids": [f"{step:010d}" for step in range(1, 3_000)],
    "longer zero-padded ids": [f"{step * 1_234_577:012d}" for step in range(1, 3_000)],
    "ids of sixteen digits": [str(4_000_000_000_000_000 + 982_451_653 * step) for step in range(3_000)],
    "incomes": [f"{step * 977:,}" for step in range(10, 3_000)],
    "incomes in euros": [f"{step * 977:,}.00".replace(",", " ") for step in range(10, 3_000)],
    "dates": [f"{1 + step % 28:02d}.{1 + step % 12:02d}.{1950 + step % 70}" for step in range(3_000)],
    "timestamps": [
        f"2025-05-{1 + step % 28:02d} {step % 24:02d}:{step % 60:02d}:07" for step in range(3_000)
    ],
    "seconds since 1970": [str(1_714_567_890 + 101 * step) for step in range(3_000)],
    "codes of diseases": [f"{chr(65 + step % 26)}{step % 100:02d}.{step % 10}" for step in range(3_000)],
    "coordinates": [f"{43 + step / 1_000:.5f}, {step / 3_000:.5f}" for step in range(3_000)],
    "codes of products": [f"AB-{step:06d}" for step in range(3_000)],
    "other codes of products": [
        f"{step:04d}-{(step * 37) % 10_000:04d}-{step % 100:02d}" for step in range(3_000)
    ],
    "blood pressure": [f"{110 + step % 40}/{70 + step % 20}" for step in range(800)],
    "postal codes": [f"{step:05d}-{(step * 7) % 10_000:04d}" for step in range(1_001, 4_000)],
    "Japanese postal codes": [f"{step % 1_000:03d}-{(step * 7) % 10_000:04d}" for step in range(3_000)],
    "towns": [f"{10_115 + step} Town {chr(65 + step % 26)}" for step in range(3_000)],
    "durations": [f"{step % 24:02d}:{step % 60:02d}:{step % 59:02d}" for step in range(3_000)],
    "decimals": [repr(step / 7) for step in range(1, 3_000)],
    "months": [f"{1 + step % 12:02d}/{1990 + step % 30}" for step in range(360)],
}


@pytest.mark.few(7)
@pytest.mark.parametrize("column", COLUMNS)
def test_ordinary_columns_have_no_sign(column):
    assert signs_in(pl.Series(COLUMNS[column]).unique(maintain_order=True)) == {}


# --- numbers of a whole column ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("card", [base + luhn.calc_check_digit(base) for base in map("4{:014d}".format, range(10**9, 10**11, 10**9))]),
        ("national-number", [text for text in map(str, range(123_000_000, 123_002_000)) if bsn.is_valid(text)]),
        ("telephone", [f"617{200 + step % 700}{(step * 7_919) % 10_000:04d}" for step in range(500)]),
        ("telephone", [f"061{(step * 7_919_993) % 10**7:07d}" for step in range(500)]),
        ("plate", [f"{a}B-{number}-CD" for a in "ACDEFG" for number in range(100, 120)]),
        ("ip", [f"84.{step % 200}.{step % 7}.9" for step in range(200)]),
    ],
)  # fmt: skip
def test_a_column_of_plain_numbers_is_known_by_the_share_that_is_valid(name, texts):
    assert all(found(name, *texts))
    # The same numbers among others of the form: chance would explain them.
    mixed = [
        *texts[:30],
        *(text[:-1] + str((int(text[-1]) + 1) % 10) for text in texts[:90] if text[-1].isdigit()),
    ]
    if name in ("card", "national-number"):
        assert not any(found(name, *mixed))


def test_a_single_plain_number_needs_a_word():
    assert found("national-number", "123456782", "x") == [False, False]
    assert found("national-number", "BSN: 123456782", "BSN: 123456783") == [True, False]
    assert found("telephone", "6175550123", "phone 6175550123") == [False, True]


def test_of_many_candidates_so_many_evenly_spaced_ones_are_looked_at(monkeypatch):
    base = [f"4{step:014d}" for step in range(10**9, 10**9 + 300)]
    texts = pl.Series([f"card {each}{luhn.calc_check_digit(each)} used" for each in base])
    assert BY_NAME["card"].matches(texts).all()
    monkeypatch.setattr(sign_module, "SAMPLE", 10)
    monkeypatch.setattr(sign_module.spaced, "__defaults__", (100,))
    mask = BY_NAME["card"].matches(texts)
    assert mask.sum() == 100
    assert mask.equals(BY_NAME["card"].matches(texts))
    assert spaced(pl.Series(range(10)), 5).to_list() == [0, 2, 4, 6, 8]
    assert CHECKED >= 5_000


@pytest.mark.few(6)
@pytest.mark.parametrize("region", sorted(phonenumbers.SUPPORTED_REGIONS))
def test_international_numbers_of_every_region_are_found(region):
    numbers = [
        phonenumbers.example_number(region),
        phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE),
    ]
    texts = [
        phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
        for number in numbers
        if number
    ]
    assert all(found("telephone", *(f"reach her under {text}." for text in texts)))
    # So many digits are no number anywhere, apart from a few plans that leave the length open.
    for text in (f"{text}00" for text in texts):
        assert found("telephone", text) == [phonenumbers.is_valid_number(phonenumbers.parse(text))]


# --- a library that may be absent -------------------------------------------------------------------


def test_a_sign_without_its_library_is_missing_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr(name_module, "find_spec", lambda _: None)
    assert not BY_NAME["name"].available()
    ((name, line),) = missing()
    assert name == "name"
    assert "pip install" in line
    assert "[names]" in line
    assert "\n" not in line
    assert "name" not in signs_in(pl.Series(["Jane Doe came by today"]))


class Analyzer:
    """Finds Jane, and counts the texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def analyze(self, text, language, entities, score_threshold):
        assert entities == ["PERSON"]
        assert language == "en"
        self.texts.append(text)
        return ["a person"] if "Jane" in text and score_threshold <= 0.85 else []


@pytest.fixture
def analyzer(monkeypatch) -> Analyzer:
    result = Analyzer()
    installed = {"presidio_analyzer", "en_core_web_sm"}
    monkeypatch.setattr(
        name_module, "find_spec", lambda name: SimpleNamespace() if name in installed else None
    )
    monkeypatch.setattr(
        name_module, "analyzer", lambda models: result if models == (("en", "en_core_web_sm"),) else None
    )
    return result


def test_names_are_those_of_the_analyzer(analyzer):
    texts = pl.Series(["Jane Doe came by", "nobody came by", "Jane", None, "Bachelors", "It rained all day"])
    assert missing() == ()
    assert {name: mask.to_list() for name, mask in signs_in(texts).items()} == {"name": [True] + [False] * 5}
    # A code or a single word is not read, and neither is a text without a capital.
    assert analyzer.texts == ["Jane Doe came by", "It rained all day"]


def test_names_are_looked_for_in_so_many_texts(analyzer, monkeypatch):
    monkeypatch.setattr(name_module, "READ", 10)
    texts = pl.Series([f"Jane Doe came {day} times" for day in range(100)])
    assert BY_NAME["name"].matches(texts).sum() == len(analyzer.texts) == 10


def test_a_start_imports_no_library_of_signs():
    job = (
        "import sys; import incrowd, incrowd_gate.texts; "
        "assert not {'phonenumbers', 'stdnum', 'presidio_analyzer', 'spacy', 'polars'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", job], check=True)


def test_the_examples_of_ibans_are_valid():
    assert iban.is_valid("DE89 3704 0044 0532 0130 00")
