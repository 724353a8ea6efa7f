"""Households that change places with all rows, compared with a slow reading of the definition."""

from __future__ import annotations

import math

import polars as pl
import pytest

import incrowd as ic
from household_reading import SWAP, homes, read, schema_of


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("within", [False, True])
def test_all_rows_of_a_household_move_together_to_the_place_of_one_of_its_size(seed, within):
    raw = homes(seed)
    swap = {**SWAP, "within": "site"} if within else SWAP
    table = ic.anonymize(raw, schema_of({"zip": swap, "town": swap}), "k-anonymity:2").table
    assert "home" not in table.columns
    assert table["site"].equals(raw["site"])
    moved, able = read(raw, table, within=within)
    assert 0.2 * able < moved < 0.6 * able


def test_the_share_that_was_asked_for_moves():
    count = 4000
    raw = pl.DataFrame({"home": [n // 2 for n in range(2 * count)], "n": range(2 * count), "age": 1})
    raw = raw.with_columns(zip=pl.col("home").cast(pl.String), town=pl.lit("x"), site=pl.lit("n"))
    table = ic.anonymize(raw, schema_of({"zip": "household-swap:0.25"}), "k-anonymity:2").table
    moved = (table["zip"] != raw["zip"]).mean()
    # Hoeffding at 1e-9, and one household at most is left over.
    assert abs(moved - 0.25) < math.sqrt(math.log(2e9) / 2 / count) + 1 / count
    assert sorted(table["zip"]) == sorted(raw["zip"])
    again = ic.anonymize(raw, schema_of({"zip": "household-swap:0.25"}), "k-anonymity:2").table
    assert not again["zip"].equals(table["zip"])


def test_whose_values_are_missing_moves_too_and_who_has_no_pair_stays():
    raw = pl.DataFrame(
        {
            "home": ["a", "a", "b", "b", "big", "big", "big"], "zip": ["1", "1", None, None, "3", "3", "3"],
            "n": range(7), "age": 1, "town": "t", "site": "n",
        }
    )  # fmt: skip
    table = ic.anonymize(raw, schema_of({"zip": "household-swap:1"}), "k-anonymity:2").table
    assert table.sort("n")["zip"].to_list() == [None, None, "1", "1", "3", "3", "3"]


def test_several_columns_name_a_household():
    raw = homes(3, 120).with_columns(street=pl.col("home") // 10, house=pl.col("home") % 10)
    schema = schema_of({"zip": SWAP, "town": SWAP}, household=["street", "house"])
    table = ic.anonymize(raw.drop("home"), schema, "k-anonymity:2").table
    moved, able = read(raw, table)
    assert 0 < moved < able


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            lambda: schema_of({"zip": "household-swap:0.1"}, household=()),
            "column 'zip': household-swap moves whole households, and no column has the role household",
        ),
        (
            lambda: schema_of({"zip": SWAP, "town": {**SWAP, "household-swap": 0.2}}),
            "moves together with 'town', which has no such treatment",
        ),
        (lambda: schema_of({"zip": {**SWAP, "together": "town"}}), "together names all columns"),
        (lambda: schema_of({"zip": "household-swap:0"}), "share must be"),
        (lambda: ic.Schema(["zip"], household="home", treatments={"zip": "household-swap:1"}), "perturbed"),
        (
            lambda: ic.Schema(["age"], household="home", treatments={"home": "household-swap:1"}),
            "never leaves",
        ),
    ],
)
def test_what_cannot_be_is_refused(schema, said):
    with pytest.raises(ic.InputError, match=said):
        schema()


def test_verify_and_the_account_know_it(tmp_path):
    raw = homes()
    schema = schema_of({"zip": SWAP, "town": SWAP})
    release = ic.anonymize(raw, schema, "k-anonymity:2")
    release.save(tmp_path / "out")
    assert ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml").ok
    text = " ".join(release.sentences())
    assert "zip changes places between pairs of households of one size, with all of their rows, 40.0%" in text
