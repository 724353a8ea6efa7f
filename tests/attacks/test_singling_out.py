"""Singling out: columns that make the attack succeed, and treatments that defeat it."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.attacks import attack

ROWS = 300
KINDS = ("singling-out-univariate", "singling-out-multivariate")


def people() -> pl.DataFrame:
    """People with a cost and a badge each, and a ward that many share."""
    return pl.DataFrame(
        {
            "age": [20 + row % 60 for row in range(ROWS)],
            "sex": ["FM"[row % 2] for row in range(ROWS)],
            "ward": [f"w{row % 4}" for row in range(ROWS)],
            "cost": [1_000 + 37 * row for row in range(ROWS)],
            "badge": [f"b{(row * 7) % ROWS:03}x" for row in range(ROWS)],
        }
    )


def attacked(*others: str, leave_out: tuple[str, ...] = (), **settings) -> dict[str, ic.Attack]:
    table = people().select("age", "sex", *others)
    schema = ic.Schema(quasi=["age", "sex"], insensitive=list(others))
    release = ic.anonymize(table, schema, "k-anonymity:5", unanswered="write")
    attempts = attack(table, release.table.drop(leave_out), schema, attacks=100, kinds=KINDS, **settings)
    return {entry.name: entry for entry in attempts}


@pytest.mark.parametrize("kind", KINDS)
def test_the_column_that_made_it_succeed_is_named_with_its_way_out(kind):
    result = attacked("ward", "cost")[kind]
    assert result.main.value > 0.9
    name, share = next(iter(result.columns.items()))
    assert name == "cost"
    assert 0.8 < share <= 1
    assert list(result.columns.values()) == sorted(result.columns.values(), reverse=True)
    said = " ".join(result.remarks)
    assert "cost (exact)" in said
    assert "round:" in said
    assert "leave it out" in said
    # What the account promises is a promise against somebody who knows less.
    assert (
        "whoever knows age and sex, and nothing else, finds the right record with at most 20%" in said.lower()
    )
    assert "no promise against" in said
    assert result.to_dict()["columns"]["cost"] == share
    assert list(result.to_dict()["remarks"]) == list(result.remarks)


def test_texts_are_not_rounded():
    said = " ".join(attacked("badge")["singling-out-univariate"].remarks)
    assert "badge (exact)" in said
    assert "round:" not in said
    assert "treatment" in said


def test_without_the_column_nothing_is_said_of_it():
    result = attacked("ward", "cost", leave_out=("cost",))
    for entry in result.values():
        assert entry.main.value < 0.3
        assert "cost" not in " ".join(entry.remarks)
        assert "cost" not in entry.columns


@pytest.mark.slow
def test_a_rounded_column_is_not_called_exact():
    table = people().select("age", "sex", "cost")
    schema = ic.Schema(quasi=["age", "sex", "cost"])
    released = table.with_columns(cost=pl.col("cost") // 20 * 20 + 3)
    (attempt,) = attack(table, released, schema, attacks=100, kinds=KINDS[1:])
    assert "cost (exact)" not in " ".join(attempt.remarks)


def test_a_raw_release_promises_nothing_that_it_could_break():
    table = people().select("age", "sex")
    (attempt,) = attack(table, table, ic.Schema(quasi=["age", "sex"]), attacks=50, kinds=KINDS[1:])
    assert "no promise" not in " ".join(attempt.remarks)
