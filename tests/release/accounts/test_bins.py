"""Every column of a report is told before and after by bins that say something."""

from __future__ import annotations

import datetime as dt
import random

import polars as pl
import pytest

import incrowd as ic

DRAW = random.Random(3)
PEOPLE = 3000
LETTERS = "abcdefghijklmnopqrst"
TABLE = pl.DataFrame(
    {
        "PLZ": [
            f"{DRAW.choice(['01', '10', '20', '80'])}{DRAW.randrange(0, 1000, 10):03}" for _ in range(PEOPLE)
        ],
        "born": [dt.date(1950, 1, 1) + dt.timedelta(DRAW.randrange(15_000)) for _ in range(PEOPLE)],
        "came": [dt.date(2025, 1, 1) + dt.timedelta(DRAW.randrange(365)) for _ in range(PEOPLE)],
        "weight": [f"{DRAW.gauss(78, 14):.1f}".replace(".", ",") for _ in range(PEOPLE)],
        "town": [f"Town {DRAW.choice(LETTERS)}{DRAW.choice(LETTERS)}" for _ in range(PEOPLE)],
    }
).with_columns(
    number=pl.col("PLZ").cast(pl.Int64),
    day=pl.col("came").dt.strftime("%d.%m.%Y"),
)


def labels_of(name: str, how: object = None, algorithm: str = "mondrian") -> list[str]:
    schema = ic.Schema(quasi={name: how}, unlisted="drop")
    table = TABLE.rename({"number": "postal_code"}) if name == "postal_code" else TABLE
    release = ic.anonymize(
        table, schema, "k-anonymity:6", algorithm, unanswered="write", set_limit=1000, suppressed="keep"
    )
    (column,) = release.document()["attributes"]
    # Nobody is lost: each side adds up to the table.
    for side in ("before", "after"):
        assert sum(each[side] for each in column["bins"]) == pytest.approx(PEOPLE), side
    return [each["label"] for each in column["bins"]]


@pytest.mark.parametrize("name", ["PLZ", "postal_code"])
def test_postal_codes_are_told_by_prefix_whether_texts_or_numbers(name):
    assert labels_of(name) == ["01***", "10***", "20***", "80***"]


@pytest.mark.parametrize("how", [None, "category"])
def test_days_of_a_year_are_told_by_month_however_they_are_written(how):
    months = [f"2025-{month:02}" for month in range(1, 13)]
    assert labels_of("came" if how is None else "day") == [
        f"until {months[0]}", *months[1:-1], f"from {months[-1]}"
    ]  # fmt: skip


def test_days_of_decades_are_told_by_years():
    decades = [f"{year} to {year + 4}" for year in range(1955, 1990, 5)]
    assert labels_of("born") == ["until 1954", *decades, "from 1990"]


def test_numbers_with_a_decimal_comma_are_numbers():
    names = labels_of("weight")
    assert (names[0][:6], names[-1][-9:]) == ("below ", " and more")
    assert len(names) >= 5


def test_a_hierarchy_is_told_by_its_finest_level_that_names_few_branches():
    days = ic.Hierarchy.dates("month", "quarter")
    assert labels_of("came", days, "optimal") == [f"2025-{month:02}" for month in range(1, 13)]


def test_values_that_cannot_be_named_are_told_by_how_many_a_cell_stands_for():
    names = labels_of("town")
    assert names[0] == "a single value"
    assert len(names) > 1
    assert all(name.endswith(" values") for name in names[1:])


@pytest.mark.parametrize("model", ["k-anonymity:20", "maximum-risk:risk=0.05"])
def test_no_bar_of_raw_values_stands_for_fewer_than_a_class_has(model):
    """There are ten records in each ten years up to 60, and thirty from there on."""
    table = pl.DataFrame({"age": [age for age in range(20, 100) for _ in range(1 if age < 60 else 3)]})
    release = ic.anonymize(table, ic.Schema(["age"], unlisted="drop"), model, unanswered="write")
    (column,) = release.document()["attributes"]
    assert [each["before"] for each in column["bins"]] == [40, 30, 30, 30, 30]
