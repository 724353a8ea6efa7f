"""Rounding, and top and bottom coding."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given as tried
from hypothesis import strategies as st

import incrowd as ic
from treatment_tables import distinct, given

bases = st.sampled_from([0.01, 0.1, 0.25, 1, 5, 7, 500, 1e6])
numbers = st.integers(-(10**9), 10**9).map(lambda whole: whole / 100)


@tried(st.lists(numbers, min_size=1), bases)
def test_the_nearest_multiple_and_of_two_the_one_away_from_zero(values, base):
    cells = given(ic.Round(base), values)
    for before, after in zip(values, cells, strict=True):
        parts = Fraction(str(after)) / Fraction(str(base))
        assert parts.denominator == 1
        assert abs(after - before) <= base / 2 * (1 + 1e-9)
    assert given(ic.Round(2), [1.0, 3.0, -1.0, -3.0]) == [2.0, 4.0, -2.0, -4.0]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("treatment", "expected"),
    [
        ("round:2.5", [2.5, 5.0, 5.0, 7.5, 7.5, 10.0]),
        ("round:2", [4, 4, 6, 8, 8, 12]),
        ("round:5,bottom=4.5", [5, 5, 5, 5, 10, 10]),
        ("bottom:4.5", [4.5, 4.5, 6.0, 7.0, 8.0, 11.0]),
        ("top:7", [3, 4, 6, 7, 7, 7]),
    ],
)
@pytest.mark.parametrize("place", ["frame", "csv"])
def test_whole_numbers_become_fractions_where_the_base_or_a_limit_is_one(
    treatment, expected, place, tmp_path
):
    raw = pl.DataFrame({"age": 1, "n": [3, 4, 6, 7, 8, 11]})
    raw.write_csv(tmp_path / "t.csv")
    schema = ic.Schema(["age"], insensitive=["n"], treatments={"n": treatment})
    release = ic.anonymize(raw if place == "frame" else tmp_path / "t.csv", schema, "k-anonymity:2")
    assert sorted(release.table["n"].cast(pl.Float64)) == expected
    release.save(tmp_path / "out")
    assert ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml").ok


def test_random_rounding_keeps_the_expected_value_and_takes_the_two_multiples_around():
    draws = np.random.default_rng(1).integers(0, 2**64, 20_000, np.uint64)
    treatment = ic.Round(10, how="random")
    values = np.array(given(treatment, [13.0] * 20_000, draws=draws))
    assert set(values) == {10.0, 20.0}
    # Hoeffding: beyond this with a probability below 1e-9.
    assert abs((values == 20).mean() - 0.3) < np.sqrt(np.log(2e9) / 2 / 20_000)
    assert treatment.perturbs
    assert not ic.Round(10).perturbs
    assert given(treatment, [20.0, None], draws=draws[:2]) == [20.0, None]


def best_rounding(parts: list[int], groups: list[str], base: int) -> tuple:
    """How near sums can stay, of all ways to take a multiple beside each number; slowly."""
    choices = [(n // base * base, -(-n // base) * base) for n in parts]
    return min(off_by(parts, made, groups) for made in product(*choices))


def off_by(before: list[int], after: tuple[float, ...], groups: list[str]) -> tuple:
    """The deviations of the column, then of the groups, then of the numbers."""
    apart = dict.fromkeys(groups, 0.0)
    for x, y, g in zip(before, after, groups, strict=True):
        apart[g] += y - x
    changes = sum(abs(x - y) for x, y in zip(before, after, strict=True))
    return abs(sum(apart.values())), sum(map(abs, apart.values())), changes


@tried(
    st.lists(st.tuples(st.integers(-30, 30), st.sampled_from("ab")), min_size=1, max_size=8),
    st.sampled_from([2, 3, 10]), st.integers(0, 2**32),
)  # fmt: skip
def test_controlled_rounding_keeps_sums_as_no_other_does(rows, base, seed):
    values, groups = [n for n, _ in rows], [g for _, g in rows]
    draws = np.random.default_rng(seed).integers(0, 2**64, len(rows), np.uint64)
    cells = given(ic.Round(base, how="controlled", within="g"), values, draws=draws, g=groups)
    assert all(abs(x - y) < base and y % base == 0 for x, y in zip(values, cells, strict=True))
    result, best = off_by(values, cells, groups), best_rounding(values, groups, base)
    assert result[:2] == pytest.approx(best[:2])
    for group in "ab":
        here = [(x, y) for x, y, g in zip(values, cells, groups, strict=True) if g == group]
        assert abs(sum(y - x for x, y in here)) < base
        # Within a group, nobody is rounded down who is nearer to the upper multiple.
        over = [(x % base, y > x) for x, y in here if x % base]
        ups = [part for part, up in over if up]
        assert not ups or min(ups) >= max((part for part, up in over if not up), default=0)
    alone = given(ic.Round(base, how="controlled"), values, draws=draws)
    one = ["all"] * len(values)
    result, best = off_by(values, alone, one), best_rounding(values, one, base)
    assert result[0] == best[0]
    # A sum that is half a base off is as near above as below; else numbers are as near as they can be, too.
    assert result == best or 2 * result[0] == base


def test_groups_decide_where_the_sum_is_as_near_below_as_above():
    draws = np.arange(2, dtype=np.uint64)
    values = given(ic.Round(10, how="controlled", within="g"), [1, 4], draws=draws, g=["a", "b"])
    assert list(values) == [0, 0]
    values = given(ic.Round(10, how="controlled", within="g"), [7, 8], draws=draws, g=["a", "b"])
    assert list(values) == [10, 10]


def test_controlled_rounding_of_a_table_keeps_its_sum():
    rng = np.random.default_rng(3)
    pay = rng.lognormal(8, 1, 3000).round(2)
    raw = pl.DataFrame({"age": 1, "pay": pay, "site": rng.choice(list("nsew"), 3000)})
    raw = raw.with_columns(pay=pl.when(pl.int_range(pl.len()) % 50 > 0).then(pl.col("pay")))
    treatment = {"round": 500, "how": "controlled", "within": "site"}
    schema = ic.Schema(["age"], ["pay"], insensitive=["site"], treatments={"pay": treatment})
    release = ic.anonymize(raw, schema, "l-diversity:3")
    table = release.table
    assert table["pay"].is_null().sum() == 60
    assert ((table["pay"] % 500) == 0).all()
    assert abs(table["pay"].sum() - raw["pay"].sum()) <= 250
    for site in "nsew":
        here = pl.col("site") == site
        assert abs(table.filter(here)["pay"].sum() - raw.filter(here)["pay"].sum()) < 500
    assert "the sum of the column and of each group of site stays" in " ".join(release.sentences())


def test_equal_numbers_are_rounded_up_at_random():
    draws = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64)
    values = np.array(given(ic.Round(10, how="controlled"), [2.5] * 1000, draws=draws))
    assert (values == 10).sum() == 250
    # Rows do not stand in the order of what was rounded up.
    assert 80 < (values[:500] == 10).sum() < 170


def test_groups_are_for_controlled_rounding_alone():
    with pytest.raises(ic.ParameterError, match="within is for how = 'controlled'"):
        ic.Round(5, within="region")


def test_top_and_bottom_coding_by_value():
    values = [0.0, 4.0, 5.0, 6.0, 100.0, None]
    assert given(ic.Top(5), values) == [0.0, 4.0, 5.0, 5.0, 5.0, None]
    assert given(ic.Bottom(5), values) == [5.0, 5.0, 5.0, 6.0, 100.0, None]
    assert given(ic.Top(6, bottom=4), values) == [4.0, 4.0, 5.0, 6.0, 6.0, None]
    assert given(ic.Top(0.5, limits="value"), [0.2, 0.9]) == [0.2, 0.5]


# sdcMicro, tests of topBotCoding: these ten values coded at 35.
NUMBERS = [17.63611, 80.94412, 39.10929, 33.44570, 60.60797, 60.83501, 13.33871, 30.16549, 58.18338, 63.46695]
REPLACED = [False, True, True, False, True, True, False, False, True, True]


def test_values_of_sdcmicro():
    above, below = (given(treatment, [*NUMBERS, None]) for treatment in (ic.Top(35), ic.Bottom(35)))
    assert above == [35.0 if gone else value for value, gone in zip(NUMBERS, REPLACED, strict=True)] + [None]
    assert below == [value if gone else 35.0 for value, gone in zip(NUMBERS, REPLACED, strict=True)] + [None]


def test_a_limit_from_a_quantile_is_nobodys_value():
    rng = np.random.default_rng(3)
    values = np.sort(rng.lognormal(10, 1, 1000))
    top = ic.Top(0.95).learn(distinct(values.tolist(), "number"), None)["top"]
    assert top not in values
    assert values[940] < top < values[960]
    # Ten records that agree are ten people's value.
    assert ic.Top(0.5).learn(distinct([7.0] * 20, "number"), None) == {"top": 7.0}


@tried(st.lists(st.integers(-50, 50).map(float), min_size=30, max_size=60), st.sampled_from([0.05, 0.5, 0.9]))
def test_a_limit_from_a_quantile_is_the_mean_of_ten_records_around_it(values, quantile):
    limit = ic.Top(quantile).learn(distinct(values, "number"), None)["top"]
    ordered = sorted(values)
    place = round(quantile * len(values))
    first = min(max(place - 5, 0), len(values) - 10)
    assert limit == float(round(sum(ordered[first : first + 10]) / 10))


def test_the_mean_of_what_is_beyond_stands_for_ten_records_at_least():
    values = [1.0] * 50 + [100.0 + n for n in range(10)]
    cells = given(ic.Top(90, instead="mean"), values)
    assert cells[50:] == [round(104.5)] * 10
    with pytest.raises(ic.ParameterError, match="would replace 9 records by their mean"):
        given(ic.Top(100, instead="mean"), values)


def test_limits_that_cannot_be_are_refused():
    with pytest.raises(ic.ParameterError, match="top limit below its bottom limit"):
        given(ic.Top(1, bottom=5), [1.0])
    with pytest.raises(ic.ParameterError, match="from 10 records"):
        given(ic.Top(0.9), [1.0, 2.0])
    with pytest.raises(ic.ParameterError, match="quantile between 0 and 1"):
        given(ic.Top(3, limits="quantile"), [1.0] * 20)


def test_limits_come_before_rounding():
    assert given(ic.Round(10, top=94), [100.0, 91.0]) == [90.0, 90.0]
