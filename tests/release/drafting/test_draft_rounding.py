"""Rounding of numbers that are unique to nearly every record, so that no record is told."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.release.drafting.rounding import Rounding, rounding_of
from incrowd.release.jobs.compare.draft import draft_policy
from incrowd.release.policy.policy import Policy

RNG = np.random.default_rng(8)
NUMBERS = {
    "incomes to the cent": np.round(RNG.lognormal(10, 0.6, 3_000), 2),
    "evenly spread": RNG.integers(20_000, 90_000, 3_000).astype(float),
    "a long tail": np.round(RNG.pareto(1.2, 3_000) * 100, 2),
    "few records": RNG.normal(3_000, 500, 120).round(),
    "around zero": RNG.normal(0, 1, 1_000),
    "mostly zero": np.r_[np.zeros(1_500), RNG.random(500)],
}


def counted(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.unique(values, return_counts=True)


@pytest.mark.parametrize("what", NUMBERS)
def test_after_the_rounding_hardly_any_record_has_a_value_of_its_own(what):
    values = NUMBERS[what]
    result = rounding_of(*counted(values))
    assert result is not None
    assert result.step is not None
    text = "round:" + ",".join(
        [
            f"{result.step}",
            *(f"{name}={value}" for name, value in result.settings().items() if name != "round"),
        ]
    )
    schema = ic.Schema(["sex"], ["x"], treatments={"x": text})
    table = pl.DataFrame({"sex": ["f"] * len(values), "x": values})
    released = ic.anonymize(table, schema, "k-anonymity:5").table["x"]
    totals = released.value_counts()["count"]
    assert totals.filter(totals >= 5).sum() >= 0.95 * len(values)
    assert (totals == 1).sum() <= 0.01 * len(values)


def test_numbers_that_records_share_are_left_alone():
    assert rounding_of(*counted(RNG.integers(0, 90, 2_000).astype(float))) is None
    assert rounding_of(np.array([]), np.array([], int)) is None


def test_too_few_records_have_no_rounding():
    result = rounding_of(*counted(RNG.normal(0, 1, 9)))
    assert result is not None
    assert (result.step, result.settings()) == (None, {})


def test_a_sensitive_number_is_drafted_rounded_and_nobody_is_singled_out_by_it(tmp_path):
    rows = 2_000
    table = pl.DataFrame(
        {
            "age": RNG.integers(18, 67, rows), "sex": RNG.choice(["f", "m"], rows),
            "income": np.round(RNG.lognormal(10, 0.5, rows), 2),
        }
    )  # fmt: skip
    draft = draft_policy(table, "people.csv", ask=False)
    (income,) = (guess for guess in draft.guesses if guess.name == "income")
    assert income.role == "sensitive"
    assert income.treatment is not None
    assert "share their value with 4 others or more" in draft.text
    (tmp_path / "policy.toml").write_text(draft.text)
    policy = Policy.read(tmp_path / "policy.toml")
    release = ic.anonymize(table, policy)
    (alone,) = ic.attack(table, release.table, policy, kinds=["singling-out-univariate"])
    exact = ic.anonymize(table, ic.Schema(["age", "sex"], ["income"]), "k-anonymity:5").table
    (before,) = ic.attack(table, exact, policy, kinds=["singling-out-univariate"])
    # Few values are left to guess by, so a rate of few guesses says little: those who are found are counted.
    values = [each.main.value * each.attacks for each in (alone, before)]
    assert values[1] > 0.9 * before.attacks
    assert values[0] < 0.02 * values[1]


def test_a_sensitive_number_of_too_few_rows_is_asked_about():
    table = pl.DataFrame(
        {"age": range(30), "sex": ["f", "m"] * 15, "income": [1_000 * 2**n for n in range(30)]}
    )
    assert draft_policy(table, "t").guesses[2].role == "?"


def test_answers_round_what_nearly_every_row_has_for_its_own():
    table = pl.DataFrame(
        {"age": RNG.integers(18, 67, 2_000), "duration": RNG.normal(500, 99, 2_000), "code": [f"{n:,}x" for n in range(2_000)]}
    )  # fmt: skip
    for role in ("sensitive", "insensitive"):
        draft = draft_policy(table, "t", answered=lambda _, role=role: {"duration": role})
        assert draft.guesses[1].role == role
        assert next(iter(draft.guesses[1].treatment or ())) == "round"


def test_numbers_of_more_digits_than_floats_have_are_rounded_as_the_floats_that_they_are():
    alike = np.array([0.0, 12345678901234567890.0, 12345678901234567890.0])
    assert rounding_of(alike, np.ones(3, int)) == Rounding(None)
    assert rounding_of(alike[1:], np.ones(2, int)) == Rounding(None)
