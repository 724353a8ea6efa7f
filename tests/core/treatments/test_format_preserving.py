"""FF1 against the samples of NIST, and random numbers by a table that is kept."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given as tried
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from treatment_tables import KEY, given, people

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
LONG = "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94"
TWEAKS = ("", "39383736353433323130", "3737373770717273373737")
PLAIN = ("0123456789", "0123456789", "0123456789abcdefghi")

# NIST, Block cipher modes of operation: FF1 samples; nine of them, three for each length of the key.
SAMPLES = {
    32: ("2433477484", "6124200773", "a9tv40mll9kdu509eum"),
    48: ("2830668132", "2496655549", "xbj3kv35jrawxv32ysr"),
    64: ("6657667009", "1001623463", "xs8a0azh2avyalyzuwd"),
}


@pytest.fixture
def cipher():
    pytest.importorskip("cryptography")
    from incrowd.core.treatments.format_preserving import FF1

    return FF1


@pytest.mark.parametrize("size", SAMPLES)
@pytest.mark.parametrize("number", range(3))
def test_samples_of_nist(cipher, size, number):
    result = cipher(bytes.fromhex(LONG[:size]), 10 if number < 2 else 36, bytes.fromhex(TWEAKS[number]))
    outcome = result.encrypt([LETTERS.index(letter) for letter in PLAIN[number]])
    assert "".join(LETTERS[numeral] for numeral in outcome) == SAMPLES[size][number]


def test_texts_of_many_lengths_go_through_together(cipher):
    result = cipher(bytes(16), 10)
    texts = [[n % 10] * (6 + n % 50) for n in range(120)]
    assert result.encrypt_all(texts) == [result.encrypt(text) for text in texts]
    # All texts of one length become all texts of that length.
    every = [[a, b] for a in range(10) for b in range(10)]
    assert sorted(result.encrypt_all(every)) == every


@examples(20)
@tried(st.lists(st.from_regex(r"\+?[0-9]{3}[-/ ]?[0-9]{3,9}", fullmatch=True), min_size=1, unique=True))
def test_signs_stay_where_they_are_and_values_stay_apart(texts):
    pytest.importorskip("cryptography")
    values = given(ic.FormatPreserving("digits", key="env:X"), [*texts, None], KEY)
    assert values[-1] is None
    for before, after in zip(texts, values[:-1], strict=True):
        assert [a if a.isdigit() else b for a, b in zip(after, before, strict=True)] == list(after)
    assert len(set(values[:-1])) == len(texts)


@pytest.mark.parametrize(
    ("alphabet", "value", "said"),
    [("digits", "12345", "needs 6 digits"), ("alphanumeric", "abc", "needs 4 alphanumeric"),
     ("digits", "12345a", "other characters of 1 distinct"), ("alphanumeric", "Müller", "other characters")],
)  # fmt: skip
def test_values_that_would_stay_readable_are_refused(alphabet, value, said):
    with pytest.raises(ic.ParameterError, match=said) as error:
        given(ic.FormatPreserving(alphabet, key="env:X"), [value], KEY)
    assert value not in str(error.value)


# --- random numbers --------------------------------------------------------------------------------


def test_random_numbers_are_kept_in_the_recoding_and_nowhere_else(tmp_path):
    raw = people(80)
    schema = ic.Schema(["age"], person="pid", unlisted="drop", treatments={"pid": ic.RandomNumbers(6)})
    policy = ic.Policy(schema, ["k-anonymity:2"], max_suppression=1.0, suppressed="keep")
    release = ic.anonymize(raw, policy)
    numbers = dict(zip(raw["pid"], release.table["pid"], strict=True))
    assert len(set(numbers.values())) == len(numbers) == 80
    assert all(len(number) == 6 and number.isdecimal() for number in numbers.values())
    release.save(tmp_path / "out")
    assert "planted" not in (tmp_path / "out" / "release.json").read_text()
    saved = json.loads((tmp_path / "out" / "internal" / "recoding" / "recoding.json").read_text())
    assert saved["treated"]["pid"]["decided"]["numbers"] == numbers
    batch = ic.apply_recoding(tmp_path / "out" / "internal" / "recoding", raw[:20], policy)
    assert batch.table["pid"].to_list() == [numbers[pid] for pid in raw["pid"][:20]]
    stranger = raw[:20].with_columns(pl.lit("stranger").alias("pid"))
    with pytest.raises(ic.ParameterError, match=r"'pid': the saved table .* has no number for 1 values"):
        ic.apply_recoding(release.recoding, stranger, policy)
    again = ic.anonymize(raw, policy).table["pid"].to_list()
    assert again != release.table["pid"].to_list()


def test_too_few_numbers_are_refused():
    with pytest.raises(ic.ParameterError, match="give a larger length"):
        given(ic.RandomNumbers(3), [str(n) for n in range(501)])
    assert len(set(given(ic.RandomNumbers(3), [str(n) for n in range(500)]))) == 500
