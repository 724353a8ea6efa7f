from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic


def test_people_come_again_and_their_rows_look_alike():
    table = ic.samples.encounters(20_000, people=6_000, seed=3)
    assert table.columns == ic.samples.hospital(1).columns
    assert table.schema == ic.samples.hospital(1).schema
    assert table.null_count().sum_horizontal().item() == 0
    assert len(table) == 20_000
    people = table.group_by("patient_id").agg(pl.all().n_unique(), pl.len().alias("rows"))
    assert len(people) == 6_000
    assert people["rows"].min() == 1
    assert 20 < people["rows"].max() <= 40
    for same in ("name", "birth_date", "sex"):
        assert (people[same] == 1).all(), same
    often = people.filter(pl.col("rows") > 3)
    assert 0.05 < (often["zip"] > 1).mean() < 0.5
    assert (often["diagnosis"] > 1).mean() > 0.8
    # Half of the later diagnoses are those of the first row, so a person has fewer than rows.
    assert (often["diagnosis"] / often["rows"]).mean() < 0.75
    at_once = table.sort("admission_date").group_by("patient_id").agg(pl.col("age").diff().min())
    assert (at_once["age"].drop_nulls() >= 0).all()


def test_the_same_seed_gives_the_same_table():
    result = ic.samples.encounters(500, seed=5)
    assert result.equals(ic.samples.encounters(500, seed=5))
    assert not result.equals(ic.samples.encounters(500, seed=6))
    assert result["patient_id"].n_unique() == 350
    assert ic.samples.encounters(40, people=1)["patient_id"].n_unique() == 1


@pytest.mark.parametrize(("rows", "people"), [(41, 1), (5, 6), (5, 0), (0, None)])
def test_numbers_that_do_not_go_together_are_refused(rows, people):
    with pytest.raises(ic.ParameterError, match="encounters sample"):
        ic.samples.encounters(rows, people)
