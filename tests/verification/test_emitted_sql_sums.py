"""Scripts add up sums that controlled rounding keeps, as verify does."""

from __future__ import annotations

import random

import polars as pl
import pytest

import incrowd as ic
from emitted_sql import failed, verdict
from examples import share
from incrowd.release.verification import checks_as_sql, verify
from policy_texts import K2, entry, policy_text

NUMBERS = ["1200.25", "700", "-300.5", "99.75", "0", "4100", "1e3", "250"]
SITES = ["n", "s", "n", "", "s", "", "n", "s"]


def given(folder, released, raw=NUMBERS, treat="round = 500, how = 'controlled', within = 'site'", more=""):
    for name, numbers in (("t", released), ("raw", raw)):
        lines = [f'a,"{number}",{site}' for number, site in zip(numbers, SITES, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["q,pay,site", *lines]) + "\n")
    columns = [
        entry("q", "quasi"),
        entry("pay", "insensitive", f"treat = {{ {treat} }}\n{more}"),
        entry("site", "insensitive"),
    ]
    (folder / "p.toml").write_text(policy_text(columns, [K2], "keep_order = true"))
    return {"path": folder / "t.csv", "policy_path": folder / "p.toml", "against": folder / "raw.csv"}


GOOD = ["1000", "500", "-500", "0", "0", "4000", "1500", "500"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("released", "told"),
    [
        (GOOD, []),
        # 7049.5 in all became 7000, and may become 6799.5 to 7299.5
        ([*GOOD[:3], "500", *GOOD[4:]], ["the sum moved by more than half of the base: pay"]),
        (
            ["2000", *GOOD[1:5], "3000", *GOOD[6:]],
            ["groups whose sum moved by the base or more: pay"],
        ),
        (["1234", *GOOD[1:]], ["values that the treatment round does not give: pay"]),
    ],
)
def test_the_sum_and_those_of_groups_are_told(tmp_path, released, told):
    options = given(tmp_path, released)
    assert verify(**options).keeps_limits is (not told)
    assert failed(checks_as_sql(**options)) == told


@pytest.mark.slow
def test_the_verdict_is_that_of_verify_at_every_sum(tmp_path):
    """Releases of randomly rounded numbers have the verdict of verify."""
    chance, verdicts = random.Random(3), []
    for _ in range(share(20)):
        released = [f"{round(float(number) / 500 + chance.uniform(-0.4, 0.4)) * 500}" for number in NUMBERS]
        options = given(tmp_path, released, treat="round = 500, how = 'controlled'")
        verdicts.append(verify(**options).keeps_limits)
        assert verdict(checks_as_sql(**options)) == verdicts[-1]
    assert set(verdicts) == {True, False}


def test_the_script_of_a_good_release_finds_another_number(tmp_path):
    script = checks_as_sql(**given(tmp_path, GOOD))
    given(tmp_path, ["8000", *GOOD[1:]])
    assert "numbers whose worth is not told: pay" in failed(script)


@pytest.mark.slow
def test_numbers_are_read_as_their_column_writes_them(tmp_path):
    def local(numbers):
        return [f"{float(number):,.2f}".translate(str.maketrans(",.", ".,")) for number in numbers]

    for released, holds in ((GOOD, True), (["1500", *GOOD[1:]], False)):
        options = given(tmp_path, local(released), local(NUMBERS), more="decimal = ','\nthousands = '.'")
        assert verify(**options).keeps_limits is holds
        assert verdict(checks_as_sql(**options)) is holds


@pytest.mark.slow
@pytest.mark.parametrize("treat", ["round = 500, how = 'controlled', top = 4500", "round = 500"])
def test_sums_that_may_move_are_not_compared(tmp_path, treat):
    options = given(tmp_path, ["1500", *GOOD[1:]], treat=treat)
    assert verify(**options).keeps_limits
    assert verdict(checks_as_sql(**options))


def test_what_is_no_number_is_said_and_what_is_too_large_refused(tmp_path):
    options = given(tmp_path, GOOD, ["much", *NUMBERS[1:]])
    assert verify(**options).keeps_limits
    script = checks_as_sql(**options)
    assert verdict(script)
    assert "Not checked: whether the sum of pay stayed" in script
    for number in ("1e30", "1e300", "1e-300"):
        with pytest.raises(ic.ParameterError, match="too large or too fine"):
            checks_as_sql(**given(tmp_path, GOOD, [number, *NUMBERS[1:]]))


@pytest.mark.slow
def test_a_release_that_was_rounded_is_verified(tmp_path):
    raw = pl.DataFrame({"age": [30 + n % 3 for n in range(90)], "pay": [n * 37.5 for n in range(90)]})
    raw.write_csv(tmp_path / "raw.csv")
    schema = ic.Schema(
        ["age"], insensitive=["pay"], treatments={"pay": ic.Round(0.25 * 400, how="controlled")}
    )
    release = ic.anonymize(tmp_path / "raw.csv", schema, "k-anonymity:2", unanswered="write")
    release.save(tmp_path / "out")
    script = checks_as_sql(
        tmp_path / "out/release.csv",
        tmp_path / "out/policy.toml",
        against=tmp_path / "raw.csv",
        row_map=tmp_path / "out/internal/rows.parquet",
    )
    assert failed(script) == []
    assert "the sum moved" in script
