"""Controlled rounding: verify adds up the sums again, where the raw table is at hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd_verify.count_tables.rules import Rules

ROWS = 400
NUMBERS = np.random.default_rng(5)
RAW = pl.DataFrame(
    {
        "age": [30 + n % 3 for n in range(ROWS)],
        "pay": NUMBERS.lognormal(8, 1, ROWS).round(2),
        "site": [("n", "s", "e", None)[n % 4] for n in range(ROWS)],
    }
).with_columns(pay=pl.when(pl.int_range(pl.len()) % 50 > 0).then(pl.col("pay")))


def saved(folder, treatment, raw=RAW, **attribute):
    raw.write_csv(folder / "raw.csv")
    schema = ic.Schema.of_attributes(
        [
            ic.Attribute("age", "quasi"),
            ic.Attribute("pay", "insensitive", treatment=ic.Round(**treatment), **attribute),
            ic.Attribute("site", "insensitive"),
        ]
    )
    release = ic.anonymize(folder / "raw.csv", schema, "k-anonymity:2", unanswered="write")
    release.save(folder / "out")
    return folder / "out" / "release.csv", folder / "out" / "policy.toml"


def verified(folder, file, policy):
    return ic.verify(
        file, policy, against=folder / "raw.csv", row_map=folder / "out" / "internal" / "rows.parquet"
    )


CONTROLLED = {"base": 500, "how": "controlled", "within": "site"}


@pytest.mark.few(1)
@pytest.mark.parametrize("treatment", [CONTROLLED, {"base": 0.25, "how": "controlled"}])
@pytest.mark.random_order
def test_sums_that_stayed_are_verified(tmp_path, treatment):
    result = verified(tmp_path, *saved(tmp_path, treatment))
    assert result.keeps_limits
    assert not any("sum" in words for words in (*result.problems, *result.unchecked))


def changed(file, by, where=None):
    """Add to the first numbers of a release, as a careful forger does."""
    table = pl.read_csv(file)
    at = (where if where is not None else pl.lit(value=True)) & pl.col("pay").is_not_null()
    first = table.with_row_index("row").filter(at)["row"][0]
    table.with_row_index("row").with_columns(
        pay=pl.when(pl.col("row") == first).then(pl.col("pay") + by).otherwise(pl.col("pay"))
    ).drop("row").write_csv(file)


def test_a_sum_that_moved_is_told(tmp_path):
    file, policy = saved(tmp_path, CONTROLLED)
    changed(file, 500)
    result = verified(tmp_path, file, policy)
    assert "the sum of column 'pay' moved by more than half of 500, its base" in result.problems


def test_sums_of_groups_that_moved_are_told_though_the_column_kept_its_own(tmp_path):
    file, policy = saved(tmp_path, CONTROLLED)
    changed(file, 1000, pl.col("site") == "n")
    changed(file, -1000, pl.col("site").is_null())
    result = verified(tmp_path, file, policy)
    [problem] = result.problems
    assert problem == "the sum of column 'pay' moved by 500, its base, or more in 2 groups of 'site'"
    # A slow reading, in fractions.
    before, after = ({} for _ in range(2))
    for sums, table in ((before, RAW), (after, pl.read_csv(file))):
        for pay, site in table.drop_nulls("pay").select("pay", "site").rows():
            sums[site] = sums.get(site, 0) + Fraction(str(pay))
    assert sum(abs(after[site] - before[site]) >= 500 for site in before) == 2


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("treatment", "given", "said"),
    [
        (CONTROLLED, False, "whether the sum of column 'pay' stayed when it was rounded: that takes the raw"),
        ({**CONTROLLED, "top": 5000}, True, "numbers beyond limits were replaced before"),
        ({"base": 500, "how": "random"}, False, None),
        ({"base": 500}, True, None),
    ],
)
def test_what_cannot_be_told_is_said(tmp_path, treatment, given, said):
    file, policy = saved(tmp_path, treatment)
    verification = verified(tmp_path, file, policy) if given else ic.verify(file, policy)
    told = [words for words in verification.unchecked if "sum" in words]
    assert verification.keeps_limits
    assert len(told) == (said is not None)
    assert said is None or said in told[0]


def test_numbers_are_read_as_their_column_writes_them(tmp_path):
    def spelled(number):
        return None if number is None else f"{number:,.2f}".translate(str.maketrans(".,", ",."))

    raw = RAW.with_columns(pay=pl.Series([spelled(number) for number in RAW["pay"]]))
    file, policy = saved(tmp_path, CONTROLLED, raw, decimal=",", thousands=".")
    result = verified(tmp_path, file, policy)
    assert not result.problems
    assert not any("sum" in words for words in result.unchecked)


def test_the_verifier_reads_as_many_parts_of_a_sum_as_the_rules_ask_for():
    def rank(**rules):
        return Rules.of_entry({"name": "pay", **rules}).rank

    assert (rank(), rank(p_percent=10), rank(dominance=[1, 0.5]), rank(dominance=[4, 0.5])) == (2, 2, 2, 4)
